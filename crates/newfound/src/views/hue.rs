//! Turning the colour wheel.
//!
//! Pillow's 8-bit HSV, bit for bit, with its coarseness: the wheel has 255 steps, and the way to HSV and back
//! moves most colours a little even if the hue is not turned. The mixture of single and double precision is
//! Pillow's too; in single precision alone one colour in two hundred would come out differently.

/// Turns the hue of all pixels by `turn` of the wheel, −0.5 … 0.5, rounded towards zero to its 255 steps.
pub fn hue(rgb: &mut [u8], turn: f64) {
    let steps = (turn * 255.0) as i32 as u8;
    let wheel = Wheel::new();
    for pixel in rgb.as_chunks_mut::<3>().0 {
        let [hue, saturation, value] = to_hsv(*pixel);
        *pixel = wheel.to_rgb([hue.wrapping_add(steps), saturation, value]);
    }
}

/// Hue, saturation and value of a colour, each in 0 … 255.
fn to_hsv([red, green, blue]: [u8; 3]) -> [u8; 3] {
    let (high, low) = (red.max(green).max(blue), red.min(green).min(blue));
    if high == low {
        return [0, 0, high];
    }
    let range = f32::from(high - low);
    // How far each channel lies below the highest, as a share of the range.
    let below = |channel: u8| f32::from(high - channel) / range;
    // Sixths of the wheel: red is at 0, green at 2, blue at 4.
    let sixths = if red == high {
        below(blue) - below(green)
    } else if green == high {
        (2.0 + f64::from(below(red)) - f64::from(below(blue))) as f32
    } else {
        (4.0 + f64::from(below(green)) - f64::from(below(red))) as f32
    };
    let turns = f64::from(sixths) / 6.0 + 1.0;
    let turns = (if turns >= 1.0 { turns - 1.0 } else { turns }) as f32;
    let saturation = range / f32::from(high);
    [
        (f64::from(turns) * 255.0) as u8,
        (saturation * 255.0) as u8,
        high,
    ]
}

/// What the way back from HSV needs for each of the 256 hues: the sixth of the wheel it lies in, and how far.
struct Wheel([(u8, f32); 256]);

impl Wheel {
    fn new() -> Self {
        Self(std::array::from_fn(|hue| {
            let sixths = hue as f64 * 6.0 / 255.0;
            ((sixths as u8) % 6, (sixths - sixths.floor()) as f32)
        }))
    }

    fn to_rgb(&self, [hue, saturation, value]: [u8; 3]) -> [u8; 3] {
        if saturation == 0 {
            return [value; 3];
        }
        let (sixth, along) = self.0[usize::from(hue)];
        let saturation = f32::from(saturation) / 255.0;
        // The value with a share of it taken away, to the nearest integer.
        let without = |share: f64| (f64::from(value) * (1.0 - share) + 0.5) as u8;
        let low = without(f64::from(saturation));
        let falling = without(f64::from(saturation * along));
        let rising = without(f64::from(saturation) * (1.0 - f64::from(along)));
        match sixth {
            0 => [value, rising, low],
            1 => [falling, value, low],
            2 => [low, value, rising],
            3 => [low, falling, value],
            4 => [rising, low, value],
            _ => [value, low, falling],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pure_colours_sit_at_the_thirds_of_the_wheel() {
        assert_eq!(to_hsv([255, 0, 0]), [0, 255, 255]);
        assert_eq!(to_hsv([0, 255, 0]), [85, 255, 255]);
        assert_eq!(to_hsv([0, 0, 255]), [170, 255, 255]);
        // Just before the full turn: 255 · (1 − 1/6 · 100/200) = 233.75.
        assert_eq!(to_hsv([200, 0, 100]), [233, 255, 200]);
    }

    #[test]
    fn a_third_of_a_turn_exchanges_the_primaries() {
        let mut rgb = [255, 0, 0, 0, 255, 0, 90, 90, 90];
        hue(&mut rgb, 1.0 / 3.0);
        assert_eq!(rgb, [0, 255, 0, 0, 0, 255, 90, 90, 90]);
        hue(&mut rgb, -1.0 / 3.0);
        assert_eq!(rgb, [255, 0, 0, 0, 255, 0, 90, 90, 90]);
    }

    #[test]
    fn the_way_there_and_back_is_nearly_the_identity() {
        for red in (0..=255).step_by(5) {
            for green in (0..=255).step_by(5) {
                for blue in (0..=255).step_by(5) {
                    let mut rgb = [red, green, blue];
                    hue(&mut rgb, 0.0);
                    let moved = [red, green, blue]
                        .iter()
                        .zip(rgb)
                        .map(|(a, b)| a.abs_diff(b))
                        .max();
                    assert!(moved <= Some(6), "{:?} {rgb:?}", [red, green, blue]);
                }
            }
        }
    }
}
