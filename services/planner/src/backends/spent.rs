//! What a call has used so far. It is counted while the call is under way and not told at its end, so that it is known as
//! well when the call fails, is made again, or is given up because its time is over.

use std::sync::{Arc, Mutex, PoisonError};

use motorium_proto::domain::decision::Usage;

/// The sum of one call; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Spent(Arc<Mutex<Usage>>);

impl Spent {
    /// Counts one answer of a provider.
    pub fn add(&self, usage: Usage) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = sum.plus(usage);
    }

    /// Everything until now.
    #[must_use]
    pub fn total(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
