//! Does a probability of being new mean what it says?

use serde::{Deserialize, Serialize};

/// Bins of equal width that the probabilities are sorted into.
const BINS: usize = 10;

/// How far stated probabilities and truth are apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Expected calibration error: [`calibration`], in percent.
    pub ece: f64,
    /// The bins that hold images, from low to high: the reliability curve.
    pub bins: Vec<Bin>,
}

/// Images with about the same stated probability.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// How many.
    pub images: u64,
    /// Their mean probability of being new, in percent.
    pub stated: f64,
    /// Those that are new, in percent.
    pub new: f64,
}

/// The expected calibration error (Naeini et al. 2015) of probabilities in [0, 1], each with whether the image is new.
///
/// ```text
/// ECE = Σ_b n_b / N · | mean stated probability in b − share of new images in b |,   ten bins of equal width
/// ```
///
/// None without images.
pub fn calibration(stated: impl IntoIterator<Item = (f64, bool)>) -> Option<Calibration> {
    let mut bins = [(0u64, 0.0, 0u64); BINS];
    for (p, new) in stated {
        let bin = &mut bins[((p * BINS as f64) as usize).min(BINS - 1)];
        bin.0 += 1;
        bin.1 += p;
        bin.2 += u64::from(new);
    }
    let total: u64 = bins.iter().map(|bin| bin.0).sum();
    let of_bin = |&(images, sum, new): &(u64, f64, u64)| Bin {
        images,
        stated: 100.0 * sum / images as f64,
        new: 100.0 * new as f64 / images as f64,
    };
    let bins: Vec<Bin> = bins.iter().filter(|bin| bin.0 > 0).map(of_bin).collect();
    let gap = |bin: &Bin| bin.images as f64 * (bin.stated - bin.new).abs();
    (total > 0).then(|| Calibration {
        ece: bins.iter().map(gap).sum::<f64>() / total as f64,
        bins,
    })
}

/// The bins of several curves together.
pub fn pooled<'a>(curves: impl IntoIterator<Item = &'a Calibration>) -> Vec<Bin> {
    let mut bins = [(0u64, 0.0, 0.0); BINS];
    for bin in curves.into_iter().flat_map(|curve| &curve.bins) {
        // A mean of equal values may lie a little below them.
        let place = ((bin.stated / 100.0 * BINS as f64 + 1e-9) as usize).min(BINS - 1);
        let (images, stated, new) = &mut bins[place];
        let count = bin.images as f64;
        *images += bin.images;
        *stated += count * bin.stated;
        *new += count * bin.new;
    }
    let whole = bins.into_iter().filter(|bin| bin.0 > 0);
    whole
        .map(|(images, stated, new)| Bin {
            images,
            stated: stated / images as f64,
            new: new / images as f64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        // Two at 0.25, one of them new; two at 0.9 and one at 1, all new.
        let images = [
            (0.25, true),
            (0.25, false),
            (0.9, true),
            (0.9, true),
            (1.0, true),
        ];
        let found = calibration(images).unwrap();
        assert_eq!(found.bins.len(), 2);
        assert_eq!(
            (
                found.bins[0].images,
                found.bins[0].stated,
                found.bins[0].new
            ),
            (2, 25.0, 50.0)
        );
        assert!((found.bins[1].stated - 280.0 / 3.0).abs() < 1e-9);
        // (2 · 25 + 3 · 6.67) / 5
        assert!((found.ece - 14.0).abs() < 1e-9);
        assert_eq!(calibration([]), None);
    }

    #[test]
    fn truthful_probabilities_have_no_error() {
        let images = (0..1000).map(|i| (0.3, i % 10 < 3));
        assert!(calibration(images).unwrap().ece < 1e-9);
    }

    #[test]
    fn curves_together_weigh_by_images() {
        let curve = |images: u64, new: u64| {
            calibration((0..images).map(|i| (0.3, i < new))).expect("there are images")
        };
        let bins = pooled([&curve(10, 0), &curve(30, 20)]);
        assert_eq!(bins.len(), 1);
        assert_eq!(bins[0].images, 40);
        assert!((bins[0].stated - 30.0).abs() < 1e-9 && (bins[0].new - 50.0).abs() < 1e-9);
    }
}
