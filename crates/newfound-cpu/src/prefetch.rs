//! Asking memory for what the next block will read while this one is computed.
//!
//! Reading a block of pixels takes longer than a core can hide on its own; spread thinly over the products
//! of the block before, the same reads cost nothing. A prefetch changes no result.

/// Floats in a cache line.
pub(crate) const LINE: usize = 16;

/// Cache lines at a fixed distance from each other, such as the same channels of neighbouring pixels.
#[derive(Clone, Copy)]
pub(crate) struct Strip {
    next: *const f32,
    pitch: usize,
}

impl Strip {
    /// The lines that hold `matrix[start]`, `matrix[start + pitch]`, and so on.
    pub(crate) fn new(matrix: &[f32], start: usize, pitch: usize) -> Self {
        Self {
            next: matrix.as_ptr().wrapping_add(start),
            pitch,
        }
    }

    pub(crate) fn at(next: *const f32, pitch: usize) -> Self {
        Self { next, pitch }
    }
    /// Asks for the next line.
    #[inline(always)]
    pub(crate) fn fetch(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a prefetch reads nothing and cannot fail, wherever the pointer leads.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(self.next.cast()) };
        }
        // Other processors' hints are not stable in Rust yet.
        self.next = self.next.wrapping_add(self.pitch);
    }
}
