//! Poses: where and how an object lies in front of the camera.

use super::outline::Point;
use crate::random::Stream;

/// A map of the plane that takes straight lines to straight lines: size, turn, mirroring, shear and
/// perspective, as a 3 × 3 matrix on (x, y, 1), with its inverse.
#[derive(Debug, Clone)]
pub struct Pose {
    forward: [[f64; 3]; 3],
    backward: [[f64; 3]; 3],
    /// Cosine and sine of the turn.
    turn: (f64, f64),
    /// −1 for a mirrored object, 1 otherwise.
    mirror: f64,
}

impl Pose {
    /// A random pose, from the same distribution for every class and in both domains.
    pub fn draw(stream: &mut Stream) -> Self {
        let mirror = if stream.bernoulli(0.5) { -1.0 } else { 1.0 };
        let (sin, cos) = stream.between(-25.0, 25.0).to_radians().sin_cos();
        let size = stream.between(0.74, 0.92);
        let aspect = stream.between(0.9, 1.1);
        let shear = stream.between(-0.1, 0.1);
        let mut within = |limit: f64| stream.between(-limit, limit);
        let place = [
            [1.0, 0.0, within(0.08)],
            [0.0, 1.0, within(0.08)],
            [0.0, 0.0, 1.0],
        ];
        let tilt = [
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [within(0.1), within(0.1), 1.0],
        ];
        let rotate = [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]];
        let stretch = [
            [mirror * size * aspect, size * shear, 0.0],
            [0.0, size / aspect, 0.0],
            [0.0, 0.0, 1.0],
        ];
        let forward = product(place, product(tilt, product(rotate, stretch)));
        Self {
            forward,
            backward: adjugate(forward),
            turn: (cos, sin),
            mirror,
        }
    }

    /// Where a point of the object appears on the canvas.
    pub fn place(&self, point: Point) -> Point {
        apply(&self.forward, point)
    }

    /// Which point of the object appears at a place of the canvas.
    pub fn origin(&self, place: Point) -> Point {
        apply(&self.backward, place)
    }

    /// A direction of the canvas as the object sees it, turned and mirrored back.
    pub fn direction(&self, [x, y, z]: [f64; 3]) -> [f64; 3] {
        let (cos, sin) = self.turn;
        [self.mirror * (cos * x + sin * y), cos * y - sin * x, z]
    }
}

fn apply(matrix: &[[f64; 3]; 3], (x, y): Point) -> Point {
    let [a, b, c] = matrix.map(|row| row[0] * x + row[1] * y + row[2]);
    (a / c, b / c)
}

fn product(a: [[f64; 3]; 3], b: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    a.map(|row| [0, 1, 2].map(|column| (0..3).map(|k| row[k] * b[k][column]).sum()))
}

/// The inverse up to a factor, which [`apply`] divides out again.
fn adjugate(m: [[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let minor = |row: usize, column: usize| {
        let (r, s) = ((row + 1) % 3, (row + 2) % 3);
        let (c, d) = ((column + 1) % 3, (column + 2) % 3);
        m[r][c] * m[s][d] - m[r][d] * m[s][c]
    };
    [0, 1, 2].map(|row| [0, 1, 2].map(|column| minor(column, row)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_of_a_place_is_the_point_that_went_there() {
        let mut stream = Stream::new(1, "pose", &[]);
        for _ in 0..50 {
            let pose = Pose::draw(&mut stream);
            for point in [(0.0, 0.0), (1.0, -1.0), (-0.3, 0.8)] {
                let (x, y) = pose.origin(pose.place(point));
                assert!((x - point.0).abs() < 1e-9 && (y - point.1).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn a_direction_comes_back_as_the_object_sees_it() {
        let quarter = Pose {
            forward: [[0.0; 3]; 3],
            backward: [[0.0; 3]; 3],
            turn: (0.0, 1.0),
            mirror: -1.0,
        };
        // Right on the canvas is up (−y) for an object turned clockwise by 90°; mirroring moves x only.
        assert_eq!(quarter.direction([1.0, 0.0, 0.5]), [-0.0, -1.0, 0.5]);
    }

    #[test]
    fn half_the_poses_are_mirrored_and_none_is_upside_down() {
        let mut stream = Stream::new(2, "pose", &[]);
        let poses: Vec<_> = (0..400).map(|_| Pose::draw(&mut stream)).collect();
        let mirrored = poses.iter().filter(|pose| pose.mirror < 0.0).count();
        assert!((140..260).contains(&mirrored), "{mirrored}");
        assert!(
            poses
                .iter()
                .all(|pose| pose.place((0.0, -1.0)).1 < pose.place((0.0, 1.0)).1)
        );
    }
}
