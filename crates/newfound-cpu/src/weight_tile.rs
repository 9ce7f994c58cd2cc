//! One tile of the weight gradient over one chunk of output lines.
//!
//! For one tap, the pixels of an output line meet the pixels of an input line, shifted; taps that fall
//! outside of the image meet nothing and cost nothing.

use crate::isa::Isa;
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::weight_kernel::{Outer, Segment, compute_outer};
use std::cell::RefCell;
use std::ops::Range;

/// Pixels whose products are summed in registers before the sums in memory are touched.
const PIXELS: usize = 128;
/// Pixels up to this many floats apart are read where they are. Pieces of longer pixels lie so far apart
/// that they push each other out of the cache; they are copied side by side first.
const NARROW: usize = 128;

/// What a tile is made of: some outputs, some panels of input channels, all taps.
pub(crate) struct Job<'a> {
    pub isa: Isa,
    pub conv: &'a Conv,
    pub x: &'a [f32],
    pub dy: &'a [f32],
    pub outputs: Range<usize>,
    pub panels: Range<usize>,
}

/// Output lines per block, so that a block has about [`PIXELS`] pixels.
pub(crate) fn block_lines(conv: &Conv) -> usize {
    (PIXELS / conv.output_width().max(1)).max(1)
}

/// Writes `sums[panel, tap, output, channel] = Σ dy[pixel, output] · x[pixel at tap, channel]` over the
/// pixels of the output lines `lines`, counted through the batch.
pub(crate) fn compute_tile(job: &Job, lines: Range<usize>, sums: &mut [f32]) {
    let (conv, width) = (job.conv, job.isa.columns());
    let part = conv.taps() * job.outputs.len() * width;
    assert_eq!(sums.len(), job.panels.len() * part);
    if lines.is_empty() {
        sums.fill(0.0);
    }
    let size = block_lines(conv);
    let mut plan = PLAN.take();
    let mut left_packed = scratch(left_len(job, size));
    let mut right_packed = scratch(right_len(job, size));
    for first in lines.clone().step_by(size) {
        let block = first..lines.end.min(first + size);
        plan.cut(job, block.clone());
        let left = left_factor(job, &block, &mut left_packed);
        for (sums, panel) in sums.chunks_exact_mut(part).zip(job.panels.clone()) {
            let right = right_factor(job, &plan, panel, &mut right_packed);
            let sums = sums.chunks_exact_mut(job.outputs.len() * width);
            for (tap, sums) in sums.enumerate() {
                let (from, to) = (plan.taps[tap], plan.taps[tap + 1]);
                let segments = &plan.segments[from..to];
                one_tap(job, segments, &left, &right, first > lines.start, sums);
            }
        }
    }
    PLAN.replace(plan);
}

/// Which pixels of a block of output lines meet which input pixels.
#[derive(Default)]
struct Plan {
    /// The input lines (counted through the batch) that the block reads, in the order they are packed.
    lines: Vec<usize>,
    /// Segments of all taps, one tap after the other.
    segments: Vec<Segment>,
    /// Where the segments of each tap start, and where the last end.
    taps: Vec<usize>,
}

thread_local! {
    static PLAN: RefCell<Plan> = RefCell::new(Plan::default());
}

impl Plan {
    fn cut(&mut self, job: &Job, block: Range<usize>) {
        let conv = job.conv;
        let (height, side) = (conv.output_height(), conv.output_width());
        let Conv { kernel, stride, padding, .. } = *conv;
        let (left_pitch, right) = (left_pitch(job), Right::of(job));
        let source = |line: usize, k: usize| {
            let y = (line % height * stride + k).checked_sub(padding)?;
            (y < conv.height).then_some(line / height * conv.height + y)
        };
        self.lines.clear();
        for line in block.clone() {
            self.lines.extend((0..kernel).filter_map(|k| source(line, k)));
        }
        self.lines.sort_unstable();
        self.lines.dedup();
        self.segments.clear();
        self.taps.clear();
        for tap in 0..conv.taps() {
            let (k, l) = (tap / kernel, tap % kernel);
            self.taps.push(self.segments.len());
            // Output pixels j with 0 ≤ j · stride + l − padding < W.
            let start = padding.saturating_sub(l).div_ceil(stride);
            let end = (conv.width + padding).saturating_sub(l).div_ceil(stride).min(side);
            for line in block.clone() {
                let Some(line_at_tap) = source(line, k) else { continue };
                if start >= end {
                    continue;
                }
                let slot = self.lines.binary_search(&line_at_tap).expect("collected above");
                let line_start = if right.packed { slot } else { line_at_tap } * right.line;
                let segment = Segment {
                    left: ((line - block.start) * side + start) * left_pitch,
                    right: line_start + (start * stride + l - padding) / right.every * right.pixel,
                    len: end - start,
                };
                match self.segments[self.taps[tap]..].last_mut() {
                    // Lines that follow each other in both factors become one.
                    Some(last)
                        if segment.left == last.left + last.len * left_pitch
                            && segment.right == last.right + last.len * right.step =>
                    {
                        last.len += segment.len;
                    }
                    _ => self.segments.push(segment),
                }
            }
        }
        self.taps.push(self.segments.len());
    }
}

/// How the right factor lies in memory.
struct Right {
    packed: bool,
    /// Only every so many pixels of a line are used, and packed.
    every: usize,
    /// Floats from a pixel to the next.
    pixel: usize,
    /// Floats from a line to the next.
    line: usize,
    /// Floats between the pixels that neighbouring output pixels meet.
    step: usize,
}

impl Right {
    fn of(job: &Job) -> Self {
        let (conv, width) = (job.conv, job.isa.columns());
        let packed = conv.inputs > NARROW || !conv.inputs.is_multiple_of(width);
        // A 1×1 convolution of stride 2 uses every other pixel; the rest need not be copied.
        let every = if packed && conv.kernel == 1 && conv.padding == 0 { conv.stride } else { 1 };
        let pixel = if packed { width } else { conv.inputs };
        let line = conv.width.div_ceil(every) * pixel;
        Self { packed, every, pixel, line, step: conv.stride / every * pixel }
    }
}

/// A factor in memory, from its first channel on.
struct Factor<'a> {
    data: &'a [f32],
    /// Floats from a pixel of a segment to the next.
    pitch: usize,
    /// Floats from a panel's width of channels to the next.
    panel: usize,
}

fn left_pitch(job: &Job) -> usize {
    if job.conv.outputs <= NARROW { job.conv.outputs } else { job.isa.columns() }
}

fn left_len(job: &Job, lines: usize) -> usize {
    let pixels = lines * job.conv.output_width();
    pixels * job.outputs.len().next_multiple_of(job.isa.columns())
}

/// The pixels of dy, as they are or packed by panels.
fn left_factor<'a>(job: &'a Job, block: &Range<usize>, packed: &'a mut [f32]) -> Factor<'a> {
    let (all, width) = (job.conv.outputs, job.isa.columns());
    let side = job.conv.output_width();
    let dy = &job.dy[block.start * side * all..block.end * side * all];
    if all <= NARROW {
        return Factor { data: &dy[job.outputs.start..], pitch: all, panel: width };
    }
    let panel_len = block.len() * side * width;
    for (pixel, dy) in dy.chunks_exact(all).enumerate() {
        for (panel, piece) in dy[job.outputs.clone()].chunks(width).enumerate() {
            packed[panel * panel_len + pixel * width..][..piece.len()].copy_from_slice(piece);
        }
    }
    Factor { data: packed, pitch: width, panel: panel_len }
}

fn right_len(job: &Job, lines: usize) -> usize {
    let conv = job.conv;
    let most = lines * conv.kernel.max(conv.stride) + conv.kernel;
    if Right::of(job).packed { most.max(lines * conv.kernel) * Right::of(job).line } else { 0 }
}

/// A panel of the pixels of x, as they are or packed.
fn right_factor<'a>(job: &'a Job, plan: &Plan, panel: usize, packed: &'a mut [f32]) -> Factor<'a> {
    let (conv, width) = (job.conv, job.isa.columns());
    let (from, right) = (panel * width, Right::of(job));
    if !right.packed {
        return Factor { data: &job.x[from..], pitch: right.step, panel: 0 };
    }
    let valid = width.min(conv.inputs - from);
    for (&line, packed) in plan.lines.iter().zip(packed.chunks_exact_mut(right.line)) {
        let x = &job.x[line * conv.width * conv.inputs..][..conv.width * conv.inputs];
        let pixels = x.chunks_exact(conv.inputs).step_by(right.every);
        for (pixel, packed) in pixels.zip(packed.chunks_exact_mut(width)) {
            packed[..valid].copy_from_slice(&pixel[from..from + valid]);
            packed[valid..].fill(0.0);
        }
    }
    Factor { data: packed, pitch: right.step, panel: 0 }
}

/// All outputs of the tile against one panel at one tap.
fn one_tap(
    job: &Job,
    segments: &[Segment],
    left: &Factor,
    right: &Factor,
    accumulate: bool,
    sums: &mut [f32],
) {
    let (width, outputs) = (job.isa.columns(), job.outputs.len());
    let reach = |start: usize, len: usize, pitch: usize| start + (len - 1) * pitch;
    for s in segments {
        assert!(reach(s.right, s.len, right.pitch) + width <= right.data.len());
    }
    let mut o = 0;
    while o < outputs {
        // A register tile does not reach over the end of a packed panel.
        let rows = job.isa.rows().min(outputs - o).min(width - o % width);
        let data = &left.data[o / width * left.panel + o % width..];
        for s in segments {
            assert!(reach(s.left, s.len, left.pitch) + rows <= data.len());
        }
        let outer = Outer {
            segments,
            left: data.as_ptr(),
            left_pitch: left.pitch,
            right: right.data.as_ptr(),
            right_pitch: right.pitch,
            sums: sums[o * width..(o + rows) * width].as_mut_ptr(),
            accumulate,
        };
        // SAFETY: every segment ends within both factors (asserted); `sums` has `rows` rows here.
        unsafe { compute_outer(job.isa, &outer, rows) };
        o += rows;
    }
}
