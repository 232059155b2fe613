//! The three services with recorded or replayed exchanges.
//!
//! Streams, lease renewals and methods that the run loop never calls are passed through and not recorded.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::convert::{self, require, wire_duration};
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::domain::frame::Display;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId, FrameId};
use motorium_proto::error::FieldError;
use motorium_proto::service::{
    AcquireRequest, ActionProgress, BackendInfo, Capabilities, CaptureRequest, CapturedFrame,
    CompareRequest, Comparison, Executor, ExtractRequest, Extraction, FileInfo, FrameUpdate,
    HumanInput, IdleReport, ImageOptions, Observation, ObserveRequest, PageText, ParseRequest,
    ParsedImage, Perception, PerformRequest, PlanRequest, PlannedDecision, Planner, PointerCheck,
    PointerRequest, PutFile, ResolveRequest, ResolvedTarget, Result, ResultStream, StreamRequest,
    SummarizeRequest, Summary, WaitForIdleRequest,
};
use motorium_proto::v1::{executor as hands, perception as eyes, planner as mind};

use super::RecordingMode;
use crate::ports::Ports;

pub const OBSERVE: &str = "/motorium.perception.v1.PerceptionService/Observe";

/// Wraps services so that their exchanges are recorded or replayed.
pub fn recording_ports(ports: Ports, tape: &RecordingMode) -> Ports {
    let over = Arc::new(RecordingPorts {
        ports,
        tape: tape.clone(),
    });
    Ports {
        perception: over.clone(),
        planner: over.clone(),
        executor: over,
    }
}

struct RecordingPorts {
    ports: Ports,
    tape: RecordingMode,
}

/// Exchanges a request whose domain types convert directly to and from their messages.
macro_rules! over {
    ($self:ident, $method:expr, $request:expr, $asked:ty, $told:ty, $work:expr) => {
        $self
            .tape
            .exchange(
                $method,
                <$asked>::from($request.clone()),
                $work,
                <$told>::from,
                |answer: $told| answer.try_into(),
            )
            .await
    };
}

#[async_trait]
impl Perception for RecordingPorts {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        self.ports.perception.list_displays().await
    }

    async fn capture(&self, request: CaptureRequest) -> Result<CapturedFrame> {
        let inner = &self.ports.perception;
        over!(
            self,
            "/motorium.perception.v1.PerceptionService/Capture",
            request,
            eyes::CaptureRequest,
            eyes::CaptureResponse,
            inner.capture(request)
        )
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        let inner = &self.ports.perception;
        over!(
            self,
            OBSERVE,
            request,
            eyes::ObserveRequest,
            eyes::ObserveResponse,
            inner.observe(request)
        )
    }

    async fn parse(&self, request: ParseRequest) -> Result<ParsedImage> {
        self.ports.perception.parse(request).await
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        let asked = eyes::CompareRequest::from(request.clone());
        let told = |comparison: Comparison| eyes::CompareResponse {
            change: Some(comparison.change.into()),
            measured_shares: comparison.measured_shares,
        };
        self.tape
            .exchange(
                "/motorium.perception.v1.PerceptionService/Compare",
                asked,
                self.ports.perception.compare(request),
                told,
                |answer: eyes::CompareResponse| answer.try_into(),
            )
            .await
    }

    async fn wait_for_idle(&self, request: WaitForIdleRequest) -> Result<IdleReport> {
        let inner = &self.ports.perception;
        over!(
            self,
            "/motorium.perception.v1.PerceptionService/WaitForIdle",
            request,
            eyes::WaitForIdleRequest,
            eyes::WaitForIdleResponse,
            inner.wait_for_idle(request)
        )
    }

    async fn stream_frames(&self, request: StreamRequest) -> Result<ResultStream<FrameUpdate>> {
        self.ports.perception.stream_frames(request).await
    }

    async fn get_frame(&self, frame: FrameId, image: ImageOptions) -> Result<CapturedFrame> {
        self.ports.perception.get_frame(frame, image).await
    }
}

#[async_trait]
impl Planner for RecordingPorts {
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        let inner = &self.ports.planner;
        over!(
            self,
            "/motorium.planner.v1.PlannerService/Plan",
            request,
            mind::PlanRequest,
            mind::PlanResponse,
            inner.plan(request)
        )
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        self.ports.planner.summarize(request).await
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
        let inner = &self.ports.planner;
        over!(
            self,
            "/motorium.planner.v1.PlannerService/Extract",
            request,
            mind::ExtractRequest,
            mind::ExtractResponse,
            inner.extract(request)
        )
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        let inner = &self.ports.planner;
        over!(
            self,
            "/motorium.planner.v1.PlannerService/LocatePointer",
            request,
            mind::LocatePointerRequest,
            mind::LocatePointerResponse,
            inner.locate_pointer(request)
        )
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<ResolvedTarget> {
        let inner = &self.ports.planner;
        over!(
            self,
            "/motorium.planner.v1.PlannerService/ResolveTarget",
            request,
            mind::ResolveTargetRequest,
            mind::ResolveTargetResponse,
            inner.resolve_target(request)
        )
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        let told = |backends: Vec<BackendInfo>| mind::ListBackendsResponse {
            backends: convert::into_messages(backends),
        };
        let read = |answer: mind::ListBackendsResponse| {
            convert::try_from_messages("backends", answer.backends)
        };
        self.tape
            .exchange(
                "/motorium.planner.v1.PlannerService/ListBackends",
                mind::ListBackendsRequest::default(),
                self.ports.planner.list_backends(),
                told,
                read,
            )
            .await
    }
}

fn name_of(display: Option<&DisplayId>) -> String {
    display
        .map(|display| display.as_str().to_owned())
        .unwrap_or_default()
}

#[async_trait]
impl Executor for RecordingPorts {
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease> {
        let asked = hands::AcquireDesktopRequest {
            display: name_of(request.display.as_ref()),
            holder: request.holder.clone(),
            ttl: Some(wire_duration(request.ttl)),
            take_over: request.take_over,
        };
        let told = |lease: Lease| hands::AcquireDesktopResponse {
            lease: Some(lease.into()),
        };
        let read = |answer: hands::AcquireDesktopResponse| require("lease", answer.lease);
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/AcquireDesktop",
                asked,
                self.ports.executor.acquire_desktop(request),
                told,
                read,
            )
            .await
    }

    async fn renew_lease(
        &self,
        display: DisplayId,
        epoch: DesktopEpoch,
        ttl: Duration,
    ) -> Result<Lease> {
        self.ports.executor.renew_lease(display, epoch, ttl).await
    }

    async fn release_desktop(&self, display: DisplayId, epoch: DesktopEpoch) -> Result<()> {
        self.ports.executor.release_desktop(display, epoch).await
    }

    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome> {
        let asked = hands::PerformRequest::from(request.clone());
        let told = |outcome: ActionOutcome| hands::PerformResponse {
            outcome: Some(outcome.into()),
        };
        let read = |answer: hands::PerformResponse| require("outcome", answer.outcome);
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/Perform",
                asked,
                self.ports.executor.perform(request),
                told,
                read,
            )
            .await
    }

    async fn look_up_action(
        &self,
        display: Option<DisplayId>,
        action_id: ActionId,
    ) -> Result<ActionProgress> {
        let asked = hands::LookUpActionRequest {
            display: name_of(display.as_ref()),
            action_id: action_id.as_str().to_owned(),
        };
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/LookUpAction",
                asked,
                self.ports.executor.look_up_action(display, action_id),
                hands::LookUpActionResponse::from,
                |answer: hands::LookUpActionResponse| answer.try_into(),
            )
            .await
    }

    async fn release_all(&self, display: Option<DisplayId>) -> Result<Vec<String>> {
        let asked = hands::ReleaseAllRequest {
            display: name_of(display.as_ref()),
        };
        let told = |released: Vec<String>| hands::ReleaseAllResponse { released };
        let read = |answer: hands::ReleaseAllResponse| Ok::<_, FieldError>(answer.released);
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/ReleaseAll",
                asked,
                self.ports.executor.release_all(display),
                told,
                read,
            )
            .await
    }

    async fn get_pointer(&self, display: Option<DisplayId>) -> Result<CapturePoint> {
        let asked = hands::GetPointerRequest {
            display: name_of(display.as_ref()),
        };
        let told = |pointer: CapturePoint| hands::GetPointerResponse {
            pointer: Some(pointer.into()),
        };
        let read = |answer: hands::GetPointerResponse| require("pointer", answer.pointer);
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/GetPointer",
                asked,
                self.ports.executor.get_pointer(display),
                told,
                read,
            )
            .await
    }

    async fn read_page(
        &self,
        display: Option<DisplayId>,
        max_characters: usize,
    ) -> Result<PageText> {
        let asked = hands::ReadPageRequest {
            display: name_of(display.as_ref()),
            max_characters: u32::try_from(max_characters).unwrap_or(u32::MAX),
        };
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/ReadPage",
                asked,
                self.ports.executor.read_page(display, max_characters),
                hands::ReadPageResponse::from,
                |answer: hands::ReadPageResponse| answer.try_into(),
            )
            .await
    }

    /// Records only the file's header. Its content is an attachment of the task.
    async fn put_file(&self, file: PutFile) -> Result<FileInfo> {
        use hands::put_file_request::Part;

        let header = hands::PutFileHeader {
            display: name_of(file.display.as_ref()),
            epoch: file.epoch.0,
            name: file.name.clone(),
            overwrite: file.overwrite,
        };
        let asked = hands::PutFileRequest {
            part: Some(Part::Header(header)),
        };
        let told = |info: FileInfo| hands::PutFileResponse {
            file: Some(info.into()),
        };
        let read = |answer: hands::PutFileResponse| require("file", answer.file);
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/PutFile",
                asked,
                self.ports.executor.put_file(file),
                told,
                read,
            )
            .await
    }

    /// Records only the file's metadata. Its content is an artifact of the task.
    async fn get_file(&self, display: Option<DisplayId>, name: &str) -> Result<(FileInfo, Bytes)> {
        let asked = hands::GetFileRequest {
            display: name_of(display.as_ref()),
            name: name.to_owned(),
        };
        let told = |(info, _): (FileInfo, Bytes)| hands::FileInfo::from(info);
        let read = |info: hands::FileInfo| Ok((info.try_into()?, Bytes::new()));
        let fetched = self
            .tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/GetFile",
                asked,
                self.ports.executor.get_file(display, name),
                told,
                read,
            )
            .await?;
        match &self.tape {
            RecordingMode::Replaying(playback) => {
                let content = playback.content(&fetched.0.sha256).unwrap_or_default();
                Ok((fetched.0, content))
            }
            _ => Ok(fetched),
        }
    }

    async fn stat_file(&self, display: Option<DisplayId>, name: &str) -> Result<Option<FileInfo>> {
        let asked = hands::StatFileRequest {
            display: name_of(display.as_ref()),
            name: name.to_owned(),
        };
        let told = |file: Option<FileInfo>| hands::StatFileResponse {
            file: file.map(Into::into),
        };
        let read = |answer: hands::StatFileResponse| convert::optional("file", answer.file);
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/StatFile",
                asked,
                self.ports.executor.stat_file(display, name),
                told,
                read,
            )
            .await
    }

    async fn get_capabilities(&self, display: Option<DisplayId>) -> Result<Capabilities> {
        let asked = hands::GetCapabilitiesRequest {
            display: name_of(display.as_ref()),
        };
        self.tape
            .exchange(
                "/motorium.executor.v1.ExecutorService/GetCapabilities",
                asked,
                self.ports.executor.get_capabilities(display),
                hands::GetCapabilitiesResponse::from,
                |answer: hands::GetCapabilitiesResponse| answer.try_into(),
            )
            .await
    }

    async fn watch_human_input(
        &self,
        display: Option<DisplayId>,
    ) -> Result<ResultStream<HumanInput>> {
        self.ports.executor.watch_human_input(display).await
    }
}
