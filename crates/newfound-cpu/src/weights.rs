//! Weights in the order the kernels read them.
//!
//! A *panel* holds the weights of as many output channels as a register tile is wide. Within a panel the
//! inner index comes in chunks of input channels, so that one chunk of all taps stays in the second-level
//! cache; within a chunk the order is `[tap][channel][output]`.

use crate::isa::Isa;
use crate::scratch::Aligned;
use crate::shape::Conv;
use crate::winograd_product::pays;
use crate::winograd_weights::WinogradWeights;
use rayon::prelude::*;

/// Inner indices per chunk: at 64 columns of 4 bytes, 256 KiB of weights.
const CHUNK: usize = 1024;

/// The right factor of a gathered product: `[panel][chunk][tap][channel][column]`.
pub(crate) struct Panels {
    /// The instruction family whose tile width the panels have.
    pub isa: Isa,
    /// Floats read at each tap.
    pub run: usize,
    /// Number of taps.
    pub taps: usize,
    /// Result columns, without padding.
    pub outputs: usize,
    data: Aligned,
}

impl Default for Panels {
    fn default() -> Self {
        Self {
            isa: Isa::best(),
            run: 0,
            taps: 0,
            outputs: 0,
            data: Aligned::default(),
        }
    }
}

impl Panels {
    /// Floats of a panel.
    fn panel_len(&self) -> usize {
        self.taps * self.run * self.isa.columns()
    }

    /// Number of panels.
    pub(crate) fn count(&self) -> usize {
        self.outputs.div_ceil(self.isa.columns())
    }

    /// Input channels per chunk.
    pub(crate) fn chunk(&self) -> usize {
        let limit = (CHUNK / self.taps.max(1)).max(16);
        // Chunks of equal size: 1152 channels become 2 × 576, not 1024 + 128.
        let chunks = self.run.div_ceil(limit).max(1);
        self.run.div_ceil(chunks).max(1)
    }

    /// The weights of `panel` from channel `skip` on, where a chunk starts.
    pub(crate) fn at(&self, panel: usize, skip: usize) -> &[f32] {
        let start = panel * self.panel_len() + skip * self.taps * self.isa.columns();
        &self.data[start..(panel + 1) * self.panel_len()]
    }

    /// Fills the panels from `weight(tap, channel, output)`, the index of a weight in `source`.
    fn fill(&mut self, source: &[f32], weight: impl Fn(usize, usize, usize) -> usize + Sync) {
        let columns = self.isa.columns();
        let (run, taps, outputs, chunk) = (self.run, self.taps, self.outputs, self.chunk());
        let len = self.panel_len();
        self.data.resize(self.count() * len);
        if len == 0 {
            return;
        }
        self.data
            .par_chunks_mut(len)
            .enumerate()
            .for_each(|(panel, data)| {
                let first = panel * columns;
                let valid = columns.min(outputs - first);
                let mut at = 0;
                for skip in (0..run).step_by(chunk) {
                    for tap in 0..taps {
                        for channel in skip..run.min(skip + chunk) {
                            let line = &mut data[at..at + columns];
                            for (column, value) in line[..valid].iter_mut().enumerate() {
                                *value = source[weight(tap, channel, first + column)];
                            }
                            line[valid..].fill(0.0);
                            at += columns;
                        }
                    }
                }
            });
    }
}

/// How a convolution is computed, and its weights in the order that way needs.
pub(crate) enum Packed {
    /// By its definition: one set of panels, or one per class of pixels in an input gradient.
    Direct(Vec<Panels>),
    /// Through Winograd's domain.
    Winograd(WinogradWeights),
}

impl Default for Packed {
    fn default() -> Self {
        Self::Direct(Vec::new())
    }
}

impl Packed {
    /// The panels, with their memory if this way was taken before.
    fn direct(&mut self) -> &mut Vec<Panels> {
        if !matches!(self, Self::Direct(_)) {
            *self = Self::default();
        }
        match self {
            Self::Direct(panels) => panels,
            Self::Winograd(_) => unreachable!("replaced above"),
        }
    }

    /// Winograd's weights, with their memory if this way was taken before.
    fn winograd(&mut self) -> &mut WinogradWeights {
        if !matches!(self, Self::Winograd(_)) {
            *self = Self::Winograd(WinogradWeights::default());
        }
        match self {
            Self::Winograd(weights) => weights,
            Self::Direct(_) => unreachable!("replaced above"),
        }
    }
}

/// Packed weights of a convolution's forward pass.
#[derive(Default)]
pub struct ForwardWeights(pub(crate) Packed);

impl ForwardWeights {
    /// Packs `weight`, `[O, I, kh, kw]`, in place of what was packed before. Memory is used again.
    ///
    /// The way the convolution will be computed is chosen here: Winograd's for a 3×3 kernel of stride 1 on
    /// enough pixels, the definition otherwise.
    pub fn pack(&mut self, conv: &Conv, weight: &[f32]) {
        let isa = Isa::best();
        self.pack_for(isa, pays(isa, conv), conv, weight);
    }

    /// The same, but always by the definition.
    pub fn pack_direct(&mut self, conv: &Conv, weight: &[f32]) {
        self.pack_for(Isa::best(), false, conv, weight);
    }

    pub(crate) fn pack_for(&mut self, isa: Isa, winograd: bool, conv: &Conv, weight: &[f32]) {
        assert_eq!(weight.len(), conv.weight_len(), "weights of {conv:?}");
        let Conv {
            inputs,
            outputs,
            kernel,
            ..
        } = *conv;
        let all = conv.taps();
        if winograd {
            let weights = self.0.winograd();
            (weights.isa, weights.inputs, weights.outputs) = (isa, inputs, outputs);
            return weights.fill(weight, |channel, o, k| (o * inputs + channel) * 9 + k);
        }
        let panels = self.0.direct();
        panels.resize_with(1, Panels::default);
        let panels = &mut panels[0];
        (panels.isa, panels.outputs) = (isa, outputs);
        if conv.merges_taps() {
            // A tap is a whole line of the kernel: channel = kw · I + i.
            (panels.taps, panels.run) = (kernel, kernel * inputs);
            panels.fill(weight, |line, channel, o| {
                (o * inputs + channel % inputs) * all + line * kernel + channel / inputs
            });
        } else {
            (panels.taps, panels.run) = (all, inputs);
            panels.fill(weight, |tap, channel, o| (o * inputs + channel) * all + tap);
        }
    }
}

/// Packed weights of a convolution's input gradient.
///
/// With stride s the input pixels fall into s² classes by their position modulo s, and each class meets
/// its own taps; the panels of one class follow those of the other.
#[derive(Default)]
pub struct BackwardWeights(pub(crate) Packed);

impl BackwardWeights {
    /// Packs `weight`, `[O, I, kh, kw]`, in place of what was packed before. Memory is used again.
    ///
    /// The way the gradient will be computed is chosen here, as for [`ForwardWeights::pack`].
    pub fn pack(&mut self, conv: &Conv, weight: &[f32]) {
        let isa = Isa::best();
        self.pack_for(isa, pays(isa, conv), conv, weight);
    }

    /// The same, but always by the definition.
    pub fn pack_direct(&mut self, conv: &Conv, weight: &[f32]) {
        self.pack_for(Isa::best(), false, conv, weight);
    }

    pub(crate) fn pack_for(&mut self, isa: Isa, winograd: bool, conv: &Conv, weight: &[f32]) {
        assert_eq!(weight.len(), conv.weight_len(), "weights of {conv:?}");
        let all = conv.taps();
        if winograd {
            // A convolution of the output gradient with the mirrored kernel, inputs and outputs swapped.
            let weights = self.0.winograd();
            (weights.isa, weights.inputs, weights.outputs) = (isa, conv.outputs, conv.inputs);
            return weights.fill(weight, |o, i, k| (o * conv.inputs + i) * 9 + 8 - k);
        }
        let classes = self.0.direct();
        classes.resize_with(conv.stride * conv.stride, Panels::default);
        for (class, panels) in classes.iter_mut().enumerate() {
            let taps: Vec<usize> = conv.class_taps(class).map(|(tap, _)| tap).collect();
            panels.isa = isa;
            (panels.taps, panels.run, panels.outputs) = (taps.len(), conv.outputs, conv.inputs);
            panels.fill(weight, |tap, o, i| (o * conv.inputs + i) * all + taps[tap]);
        }
    }
}
