//! Services as traits, independent of transport.
//!
//! Each trait uses domain types. `*Server` adapts an implementation to the generated tonic service, and `*Client`
//! implements the trait over a channel. An `Arc<dyn Perception>` may thus be in the same process or across the network.
//! The Orchestrator's own service has no trait: its messages are a view of the event log, and only its edge and its
//! clients use them.

mod executor;
mod perception;
mod planner;

pub use executor::{
    AcquireRequest, ActionProgress, Capabilities, Executor, ExecutorClient, ExecutorServer,
    FileInfo, HumanInput, HumanInputKind, PageText, PerformRequest, PutFile,
};
pub use perception::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, Comparison, FrameTile, FrameUpdate,
    IdleReport, ImageFormat, ImageOptions, Observation, ObserveRequest, ParseOptions, ParseRequest,
    ParsedImage, Perception, PerceptionClient, PerceptionServer, Redaction, SceneDelta,
    SensitiveText, StageTiming, StreamRequest, WaitForIdleRequest,
};
pub use planner::{
    BackendAttempt, BackendInfo, BackendState, ExtractRequest, Extraction, PlanRequest,
    PlannedDecision, Planner, PlannerClient, PlannerServer, PointerCheck, PointerRequest,
    ResolveRequest, ResolvedTarget, SummarizeRequest, Summary, TargetCandidate, TargetQuery,
};

use std::pin::Pin;

use tokio_stream::{Stream, StreamExt};
use tonic::{Code, Response, Status};

use crate::error::{ErrorReport, FieldError, reason};

/// Result of every call.
pub type Result<T> = std::result::Result<T, ErrorReport>;

/// A stream of responses, which ends at the first error.
pub type ResultStream<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// A stream of responses as tonic serves it.
type WireStream<T> = Pin<Box<dyn Stream<Item = std::result::Result<T, Status>> + Send>>;

/// Converts a stream of domain values to a stream of messages.
fn to_wire<D: 'static, T: From<D> + 'static>(answers: ResultStream<D>) -> WireStream<T> {
    Box::pin(answers.map(|answer| answer.map(T::from).map_err(Status::from)))
}

/// Returns the message of a response, or the error of its status.
fn received<T>(response: std::result::Result<Response<T>, Status>) -> Result<T> {
    response
        .map(Response::into_inner)
        .map_err(|status| ErrorReport::from_status(&status))
}

/// Returns the domain value of a response.
fn response<T, D>(response: std::result::Result<Response<T>, Status>) -> Result<D>
where
    D: TryFrom<T, Error = FieldError>,
{
    D::try_from(received(response)?).map_err(malformed_response)
}

/// Creates the error for an invalid response, which means that the versions do not match.
fn malformed_response(error: FieldError) -> ErrorReport {
    ErrorReport::new(
        Code::Internal,
        reason::MALFORMED_RESPONSE,
        format!("the service sent an invalid response ({error}); check that both sides have the same version"),
    )
    .with("field", error.field)
}
