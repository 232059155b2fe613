//! Limits of the watches at a time, for each caller and for all.
//!
//! Each watch reads its log once per second as long as nothing happens. Invariant: a watch counts until it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::Error;

/// Maximum number of watches of one caller at a time.
// A program that carries out a thousand tasks at once watches each of them.
const MAX_WATCHES_OF_CALLER: usize = 1024;
/// Maximum number of watches at a time.
// As many reads per second take a tenth of a core with SQLite.
const MAX_WATCHES: usize = 4096;

/// The open watches by caller. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct WatchSlots(Arc<Mutex<HashMap<String, usize>>>);

/// A watch that counts until it is dropped.
#[derive(Debug)]
pub(super) struct WatchSlot {
    open: WatchSlots,
    caller: String,
}

impl WatchSlots {
    /// Counts a watch of a caller.
    ///
    /// # Errors
    /// `TooManyWatches` if the caller, or all together, have too many.
    pub(super) fn take(&self, caller: &str) -> Result<WatchSlot, Error> {
        let mut open = self.lock();
        let all: usize = open.values().sum();
        let of_caller = open.get(caller).copied().unwrap_or_default();
        if all >= MAX_WATCHES || of_caller >= MAX_WATCHES_OF_CALLER {
            return Err(Error::TooManyWatches);
        }
        open.insert(caller.to_owned(), of_caller + 1);
        Ok(WatchSlot {
            open: self.clone(),
            caller: caller.to_owned(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for WatchSlot {
    fn drop(&mut self) {
        let mut open = self.open.lock();
        if let Some(count) = open.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_are_limited_for_each_caller_and_for_all() {
        let slots = WatchSlots::default();
        let mut of_ann: Vec<WatchSlot> = Vec::new();
        while let Ok(slot) = slots.take("ann") {
            of_ann.push(slot);
        }
        assert_eq!(of_ann.len(), MAX_WATCHES_OF_CALLER);
        let mut of_others: Vec<WatchSlot> = Vec::new();
        for number in 0.. {
            match slots.take(&format!("caller-{}", number % 100)) {
                Ok(slot) => of_others.push(slot),
                Err(_) => break,
            }
        }
        assert_eq!(of_ann.len() + of_others.len(), MAX_WATCHES);
        of_ann.pop();
        of_others.push(slots.take("bob").unwrap());
        drop((of_ann, of_others));
        assert!(slots.lock().is_empty(), "callers are forgotten");
    }
}
