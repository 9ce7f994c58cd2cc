//! The register tile of a weight gradient: a sum of outer products.
//!
//! Both factors are read where they are: the inner index runs over pixels, and what is contiguous in
//! memory are the channels. One step of the inner index broadcasts a few neighbouring channels of the left
//! pixel and multiplies them with one panel's width of channels of the right pixel.

use crate::isa::Isa;
use crate::lanes::Lanes;
use crate::prefetch::Strip;

/// Pixels that follow each other at a fixed distance in both factors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Floats from the start of the left factor to its first pixel.
    pub left: usize,
    /// Floats from the start of the right factor to its first pixel.
    pub right: usize,
    /// Pixels.
    pub len: usize,
}

/// A sum of outer products over all pixels of some segments.
#[derive(Clone, Copy)]
pub(crate) struct Outer<'a> {
    pub segments: &'a [Segment],
    /// The left factor, from the first channel of the tile on.
    pub left: *const f32,
    /// Floats from a left pixel to the next within a segment.
    pub left_pitch: usize,
    /// The right factor, from the first channel of the panel on.
    pub right: *const f32,
    /// Floats from a right pixel to the next within a segment.
    pub right_pitch: usize,
    /// The sums, rows of a panel's width, one per left channel.
    pub sums: *mut f32,
    /// Add to what `sums` holds already.
    pub accumulate: bool,
    /// What to fetch meanwhile, a line per pixel.
    pub strip: Strip,
}

/// # Safety
/// The instruction family of `L` is there; every pixel of every segment has `R` floats on the left and
/// `V · L::WIDTH` on the right; `sums` has `R` rows and belongs to the caller alone.
#[inline(always)]
unsafe fn outer<L: Lanes, const R: usize, const V: usize>(job: &Outer) {
    // SAFETY: the caller's promise.
    unsafe {
        let mut sums = [[L::splat(0.0); V]; R];
        let mut strip = job.strip;
        for segment in job.segments {
            let mut left = job.left.add(segment.left);
            let mut right = job.right.add(segment.right);
            for _ in 0..segment.len {
                strip.fetch();
                let mut panel = [L::splat(0.0); V];
                for (v, panel) in panel.iter_mut().enumerate() {
                    *panel = L::load(right.add(v * L::WIDTH));
                }
                for r in 0..R {
                    let x = L::splat(*left.add(r));
                    for v in 0..V {
                        sums[r][v] = x.multiply_add(panel[v], sums[r][v]);
                    }
                }
                // The pointers may end up past their allocation after the last pixel.
                left = left.wrapping_add(job.left_pitch);
                right = right.wrapping_add(job.right_pitch);
            }
        }
        if job.accumulate {
            for r in 0..R {
                for v in 0..V {
                    let at = job.sums.add((r * V + v) * L::WIDTH);
                    sums[r][v] = sums[r][v].add(L::load(at));
                }
            }
        }
        for r in 0..R {
            for v in 0..V {
                sums[r][v].store(job.sums.add((r * V + v) * L::WIDTH));
            }
        }
    }
}

/// Makes `$name(job, rows)`: the kernel of one instruction family for any number of rows up to its own.
macro_rules! family {
    ($(#[$meta:meta])* $name:ident, $lanes:ty, $vectors:literal, $($rows:literal)*) => {
        /// # Safety
        /// As for [`outer`], with `rows` rows.
        $(#[$meta])*
        unsafe fn $name(job: &Outer, rows: usize) {
            match rows {
                // SAFETY: the caller's promise.
                $($rows => unsafe { outer::<$lanes, $rows, $vectors>(job) },)*
                _ => unreachable!("a tile of {rows} rows"),
            }
        }
    };
}
#[cfg(target_arch = "x86_64")]
family!(#[target_feature(enable = "avx512f")] avx512, crate::lanes::Avx512, 4, 1 2 3 4 5 6);
#[cfg(target_arch = "x86_64")]
family!(#[target_feature(enable = "avx2,fma")] avx2, crate::lanes::Avx2, 2, 1 2 3 4 5 6);
#[cfg(target_arch = "aarch64")]
family!(#[target_feature(enable = "neon")] neon, crate::lanes::Neon, 4, 1 2 3 4 5 6);
family!(portable, crate::lanes::Portable, 2, 1 2 3 4);

/// Computes one tile of up to `isa.rows()` rows.
///
/// # Safety
/// As for [`outer`], with `rows` rows and `isa.columns()` columns; `isa` is one of [`Isa::available`].
#[inline]
pub(crate) unsafe fn compute_outer(isa: Isa, job: &Outer, rows: usize) {
    // SAFETY: the caller's promise; the match picks the family that is there.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512(job, rows),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(job, rows),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon(job, rows),
            Isa::Portable => portable(job, rows),
        }
    }
}
