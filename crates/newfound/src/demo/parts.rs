//! Parts: outlines with a tone and a relief, and how they take the light.

use super::outline::{Outline, Point};
use super::palette::{Colour, Tone};

/// How a part bulges towards the viewer, within the box around its outline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relief {
    /// Not at all.
    Flat,
    /// As a cylinder standing upright.
    Upright,
    /// As a cylinder lying on its side.
    Level,
    /// As a cushion.
    Dome,
}

/// One layer of an object.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is made of.
    pub tone: Tone,
    /// How it bulges.
    pub relief: Relief,
    /// Its edge, within −1 … 1 in both directions.
    pub outline: Outline,
}

impl Part {
    /// A part of this tone and relief.
    pub fn new(tone: Tone, relief: Relief, outline: Outline) -> Self {
        Self {
            tone,
            relief,
            outline,
        }
    }

    /// The direction the surface faces at a point, as (x, y, towards the viewer), of length 1; `bounds`
    /// are those of the outline.
    pub fn normal(&self, bounds: (Point, Point), point: Point) -> [f64; 3] {
        // −1 … 1 across the box; never quite 1, where the surface would turn away from the viewer.
        let across = |x: f64, low: f64, high: f64| {
            0.85 * ((2.0 * x - low - high) / (high - low).max(1e-9)).clamp(-1.0, 1.0)
        };
        let x = across(point.0, bounds.0.0, bounds.1.0);
        let y = across(point.1, bounds.0.1, bounds.1.1);
        let (x, y) = match self.relief {
            Relief::Flat => (0.0, 0.0),
            Relief::Upright => (x, 0.0),
            Relief::Level => (0.0, y),
            Relief::Dome => (0.7 * x, 0.7 * y),
        };
        [x, y, (1.0 - x * x - y * y).max(0.0).sqrt()]
    }
}

/// One lamp, far away, and the light that comes from everywhere.
#[derive(Debug, Clone, Copy)]
pub struct Light {
    /// Where the lamp is: (x, y, towards the viewer), of length 1.
    pub direction: [f64; 3],
    /// The share of the light that comes from everywhere, 0 … 1.
    pub ambient: f64,
    /// How strongly polished surfaces mirror the lamp.
    pub gloss: f64,
}

impl Light {
    /// How a surface of this colour looks when it faces along `normal`: Lambert's cosine law, and Blinn's
    /// highlight on top.
    pub fn on(&self, colour: Colour, normal: [f64; 3]) -> Colour {
        let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        // A surface facing the viewer keeps its colour, whatever the height of the lamp.
        let lambert = dot(normal, self.direction).max(0.0) / self.direction[2];
        let diffuse = self.ambient + (1.0 - self.ambient) * lambert;
        let [x, y, z] = self.direction;
        let half = [x, y, z + 1.0].map(|component| component / (2.0 + 2.0 * z).sqrt());
        let highlight = self.gloss * dot(normal, half).max(0.0).powi(24);
        colour.map(|channel| (channel as f64 * diffuse.min(1.25) + highlight) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIGHT: Light = Light {
        direction: [0.6, 0.0, 0.8],
        ambient: 0.3,
        gloss: 0.0,
    };

    #[test]
    fn normals_have_length_one() {
        let outline = Outline::block((-1.0, -0.5), (0.5, 1.0));
        for relief in [Relief::Flat, Relief::Upright, Relief::Level, Relief::Dome] {
            let part = Part::new(Tone::Body, relief, outline.clone());
            for point in [(-1.0, -0.5), (0.0, 0.0), (0.5, 1.0), (9.0, 9.0)] {
                let length: f64 = part
                    .normal(outline.bounds(), point)
                    .iter()
                    .map(|n| n * n)
                    .sum();
                assert!((length - 1.0).abs() < 1e-9, "{relief:?} {point:?} {length}");
            }
        }
    }

    #[test]
    fn what_faces_the_viewer_keeps_its_colour() {
        let colour = LIGHT.on([0.2, 0.4, 0.8], [0.0, 0.0, 1.0]);
        assert!(
            colour
                .iter()
                .zip([0.2, 0.4, 0.8])
                .all(|(a, b)| (a - b).abs() < 1e-6)
        );
    }

    #[test]
    fn what_faces_the_lamp_is_brighter_than_what_faces_away() {
        let [towards, away] =
            [0.5, -0.5].map(|x: f64| LIGHT.on([0.5; 3], [x, 0.0, (1.0 - x * x).sqrt()])[0]);
        assert!(towards > 0.5 && away < 0.5, "{towards} {away}");
    }
}
