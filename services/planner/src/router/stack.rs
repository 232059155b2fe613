//! Middleware of a backend, as a tower stack. From the outside in: concurrency limit, circuit breaker, overall timeout,
//! retry, timeout per attempt.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::service::PlanRequest;
use serde_json::Value;
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceBuilder, service_fn};

use super::circuit_breaker::{CircuitBreaker, CircuitBreakerLayer};
use super::retry::{RetryPolicy, RetryState};
use super::sleeper::Sleeper;
use crate::backends::question::Question;
use crate::backends::{Backend, BackendDecision, BackendError, UsageMeter};

/// A call of a backend.
#[derive(Debug, Clone)]
pub(super) struct BackendCall {
    pub(super) request: BackendRequest,
    /// Usage of all attempts.
    pub(super) usage: UsageMeter,
}

#[derive(Debug, Clone)]
pub(super) enum BackendRequest {
    Plan(Arc<PlanRequest>),
    Answer(Arc<Question>),
}

/// Reply of a backend.
#[derive(Debug)]
pub(super) enum BackendReply {
    Decision(Box<BackendDecision>),
    Answer(Value),
}

/// A backend with its middleware.
pub(super) type Stack = BoxCloneSyncService<BackendCall, BackendReply, BackendError>;

/// Limits of calls to a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Maximum time for a decision, including retries.
    pub timeout: Duration,
    /// Maximum time for one attempt.
    pub attempt_timeout: Duration,
    /// Maximum number of concurrent calls; further calls wait.
    pub concurrency: usize,
    pub retry: RetryPolicy,
}

/// Builds the middleware stack of a backend.
pub(super) fn build(
    backend: Arc<dyn Backend>,
    bounds: CallLimits,
    breaker: Arc<CircuitBreaker>,
    pauses: Arc<dyn Sleeper>,
) -> Stack {
    let ask = service_fn(move |call: BackendCall| {
        let backend = Arc::clone(&backend);
        async move { ask(&*backend, call).await }
    });
    let stack = ServiceBuilder::new()
        .concurrency_limit(bounds.concurrency)
        .layer(CircuitBreakerLayer(breaker))
        .map_err(move |error| backend_error(error, bounds.timeout))
        .timeout(bounds.timeout)
        .retry(RetryState::new(bounds.retry, pauses))
        .map_err(move |error| backend_error(error, bounds.attempt_timeout))
        .timeout(bounds.attempt_timeout)
        .service(ask);
    BoxCloneSyncService::new(stack)
}

async fn ask(backend: &dyn Backend, call: BackendCall) -> Result<BackendReply, BackendError> {
    match call.request {
        BackendRequest::Plan(request) => {
            let decision = backend.plan(&request, &call.usage).await?;
            Ok(BackendReply::Decision(Box::new(decision)))
        }
        BackendRequest::Answer(question) => {
            let value = backend.answer(&question, &call.usage).await?;
            Ok(BackendReply::Answer(value))
        }
    }
}

/// Unifies the errors of the layers and of the backend.
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
