//! Scratch memory that is kept from step to step.
//!
//! Each thread keeps the buffers it has used; a kernel borrows one and gives it back when it is dropped.
//! After the first step of a training run every buffer is large enough and nothing is allocated any more.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// One cache line, so that a buffer of lines starts on a line and no register load straddles two.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([f32; 16]);

/// Floats aligned to a cache line.
#[derive(Default)]
pub(crate) struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// Makes room for `len` floats; what they hold is left over from earlier use.
    pub(crate) fn resize(&mut self, len: usize) {
        if self.lines.len() * 16 < len {
            self.lines.resize(len.div_ceil(16), Line([0.0; 16]));
        }
        self.len = len;
    }

    fn capacity(&self) -> usize {
        self.lines.len() * 16
    }
}

impl Deref for Aligned {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        // SAFETY: `resize` keeps len ≤ 16 · lines.len(), a Line is 16 floats without padding, and all
        // lines are initialised.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as for `deref`; the borrow of self is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}

thread_local! {
    // A list and not a single buffer: a thread that waits inside one kernel may be given a task of
    // another, and both need scratch at the same time.
    static POOL: RefCell<Vec<Aligned>> = const { RefCell::new(Vec::new()) };
}

/// A borrowed buffer; returns to its thread's pool when dropped.
pub(crate) struct Scratch(Aligned);

/// Borrows `len` floats whose contents are left over from earlier use.
pub(crate) fn scratch(len: usize) -> Scratch {
    let mut buffer = POOL.with_borrow_mut(|pool| {
        // The smallest that is large enough, else the largest (which then grows).
        let fits = |b: &Aligned| b.capacity() >= len;
        let best = (0..pool.len()).min_by_key(|&i| match fits(&pool[i]) {
            true => (0, pool[i].capacity()),
            false => (1, usize::MAX - pool[i].capacity()),
        });
        best.map(|i| pool.swap_remove(i)).unwrap_or_default()
    });
    buffer.resize(len);
    Scratch(buffer)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        POOL.with_borrow_mut(|pool| pool.push(buffer));
    }
}

impl Deref for Scratch {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_used_again() {
        let first = scratch(1000).as_ptr();
        assert_eq!(scratch(900).as_ptr(), first);
        assert_eq!(first as usize % 64, 0);
    }

    #[test]
    fn two_at_once_are_distinct() {
        let (mut a, mut b) = (scratch(10), scratch(10));
        a.fill(1.0);
        b.fill(2.0);
        assert!(a.iter().all(|&v| v == 1.0));
    }
}
