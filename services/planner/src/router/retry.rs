//! Retries a backend after a temporary failure. This is the only place that retries: neither the HTTP client nor a
//! backend does.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tower::retry::Policy;

use super::sleeper::Sleeper;
use crate::backends::BackendError;

/// Number and backoff of retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries after the first attempt.
    pub max_retries: u32,
    /// Backoff before the first retry; doubled for each further one.
    pub initial_backoff: Duration,
    /// Maximum backoff.
    pub max_backoff: Duration,
    /// Maximum wait that a provider may ask for; beyond it the call fails.
    pub max_retry_after: Duration,
}

impl Default for RetryPolicy {
    /// As in the providers' own clients.
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

impl RetryPolicy {
    /// Returns the backoff before the next attempt after `retries` retries; `None` if there is none.
    fn backoff(self, error: &BackendError, retries: u32, chance: f64) -> Option<Duration> {
        if retries >= self.max_retries {
            return None;
        }
        match error {
            BackendError::Transient {
                retry_after_ms: Some(asked),
                ..
            } => {
                let asked = Duration::from_millis((*asked).into());
                (asked <= self.max_retry_after).then_some(asked)
            }
            BackendError::Transient { .. } | BackendError::TimedOut { .. } => {
                let doubled = self
                    .initial_backoff
                    .saturating_mul(2_u32.saturating_pow(retries));
                Some(doubled.min(self.max_backoff).mul_f64(1.0 - chance * JITTER))
            }
            _ => None,
        }
    }
}

/// Retry policy for tower, with the retries made so far.
#[derive(Debug, Clone)]
pub(super) struct RetryState {
    patience: RetryPolicy,
    retries: u32,
    pauses: Arc<dyn Sleeper>,
}

impl RetryState {
    pub(super) fn new(patience: RetryPolicy, pauses: Arc<dyn Sleeper>) -> Self {
        Self {
            patience,
            retries: 0,
            pauses,
        }
    }
}

impl<Q: Clone, A> Policy<Q, A, BackendError> for RetryState {
    type Future = BoxFuture<'static, ()>;

    fn retry(&mut self, _: &mut Q, result: &mut Result<A, BackendError>) -> Option<Self::Future> {
        let error = result.as_ref().err()?;
        let pause = self
            .patience
            .backoff(error, self.retries, self.pauses.jitter())?;
        self.retries += 1;
        tracing::debug!(%error, ?pause, retry = self.retries, "retrying after a backoff");
        Some(self.pauses.sleep(pause))
    }

    fn clone_request(&mut self, request: &Q) -> Option<Q> {
        Some(request.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transient(retry_after: Option<u32>) -> BackendError {
        BackendError::Transient {
            message: String::new(),
            retry_after_ms: retry_after.map(|seconds| seconds * 1000),
        }
    }

    #[track_caller]
    fn check(error: &BackendError, retries: u32, chance: f64, milliseconds: Option<u64>) {
        let patience = RetryPolicy {
            max_retries: 10,
            ..RetryPolicy::default()
        };
        let pause = patience.backoff(error, retries, chance);
        assert_eq!(
            pause,
            milliseconds.map(Duration::from_millis),
            "{error}, {retries}"
        );
    }

    #[test]
    fn pauses_double_up_to_a_limit_and_are_shortened_by_chance() {
        for (retries, milliseconds) in [(0, 500), (1, 1000), (2, 2000), (4, 8000), (9, 8000)] {
            check(&transient(None), retries, 0.0, Some(milliseconds));
        }
        check(&transient(None), 0, 1.0, Some(375));
        check(&BackendError::TimedOut { limit_ms: 1 }, 0, 0.0, Some(500));
    }

    #[test]
    fn a_provider_is_left_alone_as_long_as_it_asks_for_but_not_for_ever() {
        check(&transient(Some(7)), 0, 1.0, Some(7000));
        check(&transient(Some(60)), 3, 0.0, Some(60_000));
        check(&transient(Some(61)), 0, 0.0, None);
    }

    #[test]
    fn nothing_else_is_asked_again_and_nothing_for_ever() {
        check(&transient(None), 10, 0.0, None);
        let message = String::new();
        check(
            &BackendError::Permanent {
                message: message.clone(),
            },
            0,
            0.0,
            None,
        );
        check(
            &BackendError::Refused {
                message: message.clone(),
            },
            0,
            0.0,
            None,
        );
        check(&BackendError::InvalidAnswer { message }, 0, 0.0, None);
    }
}
