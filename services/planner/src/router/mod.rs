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
use self::stack::{Bounds, Call, Reply, Stack};
use crate::backends::question::{Answered, Question};
use crate::backends::{Backend, BackendError};
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

/// What is to become of an attempt: an answer, or why not.
type Attempts = Vec<(String, BackendError)>;

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

    async fn ask(&self, call: Call) -> Result<Reply, BackendError> {
        let began = Instant::now();
        let reply = self.stack.clone().oneshot(call).await;
        match &reply {
            Ok(reply) => self.health.answered(began.elapsed(), reply.usage()),
            Err(error) => {
                tracing::debug!(backend = self.name(), reason = error.reason(), %error, "backend did not answer");
                self.health.failed(error);
            }
        }
        reply
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
        let mut attempts = Attempts::new();
        for seat in self.order(&request.backends)? {
            let asked = for_backend(&request, seat.name());
            match seat.ask(Call::Plan(asked)).await {
                Ok(Reply::Decision(decision)) => {
                    return Ok(Planned {
                        decision: *decision,
                        attempts: attempts.iter().map(attempt).collect(),
                    });
                }
                Ok(Reply::Answer(_)) => unreachable!("a decision was asked for"),
                Err(error) => {
                    request = less(&request, error.usage());
                    attempts.push((seat.name().to_owned(), error));
                }
            }
        }
        conclude(&attempts)
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
        let question = Arc::new(question);
        let mut attempts = Attempts::new();
        let seats = self.order(names)?.into_iter();
        for seat in seats.filter(|seat| seat.backend.has_model()) {
            match seat.ask(Call::Answer(Arc::clone(&question))).await {
                Ok(Reply::Answer(answered)) => {
                    let usage = attempts
                        .iter()
                        .fold(answered.usage, |sum, (_, error)| sum.plus(error.usage()));
                    return Ok(Answered { usage, ..answered });
                }
                Ok(Reply::Decision(_)) => unreachable!("an answer was asked for"),
                Err(error) => attempts.push((seat.name().to_owned(), error)),
            }
        }
        if attempts.is_empty() {
            return Err(Error::NeedsModel { call });
        }
        Err(all_failed(&attempts))
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
    let mut request = PlanRequest::clone(request);
    let tokens = usage
        .input_tokens
        .zip(usage.output_tokens)
        .map(|(input, output)| input.saturating_add(output));
    let take = |left: &mut Option<u64>, used: Option<u64>| {
        *left = left.map(|left| left.saturating_sub(used.unwrap_or(0)));
    };
    take(&mut request.remaining.tokens, tokens);
    take(
        &mut request.remaining.cost_micros_usd,
        usage.cost_micros_usd,
    );
    Arc::new(request)
}

fn attempt((backend, error): &(String, BackendError)) -> BackendAttempt {
    BackendAttempt {
        backend: backend.clone(),
        reason: error.reason().to_owned(),
        message: error.to_string(),
        usage: error.usage(),
    }
}

/// What it comes to when no backend decided.
fn conclude(attempts: &[(String, BackendError)]) -> Result<Planned, Error> {
    let all_declined = attempts
        .iter()
        .all(|(_, error)| matches!(error, BackendError::Declined { .. }));
    let Some((last, _)) = attempts.last().filter(|_| all_declined) else {
        return Err(all_failed(attempts));
    };
    let reason = declined(attempts);
    let decision = Decision {
        thought: String::new(),
        progress: reason.clone(),
        next: Next::Fail { reason },
        safety_checks: Vec::new(),
        conversation: Bytes::new(),
        backend: last.clone(),
        model: String::new(),
        usage: Usage::default(),
        suspected_injections: Vec::new(),
    };
    Ok(Planned {
        decision,
        attempts: attempts.iter().map(attempt).collect(),
    })
}

fn all_failed(attempts: &[(String, BackendError)]) -> Error {
    Error::AllBackendsFailed {
        may_pass: attempts.iter().any(|(_, error)| error.may_pass()),
        attempts: attempts.iter().map(attempt).collect(),
    }
}

/// Why the goal was declined: in the words of the only backend, or of each by its name.
fn declined(attempts: &[(String, BackendError)]) -> String {
    match attempts {
        [(_, error)] => error.to_string(),
        _ => attempts
            .iter()
            .map(|(backend, error)| format!("{backend}: {error}"))
            .collect::<Vec<_>>()
            .join("\n"),
    }
}
