//! A convolution as a product whose left rows are found through pointers.
//!
//! The rows of the result form a grid of pixels `[B, grid]`. At each tap, row (b, i, j) reads one *run* of
//! floats from the source pixel `(i·step + dh, j·step + dw)` of image b, or zeros outside of the image.
//! The forward pass and the input gradient of any stride are both of this form.

use std::cell::RefCell;
use std::ops::Range;

/// Where the rows of a product come from.
#[derive(Clone)]
pub(crate) struct Gather<'a> {
    /// The source images, `[B, size, pitch]`.
    pub source: &'a [f32],
    /// Height and width of a source image.
    pub size: [usize; 2],
    /// Floats from one source pixel to the next.
    pub pitch: usize,
    /// Images.
    pub batch: usize,
    /// Height and width of the grid of rows.
    pub grid: [usize; 2],
    /// Source pixels between neighbours of the grid.
    pub step: usize,
    /// Displacement of each tap, vertical and horizontal.
    pub taps: Vec<[isize; 2]>,
    /// Floats read at each tap.
    pub run: usize,
    /// At least `run` zeros, for taps outside of the image.
    pub zeros: &'a [f32],
}

impl Gather<'_> {
    /// Rows of the product.
    pub(crate) fn rows(&self) -> usize {
        self.batch * self.grid[0] * self.grid[1]
    }

    /// The grid position (image, vertical, horizontal) of a row.
    pub(crate) fn position(&self, row: usize) -> [usize; 3] {
        let [height, width] = self.grid;
        // An empty grid has no rows to ask about, but its first position is still formed.
        let (height, width) = (height.max(1), width.max(1));
        [row / (height * width), row / width % height, row % width]
    }

    /// The row at a grid position.
    pub(crate) fn row(&self, [image, i, j]: [usize; 3]) -> usize {
        (image * self.grid[0] + i) * self.grid[1] + j
    }

    /// Where in the source the row at this position reads at `tap`, if inside of the image.
    pub(crate) fn offset(&self, [image, i, j]: [usize; 3], tap: usize) -> Option<usize> {
        let [height, width] = self.size;
        let [dh, dw] = self.taps[tap];
        let y = (i * self.step).wrapping_add_signed(dh);
        let x = (j * self.step).wrapping_add_signed(dw);
        // A negative coordinate wraps to a huge one: one comparison covers both sides.
        (y < height && x < width).then(|| ((image * height + y) * width + x) * self.pitch)
    }

    /// The `run` floats that the row at this position reads at `tap`.
    pub(crate) fn read(&self, position: [usize; 3], tap: usize) -> &[f32] {
        match self.offset(position, tap) {
            Some(start) => &self.source[start..start + self.run],
            None => &self.zeros[..self.run],
        }
    }

    /// Fills `tables.sources` for `rows` in groups of up to `group` rows.
    pub(crate) fn tabulate(&self, rows: Range<usize>, group: usize, tables: &mut Tables) {
        let count = self.taps.len();
        tables.sources.clear();
        tables.sources.resize(rows.len() * count, std::ptr::null());
        let mut position = self.position(rows.start);
        let mut left = &mut tables.sources[..];
        while !left.is_empty() {
            let rows = group.min(left.len() / count);
            let (here, rest) = left.split_at_mut(rows * count);
            for row in 0..rows {
                for tap in 0..count {
                    here[tap * rows + row] = self.read(position, tap).as_ptr();
                }
                position = self.after(position);
            }
            left = rest;
        }
    }

    /// The position of the next row.
    pub(crate) fn after(&self, [image, i, j]: [usize; 3]) -> [usize; 3] {
        if j + 1 < self.grid[1] {
            [image, i, j + 1]
        } else if i + 1 < self.grid[0] {
            [image, i + 1, 0]
        } else {
            [image + 1, 0, 0]
        }
    }
}

/// Where the rows of a task come from and go to.
#[derive(Default)]
pub(crate) struct Tables {
    /// Pointers to what is read: `[group][tap][row]`.
    pub sources: Vec<*const f32>,
    /// The place of each row in the result.
    pub targets: Vec<usize>,
}

thread_local! {
    static TABLES: RefCell<Tables> = RefCell::new(Tables::default());
}

/// Calls `work` with tables that keep their memory from call to call.
pub(crate) fn with_tables(work: impl FnOnce(&mut Tables)) {
    let mut tables = TABLES.take();
    work(&mut tables);
    TABLES.replace(tables);
}
