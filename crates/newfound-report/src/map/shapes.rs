//! The shapes of the marks, as outlines to be drawn in one go.
//!
//! All marks of a class are one outline: a browser draws a few hundred long outlines in a fraction of
//! the time that it needs for ten thousand elements, each cut out by a shape of its own.

use std::fmt::Write;

/// Side of the map in the units of the outlines.
pub const SIDE: f64 = 1000.0;

/// Corners of each shape in units of its radius, y downwards. The circle has none.
const CORNERS: [&[[f64; 2]]; 7] = [
    &[],
    &[[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [-0.8, 0.8]],
    &[[0.0, -1.0], [1.0, 0.9], [-1.0, 0.9]],
    &[[0.0, -1.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]],
    &[[-1.0, -0.9], [1.0, -0.9], [0.0, 1.0]],
    &[
        [-0.34, -1.0],
        [0.34, -1.0],
        [0.34, -0.34],
        [1.0, -0.34],
        [1.0, 0.34],
        [0.34, 0.34],
        [0.34, 1.0],
        [-0.34, 1.0],
        [-0.34, 0.34],
        [-1.0, 0.34],
        [-1.0, -0.34],
        [-0.34, -0.34],
    ],
    &[
        [0.0, -1.1],
        [0.26, -0.36],
        [1.05, -0.34],
        [0.42, 0.14],
        [0.65, 0.89],
        [0.0, 0.44],
        [-0.65, 0.89],
        [-0.42, 0.14],
        [-1.05, -0.34],
        [-0.26, -0.36],
    ],
];

/// As many shapes.
pub const SHAPES: usize = CORNERS.len();

/// A mark of a shape around a centre, as part of an outline in whole units.
pub fn outline(shape: usize, radius: f64, [x, y]: [f64; 2]) -> String {
    let whole = |value: f64| value.round() as i64;
    let mut corners = CORNERS[shape]
        .iter()
        .map(|corner| [whole(x + radius * corner[0]), whole(y + radius * corner[1])]);
    let Some([mut left, mut top]) = corners.next() else {
        let r = whole(0.9 * radius);
        let half = format!("a{r} {r} 0 1 0 ");
        return format!(
            "M{} {}{half}{} 0{half}-{} 0",
            whole(x) - r,
            whole(y),
            2 * r,
            2 * r
        );
    };
    let mut text = format!("M{left} {top}l");
    for (i, corner) in corners.enumerate() {
        for (axis, step) in [corner[0] - left, corner[1] - top].into_iter().enumerate() {
            // A minus sign sets numbers apart by itself, and there are many thousands of them.
            let space = if (i > 0 || axis > 0) && step >= 0 {
                " "
            } else {
                ""
            };
            write!(text, "{space}{step}").expect("a string takes everything");
        }
        [left, top] = corner;
    }
    text.push('z');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_by_hand() {
        assert_eq!(
            outline(0, 10.0, [50.0, 60.0]),
            "M41 60a9 9 0 1 0 18 0a9 9 0 1 0 -18 0"
        );
        assert_eq!(outline(1, 10.0, [50.0, 60.0]), "M42 52l16 0 0 16-16 0z");
        assert_eq!(outline(3, 10.0, [50.0, 60.0]), "M50 50l10 10-10 10-10-10z");
    }

    #[test]
    fn every_shape_stays_near_its_centre() {
        let far = CORNERS
            .iter()
            .copied()
            .flatten()
            .flatten()
            .filter(|part| part.abs() > 1.1);
        assert_eq!(far.count(), 0);
    }
}
