//! Brightness, contrast, saturation, greyscale.
//!
//! Pillow's arithmetic, bit for bit: each adjustment mixes the image with a dull version of itself,
//!
//! ```text
//! out = dull + factor · (in − dull)
//! ```
//!
//! in 32-bit floats, cut off at 0 and 255 and truncated. A factor of 1 changes nothing, 0 gives the dull
//! version: black for brightness, the mean grey for contrast, the grey of each pixel for saturation.

/// Pixels of three bytes each.
fn pixels(rgb: &mut [u8]) -> &mut [[u8; 3]] {
    rgb.as_chunks_mut::<3>().0
}

/// The grey of a colour (ITU-R 601, in 16-bit fixed point).
pub fn luma([red, green, blue]: [u8; 3]) -> u8 {
    let sum = u32::from(red) * 19_595 + u32::from(green) * 38_470 + u32::from(blue) * 7_471;
    ((sum + 0x8000) >> 16) as u8
}

/// One value moved away from (or towards) its dull version.
fn mix(dull: u8, value: u8, factor: f32) -> u8 {
    let dull = f32::from(dull);
    // A cast from float to integer cuts off at the ends and truncates.
    (dull + factor * (f32::from(value) - dull)) as u8
}

/// All values mixed with one and the same dull value, by table.
fn mix_with(rgb: &mut [u8], dull: u8, factor: f32) {
    let table: [u8; 256] = std::array::from_fn(|value| mix(dull, value as u8, factor));
    for value in rgb {
        *value = table[usize::from(*value)];
    }
}

/// Makes an image brighter (`factor` > 1) or darker.
pub fn brightness(rgb: &mut [u8], factor: f32) {
    mix_with(rgb, 0, factor);
}

/// Moves all values away from (`factor` > 1) or towards the mean grey of the image.
pub fn contrast(rgb: &mut [u8], factor: f32) {
    let sum: u64 = pixels(rgb)
        .iter()
        .map(|&pixel| u64::from(luma(pixel)))
        .sum();
    let mean = sum as f64 / (rgb.len() / 3).max(1) as f64;
    mix_with(rgb, (mean + 0.5) as u8, factor);
}

/// Makes colours stronger (`factor` > 1) or paler.
pub fn saturation(rgb: &mut [u8], factor: f32) {
    for pixel in pixels(rgb) {
        let grey = luma(*pixel);
        *pixel = pixel.map(|value| mix(grey, value, factor));
    }
}

/// Takes all colour away.
pub fn greyscale(rgb: &mut [u8]) {
    for pixel in pixels(rgb) {
        *pixel = [luma(*pixel); 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(change: impl Fn(&mut [u8]), rgb: &[u8]) -> Vec<u8> {
        let mut rgb = rgb.to_vec();
        change(&mut rgb);
        rgb
    }

    #[test]
    fn brightness_scales_and_truncates() {
        assert_eq!(
            after(|rgb| brightness(rgb, 1.4), &[10, 101, 200]),
            [14, 141, 255]
        );
        assert_eq!(
            after(|rgb| brightness(rgb, 0.6), &[1, 99, 255]),
            [0, 59, 153]
        );
    }

    #[test]
    fn contrast_turns_about_the_mean_grey() {
        // Greys 100 and 201: mean 150.5, which rounds to 151.
        let rgb = [100, 100, 100, 201, 201, 201];
        assert_eq!(after(|rgb| contrast(rgb, 0.0), &rgb), [151; 6]);
        assert_eq!(
            after(|rgb| contrast(rgb, 2.0), &rgb),
            [49, 49, 49, 251, 251, 251]
        );
        contrast(&mut [], 2.0);
    }

    #[test]
    fn saturation_turns_about_the_grey_of_each_pixel() {
        // 0.299 · 200 + 0.587 · 100 + 0.114 · 50 = 124.2
        let rgb = [200, 100, 50];
        assert_eq!(luma(rgb), 124);
        assert_eq!(after(|rgb| saturation(rgb, 0.5), &rgb), [162, 112, 87]);
        assert_eq!(after(|rgb| saturation(rgb, 2.0), &rgb), [255, 76, 0]);
        assert_eq!(after(greyscale, &rgb), [124; 3]);
    }

    #[test]
    fn a_factor_of_one_changes_nothing() {
        let rgb: Vec<u8> = (0..=255).chain(0..=255).chain(0..=255).collect();
        for change in [brightness, contrast, saturation] {
            assert_eq!(after(|rgb| change(rgb, 1.0), &rgb), rgb);
        }
    }
}
