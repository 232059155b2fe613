//! Asks a backend again after a failure that may pass. The only place where anything is asked again: neither the HTTP
//! client nor a backend does so by itself.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tower::retry::Policy;

use super::pauses::Pauses;
use crate::backends::BackendError;

/// How often and after how long it is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// How often at most after the first time.
    pub retries: u32,
    /// The first pause; each one after it is twice as long.
    pub first: Duration,
    /// The longest pause that is chosen here.
    pub longest: Duration,
    /// The longest pause that a provider may ask for; beyond that, the attempt has failed.
    pub longest_asked: Duration,
}

impl Default for Patience {
    /// As in the providers' own clients.
    fn default() -> Self {
        Self {
            retries: 2,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(8),
            longest_asked: Duration::from_secs(60),
        }
    }
}

/// By how much of itself a pause may be shortened, so that not everybody comes back at once.
const JITTER: f64 = 0.25;

impl Patience {
    /// The pause before the next attempt, of which there have been `retries` after the first; `None` if there is none.
    fn pause(self, error: &BackendError, retries: u32, chance: f64) -> Option<Duration> {
        if retries >= self.retries {
            return None;
        }
        match error {
            BackendError::Transient {
                retry_after_ms: Some(asked),
                ..
            } => {
                let asked = Duration::from_millis((*asked).into());
                (asked <= self.longest_asked).then_some(asked)
            }
            BackendError::Transient { .. } | BackendError::TimedOut { .. } => {
                let doubled = self.first.saturating_mul(2_u32.saturating_pow(retries));
                Some(doubled.min(self.longest).mul_f64(1.0 - chance * JITTER))
            }
            _ => None,
        }
    }
}

/// Tower's question whether to ask again, answered.
#[derive(Debug, Clone)]
pub(super) struct Retries {
    patience: Patience,
    made: u32,
    pauses: Arc<dyn Pauses>,
}

impl Retries {
    pub(super) fn new(patience: Patience, pauses: Arc<dyn Pauses>) -> Self {
        Self {
            patience,
            made: 0,
            pauses,
        }
    }
}

impl<Q: Clone, A> Policy<Q, A, BackendError> for Retries {
    type Future = BoxFuture<'static, ()>;

    fn retry(&mut self, _: &mut Q, result: &mut Result<A, BackendError>) -> Option<Self::Future> {
        let error = result.as_ref().err()?;
        let pause = self
            .patience
            .pause(error, self.made, self.pauses.chance())?;
        self.made += 1;
        tracing::debug!(%error, ?pause, retry = self.made, "asked again after a pause");
        Some(self.pauses.wait(pause))
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
        let patience = Patience {
            retries: 10,
            ..Patience::default()
        };
        let pause = patience.pause(error, retries, chance);
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
