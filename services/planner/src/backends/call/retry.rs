//! Number and backoff of retries after a temporary failure of a provider. Pure.

use std::time::Duration;

use crate::provider::FailureKind;

/// Number and backoff of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// Backoff before the first retry; doubled for each further one.
    pub initial_backoff: Duration,
    /// Maximum backoff.
    pub max_backoff: Duration,
    /// Maximum wait that a provider may ask for within a call; beyond it the call fails, and the provider is left alone for
    /// as long as it asks.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    /// Returns the retries that the providers' own clients make by default.
    fn default() -> Self {
        Self {
            max_retries: 2,
            initial_backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(8),
            max_retry_after: Duration::from_secs(60),
        }
    }
}

/// Maximum share by which a backoff is shortened, so that clients do not retry at the same time. As in the providers' own
/// clients.
const JITTER: f64 = 0.25;
/// Maximum share by which a wait that a provider asks for is lengthened: it is never shortened, and clients that were
/// rejected at the same time do not come back at the same time.
const ADDED_JITTER: f64 = 0.1;

impl RetryPolicy {
    /// Returns the backoff before the next attempt after `retries` retries; `None` if there is none. `chance` is a random
    /// number from 0 to 1.
    #[must_use]
    pub fn backoff(self, kind: &FailureKind, retries: u32, chance: f64) -> Option<Duration> {
        if retries >= self.max_retries {
            return None;
        }
        match kind {
            FailureKind::Transient {
                retry_after: Some(asked),
            } => {
                let is_short = *asked <= self.max_retry_after;
                is_short.then(|| asked.mul_f64(1.0 + chance * ADDED_JITTER))
            }
            FailureKind::Transient { retry_after: None } | FailureKind::TimedOut { .. } => {
                let doubled = self
                    .initial_backoff
                    .saturating_mul(2_u32.saturating_pow(retries));
                Some(doubled.min(self.max_backoff).mul_f64(1.0 - chance * JITTER))
            }
            FailureKind::Permanent => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transient(retry_after: Option<u64>) -> FailureKind {
        FailureKind::Transient {
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    #[track_caller]
    fn check(kind: &FailureKind, retries: u32, chance: f64, milliseconds: Option<u64>) {
        let policy = RetryPolicy {
            max_retries: 10,
            ..RetryPolicy::default()
        };
        let pause = policy.backoff(kind, retries, chance);
        assert_eq!(
            pause,
            milliseconds.map(Duration::from_millis),
            "{kind:?}, {retries}"
        );
    }

    #[test]
    fn pauses_double_up_to_a_limit_and_are_shortened_by_chance() {
        for (retries, milliseconds) in [(0, 500), (1, 1000), (2, 2000), (4, 8000), (9, 8000)] {
            check(&transient(None), retries, 0.0, Some(milliseconds));
        }
        check(&transient(None), 0, 1.0, Some(375));
        let limit = Duration::from_millis(1);
        check(&FailureKind::TimedOut { limit }, 0, 0.0, Some(500));
    }

    #[test]
    fn retry_after_is_honoured_up_to_a_limit() {
        check(&transient(Some(7)), 0, 0.0, Some(7000));
        check(&transient(Some(7)), 0, 1.0, Some(7700));
        check(&transient(Some(60)), 3, 0.0, Some(60_000));
        check(&transient(Some(61)), 0, 0.0, None);
    }

    #[test]
    fn permanent_failures_and_exhausted_retries_are_not_retried() {
        check(&transient(None), 10, 0.0, None);
        check(&FailureKind::Permanent, 0, 0.0, None);
    }
}
