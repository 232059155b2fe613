//! Middleware of a backend, as a tower stack. From the outside in: concurrency limit, circuit breaker, timeout of the
//! call. Retries are inside the backend: only it knows which of its requests failed.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::service::PlanRequest;
use serde_json::Value;
use tokio::time::Instant;
use tower::util::BoxCloneSyncService;
use tower::{ServiceBuilder, service_fn};

use super::circuit_breaker::{CircuitBreaker, CircuitBreakerLayer};
use crate::backends::call::RequestLimits;
use crate::backends::question::Question;
use crate::backends::{Backend, BackendDecision, BackendError, CallContext};

/// A call of a backend.
#[derive(Debug, Clone)]
pub(super) struct BackendCall {
    pub(super) request: BackendRequest,
    pub(super) context: CallContext,
    /// Maximum time for the call, including retries.
    pub(super) timeout: Duration,
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

/// Limits of calls to backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLimits {
    /// Maximum time for a decision over all backends. Backends that are still to be tried keep their share of it.
    pub decision_timeout: Duration,
    /// Maximum time for a decision of one backend, including retries.
    pub timeout: Duration,
    /// Maximum number of concurrent calls; further calls wait.
    pub concurrency: usize,
    pub requests: RequestLimits,
}

/// Builds the middleware stack of a backend.
pub(super) fn build(
    backend: Arc<dyn Backend>,
    bounds: CallLimits,
    breaker: Arc<CircuitBreaker>,
) -> Stack {
    let ask = service_fn(move |call: BackendCall| {
        let backend = Arc::clone(&backend);
        async move { ask_in_time(&*backend, call).await }
    });
    let stack = ServiceBuilder::new()
        .concurrency_limit(bounds.concurrency)
        .layer(CircuitBreakerLayer(breaker))
        .service(ask);
    BoxCloneSyncService::new(stack)
}

async fn ask_in_time(
    backend: &dyn Backend,
    call: BackendCall,
) -> Result<BackendReply, BackendError> {
    let BackendCall {
        request,
        context,
        timeout,
    } = call;
    let context = context.until(Instant::now() + timeout);
    match tokio::time::timeout(timeout, ask(backend, request, &context)).await {
        Ok(reply) => reply,
        Err(_) => Err(BackendError::TimedOut {
            limit_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        }),
    }
}

async fn ask(
    backend: &dyn Backend,
    request: BackendRequest,
    context: &CallContext,
) -> Result<BackendReply, BackendError> {
    match request {
        BackendRequest::Plan(request) => {
            let decision = backend.plan(&request, context).await?;
            Ok(BackendReply::Decision(Box::new(decision)))
        }
        BackendRequest::Answer(question) => {
            let value = backend.answer(&question, context).await?;
            Ok(BackendReply::Answer(value))
        }
    }
}
