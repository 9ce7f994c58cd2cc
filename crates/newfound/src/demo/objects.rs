//! The ten kinds of things in the demo, drawn in layers from back to front.
//!
//! Each drawing fits into −1 … 1 in both directions and varies within its class: proportions, numbers of
//! teeth, panels and stripes, open or closed. Colours are left to the palette.

use super::outline::{Outline, Point, arc, mix, symmetric};
use super::palette::Tone::{Accent, Body, Dark, Metal, Pale};
use super::parts::Part;
use super::parts::Relief::{Dome, Flat, Level, Upright};
use crate::random::Stream;

/// A kind of thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Class {
    Anchor,
    Car,
    Fish,
    Guitar,
    House,
    Key,
    Leaf,
    Mug,
    Scissors,
    Umbrella,
}

impl Class {
    /// The classes of the source domain.
    pub const KNOWN: [Self; 6] = [
        Self::Anchor,
        Self::Car,
        Self::Fish,
        Self::Guitar,
        Self::House,
        Self::Key,
    ];

    /// The classes that only the target domain has.
    pub const PRIVATE: [Self; 4] = [Self::Leaf, Self::Mug, Self::Scissors, Self::Umbrella];

    /// The name of the class, which is the name of its folder.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anchor => "anchor",
            Self::Car => "car",
            Self::Fish => "fish",
            Self::Guitar => "guitar",
            Self::House => "house",
            Self::Key => "key",
            Self::Leaf => "leaf",
            Self::Mug => "mug",
            Self::Scissors => "scissors",
            Self::Umbrella => "umbrella",
        }
    }

    /// One thing of this kind, in layers from back to front.
    pub fn draw(self, stream: &mut Stream) -> Vec<Part> {
        match self {
            Self::Anchor => anchor(stream),
            Self::Car => car(stream),
            Self::Fish => fish(stream),
            Self::Guitar => guitar(stream),
            Self::House => house(stream),
            Self::Key => key(stream),
            Self::Leaf => leaf(stream),
            Self::Mug => mug(stream),
            Self::Scissors => scissors(stream),
            Self::Umbrella => umbrella(stream),
        }
    }
}

/// A ring on a shank, a stock across it, and two curved arms that end in flukes.
fn anchor(s: &mut Stream) -> Vec<Part> {
    let width = s.between(0.13, 0.2);
    let stock = s.between(0.32, 0.5);
    let stock_y = s.between(-0.5, -0.35);
    let ring = s.between(0.13, 0.18);
    let reach = s.between(0.62, 0.78);
    let fluke = s.between(0.2, 0.3);
    let (centre, spread) = ((0.0, 0.88 - reach), s.between(8.0, 22.0));
    let arms = arc(centre, reach, 180.0 - spread, spread);
    let tips = [arms[0], arms[arms.len() - 1]];
    let head = |tip: Point, side: f64| {
        let (x, y) = tip;
        Outline::polygon(&[
            (x + side * 0.1, y - fluke),
            (x + side * fluke * 0.75, y + 0.1),
            (x - side * fluke * 0.95, y + 0.02),
        ])
    };
    let hoop = Outline::stroke(&arc((0.0, -0.8 + ring * 0.4), ring, 0.0, 360.0), 0.09);
    vec![
        Part::new(Metal, Flat, hoop),
        Part::new(Body, Level, Outline::stroke(&arms, width)),
        Part::new(Body, Flat, head(tips[0], -1.0).and(head(tips[1], 1.0))),
        Part::new(
            Body,
            Upright,
            Outline::stroke(&[(0.0, -0.6), (0.0, 0.84)], width),
        ),
        Part::new(
            Accent,
            Level,
            Outline::stroke(&[(-stock, stock_y), (stock, stock_y)], width),
        ),
    ]
}

/// A side view: body with cabin, two windows, two wheels, lamps and a door line.
fn car(s: &mut Stream) -> Vec<Part> {
    let (roof, hood) = (s.between(-0.56, -0.4), s.between(-0.1, 0.02));
    let (rear, front) = (s.between(-0.72, -0.4), s.between(0.05, 0.3));
    let (slope, screen) = (s.between(0.08, 0.28), s.between(0.25, 0.4));
    let wheel = s.between(0.2, 0.26);
    let wheels = [(s.between(-0.6, -0.5), 0.36), (s.between(0.5, 0.6), 0.36)];
    let back = (rear - slope).max(-0.95);
    let shell = [
        (-0.97, 0.38),
        (-0.97, hood),
        (back, hood - 0.04),
        (rear, roof),
        (front, roof),
        (front + screen, hood - 0.02),
        (0.9, hood + 0.1),
        (0.97, 0.38),
    ];
    let pillar = 0.5 * (rear + front) + s.between(-0.05, 0.1);
    let (top, sill) = (roof + 0.1, hood - 0.05);
    let rear_glass = [
        (rear + 0.04, top),
        (pillar - 0.04, top),
        (pillar - 0.04, sill),
        (back + 0.13, sill),
    ];
    let front_glass = [
        (pillar + 0.04, top),
        (front - 0.02, top),
        (front + screen - 0.12, sill),
        (pillar + 0.04, sill),
    ];
    let mut parts = vec![
        Part::new(Body, Level, Outline::rounded(&shell, 0.12)),
        Part::new(
            Pale,
            Level,
            Outline::polygon(&rear_glass).and(Outline::polygon(&front_glass)),
        ),
        Part::new(
            Dark,
            Flat,
            Outline::stroke(&[(pillar, sill + 0.02), (pillar, 0.3)], 0.03),
        ),
        Part::new(
            Pale,
            Dome,
            Outline::ellipse((0.88, hood + 0.19), 0.07, 0.06),
        ),
        Part::new(Accent, Level, Outline::block((-0.97, 0.24), (0.97, 0.34))),
    ];
    for hub in wheels {
        parts.push(Part::new(Dark, Dome, Outline::disc(hub, wheel)));
        parts.push(Part::new(Metal, Dome, Outline::disc(hub, wheel * 0.48)));
    }
    parts
}

/// A body that tapers to a forked tail, with fins, an eye and up to three stripes.
fn fish(s: &mut Stream) -> Vec<Part> {
    let height = s.between(0.34, 0.52);
    let tail = s.between(0.32, 0.5);
    let fork = s.between(-0.86, -0.72);
    let fin = s.between(0.2, 0.36);
    let body = [
        (0.92, 0.02),
        (0.62, -0.72 * height),
        (0.2, -height),
        (-0.25, -0.62 * height),
        (-0.58, -0.09),
        (-0.58, 0.09),
        (-0.25, 0.6 * height),
        (0.2, 0.95 * height),
        (0.62, 0.66 * height),
    ];
    let tail = [
        (-0.5, 0.0),
        (-0.72, -0.7 * tail),
        (-0.97, -tail),
        (fork, 0.0),
        (-0.97, tail),
        (-0.72, 0.7 * tail),
    ];
    let dorsal = [
        (0.42, -0.8 * height),
        (0.05, -height - fin),
        (-0.22, -height - 0.55 * fin),
        (-0.3, -0.5 * height),
    ];
    let belly = [
        (0.15, 0.8 * height),
        (-0.12, height + 0.7 * fin),
        (-0.22, 0.5 * height),
    ];
    let mut parts = vec![
        Part::new(Accent, Flat, Outline::rounded(&tail, 0.08)),
        Part::new(
            Accent,
            Flat,
            Outline::rounded(&dorsal, 0.1).and(Outline::rounded(&belly, 0.06)),
        ),
        Part::new(Body, Level, Outline::smooth(&body)),
    ];
    for stripe in 0..s.below(4) {
        let x = 0.22 - 0.24 * stripe as f64;
        let half = height * (0.72 - 0.2 * stripe as f64);
        let line = [(x, -half), (x - 0.05, 0.0), (x, half)];
        parts.push(Part::new(Accent, Level, Outline::stroke(&line, 0.08)));
    }
    parts.extend([
        Part::new(
            Dark,
            Flat,
            Outline::stroke(&arc((0.3, 0.0), 0.2, -50.0, 50.0), 0.035),
        ),
        Part::new(Pale, Flat, Outline::disc((0.68, -0.1), 0.09)),
        Part::new(Dark, Flat, Outline::disc((0.69, -0.1), 0.05)),
    ]);
    parts
}

/// A waisted body with a sound hole and a bridge, a long neck, a head with pegs.
fn guitar(s: &mut Stream) -> Vec<Part> {
    let (lower, upper) = (s.between(0.46, 0.58), s.between(0.34, 0.44));
    let waist = upper - s.between(0.05, 0.13);
    let shoulder = s.between(-0.22, -0.1);
    let hole = s.between(0.1, 0.15);
    let neck = s.between(0.055, 0.08);
    let half = [
        (0.0, shoulder + 0.02),
        (0.6 * upper, shoulder),
        (upper, shoulder + 0.22),
        (waist, shoulder + 0.45),
        (lower, 0.6),
        (0.72 * lower, 0.9),
        (0.0, 0.97),
    ];
    let head = [
        (0.0, -0.72),
        (0.07, -0.72),
        (0.12, -0.78),
        (0.1, -0.98),
        (0.0, -0.98),
    ];
    let mut parts = Vec::new();
    for y in [-0.93, -0.82] {
        parts.push(Part::new(
            Metal,
            Flat,
            Outline::stroke(&[(-0.17, y), (0.17, y)], 0.07),
        ));
    }
    let sound = (0.0, shoulder + 0.42);
    parts.extend([
        Part::new(Body, Dome, Outline::smooth(&symmetric(&half))),
        Part::new(Accent, Flat, Outline::disc(sound, hole + 0.05)),
        Part::new(Dark, Flat, Outline::disc(sound, hole)),
        Part::new(Dark, Flat, Outline::block((-0.2, 0.66), (0.2, 0.73))),
        Part::new(
            Accent,
            Upright,
            Outline::block((-neck, -0.76), (neck, sound.1 - hole)),
        ),
        Part::new(Accent, Flat, Outline::polygon(&symmetric(&head))),
        Part::new(
            Pale,
            Flat,
            Outline::stroke(&[(0.0, -0.75), (0.0, 0.68)], 0.025),
        ),
    ]);
    parts
}

/// Walls under a gabled roof, a door, one to three windows, mostly a chimney.
fn house(s: &mut Stream) -> Vec<Part> {
    let wall = s.between(0.58, 0.78);
    let eaves = s.between(-0.2, 0.0);
    let ridge = s.between(-0.95, -0.72);
    let overhang = s.between(0.1, 0.2);
    let top = s.between(0.0, 0.35) * wall;
    let mut parts = Vec::new();
    if s.bernoulli(0.75) {
        let x = s.between(0.35, 0.55) * wall;
        parts.push(Part::new(
            Dark,
            Upright,
            Outline::block((x, ridge - 0.02), (x + 0.17, eaves)),
        ));
    }
    parts.push(Part::new(
        Body,
        Flat,
        Outline::block((-wall, eaves - 0.02), (wall, 0.85)),
    ));
    let roof = [
        (-wall - overhang, eaves),
        (-top, ridge),
        (top, ridge),
        (wall + overhang, eaves),
    ];
    parts.push(Part::new(Accent, Level, Outline::polygon(&roof)));
    let door = s.between(-0.5, 0.3) * wall;
    let (width, lintel) = (s.between(0.24, 0.32), s.between(0.28, 0.4));
    parts.push(Part::new(
        Dark,
        Flat,
        Outline::block((door, lintel), (door + width, 0.85)),
    ));
    parts.push(Part::new(
        Metal,
        Flat,
        Outline::disc((door + 0.8 * width, 0.62), 0.035),
    ));
    let mut window = |x: f64, y: f64, half: f64| {
        parts.push(Part::new(
            Pale,
            Flat,
            Outline::block((x - half, y - half), (x + half, y + half)),
        ));
        let bars = Outline::block((x - 0.02, y - half), (x + 0.02, y + half))
            .and(Outline::block((x - half, y - 0.02), (x + half, y + 0.02)));
        parts.push(Part::new(Dark, Flat, bars));
    };
    let half = s.between(0.1, 0.15);
    window(mix((door + width, 0.0), (wall, 0.0), 0.5).0, 0.42, half);
    if s.bernoulli(0.6) {
        window(mix((door, 0.0), (-wall, 0.0), 0.5).0, 0.42, half.min(0.13));
    }
    if s.bernoulli(0.5) {
        window(0.0, mix((0.0, ridge), (0.0, eaves), 0.62).1, 0.11);
    }
    parts
}

/// A bow with a hole, a shaft with a collar, two to four teeth.
fn key(s: &mut Stream) -> Vec<Part> {
    let width = s.between(0.13, 0.19);
    let (rx, ry) = (s.between(0.3, 0.44), s.between(0.28, 0.38));
    let centre = (0.0, ry - 0.97);
    let open = s.between(0.45, 0.62);
    let hole = Outline::ellipse(centre, open * rx, open * ry);
    let corner = [(rx, -ry), (rx, ry), (-rx, ry), (-rx, -ry)].map(|(x, y)| (x, centre.1 + y));
    let bow = match s.below(3) {
        0 => Outline::ellipse(centre, rx, ry),
        1 => Outline::rounded(&corner, 0.22),
        _ => Outline::polygon(
            &arc(centre, rx.max(ry), 22.5, 337.5)
                .into_iter()
                .step_by(6)
                .collect::<Vec<_>>(),
        ),
    };
    let collar = centre.1 + ry + s.between(0.06, 0.14);
    let mut parts = vec![
        Part::new(
            Body,
            Upright,
            Outline::stroke(&[(0.0, centre.1 + 0.9 * ry), (0.0, 0.88)], width),
        ),
        Part::new(Body, Dome, bow.cut(hole)),
        Part::new(
            Accent,
            Upright,
            Outline::block((-width, collar), (width, collar + 0.09)),
        ),
    ];
    let teeth = 2 + s.below(3);
    for tooth in 0..teeth {
        let y = 0.9 - 0.19 * tooth as f64;
        let reach = 0.5 * width + s.between(0.16, 0.34);
        parts.push(Part::new(
            Body,
            Flat,
            Outline::block((0.0, y - 0.11), (reach, y)),
        ));
    }
    parts
}

/// A maple leaf: five pointed lobes, veins and a stalk.
fn leaf(s: &mut Stream) -> Vec<Part> {
    let (wide, tall) = (s.between(0.82, 1.0), s.between(0.88, 1.0));
    let notch = s.between(0.8, 1.25);
    let half = [
        (0.0, -0.97),
        (0.15, -0.68),
        (0.32, -0.72),
        (0.21 * notch, -0.3),
        (0.46, -0.56),
        (0.56, -0.42),
        (0.86, -0.46),
        (0.76, -0.22),
        (0.95, -0.06),
        (0.45 * notch, 0.1),
        (0.62, 0.34),
        (0.3, 0.32),
        (0.0, 0.44),
    ]
    .map(|(x, y)| (x * wide, y * tall));
    let base = (0.0, 0.4 * tall);
    let mut veins = Outline::stroke(&[base, (0.0, -0.8 * tall)], 0.035);
    for (x, y) in [(0.72, -0.38), (0.46, 0.24)] {
        for side in [-1.0, 1.0] {
            veins = veins.and(Outline::taper(
                &[base, (side * x * wide, y * tall)],
                0.05,
                0.02,
            ));
        }
    }
    let bend = s.between(-0.2, 0.2);
    vec![
        Part::new(
            Accent,
            Flat,
            Outline::taper(&[base, (0.3 * bend, 0.7), (bend, 0.95)], 0.06, 0.1),
        ),
        Part::new(Body, Dome, Outline::rounded(&symmetric(&half), 0.04)),
        Part::new(Accent, Flat, veins),
    ]
}

/// A cup that may taper, a looped handle at its side, the dark opening, one or two bands.
fn mug(s: &mut Stream) -> Vec<Part> {
    let (top, bottom) = (s.between(0.46, 0.58), s.between(0.4, 0.56));
    let (rim, foot) = (s.between(-0.82, -0.68), s.between(0.72, 0.86));
    let depth = s.between(0.1, 0.16);
    let shift = -0.18;
    let grip = s.between(0.3, 0.4);
    let handle = arc((0.0, 0.0), 1.0, -80.0, 80.0).into_iter();
    let middle = 0.5 * (rim + foot) + s.between(-0.08, 0.04);
    let stretch = s.between(1.0, 1.3);
    let handle: Vec<_> = handle
        .map(|(x, y)| (shift + 0.45 + 1.25 * grip * x, middle + stretch * grip * y))
        .collect();
    let cup = [
        (shift - top, rim),
        (shift + top, rim),
        (shift + bottom, foot),
        (shift - bottom, foot),
    ];
    let mut parts = vec![
        Part::new(Body, Level, Outline::stroke(&handle, s.between(0.13, 0.18))),
        Part::new(
            Body,
            Upright,
            Outline::rounded(&cup, 0.1).and(Outline::ellipse((shift, rim), top, depth)),
        ),
    ];
    for band in 0..s.below(3) {
        let y = mix((0.0, rim), (0.0, foot), 0.45 + 0.25 * band as f64).1;
        let half = bottom.min(top) - 0.01;
        let stripe = Outline::block((shift - half, y - 0.06), (shift + half, y + 0.06));
        parts.push(Part::new(Accent, Upright, stripe));
    }
    parts.extend([
        Part::new(Pale, Flat, Outline::ellipse((shift, rim), top, depth)),
        Part::new(
            Dark,
            Flat,
            Outline::ellipse((shift, rim + 0.01), top - 0.06, depth - 0.045),
        ),
    ]);
    parts
}

/// Two blades crossing at a screw, more or less open, with a ring for the fingers on each.
fn scissors(s: &mut Stream) -> Vec<Part> {
    let open = s.between(9.0, 24.0_f64).to_radians();
    let length = s.between(0.95, 1.1);
    let blade = s.between(0.13, 0.18);
    let ring = s.between(0.2, 0.26);
    let grip = s.between(0.08, 0.12);
    let pivot = (0.0, 0.05);
    let mut parts = Vec::new();
    for side in [-1.0, 1.0] {
        // Along the blade, and across it: the halves are mirror images.
        let at = |along: f64, across: f64| {
            let (sin, cos) = open.sin_cos();
            (
                pivot.0 + side * (along * sin + across * cos),
                pivot.1 - along * cos + across * sin,
            )
        };
        let edge = [
            at(-0.12, -blade),
            at(-0.12, 0.0),
            at(length, 0.0),
            at(0.5 * length, -blade * 0.9),
        ];
        let finger = at(-0.62, -0.06);
        let shank = Outline::taper(&[at(0.05, -0.06), at(-0.4, -0.04)], 0.14, 0.12);
        parts.push(Part::new(Metal, Flat, Outline::polygon(&edge)));
        parts.push(Part::new(Body, Flat, shank));
        let loops: Vec<_> = arc((0.0, 0.0), ring, 0.0, 360.0)
            .into_iter()
            .map(|(x, y)| (finger.0 - side * 0.04 + x * 0.9, finger.1 + y * 1.15))
            .collect();
        parts.push(Part::new(Body, Dome, Outline::stroke(&loops, grip)));
    }
    parts.push(Part::new(Dark, Flat, Outline::disc(pivot, 0.06)));
    parts
}

/// A canopy of four to seven panels with a scalloped edge, a pole, a tip and a crook.
fn umbrella(s: &mut Stream) -> Vec<Part> {
    let panels = 4 + s.below(4) as usize;
    let (wide, top) = (s.between(0.82, 0.97), s.between(-0.85, -0.7));
    let edge = s.between(-0.12, 0.06);
    let scallop = s.between(0.06, 0.13);
    let crook = s.between(0.13, 0.2);
    let end = s.between(0.68, 0.78);
    let two_tone = s.bernoulli(0.6);
    let pole: Vec<_> = [(0.0, edge - 0.1)]
        .into_iter()
        .chain(arc((crook, end), crook, 180.0, 0.0))
        .collect();
    let mut parts = vec![
        Part::new(
            Metal,
            Flat,
            Outline::stroke(&[(0.0, top - 0.1), (0.0, top + 0.1)], 0.05),
        ),
        Part::new(Metal, Upright, Outline::stroke(&pole, 0.085)),
    ];
    // A rib runs from the tip to the edge as a quarter of an ellipse.
    let rib = |x: f64, turn: f64| {
        let (sin, cos) = turn.to_radians().sin_cos();
        (x * sin, edge + (top - edge) * cos)
    };
    for panel in 0..panels {
        let foot = |k: usize| wide * (2.0 * k as f64 / panels as f64 - 1.0);
        let (left, right) = (foot(panel), foot(panel + 1));
        let down = (0..=9).map(|i| rib(left, 10.0 * i as f64));
        let across = (1..8).map(|i| {
            let t = i as f64 / 8.0;
            (
                left + (right - left) * t,
                edge - scallop * (4.0 * t * (1.0 - t)),
            )
        });
        let up = (0..=9).rev().map(|i| rib(right, 10.0 * i as f64));
        let tone = if two_tone && panel % 2 == 1 {
            Accent
        } else {
            Body
        };
        let cloth: Vec<_> = down.chain(across).chain(up).collect();
        parts.push(Part::new(tone, Level, Outline::polygon(&cloth)));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> impl Iterator<Item = Class> {
        Class::KNOWN.into_iter().chain(Class::PRIVATE)
    }

    #[test]
    fn every_drawing_fits_its_frame_and_fills_it() {
        for class in all() {
            for index in 0..200 {
                let parts = class.draw(&mut Stream::new(0, "drawing", &[index]));
                let bounds: Vec<_> = parts.iter().map(|part| part.outline.bounds()).collect();
                let size = |get: fn(&(Point, Point)) -> f64| {
                    bounds.iter().map(get).fold(f64::MIN, f64::max)
                };
                let sides = [
                    size(|b| -b.0.0),
                    size(|b| -b.0.1),
                    size(|b| b.1.0),
                    size(|b| b.1.1),
                ];
                assert!(sides.iter().all(|&side| side < 1.1), "{class:?} {sides:?}");
                let [left, top, right, bottom] = sides;
                let longest = (left + right).max(top + bottom);
                assert!(longest > 1.5, "{class:?} {sides:?}");
            }
        }
    }

    #[test]
    fn every_class_is_drawn_in_layers_that_vary() {
        for class in all() {
            let drawing = |index| format!("{:?}", class.draw(&mut Stream::new(0, "d", &[index])));
            assert_ne!(drawing(0), drawing(1), "{class:?}");
            assert!(
                class.draw(&mut Stream::new(0, "d", &[])).len() >= 3,
                "{class:?}"
            );
        }
    }

    #[test]
    fn names_are_in_alphabetical_order() {
        assert!(all().map(Class::name).is_sorted());
    }
}
