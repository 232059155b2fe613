//! Injected wall-clock time, so that tests can control it.
//!
//! Used for stored times: creation times, leases, ages. Durations within a process are measured with
//! [`tokio::time::Instant`], which tests can pause.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// A source of wall-clock time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Returns the current time. It may go backwards when the system clock is set.
    fn now(&self) -> SystemTime;
}

/// The system clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that reads the system clock once and then advances monotonically, unaffected by changes of the system clock.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock {
    wall: SystemTime,
    since: Instant,
}

impl MonotonicClock {
    /// Creates a clock that starts at the current system time.
    #[must_use]
    pub fn start() -> Self {
        Self {
            wall: SystemTime::now(),
            since: Instant::now(),
        }
    }
}

impl Clock for MonotonicClock {
    fn now(&self) -> SystemTime {
        self.wall + self.since.elapsed()
    }
}

/// A clock that only moves when advanced. Clones share the time.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<Mutex<SystemTime>>);

impl ManualClock {
    /// Creates a clock that shows this time.
    #[must_use]
    pub fn at(time: SystemTime) -> Self {
        Self(Arc::new(Mutex::new(time)))
    }

    /// Advances the clock.
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

    #[tokio::test(start_paused = true)]
    async fn a_steady_clock_goes_on_as_time_passes() {
        let clock = MonotonicClock::start();
        let before = clock.now();
        tokio::time::advance(Duration::from_secs(90)).await;
        assert_eq!(clock.now(), before + Duration::from_secs(90));
    }

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
