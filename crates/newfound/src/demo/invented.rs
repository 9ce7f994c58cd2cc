//! Things that do not exist, in any number of kinds: what the demo's network has seen before it meets its classes.
//!
//! A user's classifier almost always starts from a network that was trained on many other things. Here those things
//! are invented: a kind is a recipe (a body, and one to three pieces at fixed places on it, cut out or put on), drawn
//! once from the seed; its members vary in proportions as those of the real classes do.

use std::f64::consts::TAU;

use super::outline::{Outline, Point, arc};
use super::palette::Tone;
use super::parts::{Part, Relief};
use crate::random::Stream;

/// A kind of invented thing.
#[derive(Debug, Clone)]
pub struct Recipe {
    body: Piece,
    pieces: Vec<Piece>,
}

/// One shape of a recipe.
#[derive(Debug, Clone)]
struct Piece {
    shape: Shape,
    tone: Tone,
    relief: Relief,
    /// Where its middle is.
    centre: Point,
    /// Half its width and half its height.
    size: (f64, f64),
    /// Whether it has a twin on the other side.
    twin: bool,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Ellipse,
    /// A regular polygon with this many rounded corners.
    Polygon(usize),
    /// A star with this many points, and how far in its notches lie.
    Star(usize, f64),
    /// A part of a ring: how many degrees of it, and how thick.
    Arc(f64, f64),
    /// A smooth outline with this many lobes of this height.
    Lobes(usize, f64),
}

impl Shape {
    fn draw(stream: &mut Stream) -> Self {
        match stream.below(5) {
            0 => Self::Ellipse,
            1 => Self::Polygon(3 + stream.below(4) as usize),
            2 => Self::Star(4 + stream.below(5) as usize, stream.between(0.35, 0.7)),
            3 => Self::Arc(stream.between(120.0, 360.0), stream.between(0.2, 0.45)),
            _ => Self::Lobes(2 + stream.below(4) as usize, stream.between(0.15, 0.4)),
        }
    }

    fn outline(self, centre: Point, (rx, ry): (f64, f64)) -> Outline {
        let at = |angle: f64, radius: f64| {
            let (sin, cos) = angle.sin_cos();
            (centre.0 + rx * radius * sin, centre.1 - ry * radius * cos)
        };
        let around = |n: usize, radius: &dyn Fn(usize) -> f64| -> Vec<Point> {
            (0..n)
                .map(|i| at(TAU * i as f64 / n as f64, radius(i)))
                .collect()
        };
        match self {
            Self::Ellipse => Outline::ellipse(centre, rx, ry),
            Self::Polygon(n) => Outline::rounded(&around(n, &|_| 1.0), 0.2 * rx.min(ry)),
            Self::Star(n, notch) => {
                Outline::polygon(&around(2 * n, &|i| if i % 2 == 0 { 1.0 } else { notch }))
            }
            Self::Arc(degrees, thick) => {
                let line = arc(
                    (0.0, 0.0),
                    1.0 - 0.5 * thick,
                    -90.0 - 0.5 * degrees,
                    -90.0 + 0.5 * degrees,
                );
                let line: Vec<Point> = line
                    .iter()
                    .map(|&(x, y)| (centre.0 + rx * x, centre.1 + ry * y))
                    .collect();
                Outline::stroke(&line, thick * rx.min(ry))
            }
            Self::Lobes(n, height) => {
                let points = 8 * n;
                let wave =
                    |i: usize| 1.0 - height + height * (TAU * (i * n) as f64 / points as f64).cos();
                Outline::smooth(&around(points, &wave))
            }
        }
    }
}

impl Piece {
    /// One shape like this one: all its measures a little different.
    fn member(&self, stream: &mut Stream) -> Part {
        let mut about = |value: f64| value * stream.between(0.85, 1.15);
        let centre = (about(self.centre.0), about(self.centre.1));
        let size = (about(self.size.0), about(self.size.1));
        let outline = self.shape.outline(centre, size);
        let outline = if self.twin {
            outline.and(self.shape.outline((-centre.0, centre.1), size))
        } else {
            outline
        };
        Part::new(self.tone, self.relief, outline)
    }
}

impl Recipe {
    /// The kind with this number.
    pub fn new(seed: u64, number: u64) -> Self {
        let stream = &mut Stream::new(seed, "recipe", &[number]);
        let reliefs = [Relief::Flat, Relief::Upright, Relief::Level, Relief::Dome];
        let tones = [
            Tone::Accent,
            Tone::Metal,
            Tone::Dark,
            Tone::Pale,
            Tone::Body,
        ];
        let body = Piece {
            shape: Shape::draw(stream),
            tone: Tone::Body,
            relief: reliefs[stream.below(4) as usize],
            centre: (0.0, 0.0),
            size: (stream.between(0.3, 0.8), stream.between(0.3, 0.8)),
            twin: false,
        };
        let pieces = (0..1 + stream.below(3)).map(|_| {
            let twin = stream.bernoulli(0.4);
            let (sin, cos) = stream.between(0.0, TAU).sin_cos();
            let away = if twin { 1.0 } else { stream.between(0.3, 1.1) };
            Piece {
                shape: Shape::draw(stream),
                tone: tones[stream.below(5) as usize],
                relief: reliefs[stream.below(4) as usize],
                centre: (away * cos * body.size.0, away * sin * body.size.1),
                size: (stream.between(0.12, 0.45), stream.between(0.12, 0.45)),
                twin,
            }
        });
        let pieces = pieces.collect();
        Self { body, pieces }
    }

    /// One thing of this kind, in layers from back to front.
    pub fn draw(&self, stream: &mut Stream) -> Vec<Part> {
        std::iter::once(&self.body)
            .chain(&self.pieces)
            .map(|piece| piece.member(stream))
            .collect()
    }
}
