//! How many images have which share.

use maud::{Markup, html};

use super::Axis;
use super::frame::{BOTTOM, at, drawing, figure, x, y};
use crate::words;

const BINS: usize = 20;

/// A histogram of shares, 0–1, with the words for both ends of the scale below it.
///
/// The lower half has the colour of known classes, the upper half that of new ones.
pub fn histogram(title: &str, note: &str, shares: &[f64], ends: [&str; 2]) -> Markup {
    let counts = bins(shares);
    let chart = counts.iter().any(|&n| n > 0).then(|| {
        let axis = Axis::counts(counts.iter().map(|&n| n as f64));
        let spoken = format!(
            "{title}, from {} to {}, in {BINS} steps: {counts:?} images",
            ends[0], ends[1]
        );
        let below = [(0.0, ends[0]), (0.5, "50\u{a0}%"), (1.0, ends[1])];
        drawing(&spoken, &axis, &below, columns(&counts, &axis))
    });
    figure(title, note, chart)
}

/// Images per bin. The upper end belongs to the last one; what is not a share is in none.
fn bins(shares: &[f64]) -> [usize; BINS] {
    let mut counts = [0; BINS];
    for share in shares.iter().filter(|share| (0.0..=1.0).contains(*share)) {
        counts[((share * BINS as f64) as usize).min(BINS - 1)] += 1;
    }
    counts
}

fn columns(counts: &[usize; BINS], axis: &Axis) -> Markup {
    let edge = |bin: usize| bin as f64 / BINS as f64;
    let width = x(edge(1)) - x(edge(0)) - 1.5;
    html! {
        @for (bin, &n) in counts.iter().enumerate() {
            @if let Some(position) = axis.position(n as f64).filter(|_| n > 0) {
                // One image among thousands is still to be seen.
                @let top = y(position).min(BOTTOM - 1.0);
                rect class=(if bin < BINS / 2 { "known" } else { "new" })
                    x=(at(x(edge(bin)) + 0.75)) y=(at(top)) width=(at(width)) height=(at(BOTTOM - top))
                {
                    title {
                        (words::percent(edge(bin))) " to " (words::percent(edge(bin + 1))) ": "
                        (words::counted(n, "image", "images"))
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_is_in_one_bin() {
        let counts = bins(&[0.0, 0.049, 0.05, 0.5, 0.999, 1.0]);
        assert_eq!(counts[0], 2);
        assert_eq!(counts[1], 1);
        assert_eq!(counts[10], 1);
        assert_eq!(counts[BINS - 1], 2);
        assert_eq!(counts.iter().sum::<usize>(), 6);
    }

    #[test]
    fn what_is_not_a_share_is_in_none() {
        assert_eq!(bins(&[f64::NAN, -0.1, 1.1, f64::INFINITY]), [0; BINS]);
    }
}
