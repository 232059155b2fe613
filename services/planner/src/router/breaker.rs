//! Lets a backend rest that has failed too often, so that a task does not wait for it in every step. After the rest one
//! request tries; the others wait for what comes of it by going elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::backends::BackendError;

/// When a backend rests, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rest {
    /// After so many failures in a row that may pass; 0 never.
    pub failures: u32,
    pub time: Duration,
}

impl Default for Rest {
    fn default() -> Self {
        Self {
            failures: 3,
            time: Duration::from_secs(30),
        }
    }
}

/// The state of one backend, shared by all that ask it.
#[derive(Debug)]
pub(super) struct Breaker {
    rest: Rest,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In a row.
    failures: u32,
    rests_until: Option<Instant>,
    /// Somebody tries whether it is well again.
    is_tried: bool,
}

impl Breaker {
    pub(super) fn new(rest: Rest) -> Arc<Self> {
        Arc::new(Self {
            rest,
            state: Mutex::default(),
        })
    }

    /// Whether it rests now.
    pub(super) fn is_resting(&self) -> bool {
        let until = self.state().rests_until;
        until.is_some_and(|until| until > Instant::now())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leave to ask, until the attempt is dropped.
    fn enter(self: &Arc<Self>) -> Result<Attempt, BackendError> {
        let mut state = self.state();
        let Some(until) = state.rests_until else {
            return Ok(self.attempt(false));
        };
        let remaining = until.saturating_duration_since(Instant::now());
        if !remaining.is_zero() || state.is_tried {
            return Err(BackendError::Resting { remaining });
        }
        state.is_tried = true;
        Ok(self.attempt(true))
    }

    fn attempt(self: &Arc<Self>, is_trial: bool) -> Attempt {
        Attempt {
            breaker: Arc::clone(self),
            is_trial,
        }
    }

    fn succeeded(&self) {
        *self.state() = State::default();
    }

    fn failed(&self) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        if self.rest.failures > 0 && state.failures >= self.rest.failures {
            state.rests_until = Some(Instant::now() + self.rest.time);
        }
    }
}

/// An attempt that is being made. One that is given up says nothing about the backend.
struct Attempt {
    breaker: Arc<Breaker>,
    is_trial: bool,
}

impl Attempt {
    fn conclude<A>(self, result: &Result<A, BackendError>) {
        match result {
            Err(BackendError::Transient { .. } | BackendError::TimedOut { .. }) => {
                self.breaker.failed();
            }
            // It was not asked at all.
            Err(
                BackendError::Declined { .. }
                | BackendError::NotConfigured { .. }
                | BackendError::OverBudget { .. }
                | BackendError::Resting { .. },
            ) => {}
            // It answers, whatever it says.
            Ok(_) | Err(_) => self.breaker.succeeded(),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.is_trial {
            self.breaker.state().is_tried = false;
        }
    }
}

/// Puts a breaker before a service.
#[derive(Debug, Clone)]
pub(super) struct BreakerLayer(pub(super) Arc<Breaker>);

impl<S> Layer<S> for BreakerLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded {
            inner,
            breaker: Arc::clone(&self.0),
        }
    }
}

/// A service behind a breaker.
#[derive(Debug, Clone)]
pub(super) struct Guarded<S> {
    inner: S,
    breaker: Arc<Breaker>,
}

impl<S, Q> Service<Q> for Guarded<S>
where
    S: Service<Q, Error = BackendError>,
    S::Future: Send + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = BackendError;
    type Future = BoxFuture<'static, Result<S::Response, BackendError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BackendError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Q) -> Self::Future {
        let attempt = match self.breaker.enter() {
            Ok(attempt) => attempt,
            Err(resting) => return Box::pin(std::future::ready(Err(resting))),
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let result = answer.await;
            attempt.conclude(&result);
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Arc<Breaker> {
        Breaker::new(Rest {
            failures: 2,
            time: Duration::from_secs(30),
        })
    }

    fn fails(breaker: &Arc<Breaker>) {
        let failed: Result<(), _> = Err(BackendError::TimedOut { limit_ms: 1 });
        breaker.enter().ok().unwrap().conclude(&failed);
    }

    fn answers(breaker: &Arc<Breaker>) {
        breaker.enter().ok().unwrap().conclude(&Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn rests_after_failures_in_a_row_and_then_one_tries() {
        let breaker = breaker();
        fails(&breaker);
        answers(&breaker);
        fails(&breaker);
        assert!(!breaker.is_resting());
        fails(&breaker);
        assert!(breaker.is_resting());
        let resting = breaker.enter().err();
        let remaining = Duration::from_secs(30);
        assert_eq!(resting, Some(BackendError::Resting { remaining }));

        tokio::time::advance(Duration::from_secs(30)).await;
        let trial = breaker.enter().ok().unwrap();
        assert!(breaker.enter().is_err(), "one tries, not all");
        trial.conclude(&Err::<(), _>(BackendError::TimedOut { limit_ms: 1 }));
        assert!(breaker.is_resting(), "one failure is enough after a rest");

        tokio::time::advance(Duration::from_secs(30)).await;
        answers(&breaker);
        fails(&breaker);
        assert!(!breaker.is_resting());
    }

    #[tokio::test(start_paused = true)]
    async fn a_trial_that_is_given_up_lets_another_one_try() {
        let breaker = breaker();
        fails(&breaker);
        fails(&breaker);
        tokio::time::advance(Duration::from_secs(31)).await;
        drop(breaker.enter());
        assert!(breaker.enter().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_no_decision_is_an_answer() {
        let breaker = breaker();
        fails(&breaker);
        let refused: Result<(), _> = Err(BackendError::Refused {
            message: String::new(),
        });
        breaker.enter().ok().unwrap().conclude(&refused);
        fails(&breaker);
        assert!(!breaker.is_resting());
    }
}
