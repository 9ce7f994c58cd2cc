//! Winograd's minimal filtering F(4×4, 3×3): 36 multiplications where the definition has 144.
//!
//! A tile of 4 × 4 outputs of a 3×3 convolution depends on 6 × 6 inputs. With the input d, the kernel g and
//! the matrices below (products of polynomials by their values at 0, ±a, ±b and ∞),
//!
//! ```text
//! output = Aᵀ · [ (G·g·Gᵀ) ⊙ (Bᵀ·d·B) ] · A
//! ```
//!
//! and summed over channels the 36 multiplications become 36 matrix products. With the points a = 3/4 and
//! b = 3/2 the root mean square error at 256 channels is 1.5·10⁻⁶ of the result's standard deviation, and
//! the largest 7·10⁻⁶; a plain sum in single precision has 0.9·10⁻⁶, the direct kernel of this crate, which
//! sums in parts, 0.5·10⁻⁶, and the usual points ±1, ±2 have 3.2·10⁻⁶. That is close enough to the definition
//! for training as well.
//!
//! The same identity gives the gradient of the kernel: with the gradient e of a tile's outputs,
//!
//! ```text
//! dg = Gᵀ · [ (A·e·Aᵀ) ⊙ (Bᵀ·d·B) ] · G,   summed over all tiles before the last step.
//! ```
//!
//! After Lavin and Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016.

use crate::lanes::Lanes;

/// Outputs along a side of a tile.
pub(crate) const OUT: usize = 4;
/// Inputs along a side of a tile, and points of evaluation.
pub(crate) const IN: usize = 6;
/// Matrix products.
pub(crate) const POSITIONS: usize = IN * IN;

const A: f32 = 0.75;
const B: f32 = 1.5;
const A2: f32 = A * A;
const B2: f32 = B * B;

/// One column of `Bᵀ·d`.
///
/// # Safety
/// The instruction family of `L` is there.
#[inline(always)]
pub(crate) unsafe fn input<L: Lanes>(d: [L; IN]) -> [L; IN] {
    // SAFETY: the caller's promise.
    unsafe {
        let product = L::splat(A2 * B2);
        let sum = L::splat(-(A2 + B2));
        let (even_a, odd_a) = (pair::<L>(-B2, d[2], d[4]), pair::<L>(-B2, d[1], d[3]));
        let (even_b, odd_b) = (pair::<L>(-A2, d[2], d[4]), pair::<L>(-A2, d[1], d[3]));
        [
            d[0].multiply_add(product, d[2].multiply_add(sum, d[4])),
            odd_a.multiply_add(L::splat(A), even_a),
            odd_a.multiply_add(L::splat(-A), even_a),
            odd_b.multiply_add(L::splat(B), even_b),
            odd_b.multiply_add(L::splat(-B), even_b),
            d[1].multiply_add(product, d[3].multiply_add(sum, d[5])),
        ]
    }
}

/// `factor · x + y`.
#[inline(always)]
unsafe fn pair<L: Lanes>(factor: f32, x: L, y: L) -> L {
    // SAFETY: the caller's promise.
    unsafe { x.multiply_add(L::splat(factor), y) }
}

/// One column of `Aᵀ·m`.
///
/// # Safety
/// The instruction family of `L` is there.
#[inline(always)]
pub(crate) unsafe fn output<L: Lanes>(m: [L; IN]) -> [L; OUT] {
    // SAFETY: the caller's promise.
    unsafe {
        let minus = L::splat(-1.0);
        let (sum_a, difference_a) = (m[1].add(m[2]), m[2].multiply_add(minus, m[1]));
        let (sum_b, difference_b) = (m[3].add(m[4]), m[4].multiply_add(minus, m[3]));
        let [a, b] = [L::splat(A), L::splat(B)];
        let [a2, b2] = [L::splat(A2), L::splat(B2)];
        let [a3, b3] = [L::splat(A2 * A), L::splat(B2 * B)];
        let zero = L::splat(0.0);
        [
            m[0].add(sum_a.add(sum_b)),
            difference_b.multiply_add(b, difference_a.multiply_add(a, zero)),
            sum_b.multiply_add(b2, sum_a.multiply_add(a2, zero)),
            difference_b.multiply_add(b3, difference_a.multiply_add(a3, m[5])),
        ]
    }
}

/// One column of `A·e`.
///
/// # Safety
/// The instruction family of `L` is there.
#[inline(always)]
pub(crate) unsafe fn spread<L: Lanes>(e: [L; OUT]) -> [L; IN] {
    // SAFETY: the caller's promise.
    unsafe {
        let (even_a, odd_a) = (pair::<L>(A2, e[2], e[0]), pair::<L>(A2, e[3], e[1]));
        let (even_b, odd_b) = (pair::<L>(B2, e[2], e[0]), pair::<L>(B2, e[3], e[1]));
        [
            e[0],
            pair::<L>(A, odd_a, even_a),
            pair::<L>(-A, odd_a, even_a),
            pair::<L>(B, odd_b, even_b),
            pair::<L>(-B, odd_b, even_b),
            e[3],
        ]
    }
}

/// `G·g·Gᵀ` of one kernel, in double precision: it is done once per kernel and not once per pixel.
#[inline(always)]
pub(crate) fn kernel(g: [f32; 9]) -> [f32; POSITIONS] {
    let lines: [[f64; IN]; 3] =
        std::array::from_fn(|row| evaluate([0, 1, 2].map(|column| f64::from(g[row * 3 + column]))));
    let mut out = [0.0; POSITIONS];
    for column in 0..IN {
        let values = evaluate([lines[0][column], lines[1][column], lines[2][column]]);
        for (row, value) in values.into_iter().enumerate() {
            out[row * IN + column] = value as f32;
        }
    }
    out
}

/// `Gᵀ·s·G`: the gradient of one kernel from the sums at the 36 positions.
#[inline(always)]
pub(crate) fn kernel_gradient(s: [f32; POSITIONS]) -> [f32; 9] {
    let lines: [[f64; 3]; IN] =
        std::array::from_fn(|row| collect(std::array::from_fn(|j| f64::from(s[row * IN + j]))));
    let mut out = [0.0; 9];
    for column in 0..3 {
        let values = collect(std::array::from_fn(|row| lines[row][column]));
        for (row, value) in values.into_iter().enumerate() {
            out[row * 3 + column] = value as f32;
        }
    }
    out
}

/// Each point divides by the product of its distances from the others.
const AT_ZERO: f64 = 1.0 / (A2 * B2) as f64;
const AT_A: f64 = 1.0 / (2.0 * A2 * (A2 - B2)) as f64;
const AT_B: f64 = 1.0 / (2.0 * B2 * (B2 - A2)) as f64;

/// `G·g`: the polynomial with these coefficients at the six points.
#[inline(always)]
fn evaluate(g: [f64; 3]) -> [f64; IN] {
    let at = |p: f64, scale: f64| {
        let (even, odd) = (g[0] + p * p * g[2], p * g[1]);
        [(even + odd) * scale, (even - odd) * scale]
    };
    let ([a, minus_a], [b, minus_b]) = (at(A.into(), AT_A), at(B.into(), AT_B));
    [g[0] * AT_ZERO, a, minus_a, b, minus_b, g[2]]
}

/// `Gᵀ·s`.
#[inline(always)]
fn collect(s: [f64; IN]) -> [f64; 3] {
    let (sum_a, difference_a) = ((s[1] + s[2]) * AT_A, (s[1] - s[2]) * AT_A);
    let (sum_b, difference_b) = ((s[3] + s[4]) * AT_B, (s[3] - s[4]) * AT_B);
    [
        s[0] * AT_ZERO + sum_a + sum_b,
        difference_a * f64::from(A) + difference_b * f64::from(B),
        sum_a * f64::from(A2) + sum_b * f64::from(B2) + s[5],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Portable;
    use crate::naive::Numbers;

    /// One tile, one channel: the identity above, to rounding.
    #[test]
    fn is_a_convolution() {
        let mut numbers = Numbers(11);
        let (d, g) = (numbers.real(36), numbers.real(9));
        let lane = |i: usize| unsafe { Portable::splat(d[i]) };
        let value = |v: Portable| {
            let mut out = [0.0; 4];
            unsafe { v.store(out.as_mut_ptr()) };
            out[0]
        };
        // Columns, then rows.
        let columns: Vec<_> = (0..6)
            .map(|j| unsafe { input(std::array::from_fn(|i| lane(i * 6 + j))) })
            .collect();
        let v: Vec<_> = (0..6)
            .map(|i| unsafe { input(std::array::from_fn(|j| columns[j][i])) })
            .collect();
        let u = kernel(g.clone().try_into().unwrap());
        let m = |i: usize, j: usize| unsafe { Portable::splat(value(v[i][j]) * u[i * 6 + j]) };
        let columns: Vec<_> = (0..6)
            .map(|j| unsafe { output(std::array::from_fn(|i| m(i, j))) })
            .collect();
        for i in 0..4 {
            let row = unsafe { output(std::array::from_fn(|j| columns[j][i])) };
            for (j, &y) in row.iter().enumerate() {
                let expected: f32 = (0..9).map(|k| d[(i + k / 3) * 6 + j + k % 3] * g[k]).sum();
                assert!(
                    (value(y) - expected).abs() < 1e-5,
                    "{} {expected}",
                    value(y)
                );
            }
        }
    }
}
