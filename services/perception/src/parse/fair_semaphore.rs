//! Fair semaphore: permits rotate among callers, not among calls, so a caller with many requests does not block one
//! with few.
//!
//! Invariants: a permit is acquired or handed over exactly once; no permit is free while a caller waits.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Maximum bytes held by waiting calls. A single call may hold more.
const MAX_QUEUED_BYTES: usize = 512 << 20;

/// Overhead per waiting call: its request and its task.
const WAITER_OVERHEAD_BYTES: usize = 64 << 10;

/// The waiting calls hold too many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueFull;

/// Semaphore for callers of type `Caller`.
#[derive(Debug)]
pub(super) struct FairSemaphore<Caller: Copy + Eq> {
    state: Mutex<SemaphoreState<Caller>>,
}

#[derive(Debug)]
struct SemaphoreState<Caller: Copy + Eq> {
    free: usize,
    /// Waiting callers, next first, each with its calls in order of arrival.
    waiters: VecDeque<(Caller, VecDeque<oneshot::Sender<FairPermit<Caller>>>)>,
    /// Bytes held by waiting calls.
    bytes: usize,
}

/// Permit; dropping it hands it to the next waiter.
#[derive(Debug)]
pub(super) struct FairPermit<Caller: Copy + Eq>(Option<Arc<FairSemaphore<Caller>>>);

impl<Caller: Copy + Eq> Drop for FairPermit<Caller> {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.release();
        }
    }
}

impl<Caller: Copy + Eq> FairSemaphore<Caller> {
    /// Creates a semaphore with `at_once` permits, at least one.
    pub(super) fn new(at_once: usize) -> Arc<Self> {
        let state = SemaphoreState {
            free: at_once.max(1),
            waiters: VecDeque::new(),
            bytes: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
        })
    }

    /// Waits for a permit; `bytes` is the memory held meanwhile. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// [`QueueFull`] immediately, if the waiting calls hold too many bytes.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        caller: Caller,
        bytes: usize,
    ) -> Result<FairPermit<Caller>, QueueFull> {
        let bytes = bytes.saturating_add(WAITER_OVERHEAD_BYTES);
        let given = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Ok(FairPermit(Some(Arc::clone(self))));
            }
            if state.bytes > 0 && state.bytes.saturating_add(bytes) > MAX_QUEUED_BYTES {
                return Err(QueueFull);
            }
            // Cancelled waiters are removed here, because the next hand-over may be far in the future.
            for (_, calls) in &mut state.waiters {
                calls.retain(|giver| !giver.is_closed());
            }
            state.waiters.retain(|(_, calls)| !calls.is_empty());
            let (giver, given) = oneshot::channel();
            match state.waiters.iter_mut().find(|(known, _)| *known == caller) {
                Some((_, calls)) => calls.push_back(giver),
                None => state.waiters.push_back((caller, VecDeque::from([giver]))),
            }
            state.bytes += bytes;
            given
        };
        let _held = QueuedBytes { turns: self, bytes };
        Ok(given.await.expect("every waiter receives a permit"))
    }

    /// Number of waiting calls.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        let state = self.state();
        state.waiters.iter().map(|(_, calls)| calls.len()).sum()
    }

    /// Hands a permit to the next waiter; cancelled ones are skipped.
    fn release(self: &Arc<Self>) {
        while let Some(next) = self.next() {
            match next.send(FairPermit(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // This waiter was cancelled in the meantime.
                Err(mut turn) => turn.0 = None,
            }
        }
    }

    /// Removes the next waiter from the queue, or frees a permit if there is none.
    fn next(&self) -> Option<oneshot::Sender<FairPermit<Caller>>> {
        let mut state = self.state();
        while let Some((caller, mut calls)) = state.waiters.pop_front() {
            // Cancelled calls do not cost their caller its turn.
            calls.retain(|call| !call.is_closed());
            let Some(next) = calls.pop_front() else {
                continue;
            };
            if !calls.is_empty() {
                state.waiters.push_back((caller, calls));
            }
            return Some(next);
        }
        state.free += 1;
        None
    }

    fn state(&self) -> MutexGuard<'_, SemaphoreState<Caller>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes accounted to one waiting call.
struct QueuedBytes<'a, Caller: Copy + Eq> {
    turns: &'a FairSemaphore<Caller>,
    bytes: usize,
}

impl<Caller: Copy + Eq> Drop for QueuedBytes<'_, Caller> {
    fn drop(&mut self) {
        self.turns.state().bytes -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::*;

    type Waiting = BoxFuture<'static, Result<FairPermit<char>, QueueFull>>;

    fn wait(turns: &Arc<FairSemaphore<char>>, caller: char, bytes: usize) -> Waiting {
        let turns = Arc::clone(turns);
        let mut waiting = async move { turns.acquire(caller, bytes).await }.boxed();
        assert!(
            (&mut waiting).now_or_never().is_none(),
            "{caller} should wait"
        );
        waiting
    }

    /// Returns the order in which waiters get the permit after `first`.
    fn order(first: FairPermit<char>, mut waiting: Vec<(&'static str, Waiting)>) -> String {
        let mut order = Vec::new();
        let mut turn = Some(first);
        while let Some(done) = turn.take() {
            drop(done);
            waiting.retain_mut(|(name, waiting)| match waiting.now_or_never() {
                Some(given) => {
                    assert!(turn.is_none(), "two waiters hold the only permit");
                    turn = Some(given.unwrap());
                    order.push(*name);
                    false
                }
                None => true,
            });
        }
        assert!(waiting.is_empty(), "a waiter never got a permit");
        order.join(" ")
    }

    #[test]
    fn permits_alternate_between_callers() {
        let turns = FairSemaphore::new(1);
        let first = turns.acquire('a', 1).now_or_never().unwrap().unwrap();
        let waiting = ["a1", "a2", "a3", "b1", "c1", "b2"].map(|name| {
            let caller = name.chars().next().unwrap();
            (name, wait(&turns, caller, 1))
        });
        assert_eq!(order(first, waiting.into()), "a1 b1 c1 a2 b2 a3");
        // And then it is free again.
        assert!(turns.acquire('d', 1).now_or_never().is_some());
    }

    #[test]
    fn cancelled_waiters_are_skipped() {
        let turns = FairSemaphore::new(1);
        let first = turns.acquire('a', 1).now_or_never().unwrap().unwrap();
        let [gone, b, also_gone, c] = ['a', 'b', 'b', 'c'].map(|caller| wait(&turns, caller, 1));
        drop((gone, also_gone));
        assert_eq!(order(first, vec![("b", b), ("c", c)]), "b c");
        // Cancelled calls do not cost their caller its turn.
        let first = turns.acquire('z', 1).now_or_never().unwrap().unwrap();
        let [gone, also_gone, a] = ['a'; 3].map(|caller| wait(&turns, caller, 1));
        let b = wait(&turns, 'b', 1);
        drop((gone, also_gone));
        assert_eq!(order(first, vec![("b", b), ("a", a)]), "a b");
        // Cancelled after receiving the permit and before being polled.
        let first = turns.acquire('a', 1).now_or_never().unwrap().unwrap();
        let (gone, b) = (wait(&turns, 'a', 1), wait(&turns, 'b', 1));
        drop(first);
        drop(gone);
        assert!(b.now_or_never().unwrap().is_ok());
    }

    #[test]
    fn several_permits_are_held_at_once() {
        let turns = FairSemaphore::new(2);
        let first = turns.acquire('a', 1).now_or_never().unwrap().unwrap();
        let _second = turns.acquire('a', 1).now_or_never().unwrap().unwrap();
        let third = wait(&turns, 'a', 1);
        assert_eq!(order(first, vec![("a", third)]), "a");
    }

    #[test]
    fn queued_bytes_are_limited() {
        let turns = FairSemaphore::new(1);
        let _first = turns.acquire('a', 0).now_or_never().unwrap().unwrap();
        // A single call may be arbitrarily large.
        let large = wait(&turns, 'a', MAX_QUEUED_BYTES + 1);
        assert_eq!(
            turns.acquire('b', 1).now_or_never().unwrap().unwrap_err(),
            QueueFull
        );
        drop(large);
        let _half = wait(&turns, 'b', MAX_QUEUED_BYTES / 2 - WAITER_OVERHEAD_BYTES);
        let _other_half = wait(&turns, 'b', MAX_QUEUED_BYTES / 2 - WAITER_OVERHEAD_BYTES);
        assert_eq!(
            turns.acquire('b', 1).now_or_never().unwrap().unwrap_err(),
            QueueFull
        );
    }
}
