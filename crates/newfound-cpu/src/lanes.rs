//! One vector register, whatever its width.
//!
//! The matrix kernels are written once over [`Lanes`] and compiled for each instruction family inside a
//! function that enables it.

/// A vector register of `WIDTH` floats and the four operations the kernels need.
///
/// # Safety
/// Every method may use instructions of its family: call it only where that family is known to be there.
pub(crate) trait Lanes: Copy {
    /// Floats in a register.
    const WIDTH: usize;

    /// All lanes equal to `value`.
    unsafe fn splat(value: f32) -> Self;
    /// `WIDTH` floats from `source`, which need not be aligned.
    unsafe fn load(source: *const f32) -> Self;
    /// `WIDTH` floats to `target`, which need not be aligned.
    unsafe fn store(self, target: *mut f32);
    /// `self · factor + term`.
    unsafe fn multiply_add(self, factor: Self, term: Self) -> Self;
    /// `self + term`.
    unsafe fn add(self, term: Self) -> Self;
    /// `self` where it is positive or not a number, 0 elsewhere.
    unsafe fn relu(self) -> Self;
}

/// Plain arrays: correct everywhere, fast where the compiler is good at it.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; 4]);

impl Lanes for Portable {
    const WIDTH: usize = 4;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self {
        Self([value; 4])
    }
    #[inline(always)]
    unsafe fn load(source: *const f32) -> Self {
        // SAFETY: the caller vouches for four floats at `source`.
        Self(unsafe { source.cast::<[f32; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, target: *mut f32) {
        // SAFETY: the caller vouches for four floats at `target`.
        unsafe { target.cast::<[f32; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, term: Self) -> Self {
        // Not `mul_add`: without hardware support that is a call into the mathematics library.
        Self(std::array::from_fn(|i| self.0[i] * factor.0[i] + term.0[i]))
    }
    #[inline(always)]
    unsafe fn add(self, term: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] + term.0[i]))
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        Self(self.0.map(|v| if v < 0.0 { 0.0 } else { v }))
    }
}

/// Implements [`Lanes`] through one function of `std::arch` per operation.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! lanes {
    ($(#[$doc:meta])* $name:ident($register:ty), width $width:literal,
     $splat:ident, $load:ident, $store:ident, $add:ident,
     |$a:ident, $b:ident, $c:ident| $fma:expr, |$v:ident| $relu:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name($register);

        // SAFETY (all methods): the caller vouches for the instruction family, and for `width` floats
        // behind the pointers; unaligned forms are used throughout.
        impl Lanes for $name {
            const WIDTH: usize = $width;

            #[inline(always)]
            unsafe fn splat(value: f32) -> Self {
                // SAFETY: see above.
                Self(unsafe { $splat(value) })
            }
            #[inline(always)]
            unsafe fn load(source: *const f32) -> Self {
                // SAFETY: see above.
                Self(unsafe { $load(source) })
            }
            #[inline(always)]
            unsafe fn store(self, target: *mut f32) {
                // SAFETY: see above.
                unsafe { $store(target, self.0) }
            }
            #[inline(always)]
            unsafe fn multiply_add(self, factor: Self, term: Self) -> Self {
                let ($a, $b, $c) = (self.0, factor.0, term.0);
                // SAFETY: see above.
                Self(unsafe { $fma })
            }
            #[inline(always)]
            unsafe fn add(self, term: Self) -> Self {
                // SAFETY: see above.
                Self(unsafe { $add(self.0, term.0) })
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                let $v = self.0;
                // SAFETY: see above.
                Self(unsafe { $relu })
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lanes;
    use std::arch::x86_64::*;

    // `max(0, v)` in this order returns v when v is not a number, as PyTorch's ReLU does.
    lanes!(
        /// AVX-512: 32 registers of 16 floats.
        Avx512(__m512), width 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps,
        |a, b, c| _mm512_fmadd_ps(a, b, c), |v| _mm512_max_ps(_mm512_setzero_ps(), v)
    );
    lanes!(
        /// AVX2 with FMA: 16 registers of 8 floats.
        Avx2(__m256), width 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps,
        |a, b, c| _mm256_fmadd_ps(a, b, c), |v| _mm256_max_ps(_mm256_setzero_ps(), v)
    );
}
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "aarch64")]
mod arm {
    use super::Lanes;
    use std::arch::aarch64::*;

    // `vmaxq` returns not-a-number when either operand is, as PyTorch's ReLU does.
    lanes!(
        /// NEON: 32 registers of 4 floats.
        Neon(float32x4_t), width 4, vdupq_n_f32, vld1q_f32, vst1q_f32, vaddq_f32,
        |a, b, c| vfmaq_f32(c, a, b), |v| vmaxq_f32(vdupq_n_f32(0.0), v)
    );
}
#[cfg(target_arch = "aarch64")]
pub(crate) use arm::Neon;
