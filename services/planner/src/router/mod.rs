//! Asks backends in order until one decides.
//!
//! - [`stack`]: what stands before each backend
//! - [`retry`], [`breaker`], [`pauses`]: its parts
//!
//! Each backend sees its own conversation or none, so that one that takes over starts from the request alone and renders
//! the history for its own model.

pub mod breaker;
mod health;
pub mod pauses;
pub mod retry;
pub mod stack;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use motorium_proto::domain::decision::{Decision, Next, Usage};
use motorium_proto::service::{BackendAttempt, BackendInfo, BackendState, PlanRequest, Planned};
use tokio::time::Instant;
use tower::ServiceExt as _;

use self::breaker::{Breaker, Rest};
use self::health::Health;
use self::pauses::{Pauses, RealPauses};
use self::retry::Patience;
use self::stack::{Asked, Bounds, Call, Reply, Stack};
use crate::backends::question::{Answered, Question};
use crate::backends::{Backend, BackendError, Spent, estimate};
use crate::error::Error;

/// How backends are asked.
#[derive(Debug, Clone)]
pub struct Rules {
    pub bounds: Bounds,
    pub rest: Rest,
    pub pauses: Arc<dyn Pauses>,
}

impl Rules {
    /// The usual ones, with this time for a decision.
    #[must_use]
    pub fn within(timeout: Duration) -> Self {
        Self {
            bounds: Bounds {
                timeout,
                attempt_timeout: timeout,
                concurrency: 64,
                patience: Patience::default(),
            },
            rest: Rest::default(),
            pauses: Arc::new(RealPauses),
        }
    }
}

/// The backends, in the order in which they are tried.
#[derive(Debug)]
pub struct Router {
    seats: Vec<Seat>,
}

/// A backend with what stands before it.
#[derive(Debug)]
struct Seat {
    backend: Arc<dyn Backend>,
    stack: Stack,
    breaker: Arc<Breaker>,
    health: Health,
}

/// A backend that was asked in vain.
#[derive(Debug)]
struct Attempt {
    backend: String,
    error: BackendError,
    usage: Usage,
}

impl Seat {
    fn new(backend: Arc<dyn Backend>, rules: &Rules) -> Self {
        let breaker = Breaker::new(rules.rest);
        let stack = stack::over(
            Arc::clone(&backend),
            rules.bounds,
            Arc::clone(&breaker),
            Arc::clone(&rules.pauses),
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

    /// What it says, and what that took: all attempts together, also those that came to nothing.
    async fn ask(&self, asked: Asked) -> Result<(Reply, Usage), Attempt> {
        let (began, spent) = (Instant::now(), Spent::default());
        let call = Call {
            asked,
            spent: spent.clone(),
        };
        let reply = self.stack.clone().oneshot(call).await;
        let usage = spent.total();
        self.health.used(usage);
        match reply {
            Ok(reply) => {
                self.health.answered(began.elapsed());
                Ok((reply, usage))
            }
            Err(error) => {
                tracing::debug!(backend = self.name(), reason = error.reason(), %error, "backend did not answer");
                self.health.failed(&error);
                Err(Attempt {
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
            BackendState::Ready if self.breaker.is_resting() => BackendState::Resting,
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
    /// A router over these backends, each of which gets `timeout` for a decision.
    #[must_use]
    pub fn new(backends: Vec<Arc<dyn Backend>>, timeout: Duration) -> Self {
        Self::with_rules(backends, &Rules::within(timeout))
    }

    /// A router over these backends.
    #[must_use]
    pub fn with_rules(backends: Vec<Arc<dyn Backend>>, rules: &Rules) -> Self {
        let seats = backends.into_iter();
        Self {
            seats: seats.map(|backend| Seat::new(backend, rules)).collect(),
        }
    }

    /// What the backends are and how, in the order in which they are tried.
    #[must_use]
    pub fn list(&self) -> Vec<BackendInfo> {
        self.seats.iter().map(Seat::info).collect()
    }

    /// Decides what to do next. Where every backend declines the goal, the decision is to fail, in their words.
    ///
    /// # Errors
    /// If the request names a backend that there is not, or if all of them failed.
    pub async fn plan(&self, request: PlanRequest) -> Result<Planned, Error> {
        let mut request = Arc::new(request);
        let mut attempts = Vec::new();
        for seat in self.order(&request.backends)? {
            let asked = for_backend(&request, seat.name());
            match seat.ask(Asked::Plan(asked)).await {
                Ok((Reply::Decision(mut decision), usage)) => {
                    // A recorded decision tells what it took when it was made.
                    decision.usage = decision.usage.plus(usage);
                    return Ok(Planned {
                        decision: *decision,
                        attempts: told(attempts),
                    });
                }
                Ok((Reply::Answer(_), _)) => unreachable!("a decision was asked for"),
                Err(attempt) => {
                    request = less(&request, attempt.usage);
                    attempts.push(attempt);
                }
            }
        }
        conclude(attempts)
    }

    /// Whether any of these backends, or of all, has a model.
    ///
    /// # Errors
    /// If one is named that there is not.
    pub fn has_model(&self, names: &[String]) -> Result<bool, Error> {
        let seats = self.order(names)?;
        Ok(seats.iter().any(|seat| seat.backend.has_model()))
    }

    /// Asks a question of the first backend with a model that answers; what the others cost is in the sum.
    ///
    /// # Errors
    /// If the request names a backend that there is not, none has a model, or all of them failed.
    pub async fn answer(
        &self,
        call: &'static str,
        names: &[String],
        question: Question,
    ) -> Result<Answered, Error> {
        let mut question = Arc::new(question);
        let mut attempts: Vec<Attempt> = Vec::new();
        let seats = self.order(names)?.into_iter();
        for seat in seats.filter(|seat| seat.backend.has_model()) {
            match seat.ask(Asked::Answer(Arc::clone(&question))).await {
                Ok((Reply::Answer(value), usage)) => {
                    let in_vain = attempts.iter().map(|attempt| attempt.usage);
                    let usage = in_vain.fold(usage, Usage::plus);
                    return Ok(Answered { value, usage });
                }
                Ok((Reply::Decision(_), _)) => unreachable!("an answer was asked for"),
                Err(attempt) => {
                    let remaining = estimate::without(question.remaining, attempt.usage);
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

    /// The seats to try: those that are named, or all.
    fn order(&self, names: &[String]) -> Result<Vec<&Seat>, Error> {
        if names.is_empty() {
            return Ok(self.seats.iter().collect());
        }
        let seat = |name: &String| {
            self.seats
                .iter()
                .find(|seat| seat.name() == name)
                .ok_or_else(|| Error::BackendNotFound {
                    name: name.clone(),
                    known: self
                        .seats
                        .iter()
                        .map(Seat::name)
                        .collect::<Vec<_>>()
                        .join(", "),
                })
        };
        names.iter().map(seat).collect()
    }
}

/// The request as a backend may see it: the conversation of another one is not its business.
fn for_backend(request: &Arc<PlanRequest>, name: &str) -> Arc<PlanRequest> {
    if request.conversation.is_empty() || request.conversation_backend == name {
        return Arc::clone(request);
    }
    Arc::new(PlanRequest {
        conversation: Bytes::new(),
        ..PlanRequest::clone(request)
    })
}

/// The request for the next backend, when one before it has used something up.
fn less(request: &Arc<PlanRequest>, usage: Usage) -> Arc<PlanRequest> {
    if usage.calls == 0 {
        return Arc::clone(request);
    }
    Arc::new(PlanRequest {
        remaining: estimate::without(request.remaining, usage),
        ..PlanRequest::clone(request)
    })
}

fn told(attempts: Vec<Attempt>) -> Vec<BackendAttempt> {
    let told = attempts.into_iter().map(|attempt| BackendAttempt {
        reason: attempt.error.reason().to_owned(),
        message: attempt.error.to_string(),
        backend: attempt.backend,
        usage: attempt.usage,
    });
    told.collect()
}

/// What it comes to when no backend decided.
fn conclude(attempts: Vec<Attempt>) -> Result<Planned, Error> {
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
    Ok(Planned {
        decision,
        attempts: told(attempts),
    })
}

fn all_failed(attempts: Vec<Attempt>) -> Error {
    Error::AllBackendsFailed {
        may_pass: attempts.iter().any(|attempt| attempt.error.may_pass()),
        attempts: told(attempts),
    }
}

/// Why the goal was declined: in the words of the only backend, or of each by its name.
fn declined(attempts: &[Attempt]) -> String {
    match attempts {
        [one] => one.error.to_string(),
        _ => attempts
            .iter()
            .map(|attempt| format!("{}: {}", attempt.backend, attempt.error))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
