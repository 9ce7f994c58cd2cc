//! Rows of numbers in double precision: sums over a cluster must not depend on how they are split among threads.

use crate::weights::Array;

/// A matrix, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rows {
    pub values: Vec<f64>,
    pub width: usize,
}

impl Rows {
    pub fn of(array: &Array) -> Self {
        Self {
            values: array.values.iter().map(|&x| f64::from(x)).collect(),
            width: array.shape[1],
        }
    }

    /// In single precision.
    pub fn array(&self) -> Array {
        Array {
            shape: vec![self.len(), self.width],
            values: self.values.iter().map(|&x| x as f32).collect(),
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }

    pub fn row(&self, index: usize) -> &[f64] {
        &self.values[index * self.width..][..self.width]
    }

    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// At most so many rows: of more, every n-th one.
    pub fn sample(&self, most: usize) -> Self {
        let step = self.len().div_ceil(most).max(1);
        Self {
            values: self.iter().step_by(step).flatten().copied().collect(),
            width: self.width,
        }
    }

    /// The sum of the rows of each cluster.
    pub fn sums(&self, labels: &[usize], clusters: usize) -> Self {
        let width = self.width;
        let mut values = vec![0.0; clusters * width];
        for (row, &label) in self.iter().zip(labels) {
            let sum = values[label * width..][..width].iter_mut();
            sum.zip(row).for_each(|(sum, x)| *sum += x);
        }
        Self { values, width }
    }

    /// Less the mean of all rows: what they have in common says nothing about classes, and in a new place it is mostly the place.
    pub fn centred(mut self) -> Self {
        let count = self.len() as f64;
        let mut mean = vec![0.0; self.width];
        for row in self.iter() {
            mean.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
        }
        for row in self.values.chunks_exact_mut(self.width) {
            row.iter_mut()
                .zip(&mean)
                .for_each(|(x, sum)| *x -= sum / count);
        }
        self
    }

    /// How long each is.
    pub fn lengths(&self) -> Vec<f64> {
        self.iter().map(|row| dot(row, row).sqrt()).collect()
    }

    /// Each of unit length; a row of zeros stays.
    pub fn unit(&self) -> Self {
        let mut unit = self.clone();
        for row in unit.values.chunks_exact_mut(self.width) {
            let length = dot(row, row).sqrt();
            if length > 0.0 {
                row.iter_mut().for_each(|x| *x /= length);
            }
        }
        unit
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Pearson's; 0 where either does not vary.
pub(super) fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let centred = |values: &[f64]| -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|x| x - mean).collect()
    };
    let (a, b) = (centred(a), centred(b));
    let lengths = (dot(&a, &a) * dot(&b, &b)).sqrt();
    if lengths > 0.0 {
        dot(&a, &b) / lengths
    } else {
        0.0
    }
}

/// Rows in a plane.
#[cfg(test)]
pub(super) fn plane(values: &[[f64; 2]]) -> Rows {
    Rows {
        values: values.concat(),
        width: 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlation_is_pearsons() {
        // Covariance 3, variances 5 and 5: 1, 2, 3, 4 with 2, 1, 4, 3.
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
        close(
            correlation(&[1.0, 2.0, 3.0, 4.0], &[2.0, 1.0, 4.0, 3.0]),
            0.6,
        );
        close(correlation(&[0.0, 1.0], &[5.0, 3.0]), -1.0);
        close(correlation(&[1.0, 1.0], &[0.0, 3.0]), 0.0);
    }
}
