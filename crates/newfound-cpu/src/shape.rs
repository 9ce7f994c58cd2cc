//! The geometry of a convolution.

/// A two-dimensional convolution with a square kernel and zero padding, on channels-last activations.
///
/// # Shapes
/// Input `[B, H, W, I]`, output `[B, H', W', O]` with `H' = (H + 2·padding − kernel) / stride + 1` (rounded
/// down), weights in PyTorch's order `[O, I, kernel, kernel]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv {
    /// Images, B.
    pub batch: usize,
    /// Input rows of pixels, H.
    pub height: usize,
    /// Input columns of pixels, W.
    pub width: usize,
    /// Input channels, I.
    pub inputs: usize,
    /// Output channels, O.
    pub outputs: usize,
    /// Side of the square kernel.
    pub kernel: usize,
    /// Pixels between two neighbouring windows.
    pub stride: usize,
    /// Zero pixels added on every side.
    pub padding: usize,
}

impl Conv {
    /// Output rows of pixels, H'.
    pub fn output_height(&self) -> usize {
        self.windows(self.height)
    }

    /// Output columns of pixels, W'.
    pub fn output_width(&self) -> usize {
        self.windows(self.width)
    }

    fn windows(&self, side: usize) -> usize {
        assert!(
            self.stride > 0 && self.kernel > 0 && side + 2 * self.padding >= self.kernel,
            "the kernel does not fit into the padded image: {self:?}"
        );
        (side + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Output pixels in the batch: the rows of the output matrix.
    pub fn rows(&self) -> usize {
        self.batch * self.output_height() * self.output_width()
    }

    /// Numbers in the input.
    pub fn input_len(&self) -> usize {
        self.batch * self.height * self.width * self.inputs
    }

    /// Numbers in the output.
    pub fn output_len(&self) -> usize {
        self.rows() * self.outputs
    }

    /// Numbers in the weights.
    pub fn weight_len(&self) -> usize {
        self.outputs * self.inputs * self.taps()
    }

    /// Positions of the kernel, kh·kw.
    pub(crate) fn taps(&self) -> usize {
        self.kernel * self.kernel
    }

    /// Multiply–adds of the forward pass (and of either gradient), padding counted as work.
    pub fn multiply_adds(&self) -> usize {
        self.rows() * self.outputs * self.inputs * self.taps()
    }
}

/// How the kernels see the geometry.
impl Conv {
    /// Whether a whole line of the kernel is read as one run. With few channels (the first convolution
    /// of a network has 3) a tap is too short to be worth a pointer; the input is padded first, and the
    /// pixels under a kernel line are then one contiguous piece.
    pub(crate) fn merges_taps(&self) -> bool {
        self.kernel > 1 && self.inputs < 16
    }

    /// The taps through which an output pixel of the input gradient is reached, for input pixels
    /// (y, x) with `y mod stride = class / stride` and `x mod stride = class mod stride`: the tap and
    /// the displacement of the output pixel from (y, x) / stride.
    pub(crate) fn class_taps(&self, class: usize) -> impl Iterator<Item = (usize, [isize; 2])> {
        let Self {
            kernel,
            stride,
            padding,
            ..
        } = *self;
        let along = move |offset: usize, k: usize| {
            let distance = (offset + padding) as isize - k as isize;
            (distance.rem_euclid(stride as isize) == 0).then_some(distance / stride as isize)
        };
        (0..kernel * kernel).filter_map(move |tap| {
            let dh = along(class / stride, tap / kernel)?;
            let dw = along(class % stride, tap % kernel)?;
            Some((tap, [dh, dw]))
        })
    }
}
