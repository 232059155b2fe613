//! Circuit breaker: after repeated failures, a backend is not called for a while, so that a task does not wait for it in
//! every step. Then one trial call is allowed (half-open); other calls fail fast until its result is known.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::time::Instant;
use tower::{Layer, Service};

use crate::backends::BackendError;

/// Thresholds of the circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitBreakerConfig {
    /// Consecutive temporary failures that open the circuit; 0 disables it.
    pub failure_threshold: u32,
    pub open_duration: Duration,
}

impl Default for CircuitBreakerConfig {
    fn default() -> Self {
        // Three failures rule out a single lost call; 30 s let an overload pass.
        Self {
            failure_threshold: 3,
            open_duration: Duration::from_secs(30),
        }
    }
}

/// Maximum time for which a provider's own words keep a circuit open: a day, after which a trial call costs nothing.
const MAX_OPEN_DURATION: Duration = Duration::from_secs(24 * 3600);

/// Circuit breaker of one backend, shared by all callers.
#[derive(Debug)]
pub(super) struct CircuitBreaker {
    config: CircuitBreakerConfig,
    state: Mutex<BreakerState>,
}

#[derive(Debug, Default)]
struct BreakerState {
    /// Consecutive failures.
    failures: u32,
    open_until: Option<Instant>,
    /// `true` while a trial call is in progress (half-open).
    trial_in_flight: bool,
}

impl CircuitBreaker {
    pub(super) fn new(rest: CircuitBreakerConfig) -> Arc<Self> {
        Arc::new(Self {
            config: rest,
            state: Mutex::default(),
        })
    }

    /// Returns whether the circuit is open.
    pub(super) fn is_open(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// Returns the time until the backend is called again; zero if the circuit is closed.
    pub(super) fn remaining(&self) -> Duration {
        let until = self.state().open_until;
        until.map_or(Duration::ZERO, |until| {
            until.saturating_duration_since(Instant::now())
        })
    }

    /// Returns when a caller should try again after a temporary failure: when the circuit closes, or after as long as an
    /// open circuit would last. `None` if the circuit breaker is disabled.
    pub(super) fn next_try(&self) -> Option<Duration> {
        let remaining = self.remaining();
        if !remaining.is_zero() {
            return Some(remaining);
        }
        (self.config.failure_threshold > 0).then_some(self.config.open_duration)
    }

    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a permit for one call, valid until it is dropped.
    fn acquire(self: &Arc<Self>) -> Result<CallPermit, BackendError> {
        let mut state = self.state();
        let Some(until) = state.open_until else {
            return Ok(self.permit(false));
        };
        let remaining = until.saturating_duration_since(Instant::now());
        if !remaining.is_zero() || state.trial_in_flight {
            return Err(BackendError::CircuitOpen { remaining });
        }
        state.trial_in_flight = true;
        Ok(self.permit(true))
    }

    fn permit(self: &Arc<Self>, is_trial: bool) -> CallPermit {
        CallPermit {
            breaker: Arc::clone(self),
            is_trial,
        }
    }

    fn succeeded(&self) {
        *self.state() = BreakerState::default();
    }

    /// Counts a failure. A wait that the provider asks for opens the circuit for that long, whatever the count.
    fn failed(&self, retry_after: Option<Duration>) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        let is_too_often =
            self.config.failure_threshold > 0 && state.failures >= self.config.failure_threshold;
        let rest = is_too_often.then_some(self.config.open_duration);
        let rest = rest.max(retry_after.map(|asked| asked.min(MAX_OPEN_DURATION)));
        if let Some(rest) = rest {
            state.open_until = Some(Instant::now() + rest);
        }
    }
}

/// Permit for one call. A cancelled call does not affect the circuit.
struct CallPermit {
    breaker: Arc<CircuitBreaker>,
    is_trial: bool,
}

impl CallPermit {
    fn record<A>(self, result: &Result<A, BackendError>) {
        match result {
            Err(BackendError::Transient { retry_after_ms, .. }) => {
                let asked = retry_after_ms.map(|wait| Duration::from_millis(wait.into()));
                self.breaker.failed(asked);
            }
            Err(BackendError::TimedOut { .. }) => self.breaker.failed(None),
            // The backend was not called.
            Err(
                BackendError::Declined { .. }
                | BackendError::NotConfigured { .. }
                | BackendError::OverBudget { .. }
                | BackendError::CircuitOpen { .. },
            ) => {}
            // The backend responds, whatever the content.
            Ok(_) | Err(_) => self.breaker.succeeded(),
        }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if self.is_trial {
            self.breaker.state().trial_in_flight = false;
        }
    }
}

/// Layer that adds a circuit breaker to a service.
#[derive(Debug, Clone)]
pub(super) struct CircuitBreakerLayer(pub(super) Arc<CircuitBreaker>);

impl<S> Layer<S> for CircuitBreakerLayer {
    type Service = CircuitBreakerService<S>;

    fn layer(&self, inner: S) -> CircuitBreakerService<S> {
        CircuitBreakerService {
            inner,
            breaker: Arc::clone(&self.0),
        }
    }
}

/// A service behind a circuit breaker.
#[derive(Debug, Clone)]
pub(super) struct CircuitBreakerService<S> {
    inner: S,
    breaker: Arc<CircuitBreaker>,
}

impl<S, Q> Service<Q> for CircuitBreakerService<S>
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
        let attempt = match self.breaker.acquire() {
            Ok(attempt) => attempt,
            Err(refused) => return Box::pin(std::future::ready(Err(refused))),
        };
        let answer = self.inner.call(request);
        Box::pin(async move {
            let result = answer.await;
            attempt.record(&result);
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaker() -> Arc<CircuitBreaker> {
        CircuitBreaker::new(CircuitBreakerConfig {
            failure_threshold: 2,
            open_duration: Duration::from_secs(30),
        })
    }

    fn fails(breaker: &Arc<CircuitBreaker>) {
        let failed: Result<(), _> = Err(BackendError::TimedOut { limit_ms: 1 });
        breaker.acquire().ok().unwrap().record(&failed);
    }

    fn answers(breaker: &Arc<CircuitBreaker>) {
        breaker.acquire().ok().unwrap().record(&Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn opens_after_consecutive_failures_then_admits_one_trial() {
        let breaker = breaker();
        fails(&breaker);
        answers(&breaker);
        fails(&breaker);
        assert!(!breaker.is_open());
        fails(&breaker);
        assert!(breaker.is_open());
        let refused = breaker.acquire().err();
        let remaining = Duration::from_secs(30);
        assert_eq!(refused, Some(BackendError::CircuitOpen { remaining }));

        tokio::time::advance(Duration::from_secs(30)).await;
        let trial = breaker.acquire().ok().unwrap();
        assert!(breaker.acquire().is_err(), "one tries, not all");
        trial.record(&Err::<(), _>(BackendError::TimedOut { limit_ms: 1 }));
        assert!(breaker.is_open(), "one failure is enough after a rest");

        tokio::time::advance(Duration::from_secs(30)).await;
        answers(&breaker);
        fails(&breaker);
        assert!(!breaker.is_open());
    }

    #[tokio::test(start_paused = true)]
    async fn breaker_stays_open_for_the_retry_after_time() {
        let breaker = breaker();
        let asked: Result<(), _> = Err(BackendError::Transient {
            message: String::new(),
            retry_after_ms: Some(3_600_000),
        });
        breaker.acquire().ok().unwrap().record(&asked);
        assert_eq!(breaker.next_try(), Some(Duration::from_secs(3600)));
        tokio::time::advance(Duration::from_secs(3599)).await;
        assert!(breaker.acquire().is_err());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(breaker.acquire().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn abandoned_trial_admits_another() {
        let breaker = breaker();
        fails(&breaker);
        fails(&breaker);
        tokio::time::advance(Duration::from_secs(31)).await;
        drop(breaker.acquire());
        assert!(breaker.acquire().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn refusal_resets_the_failure_count() {
        let breaker = breaker();
        fails(&breaker);
        let refused: Result<(), _> = Err(BackendError::Refused {
            message: String::new(),
        });
        breaker.acquire().ok().unwrap().record(&refused);
        fails(&breaker);
        assert!(!breaker.is_open());
    }
}
