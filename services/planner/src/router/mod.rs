//! Calls backends in order until one decides.
//!
//! - [`stack`]: the middleware of each backend
//! - [`retry`], [`circuit_breaker`], [`sleeper`]: its parts
//!
//! Each backend receives only its own conversation. One that takes over starts from the request alone and renders the
//! history for its own model.

pub mod circuit_breaker;
mod health;
pub mod retry;
pub mod sleeper;
pub mod stack;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use motorium_proto::domain::decision::{Decision, Next, Usage};
use motorium_proto::service::{
    BackendAttempt, BackendInfo, BackendState, PlanRequest, PlannedDecision,
};
use tokio::time::Instant;
use tower::ServiceExt as _;

use self::circuit_breaker::{CircuitBreaker, CircuitBreakerConfig};
use self::health::Health;
use self::retry::RetryPolicy;
use self::sleeper::{Sleeper, TokioSleeper};
use self::stack::{BackendCall, BackendReply, BackendRequest, CallLimits, Stack};
use crate::backends::question::{Question, QuestionResult};
use crate::backends::{Backend, BackendDecision, BackendError, UsageMeter, estimate};
use crate::error::Error;

/// Limits and policies for calling backends.
#[derive(Debug, Clone)]
pub struct RouterConfig {
    pub limits: CallLimits,
    pub circuit_breaker: CircuitBreakerConfig,
    pub sleeper: Arc<dyn Sleeper>,
}

impl RouterConfig {
    /// Returns the defaults with this timeout for a decision.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            limits: CallLimits {
                timeout,
                attempt_timeout: timeout,
                concurrency: 64,
                retry: RetryPolicy::default(),
            },
            circuit_breaker: CircuitBreakerConfig::default(),
            sleeper: Arc::new(TokioSleeper),
        }
    }
}

/// Backends in the order in which they are tried.
#[derive(Debug)]
pub struct Router {
    slots: Vec<BackendSlot>,
}

/// A backend with its middleware and statistics.
#[derive(Debug)]
struct BackendSlot {
    backend: Arc<dyn Backend>,
    stack: Stack,
    breaker: Arc<CircuitBreaker>,
    health: Health,
}

/// A failed call of a backend.
#[derive(Debug)]
struct FailedAttempt {
    backend: String,
    error: BackendError,
    usage: Usage,
}

impl BackendSlot {
    fn new(backend: Arc<dyn Backend>, rules: &RouterConfig) -> Self {
        let breaker = CircuitBreaker::new(rules.circuit_breaker);
        let stack = stack::build(
            Arc::clone(&backend),
            rules.limits,
            Arc::clone(&breaker),
            Arc::clone(&rules.sleeper),
        );
        Self {
            backend,
            stack,
            breaker,
            health: Health::default(),
        }
    }

    fn name(&self) -> &str {
        self.backend.name()
    }

    /// Calls the backend, and returns its reply with the usage of all attempts, including failed ones.
    async fn ask(&self, asked: BackendRequest) -> Result<(BackendReply, Usage), FailedAttempt> {
        let (began, spent) = (Instant::now(), UsageMeter::default());
        let call = BackendCall {
            request: asked,
            usage: spent.clone(),
        };
        let reply = self.stack.clone().oneshot(call).await;
        let usage = spent.total();
        self.health.record_usage(usage);
        match reply {
            Ok(reply) => {
                self.health.record_latency(began.elapsed());
                Ok((reply, usage))
            }
            Err(error) => {
                tracing::debug!(backend = self.name(), reason = error.reason(), %error, "backend call failed");
                self.health.record_failure(&error);
                Err(FailedAttempt {
                    backend: self.name().to_owned(),
                    error,
                    usage,
                })
            }
        }
    }

    fn info(&self) -> BackendInfo {
        let info = self.backend.info();
        let report = self.health.report();
        let state = match info.state {
            BackendState::Ready if self.breaker.is_open() => BackendState::CircuitOpen,
            state => state,
        };
        BackendInfo {
            state,
            last_error: report.last_error.or(info.last_error),
            median_latency: report.median_latency,
            usage: report.usage,
            ..info
        }
    }
}

impl Router {
    /// Creates a router over these backends with `timeout` for each decision.
    #[must_use]
    pub fn new(backends: Vec<Arc<dyn Backend>>, timeout: Duration) -> Self {
        Self::with_config(backends, &RouterConfig::with_timeout(timeout))
    }

    /// Creates a router over these backends.
    #[must_use]
    pub fn with_config(backends: Vec<Arc<dyn Backend>>, rules: &RouterConfig) -> Self {
        let seats = backends.into_iter();
        Self {
            slots: seats
                .map(|backend| BackendSlot::new(backend, rules))
                .collect(),
        }
    }

    /// Returns the description and state of the backends, in the order in which they are tried.
    #[must_use]
    pub fn list(&self) -> Vec<BackendInfo> {
        self.slots.iter().map(BackendSlot::info).collect()
    }

    /// Decides the next step. If every backend declines the goal, the decision is to fail with their reasons.
    ///
    /// # Errors
    /// Fails if the request names an unknown backend, or all backends failed.
    pub async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision, Error> {
        let mut request = Arc::new(request);
        let mut attempts = Vec::new();
        for seat in self.order(&request.backends)? {
            let asked = for_backend(&request, seat.name());
            match seat.ask(BackendRequest::Plan(asked)).await {
                Ok((BackendReply::Decision(decided), usage)) => {
                    let BackendDecision {
                        mut decision,
                        annotated_image,
                    } = *decided;
                    // A recorded decision contains the usage of its recording.
                    decision.usage = decision.usage.plus(usage);
                    return Ok(PlannedDecision {
                        decision,
                        attempts: attempt_reports(attempts),
                        annotated_image,
                    });
                }
                Ok((BackendReply::Answer(_), _)) => unreachable!("a decision was asked for"),
                Err(attempt) => {
                    request = with_usage_deducted(&request, attempt.usage);
                    attempts.push(attempt);
                }
            }
        }
        conclude(attempts)
    }

    /// Returns whether any of these backends, or of all if none is named, has a model.
    ///
    /// # Errors
    /// Fails if an unknown backend is named.
    pub fn has_model(&self, names: &[String]) -> Result<bool, Error> {
        let seats = self.order(names)?;
        Ok(seats.iter().any(|seat| seat.backend.has_model()))
    }

    /// Asks the backends with a model in order until one answers. The usage includes failed backends.
    ///
    /// # Errors
    /// Fails if the request names an unknown backend, none has a model, or all failed.
    pub async fn answer(
        &self,
        call: &'static str,
        names: &[String],
        question: Question,
    ) -> Result<QuestionResult, Error> {
        let mut question = Arc::new(question);
        let mut attempts: Vec<FailedAttempt> = Vec::new();
        let seats = self.order(names)?.into_iter();
        for seat in seats.filter(|seat| seat.backend.has_model()) {
            match seat
                .ask(BackendRequest::Answer(Arc::clone(&question)))
                .await
            {
                Ok((BackendReply::Answer(value), usage)) => {
                    let in_vain = attempts.iter().map(|attempt| attempt.usage);
                    let usage = in_vain.fold(usage, Usage::plus);
                    return Ok(QuestionResult { value, usage });
                }
                Ok((BackendReply::Decision(_), _)) => unreachable!("an answer was asked for"),
                Err(attempt) => {
                    let remaining = estimate::remaining_after(question.remaining, attempt.usage);
                    question = Arc::new(Question {
                        remaining,
                        ..Question::clone(&question)
                    });
                    attempts.push(attempt);
                }
            }
        }
        if attempts.is_empty() {
            return Err(Error::NeedsModel { call });
        }
        Err(all_failed(attempts))
    }

    /// Returns the backends to try: the named ones, or all.
    fn order(&self, names: &[String]) -> Result<Vec<&BackendSlot>, Error> {
        if names.is_empty() {
            return Ok(self.slots.iter().collect());
        }
        let seat = |name: &String| {
            self.slots
                .iter()
                .find(|seat| seat.name() == name)
                .ok_or_else(|| Error::BackendNotFound {
                    name: name.clone(),
                    known: self
                        .slots
                        .iter()
                        .map(BackendSlot::name)
                        .collect::<Vec<_>>()
                        .join(", "),
                })
        };
        names.iter().map(seat).collect()
    }
}

/// Returns the request without the conversation of another backend.
fn for_backend(request: &Arc<PlanRequest>, name: &str) -> Arc<PlanRequest> {
    if request.conversation.is_empty() || request.conversation_backend == name {
        return Arc::clone(request);
    }
    Arc::new(PlanRequest {
        conversation: Bytes::new(),
        ..PlanRequest::clone(request)
    })
}

/// Returns the request for the next backend, with the used budget deducted.
fn with_usage_deducted(request: &Arc<PlanRequest>, usage: Usage) -> Arc<PlanRequest> {
    if usage.calls == 0 {
        return Arc::clone(request);
    }
    Arc::new(PlanRequest {
        remaining: estimate::remaining_after(request.remaining, usage),
        ..PlanRequest::clone(request)
    })
}

fn attempt_reports(attempts: Vec<FailedAttempt>) -> Vec<BackendAttempt> {
    let told = attempts.into_iter().map(|attempt| BackendAttempt {
        reason: attempt.error.reason().to_owned(),
        message: attempt.error.to_string(),
        backend: attempt.backend,
        usage: attempt.usage,
    });
    told.collect()
}

/// Returns the result when no backend decided.
fn conclude(attempts: Vec<FailedAttempt>) -> Result<PlannedDecision, Error> {
    let all_declined = attempts
        .iter()
        .all(|attempt| matches!(attempt.error, BackendError::Declined { .. }));
    let Some(last) = attempts.last().filter(|_| all_declined) else {
        return Err(all_failed(attempts));
    };
    let reason = declined(&attempts);
    let decision = Decision {
        thought: String::new(),
        progress: reason.clone(),
        next: Next::Fail { reason },
        safety_checks: Vec::new(),
        conversation: Bytes::new(),
        backend: last.backend.clone(),
        model: String::new(),
        usage: Usage::default(),
        suspected_injections: Vec::new(),
        conversation_images: Vec::new(),
    };
    Ok(PlannedDecision {
        decision,
        attempts: attempt_reports(attempts),
        annotated_image: None,
    })
}

fn all_failed(attempts: Vec<FailedAttempt>) -> Error {
    Error::AllBackendsFailed {
        retryable: attempts.iter().any(|attempt| attempt.error.is_retryable()),
        attempts: attempt_reports(attempts),
    }
}

/// Returns the reason why the goal was declined: that of the only backend, or of each by name.
fn declined(attempts: &[FailedAttempt]) -> String {
    match attempts {
        [one] => one.error.to_string(),
        _ => attempts
            .iter()
            .map(|attempt| format!("{}: {}", attempt.backend, attempt.error))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
