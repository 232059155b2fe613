//! Limits of the uploads and of the exports at a time, for each caller and for all.
//!
//! It does not receive or send files. Invariant: a slot is free again as soon as it is dropped, however its call ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits of the calls of one kind at a time.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Maximum number of calls.
    all: usize,
    /// Maximum number of calls of one caller.
    of_caller: usize,
    /// Maximum number of calls of one caller that wait. Waiting costs a stream and no memory for the content.
    waiting_of_caller: usize,
}

const UPLOADS: Limits = Limits {
    // Each takes up to twice the largest file: 1 GiB together.
    all: 8,
    // Four callers can upload although one of them has taken all it may.
    of_caller: 2,
    // A person drops a folder of images on the page.
    waiting_of_caller: 32,
};
const EXPORTS: Limits = Limits {
    // Each has the log of a task in memory: a tenth of a GiB were measured for 20 MB of messages.
    all: 3,
    // Another caller can export although one of them has taken all it may.
    of_caller: 2,
    // A person exports the tasks of a list one after the other.
    waiting_of_caller: 8,
};
/// Time after which a call that waits is refused.
// A large file takes seconds on a usual line.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Slots for calls of one kind. Clones share them.
#[derive(Debug, Clone)]
pub struct CallSlots {
    limits: Limits,
    all: Arc<Semaphore>,
    callers: Arc<Mutex<HashMap<String, CallerSlots>>>,
}

#[derive(Debug)]
struct CallerSlots {
    slots: Arc<Semaphore>,
    /// Number of calls that wait or have a slot.
    present: usize,
}

/// The right to one call.
#[derive(Debug)]
pub(super) struct CallSlot {
    _of_caller: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    _presence: Presence,
}

/// A call that waits or has a slot. Dropped last, it forgets a caller without any.
#[derive(Debug)]
struct Presence {
    callers: Arc<Mutex<HashMap<String, CallerSlots>>>,
    caller: String,
}

/// There are too many calls at a time.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooManyCalls;

impl CallSlots {
    /// Returns the slots for uploads.
    #[must_use]
    pub fn for_uploads() -> Self {
        Self::new(UPLOADS)
    }

    /// Returns the slots for exports.
    #[must_use]
    pub fn for_exports() -> Self {
        Self::new(EXPORTS)
    }

    fn new(limits: Limits) -> Self {
        Self {
            limits,
            all: Arc::new(Semaphore::new(limits.all)),
            callers: Arc::default(),
        }
    }

    /// Returns a slot for a caller as soon as there is one.
    ///
    /// # Errors
    /// If too many of its calls wait, or after a while.
    pub(super) async fn take(&self, caller: &str) -> Result<CallSlot, TooManyCalls> {
        let (presence, slots) = self.enter(caller)?;
        let both = async {
            // The caller's own first: a call that waits for it keeps no other caller waiting.
            let of_caller = slots.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some((of_caller, of_all))
        };
        let taken = tokio::time::timeout(MAX_WAIT, both).await.ok().flatten();
        let (of_caller, of_all) = taken.ok_or(TooManyCalls)?;
        Ok(CallSlot {
            _of_caller: of_caller,
            _of_all: of_all,
            _presence: presence,
        })
    }

    fn enter(&self, caller: &str) -> Result<(Presence, Arc<Semaphore>), TooManyCalls> {
        let mut callers = lock(&self.callers);
        let entry = callers
            .entry(caller.to_owned())
            .or_insert_with(|| CallerSlots {
                slots: Arc::new(Semaphore::new(self.limits.of_caller)),
                present: 0,
            });
        if entry.present == self.limits.of_caller + self.limits.waiting_of_caller {
            return Err(TooManyCalls);
        }
        entry.present += 1;
        let presence = Presence {
            callers: Arc::clone(&self.callers),
            caller: caller.to_owned(),
        };
        Ok((presence, Arc::clone(&entry.slots)))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut callers = lock(&self.callers);
        if let Some(entry) = callers.get_mut(&self.caller) {
            entry.present -= 1;
            if entry.present == 0 {
                callers.remove(&self.caller);
            }
        }
    }
}

fn lock(
    callers: &Mutex<HashMap<String, CallerSlots>>,
) -> std::sync::MutexGuard<'_, HashMap<String, CallerSlots>> {
    callers.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_caller_takes_no_slots_of_others_and_waits_for_its_own() {
        let slots = CallSlots::for_uploads();
        let first = slots.take("ann").await.unwrap();
        let second = slots.take("ann").await.unwrap();
        assert_eq!(slots.take("ann").await.unwrap_err(), TooManyCalls);
        let _of_bob = slots.take("bob").await.unwrap();
        let waiting = tokio::spawn({
            let slots = slots.clone();
            async move { slots.take("ann").await }
        });
        tokio::time::sleep(MAX_WAIT / 2).await;
        drop(first);
        let third = waiting.await.unwrap().unwrap();
        drop((second, third));
        assert_eq!(lock(&slots.callers).len(), 1, "callers are forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn all_callers_together_are_limited() {
        let slots = CallSlots::for_uploads();
        let mut taken = Vec::new();
        for number in 0..UPLOADS.all {
            taken.push(slots.take(&format!("caller-{number}")).await.unwrap());
        }
        assert_eq!(slots.take("one-more").await.unwrap_err(), TooManyCalls);
        taken.pop();
        slots.take("one-more").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_are_limited_too() {
        let slots = CallSlots::for_uploads();
        let crowd = UPLOADS.of_caller + UPLOADS.waiting_of_caller;
        let attempts: Vec<_> = (0..crowd)
            .map(|_| {
                let slots = slots.clone();
                tokio::spawn(async move { slots.take("ann").await })
            })
            .collect();
        tokio::task::yield_now().await;
        let began = tokio::time::Instant::now();
        assert!(slots.take("ann").await.is_err());
        assert_eq!(began.elapsed(), Duration::ZERO, "refused at once");
        attempts.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
