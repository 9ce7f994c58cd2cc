//! The weight gradient of a convolution with few input channels, such as a network's first.
//!
//! Here the input is the left factor: all floats under one line of the kernel are one contiguous run of
//! the padded image, and the output channels fill the panels.

use crate::gather::Gather;
use crate::isa::Isa;
use crate::prefetch::Strip;
use crate::scratch::scratch;
use crate::shared::Shared;
use crate::weight_kernel::{Outer, Segment, compute_outer};
use rayon::prelude::*;

/// Chunks of output lines, summed apart.
const CHUNKS: usize = 16;

/// Writes `dweight(tap line, column, output, value)` for all sums over the rows of `gather` and dy.
pub(crate) fn narrow(
    isa: Isa,
    gather: &Gather,
    dy: &[f32],
    outputs: usize,
    mut dweight: impl FnMut([usize; 3], f32),
) {
    let width = isa.columns();
    let padded = outputs.next_multiple_of(width);
    let (taps, run) = (gather.taps.len(), gather.run);
    let part = taps * run * padded;
    let lines = gather.batch * gather.grid[0];
    let size = lines.div_ceil(CHUNKS).max(1);
    let chunks = lines.div_ceil(size);
    let mut sums = scratch(chunks * part);
    let shared = Shared::new(&mut sums);
    (0..chunks).into_par_iter().for_each(|chunk| {
        // SAFETY: each chunk has its own part and one task.
        let sums = unsafe { shared.part(chunk * part, part) };
        for line in chunk * size..lines.min((chunk + 1) * size) {
            one_line(isa, gather, dy, outputs, line, line > chunk * size, sums);
        }
    });
    for tap in 0..taps {
        for column in 0..run {
            for o in 0..outputs {
                let at = (o / width * taps * run + tap * run + column) * width + o % width;
                let sum = (0..chunks).map(|chunk| sums[chunk * part + at]).sum();
                dweight([tap, column, o], sum);
            }
        }
    }
}

/// Adds the products of one output line to `sums[panel, tap, column, output]`.
fn one_line(
    isa: Isa,
    gather: &Gather,
    dy: &[f32],
    outputs: usize,
    line: usize,
    accumulate: bool,
    sums: &mut [f32],
) {
    let width = isa.columns();
    let (taps, run, side) = (gather.taps.len(), gather.run, gather.grid[1]);
    let dy = &dy[line * side * outputs..(line + 1) * side * outputs];
    let mut packed = scratch(side * width);
    for (panel, sums) in sums.chunks_exact_mut(taps * run * width).enumerate() {
        let from = panel * width;
        let valid = width.min(outputs - from);
        let (right, right_pitch) = if valid == width {
            (&dy[from..], outputs)
        } else {
            for (dy, packed) in dy.chunks_exact(outputs).zip(packed.chunks_exact_mut(width)) {
                packed[..valid].copy_from_slice(&dy[from..]);
                packed[valid..].fill(0.0);
            }
            (&packed[..], width)
        };
        for tap in 0..taps {
            let position = [line / gather.grid[0], line % gather.grid[0], 0];
            let start = gather.offset(position, tap).expect("the image was padded");
            let left = &gather.source[start..];
            let left_pitch = gather.step * gather.pitch;
            let segments = [Segment {
                left: 0,
                right: 0,
                len: side,
            }];
            assert!((side - 1) * left_pitch + run <= left.len());
            assert!((side - 1) * right_pitch + width <= right.len());
            for column in (0..run).step_by(isa.rows()) {
                let rows = isa.rows().min(run - column);
                let outer = Outer {
                    segments: &segments,
                    left: left[column..].as_ptr(),
                    left_pitch,
                    right: right.as_ptr(),
                    right_pitch,
                    sums: sums[(tap * run + column) * width..][..rows * width].as_mut_ptr(),
                    accumulate,
                    strip: Strip::new(left, 0, 0),
                };
                // SAFETY: the segment ends within both factors (asserted), and `sums` has `rows` rows.
                unsafe { compute_outer(isa, &outer, rows) };
            }
        }
    }
}
