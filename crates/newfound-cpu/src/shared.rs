//! A slice that several tasks write to, each its own part.

use std::marker::PhantomData;

/// A mutable slice shared between tasks that write disjoint parts of it.
pub(crate) struct Shared<'a, T = f32> {
    pointer: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: all access goes through `part` and `at`, whose callers promise that no two tasks touch the same
// element.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<T> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    /// Shares `slice` for as long as it is borrowed.
    pub(crate) fn new(slice: &'a mut [T]) -> Self {
        Self {
            pointer: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// Elements of the slice.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The elements `start .. start + len`.
    ///
    /// # Safety
    /// No other task may read or write any of these elements while the part is borrowed.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn part(&self, start: usize, len: usize) -> &'a mut [T] {
        assert!(
            start <= self.len && len <= self.len - start,
            "part outside the shared slice"
        );
        // SAFETY: inside the slice by the assertion, exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.pointer.add(start), len) }
    }

    /// A pointer to element `start`; the caller keeps within the elements that are its own.
    pub(crate) fn at(&self, start: usize) -> *mut T {
        assert!(start <= self.len, "pointer outside the shared slice");
        // SAFETY: at most one past the end.
        unsafe { self.pointer.add(start) }
    }
}
