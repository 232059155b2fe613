//! Limits of the uploads at a time, for each caller and for all.
//!
//! It does not receive files. Invariant: a slot is free again as soon as it is dropped, however its upload ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::Error;

/// Maximum number of uploads at a time.
// Each takes up to twice the largest file: 1 GiB together.
const MAX_UPLOADS: usize = 8;
/// Maximum number of uploads of one caller at a time.
// Four callers can upload although one of them has taken all it may.
const MAX_UPLOADS_OF_CALLER: usize = 2;
/// Maximum number of uploads of one caller that wait.
// A person drops a folder of images on the page. Waiting costs a stream and no memory for the file.
const MAX_WAITING_OF_CALLER: usize = 32;
/// Time after which an upload that waits is refused.
// A large file takes seconds on a usual line.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Slots for uploads. Clones share them.
#[derive(Debug, Clone)]
pub struct UploadSlots {
    all: Arc<Semaphore>,
    callers: Arc<Mutex<HashMap<String, CallerSlots>>>,
}

#[derive(Debug)]
struct CallerSlots {
    slots: Arc<Semaphore>,
    /// Number of uploads that wait or have a slot.
    present: usize,
}

/// The right to upload one file.
#[derive(Debug)]
pub(super) struct UploadSlot {
    _of_caller: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
    _presence: Presence,
}

/// An upload that waits or has a slot. Dropped last, it forgets a caller without any.
#[derive(Debug)]
struct Presence {
    callers: Arc<Mutex<HashMap<String, CallerSlots>>>,
    caller: String,
}

impl Default for UploadSlots {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(MAX_UPLOADS)),
            callers: Arc::default(),
        }
    }
}

impl UploadSlots {
    /// Returns a slot for a caller as soon as there is one.
    ///
    /// # Errors
    /// `TooManyUploads` if too many of its uploads wait, or after a while.
    pub(super) async fn take(&self, caller: &str) -> Result<UploadSlot, Error> {
        let (presence, slots) = self.enter(caller)?;
        let both = async {
            // The caller's own first: an upload that waits for it keeps no other caller waiting.
            let of_caller = slots.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some((of_caller, of_all))
        };
        let taken = tokio::time::timeout(MAX_WAIT, both).await.ok().flatten();
        let (of_caller, of_all) = taken.ok_or(Error::TooManyUploads)?;
        Ok(UploadSlot {
            _of_caller: of_caller,
            _of_all: of_all,
            _presence: presence,
        })
    }

    fn enter(&self, caller: &str) -> Result<(Presence, Arc<Semaphore>), Error> {
        let mut callers = lock(&self.callers);
        let entry = callers
            .entry(caller.to_owned())
            .or_insert_with(|| CallerSlots {
                slots: Arc::new(Semaphore::new(MAX_UPLOADS_OF_CALLER)),
                present: 0,
            });
        if entry.present == MAX_UPLOADS_OF_CALLER + MAX_WAITING_OF_CALLER {
            return Err(Error::TooManyUploads);
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
        let slots = UploadSlots::default();
        let first = slots.take("ann").await.unwrap();
        let second = slots.take("ann").await.unwrap();
        let refused = slots.take("ann").await.unwrap_err();
        assert!(matches!(refused, Error::TooManyUploads));
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
        let slots = UploadSlots::default();
        let mut taken = Vec::new();
        for number in 0..MAX_UPLOADS {
            taken.push(slots.take(&format!("caller-{number}")).await.unwrap());
        }
        let refused = slots.take("one-more").await.unwrap_err();
        assert!(matches!(refused, Error::TooManyUploads));
        taken.pop();
        slots.take("one-more").await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_wait_are_limited_too() {
        let slots = UploadSlots::default();
        let crowd = MAX_UPLOADS_OF_CALLER + MAX_WAITING_OF_CALLER;
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
