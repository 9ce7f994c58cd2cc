//! Backdrops: what lies behind the object.

use super::outline::Point;
use super::palette::{Colour, hsv};
use super::scene::Place;
use crate::random::Stream;

/// The kinds of surface a backdrop can have.
#[derive(Debug, Clone, Copy)]
enum Surface {
    /// Wavy stripes with a fine grain.
    Wood,
    /// Squares of uneven brightness with joints between them.
    Tiles,
    /// Soft spots, as on plaster or stone.
    Blotches,
    /// Threads crossing threads.
    Weave,
}

/// A surface in one colour, lighter on one side, with a pattern on it.
#[derive(Debug, Clone)]
pub struct Backdrop {
    surface: Surface,
    colour: Colour,
    /// Added where the pattern is at its height (and taken away at its depth).
    pattern: Colour,
    /// How the brightness changes along x and y.
    slope: Point,
    /// Repeats of the pattern per unit of the canvas.
    pitch: f64,
    /// Cosine and sine of the direction of the pattern.
    turn: (f64, f64),
    noise: Noise,
}

impl Backdrop {
    /// A backdrop such as this place has.
    pub fn draw(place: &Place, stream: &mut Stream) -> Self {
        let surfaces = [
            Surface::Wood,
            Surface::Tiles,
            Surface::Blotches,
            Surface::Weave,
        ];
        let surface = surfaces[stream.below(surfaces.len() as u64) as usize];
        let hue = stream.unit();
        let saturation = place.backdrop_saturation.draw(stream);
        let colour = hsv(hue, saturation, place.backdrop_value.draw(stream));
        let depth = place.texture.draw(stream);
        let pattern = hsv(stream.unit(), 0.35, depth);
        let fall = place.gradient.draw(stream);
        let (sin, cos) = stream.between(0.0, std::f64::consts::TAU).sin_cos();
        let slope = (fall * cos, fall * sin);
        let pitch = match surface {
            Surface::Wood => stream.between(1.5, 3.5),
            Surface::Tiles => stream.between(1.2, 2.6),
            Surface::Blotches => stream.between(1.5, 4.0),
            Surface::Weave => stream.between(3.0, 5.0),
        };
        let (sin, cos) = stream.between(0.0, std::f64::consts::PI).sin_cos();
        Self {
            surface,
            colour,
            pattern,
            slope,
            pitch,
            turn: (cos, sin),
            noise: Noise::draw(stream),
        }
    }

    /// The colour without the pattern.
    pub fn colour(&self) -> Colour {
        self.colour
    }

    /// What is seen at a place of the canvas.
    pub fn at(&self, (x, y): Point) -> Colour {
        let slope = (self.slope.0 * x + self.slope.1 * y) as f32;
        let height = self.height((x, y)) as f32;
        [0, 1, 2].map(|channel| self.colour[channel] + slope + height * self.pattern[channel])
    }

    /// The pattern at a place, −1 … 1.
    fn height(&self, (x, y): Point) -> f64 {
        let (cos, sin) = self.turn;
        let (u, v) = (
            self.pitch * (cos * x + sin * y),
            self.pitch * (cos * y - sin * x),
        );
        match self.surface {
            Surface::Wood => {
                let bend = 0.9 * self.noise.at((0.6 * u, 0.3 * v));
                let grain = self.noise.at((7.0 * u, 0.8 * v));
                0.75 * (std::f64::consts::TAU * 0.7 * (u + bend)).sin() + 0.25 * grain
            }
            Surface::Tiles => {
                let joint = |t: f64| (t - t.round()).abs() < 0.06;
                if joint(u) || joint(v) {
                    -1.0
                } else {
                    0.6 * self.noise.cell(u.floor(), v.floor())
                }
            }
            Surface::Blotches => (1.1 * self.noise.at((u, v))
                + 0.6 * self.noise.at((2.3 * u, 2.3 * v)))
            .clamp(-1.0, 1.0),
            Surface::Weave => {
                let thread = |t: f64| (std::f64::consts::PI * t).sin();
                0.7 * thread(u) * thread(v) + 0.3 * self.noise.at((u, v))
            }
        }
    }
}

/// Smooth random heights over the plane, −1 … 1: random values at whole coordinates, repeating after
/// [`Noise::SIDE`], and a smooth blend between them.
#[derive(Debug, Clone)]
struct Noise(Vec<f64>);

impl Noise {
    const SIDE: usize = 16;

    fn draw(stream: &mut Stream) -> Self {
        Self(
            (0..Self::SIDE * Self::SIDE)
                .map(|_| stream.between(-1.0, 1.0))
                .collect(),
        )
    }

    /// The value at whole coordinates.
    fn cell(&self, x: f64, y: f64) -> f64 {
        let wrap = |t: f64| t.rem_euclid(Self::SIDE as f64) as usize % Self::SIDE;
        self.0[wrap(y) * Self::SIDE + wrap(x)]
    }

    /// The blended value.
    fn at(&self, (x, y): Point) -> f64 {
        let ease = |t: f64| t * t * (3.0 - 2.0 * t);
        let (left, top) = (x.floor(), y.floor());
        let (s, t) = (ease(x - left), ease(y - top));
        let row = |y: f64| self.cell(left, y) * (1.0 - s) + self.cell(left + 1.0, y) * s;
        row(top) * (1.0 - t) + row(top + 1.0) * t
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::scene::Domain;

    #[test]
    fn noise_stays_in_its_range_and_is_continuous() {
        let noise = Noise::draw(&mut Stream::new(0, "noise", &[]));
        for step in -3000..3000 {
            let x = f64::from(step) * 0.01;
            let (here, next) = (noise.at((x, 0.37 * x)), noise.at((x + 1e-6, 0.37 * x)));
            assert!(
                here.abs() <= 1.0 && (here - next).abs() < 1e-4,
                "{x} {here} {next}"
            );
        }
        // At whole coordinates the blend is the value itself, and it repeats.
        assert_eq!(noise.at((3.0, -2.0)), noise.cell(3.0, 14.0));
    }

    #[test]
    fn patterns_stay_in_their_range() {
        let mut stream = Stream::new(0, "backdrop", &[]);
        for _ in 0..40 {
            let backdrop = Backdrop::draw(&Place::of(Domain::Target), &mut stream);
            for i in 0..400 {
                let point = (
                    f64::from(i % 20) / 10.0 - 1.0,
                    f64::from(i / 20) / 10.0 - 1.0,
                );
                let height = backdrop.height(point);
                assert!(height.abs() <= 1.0, "{:?} {height}", backdrop.surface);
            }
        }
    }
}
