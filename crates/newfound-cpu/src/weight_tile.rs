//! One tile of the weight gradient over one chunk of output lines.
//!
//! For one tap, the pixels of an output line meet the pixels of an input line, shifted; taps that fall
//! outside of the image meet nothing and cost nothing.
//!
//! Pieces of a panel's width that lie a power of two apart push each other out of the first-level cache, so
//! both factors are packed first: pieces of the same panel side by side. Only rows that are one piece long
//! are read where they are.

use crate::isa::{Isa, vectorised};
use crate::microkernel::MAX_COLUMNS;
use crate::prefetch::{LINE, Strip};
use crate::scratch::scratch;
use crate::shape::Conv;
use crate::weight_kernel::{Outer, Segment, compute_outer};
use std::cell::RefCell;
use std::ops::Range;

/// Pixels whose products are summed in registers before the sums in memory are touched.
const PIXELS: usize = 128;

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
    let right_len = job.panels.len() * right_panel_len(job, size);
    let mut right_packed = scratch(right_len);
    for first in lines.clone().step_by(size) {
        let block = first..lines.end.min(first + size);
        plan.cut(job, block.clone());
        let left = left_factor(job, &block, &mut left_packed);
        let mut next = Next::new(job, block.end);
        let right = right_factor(job, &plan, &mut right_packed);
        for (panel, sums) in sums.chunks_exact_mut(part).enumerate() {
            let right = Factor {
                data: &right.data[panel * right.panel..],
                ..right
            };
            let sums = sums.chunks_exact_mut(job.outputs.len() * width);
            for (tap, sums) in sums.enumerate() {
                let (from, to) = (plan.taps[tap], plan.taps[tap + 1]);
                let segments = &plan.segments[from..to];
                one_tap(
                    job,
                    segments,
                    &left,
                    &right,
                    first > lines.start,
                    &mut next,
                    sums,
                );
            }
        }
    }
    PLAN.replace(plan);
}

/// What the next block will read: one strip of cache lines after the other.
struct Next<'a> {
    job: &'a Job<'a>,
    /// The first pixel of the next block in dy, and about the first it meets in x.
    pixels: [usize; 2],
    /// Channels of x, then of dy, that have a strip already.
    done: usize,
}

impl<'a> Next<'a> {
    fn new(job: &'a Job, line: usize) -> Self {
        let conv = job.conv;
        let (height, side) = (conv.output_height(), conv.output_width());
        let under = line / height * conv.height + line % height * conv.stride;
        Self {
            job,
            pixels: [line * side, under * conv.width],
            done: 0,
        }
    }

    /// The next strip; when all are done, one that is in the cache already.
    fn strip(&mut self) -> Strip {
        let Job {
            conv,
            x,
            dy,
            outputs,
            panels,
            isa,
        } = self.job;
        let first = panels.start * isa.columns();
        let inputs = conv.inputs.min(panels.end * isa.columns()) - first;
        let at = self.done;
        self.done += LINE;
        if at < inputs {
            Strip::new(x, self.pixels[1] * conv.inputs + first + at, conv.inputs)
        } else if at - inputs < outputs.len() {
            let channel = outputs.start + at - inputs;
            Strip::new(dy, self.pixels[0] * conv.outputs + channel, conv.outputs)
        } else {
            Strip::new(dy, 0, 0)
        }
    }
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
        let Conv {
            kernel,
            stride,
            padding,
            ..
        } = *conv;
        let (left_pitch, right) = (left_pitch(job), Right::of(job));
        let source = |line: usize, k: usize| {
            let y = (line % height * stride + k).checked_sub(padding)?;
            (y < conv.height).then_some(line / height * conv.height + y)
        };
        self.lines.clear();
        for line in block.clone() {
            self.lines
                .extend((0..kernel).filter_map(|k| source(line, k)));
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
            let end = (conv.width + padding)
                .saturating_sub(l)
                .div_ceil(stride)
                .min(side);
            for line in block.clone() {
                let Some(line_at_tap) = source(line, k) else {
                    continue;
                };
                if start >= end {
                    continue;
                }
                let slot = self
                    .lines
                    .binary_search(&line_at_tap)
                    .expect("collected above");
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
        let packed = conv.inputs != width;
        // A 1×1 convolution of stride 2 uses every other pixel; the rest need not be copied.
        let every = if packed && conv.kernel == 1 && conv.padding == 0 {
            conv.stride
        } else {
            1
        };
        let pixel = if packed { width } else { conv.inputs };
        let line = conv.width.div_ceil(every) * pixel;
        Self {
            packed,
            every,
            pixel,
            line,
            step: conv.stride / every * pixel,
        }
    }
}

/// A factor in memory, from its first channel on.
#[derive(Clone, Copy)]
struct Factor<'a> {
    data: &'a [f32],
    /// Floats from a pixel of a segment to the next.
    pitch: usize,
    /// Floats from a panel's width of channels to the next.
    panel: usize,
}

fn packs_left(job: &Job) -> bool {
    job.conv.outputs > job.isa.columns()
}

fn left_pitch(job: &Job) -> usize {
    if packs_left(job) {
        job.isa.columns()
    } else {
        job.conv.outputs
    }
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
    if !packs_left(job) {
        return Factor {
            data: &dy[job.outputs.start..],
            pitch: all,
            panel: width,
        };
    }
    let panel_len = block.len() * side * width;
    pack(dy, all, job.outputs.clone(), width, panel_len, packed);
    Factor {
        data: packed,
        pitch: width,
        panel: panel_len,
    }
}

/// Floats of one packed panel of a block.
fn right_panel_len(job: &Job, lines: usize) -> usize {
    lines * job.conv.kernel * Right::of(job).line
}

/// The pixels of x, as they are or packed by panels.
fn right_factor<'a>(job: &'a Job, plan: &Plan, packed: &'a mut [f32]) -> Factor<'a> {
    let (conv, width, right) = (job.conv, job.isa.columns(), Right::of(job));
    let first = job.panels.start * width;
    if !right.packed {
        return Factor {
            data: &job.x[first..],
            pitch: right.step,
            panel: width,
        };
    }
    let last = conv.inputs.min(job.panels.end * width);
    let panel_len = plan.lines.len() * right.line;
    for (slot, &line) in plan.lines.iter().enumerate() {
        let x = &job.x[line * conv.width * conv.inputs..][..conv.width * conv.inputs];
        let packed = &mut packed[slot * right.line..];
        pack(
            x,
            conv.inputs * right.every,
            first..last,
            width,
            panel_len,
            packed,
        );
    }
    Factor {
        data: packed,
        pitch: right.step,
        panel: panel_len,
    }
}

vectorised! {
    /// Copies some channels of the pixels of a line, every `pitch` floats: pieces of `width` of the same
    /// panel side by side, with zeros behind the last channel.
    fn pack(
        line: &[f32], pitch: usize, channels: Range<usize>, width: usize,
        panel_len: usize, packed: &mut [f32],
    ) {
        for (at, pixel) in line.chunks(pitch).enumerate() {
            let pixel = &pixel[channels.clone()];
            for (panel, piece) in pixel.chunks(width).enumerate() {
                let target = &mut packed[panel * panel_len + at * width..][..width];
                copy_piece(piece, target);
            }
        }
    }
}

/// Copies up to a panel's width of floats and fills the rest with zeros.
#[inline(always)]
fn copy_piece(piece: &[f32], target: &mut [f32]) {
    match (
        <&[f32; MAX_COLUMNS]>::try_from(piece),
        <&mut [f32; MAX_COLUMNS]>::try_from(&mut *target),
    ) {
        // The usual case has a length the compiler knows.
        (Ok(piece), Ok(target)) => *target = *piece,
        _ => {
            target[..piece.len()].copy_from_slice(piece);
            target[piece.len()..].fill(0.0);
        }
    }
}

/// All outputs of the tile against one panel at one tap.
fn one_tap(
    job: &Job,
    segments: &[Segment],
    left: &Factor,
    right: &Factor,
    accumulate: bool,
    next: &mut Next,
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
            strip: next.strip(),
        };
        // SAFETY: every segment ends within both factors (asserted); `sums` has `rows` rows here.
        unsafe { compute_outer(job.isa, &outer, rows) };
        o += rows;
    }
}
