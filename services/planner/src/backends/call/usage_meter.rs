//! Counts the usage of a call while it runs. So it is also known if the call fails, is retried, or is cancelled by a
//! timeout.

use std::sync::{Arc, Mutex, PoisonError};

use motorium_proto::domain::decision::Usage;

/// Usage of one call; clones share the count.
#[derive(Debug, Clone, Default)]
pub struct UsageMeter(Arc<Mutex<Usage>>);

impl UsageMeter {
    /// Adds the usage of one response.
    pub fn add(&self, usage: Usage) {
        let mut sum = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *sum = sum.plus(usage);
    }

    /// Returns the usage so far.
    #[must_use]
    pub fn total(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
