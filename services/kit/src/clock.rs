//! Wall-clock time, passed in, so that a test decides what time it is.
//!
//! For what is written down: creation times, leases, ages. Durations within a process are measured with
//! [`tokio::time::Instant`], which tests can pause.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

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

/// The machine's clock as it was when this was made, and from then on as much later as time has passed: setting the
/// machine's clock changes nothing within a process.
#[derive(Debug, Clone, Copy)]
pub struct SteadyClock {
    wall: SystemTime,
    since: Instant,
}

impl SteadyClock {
    /// A clock that shows the machine's time now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            wall: SystemTime::now(),
            since: Instant::now(),
        }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> SystemTime {
        self.wall + self.since.elapsed()
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

    #[tokio::test(start_paused = true)]
    async fn a_steady_clock_goes_on_as_time_passes() {
        let clock = SteadyClock::start();
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
