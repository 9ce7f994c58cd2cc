//! The camera: from the light that arrives to the bytes of the image.

use super::palette::Colour;
use super::scene::Place;
use crate::random::Stream;
use image::{Rgb, RgbImage};

/// The lamp's colour, the lens and the sensor, for one photograph.
#[derive(Debug, Clone)]
pub struct Camera {
    /// What each channel is multiplied by: exposure and the warm or cold colour of the light.
    gain: [f64; 3],
    /// How much darker the corners are than the middle, 0 … 1.
    vignette: f64,
    /// The blur of the lens: a Gaussian's standard deviation, in pixels.
    blur: f64,
    /// The share of the contrast that survives haze and glare, 0 … 1.
    contrast: f64,
    /// The standard deviation of the sensor's noise.
    noise: f64,
}

impl Camera {
    /// A photograph's settings such as this place has.
    pub fn draw(place: &Place, stream: &mut Stream) -> Self {
        let exposure = place.exposure.draw(stream);
        // Warm light has more red and less blue, cold light the other way round.
        let cast = place.cast.draw(stream);
        Self {
            gain: [exposure * (1.0 + cast), exposure, exposure * (1.0 - cast)],
            vignette: place.vignette.draw(stream),
            blur: place.blur.draw(stream),
            contrast: place.contrast.draw(stream),
            noise: place.noise.draw(stream),
        }
    }

    /// The photograph of `size` × `size` pixels of light.
    pub fn photograph(&self, light: &[Colour], size: usize, stream: &mut Stream) -> RgbImage {
        let along = blurred(light, size, &kernel(self.blur));
        let both = blurred(&along, size, &kernel(self.blur));
        let mut image = RgbImage::new(size as u32, size as u32);
        for (i, pixel) in image.pixels_mut().enumerate() {
            let at = |k: usize| (2 * k + 1) as f64 / size as f64 - 1.0;
            let corner = (at(i % size).powi(2) + at(i / size).powi(2)) / 2.0;
            let lens = 1.0 - self.vignette * corner;
            *pixel = Rgb([0, 1, 2].map(|channel| {
                let seen = both[i][channel] as f64 * self.gain[channel] * lens;
                let hazy = 0.4 + (seen - 0.4) * self.contrast;
                let value = hazy + self.noise * stream.normal();
                (value.clamp(0.0, 1.0) * 255.0).round() as u8
            }));
        }
        image
    }
}

/// The weights of a Gaussian at the distances 0, 1, 2 … pixels, summing to 1 over both sides.
fn kernel(sigma: f64) -> Vec<f64> {
    let reach = (3.0 * sigma).ceil() as i32;
    let weight = |d: i32| (-0.5 * (d as f64 / sigma.max(1e-6)).powi(2)).exp();
    let total: f64 = (-reach..=reach).map(weight).sum();
    (0..=reach).map(|d| weight(d) / total).collect()
}

/// The picture blurred along its rows and turned on its side, so that doing it twice blurs both ways and
/// turns it back.
fn blurred(picture: &[Colour], size: usize, kernel: &[f64]) -> Vec<Colour> {
    let reach = kernel.len() as isize - 1;
    let mut turned = vec![[0.0; 3]; picture.len()];
    for (i, colour) in turned.iter_mut().enumerate() {
        let (row, column) = (i % size, i / size);
        for offset in -reach..=reach {
            // Beyond the edge the last pixel goes on.
            let from = (column as isize + offset).clamp(0, size as isize - 1) as usize;
            let weight = kernel[offset.unsigned_abs()] as f32;
            (0..3).for_each(|channel| {
                colour[channel] += weight * picture[row * size + from][channel]
            });
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Camera = Camera {
        gain: [1.0; 3],
        vignette: 0.0,
        blur: 0.0,
        contrast: 1.0,
        noise: 0.0,
    };

    fn stripes(size: usize) -> Vec<Colour> {
        (0..size * size)
            .map(|i| {
                if (i % size).is_multiple_of(2) {
                    [1.0, 0.5, 0.0]
                } else {
                    [0.0; 3]
                }
            })
            .collect()
    }

    fn photograph(camera: &Camera) -> RgbImage {
        camera.photograph(&stripes(6), 6, &mut Stream::new(0, "camera", &[]))
    }

    #[test]
    fn a_perfect_camera_shows_what_is_there() {
        let image = photograph(&PLAIN);
        assert_eq!(image.get_pixel(2, 5).0, [255, 128, 0]);
        assert_eq!(image.get_pixel(3, 1).0, [0, 0, 0]);
    }

    #[test]
    fn the_kernel_sums_to_one() {
        for sigma in [0.0, 0.2, 1.0, 2.5] {
            let kernel = kernel(sigma);
            let total = kernel[0] + 2.0 * kernel[1..].iter().sum::<f64>();
            assert!((total - 1.0).abs() < 1e-12, "{sigma} {total}");
        }
    }

    #[test]
    fn blur_evens_out_and_keeps_a_plain_picture() {
        let soft = photograph(&Camera { blur: 1.5, ..PLAIN });
        assert!(
            soft.get_pixel(3, 3).0[0].abs_diff(128) < 12,
            "{:?}",
            soft.get_pixel(3, 3)
        );
        let plain = vec![[0.4; 3]; 36];
        let twice = blurred(&blurred(&plain, 6, &kernel(1.5)), 6, &kernel(1.5));
        assert!(
            twice
                .iter()
                .flatten()
                .all(|value| (value - 0.4).abs() < 1e-6)
        );
    }

    #[test]
    fn each_setting_does_its_own_thing() {
        let dim = photograph(&Camera {
            gain: [0.5, 1.0, 1.0],
            ..PLAIN
        });
        assert_eq!(dim.get_pixel(2, 2).0, [128, 128, 0]);
        let hazy = photograph(&Camera {
            contrast: 0.0,
            ..PLAIN
        });
        assert!(hazy.pixels().all(|pixel| pixel.0 == [102; 3]));
        let lens = photograph(&Camera {
            vignette: 0.5,
            ..PLAIN
        });
        assert!(lens.get_pixel(0, 0).0[0] < lens.get_pixel(2, 2).0[0]);
        assert_ne!(
            photograph(&Camera {
                noise: 0.1,
                ..PLAIN
            }),
            photograph(&PLAIN)
        );
    }
}
