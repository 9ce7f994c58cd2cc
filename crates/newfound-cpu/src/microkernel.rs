//! The register tile: the only place where multiplications happen.
//!
//! A tile is `ROWS` output rows by one panel of output columns, held in registers while the sum over the
//! inner index runs. The left factor is read through pointers, one per row and tap, so neither a strided
//! nor a k×k convolution copies its input; the right factor (the weights) is packed so that one step of
//! the inner index reads one contiguous, aligned piece of a panel.

use crate::isa::Isa;
use crate::lanes::Lanes;
use crate::prefetch::Strip;

/// Columns of the widest panel of any instruction family.
pub(crate) const MAX_COLUMNS: usize = 64;

impl Isa {
    /// Columns of a register tile, the width of a weight panel.
    pub(crate) fn columns(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 64,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 16,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 16,
            Self::Portable => 8,
        }
    }

    /// Floats in a register.
    pub(crate) fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 16,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 8,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 4,
            Self::Portable => 4,
        }
    }

    /// Rows of a register tile.
    pub(crate) fn rows(self) -> usize {
        match self {
            Self::Portable => 4,
            #[allow(unreachable_patterns)]
            _ => 6,
        }
    }
}

/// What happens to a finished sum before it is stored, one row pointer per operand.
#[derive(Clone, Copy)]
pub(crate) struct Finish {
    /// Per column factor, or null.
    pub scale: *const f32,
    /// Per column term, or null.
    pub shift: *const f32,
    /// Distance in floats from an output number to the residual that is added to it, if any.
    pub residual: Option<*const f32>,
    /// Replace negative results by 0.
    pub relu: bool,
}

/// One register tile of `y = x · w`.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    /// Pointers to the left rows, `[taps][rows]`.
    pub sources: *const *const f32,
    /// Floats to skip behind each pointer.
    pub skip: usize,
    /// Number of taps.
    pub taps: usize,
    /// Floats read behind each pointer.
    pub run: usize,
    /// The right factor, `[taps][run]` pieces of a panel's width.
    pub panel: *const f32,
    /// Offsets of the output rows from `output`, one per row.
    pub targets: *const usize,
    /// The first column of the output.
    pub output: *mut f32,
    /// Columns that exist; the rest of the panel is padding.
    pub columns: usize,
    /// What to fetch meanwhile, a line per step of the inner index.
    pub strip: Strip,
    /// Add to what the output holds already.
    pub accumulate: bool,
    /// Applied when this is the last part of the sum.
    pub finish: Option<Finish>,
}

/// # Safety
/// The instruction family of `L` is there; every pointer of `tile` is valid for what its field says, for
/// `R` rows and `V · L::WIDTH` columns; no other thread touches the output.
#[inline(always)]
unsafe fn product<L: Lanes, const R: usize, const V: usize>(tile: &Tile) {
    // SAFETY (whole body): the caller's promise above; every loop stays within the counts of the tile.
    unsafe {
        let mut sums = [[L::splat(0.0); V]; R];
        let mut panel = tile.panel;
        let mut strip = tile.strip;
        for tap in 0..tile.taps {
            let mut rows = [std::ptr::null::<f32>(); R];
            for (r, row) in rows.iter_mut().enumerate() {
                *row = (*tile.sources.add(tap * R + r)).add(tile.skip);
            }
            for i in 0..tile.run {
                strip.fetch();
                let mut weights = [L::splat(0.0); V];
                for (v, weight) in weights.iter_mut().enumerate() {
                    *weight = L::load(panel.add(v * L::WIDTH));
                }
                panel = panel.add(V * L::WIDTH);
                for r in 0..R {
                    let x = L::splat(*rows[r].add(i));
                    for v in 0..V {
                        sums[r][v] = x.multiply_add(weights[v], sums[r][v]);
                    }
                }
            }
        }
        let mut targets = [tile.output; R];
        for (r, target) in targets.iter_mut().enumerate() {
            *target = tile.output.add(*tile.targets.add(r));
        }
        if tile.columns == V * L::WIDTH {
            store::<L, R, V>(tile, sums, targets);
        } else {
            store_part::<L, R, V>(tile, sums, targets);
        }
    }
}

/// Finishes and stores a tile. One short loop per step, which the compiler unrolls completely: a loop over
/// rows with all steps in its body would make it keep the sums in memory instead of registers.
///
/// # Safety
/// As for [`product`].
#[inline(always)]
unsafe fn store<L: Lanes, const R: usize, const V: usize>(
    tile: &Tile,
    mut sums: [[L; V]; R],
    targets: [*mut f32; R],
) {
    // SAFETY: the caller's promise.
    unsafe {
        if tile.accumulate {
            for r in 0..R {
                for v in 0..V {
                    sums[r][v] = sums[r][v].add(L::load(targets[r].add(v * L::WIDTH)));
                }
            }
        }
        if let Some(finish) = tile.finish {
            if !finish.scale.is_null() {
                for v in 0..V {
                    let scale = L::load(finish.scale.add(v * L::WIDTH));
                    let shift = L::load(finish.shift.add(v * L::WIDTH));
                    for r in 0..R {
                        sums[r][v] = sums[r][v].multiply_add(scale, shift);
                    }
                }
            } else if !finish.shift.is_null() {
                for v in 0..V {
                    let shift = L::load(finish.shift.add(v * L::WIDTH));
                    for r in 0..R {
                        sums[r][v] = sums[r][v].add(shift);
                    }
                }
            }
            if let Some(residual) = finish.residual {
                for r in 0..R {
                    let row = residual.add(*tile.targets.add(r));
                    for v in 0..V {
                        sums[r][v] = sums[r][v].add(L::load(row.add(v * L::WIDTH)));
                    }
                }
            }
            if finish.relu {
                for r in 0..R {
                    for v in 0..V {
                        sums[r][v] = sums[r][v].relu();
                    }
                }
            }
        }
        for r in 0..R {
            for v in 0..V {
                sums[r][v].store(targets[r].add(v * L::WIDTH));
            }
        }
    }
}

/// The same for a panel that is wider than what is left of the rows.
///
/// # Safety
/// As for [`product`].
#[inline(always)]
unsafe fn store_part<L: Lanes, const R: usize, const V: usize>(
    tile: &Tile,
    sums: [[L; V]; R],
    targets: [*mut f32; R],
) {
    let mut buffer = [[0.0; MAX_COLUMNS]; R];
    for r in 0..R {
        for v in 0..V {
            // SAFETY: V · WIDTH ≤ MAX_COLUMNS.
            unsafe { sums[r][v].store(buffer[r].as_mut_ptr().add(v * L::WIDTH)) };
        }
    }
    for (r, row) in buffer.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { store_scalars(tile, &row[..tile.columns], targets[r], *tile.targets.add(r)) };
    }
}

/// # Safety
/// As for [`product`]: `row`, `row_offset` floats behind the tile's output, has `sums.len()` columns.
#[inline(never)]
unsafe fn store_scalars(tile: &Tile, sums: &[f32], row: *mut f32, row_offset: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        for (at, &sum) in sums.iter().enumerate() {
            let mut value = sum;
            if tile.accumulate {
                value += *row.add(at);
            }
            if let Some(finish) = tile.finish {
                match (finish.scale.is_null(), finish.shift.is_null()) {
                    (false, _) => value = value * *finish.scale.add(at) + *finish.shift.add(at),
                    (true, false) => value += *finish.shift.add(at),
                    (true, true) => {}
                }
                if let Some(residual) = finish.residual {
                    value += *residual.add(row_offset + at);
                }
                if finish.relu && value < 0.0 {
                    value = 0.0;
                }
            }
            *row.add(at) = value;
        }
    }
}

/// Makes `$name(tile, rows)`: the kernel of one instruction family for any number of rows up to its own.
macro_rules! family {
    ($(#[$meta:meta])* $name:ident, $lanes:ty, $vectors:literal, $($rows:literal)*) => {
        /// # Safety
        /// As for [`product`], with `rows` rows.
        $(#[$meta])*
        unsafe fn $name(tile: &Tile, rows: usize) {
            match rows {
                // SAFETY: the caller's promise.
                $($rows => unsafe { product::<$lanes, $rows, $vectors>(tile) },)*
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
/// As for [`product`], with `rows` rows and `isa.columns()` columns; `isa` is one of
/// [`Isa::available`].
#[inline]
pub(crate) unsafe fn compute(isa: Isa, tile: &Tile, rows: usize) {
    // SAFETY: the caller's promise; the match picks the family that is there.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => avx512(tile, rows),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => avx2(tile, rows),
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => neon(tile, rows),
            Isa::Portable => portable(tile, rows),
        }
    }
}
