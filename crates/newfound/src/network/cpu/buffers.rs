//! Activations and gradients in memory that is used again.
//!
//! Every step of a training run asks for the same sizes in the same order. Fresh memory of these sizes comes from the
//! system page by page, each cleared first, on every step. Here a buffer goes back to a list when its tensor is dropped,
//! and the next one of that length takes it, with whatever it held: every kernel writes all of its output.

use std::collections::BTreeMap;
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
    free: BTreeMap<usize, Free>,
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
    /// A buffer of this many floats or a few more: batches of an epoch differ by one image.
    fn take(&mut self, len: usize) -> Vec<f32> {
        self.clock += 1;
        let fitting = self.free.range_mut(len..=len + len / 8);
        let found = fitting.into_iter().find_map(|(_, free)| {
            free.asked_for = self.clock;
            free.buffers.pop()
        });
        let buffer = match found {
            Some(buffer) => {
                self.waiting -= buffer.len();
                buffer
            }
            None => {
                self.supersede(len);
                self.free.entry(len).or_default().asked_for = self.clock;
                vec![0.0; len]
            }
        };
        self.used += buffer.len();
        self.most_used = self.most_used.max(self.used);
        self.forget();
        buffer
    }

    /// Gives back a buffer that is only a little too short: its successor will do its work too.
    fn supersede(&mut self, len: usize) {
        let near = self.free.range_mut(len - len / 8..len).rev();
        let short = near.into_iter().find_map(|(_, free)| free.buffers.pop());
        self.waiting -= short.map_or(0, |buffer| buffer.len());
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
pub(super) struct Buffer {
    memory: Vec<f32>,
    /// How many of them are meant.
    len: usize,
}

impl Buffer {
    /// A buffer of this many floats.
    pub(super) fn new(len: usize) -> Self {
        let memory = pool().take(len);
        Self { memory, len }
    }

    /// The same memory as a tensor.
    pub(super) fn tensor(self, shape: impl Into<Vec<usize>>) -> Plain {
        let shape: Vec<usize> = shape.into();
        debug_assert_eq!(shape.iter().product::<usize>(), self.len());
        let len = size_of_val(&self[..]);
        // SAFETY: all `len` bytes of the floats that are meant are initialised.
        let bytes = unsafe { Bytes::from_controller(Box::new(self), len) };
        Plain::from_data(TensorData::from_bytes(bytes, shape, DType::F32))
    }
}

impl Deref for Buffer {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.memory[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        pool().give(std::mem::take(&mut self.memory));
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
        Ok(unsafe { std::slice::from_raw_parts_mut(self.memory.as_mut_ptr().cast(), len) })
    }

    fn memory(&self, _: AccessPolicy) -> Result<&[MaybeUninit<u8>], AccessError> {
        let len = size_of_val(&self[..]);
        // SAFETY: the bytes of the floats, borrowed for as long as the result lives.
        Ok(unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast(), len) })
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

    /// Takes buffers of these lengths, all at once, and gives them back: the pool's three counts then.
    fn round(pool: &mut Pool, lengths: &[usize]) -> [usize; 3] {
        let taken: Vec<Vec<f32>> = lengths.iter().map(|&len| pool.take(len)).collect();
        taken.into_iter().for_each(|buffer| pool.give(buffer));
        [pool.waiting, pool.used, pool.most_used]
    }

    #[test]
    fn lengths_that_no_longer_come_are_given_back() {
        let mut pool = Pool::default();
        assert_eq!(round(&mut pool, &[10; 3]), [30, 0, 30]);
        assert_eq!(round(&mut pool, &[10; 3]), [30, 0, 30], "all used again");
        // 15 more are within half as much again.
        assert_eq!(round(&mut pool, &[15]), [45, 0, 30]);
        assert_eq!(round(&mut pool, &[10; 3]), [45, 0, 30]);
        // One beyond: the length that was asked for longest ago goes.
        assert_eq!(round(&mut pool, &[1]), [31, 0, 30]);
        assert_eq!(round(&mut pool, &[15]), [16, 0, 30]);
        pool.release();
        assert_eq!(pool.waiting, 0);
    }

    #[test]
    fn a_batch_with_an_image_less_uses_the_same_memory() {
        let mut pool = Pool::default();
        assert_eq!(round(&mut pool, &[640, 64]), [704, 0, 704]);
        assert_eq!(round(&mut pool, &[630, 63]), [704, 0, 704]);
        // The smaller one first: its buffers make way for those that serve both.
        let mut pool = Pool::default();
        assert_eq!(round(&mut pool, &[630, 63]), [693, 0, 693]);
        assert_eq!(round(&mut pool, &[640, 64]), [704, 0, 704]);
        assert_eq!(round(&mut pool, &[630, 63]), [704, 0, 704]);
    }
}
