//! The Perception service: its definition and its types.
//!
//! It contains no implementation of the service.

use std::time::Duration;

use super::ResultStream;
use crate::domain::effect::ChangeMap;
use crate::domain::element::Scene;
use crate::domain::frame::{Display, Frame, Image};
use crate::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use crate::domain::id::{DisplayId, ElementId, FrameId};
use crate::limits::MAX_IMAGE_MESSAGE_BYTES;
use crate::v1::perception::perception_service_client::PerceptionServiceClient;
use crate::v1::perception::perception_service_server::{
    PerceptionService, PerceptionServiceServer,
};

/// Passes the definition of the Perception service to a macro.
#[macro_export]
macro_rules! perception_service {
    ($expand:ident) => {
        $expand! {
            /// Captures and parses the screen. All calls are read-only and may be retried; dropping a call's future
            /// cancels it.
            service Perception in perception {
                proto "motorium.perception.v1.PerceptionService";
                transport {
                    server PerceptionServer(PerceptionService, PerceptionServiceServer, MAX_IMAGE_MESSAGE_BYTES);
                    client PerceptionClient(PerceptionServiceClient, MAX_IMAGE_MESSAGE_BYTES);
                };

                /// Lists the displays that can be captured, the default one first.
                unary unrecorded fn list_displays() -> Vec<Display>
                    = rpc ListDisplays(ListDisplaysRequest) returns ListDisplaysResponse;
                /// Captures a frame without parsing it. The frame is stored.
                unary recorded fn capture(request: CaptureRequest) -> CapturedFrame
                    = rpc Capture(CaptureRequest) returns CaptureResponse;
                /// Captures a frame and parses it.
                unary recorded fn observe(request: ObserveRequest) -> Observation
                    = rpc Observe(ObserveRequest) returns ObserveResponse;
                /// Parses an image that the caller supplies.
                unary unrecorded fn parse(request: ParseRequest) -> ParsedImage
                    = rpc Parse(ParseRequest) returns ParseResponse;
                /// Compares two stored frames.
                unary recorded fn compare(request: CompareRequest) -> Comparison
                    = rpc Compare(CompareRequest) returns CompareResponse;
                /// Waits until the screen is idle.
                unary recorded fn wait_for_idle(request: WaitForIdleRequest) -> IdleReport
                    = rpc WaitForIdle(WaitForIdleRequest) returns WaitForIdleResponse;
                /// Streams frames for live viewing.
                stream unrecorded fn stream_frames(request: StreamRequest) -> ResultStream<FrameUpdate>
                    = rpc StreamFrames(StreamFramesRequest) returns StreamFramesResponse as StreamFramesStream;
                /// Shows input in the live streams of a display for a moment.
                unary unrecorded fn mark_input(request: MarkInputRequest) -> ()
                    = rpc MarkInput(MarkInputRequest) returns MarkInputResponse;
                /// Gets the image of a stored frame.
                unary unrecorded fn get_frame(request: FrameRequest) -> CapturedFrame
                    = rpc GetFrame(GetFrameRequest) returns GetFrameResponse;
            }
        }
    };
}

perception_service!(service_trait);
perception_service!(service_server);
perception_service!(service_client);

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
    /// Maximum long side of an enlarged image, in pixels.
    // A longer one might be scaled down again before text detection.
    pub const MAX_MAGNIFIED_SIDE: u32 = 1920;

    /// Returns true if an image of this size, in pixels, may be enlarged by a factor.
    #[must_use]
    pub const fn may_magnify(width: u32, height: u32, factor: u32) -> bool {
        let long_side = if width > height { width } else { height };
        long_side.saturating_mul(factor) <= Self::MAX_MAGNIFIED_SIDE
    }
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
    /// True to return [`Observation::prompt_lines`].
    pub include_prompt_lines: bool,
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
    /// One line per element. Empty if not requested.
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
    /// True to return [`ParsedImage::prompt_lines`].
    pub include_prompt_lines: bool,
}

/// A parsed image. The frame id of its scene is empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedImage {
    pub size: CaptureSize,
    pub scene: Scene,
    pub annotated_image: Option<Image>,
    /// One line per element. Empty if not requested.
    pub prompt_lines: Vec<String>,
    pub timings: Vec<StageTiming>,
}

/// Request of [`Perception::compare`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareRequest {
    pub before: FrameId,
    pub after: FrameId,
    /// Grey value threshold. A pixel has changed if its grey value differs by more than this, or the distance of red or blue from
    /// green by more than twice as much.
    pub threshold: u8,
    /// Regions to ignore.
    pub ignore: Vec<CaptureRect>,
    /// Regions whose own fraction of changed pixels to measure.
    pub measured_regions: Vec<CaptureRect>,
    /// Regions of the earlier frame to examine for a vertical shift.
    pub shift_regions: Vec<CaptureRect>,
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
            shift_regions: Vec::new(),
        }
    }
}

/// Result of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub change: ChangeMap,
    /// Fraction of changed pixels in each of `measured_regions`, 0 to 1.
    pub measured_shares: Vec<f64>,
    /// Distance in pixels by which each of `shift_regions` has moved down together with what is above it; 0 if it has not.
    pub vertical_shifts: Vec<i32>,
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
    /// Leave out the pointer's halo, ripples, and the boxes of targets.
    pub omit_input_marks: bool,
}

/// Request of [`Perception::mark_input`]. Coordinates are in display pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkInputRequest {
    pub display: Option<DisplayId>,
    /// Points at which a button is pressed or released.
    pub presses: Vec<CapturePoint>,
    pub target: Option<CaptureRect>,
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

/// Request of [`Perception::get_frame`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRequest {
    pub frame: FrameId,
    pub image: ImageOptions,
}
