//! Services as traits, independent of transport.
//!
//! Each trait uses domain types. `*Server` adapts an implementation to the generated tonic service, and `*Client`
//! implements the trait over a channel. An `Arc<dyn Perception>` may thus be in the same process or across the network.
//! Trait, server and client are expanded from one definition per service: [`crate::perception_service`],
//! [`crate::planner_service`] and [`crate::executor_service`]. The module `adapters` explains its form.
//! The Orchestrator's own service has no trait: its messages are a view of the event log, and only its edge and its
//! clients use them.

#[macro_use]
mod adapters;
mod chunked;
mod executor;
mod perception;
mod planner;

pub use chunked::{Chunked, Part};
pub use executor::{
    AcquireRequest, ActionProgress, Capabilities, ClipboardText, DeleteFilesRequest,
    DownloadedFile, Executor, ExecutorClient, ExecutorServer, FenceRequest, FileInfo, FileRequest,
    HumanInput, HumanInputKind, LookUpRequest, PageText, PerformRequest, PutFile,
    ReadClipboardRequest, ReadPageRequest, ReleaseRequest, RenewRequest,
};
pub use perception::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, Comparison, FrameRequest,
    FrameTile, FrameUpdate, IdleReport, ImageFormat, ImageOptions, MarkInputRequest, Observation,
    ObserveRequest, ParseOptions, ParseRequest, ParsedImage, Perception, PerceptionClient,
    PerceptionServer, Redaction, SceneDelta, SensitiveText, StageTiming, StreamRequest,
    WaitForIdleRequest,
};
pub use planner::{
    BackendAttempt, BackendInfo, BackendState, ExtractRequest, Extraction, PlanRequest,
    PlannedDecision, Planner, PlannerClient, PlannerServer, PointerCheck, PointerRequest,
    ResolveRequest, ResolvedTarget, SummarizeRequest, Summary, TargetCandidate, TargetQuery,
};

use std::pin::Pin;

use tokio_stream::{Stream, StreamExt};
use tonic::{Code, Response, Status, Streaming};

use crate::error::{ErrorReport, FieldError, reason};

/// Types that the definitions of the services name.
pub mod definition {
    pub use super::{
        AcquireRequest, ActionProgress, BackendInfo, Capabilities, CaptureRequest, CapturedFrame,
        ClipboardText, CompareRequest, Comparison, DeleteFilesRequest, DownloadedFile, Executor,
        ExtractRequest, Extraction, FenceRequest, FileInfo, FileRequest, FrameRequest, FrameUpdate,
        HumanInput, IdleReport, LookUpRequest, MarkInputRequest, Observation, ObserveRequest,
        PageText, ParseRequest, ParsedImage, Perception, PerformRequest, PlanRequest,
        PlannedDecision, Planner, PointerCheck, PointerRequest, PutFile, ReadClipboardRequest,
        ReadPageRequest, ReleaseRequest, RenewRequest, ResolveRequest, ResolvedTarget,
        ResultStream, StreamRequest, SummarizeRequest, Summary, WaitForIdleRequest,
    };
    pub use crate::domain::desktop::Lease;
    pub use crate::domain::effect::ActionOutcome;
    pub use crate::domain::frame::Display;
    pub use crate::domain::geometry::CapturePoint;
    pub use crate::domain::id::DisplayId;
}

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

/// Converts a stream of messages to a stream of domain values.
fn from_wire<T, D>(
    response: std::result::Result<Response<Streaming<T>>, Status>,
) -> Result<ResultStream<D>>
where
    T: Send + 'static,
    D: TryFrom<T, Error = FieldError> + 'static,
{
    let answers = received(response)?.map(|answer| match answer {
        Ok(answer) => D::try_from(answer).map_err(malformed_response),
        Err(status) => Err(ErrorReport::from_status(&status)),
    });
    Ok(Box::pin(answers))
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

/// Creates the error of a method that is not implemented.
#[must_use]
pub fn not_served(method: &str) -> ErrorReport {
    ErrorReport::new(
        Code::Unimplemented,
        reason::NOT_SERVED,
        format!("{method} is not served"),
    )
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

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::{FileDescriptorSet, MethodDescriptorProto};

    /// Expands to the name and the methods of a service.
    macro_rules! service_methods {
        (
            $(#[$about:meta])*
            service $Service:ident in $module:ident {
                proto $proto:literal;
                transport $transport:tt;
                $(
                    $(#[$doc:meta])*
                    $kind:ident $recorded:ident fn $method:ident($($arg:ident: $Request:ty)?) -> $Response:ty
                        = rpc $rpc:ident($In:ident) returns $Out:ident $(as $Stream:ident)?;
                )+
            }
        ) => {
            ($proto, vec![$([stringify!($kind), stringify!($rpc), stringify!($In), stringify!($Out)]),+])
        };
    }

    fn described(service: &str) -> Vec<MethodDescriptorProto> {
        let described = FileDescriptorSet::decode(crate::FILE_DESCRIPTOR_SET).unwrap();
        let files = described.file.into_iter();
        let services = files.flat_map(|file| {
            let package = file.package().to_owned();
            let full_name = move |name: &str| format!("{package}.{name}");
            let services = file.service.into_iter();
            services.map(move |service| (full_name(service.name()), service.method))
        });
        let found = services.filter(|(name, _)| name == service);
        found.flat_map(|(_, methods)| methods).collect()
    }

    fn last_part(path: &str) -> &str {
        path.rsplit('.').next().unwrap()
    }

    fn check(service: &str, defined: &[[&str; 4]]) {
        let described = described(service);
        let described: Vec<[&str; 4]> = described
            .iter()
            .map(|method| {
                let kind = match (method.client_streaming(), method.server_streaming()) {
                    (false, false) => "unary",
                    (true, _) => "upload",
                    (false, true) if method.name() == "GetFile" => "download",
                    (false, true) => "stream",
                };
                let (request, response) = (method.input_type(), method.output_type());
                [kind, method.name(), last_part(request), last_part(response)]
            })
            .collect();
        assert_eq!(defined, described, "{service}");
    }

    #[test]
    fn definitions_list_the_methods_of_the_contract() {
        let (perception, defined) = crate::perception_service!(service_methods);
        check(perception, &defined);
        let (planner, defined) = crate::planner_service!(service_methods);
        check(planner, &defined);
        let (executor, defined) = crate::executor_service!(service_methods);
        check(executor, &defined);
    }
}
