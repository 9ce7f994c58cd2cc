//! The canvas: filled outlines on a grid finer than the image.
//!
//! Every pixel of the image is an average of [`FINE`] × [`FINE`] samples; that is all the anti-aliasing
//! there is. The canvas spans −1 … 1 in both directions, y down.

use super::outline::Point;
use super::palette::Colour;

/// Samples per pixel in each direction.
const FINE: usize = 4;

/// A square picture being painted, back to front.
#[derive(Debug, Clone)]
pub struct Canvas {
    /// Pixels of the finished image per side.
    size: usize,
    /// Samples in rows, `(FINE · size)²` of them.
    samples: Vec<Colour>,
}

impl Canvas {
    /// A canvas for an image of `size` × `size` pixels, painted all over.
    pub fn new(size: usize, paint: impl Fn(Point) -> Colour) -> Self {
        let fine = size * FINE;
        let at = |i: usize| paint((position(i % fine, fine), position(i / fine, fine)));
        Self {
            size,
            samples: (0..fine * fine).map(at).collect(),
        }
    }

    /// Paints the inside of the contours: where their winding number is not zero. `paint` is told the
    /// place and what is there, and answers what is there from now on.
    pub fn fill(&mut self, contours: &[Vec<Point>], paint: impl Fn(Point, Colour) -> Colour) {
        let fine = self.size * FINE;
        let mut crossings: Vec<(f64, i32)> = Vec::new();
        for row in 0..fine {
            let y = position(row, fine);
            crossings.clear();
            contours
                .iter()
                .for_each(|contour| cross(contour, y, &mut crossings));
            crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut winding = 0;
            for i in 1..crossings.len() {
                winding += crossings[i - 1].1;
                if winding == 0 {
                    continue;
                }
                for column in
                    first_after(crossings[i - 1].0, fine)..first_after(crossings[i].0, fine)
                {
                    let sample = &mut self.samples[row * fine + column];
                    *sample = paint((position(column, fine), y), *sample);
                }
            }
        }
    }

    /// The finished image: the mean of the samples of each pixel, in rows.
    pub fn pixels(&self) -> Vec<Colour> {
        let fine = self.size * FINE;
        let mean = |pixel: usize| {
            let (left, top) = (pixel % self.size * FINE, pixel / self.size * FINE);
            let mut sum = [0.0; 3];
            for sample in 0..FINE * FINE {
                let colour = self.samples[(top + sample / FINE) * fine + left + sample % FINE];
                (0..3).for_each(|channel| sum[channel] += colour[channel]);
            }
            sum.map(|total| total / (FINE * FINE) as f32)
        };
        (0..self.size * self.size).map(mean).collect()
    }
}

/// The coordinate of the middle of the i-th of n samples.
fn position(i: usize, n: usize) -> f64 {
    (2 * i + 1) as f64 / n as f64 - 1.0
}

/// The first of n samples whose middle lies at or after `x` (n where there is none).
fn first_after(x: f64, n: usize) -> usize {
    // A negative number becomes 0: the conversion saturates.
    (((x + 1.0) * n as f64 - 1.0) / 2.0).ceil().min(n as f64) as usize
}

/// Where the contour crosses the horizontal line at `y`, with +1 for downwards and −1 for upwards.
fn cross(contour: &[Point], y: f64, crossings: &mut Vec<(f64, i32)>) {
    let next = contour.iter().cycle().skip(1);
    for (&(x0, y0), &(x1, y1)) in contour.iter().zip(next) {
        // Half-open, so that a corner on the line counts for one of its two edges only.
        if (y0 <= y) != (y1 <= y) {
            let x = x0 + (x1 - x0) * (y - y0) / (y1 - y0);
            crossings.push((x, if y1 > y0 { 1 } else { -1 }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::outline::Outline;

    /// The share of the canvas inside the outline, by painting it white on black.
    fn covered(outline: &Outline) -> f32 {
        let mut canvas = Canvas::new(24, |_| [0.0; 3]);
        canvas.fill(&outline.moved(|point| point), |_, _| [1.0; 3]);
        canvas.pixels().iter().map(|pixel| pixel[0]).sum::<f32>() / (24 * 24) as f32
    }

    #[test]
    fn a_fill_covers_the_area_of_its_outline() {
        let disc = covered(&Outline::disc((0.1, 0.0), 0.5));
        assert!(
            (disc - std::f32::consts::PI * 0.25 / 4.0).abs() < 0.005,
            "{disc}"
        );
        assert_eq!(covered(&Outline::block((-2.0, -2.0), (0.0, 2.0))), 0.5);
        assert_eq!(covered(&Outline::disc((5.0, 0.0), 1.0)), 0.0);
    }

    #[test]
    fn overlapping_contours_add_up_and_holes_stay_open() {
        let block = || Outline::block((-0.5, -0.5), (0.5, 0.5));
        assert_eq!(covered(&block().and(block())), covered(&block()));
        assert_eq!(covered(&block().cut(block())), 0.0);
    }

    #[test]
    fn a_pixel_is_the_mean_of_its_samples() {
        let mut canvas = Canvas::new(2, |_| [0.0; 3]);
        // The left half of the left pixels.
        canvas.fill(
            &Outline::block((-1.0, -1.0), (-0.5, 1.0)).moved(|p| p),
            |_, _| [1.0; 3],
        );
        assert_eq!(canvas.pixels(), [[0.5; 3], [0.0; 3], [0.5; 3], [0.0; 3]]);
    }

    #[test]
    fn paint_is_told_where_it_is_and_what_is_there() {
        let mut canvas = Canvas::new(2, |_| [0.25; 3]);
        let all = Outline::block((-1.0, -1.0), (1.0, 1.0)).moved(|point| point);
        canvas.fill(&all, |(x, _), under| if x > 0.0 { under } else { [1.0; 3] });
        assert_eq!(canvas.pixels(), [[1.0; 3], [0.25; 3], [1.0; 3], [0.25; 3]]);
    }
}
