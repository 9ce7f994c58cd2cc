//! Do the images look to the network as those did that it was trained on? The commonest mistake with a model from elsewhere is another scale of pixels.

use std::collections::BTreeMap;

use crate::weights::Array;

/// Places along each side of an image at which the first layer is asked.
const PLACES: usize = 12;

/// The first convolution of a network, and what its batch-norm saw in training.
pub struct FirstLayer<'a> {
    /// [C, 3, k, k]
    weight: &'a Array,
    /// μ: C.
    mean: &'a [f32],
    /// σ²: C.
    variance: &'a [f32],
}

impl<'a> FirstLayer<'a> {
    /// That of a ResNet; none if there is none in these arrays.
    pub fn of(arrays: &'a BTreeMap<String, Array>) -> Option<Self> {
        let weight = arrays.get("conv1.weight")?;
        let [channels, 3, side, other] = weight.shape[..] else {
            return None;
        };
        let values = |name: &str| Some(&arrays.get(name)?.values[..]);
        let (mean, variance) = (values("bn1.running_mean")?, values("bn1.running_var")?);
        let whole = side == other && mean.len() == channels && variance.len() == channels;
        whole.then_some(Self {
            weight,
            mean,
            variance,
        })
    }

    /// How much images stir it, beside those of its training: 1 if as much.
    ///
    /// ```text
    /// median_c  E[(y_c − μ_c)²] / σ²_c
    /// ```
    ///
    /// over places of all images; y is what the convolution makes of a place. Pixels that were not divided by their deviation have about 0.06, those from 0 to 255
    /// tens of thousands. The median, because some channels of many networks are dead. None without images, or for images smaller than the convolution.
    ///
    /// # Shapes
    ///
    /// `images` [3, S, S] each
    #[doc(alias = "preprocessing")]
    pub fn contrast(&self, images: &[Vec<f32>]) -> Option<f64> {
        let side = self.weight.shape[2];
        let mut sums = vec![0.0; self.mean.len()];
        let mut patch = vec![0.0; 3 * side * side];
        for image in images {
            let width = (image.len() / 3).isqrt();
            let free = width.checked_sub(side)?;
            let place = |step: usize| step * free / (PLACES - 1);
            for (top, left) in
                (0..PLACES * PLACES).map(|at| (place(at / PLACES), place(at % PLACES)))
            {
                for (row, values) in patch.chunks_exact_mut(side).enumerate() {
                    let (channel, y) = (row / side, top + row % side);
                    let from = (channel * width + y) * width + left;
                    values.copy_from_slice(&image[from..][..side]);
                }
                let kernels = self.weight.values.chunks_exact(patch.len());
                for ((sum, kernel), mean) in sums.iter_mut().zip(kernels).zip(self.mean) {
                    let y: f32 = kernel.iter().zip(&patch).map(|(w, x)| w * x).sum();
                    *sum += f64::from(y - mean).powi(2);
                }
            }
        }
        let places = (images.len() * PLACES * PLACES) as f64;
        let alive = sums.iter().zip(self.variance).filter(|(_, v)| **v > 0.0);
        let mut times: Vec<f64> = alive
            .map(|(sum, &variance)| sum / places / f64::from(variance))
            .filter(|times| times.is_finite())
            .collect();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    /// A layer of three channels, each of which copies the middle of a colour, and one that is dead; of training images with mean 1 and variance 4.
    fn arrays() -> BTreeMap<String, Array> {
        let mut weight = vec![0.0; 4 * 27];
        (0..3).for_each(|colour| weight[colour * 27 + colour * 9 + 4] = 1.0);
        let array = |shape: Vec<usize>, values: Vec<f32>| Array { shape, values };
        BTreeMap::from([
            ("conv1.weight".to_string(), array(vec![4, 3, 3, 3], weight)),
            (
                "bn1.running_mean".to_string(),
                array(vec![4], vec![1.0, 1.0, 1.0, 0.0]),
            ),
            (
                "bn1.running_var".to_string(),
                array(vec![4], vec![4.0, 4.0, 4.0, 0.0]),
            ),
        ])
    }

    /// Images of these mean and deviation.
    fn images(mean: f64, deviation: f64) -> Vec<Vec<f32>> {
        let mut draws = Stream::new(0, "images", &[]);
        let mut image = || {
            let values = (0..3 * 32 * 32).map(|_| (mean + deviation * draws.normal()) as f32);
            values.collect::<Vec<_>>()
        };
        (0..20).map(|_| image()).collect()
    }

    #[test]
    fn images_as_in_training_stir_it_as_much() {
        let arrays = arrays();
        let layer = FirstLayer::of(&arrays).unwrap();
        let near = |images: Vec<Vec<f32>>, wanted: f64| {
            let found = layer.contrast(&images).unwrap();
            assert!((found / wanted - 1.0).abs() < 0.1, "{found} {wanted}");
        };
        near(images(1.0, 2.0), 1.0);
        near(images(1.0, 0.5), 0.0625);
        // 4 for the mean, 1 for the deviation.
        near(images(5.0, 2.0), 5.0);
        near(
            images(255.0, 510.0),
            (254f64.powi(2) + 510f64.powi(2)) / 4.0,
        );
    }

    #[test]
    fn what_cannot_be_measured_says_nothing() {
        let mut arrays = arrays();
        let layer = FirstLayer::of(&arrays).unwrap();
        assert_eq!(layer.contrast(&[]), None);
        assert_eq!(layer.contrast(&[vec![0.0; 12]]), None, "two pixels wide");
        arrays.remove("bn1.running_var");
        assert!(FirstLayer::of(&arrays).is_none());
    }
}
