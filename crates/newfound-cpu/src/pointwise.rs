//! What treats every number alike: ReLU and sums.

use crate::isa::vectorised;
use rayon::prelude::*;

/// Numbers per task: large enough to hide the cost of a task, small enough for the cache.
pub(crate) const CHUNK: usize = 1 << 16;

/// Rows of a matrix with `channels` columns.
pub(crate) fn rows(x: &[f32], channels: usize) -> usize {
    assert!(
        channels > 0 && x.len().is_multiple_of(channels),
        "{} is not a number of rows",
        x.len()
    );
    x.len() / channels
}

/// `y = max(x, 0)`; not-a-number stays.
pub fn relu(x: &[f32], y: &mut [f32]) {
    assert_eq!(x.len(), y.len());
    vectorised! {
        fn chunk(x: &[f32], y: &mut [f32]) {
            for (&x, y) in x.iter().zip(y) {
                *y = if x < 0.0 { 0.0 } else { x };
            }
        }
    }
    y.par_chunks_mut(CHUNK)
        .zip(x.par_chunks(CHUNK))
        .for_each(|(y, x)| chunk(x, y));
}

/// `dx = dy` where the output `y` of the ReLU is positive, 0 elsewhere.
pub fn relu_backward(y: &[f32], dy: &[f32], dx: &mut [f32]) {
    assert_eq!((y.len(), dy.len()), (dx.len(), dx.len()));
    vectorised! {
        fn chunk(y: &[f32], dy: &[f32], dx: &mut [f32]) {
            for ((&y, &dy), dx) in y.iter().zip(dy).zip(dx) {
                *dx = if y > 0.0 { dy } else { 0.0 };
            }
        }
    }
    let inputs = y.par_chunks(CHUNK).zip(dy.par_chunks(CHUNK));
    dx.par_chunks_mut(CHUNK)
        .zip(inputs)
        .for_each(|(dx, (y, dy))| chunk(y, dy, dx));
}

/// `y = a + b`.
pub fn add(a: &[f32], b: &[f32], y: &mut [f32]) {
    assert_eq!((a.len(), b.len()), (y.len(), y.len()));
    vectorised! {
        fn chunk(a: &[f32], b: &[f32], y: &mut [f32]) {
            for ((&a, &b), y) in a.iter().zip(b).zip(y) {
                *y = a + b;
            }
        }
    }
    let inputs = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK));
    y.par_chunks_mut(CHUNK)
        .zip(inputs)
        .for_each(|(y, (a, b))| chunk(a, b, y));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive::Numbers;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_number_by_itself(len in 0usize..300, seed: u64) {
            let mut numbers = Numbers(seed);
            let (a, b) = (numbers.whole(len), numbers.whole(len));
            let mut y = vec![f32::NAN; len];
            relu(&a, &mut y);
            prop_assert!(y.iter().zip(&a).all(|(y, a)| *y == a.max(0.0)));
            let mut d = vec![f32::NAN; len];
            relu_backward(&y, &b, &mut d);
            let kept: Vec<f32> =
                (0..len).map(|i| if a[i] > 0.0 { b[i] } else { 0.0 }).collect();
            prop_assert_eq!(d, kept);
            add(&a, &b, &mut y);
            prop_assert!((0..len).all(|i| y[i] == a[i] + b[i]));
        }
    }

    #[test]
    fn relu_keeps_what_is_not_a_number() {
        let mut y = [0.0; 3];
        relu(&[f32::NAN, -1.0, 2.0], &mut y);
        assert!(y[0].is_nan() && y[1..] == [0.0, 2.0]);
    }

    #[test]
    fn longer_than_one_task() {
        let a = Numbers(1).whole(CHUNK * 2 + 5);
        let mut y = vec![f32::NAN; a.len()];
        add(&a, &a, &mut y);
        assert!(y.iter().zip(&a).all(|(y, a)| *y == 2.0 * a));
    }
}
