//! What stands before a backend: a tower stack that turns a request into a decision. Time is bounded here; what a
//! backend that speaks to a provider needs beside that is a layer more.

use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::decision::Decision;
use motorium_proto::service::PlanRequest;
use tower::timeout::error::Elapsed;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceBuilder, service_fn};

use crate::backends::{Backend, BackendError};

/// A backend as a service.
pub(super) type Stack = BoxCloneSyncService<Arc<PlanRequest>, Decision, BackendError>;

/// The stack over a backend that gets `timeout` for a decision.
pub(super) fn over(backend: Arc<dyn Backend>, timeout: Duration) -> Stack {
    let decide = service_fn(move |request: Arc<PlanRequest>| {
        let backend = Arc::clone(&backend);
        async move { backend.plan(&request).await }
    });
    let stack = ServiceBuilder::new()
        .map_err(move |error| backend_error(error, timeout))
        .timeout(timeout)
        .service(decide);
    BoxCloneSyncService::new(stack)
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
