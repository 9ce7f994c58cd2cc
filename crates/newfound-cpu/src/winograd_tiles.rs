//! Tiles into and out of Winograd's domain, for as many channels at a time as a register holds.

use crate::isa::Isa;
use crate::lanes::Lanes;
use crate::microkernel::Finish;
use crate::winograd::{IN, OUT, input, output, spread};

/// A task's tiles on their way in.
pub(crate) struct TilesIn<'a> {
    /// Pointers to the pixels, or to zeros: `[tile][pixel]`.
    pub pixels: &'a [*const f32],
    /// Floats to skip behind each pointer.
    pub skip: usize,
    /// Channels, a multiple of the register's width.
    pub channels: usize,
    /// `[position][tile][channel]`.
    pub target: *mut f32,
    /// Floats from one tile to the next.
    pub tile_pitch: usize,
    /// Floats from one position to the next.
    pub pitch: usize,
}

/// A task's tiles on their way out, for one panel of columns.
pub(crate) struct TilesOut<'a> {
    /// `[position][tile][column]`.
    pub source: *const f32,
    /// Floats from one position to the next.
    pub position_pitch: usize,
    /// Columns of a panel.
    pub panel: usize,
    /// Columns that exist, a multiple of the register's width.
    pub columns: usize,
    /// Where each tile starts in the result, and how many of its rows and columns of pixels exist.
    pub places: &'a [Place],
    /// The first column of the result.
    pub target: *mut f32,
    /// Floats from a pixel to the next below it, and to the next beside it.
    pub pitch: [usize; 2],
    /// Applied before storing.
    pub finish: Finish,
}

/// Where a tile goes.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Floats from the result's start to the tile's first pixel.
    pub start: usize,
    /// Rows and columns of pixels inside of the image.
    pub size: [usize; 2],
}

/// Transforms tiles of N × N pixels with `step` along both sides.
///
/// # Safety
/// The instruction family of `L` is there; every pixel pointer leads to `skip + channels` floats; the
/// target has room for all positions, tiles and channels.
#[inline(always)]
unsafe fn tiles_in<L: Lanes, const N: usize>(job: &TilesIn, step: impl Fn([L; N]) -> [L; IN]) {
    for (tile, pixels) in job.pixels.chunks_exact(N * N).enumerate() {
        for channel in (0..job.channels).step_by(L::WIDTH) {
            // SAFETY: the caller's promise; all indices are within the counts.
            unsafe {
                let mut rows = [[L::splat(0.0); N]; IN];
                for column in 0..N {
                    let mut d = [L::splat(0.0); N];
                    for (row, d) in d.iter_mut().enumerate() {
                        let pixel = pixels.get_unchecked(row * N + column);
                        *d = L::load(pixel.add(job.skip + channel));
                    }
                    let values = step(d);
                    for row in 0..IN {
                        rows[row][column] = values[row];
                    }
                }
                for (row, values) in rows.into_iter().enumerate() {
                    for (column, value) in step(values).into_iter().enumerate() {
                        let position = row * IN + column;
                        let at = position * job.pitch + tile * job.tile_pitch + channel;
                        value.store(job.target.add(at));
                    }
                }
            }
        }
    }
}

/// # Safety
/// The instruction family of `L` is there; the source holds all positions, tiles and columns; the pixels
/// of every place are inside of the result and belong to the caller alone, and so for the operands of
/// `finish`.
#[inline(always)]
unsafe fn tiles_out<L: Lanes>(job: &TilesOut) {
    for (tile, place) in job.places.iter().enumerate() {
        for column in (0..job.columns).step_by(L::WIDTH) {
            // SAFETY: the caller's promise; all indices are within the counts.
            unsafe {
                let source = job.source.add(tile * job.panel + column);
                let mut rows = [[L::splat(0.0); IN]; OUT];
                for j in 0..IN {
                    let mut m = [L::splat(0.0); IN];
                    for (i, m) in m.iter_mut().enumerate() {
                        *m = L::load(source.add((i * IN + j) * job.position_pitch));
                    }
                    let values = output(m);
                    for i in 0..OUT {
                        rows[i][j] = values[i];
                    }
                }
                for (i, values) in rows.into_iter().enumerate() {
                    let values = output(values);
                    if i >= place.size[0] {
                        continue;
                    }
                    let at = place.start + i * job.pitch[0] + column;
                    store_line(job, at, column, place.size[1], values);
                }
            }
        }
    }
}

/// # Safety
/// As for [`tiles_out`].
#[inline(always)]
unsafe fn store_line<L: Lanes>(
    job: &TilesOut,
    start: usize,
    column: usize,
    count: usize,
    mut values: [L; OUT],
) {
    let finish = &job.finish;
    // SAFETY: the caller's promise.
    unsafe {
        if !finish.scale.is_null() {
            let scale = L::load(finish.scale.add(column));
            let shift = L::load(finish.shift.add(column));
            values = values.map(|value| value.multiply_add(scale, shift));
        } else if !finish.shift.is_null() {
            let shift = L::load(finish.shift.add(column));
            values = values.map(|value| value.add(shift));
        }
        for (j, value) in values.into_iter().enumerate() {
            if j >= count {
                break;
            }
            let at = start + j * job.pitch[1];
            let mut value = value;
            if let Some(residual) = finish.residual {
                value = value.add(L::load(residual.add(at)));
            }
            if finish.relu {
                value = value.relu();
            }
            value.store(job.target.add(at));
        }
    }
}

/// Makes the functions of one instruction family.
macro_rules! family {
    ($(#[$meta:meta])* $lanes:ident, $into:ident, $gradient:ident, $out:ident) => {
        /// # Safety
        /// As for [`tiles_in`].
        $(#[$meta])*
        unsafe fn $into(job: &TilesIn) {
            // SAFETY: the caller's promise.
            unsafe { tiles_in::<crate::lanes::$lanes, IN>(job, |d| input(d)) }
        }

        /// # Safety
        /// As for [`tiles_in`].
        $(#[$meta])*
        unsafe fn $gradient(job: &TilesIn) {
            // SAFETY: the caller's promise.
            unsafe { tiles_in::<crate::lanes::$lanes, OUT>(job, |e| spread(e)) }
        }

        /// # Safety
        /// As for [`tiles_out`].
        $(#[$meta])*
        unsafe fn $out(job: &TilesOut) {
            // SAFETY: the caller's promise.
            unsafe { tiles_out::<crate::lanes::$lanes>(job) }
        }
    };
}
#[cfg(target_arch = "x86_64")]
family!(
    #[target_feature(enable = "avx512f")]
    Avx512,
    avx512_in,
    avx512_gradient,
    avx512_out
);
#[cfg(target_arch = "x86_64")]
family!(
    #[target_feature(enable = "avx2,fma")]
    Avx2,
    avx2_in,
    avx2_gradient,
    avx2_out
);
#[cfg(target_arch = "aarch64")]
family!(
    #[target_feature(enable = "neon")]
    Neon,
    neon_in,
    neon_gradient,
    neon_out
);
family!(Portable, portable_in, portable_gradient, portable_out);

/// Transforms a task's input tiles, 6 × 6 pixels each.
///
/// # Safety
/// As for [`tiles_in`]; `isa` is one of [`Isa::available`].
pub(crate) unsafe fn transform_in(isa: Isa, job: &TilesIn) {
    // SAFETY: the caller's promise; the match picks the family that is there.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512_in(job),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2_in(job),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon_in(job),
            Isa::Portable => portable_in(job),
        }
    }
}

/// Transforms a task's tiles of output gradients, 4 × 4 pixels each.
///
/// # Safety
/// As for [`tiles_in`]; `isa` is one of [`Isa::available`].
pub(crate) unsafe fn transform_gradient(isa: Isa, job: &TilesIn) {
    // SAFETY: the caller's promise; the match picks the family that is there.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512_gradient(job),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2_gradient(job),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon_gradient(job),
            Isa::Portable => portable_gradient(job),
        }
    }
}

/// Transforms a task's output tiles and stores them.
///
/// # Safety
/// As for [`tiles_out`]; `isa` is one of [`Isa::available`].
pub(crate) unsafe fn transform_out(isa: Isa, job: &TilesOut) {
    // SAFETY: the caller's promise; the match picks the family that is there.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512_out(job),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2_out(job),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon_out(job),
            Isa::Portable => portable_out(job),
        }
    }
}
