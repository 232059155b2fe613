//! Calls backends in order until one decides.
//!
//! - [`stack`]: the middleware of each backend
//! - [`circuit_breaker`]: a part of it
//!
//! Each backend receives only its own conversation. One that takes over starts from the request alone and renders the
//! history for its own model.

pub mod circuit_breaker;
mod health;
pub mod stack;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use motorium_kit::deadline::Deadline;
use motorium_proto::domain::decision::{Decision, Next, RemainingLimits, Usage};
use motorium_proto::service::{
    BackendAttempt, BackendInfo, BackendState, PlanRequest, PlannedDecision,
};
use tokio::time::Instant;
use tower::ServiceExt as _;

use self::circuit_breaker::{CircuitBreaker, CircuitBreakerConfig};
use self::health::Health;
use self::stack::{BackendCall, BackendReply, BackendRequest, CallLimits, Stack};
use crate::backends::call::RequestLimits;
use crate::backends::call::exchange::ExchangeTexts;
use crate::backends::call::sleeper::{Sleeper, TokioSleeper};
use crate::backends::question::{Question, QuestionResult};
use crate::backends::{Backend, BackendDecision, BackendError, CallContext, estimate};
use crate::error::Error;

/// Limits and policies for calling backends.
#[derive(Debug, Clone)]
pub struct RouterConfig {
    pub limits: CallLimits,
    pub circuit_breaker: CircuitBreakerConfig,
    pub sleeper: Arc<dyn Sleeper>,
}

impl RouterConfig {
    /// Returns the defaults with this timeout for a decision of one backend.
    #[must_use]
    pub fn with_timeout(timeout: Duration) -> Self {
        Self {
            limits: CallLimits {
                decision_timeout: DEFAULT_DECISION_TIMEOUT,
                timeout,
                concurrency: 64,
                requests: RequestLimits {
                    attempt_timeout: timeout,
                    ..RequestLimits::default()
                },
            },
            circuit_breaker: CircuitBreakerConfig::default(),
            sleeper: Arc::new(TokioSleeper),
        }
    }
}

/// Default maximum time for a decision over all backends.
// Callers wait for 3 minutes; the rest leaves time for the answer that no backend decided.
pub const DEFAULT_DECISION_TIMEOUT: Duration = Duration::from_secs(170);

/// Backends in the order in which they are tried.
#[derive(Debug)]
pub struct Router {
    slots: Vec<BackendSlot>,
    config: RouterConfig,
}

/// Minimum share of a backend: a model needs about that long for an answer, and less would look like a failure of it.
const MIN_SHARE: Duration = Duration::from_secs(10);

/// The time for a decision over all backends.
#[derive(Debug, Clone, Copy)]
struct DecisionTime {
    /// End of the configured time, or of the caller's.
    end: Instant,
    /// End of the task's time.
    task_end: Option<Instant>,
    /// Maximum time of one backend.
    timeout: Duration,
}

impl DecisionTime {
    fn start(limits: CallLimits, remaining: RemainingLimits) -> Self {
        let now = Instant::now();
        let callers = Deadline::current().map(|deadline| deadline.for_nested_call().remaining());
        let whole = limits.decision_timeout;
        Self {
            end: now + callers.map_or(whole, |callers| callers.min(whole)),
            task_end: remaining.time.map(|left| now + left.min(whole)),
            timeout: limits.timeout,
        }
    }

    /// Returns the time of the next backend, if this many slow ones are still to be tried, it included. Each keeps an equal
    /// share, of a short time half of what is left, so that backends that hang do not use up the time of those after them. The last
    /// one may take what is left:
    /// the caller ends it with the task.
    fn share(self, backends: usize) -> Duration {
        let now = Instant::now();
        let left = self.end.saturating_duration_since(now);
        if backends < 2 {
            return self.timeout.min(left);
        }
        let task = self.task_end.unwrap_or(self.end).min(self.end);
        let backends = u32::try_from(backends).unwrap_or(u32::MAX);
        let share = task.saturating_duration_since(now) / backends;
        // Where the time is too short for that, half of it is left to the others.
        let share = share.max(MIN_SHARE.min(left / 2));
        self.timeout.min(share)
    }
}

/// A backend with its middleware and statistics.
#[derive(Debug)]
struct BackendSlot {
    backend: Arc<dyn Backend>,
    stack: Stack,
    breaker: Arc<CircuitBreaker>,
    health: Health,
}

/// Minimum time after which callers are told to try again.
const MIN_RETRY_AFTER: Duration = Duration::from_secs(1);

/// A failed call of a backend.
#[derive(Debug)]
struct FailedAttempt {
    backend: String,
    error: BackendError,
    usage: Usage,
    /// Time after which the backend may be called again; `None` if that does not help.
    retry_after: Option<Duration>,
}

impl BackendSlot {
    fn new(backend: Arc<dyn Backend>, rules: &RouterConfig) -> Self {
        let breaker = CircuitBreaker::new(rules.circuit_breaker);
        let stack = stack::build(Arc::clone(&backend), rules.limits, Arc::clone(&breaker));
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
    async fn ask(
        &self,
        asked: BackendRequest,
        context: CallContext,
        timeout: Duration,
    ) -> Result<(BackendReply, Usage), FailedAttempt> {
        let began = Instant::now();
        let call = BackendCall {
            request: asked,
            context: context.clone(),
            timeout,
        };
        let reply = self.stack.clone().oneshot(call).await;
        let usage = context.usage.total();
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
                    retry_after: self.retry_after(&error),
                    error,
                    usage,
                })
            }
        }
    }

    /// Returns when the same call may succeed: when the provider says, or when the circuit closes.
    fn retry_after(&self, error: &BackendError) -> Option<Duration> {
        match error {
            // The trial of another call is in progress: its result is known soon.
            BackendError::CircuitOpen { remaining } => Some((*remaining).max(MIN_RETRY_AFTER)),
            error if error.is_retryable() => self.breaker.next_try(),
            _ => None,
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
        let slots = backends.into_iter();
        Self {
            slots: slots
                .map(|backend| BackendSlot::new(backend, rules))
                .collect(),
            config: rules.clone(),
        }
    }

    fn context(&self) -> CallContext {
        CallContext::new(
            self.config.limits.requests,
            Arc::clone(&self.config.sleeper),
        )
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
        let mut answered = Vec::new();
        let slots = self.order(&request.backends)?;
        let time = DecisionTime::start(self.config.limits, request.remaining);
        for (index, slot) in slots.iter().enumerate() {
            let asked = for_backend(&request, slot.name());
            let share = time.share(slow_backends(&slots[index..]));
            let context = self.context();
            let reply = slot
                .ask(BackendRequest::Plan(asked), context.clone(), share)
                .await;
            answered.extend(context.answered());
            match reply {
                Ok((BackendReply::Decision(decided), usage)) => {
                    let BackendDecision {
                        mut decision,
                        annotated_image,
                    } = *decided;
                    // A recorded decision contains the usage of its recording.
                    decision.usage = decision.usage.plus(usage);
                    let exchange = ExchangeTexts::of(&answered);
                    return Ok(PlannedDecision {
                        decision,
                        attempts: attempt_reports(attempts),
                        annotated_image,
                        requests: exchange.requests,
                        responses: exchange.responses,
                    });
                }
                Ok((BackendReply::Answer(_), _)) => unreachable!("a decision was asked for"),
                Err(attempt) => {
                    request = with_usage_deducted(&request, attempt.usage);
                    attempts.push(attempt);
                }
            }
        }
        conclude(attempts, ExchangeTexts::of(&answered))
    }

    /// Returns whether any of these backends, or of all if none is named, has a model.
    ///
    /// # Errors
    /// Fails if an unknown backend is named.
    pub fn has_model(&self, names: &[String]) -> Result<bool, Error> {
        let slots = self.order(names)?;
        Ok(slots.iter().any(|slot| slot.backend.has_model()))
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
        let mut answered = Vec::new();
        let mut slots = self.order(names)?;
        slots.retain(|slot| slot.backend.has_model());
        let time = DecisionTime::start(self.config.limits, question.remaining);
        for (index, slot) in slots.iter().enumerate() {
            let asked = BackendRequest::Answer(Arc::clone(&question));
            let share = time.share(slots.len() - index);
            let context = self.context();
            let reply = slot.ask(asked, context.clone(), share).await;
            answered.extend(context.answered());
            match reply {
                Ok((BackendReply::Answer(value), usage)) => {
                    let in_vain = attempts.iter().map(|attempt| attempt.usage);
                    return Ok(QuestionResult {
                        value,
                        usage: in_vain.fold(usage, Usage::plus),
                        exchange: ExchangeTexts::of(&answered),
                    });
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
        Err(all_failed(attempts, ExchangeTexts::of(&answered)))
    }

    /// Returns the backends to try: the named ones, or all.
    fn order(&self, names: &[String]) -> Result<Vec<&BackendSlot>, Error> {
        if names.is_empty() {
            return Ok(self.slots.iter().collect());
        }
        let slot = |name: &String| {
            self.slots
                .iter()
                .find(|slot| slot.name() == name)
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
        names.iter().map(slot).collect()
    }
}

/// Returns the number of backends that may take long.
fn slow_backends(slots: &[&BackendSlot]) -> usize {
    let slow = slots.iter().filter(|slot| slot.backend.may_be_slow());
    slow.count()
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
    let reports = attempts.into_iter().map(|attempt| BackendAttempt {
        reason: attempt.error.reason().to_owned(),
        message: attempt.error.to_string(),
        backend: attempt.backend,
        usage: attempt.usage,
    });
    reports.collect()
}

/// Returns the result when no backend decided.
fn conclude(
    attempts: Vec<FailedAttempt>,
    exchange: ExchangeTexts,
) -> Result<PlannedDecision, Error> {
    let all_declined = attempts
        .iter()
        .all(|attempt| matches!(attempt.error, BackendError::Declined { .. }));
    let Some(last) = attempts.last().filter(|_| all_declined) else {
        return Err(all_failed(attempts, exchange));
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
        requests: exchange.requests,
        responses: exchange.responses,
    })
}

fn all_failed(attempts: Vec<FailedAttempt>, exchange: ExchangeTexts) -> Error {
    Error::AllBackendsFailed {
        retryable: attempts.iter().any(|attempt| attempt.error.is_retryable()),
        retry_after: attempts
            .iter()
            .filter_map(|attempt| attempt.retry_after)
            .min(),
        attempts: attempt_reports(attempts),
        exchange: Box::new(exchange),
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
