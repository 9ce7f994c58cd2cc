//! Kernels in Winograd's domain, packed for the products.

use crate::isa::{Isa, vectorised};
use crate::microkernel::MAX_COLUMNS;
use crate::scratch::Aligned;
use crate::winograd::{POSITIONS, kernel};
use rayon::prelude::*;

/// The transformed kernels of a 3×3 convolution: `[panel][position][channel][column]`.
pub(crate) struct WinogradWeights {
    pub isa: Isa,
    pub inputs: usize,
    pub outputs: usize,
    data: Aligned,
}

impl Default for WinogradWeights {
    fn default() -> Self {
        Self {
            isa: Isa::best(),
            inputs: 0,
            outputs: 0,
            data: Aligned::default(),
        }
    }
}

impl WinogradWeights {
    /// Number of panels.
    pub(crate) fn panels(&self) -> usize {
        self.outputs.div_ceil(self.isa.columns())
    }

    /// The weights of a panel at one position, `[channel][column]`.
    pub(crate) fn at(&self, panel: usize, position: usize) -> &[f32] {
        let len = self.inputs * self.isa.columns();
        &self.data[(panel * POSITIONS + position) * len..][..len]
    }

    /// Transforms the kernels; `weight(channel, output, k)` is the index of a weight in `source`.
    pub(crate) fn fill(
        &mut self,
        source: &[f32],
        weight: impl Fn(usize, usize, usize) -> usize + Sync,
    ) {
        let (columns, inputs, outputs) = (self.isa.columns(), self.inputs, self.outputs);
        let len = POSITIONS * inputs * columns;
        self.data.resize(self.panels() * len);
        if len == 0 {
            return;
        }
        self.data
            .par_chunks_mut(len)
            .enumerate()
            .for_each(|(panel, data)| {
                let first = panel * columns;
                let valid = columns.min(outputs - first);
                // The columns behind the last output stay 0.
                let mut kernels = [[0.0; MAX_COLUMNS]; 9];
                for channel in 0..inputs {
                    for (k, line) in kernels.iter_mut().enumerate() {
                        for (column, value) in line[..valid].iter_mut().enumerate() {
                            *value = source[weight(channel, first + column, k)];
                        }
                    }
                    transform(&kernels, columns, channel * columns, inputs * columns, data);
                }
            });
    }
}

vectorised! {
    /// Writes the 36 values of `columns` kernels, `stride` apart.
    fn transform(
        kernels: &[[f32; MAX_COLUMNS]; 9], columns: usize, start: usize, stride: usize, out: &mut [f32],
    ) {
        let mut values = [[0.0; MAX_COLUMNS]; POSITIONS];
        for column in 0..MAX_COLUMNS {
            let transformed = kernel(std::array::from_fn(|k| kernels[k][column]));
            for position in 0..POSITIONS {
                values[position][column] = transformed[position];
            }
        }
        for (position, values) in values.iter().enumerate() {
            out[position * stride + start..][..columns].copy_from_slice(&values[..columns]);
        }
    }
}
