//! Colour jitter: brightness, contrast, saturation and hue, each by chance and in random order.

use super::{adjust, hue};
use crate::random::Stream;

/// One of the four things that colour jitter changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Adjustment {
    /// [`adjust::brightness`]
    Brightness,
    /// [`adjust::contrast`]
    Contrast,
    /// [`adjust::saturation`]
    Saturation,
    /// [`hue::hue`]
    Hue,
}

/// The random part of colour jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JitterDraws {
    /// The order in which the four are applied; it matters, as each cuts off at 0 and 255.
    pub order: [Adjustment; 4],
    /// Factor, uniform in 0.6 … 1.4.
    pub brightness: f32,
    /// Factor, uniform in 0.6 … 1.4.
    pub contrast: f32,
    /// Factor, uniform in 0.6 … 1.4.
    pub saturation: f32,
    /// Turn of the colour wheel, uniform in −0.1 … 0.1.
    pub hue: f64,
}

impl JitterDraws {
    /// torchvision's `ColorJitter(0.4, 0.4, 0.4, 0.1)`.
    pub fn draw(draws: &mut Stream) -> Self {
        use Adjustment::{Brightness, Contrast, Hue, Saturation};
        let four = [Brightness, Contrast, Saturation, Hue];
        let order = draws.permutation(4);
        let mut factor = || draws.between(0.6, 1.4) as f32;
        Self {
            order: std::array::from_fn(|i| four[order[i]]),
            brightness: factor(),
            contrast: factor(),
            saturation: factor(),
            hue: draws.between(-0.1, 0.1),
        }
    }
}

/// Applies the four adjustments in their drawn order.
pub fn jitter(rgb: &mut [u8], draws: &JitterDraws) {
    for adjustment in draws.order {
        match adjustment {
            Adjustment::Brightness => adjust::brightness(rgb, draws.brightness),
            Adjustment::Contrast => adjust::contrast(rgb, draws.contrast),
            Adjustment::Saturation => adjust::saturation(rgb, draws.saturation),
            Adjustment::Hue => hue::hue(rgb, draws.hue),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn draws_fill_their_ranges_and_all_orders_occur() {
        let mut draws = Stream::new(3, "jitter", &[]);
        let n = 12_000;
        let mut orders = HashMap::new();
        let (mut factors, mut turns) = ([0.0f64; 3], (0.0f64, 0.0f64));
        for _ in 0..n {
            let draw = JitterDraws::draw(&mut draws);
            *orders.entry(draw.order).or_insert(0u32) += 1;
            for (sum, factor) in
                factors
                    .iter_mut()
                    .zip([draw.brightness, draw.contrast, draw.saturation])
            {
                assert!((0.6..1.4001).contains(&factor));
                *sum += f64::from(factor) / f64::from(n);
            }
            assert!((-0.1..0.1).contains(&draw.hue));
            turns = (
                turns.0 + draw.hue / f64::from(n),
                turns.1 + draw.hue.powi(2) / f64::from(n),
            );
        }
        assert_eq!(orders.len(), 24);
        assert!(
            orders.values().all(|&count| count.abs_diff(500) < 120),
            "{orders:?}"
        );
        assert!(
            factors.iter().all(|mean| (mean - 1.0).abs() < 0.01),
            "{factors:?}"
        );
        // The variance of a uniform draw from an interval of length 0.2 is 0.2² / 12.
        assert!(
            turns.0.abs() < 0.003 && (turns.1 - 0.04 / 12.0).abs() < 0.0001,
            "{turns:?}"
        );
    }

    #[test]
    fn the_order_matters() {
        use Adjustment::{Brightness, Contrast, Hue, Saturation};
        let forth = JitterDraws {
            order: [Brightness, Contrast, Saturation, Hue],
            brightness: 1.4,
            contrast: 0.6,
            saturation: 1.0,
            hue: 0.0,
        };
        let back = JitterDraws {
            order: [Contrast, Brightness, Saturation, Hue],
            ..forth
        };
        let (mut a, mut b) = ([0, 0, 0, 250, 250, 250], [0, 0, 0, 250, 250, 250]);
        jitter(&mut a, &forth);
        jitter(&mut b, &back);
        // 250 · 1.4 is cut off at 255, mean 128, then ±0.6 about it; or first ±0.6 about 125, then · 1.4.
        assert_eq!((a[0], a[3]), (51, 204));
        assert_eq!((b[0], b[3]), (70, 255));
    }
}
