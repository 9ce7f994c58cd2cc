//! A gathered product, cut into tasks.
//!
//! Each number of the result is summed by one register tile after the other in the order of the inner
//! index, by one task, so the cut into tasks cannot change a bit of it.

use crate::gather::{Gather, Tables, with_tables};
use crate::microkernel::{Finish, Tile, compute};
use crate::prefetch::Strip;
use crate::shared::Shared;
use crate::weights::Panels;
use rayon::prelude::*;
use std::ops::Range;

/// Bytes of source rows a task reads again and again, panel after panel: well inside the second-level
/// cache of 1–2 MiB, beside 256 KiB of weights.
const SOURCE_BYTES: usize = 768 << 10;
/// Fewer rows than this do not repay reading the weights.
const FEW_ROWS: usize = 96;
/// More rows than this gain nothing and leave too few tasks.
const MANY_ROWS: usize = 1536;
/// Enough tasks that two, four or eight threads finish at about the same time.
pub(crate) const TASKS: usize = 32;

/// What happens to each finished number: `relu(sum · scale + shift + residual)`, each part optional.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ending<'a> {
    pub scale: Option<&'a [f32]>,
    pub shift: Option<&'a [f32]>,
    pub residual: Option<&'a [f32]>,
    pub relu: bool,
}

impl Ending<'_> {
    /// Panics unless the operands have the result's shape.
    pub(crate) fn check(&self, outputs: usize, len: usize) {
        for operand in [self.scale, self.shift].into_iter().flatten() {
            assert_eq!(operand.len(), outputs, "one number per output channel");
        }
        assert!(
            self.residual.is_none_or(|r| r.len() == len),
            "the residual has the output's shape"
        );
    }

    /// The operands from a column on.
    pub(crate) fn at(&self, column: usize) -> Finish {
        let start = |operand: Option<&[f32]>| {
            operand.map_or(std::ptr::null(), |operand| operand[column..].as_ptr())
        };
        Finish {
            scale: start(self.scale),
            shift: start(self.shift),
            residual: self.residual.map(|r| r[column..].as_ptr()),
            relu: self.relu,
        }
    }
}

/// The rows of one task, and how many tasks share all rows. A function of the problem's size alone.
pub(crate) fn row_blocks(gather: &Gather, panels: &Panels) -> Vec<Range<usize>> {
    let rows = gather.rows();
    let most = (SOURCE_BYTES / (4 * gather.run.max(1))).clamp(FEW_ROWS, MANY_ROWS);
    let group = panels.isa.rows();
    let blocks = rows.div_ceil(most).max(1);
    let size = rows.div_ceil(blocks).next_multiple_of(group).max(group);
    (0..rows)
        .step_by(size)
        .map(|first| first..rows.min(first + size))
        .collect()
}

/// Computes `y[place(row)] = ending(gathered row · panels)` for all rows; `place` gives the row of y.
///
/// `done` is called by the task that has just computed all columns in a range of a block of rows, while
/// they are still in its cache.
pub(crate) fn product(
    gather: &Gather,
    panels: &Panels,
    ending: &Ending,
    place: impl Fn([usize; 3]) -> usize + Sync,
    y: Shared,
    done: impl Fn(usize, Range<usize>, Range<usize>) + Sync,
) {
    let outputs = panels.outputs;
    assert_eq!(
        (gather.run, gather.taps.len()),
        (panels.run, panels.taps),
        "weights of another shape"
    );
    ending.check(outputs, y.len());
    let blocks = row_blocks(gather, panels);
    let splits = TASKS
        .div_ceil(blocks.len().max(1))
        .clamp(1, panels.count().max(1));
    let width = panels.count().div_ceil(splits).max(1);
    let splits = panels.count().div_ceil(width);
    (0..blocks.len() * splits).into_par_iter().for_each(|task| {
        let (block, split) = (task / splits, task % splits);
        let rows = blocks[block].clone();
        let range = split * width..panels.count().min((split + 1) * width);
        with_tables(|tables| {
            gather.tabulate(rows.clone(), panels.isa.rows(), tables);
            tables.targets.clear();
            let positions = std::iter::successors(Some(gather.position(rows.start)), |&position| {
                Some(gather.after(position))
            });
            tables
                .targets
                .extend(positions.take(rows.len()).map(|at| place(at) * outputs));
            let last = tables.targets.iter().max().copied().unwrap_or(0);
            assert!(last + outputs <= y.len(), "a row outside of the output");
            for panel in range.clone() {
                one_panel(gather, panels, ending, panel, tables, y);
            }
        });
        let columns = panels.isa.columns();
        done(
            block,
            rows,
            range.start * columns..outputs.min(range.end * columns),
        );
    });
}

/// All rows of a task against one panel.
fn one_panel(
    gather: &Gather,
    panels: &Panels,
    ending: &Ending,
    panel: usize,
    tables: &Tables,
    y: Shared,
) {
    let (group, taps) = (panels.isa.rows(), panels.taps);
    let first = panel * panels.isa.columns();
    let finish = ending.at(first);
    // An empty inner index still has to write its zeros.
    let chunk = panels.chunk();
    let chunks = gather.run.div_ceil(chunk).max(1);
    for part in 0..chunks {
        let skip = part * chunk;
        let weights = panels.at(panel, skip);
        let mut tile = Tile {
            sources: tables.sources.as_ptr(),
            skip,
            taps,
            run: chunk.min(gather.run - skip),
            panel: weights.as_ptr(),
            targets: tables.targets.as_ptr(),
            output: y.at(first),
            columns: panels.isa.columns().min(panels.outputs - first),
            strip: Strip::new(weights, 0, 0),
            accumulate: part > 0,
            finish: (part + 1 == chunks).then_some(finish),
        };
        let mut left = tables.targets.len();
        while left > 0 {
            let rows = group.min(left);
            if first == 0 && taps == 1 {
                // Rows are read for the first time with the first panel.
                let ahead = 2 * group;
                tile.strip = if left > ahead + group {
                    unsafe { Strip::at(*tile.sources.add(ahead), group) }
                } else {
                    Strip::new(weights, 0, 0)
                };
            }
            // SAFETY: `tabulate` wrote taps · rows pointers per group, each to `run` floats; the panel
            // holds taps · run · columns weights from `skip` on; `product` has checked that every
            // target row lies in y and that the operands have y's shape; rows and panels belong to one
            // task each, so no two tasks write the same number; the family was detected.
            unsafe {
                compute(panels.isa, &tile, rows);
                tile.sources = tile.sources.add(taps * rows);
                tile.targets = tile.targets.add(rows);
            }
            left -= rows;
        }
    }
}
