//! Colours, and the five of them that one object is painted with.

use super::scene::Place;
use crate::random::Stream;

/// Red, green and blue, each 0 … 1, as displayed.
pub type Colour = [f32; 3];

/// What a part of an object is made of. No class has a colour of its own: every object draws its palette
/// from the same distribution, so that only the shape tells what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// The main colour.
    Body,
    /// A second colour beside it.
    Accent,
    /// Bright grey.
    Metal,
    /// Nearly black.
    Dark,
    /// Nearly white.
    Pale,
}

/// The colours of one object.
#[derive(Debug, Clone)]
pub struct Palette {
    body: Colour,
    accent: Colour,
    metal: Colour,
    dark: Colour,
    pale: Colour,
}

impl Palette {
    /// How much lighter or darker than the backdrop the body must be to be seen at all.
    const LEAST_CONTRAST: f32 = 0.22;

    /// A palette that stands out from a backdrop of this colour.
    pub fn draw(place: &Place, backdrop: Colour, stream: &mut Stream) -> Self {
        let mut body = paint(place, stream);
        // Bounded, so that an unlucky stream cannot hang; the last try is taken as it is.
        for _ in 0..16 {
            if (brightness(body) - brightness(backdrop)).abs() >= Self::LEAST_CONTRAST {
                break;
            }
            body = paint(place, stream);
        }
        let hue = stream.unit();
        // Polished steel is bright on a dark surface and dark on a bright one.
        let shine = if brightness(backdrop) < 0.5 {
            0.75
        } else {
            0.45
        };
        Self {
            body,
            accent: paint(place, stream),
            metal: hsv(hue, 0.06, shine + stream.between(-0.1, 0.1)),
            dark: hsv(hue, 0.3, stream.between(0.1, 0.25)),
            pale: hsv(hue, stream.between(0.05, 0.2), stream.between(0.85, 1.0)),
        }
    }

    /// The colour of a tone.
    pub fn of(&self, tone: Tone) -> Colour {
        match tone {
            Tone::Body => self.body,
            Tone::Accent => self.accent,
            Tone::Metal => self.metal,
            Tone::Dark => self.dark,
            Tone::Pale => self.pale,
        }
    }
}

/// A colour such as objects of this place have, of any hue.
pub fn paint(place: &Place, stream: &mut Stream) -> Colour {
    let hue = stream.unit();
    hsv(
        hue,
        place.paint_saturation.draw(stream),
        place.paint_value.draw(stream),
    )
}

/// The colour of a hue (0 … 1, red to red), a saturation and a value (both 0 … 1).
pub fn hsv(hue: f64, saturation: f64, value: f64) -> Colour {
    // Red, green and blue peak a third of the circle apart.
    [0.0, 2.0 / 3.0, 1.0 / 3.0].map(|shift| {
        let pure = (((hue + shift).fract() * 6.0 - 3.0).abs() - 1.0).clamp(0.0, 1.0);
        (value * (1.0 - saturation * (1.0 - pure))) as f32
    })
}

/// How bright a colour looks (the luma weights of ITU-R BT.601).
pub fn brightness([red, green, blue]: Colour) -> f32 {
    0.299 * red + 0.587 * green + 0.114 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hues_go_round_from_red_to_red() {
        let near = |colour: Colour, expected: Colour| {
            colour
                .iter()
                .zip(expected)
                .all(|(a, b)| (a - b).abs() < 1e-6)
        };
        assert!(near(hsv(0.0, 1.0, 1.0), [1.0, 0.0, 0.0]));
        assert!(near(hsv(1.0 / 3.0, 1.0, 1.0), [0.0, 1.0, 0.0]));
        assert!(near(hsv(2.0 / 3.0, 1.0, 0.5), [0.0, 0.0, 0.5]));
        assert!(near(hsv(1.0 / 6.0, 0.5, 1.0), [1.0, 1.0, 0.5]));
        assert!(near(hsv(0.3, 0.0, 0.7), [0.7; 3]));
    }
}
