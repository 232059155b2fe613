//! Asks backends in order until one decides. It retries nothing: a backend that can be asked again does so itself,
//! in its stack.
//!
//! Each backend sees its own conversation or none, so that one that takes over starts from the request alone.

mod stack;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use motorium_proto::domain::decision::{Decision, Next, Usage};
use motorium_proto::service::{BackendAttempt, BackendInfo, PlanRequest, Planned};
use tower::ServiceExt as _;

use crate::backends::{Backend, BackendError};
use crate::error::Error;
use stack::Stack;

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
}

impl Router {
    /// A router over these backends, each of which gets `timeout` for a decision.
    #[must_use]
    pub fn new(backends: Vec<Arc<dyn Backend>>, timeout: Duration) -> Self {
        let seat = |backend: Arc<dyn Backend>| Seat {
            stack: stack::over(Arc::clone(&backend), timeout),
            backend,
        };
        Self {
            seats: backends.into_iter().map(seat).collect(),
        }
    }

    /// What the backends are, in the order in which they are tried.
    #[must_use]
    pub fn list(&self) -> Vec<BackendInfo> {
        self.seats.iter().map(|seat| seat.backend.info()).collect()
    }

    /// Decides what to do next. Where every backend declines the goal, the decision is to fail, in their words.
    ///
    /// # Errors
    /// If the request names a backend that there is not, or if all of them failed.
    pub async fn plan(&self, request: PlanRequest) -> Result<Planned, Error> {
        let request = Arc::new(request);
        let mut attempts = Vec::new();
        for seat in self.order(&request.backends)? {
            let asked = for_backend(&request, seat.backend.name());
            match seat.stack.clone().oneshot(asked).await {
                Ok(decision) => {
                    return Ok(Planned {
                        decision,
                        attempts: attempts.iter().map(attempt).collect(),
                    });
                }
                Err(error) => {
                    tracing::debug!(backend = seat.backend.name(), reason = error.reason(), %error, "backend did not decide");
                    attempts.push((seat.backend.name().to_owned(), error));
                }
            }
        }
        conclude(&attempts)
    }

    /// The seats to try: those that are named, or all.
    fn order(&self, names: &[String]) -> Result<Vec<&Seat>, Error> {
        if names.is_empty() {
            return Ok(self.seats.iter().collect());
        }
        let seat = |name: &String| {
            self.seats
                .iter()
                .find(|seat| seat.backend.name() == name)
                .ok_or_else(|| Error::BackendNotFound {
                    name: name.clone(),
                    known: self
                        .seats
                        .iter()
                        .map(|seat| seat.backend.name())
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
        return Err(Error::AllBackendsFailed {
            may_pass: attempts.iter().any(|(_, error)| {
                matches!(
                    error,
                    BackendError::Transient { .. } | BackendError::TimedOut { .. }
                )
            }),
            attempts: attempts.iter().map(attempt).collect(),
        });
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
