//! Conversion of the requests and responses of Perception.
//!
//! It does not check that a display or frame exists: Perception does.

use super::{
    display_name, duration, into_messages, non_empty, optional, require, try_from_messages,
    wire_duration,
};
use crate::domain::frame::Display;
use crate::domain::id::{DisplayId, ElementId, FrameId};
use crate::error::FieldError;
use crate::service::{
    CaptureArea, CaptureRequest, CapturedFrame, CompareRequest, Comparison, FrameRequest,
    FrameTile, FrameUpdate, IdleReport, ImageFormat, ImageOptions, MarkInputRequest, Observation,
    ObserveRequest, ParseOptions, ParseRequest, ParsedImage, Redaction, SceneDelta, SensitiveText,
    StageTiming, StreamRequest, WaitForIdleRequest,
};
use crate::v1::common as common_wire;
use crate::v1::perception as wire;

/// Default JPEG quality, as documented in the contract.
const DEFAULT_QUALITY: u8 = 80;
/// Default frame rate of a live stream, as documented in the contract.
const DEFAULT_FRAMES_PER_SECOND: u32 = 5;

impl TryFrom<wire::ImageOptions> for ImageOptions {
    type Error = FieldError;

    fn try_from(options: wire::ImageOptions) -> Result<Self, FieldError> {
        use wire::ImageFormat as Wire;

        let format = Wire::try_from(options.format).map_err(|_| {
            FieldError::new(
                "format",
                format!("has the unknown value {}", options.format),
            )
        })?;
        let quality = match options.quality {
            // Zero is the value of a field that was not set, and no quality of JPEG.
            0 => DEFAULT_QUALITY,
            quality @ 1..=100 => quality as u8,
            other => {
                return Err(FieldError::new(
                    "quality",
                    format!("is {other}; must be from 1 to 100"),
                ));
            }
        };
        let format = match format {
            Wire::Unspecified | Wire::Png => ImageFormat::Png,
            Wire::Webp => ImageFormat::WebpLossless,
            Wire::Jpeg => ImageFormat::Jpeg { quality },
        };
        Ok(Self {
            format,
            fit: optional("fit", options.fit)?,
        })
    }
}

impl From<ImageOptions> for wire::ImageOptions {
    fn from(options: ImageOptions) -> Self {
        let (format, quality) = match options.format {
            ImageFormat::Png => (wire::ImageFormat::Png, 0),
            ImageFormat::WebpLossless => (wire::ImageFormat::Webp, 0),
            ImageFormat::Jpeg { quality } => (wire::ImageFormat::Jpeg, quality.into()),
        };
        Self {
            format: format.into(),
            quality,
            fit: options.fit.map(Into::into),
        }
    }
}

impl TryFrom<wire::CaptureArea> for CaptureArea {
    type Error = FieldError;

    fn try_from(area: wire::CaptureArea) -> Result<Self, FieldError> {
        use wire::capture_area::Area;

        Ok(match area.area {
            None => CaptureArea::Display,
            Some(Area::Monitor(name)) => CaptureArea::Monitor(name),
            Some(Area::Window(id)) => CaptureArea::Window(id),
            Some(Area::Region(region)) => CaptureArea::Region(require("region", Some(region))?),
        })
    }
}

impl From<CaptureArea> for wire::CaptureArea {
    fn from(area: CaptureArea) -> Self {
        use wire::capture_area::Area;

        let area = match area {
            CaptureArea::Display => None,
            CaptureArea::Monitor(name) => Some(Area::Monitor(name)),
            CaptureArea::Window(id) => Some(Area::Window(id)),
            CaptureArea::Region(region) => Some(Area::Region(region.into())),
        };
        Self { area }
    }
}

impl TryFrom<wire::Redaction> for Redaction {
    type Error = FieldError;

    fn try_from(redaction: wire::Redaction) -> Result<Self, FieldError> {
        use wire::redaction::Target;

        match redaction.target {
            Some(Target::Region(region)) => Ok(Redaction::Region(require("region", Some(region))?)),
            Some(Target::TextPattern(pattern)) => Ok(Redaction::TextPattern(pattern)),
            Some(Target::Window(window)) if window.is_empty() => Err(FieldError::missing("window")),
            Some(Target::Window(window)) => Ok(Redaction::Window(window)),
            Some(Target::SensitiveText(kind)) => sensitive_text(kind).map(Redaction::SensitiveText),
            None => Err(FieldError::missing("target")),
        }
    }
}

impl From<Redaction> for wire::Redaction {
    fn from(redaction: Redaction) -> Self {
        use wire::redaction::Target;

        let what = match redaction {
            Redaction::Region(region) => Target::Region(region.into()),
            Redaction::TextPattern(pattern) => Target::TextPattern(pattern),
            Redaction::Window(window) => Target::Window(window),
            Redaction::SensitiveText(kind) => {
                Target::SensitiveText(wire::SensitiveText::from(kind).into())
            }
        };
        Self { target: Some(what) }
    }
}

enumerations! {
    required sensitive_text("sensitive_text"): wire::SensitiveText => SensitiveText { CardNumber, EmailAddress }
}

impl TryFrom<wire::ParseOptions> for ParseOptions {
    type Error = FieldError;

    fn try_from(options: wire::ParseOptions) -> Result<Self, FieldError> {
        let magnification = match options.magnification {
            0 | 1 => None,
            times if times <= Self::MAX_MAGNIFICATION => Some(times),
            times => {
                let max = Self::MAX_MAGNIFICATION;
                let problem = format!("is {times}; must be at most {max}");
                return Err(FieldError::new("magnification", problem));
            }
        };
        Ok(Self {
            magnification,
            join_paragraphs: options.join_paragraphs,
        })
    }
}

impl From<ParseOptions> for wire::ParseOptions {
    fn from(options: ParseOptions) -> Self {
        Self {
            magnification: options.magnification.unwrap_or_default(),
            join_paragraphs: options.join_paragraphs,
        }
    }
}

one_field_messages! {
    repeated ListDisplaysResponse.displays: Vec<Display>;
}

conversions! {
    wire::CaptureRequest => CaptureRequest {
        display: optional_id(DisplayId),
        area: default,
        omit_cursor: same,
        image: optional,
        redactions: repeated,
        mark_pointer: same,
    }

    wire::CaptureResponse => CapturedFrame {
        frame: required,
        image: optional,
    }

    wire::ObserveRequest => ObserveRequest {
        capture: default,
        max_elements: limit,
        annotated_image: optional,
        since_frame: optional_id(FrameId),
        parsing: default,
        include_prompt_lines: same,
    }

    wire::StageTiming => StageTiming {
        stage: same,
        elapsed: default_duration,
    }

    wire::ObserveResponse => Observation {
        frame: required,
        image: optional,
        scene: required,
        annotated_image: optional,
        prompt_lines: same,
        delta: optional,
        timings: repeated,
    }

    wire::ParseRequest => ParseRequest {
        image: required,
        max_elements: limit,
        annotated_image: optional,
        parsing: default,
        include_prompt_lines: same,
    }

    wire::ParseResponse => ParsedImage {
        size: required,
        scene: required,
        annotated_image: optional,
        prompt_lines: same,
        timings: repeated,
    }

    wire::CompareResponse => Comparison {
        change: required,
        measured_shares: same,
        vertical_shifts: same,
    }

    wire::WaitForIdleResponse => IdleReport {
        settled: same,
        changed: same,
        elapsed: default_duration,
        first_change_after: duration,
        still_changing: repeated,
        background_motion: repeated,
    }

    wire::FrameTile => FrameTile {
        bounds: required,
        image: required,
    }

    wire::StreamFramesResponse => FrameUpdate {
        sequence: same,
        frame: required,
        tiles: repeated,
    }

    wire::GetFrameRequest => FrameRequest {
        frame: required_id(FrameId),
        image: default,
    }

    wire::GetFrameResponse => CapturedFrame {
        frame: required,
        image: optional,
    }
}

fn frame_name(frame: Option<FrameId>) -> String {
    frame
        .map(|frame| frame.as_str().to_owned())
        .unwrap_or_default()
}

fn element_ids(numbers: Vec<u32>) -> Vec<ElementId> {
    numbers.into_iter().map(ElementId).collect()
}

fn element_numbers(ids: Vec<ElementId>) -> Vec<u32> {
    ids.into_iter().map(|id| id.0).collect()
}

impl TryFrom<common_wire::SceneDelta> for SceneDelta {
    type Error = FieldError;

    fn try_from(delta: common_wire::SceneDelta) -> Result<Self, FieldError> {
        Ok(Self {
            since_frame: FrameId::new(delta.since_frame),
            added: element_ids(delta.added),
            removed: element_ids(delta.removed),
            changed: element_ids(delta.changed),
        })
    }
}

impl From<SceneDelta> for common_wire::SceneDelta {
    fn from(delta: SceneDelta) -> Self {
        Self {
            since_frame: delta.since_frame.as_str().to_owned(),
            added: element_numbers(delta.added),
            removed: element_numbers(delta.removed),
            changed: element_numbers(delta.changed),
        }
    }
}

fn frame_id(field: &str, id: String) -> Result<FrameId, FieldError> {
    non_empty(id)
        .map(FrameId::new)
        .ok_or_else(|| FieldError::missing(field))
}

impl TryFrom<wire::CompareRequest> for CompareRequest {
    type Error = FieldError;

    fn try_from(request: wire::CompareRequest) -> Result<Self, FieldError> {
        let threshold = match request.threshold {
            // Zero is the value of a field that was not set.
            0 => CompareRequest::DEFAULT_THRESHOLD,
            threshold => u8::try_from(threshold).map_err(|_| {
                FieldError::new("threshold", format!("is {threshold}; must be at most 255"))
            })?,
        };
        Ok(Self {
            before: frame_id("before", request.before)?,
            after: frame_id("after", request.after)?,
            threshold,
            ignore: try_from_messages("ignore", request.ignore)?,
            measured_regions: try_from_messages("measured_regions", request.measured_regions)?,
            shift_regions: try_from_messages("shift_regions", request.shift_regions)?,
        })
    }
}

impl From<CompareRequest> for wire::CompareRequest {
    fn from(request: CompareRequest) -> Self {
        Self {
            before: request.before.as_str().to_owned(),
            after: request.after.as_str().to_owned(),
            threshold: request.threshold.into(),
            ignore: into_messages(request.ignore),
            measured_regions: into_messages(request.measured_regions),
            shift_regions: into_messages(request.shift_regions),
        }
    }
}

impl TryFrom<wire::WaitForIdleRequest> for WaitForIdleRequest {
    type Error = FieldError;

    fn try_from(request: wire::WaitForIdleRequest) -> Result<Self, FieldError> {
        let default = WaitForIdleRequest::default();
        let first_change = duration("first_change_timeout", request.first_change_timeout)?;
        Ok(Self {
            display: non_empty(request.display).map(DisplayId::new),
            since_frame: non_empty(request.since_frame).map(FrameId::new),
            first_change_timeout: first_change.unwrap_or(default.first_change_timeout),
            idle_duration: duration("idle_duration", request.idle_duration)?
                .unwrap_or(default.idle_duration),
            timeout: duration("timeout", request.timeout)?.unwrap_or(default.timeout),
            ignore_pixels: match request.ignore_pixels {
                0 => default.ignore_pixels,
                pixels => pixels,
            },
            ignore: try_from_messages("ignore", request.ignore)?,
        })
    }
}

impl From<WaitForIdleRequest> for wire::WaitForIdleRequest {
    fn from(request: WaitForIdleRequest) -> Self {
        Self {
            display: display_name(request.display),
            since_frame: frame_name(request.since_frame),
            first_change_timeout: Some(wire_duration(request.first_change_timeout)),
            idle_duration: Some(wire_duration(request.idle_duration)),
            timeout: Some(wire_duration(request.timeout)),
            ignore_pixels: request.ignore_pixels,
            ignore: into_messages(request.ignore),
        }
    }
}

impl TryFrom<wire::StreamFramesRequest> for StreamRequest {
    type Error = FieldError;

    fn try_from(request: wire::StreamFramesRequest) -> Result<Self, FieldError> {
        let max_frames_per_second = match request.max_frames_per_second {
            0 => DEFAULT_FRAMES_PER_SECOND,
            frames => frames,
        };
        Ok(Self {
            display: non_empty(request.display).map(DisplayId::new),
            max_frames_per_second,
            image: optional("image", request.image)?.unwrap_or_default(),
            redactions: try_from_messages("redactions", request.redactions)?,
            omit_input_marks: request.omit_input_marks,
        })
    }
}

impl TryFrom<wire::MarkInputRequest> for MarkInputRequest {
    type Error = FieldError;

    fn try_from(request: wire::MarkInputRequest) -> Result<Self, FieldError> {
        Ok(Self {
            display: non_empty(request.display).map(DisplayId::new),
            presses: try_from_messages("presses", request.presses)?,
            target: optional("target", request.target)?,
        })
    }
}

impl TryFrom<wire::MarkInputResponse> for () {
    type Error = FieldError;

    fn try_from(_: wire::MarkInputResponse) -> Result<Self, FieldError> {
        Ok(())
    }
}

impl From<()> for wire::MarkInputResponse {
    fn from((): ()) -> Self {
        Self {}
    }
}

impl From<MarkInputRequest> for wire::MarkInputRequest {
    fn from(request: MarkInputRequest) -> Self {
        Self {
            display: display_name(request.display),
            presses: into_messages(request.presses),
            target: request.target.map(Into::into),
        }
    }
}

impl From<StreamRequest> for wire::StreamFramesRequest {
    fn from(request: StreamRequest) -> Self {
        Self {
            display: display_name(request.display),
            max_frames_per_second: request.max_frames_per_second,
            image: Some(request.image.into()),
            redactions: into_messages(request.redactions),
            omit_input_marks: request.omit_input_marks,
        }
    }
}
