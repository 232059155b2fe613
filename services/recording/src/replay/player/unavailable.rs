//! Services that never respond.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::domain::frame::Display;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId, FrameId};
use motorium_proto::service::{
    AcquireRequest, ActionProgress, BackendInfo, Capabilities, CaptureRequest, CapturedFrame,
    CompareRequest, Comparison, Executor, ExtractRequest, Extraction, FileInfo, FrameUpdate,
    HumanInput, IdleReport, ImageOptions, Observation, ObserveRequest, PageText, ParseRequest,
    ParsedImage, Perception, PerformRequest, PlanRequest, PlannedDecision, Planner, PointerCheck,
    PointerRequest, PutFile, ResolveRequest, ResolvedTarget, Result, ResultStream, StreamRequest,
    SummarizeRequest, Summary, WaitForIdleRequest,
};

use crate::ports::Ports;

/// Returns services for requests that are not in the recording: they never respond.
pub fn unavailable_services() -> Ports {
    let nobody = Arc::new(UnavailableServices);
    Ports {
        perception: nobody.clone(),
        planner: nobody.clone(),
        executor: nobody,
    }
}

struct UnavailableServices;

async fn never<T>() -> Result<T> {
    futures::future::pending().await
}

#[async_trait]
impl Perception for UnavailableServices {
    async fn list_displays(&self) -> Result<Vec<Display>> {
        never().await
    }

    async fn capture(&self, _: CaptureRequest) -> Result<CapturedFrame> {
        never().await
    }

    async fn observe(&self, _: ObserveRequest) -> Result<Observation> {
        never().await
    }

    async fn parse(&self, _: ParseRequest) -> Result<ParsedImage> {
        never().await
    }

    async fn compare(&self, _: CompareRequest) -> Result<Comparison> {
        never().await
    }

    async fn wait_for_idle(&self, _: WaitForIdleRequest) -> Result<IdleReport> {
        never().await
    }

    async fn stream_frames(&self, _: StreamRequest) -> Result<ResultStream<FrameUpdate>> {
        never().await
    }

    async fn get_frame(&self, _: FrameId, _: ImageOptions) -> Result<CapturedFrame> {
        never().await
    }
}

#[async_trait]
impl Planner for UnavailableServices {
    async fn plan(&self, _: PlanRequest) -> Result<PlannedDecision> {
        never().await
    }

    async fn summarize(&self, _: SummarizeRequest) -> Result<Summary> {
        never().await
    }

    async fn extract(&self, _: ExtractRequest) -> Result<Extraction> {
        never().await
    }

    async fn locate_pointer(&self, _: PointerRequest) -> Result<PointerCheck> {
        never().await
    }

    async fn resolve_target(&self, _: ResolveRequest) -> Result<ResolvedTarget> {
        never().await
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        never().await
    }
}

#[async_trait]
impl Executor for UnavailableServices {
    async fn acquire_desktop(&self, _: AcquireRequest) -> Result<Lease> {
        never().await
    }

    async fn renew_lease(&self, _: DisplayId, _: DesktopEpoch, _: Duration) -> Result<Lease> {
        never().await
    }

    async fn release_desktop(&self, _: DisplayId, _: DesktopEpoch) -> Result<()> {
        Ok(())
    }

    async fn perform(&self, _: PerformRequest) -> Result<ActionOutcome> {
        never().await
    }

    async fn look_up_action(&self, _: Option<DisplayId>, _: ActionId) -> Result<ActionProgress> {
        never().await
    }

    async fn release_all(&self, _: Option<DisplayId>) -> Result<Vec<String>> {
        never().await
    }

    async fn get_pointer(&self, _: Option<DisplayId>) -> Result<CapturePoint> {
        never().await
    }

    async fn read_page(&self, _: Option<DisplayId>, _: usize) -> Result<PageText> {
        never().await
    }

    async fn put_file(&self, _: PutFile) -> Result<FileInfo> {
        never().await
    }

    async fn get_file(&self, _: Option<DisplayId>, _: &str) -> Result<(FileInfo, Bytes)> {
        never().await
    }

    async fn stat_file(&self, _: Option<DisplayId>, _: &str) -> Result<Option<FileInfo>> {
        never().await
    }

    async fn get_capabilities(&self, _: Option<DisplayId>) -> Result<Capabilities> {
        never().await
    }

    async fn watch_human_input(&self, _: Option<DisplayId>) -> Result<ResultStream<HumanInput>> {
        Ok(Box::pin(futures::stream::pending()))
    }
}
