//! The Perception service as a trait, with its server and client adapters.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_stream::StreamExt;
use tonic::codegen::{Body, Bytes, StdError};
use tonic::{Request, Response, Status};

use super::{Result, ResultStream, response};
use crate::convert::{self, require};
use crate::domain::effect::ChangeMap;
use crate::domain::element::Scene;
use crate::domain::frame::{Display, Frame, Image};
use crate::domain::geometry::{CaptureRect, CaptureSize};
use crate::domain::id::{DisplayId, ElementId, FrameId};
use crate::error::{ErrorReport, FieldError};
use crate::limits::MAX_IMAGE_MESSAGE_BYTES;
use crate::v1::perception as wire;
use crate::v1::perception::perception_service_client::PerceptionServiceClient;
use crate::v1::perception::perception_service_server::{
    PerceptionService, PerceptionServiceServer,
};

/// Captures and parses the screen. All calls are read-only and may be retried; dropping a call's future cancels it.
#[async_trait]
pub trait Perception: Send + Sync + 'static {
    /// Lists the displays that can be captured, the default one first.
    async fn list_displays(&self) -> Result<Vec<Display>>;
    /// Captures a frame without parsing it. The frame is stored.
    async fn capture(&self, request: CaptureRequest) -> Result<CapturedFrame>;
    /// Captures a frame and parses it.
    async fn observe(&self, request: ObserveRequest) -> Result<Observation>;
    /// Parses an image that the caller supplies.
    async fn parse(&self, request: ParseRequest) -> Result<ParsedImage>;
    /// Compares two stored frames.
    async fn compare(&self, request: CompareRequest) -> Result<Comparison>;
    /// Waits until the screen is idle.
    async fn wait_for_idle(&self, request: WaitForIdleRequest) -> Result<IdleReport>;
    /// Streams frames for live viewing.
    async fn stream_frames(&self, request: StreamRequest) -> Result<ResultStream<FrameUpdate>>;
    /// Gets the image of a stored frame.
    async fn get_frame(&self, frame: FrameId, image: ImageOptions) -> Result<CapturedFrame>;
}

/// Format of an encoded image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageFormat {
    #[default]
    Png,
    WebpLossless,
    /// JPEG with a quality from 1 to 100.
    Jpeg {
        quality: u8,
    },
}

/// Options for encoding an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageOptions {
    pub format: ImageFormat,
    /// Maximum size. Larger images are scaled down; smaller ones are never enlarged.
    pub fit: Option<CaptureSize>,
}

/// Part of a display to capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CaptureArea {
    #[default]
    Display,
    Monitor(String),
    Window(String),
    Region(CaptureRect),
}

/// Content to redact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redaction {
    Region(CaptureRect),
    /// Regular expression; recognised text that matches it is redacted.
    TextPattern(String),
    /// A window, by its identifier, or all windows of an application, by its name.
    Window(String),
    SensitiveText(SensitiveText),
}

/// Kind of sensitive text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SensitiveText {
    CardNumber,
    EmailAddress,
}

/// Options for parsing an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// Factor to enlarge the image by before parsing; `None` for no magnification.
    pub magnification: Option<u32>,
    /// True to join the lines of a text block into one element.
    pub join_paragraphs: bool,
}

impl ParseOptions {
    /// Maximum magnification.
    // Beyond it, text gets blurred rather than clear.
    pub const MAX_MAGNIFICATION: u32 = 4;
}

/// Request of [`Perception::capture`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureRequest {
    /// `None` for the default display.
    pub display: Option<DisplayId>,
    pub area: CaptureArea,
    pub omit_cursor: bool,
    /// Options for the returned image; `None` for no image.
    pub image: Option<ImageOptions>,
    pub redactions: Vec<Redaction>,
    /// True to mark the mouse pointer in the returned image (not in the frame): a ring, an arrow and a caption.
    pub mark_pointer: bool,
}

/// A stored frame, with its image if one was requested.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturedFrame {
    pub frame: Frame,
    pub image: Option<Image>,
}

/// Request of [`Perception::observe`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObserveRequest {
    pub capture: CaptureRequest,
    /// `None` for no limit.
    pub max_elements: Option<u32>,
    pub annotated_image: Option<ImageOptions>,
    /// Also return the changes since the scene of this frame.
    pub since_frame: Option<FrameId>,
    pub parsing: ParseOptions,
}

/// Duration of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTiming {
    pub stage: String,
    pub elapsed: Duration,
}

/// Difference between a scene and an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneDelta {
    pub since_frame: FrameId,
    pub added: Vec<ElementId>,
    pub removed: Vec<ElementId>,
    pub changed: Vec<ElementId>,
}

/// A frame and its parsed scene.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub frame: Frame,
    pub image: Option<Image>,
    pub scene: Scene,
    pub annotated_image: Option<Image>,
    pub prompt_lines: Vec<String>,
    /// `None` if not requested, or if that scene is no longer stored.
    pub delta: Option<SceneDelta>,
    pub timings: Vec<StageTiming>,
}

/// Request of [`Perception::parse`]. The content of the image must be bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct ParseRequest {
    pub image: Image,
    /// `None` for no limit.
    pub max_elements: Option<u32>,
    pub annotated_image: Option<ImageOptions>,
    pub parsing: ParseOptions,
}

/// A parsed image. The frame id of its scene is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedImage {
    pub size: CaptureSize,
    pub scene: Scene,
    pub annotated_image: Option<Image>,
    pub prompt_lines: Vec<String>,
    pub timings: Vec<StageTiming>,
}

/// Request of [`Perception::compare`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareRequest {
    pub before: FrameId,
    pub after: FrameId,
    /// Grey value threshold. A pixel has changed if its grey value differs by more than this.
    pub threshold: u8,
    /// Regions to ignore.
    pub ignore: Vec<CaptureRect>,
    /// Regions whose own fraction of changed pixels to measure.
    pub measured_regions: Vec<CaptureRect>,
}

impl CompareRequest {
    /// Default of `threshold`.
    // The value of the original implementation.
    pub const DEFAULT_THRESHOLD: u8 = 15;

    /// Creates a request with the default threshold and no regions.
    #[must_use]
    pub fn new(before: FrameId, after: FrameId) -> Self {
        Self {
            before,
            after,
            threshold: Self::DEFAULT_THRESHOLD,
            ignore: Vec::new(),
            measured_regions: Vec::new(),
        }
    }
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub change: ChangeMap,
    /// Fraction of changed pixels in each of `measured_regions`, 0 to 1.
    pub measured_shares: Vec<f64>,
}

/// Request of [`Perception::wait_for_idle`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitForIdleRequest {
    pub display: Option<DisplayId>,
    /// Frame from before the action. A difference from it counts as the first change.
    pub since_frame: Option<FrameId>,
    pub first_change_timeout: Duration,
    pub idle_duration: Duration,
    pub timeout: Duration,
    /// Largest change to ignore, in pixels.
    pub ignore_pixels: u32,
    pub ignore: Vec<CaptureRect>,
}

impl Default for WaitForIdleRequest {
    fn default() -> Self {
        Self {
            display: None,
            since_frame: None,
            // The defaults are documented in the contract; they suit ordinary desktop applications.
            first_change_timeout: Duration::from_millis(300),
            idle_duration: Duration::from_millis(120),
            timeout: Duration::from_secs(2),
            ignore_pixels: 64,
            ignore: Vec::new(),
        }
    }
}

/// Result of waiting for an idle screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleReport {
    /// False if the timeout was reached before the screen was idle.
    pub settled: bool,
    pub changed: bool,
    pub elapsed: Duration,
    pub first_change_after: Option<Duration>,
    pub still_changing: Vec<CaptureRect>,
    /// Regions with background motion: small repeated changes, such as a caret or a clock.
    pub background_motion: Vec<CaptureRect>,
}

/// Request of [`Perception::stream_frames`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRequest {
    pub display: Option<DisplayId>,
    pub max_frames_per_second: u32,
    pub image: ImageOptions,
    pub redactions: Vec<Redaction>,
}

/// One update of the live stream.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameUpdate {
    pub sequence: u64,
    pub frame: Frame,
    pub tiles: Vec<FrameTile>,
}

/// A rectangular part of a frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameTile {
    pub bounds: CaptureRect,
    pub image: Image,
}

/// Serves a [`Perception`] over gRPC.
#[derive(Clone)]
pub struct PerceptionServer {
    inner: Arc<dyn Perception>,
}

impl std::fmt::Debug for PerceptionServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PerceptionServer").finish_non_exhaustive()
    }
}

impl PerceptionServer {
    /// Returns the tonic service, with the message limits of the contract.
    pub fn tonic(inner: Arc<dyn Perception>) -> PerceptionServiceServer<Self> {
        PerceptionServiceServer::new(Self { inner })
            .max_decoding_message_size(MAX_IMAGE_MESSAGE_BYTES)
    }
}

#[async_trait]
impl PerceptionService for PerceptionServer {
    type StreamFramesStream = super::WireStream<wire::StreamFramesResponse>;

    async fn list_displays(
        &self,
        _: Request<wire::ListDisplaysRequest>,
    ) -> std::result::Result<Response<wire::ListDisplaysResponse>, Status> {
        let displays = self.inner.list_displays().await?;
        Ok(Response::new(wire::ListDisplaysResponse {
            displays: convert::into_messages(displays),
        }))
    }

    async fn capture(
        &self,
        request: Request<wire::CaptureRequest>,
    ) -> std::result::Result<Response<wire::CaptureResponse>, Status> {
        let captured = self.inner.capture(request.into_inner().try_into()?).await?;
        Ok(Response::new(captured.into()))
    }

    async fn observe(
        &self,
        request: Request<wire::ObserveRequest>,
    ) -> std::result::Result<Response<wire::ObserveResponse>, Status> {
        let observation = self.inner.observe(request.into_inner().try_into()?).await?;
        Ok(Response::new(observation.into()))
    }

    async fn parse(
        &self,
        request: Request<wire::ParseRequest>,
    ) -> std::result::Result<Response<wire::ParseResponse>, Status> {
        let parsed = self.inner.parse(request.into_inner().try_into()?).await?;
        Ok(Response::new(parsed.into()))
    }

    async fn compare(
        &self,
        request: Request<wire::CompareRequest>,
    ) -> std::result::Result<Response<wire::CompareResponse>, Status> {
        let comparison = self.inner.compare(request.into_inner().try_into()?).await?;
        let response = wire::CompareResponse {
            change: Some(comparison.change.into()),
            measured_shares: comparison.measured_shares,
        };
        Ok(Response::new(response))
    }

    async fn wait_for_idle(
        &self,
        request: Request<wire::WaitForIdleRequest>,
    ) -> std::result::Result<Response<wire::WaitForIdleResponse>, Status> {
        let quiet = self
            .inner
            .wait_for_idle(request.into_inner().try_into()?)
            .await?;
        Ok(Response::new(quiet.into()))
    }

    async fn stream_frames(
        &self,
        request: Request<wire::StreamFramesRequest>,
    ) -> std::result::Result<Response<Self::StreamFramesStream>, Status> {
        let updates = self
            .inner
            .stream_frames(request.into_inner().try_into()?)
            .await?;
        Ok(Response::new(super::to_wire(updates)))
    }

    async fn get_frame(
        &self,
        request: Request<wire::GetFrameRequest>,
    ) -> std::result::Result<Response<wire::GetFrameResponse>, Status> {
        let request = request.into_inner();
        if request.frame.is_empty() {
            return Err(FieldError::missing("frame").into());
        }
        let image = request
            .image
            .unwrap_or_default()
            .try_into()
            .map_err(|error: FieldError| error.within("image"))?;
        let captured = self
            .inner
            .get_frame(FrameId::new(request.frame), image)
            .await?;
        Ok(Response::new(wire::GetFrameResponse {
            frame: Some(captured.frame.into()),
            image: captured.image.map(Into::into),
        }))
    }
}

/// A [`Perception`] across the network.
#[derive(Debug, Clone)]
pub struct PerceptionClient<C> {
    inner: PerceptionServiceClient<C>,
}

impl<C> PerceptionClient<C>
where
    C: tonic::client::GrpcService<tonic::body::Body>,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
{
    /// Creates a client over a channel.
    pub fn new(channel: C) -> Self {
        Self {
            inner: PerceptionServiceClient::new(channel)
                .max_decoding_message_size(MAX_IMAGE_MESSAGE_BYTES),
        }
    }
}

#[async_trait]
impl<C> Perception for PerceptionClient<C>
where
    C: tonic::client::GrpcService<tonic::body::Body> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    async fn list_displays(&self) -> Result<Vec<Display>> {
        let response = self
            .inner
            .clone()
            .list_displays(wire::ListDisplaysRequest {})
            .await;
        let displays = super::received(response)?.displays;
        convert::try_from_messages("displays", displays).map_err(super::malformed_response)
    }

    async fn capture(&self, request: CaptureRequest) -> Result<CapturedFrame> {
        response(
            self.inner
                .clone()
                .capture(wire::CaptureRequest::from(request))
                .await,
        )
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        response(
            self.inner
                .clone()
                .observe(wire::ObserveRequest::from(request))
                .await,
        )
    }

    async fn parse(&self, request: ParseRequest) -> Result<ParsedImage> {
        response(
            self.inner
                .clone()
                .parse(wire::ParseRequest::from(request))
                .await,
        )
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        response(
            self.inner
                .clone()
                .compare(wire::CompareRequest::from(request))
                .await,
        )
    }

    async fn wait_for_idle(&self, request: WaitForIdleRequest) -> Result<IdleReport> {
        response(
            self.inner
                .clone()
                .wait_for_idle(wire::WaitForIdleRequest::from(request))
                .await,
        )
    }

    async fn stream_frames(&self, request: StreamRequest) -> Result<ResultStream<FrameUpdate>> {
        let response = self
            .inner
            .clone()
            .stream_frames(wire::StreamFramesRequest::from(request))
            .await;
        let updates = super::received(response)?.map(|update| match update {
            Ok(update) => FrameUpdate::try_from(update).map_err(super::malformed_response),
            Err(status) => Err(ErrorReport::from_status(&status)),
        });
        Ok(Box::pin(updates))
    }

    async fn get_frame(&self, frame: FrameId, image: ImageOptions) -> Result<CapturedFrame> {
        let request = wire::GetFrameRequest {
            frame: frame.as_str().to_owned(),
            image: Some(image.into()),
        };
        let response = super::received(self.inner.clone().get_frame(request).await)?;
        let frame = require("frame", response.frame).map_err(super::malformed_response)?;
        let image =
            convert::optional("image", response.image).map_err(super::malformed_response)?;
        Ok(CapturedFrame { frame, image })
    }
}
