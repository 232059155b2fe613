//! A call of a backend in progress: what it has used, how often it may still ask its provider again, and until when.
//!
//! - [`exchange`]: requests and responses, as they are kept
//! - [`retry`]: number and backoff of retries
//! - [`sleeper`]: waits between attempts, injected
//! - [`usage_meter`]: usage, counted while the call runs
//!
//! Invariant: this is the only place that retries a provider. A retry repeats the one request that failed, and the
//! requests of a decision share one number of retries, so that they do not multiply.

pub mod exchange;
pub mod retry;
pub mod sleeper;
pub mod usage_meter;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use motorium_proto::domain::decision::Usage;
use serde_json::Value;
use tokio::time::Instant;

use self::exchange::AnsweredRequest;
use self::retry::RetryPolicy;
use self::sleeper::{Sleeper, TokioSleeper};
use self::usage_meter::UsageMeter;
use crate::provider::ProviderFailure;

/// Limits of the requests of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestLimits {
    /// Maximum time for one request.
    pub attempt_timeout: Duration,
    /// Retries, shared by all requests of a call.
    pub retry: RetryPolicy,
    /// Maximum number of repairs of invalid responses.
    pub max_repairs: u32,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            // Large screenshots and long reasoning are slow; longer than that is a hanging connection.
            attempt_timeout: Duration::from_secs(60),
            retry: RetryPolicy::default(),
            max_repairs: DEFAULT_MAX_REPAIRS,
        }
    }
}

/// Default maximum number of repairs per decision.
// A model that makes a new mistake each time is usually right by the third; one that repeats a mistake is not asked again.
pub const DEFAULT_MAX_REPAIRS: u32 = 3;

/// A call of a backend. Clones share its state.
#[derive(Debug, Clone)]
pub struct CallContext {
    pub usage: UsageMeter,
    limits: RequestLimits,
    sleeper: Arc<dyn Sleeper>,
    /// End of the time for the call; `None` for no limit.
    deadline: Option<Instant>,
    retries: Arc<AtomicU32>,
    answered: Arc<Mutex<Vec<AnsweredRequest>>>,
}

impl Default for CallContext {
    fn default() -> Self {
        Self::new(RequestLimits::default(), Arc::new(TokioSleeper))
    }
}

impl CallContext {
    /// Creates the context of a call without a deadline.
    #[must_use]
    pub fn new(limits: RequestLimits, sleeper: Arc<dyn Sleeper>) -> Self {
        Self {
            usage: UsageMeter::default(),
            limits,
            sleeper,
            deadline: None,
            retries: Arc::default(),
            answered: Arc::default(),
        }
    }

    /// Sets the end of the time for the call. The caller enforces it; here no wait goes beyond it.
    #[must_use]
    pub fn until(self, deadline: Instant) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }

    /// Returns the maximum number of repairs of invalid responses.
    #[must_use]
    pub fn max_repairs(&self) -> u32 {
        self.limits.max_repairs
    }

    /// Keeps a request and the provider's response for the record of the task.
    pub(super) fn keep(&self, request: Value, response: Value) {
        let mut kept = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(AnsweredRequest { request, response });
    }

    /// Returns the requests so far with the provider's responses, in order.
    #[must_use]
    pub fn answered(&self) -> Vec<AnsweredRequest> {
        let kept = self.answered.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }

    /// Sends a request, and sends it again after a temporary failure for which `may_repeat` holds, as long as retries
    /// and time are left.
    ///
    /// # Errors
    /// Fails with the last failure.
    pub(super) async fn send<T, F>(
        &self,
        request: impl Fn() -> F,
        may_repeat: impl Fn(&ProviderFailure) -> bool,
    ) -> Result<T, ProviderFailure>
    where
        F: Future<Output = Result<T, ProviderFailure>>,
    {
        loop {
            let failure = match self.attempt(request()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            let pause = self.pause_after(&failure).filter(|_| may_repeat(&failure));
            let Some(pause) = pause else {
                return Err(failure);
            };
            tracing::debug!(
                problem = failure.message,
                ?pause,
                "sending a request again after a backoff"
            );
            self.sleeper.sleep(pause).await;
        }
    }

    async fn attempt<T>(
        &self,
        request: impl Future<Output = Result<T, ProviderFailure>>,
    ) -> Result<T, ProviderFailure> {
        let (began, limit) = (Instant::now(), self.limits.attempt_timeout);
        let answer = match tokio::time::timeout(limit, request).await {
            Ok(answer) => answer,
            Err(_) => Err(ProviderFailure::timed_out(limit)),
        };
        if answer.is_err() {
            // Providers bill no failed request, but its time was waited for.
            self.usage.add(Usage {
                inference_time: began.elapsed(),
                ..Usage::default()
            });
        }
        answer
    }

    /// Takes a retry, and returns the pause before it; `None` if there is none, or not in time.
    fn pause_after(&self, failure: &ProviderFailure) -> Option<Duration> {
        let used = self.retries.load(Ordering::Relaxed);
        let policy = self.limits.retry;
        let pause = policy.backoff(&failure.kind, used, self.sleeper.jitter())?;
        // A pause that outlasts the call only keeps the next backend waiting.
        let ends_in_time = self
            .deadline
            .is_none_or(|deadline| Instant::now() + pause < deadline);
        ends_in_time.then(|| {
            self.retries.fetch_add(1, Ordering::Relaxed);
            pause
        })
    }
}
