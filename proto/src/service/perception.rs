//! Perception as a trait, and its two adapters.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_stream::StreamExt;
use tonic::codegen::{Body, Bytes, StdError};
use tonic::{Request, Response, Status};

use super::{AnswerStream, Result, answer};
use crate::convert::{self, require};
use crate::domain::effect::ChangeMap;
use crate::domain::element::Scene;
use crate::domain::frame::{Display, Frame, Image};
use crate::domain::geometry::{CaptureRect, CaptureSize};
use crate::domain::id::{DisplayId, ElementId, FrameId};
use crate::error::{ErrorReport, FieldError};
use crate::limits::MAX_MESSAGE_WITH_IMAGES;
use crate::v1::perception as wire;
use crate::v1::perception::perception_service_client::PerceptionServiceClient;
use crate::v1::perception::perception_service_server::{
    PerceptionService, PerceptionServiceServer,
};

/// Sees. Every call is read-only and may be repeated; dropping the future of a call abandons it.
#[async_trait]
pub trait Perception: Send + Sync + 'static {
    /// Displays that can be captured, the default one first.
    async fn list_displays(&self) -> Result<Vec<Display>>;
    /// Captures a frame without parsing it. The frame is stored.
    async fn capture(&self, request: CaptureRequest) -> Result<Captured>;
    /// Captures a frame and parses it.
    async fn observe(&self, request: ObserveRequest) -> Result<Observation>;
    /// Parses a picture that the caller brings.
    async fn parse(&self, request: ParseRequest) -> Result<Parsed>;
    /// Compares two stored frames.
    async fn compare(&self, request: CompareRequest) -> Result<Comparison>;
    /// Waits until the screen is quiet.
    async fn await_quiet(&self, request: AwaitQuiet) -> Result<Quiet>;
    /// Streams frames for people to watch.
    async fn stream_frames(&self, request: StreamRequest) -> Result<AnswerStream<FrameUpdate>>;
    /// Gets a stored frame's picture.
    async fn get_frame(&self, frame: FrameId, image: ImageOptions) -> Result<Captured>;
}

/// What to encode a picture as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageFormat {
    #[default]
    Png,
    WebpLossless,
    /// Quality 1 to 100.
    Jpeg {
        quality: u8,
    },
}

/// How a picture is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImageOptions {
    pub format: ImageFormat,
    /// Scaled down to fit, never up.
    pub fit: Option<CaptureSize>,
}

/// A part of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CaptureArea {
    #[default]
    Display,
    Monitor(String),
    Window(String),
    Region(CaptureRect),
}

/// Something that must not be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redaction {
    Region(CaptureRect),
    /// A regular expression; text that matches it is painted over wherever it is read.
    TextPattern(String),
    /// What is seen of a window, by its identifier, or of all windows of an application, by its name.
    Window(String),
    SensitiveText(SensitiveText),
}

/// Kinds of text that are often to be hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SensitiveText {
    CardNumber,
    EmailAddress,
}

/// How to look at a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// How many times the picture is enlarged before it is looked at; `None`: as it is.
    pub magnification: Option<u32>,
    /// Join lines of one block of text into one element.
    pub join_paragraphs: bool,
}

impl ParseOptions {
    /// The greatest enlargement: beyond it text gets blurred rather than clear.
    pub const MAX_MAGNIFICATION: u32 = 4;
}

/// Which frame to capture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CaptureRequest {
    /// `None`: the default one.
    pub display: Option<DisplayId>,
    pub area: CaptureArea,
    pub omit_cursor: bool,
    /// `None`: no picture is encoded.
    pub image: Option<ImageOptions>,
    pub redactions: Vec<Redaction>,
    /// Mark the mouse pointer in the picture, not in the frame: a ring, an arrow and the words.
    pub mark_pointer: bool,
}

/// A stored frame, with its picture if one was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Captured {
    pub frame: Frame,
    pub image: Option<Image>,
}

/// What to observe.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObserveRequest {
    pub capture: CaptureRequest,
    /// `None`: all.
    pub max_elements: Option<u32>,
    pub marked_image: Option<ImageOptions>,
    /// Also say what changed since the scene of this frame.
    pub since_frame: Option<FrameId>,
    pub parsing: ParseOptions,
}

/// How long a stage took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageTiming {
    pub stage: String,
    pub elapsed: Duration,
}

/// What a scene changed against an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SceneDelta {
    pub since_frame: FrameId,
    pub added: Vec<ElementId>,
    pub removed: Vec<ElementId>,
    pub changed: Vec<ElementId>,
}

/// A frame and what is on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub frame: Frame,
    pub image: Option<Image>,
    pub scene: Scene,
    pub marked_image: Option<Image>,
    pub prompt_lines: Vec<String>,
    /// `None` unless asked for, or if that scene is no longer known.
    pub delta: Option<SceneDelta>,
    pub timings: Vec<StageTiming>,
}

/// A picture to parse. Its content must be bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct ParseRequest {
    pub image: Image,
    /// `None`: all.
    pub max_elements: Option<u32>,
    pub marked_image: Option<ImageOptions>,
    pub parsing: ParseOptions,
}

/// What is on a picture. The scene's frame id is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    pub size: CaptureSize,
    pub scene: Scene,
    pub marked_image: Option<Image>,
    pub prompt_lines: Vec<String>,
    pub timings: Vec<StageTiming>,
}

/// Two stored frames to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareRequest {
    pub before: FrameId,
    pub after: FrameId,
    /// A pixel has changed if its grey value differs by more.
    pub threshold: u8,
    /// Regions that do not count.
    pub ignore: Vec<CaptureRect>,
    /// Boxes whose own share is wanted.
    pub near: Vec<CaptureRect>,
}

impl CompareRequest {
    /// Grey values that differ by no more than this are the same (the origin's rule).
    pub const DEFAULT_THRESHOLD: u8 = 15;

    /// A comparison with the default threshold and no boxes.
    #[must_use]
    pub fn new(before: FrameId, after: FrameId) -> Self {
        Self {
            before,
            after,
            threshold: Self::DEFAULT_THRESHOLD,
            ignore: Vec::new(),
            near: Vec::new(),
        }
    }
}

/// What changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub change: ChangeMap,
    /// Share of each box of `near`, 0 to 1.
    pub near_shares: Vec<f64>,
}

/// How to wait for quiet. The defaults are those measured for ordinary applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitQuiet {
    pub display: Option<DisplayId>,
    /// A difference from this frame counts as the first change.
    pub since_frame: Option<FrameId>,
    pub first_change_timeout: Duration,
    pub quiet: Duration,
    pub timeout: Duration,
    /// Changes of up to so many pixels do not count.
    pub ignore_pixels: u32,
    pub ignore: Vec<CaptureRect>,
}

impl Default for AwaitQuiet {
    fn default() -> Self {
        Self {
            display: None,
            since_frame: None,
            first_change_timeout: Duration::from_millis(300),
            quiet: Duration::from_millis(120),
            timeout: Duration::from_secs(2),
            ignore_pixels: 64,
            ignore: Vec::new(),
        }
    }
}

/// How the waiting ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quiet {
    /// False: the time was up before the screen was quiet.
    pub settled: bool,
    pub changed: bool,
    pub elapsed: Duration,
    pub first_change_after: Option<Duration>,
    pub still_changing: Vec<CaptureRect>,
    /// Regions that kept changing by little: a caret, a clock.
    pub noise: Vec<CaptureRect>,
}

/// How to watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamRequest {
    pub display: Option<DisplayId>,
    pub max_frames_per_second: u32,
    pub image: ImageOptions,
    pub redactions: Vec<Redaction>,
}

/// One message of the live stream.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameUpdate {
    pub sequence: u64,
    pub frame: Frame,
    pub tiles: Vec<FrameTile>,
}

/// A piece of a frame.
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
    /// The tonic service, with the message limits of the contract.
    pub fn tonic(inner: Arc<dyn Perception>) -> PerceptionServiceServer<Self> {
        PerceptionServiceServer::new(Self { inner })
            .max_decoding_message_size(MAX_MESSAGE_WITH_IMAGES)
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
            displays: convert::all(displays),
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
            near_shares: comparison.near_shares,
        };
        Ok(Response::new(response))
    }

    async fn await_quiet(
        &self,
        request: Request<wire::AwaitQuietRequest>,
    ) -> std::result::Result<Response<wire::AwaitQuietResponse>, Status> {
        let quiet = self
            .inner
            .await_quiet(request.into_inner().try_into()?)
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
    /// A client over a channel.
    pub fn new(channel: C) -> Self {
        Self {
            inner: PerceptionServiceClient::new(channel)
                .max_decoding_message_size(MAX_MESSAGE_WITH_IMAGES),
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
        convert::try_all("displays", displays).map_err(super::malformed_answer)
    }

    async fn capture(&self, request: CaptureRequest) -> Result<Captured> {
        answer(
            self.inner
                .clone()
                .capture(wire::CaptureRequest::from(request))
                .await,
        )
    }

    async fn observe(&self, request: ObserveRequest) -> Result<Observation> {
        answer(
            self.inner
                .clone()
                .observe(wire::ObserveRequest::from(request))
                .await,
        )
    }

    async fn parse(&self, request: ParseRequest) -> Result<Parsed> {
        answer(
            self.inner
                .clone()
                .parse(wire::ParseRequest::from(request))
                .await,
        )
    }

    async fn compare(&self, request: CompareRequest) -> Result<Comparison> {
        answer(
            self.inner
                .clone()
                .compare(wire::CompareRequest::from(request))
                .await,
        )
    }

    async fn await_quiet(&self, request: AwaitQuiet) -> Result<Quiet> {
        answer(
            self.inner
                .clone()
                .await_quiet(wire::AwaitQuietRequest::from(request))
                .await,
        )
    }

    async fn stream_frames(&self, request: StreamRequest) -> Result<AnswerStream<FrameUpdate>> {
        let response = self
            .inner
            .clone()
            .stream_frames(wire::StreamFramesRequest::from(request))
            .await;
        let updates = super::received(response)?.map(|update| match update {
            Ok(update) => FrameUpdate::try_from(update).map_err(super::malformed_answer),
            Err(status) => Err(ErrorReport::from_status(&status)),
        });
        Ok(Box::pin(updates))
    }

    async fn get_frame(&self, frame: FrameId, image: ImageOptions) -> Result<Captured> {
        let request = wire::GetFrameRequest {
            frame: frame.as_str().to_owned(),
            image: Some(image.into()),
        };
        let response = super::received(self.inner.clone().get_frame(request).await)?;
        let frame = require("frame", response.frame).map_err(super::malformed_answer)?;
        let image = convert::optional("image", response.image).map_err(super::malformed_answer)?;
        Ok(Captured { frame, image })
    }
}
