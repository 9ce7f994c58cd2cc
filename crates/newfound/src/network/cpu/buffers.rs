//! Activations and gradients in memory that is used again.
//!
//! Every step of a training run asks for the same sizes in the same order. Fresh memory of these sizes comes from the
//! system page by page, each cleared first, on every step. Here a buffer goes back to a list when its tensor is dropped,
//! and the next one of that length takes it, with whatever it held: every kernel writes all of its output.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::sync::{LazyLock, Mutex, MutexGuard};

use burn::tensor::{DType, TensorData};
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes};

use super::Plain;

static POOL: LazyLock<Mutex<Pool>> = LazyLock::new(Mutex::default);

/// Buffers that wait for their next use, by length.
#[derive(Default)]
struct Pool {
    free: HashMap<usize, Free>,
    /// Floats that wait, floats in use, and the most that ever were in use.
    waiting: usize,
    used: usize,
    most_used: usize,
    /// Counts the requests.
    clock: u64,
}

/// Buffers of one length.
#[derive(Default)]
struct Free {
    buffers: Vec<Vec<f32>>,
    asked_for: u64,
}

impl Pool {
    fn take(&mut self, len: usize) -> Option<Vec<f32>> {
        self.used += len;
        self.most_used = self.most_used.max(self.used);
        self.clock += 1;
        let free = self.free.entry(len).or_default();
        free.asked_for = self.clock;
        let found = free.buffers.pop();
        if found.is_some() {
            self.waiting -= len;
        } else {
            self.forget();
        }
        found
    }

    /// Gives memory back to the system, lengths that nobody has asked for longest first, until half as much again as was
    /// ever needed at once is left.
    ///
    /// A step needs that: its many lengths have their own busiest moments, and what they keep for them adds up to more
    /// than its busiest moment of all. What is beyond it is of lengths that no longer come, as when prediction follows
    /// training.
    fn forget(&mut self) {
        while self.waiting > 0 && self.waiting + self.used > self.most_used + self.most_used / 2 {
            let idle = self
                .free
                .iter()
                .filter(|(_, free)| !free.buffers.is_empty());
            let oldest = idle.min_by_key(|(_, free)| free.asked_for);
            let len = *oldest.expect("something waits").0;
            let free = self.free.remove(&len).expect("just found");
            self.waiting -= len * free.buffers.len();
        }
    }

    /// Gives everything that waits back to the system.
    fn release(&mut self) {
        self.free.clear();
        self.waiting = 0;
    }

    fn give(&mut self, buffer: Vec<f32>) {
        let len = buffer.len();
        self.used -= len;
        self.waiting += len;
        self.free.entry(len).or_default().buffers.push(buffer);
    }
}

fn pool() -> MutexGuard<'static, Pool> {
    // A panic elsewhere leaves counts and lists as whole as they were.
    POOL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Gives all memory that waits for its next use back to the system.
pub(super) fn release() {
    pool().release();
}

/// Floats that hold anything, until something is written to them.
#[derive(Debug)]
pub(super) struct Buffer(Vec<f32>);

impl Buffer {
    /// A buffer of this many floats.
    pub(super) fn new(len: usize) -> Self {
        let waiting = pool().take(len);
        Self(waiting.unwrap_or_else(|| vec![0.0; len]))
    }

    /// The same memory as a tensor.
    pub(super) fn tensor(self, shape: impl Into<Vec<usize>>) -> Plain {
        let shape: Vec<usize> = shape.into();
        debug_assert_eq!(shape.iter().product::<usize>(), self.len());
        let len = size_of_val(&self[..]);
        // SAFETY: all `len` bytes of a Vec<f32> of this length are initialised.
        let bytes = unsafe { Bytes::from_controller(Box::new(self), len) };
        Plain::from_data(TensorData::from_bytes(bytes, shape, DType::F32))
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        pool().give(std::mem::take(&mut self.0));
    }
}

impl AllocationController for Buffer {
    fn alloc_align(&self) -> usize {
        align_of::<f32>()
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(
        &mut self,
        _: AccessPolicy,
    ) -> Result<&mut [MaybeUninit<u8>], AccessError> {
        let len = size_of_val(&self[..]);
        // SAFETY: the bytes of the floats, borrowed exclusively for as long as the result lives; any initialised bytes
        // are a float, and the caller promises to write no others.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) })
    }

    fn memory(&self, _: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let len = size_of_val(&self[..]);
        // SAFETY: the bytes of the floats, borrowed for as long as the result lives.
        Ok(unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast(), len) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::values;
    use super::*;

    #[test]
    fn memory_comes_back_when_the_last_tensor_of_it_goes() {
        // A length no other test uses: the pool belongs to all of them.
        let len = 7919;
        let mut buffer = Buffer::new(len);
        buffer.fill(3.0);
        let place = buffer.as_ptr();
        let tensor = buffer.tensor([len]);
        let copy = tensor.clone();
        assert_eq!(values(&tensor), vec![3.0; len]);
        drop(tensor);
        let other = Buffer::new(len);
        assert_ne!(other.as_ptr(), place, "still in use");
        drop(copy);
        assert_eq!(Buffer::new(len).as_ptr(), place);
    }

    #[test]
    fn lengths_that_no_longer_come_are_given_back() {
        let mut pool = Pool::default();
        let mut round = |lengths: &[usize]| {
            let take = |&len: &usize| {
                let found = pool.take(len);
                (found.is_some(), found.unwrap_or_else(|| vec![0.0; len]))
            };
            let (found, taken): (Vec<bool>, Vec<Vec<f32>>) = lengths.iter().map(take).unzip();
            taken.into_iter().for_each(|buffer| pool.give(buffer));
            (found, pool.waiting, pool.used, pool.most_used)
        };
        assert_eq!(round(&[10; 3]), (vec![false; 3], 30, 0, 30));
        assert_eq!(
            round(&[10; 3]),
            (vec![true; 3], 30, 0, 30),
            "all used again"
        );
        // 15 more are within half as much again.
        assert_eq!(round(&[15]), (vec![false], 45, 0, 30));
        assert_eq!(round(&[10; 3]), (vec![true; 3], 45, 0, 30));
        // One beyond: the length that was asked for longest ago goes.
        assert_eq!(round(&[1]), (vec![false], 31, 0, 30));
        assert_eq!(round(&[15]), (vec![false], 16, 0, 30));
        pool.release();
        assert_eq!((pool.waiting, pool.take(15)), (0, None));
    }
}
