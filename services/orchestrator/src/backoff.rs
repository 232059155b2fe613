//! Pauses before a service is called again. Pure.
//!
//! A service that is away is asked again with a growing backoff. A model's provider is not: the Planner has retried it
//! already, and says from when on a further call makes sense.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use motorium_proto::error::ErrorReport;
use motorium_proto::error::reason::ALL_BACKENDS_FAILED;
use tonic::Code;

/// Maximum time for which calls to an unavailable service are retried before the task fails.
// Covers the restart of a service; a longer outage is better reported to the user.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(20);
/// Backoff before the first retry of an unavailable service; doubled for each further retry.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
/// Maximum share by which a pause is changed, so that tasks do not come back at the same time. As in the Planner.
const JITTER: f64 = 0.25;

/// Growing pauses of one call. The jitter follows from the task's name, so that a replay pauses as its recording did.
#[derive(Debug)]
pub(crate) struct Backoff {
    pause: Duration,
    retries: u32,
    seed: u64,
}

impl Backoff {
    /// Starts the pauses of a call of this task.
    pub(crate) fn of(task: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        task.hash(&mut hasher);
        Self {
            pause: INITIAL_BACKOFF,
            retries: 0,
            seed: hasher.finish(),
        }
    }

    /// Returns whether no pause was taken yet.
    pub(crate) fn is_first(&self) -> bool {
        self.retries == 0
    }

    /// Returns the next pause if it ends within [`RETRY_TIMEOUT`] of the first call.
    pub(crate) fn next(&mut self, elapsed: Duration) -> Option<Duration> {
        let pause = self.pause.mul_f64(1.0 - self.chance() * JITTER);
        if elapsed + pause > RETRY_TIMEOUT {
            return None;
        }
        self.pause *= 2;
        self.retries += 1;
        Some(pause)
    }

    /// Returns the next pause of a call without such a limit, `max` at most.
    pub(crate) fn next_up_to(&mut self, max: Duration) -> Duration {
        let pause = self.pause.min(max).mul_f64(1.0 - self.chance() * JITTER);
        self.pause = (self.pause * 2).min(max);
        self.retries += 1;
        pause
    }

    /// Returns a wait that a provider asks for, lengthened by chance: it is never cut short.
    pub(crate) fn lengthened(&mut self, wait: Duration) -> Duration {
        self.retries += 1;
        wait.mul_f64(1.0 + self.chance() * JITTER)
    }

    /// Returns a number from 0 to 1.
    fn chance(&self) -> f64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.retries).hash(&mut hasher);
        let bits = u32::try_from(hasher.finish() >> 32).unwrap_or(u32::MAX);
        f64::from(bits) / f64::from(u32::MAX)
    }
}

/// Returns whether the providers of the models failed, rather than the Planner itself.
pub(crate) fn is_provider_failure(report: &ErrorReport) -> bool {
    report.code == Code::Unavailable && report.reason == ALL_BACKENDS_FAILED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_with_jitter_and_end() {
        let mut backoff = Backoff::of(&"tasks/a");
        let mut elapsed = Duration::ZERO;
        let mut pauses = Vec::new();
        while let Some(pause) = backoff.next(elapsed) {
            elapsed += pause;
            pauses.push(pause.as_secs_f64());
        }
        assert!(elapsed <= RETRY_TIMEOUT && pauses.len() >= 7, "{pauses:?}");
        for (index, pause) in pauses.iter().enumerate() {
            let whole = 0.1 * f64::from(1 << index);
            assert!((0.75 * whole..=whole).contains(pause), "{pauses:?}");
        }
    }

    #[test]
    fn backoff_differs_between_tasks_and_is_repeatable() {
        let first = |task: &str| Backoff::of(&task).next(Duration::ZERO).unwrap();
        assert_eq!(first("tasks/a"), first("tasks/a"));
        assert_ne!(first("tasks/a"), first("tasks/b"));
    }

    #[test]
    fn requested_wait_is_only_lengthened() {
        let wait = Duration::from_secs(40);
        let lengthened = Backoff::of(&"tasks/a").lengthened(wait);
        assert!((wait..=Duration::from_secs(50)).contains(&lengthened));
    }
}
