//! Batches made ahead of their use.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Runs `body` while other threads make the batches it will ask for.
///
/// Every job of every batch goes through `make`, on as many threads as rayon would use, up to `ahead` batches
/// before the one that `body` holds. `body` takes the batches from an iterator, strictly in order and with
/// their items in order, whatever the number of threads:
///
/// ```text
/// prefetch(&batches, 2, |job| load(job), |batches| {
///     for batch in batches {
///         train(batch?)?;
///     }
///     Ok(())
/// })
/// ```
///
/// - If `make` fails, the iterator yields the batches before the failure, then the error of the *first* failing
///   job in order, then ends. If it panics, the iterator panics in its place.
/// - When `body` returns early or panics, no further job is started.
/// - The threads are the function's own. They never wait for a thread of rayon's pool, so `body` may use that
///   pool, of whatever size, and may itself run inside it. (`make` should leave the pool alone: one that waits
///   for a pool whose only thread is waiting for `make` would wait for ever.)
pub fn prefetch<J, T, E, R>(
    batches: &[Vec<J>],
    ahead: usize,
    make: impl Fn(&J) -> Result<T, E> + Sync,
    body: impl FnOnce(Batches<'_, T, E>) -> R,
) -> R
where
    J: Sync,
    T: Send,
    E: Send,
{
    let shared = Shared {
        state: Mutex::new(State {
            next: (0, 0),
            running: 0,
            started: 0,
            made: VecDeque::new(),
            failure: None,
            finished: false,
        }),
        changed: Condvar::new(),
        sizes: batches.iter().map(Vec::len).collect(),
        ahead: ahead.max(1),
    };
    let jobs: usize = shared.sizes.iter().sum();
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(jobs) {
            scope.spawn(|| work(&shared, |(batch, item)| make(&batches[batch][item])));
        }
        // Dropped when `body` returns or panics: either way the threads are told to end.
        body(Batches { shared: &shared })
    })
}

/// The batches, in order. See [`prefetch`].
pub struct Batches<'a, T, E> {
    shared: &'a Shared<T, E>,
}

/// A job by batch and item.
type Place = (usize, usize);

/// What ended the making of batches.
enum Failure<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

struct Shared<T, E> {
    state: Mutex<State<T, E>>,
    changed: Condvar,
    /// Number of items of each batch.
    sizes: Vec<usize>,
    ahead: usize,
}

struct State<T, E> {
    /// The first job that no thread has taken.
    next: Place,
    /// How many jobs are being worked on.
    running: usize,
    /// How many batches have been handed out.
    started: usize,
    /// The items of the batches to be handed out next, as far as they are made.
    made: VecDeque<Vec<Option<T>>>,
    /// The failure of the first failing job, so far.
    failure: Option<(Place, Failure<E>)>,
    /// Nobody wants any more batches.
    finished: bool,
}

impl<T, E> Shared<T, E> {
    fn lock(&self) -> MutexGuard<'_, State<T, E>> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T, E>>) -> MutexGuard<'a, State<T, E>> {
        self.changed
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, once it may be started; none when there is nothing left to do.
    fn take(&self) -> Option<Place> {
        let mut state = self.lock();
        loop {
            while self.sizes.get(state.next.0) == Some(&state.next.1) {
                state.next = (state.next.0 + 1, 0);
            }
            let (batch, item) = state.next;
            if state.finished || state.failure.is_some() || batch == self.sizes.len() {
                return None;
            }
            if batch < state.started + self.ahead {
                state.next.1 += 1;
                state.running += 1;
                return Some((batch, item));
            }
            state = self.wait(state);
        }
    }

    /// Puts the result of a job in its place.
    fn put(&self, place: Place, result: Result<T, Failure<E>>) {
        let mut state = self.lock();
        state.running -= 1;
        match result {
            Ok(value) => {
                // Batches before `started` are gone; jobs of theirs cannot be running any more.
                let waiting = place.0 - state.started;
                while state.made.len() <= waiting {
                    let size = self.sizes[state.started + state.made.len()];
                    state
                        .made
                        .push_back(std::iter::repeat_with(|| None).take(size).collect());
                }
                state.made[waiting][place.1] = Some(value);
            }
            // Jobs are taken in order. So when one fails, all before it are done or running, and the first
            // failure is known once nothing runs.
            Err(failure) => {
                if state
                    .failure
                    .as_ref()
                    .is_none_or(|(first, _)| place < *first)
                {
                    state.failure = Some((place, failure));
                }
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// What each thread does.
fn work<T, E>(shared: &Shared<T, E>, make: impl Fn(Place) -> Result<T, E>) {
    while let Some(place) = shared.take() {
        let result = match catch_unwind(AssertUnwindSafe(|| make(place))) {
            Ok(result) => result.map_err(Failure::Error),
            Err(panic) => Err(Failure::Panic(panic)),
        };
        shared.put(place, result);
    }
}

impl<T, E> Iterator for Batches<'_, T, E> {
    type Item = Result<Vec<T>, E>;

    fn next(&mut self) -> Option<Self::Item> {
        let shared = self.shared;
        let mut state = shared.lock();
        loop {
            let size = *shared.sizes.get(state.started)?;
            if state.finished {
                return None;
            }
            let complete = size == 0
                || state
                    .made
                    .front()
                    .is_some_and(|items| items.iter().all(Option::is_some));
            if complete {
                let items = state.made.pop_front().unwrap_or_default();
                state.started += 1;
                drop(state);
                shared.changed.notify_all();
                return Some(Ok(items.into_iter().flatten().collect()));
            }
            if state.failure.is_some() && state.running == 0 {
                state.finished = true;
                let (_, failure) = state.failure.take()?;
                drop(state);
                match failure {
                    Failure::Error(error) => return Some(Err(error)),
                    Failure::Panic(panic) => resume_unwind(panic),
                }
            }
            state = shared.wait(state);
        }
    }
}

impl<T, E> Drop for Batches<'_, T, E> {
    fn drop(&mut self) {
        self.shared.lock().finished = true;
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    use rayon::prelude::*;

    use super::*;

    /// Fails, rather than hangs, if `test` does not end.
    fn in_time(test: impl FnOnce() + Send + 'static) {
        let (send, receive) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            test();
            let _ = send.send(());
        });
        match receive.recv_timeout(Duration::from_secs(60)) {
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("deadlock"),
            _ => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
        }
    }

    /// Runs `test` in rayon pools of several sizes.
    fn with_threads(test: impl Fn() + Send + Sync + 'static) {
        in_time(move || {
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .unwrap();
                pool.install(&test);
            }
        });
    }

    /// Batches of the numbers 0, 1, 2, …
    fn numbered(sizes: &[usize]) -> Vec<Vec<usize>> {
        let mut numbers = 0..;
        sizes
            .iter()
            .map(|&size| numbers.by_ref().take(size).collect())
            .collect()
    }

    /// Some work whose length depends on the job, so that threads overtake each other.
    fn slowly(job: usize) {
        std::thread::sleep(Duration::from_micros((job * 7919 % 13) as u64 * 50));
    }

    #[test]
    fn batches_come_in_order_whatever_the_threads() {
        with_threads(|| {
            for ahead in [0, 1, 3, 100] {
                let batches = numbered(&[4, 0, 7, 1, 0, 0, 5, 16, 0]);
                let make = |&job: &usize| {
                    slowly(job);
                    Ok::<_, ()>(job * 10)
                };
                let made: Vec<Vec<usize>> = prefetch(&batches, ahead, make, |made| {
                    made.map(Result::unwrap).collect()
                });
                let expected: Vec<Vec<usize>> = batches
                    .iter()
                    .map(|batch| batch.iter().map(|job| job * 10).collect())
                    .collect();
                assert_eq!(made, expected);
            }
            let none: Vec<Vec<usize>> = Vec::new();
            assert_eq!(
                prefetch(&none, 2, |_| Ok::<usize, ()>(0), |made| made.count()),
                0
            );
        });
    }

    #[test]
    fn the_body_may_use_rayon_in_a_pool_of_any_size() {
        with_threads(|| {
            let batches = numbered(&[8; 20]);
            let make = |&job: &usize| {
                slowly(job);
                Ok::<_, ()>(job)
            };
            let total: usize = prefetch(&batches, 2, make, |made| {
                made.map(|batch| batch.unwrap().into_par_iter().map(|n| n + 1).sum::<usize>())
                    .sum()
            });
            assert_eq!(total, 160 * 161 / 2);
        });
    }

    #[test]
    fn no_more_than_the_allowed_batches_are_made_ahead() {
        in_time(|| {
            let made = AtomicUsize::new(0);
            let make = |_: &usize| {
                made.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ()>(())
            };
            prefetch(&numbered(&[10; 30]), 2, make, |mut batches| {
                for taken in 0..30 {
                    std::thread::sleep(Duration::from_millis(2));
                    assert!(made.load(Ordering::SeqCst) <= 10 * (taken + 2));
                    batches.next().unwrap().unwrap();
                }
                assert!(batches.next().is_none());
            });
            assert_eq!(made.into_inner(), 300);
        });
    }

    #[test]
    fn the_first_failing_job_is_reported_after_the_batches_before_it() {
        with_threads(|| {
            let batches = numbered(&[5; 10]);
            for _ in 0..20 {
                // 23 fails quickly and 22 slowly: still it is 22 that counts.
                let make = |&job: &usize| match job {
                    22 => {
                        std::thread::sleep(Duration::from_millis(3));
                        Err("22")
                    }
                    23.. => Err("later"),
                    _ => Ok(job),
                };
                let results: Vec<_> = prefetch(&batches, 8, make, |made| made.collect());
                assert_eq!(results.len(), 5);
                assert!(results[..4].iter().all(Result::is_ok));
                assert_eq!(results[4], Err("22"));
            }
        });
    }

    #[test]
    fn a_body_that_stops_early_ends_the_making() {
        with_threads(|| {
            let made = AtomicUsize::new(0);
            let make = |_: &usize| {
                made.fetch_add(1, Ordering::SeqCst);
                Ok::<_, ()>(())
            };
            let result: Result<(), &str> =
                prefetch(&numbered(&[4; 1000]), 3, make, |mut batches| {
                    batches.next();
                    Err("enough")
                });
            assert_eq!(result, Err("enough"));
            assert!(made.into_inner() <= 4 * 5);
        });
    }

    #[test]
    fn panics_on_either_side_come_through() {
        let message = |panic: Box<dyn Any + Send>| *panic.downcast::<&str>().unwrap();
        with_threads(move || {
            let batches = numbered(&[3; 50]);
            let making = catch_unwind(|| {
                let make = |&job: &usize| {
                    if job == 31 {
                        panic!("make")
                    } else {
                        Ok::<_, ()>(job)
                    }
                };
                prefetch(&batches, 4, make, |made| made.count())
            });
            assert_eq!(message(making.unwrap_err()), "make");
            let consuming =
                catch_unwind(|| prefetch(&batches, 4, |&job| Ok::<_, ()>(job), |_| panic!("body")));
            assert_eq!(message(consuming.unwrap_err()), "body");
        });
    }
}
