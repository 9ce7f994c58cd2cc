//! Outlines: closed curves in the plane, from which every object is cut.
//!
//! An outline is one or more closed contours, all wound the same way, filled where the winding number is
//! not zero; a hole is a contour wound the other way. Curves are flattened to short straight pieces here,
//! so that whatever comes later (pose, perspective, painting) only ever moves points. The x axis points
//! right and the y axis down, as in an image.

use std::f64::consts::TAU;

/// A point of the plane: (x, y).
pub type Point = (f64, f64);

/// Straight pieces per full turn: at 48 pixels the corners of a 48-gon cannot be seen.
const PIECES_PER_TURN: usize = 48;

/// Straight pieces per span of a smooth curve or per rounded corner.
const PIECES_PER_SPAN: usize = 6;

/// A filled region, bounded by closed contours.
#[derive(Debug, Clone)]
pub struct Outline(Vec<Vec<Point>>);

impl Outline {
    /// Straight edges between the points.
    pub fn polygon(points: &[Point]) -> Self {
        Self(vec![wound_positively(points.to_vec())])
    }

    /// An axis-aligned box with its opposite corners at (x0, y0) and (x1, y1).
    pub fn block((x0, y0): Point, (x1, y1): Point) -> Self {
        Self::polygon(&[(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
    }

    /// An axis-aligned ellipse.
    pub fn ellipse(centre: Point, rx: f64, ry: f64) -> Self {
        let unit = arc((0.0, 0.0), 1.0, 0.0, 360.0);
        let on_curve = |&(x, y): &Point| (centre.0 + rx * x, centre.1 + ry * y);
        Self::polygon(&unit[1..].iter().map(on_curve).collect::<Vec<_>>())
    }

    /// A circle.
    pub fn disc(centre: Point, radius: f64) -> Self {
        Self::ellipse(centre, radius, radius)
    }

    /// A polygon with its corners rounded off, each from `radius` before the corner to `radius` after it
    /// (never further than the middle of an edge).
    pub fn rounded(points: &[Point], radius: f64) -> Self {
        let n = points.len();
        let mut curve = Vec::with_capacity(n * (PIECES_PER_SPAN + 1));
        for (i, &corner) in points.iter().enumerate() {
            let towards = |other: Point| {
                let length = (other.0 - corner.0).hypot(other.1 - corner.1);
                mix(corner, other, (radius / length).min(0.5))
            };
            let (start, end) = (
                towards(points[(i + n - 1) % n]),
                towards(points[(i + 1) % n]),
            );
            for step in 0..=PIECES_PER_SPAN {
                let t = step as f64 / PIECES_PER_SPAN as f64;
                curve.push(mix(mix(start, corner, t), mix(corner, end, t), t));
            }
        }
        Self::polygon(&curve)
    }

    /// A closed curve without corners through all the points (Catmull–Rom).
    pub fn smooth(points: &[Point]) -> Self {
        let n = points.len();
        let mut curve = Vec::with_capacity(n * PIECES_PER_SPAN);
        for i in 0..n {
            let [a, b, c, d] = [i + n - 1, i, i + 1, i + 2].map(|j| points[j % n]);
            for step in 0..PIECES_PER_SPAN {
                let t = step as f64 / PIECES_PER_SPAN as f64;
                let coordinate = |a: f64, b: f64, c: f64, d: f64| {
                    let cubic = (3.0 * (b - c) + d - a) * t + 2.0 * a - 5.0 * b + 4.0 * c - d;
                    b + 0.5 * t * (c - a + t * cubic)
                };
                curve.push((
                    coordinate(a.0, b.0, c.0, d.0),
                    coordinate(a.1, b.1, c.1, d.1),
                ));
            }
        }
        Self::polygon(&curve)
    }

    /// A pen line of constant width with round ends along the points.
    pub fn stroke(points: &[Point], width: f64) -> Self {
        Self::taper(points, width, width)
    }

    /// A pen line whose width goes from `first` at the first point to `last` at the last one.
    pub fn taper(points: &[Point], first: f64, last: f64) -> Self {
        let half = |i: usize| {
            let along = i as f64 / (points.len() - 1).max(1) as f64;
            0.5 * (first + (last - first) * along)
        };
        let mut contours = Vec::with_capacity(2 * points.len());
        for (i, pair) in points.windows(2).enumerate() {
            let (a, b) = (pair[0], pair[1]);
            let length = (b.0 - a.0).hypot(b.1 - a.1).max(1e-9);
            let (nx, ny) = ((a.1 - b.1) / length, (b.0 - a.0) / length);
            let beside = |p: Point, by: f64| (p.0 + by * nx, p.1 + by * ny);
            let (wa, wb) = (half(i), half(i + 1));
            let piece = vec![beside(a, wa), beside(b, wb), beside(b, -wb), beside(a, -wa)];
            contours.push(wound_positively(piece));
        }
        for (i, &point) in points.iter().enumerate() {
            contours.extend(Self::disc(point, half(i)).0);
        }
        Self(contours)
    }

    /// This region and the other one together.
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// This region without the other one, which must lie inside one contour of it: a second layer of
    /// winding below the hole would keep it closed.
    pub fn cut(mut self, hole: Self) -> Self {
        self.0.extend(
            hole.0
                .into_iter()
                .map(|contour| contour.into_iter().rev().collect()),
        );
        self
    }

    /// The contours, with every point moved by `place`.
    pub fn moved(&self, place: impl Fn(Point) -> Point) -> Vec<Vec<Point>> {
        self.0
            .iter()
            .map(|contour| contour.iter().map(|&point| place(point)).collect())
            .collect()
    }

    /// The smallest box around the region: its corners of least and of greatest coordinates.
    pub fn bounds(&self) -> (Point, Point) {
        let empty = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        self.0.iter().flatten().fold(empty, |(low, high), &(x, y)| {
            ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)))
        })
    }
}

/// Points along a circle, from one angle to another, in degrees; 0° points right, 90° down.
pub fn arc(centre: Point, radius: f64, from: f64, to: f64) -> Vec<Point> {
    let pieces = ((to - from).abs() / 360.0 * PIECES_PER_TURN as f64)
        .ceil()
        .max(2.0);
    let at = |i: usize| {
        let angle = (from + (to - from) * i as f64 / pieces) / 360.0 * TAU;
        (
            centre.0 + radius * angle.cos(),
            centre.1 + radius * angle.sin(),
        )
    };
    (0..=pieces as usize).map(at).collect()
}

/// A half outline completed by its mirror image in the y axis: `half` runs from top to bottom on the right.
pub fn symmetric(half: &[Point]) -> Vec<Point> {
    let left = half
        .iter()
        .rev()
        .filter(|point| point.0 != 0.0)
        .map(|&(x, y)| (-x, y));
    half.iter().copied().chain(left).collect()
}

/// The point a share `t` of the way from `a` to `b`.
pub fn mix(a: Point, b: Point, t: f64) -> Point {
    (a.0 + (b.0 - a.0) * t, a.1 + (b.1 - a.1) * t)
}

/// The contour in the order that encloses a positive area, so that overlapping contours never cancel.
fn wound_positively(mut contour: Vec<Point>) -> Vec<Point> {
    if area(&contour) < 0.0 {
        contour.reverse();
    }
    contour
}

/// The signed area inside a contour (the shoelace formula).
fn area(contour: &[Point]) -> f64 {
    let next = contour.iter().cycle().skip(1);
    contour
        .iter()
        .zip(next)
        .map(|(a, b)| a.0 * b.1 - b.0 * a.1)
        .sum::<f64>()
        / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_area(outline: &Outline) -> f64 {
        outline.0.iter().map(|contour| area(contour)).sum()
    }

    #[test]
    fn areas_are_those_of_the_shapes() {
        let square = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)];
        assert_eq!(total_area(&Outline::polygon(&square)), 4.0);
        let disc = total_area(&Outline::disc((1.0, -2.0), 3.0));
        assert!((disc / (9.0 * TAU / 2.0) - 1.0).abs() < 0.01, "{disc}");
        // A parabola cuts a third off each of the four corners, which are triangles of area 1/2.
        let rounded = total_area(&Outline::rounded(&square, 1.0));
        assert!((rounded - (4.0 - 4.0 / 6.0)).abs() < 0.05, "{rounded}");
        // Catmull–Rom through the corners of a square bulges out of it.
        assert!(total_area(&Outline::smooth(&square)) > 4.0);
        let holed = Outline::polygon(&square).cut(Outline::block((0.5, 0.5), (1.5, 1.5)));
        assert_eq!(total_area(&holed), 3.0);
    }

    #[test]
    fn contours_are_wound_the_same_way_whatever_the_order_of_the_points() {
        let clockwise = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0)];
        assert!(total_area(&Outline::polygon(&clockwise)) > 0.0);
        let stroke = Outline::stroke(&[(0.0, 0.0), (1.0, 1.0), (-1.0, 0.0), (0.0, -1.0)], 0.1);
        assert!(stroke.0.iter().all(|contour| area(contour) > 0.0));
    }

    #[test]
    fn a_stroke_reaches_half_its_width_beyond_its_points() {
        let ((x0, y0), (x1, y1)) = Outline::stroke(&[(0.0, 0.0), (1.0, 0.0)], 0.5).bounds();
        for (value, expected) in [(x0, -0.25), (y0, -0.25), (x1, 1.25), (y1, 0.25)] {
            assert!((value - expected).abs() < 1e-9, "{value} {expected}");
        }
    }

    #[test]
    fn a_symmetric_outline_does_not_repeat_points_on_the_axis() {
        let whole = symmetric(&[(0.0, -1.0), (1.0, 0.0), (0.0, 1.0)]);
        assert_eq!(whole, [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)]);
    }
}
