//! What stands before a backend: a tower stack. From the outside in: how many may ask at once, whether it rests, how long
//! a call may take in all, whether it is asked again, how long one attempt may take.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::decision::Decision;
use motorium_proto::service::PlanRequest;
use serde_json::Value;
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceBuilder, service_fn};

use super::breaker::{Breaker, BreakerLayer};
use super::pauses::Pauses;
use super::retry::{Patience, Retries};
use crate::backends::question::Question;
use crate::backends::{Backend, BackendError, Spent};

/// What a backend is asked.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) asked: Asked,
    /// Of all attempts.
    pub(super) spent: Spent,
}

#[derive(Debug, Clone)]
pub(super) enum Asked {
    Plan(Arc<PlanRequest>),
    Answer(Arc<Question>),
}

/// What it says.
#[derive(Debug)]
pub(super) enum Reply {
    Decision(Box<Decision>),
    Answer(Value),
}

/// A backend as a service.
pub(super) type Stack = BoxCloneSyncService<Call, Reply, BackendError>;

/// The bounds within which a backend is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// For a decision, with everything that is tried again.
    pub timeout: Duration,
    /// For one attempt.
    pub attempt_timeout: Duration,
    /// How many may ask at once; the others wait.
    pub concurrency: usize,
    pub patience: Patience,
}

/// The stack over a backend.
pub(super) fn over(
    backend: Arc<dyn Backend>,
    bounds: Bounds,
    breaker: Arc<Breaker>,
    pauses: Arc<dyn Pauses>,
) -> Stack {
    let ask = service_fn(move |call: Call| {
        let backend = Arc::clone(&backend);
        async move { ask(&*backend, call).await }
    });
    let stack = ServiceBuilder::new()
        .concurrency_limit(bounds.concurrency)
        .layer(BreakerLayer(breaker))
        .map_err(move |error| backend_error(error, bounds.timeout))
        .timeout(bounds.timeout)
        .retry(Retries::new(bounds.patience, pauses))
        .map_err(move |error| backend_error(error, bounds.attempt_timeout))
        .timeout(bounds.attempt_timeout)
        .service(ask);
    BoxCloneSyncService::new(stack)
}

async fn ask(backend: &dyn Backend, call: Call) -> Result<Reply, BackendError> {
    match call.asked {
        Asked::Plan(request) => {
            let decision = backend.plan(&request, &call.spent).await?;
            Ok(Reply::Decision(Box::new(decision)))
        }
        Asked::Answer(question) => {
            let value = backend.answer(&question, &call.spent).await?;
            Ok(Reply::Answer(value))
        }
    }
}

/// The layers' errors and the backend's own, as one type again.
fn backend_error(error: BoxError, timeout: Duration) -> BackendError {
    if error.is::<Elapsed>() {
        return BackendError::TimedOut {
            limit_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        };
    }
    match error.downcast::<BackendError>() {
        Ok(error) => *error,
        Err(error) => unreachable!("no layer of the stack fails with {error}"),
    }
}
