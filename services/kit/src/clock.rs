//! Wall-clock time, passed in, so that a test decides what time it is.
//!
//! For what is written down: creation times, leases, ages. Durations within a process are measured with
//! [`tokio::time::Instant`], which tests can pause.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

/// Knows what time it is.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time now. It may go backwards when the machine's clock is set.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that stands still until it is moved. Clones are the same clock.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<SystemTime>>);

impl ManualClock {
    /// A clock that shows this time.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// Moves it forward.
    pub fn advance(&self, time: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += time;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_when_it_is_moved() {
        let clock = ManualClock::at(SystemTime::UNIX_EPOCH);
        let same = clock.clone();
        clock.advance(Duration::from_millis(500));
        assert_eq!(
            same.now(),
            SystemTime::UNIX_EPOCH + Duration::from_millis(500)
        );
    }
}
