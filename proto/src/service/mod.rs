//! A service is a trait; transport is a detail.
//!
//! Each trait speaks in domain types. `*Server` adapts an implementation to the generated tonic service, `*Client`
//! implements the trait over a channel; whoever holds an `Arc<dyn Perception>` cannot tell an object in the same
//! process from one across the network. The Orchestrator's own service has no such trait: its messages are a view
//! of the event log, and only its edge and its clients handle them.

mod executor;
mod perception;
mod planner;

pub use executor::{
    AcquireRequest, ActionProgress, Capabilities, Executor, ExecutorClient, ExecutorServer,
    FileInfo, HumanInput, HumanInputKind, PageText, PerformRequest, PutFile,
};
pub use perception::{
    AwaitQuiet, CaptureArea, CaptureRequest, Captured, CompareRequest, Comparison, FrameTile,
    FrameUpdate, ImageFormat, ImageOptions, Observation, ObserveRequest, ParseOptions,
    ParseRequest, Parsed, Perception, PerceptionClient, PerceptionServer, Quiet, Redaction,
    SceneDelta, SensitiveText, StageTiming, StreamRequest,
};
pub use planner::{
    BackendAttempt, BackendInfo, BackendState, ExtractRequest, Extraction, PlanRequest, Planned,
    Planner, PlannerClient, PlannerServer, PointerCheck, PointerRequest, ResolveRequest, Resolved,
    Sought, SummarizeRequest, Summary, TargetCandidate,
};

use std::pin::Pin;

use tokio_stream::{Stream, StreamExt};
use tonic::{Code, Response, Status};

use crate::error::{ErrorReport, FieldError, reason};

/// What every call answers.
pub type Result<T> = std::result::Result<T, ErrorReport>;

/// A stream of answers; it ends at the first error.
pub type AnswerStream<T> = Pin<Box<dyn Stream<Item = Result<T>> + Send>>;

/// The same, as tonic serves it.
type WireStream<T> = Pin<Box<dyn Stream<Item = std::result::Result<T, Status>> + Send>>;

/// Turns a stream of domain answers into one of messages.
fn to_wire<D: 'static, T: From<D> + 'static>(answers: AnswerStream<D>) -> WireStream<T> {
    Box::pin(answers.map(|answer| answer.map(T::from).map_err(Status::from)))
}

/// The message of an answer, or what its status says.
fn received<T>(response: std::result::Result<Response<T>, Status>) -> Result<T> {
    response
        .map(Response::into_inner)
        .map_err(|status| ErrorReport::from_status(&status))
}

/// The domain value of an answer.
fn answer<T, D>(response: std::result::Result<Response<T>, Status>) -> Result<D>
where
    D: TryFrom<T, Error = FieldError>,
{
    D::try_from(received(response)?).map_err(malformed_answer)
}

/// The other side broke the contract: its version does not fit ours.
fn malformed_answer(error: FieldError) -> ErrorReport {
    ErrorReport::new(
        Code::Internal,
        reason::MALFORMED_ANSWER,
        format!("the service answered with something that does not keep the contract ({error}); check that both sides have the same version"),
    )
    .with("field", error.field)
}
