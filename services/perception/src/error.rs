//! Errors of Perception and their mapping to gRPC status codes.
//!
//! One enum covers the whole service. [`Error::report`] is the only place that assigns codes and reasons; every reason
//! has a page in `docs/errors/`.

use std::path::PathBuf;
use std::time::Duration;

use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use motorium_proto::domain::id::{DisplayId, FrameId};
use motorium_proto::error::{ErrorReport, FieldError, reason as common};
use tonic::Code;

/// Stable error reasons of this service, each with a page in `docs/errors/`.
pub mod reason {
    pub const NO_DISPLAY: &str = "NO_DISPLAY";
    pub const DISPLAY_NOT_FOUND: &str = "DISPLAY_NOT_FOUND";
    pub const DISPLAY_LOST: &str = "DISPLAY_LOST";
    pub const DISPLAY_TIMED_OUT: &str = "DISPLAY_TIMED_OUT";
    pub const DISPLAY_UNSUPPORTED: &str = "DISPLAY_UNSUPPORTED";
    pub const CAPTURE_REFUSED: &str = "CAPTURE_REFUSED";
    pub const MONITOR_NOT_FOUND: &str = "MONITOR_NOT_FOUND";
    pub const WINDOW_NOT_FOUND: &str = "WINDOW_NOT_FOUND";
    pub const REGION_OUT_OF_BOUNDS: &str = "REGION_OUT_OF_BOUNDS";
    pub const MODEL_FILE_MISSING: &str = "MODEL_FILE_MISSING";
    pub const MODEL_FILE_UNUSABLE: &str = "MODEL_FILE_UNUSABLE";
    pub const PARSE_FAILED: &str = "PARSE_FAILED";
    pub const TOO_MANY_STREAMS: &str = "TOO_MANY_STREAMS";
    pub const PARSER_UNAVAILABLE: &str = "PARSER_UNAVAILABLE";
    pub const PARSER_BUSY: &str = "PARSER_BUSY";
    pub const FRAME_EXPIRED: &str = "FRAME_EXPIRED";
    pub const IMAGE_UNREADABLE: &str = "IMAGE_UNREADABLE";
    pub const IMAGE_TOO_LARGE: &str = "IMAGE_TOO_LARGE";
    pub const CANCELLED: &str = "CANCELLED";

    /// Every reason.
    #[cfg(test)]
    pub(super) const ALL: &[&str] = &[
        NO_DISPLAY,
        DISPLAY_NOT_FOUND,
        DISPLAY_LOST,
        DISPLAY_TIMED_OUT,
        DISPLAY_UNSUPPORTED,
        CAPTURE_REFUSED,
        MONITOR_NOT_FOUND,
        WINDOW_NOT_FOUND,
        REGION_OUT_OF_BOUNDS,
        MODEL_FILE_MISSING,
        MODEL_FILE_UNUSABLE,
        PARSE_FAILED,
        PARSER_UNAVAILABLE,
        PARSER_BUSY,
        TOO_MANY_STREAMS,
        FRAME_EXPIRED,
        IMAGE_UNREADABLE,
        IMAGE_TOO_LARGE,
        CANCELLED,
    ];
}

/// Retry delay after a display was lost or timed out.
// The display may have been restarted; callers wait for it and must not load the machine.
const DISPLAY_RETRY: Duration = Duration::from_secs(1);

/// Retry delay when the parser queue is full.
// A parse of a new screen takes about a second, so some of the queue is done by then.
const PARSER_RETRY: Duration = Duration::from_secs(2);

/// Error of the service.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// No display is configured or requested.
    #[error("no display is configured: start one with `motorium up` or set DISPLAY")]
    NoDisplay,
    /// The display does not exist, or its server denies access.
    #[error(
        "display {display} is not available: {detail}; start it (`motorium up` starts one) or correct its name"
    )]
    DisplayUnavailable { display: DisplayId, detail: String },
    /// The display is not configured for this service.
    #[error("display {display} was not found: {detail}; use one that `ListDisplays` returns")]
    DisplayNotFound { display: DisplayId, detail: String },
    /// The connection to the display server was lost.
    #[error("display {display} was lost: {detail}; restart its server, the next call reconnects")]
    DisplayLost { display: DisplayId, detail: String },
    /// The display server did not answer in time.
    #[error(
        "display {display} did not answer within {} ms; its server is stopped or overloaded; retry, or restart it",
        after.as_millis()
    )]
    DisplayTimedOut { display: DisplayId, after: Duration },
    /// The display uses a pixel format that this build does not support.
    #[error("display {display} cannot be captured: {detail}; start it with a depth of 24 bits")]
    DisplayUnsupported { display: DisplayId, detail: String },
    /// The window system rejected a request.
    #[error("display {display} rejected the capture: {detail}; retry, its layout may have changed")]
    CaptureRefused { display: DisplayId, detail: String },
    #[error("display {display} has no monitor `{monitor}`; it has {known}")]
    MonitorNotFound {
        display: DisplayId,
        monitor: String,
        known: String,
    },
    #[error(
        "display {display} has no visible window `{window}`; use an id from the frame's window list"
    )]
    WindowNotFound { display: DisplayId, window: String },
    /// The region does not intersect the frame.
    #[error(
        "region {},{}–{},{} is outside the frame of {}×{} pixels; use a region that overlaps it",
        region.min.x, region.min.y, region.max.x, region.max.y, size.width, size.height
    )]
    RegionOutside {
        region: CaptureRect,
        size: CaptureSize,
    },
    /// The ONNX Runtime library or a model file is missing.
    #[error("{} is missing: run `tools/setup data` to fetch it, or set MOTORIUM_DATA to the folder that contains it", path.display())]
    ModelFileMissing { path: PathBuf },
    /// A model file cannot be loaded.
    #[error(
        "{} cannot be used: {detail}; if set-up fetched it, remove it and run `tools/setup data`, otherwise correct \
         `perception.text_detection_model`, `text_recognition_model`, `charset` or `detector`",
        path.display()
    )]
    ModelFileUnusable { path: PathBuf, detail: String },
    /// Running the models failed.
    #[error("the image could not be parsed: {detail}")]
    ParseFailed { detail: String },
    /// The remote parser is not reachable or failed.
    #[error(
        "the parser at {url} is unavailable: {detail}; start it, or correct `perception.parser`"
    )]
    ParserUnavailable { url: String, detail: String },
    /// The images waiting to be parsed exceed the memory limit.
    #[error("too many images are waiting to be parsed: retry later, or send fewer at a time")]
    ParserBusy,
    /// The maximum number of live streams is open.
    #[error("the maximum of {max} live streams is open: close one, or retry later")]
    TooManyStreams { max: usize },
    /// The frame was evicted, or never existed.
    #[error("frame {frame} has expired: capture again and use the new frame's id")]
    FrameExpired { frame: FrameId },
    #[error("the image cannot be decoded: {detail}; send PNG, JPEG or WebP")]
    ImageUnreadable { detail: String },
    #[error(
        "the image of {width}×{height} pixels is too large: send one of at most {limit} pixels"
    )]
    ImageTooLarge { width: u32, height: u32, limit: u64 },
    /// The caller disconnected, or the service is shutting down.
    #[error("the work was cancelled")]
    Cancelled,
    /// A request field is invalid.
    #[error("{0}")]
    Invalid(FieldError),
    /// An internal error.
    #[error("{detail}; this is an internal error, see the log of the service")]
    Internal { detail: String },
}

impl Error {
    /// Maps the error to the report that is sent to the caller.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        let message = self.to_string();
        let report = |code, reason| ErrorReport::new(code, reason, message.clone());
        match self {
            Self::NoDisplay => report(Code::Unavailable, reason::NO_DISPLAY),
            Self::DisplayUnavailable { display, .. } => {
                report(Code::Unavailable, reason::NO_DISPLAY).with("display", display)
            }
            Self::DisplayNotFound { display, .. } => {
                report(Code::NotFound, reason::DISPLAY_NOT_FOUND).with("display", display)
            }
            Self::DisplayLost { display, .. } => report(Code::Unavailable, reason::DISPLAY_LOST)
                .with("display", display)
                .retry_after(DISPLAY_RETRY),
            Self::DisplayTimedOut { display, after } => {
                report(Code::Unavailable, reason::DISPLAY_TIMED_OUT)
                    .with("display", display)
                    .with("after_ms", after.as_millis())
                    .retry_after(DISPLAY_RETRY)
            }
            Self::DisplayUnsupported { display, .. } => {
                report(Code::FailedPrecondition, reason::DISPLAY_UNSUPPORTED)
                    .with("display", display)
            }
            Self::CaptureRefused { display, .. } => {
                report(Code::Aborted, reason::CAPTURE_REFUSED).with("display", display)
            }
            Self::MonitorNotFound {
                display, monitor, ..
            } => report(Code::NotFound, reason::MONITOR_NOT_FOUND)
                .with("display", display)
                .with("monitor", monitor),
            Self::WindowNotFound { display, window } => {
                report(Code::NotFound, reason::WINDOW_NOT_FOUND)
                    .with("display", display)
                    .with("window", window)
            }
            Self::RegionOutside { size, .. } => {
                report(Code::OutOfRange, reason::REGION_OUT_OF_BOUNDS)
                    .with("width", size.width)
                    .with("height", size.height)
            }
            Self::ModelFileMissing { path } => {
                report(Code::FailedPrecondition, reason::MODEL_FILE_MISSING)
                    .with("path", path.display())
            }
            Self::ModelFileUnusable { path, .. } => {
                report(Code::FailedPrecondition, reason::MODEL_FILE_UNUSABLE)
                    .with("path", path.display())
            }
            Self::ParseFailed { .. } => report(Code::Internal, reason::PARSE_FAILED),
            Self::ParserUnavailable { url, .. } => {
                report(Code::Unavailable, reason::PARSER_UNAVAILABLE).with("url", url)
            }
            Self::ParserBusy => {
                report(Code::ResourceExhausted, reason::PARSER_BUSY).retry_after(PARSER_RETRY)
            }
            Self::TooManyStreams { max } => {
                report(Code::ResourceExhausted, reason::TOO_MANY_STREAMS)
                    .with("limit", max)
                    .retry_after(PARSER_RETRY)
            }
            Self::FrameExpired { frame } => {
                report(Code::NotFound, reason::FRAME_EXPIRED).with("frame", frame)
            }
            Self::ImageUnreadable { detail } => {
                report(Code::InvalidArgument, reason::IMAGE_UNREADABLE).with("detail", detail)
            }
            Self::ImageTooLarge { limit, .. } => {
                report(Code::InvalidArgument, reason::IMAGE_TOO_LARGE).with("limit_pixels", limit)
            }
            Self::Cancelled => report(Code::Cancelled, reason::CANCELLED),
            Self::Invalid(field) => ErrorReport::invalid(field.clone()),
            Self::Internal { .. } => report(Code::Internal, common::INTERNAL),
        }
    }
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        error.report()
    }
}

impl From<FieldError> for Error {
    fn from(error: FieldError) -> Self {
        Self::Invalid(error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use motorium_proto::domain::geometry::CapturePoint;
    use tonic::Status;

    use super::*;

    /// One value per variant, with its code, its reason and a part of its message.
    fn every_variant() -> Vec<(Error, Code, &'static str, &'static str)> {
        let display = || DisplayId::new(":9");
        let detail = || "why".to_owned();
        let path = || PathBuf::from("/data/model.onnx");
        let region = CaptureRect::new(CapturePoint::new(9, 9), CapturePoint::new(12, 12));
        let size = CaptureSize::new(8, 8);
        let after = Duration::from_secs(2);
        vec![
            (
                Error::NoDisplay,
                Code::Unavailable,
                "NO_DISPLAY",
                "motorium up",
            ),
            (
                Error::DisplayUnavailable {
                    display: display(),
                    detail: detail(),
                },
                Code::Unavailable,
                "NO_DISPLAY",
                "start it",
            ),
            (
                Error::DisplayNotFound {
                    display: display(),
                    detail: detail(),
                },
                Code::NotFound,
                "DISPLAY_NOT_FOUND",
                "`ListDisplays`",
            ),
            (
                Error::DisplayLost {
                    display: display(),
                    detail: detail(),
                },
                Code::Unavailable,
                "DISPLAY_LOST",
                "the next call reconnects",
            ),
            (
                Error::DisplayTimedOut {
                    display: display(),
                    after,
                },
                Code::Unavailable,
                "DISPLAY_TIMED_OUT",
                "within 2000 ms",
            ),
            (
                Error::DisplayUnsupported {
                    display: display(),
                    detail: detail(),
                },
                Code::FailedPrecondition,
                "DISPLAY_UNSUPPORTED",
                "a depth of 24 bits",
            ),
            (
                Error::CaptureRefused {
                    display: display(),
                    detail: detail(),
                },
                Code::Aborted,
                "CAPTURE_REFUSED",
                "retry",
            ),
            (
                Error::MonitorNotFound {
                    display: display(),
                    monitor: "m".to_owned(),
                    known: "`n`".to_owned(),
                },
                Code::NotFound,
                "MONITOR_NOT_FOUND",
                "it has `n`",
            ),
            (
                Error::WindowNotFound {
                    display: display(),
                    window: "0x1".to_owned(),
                },
                Code::NotFound,
                "WINDOW_NOT_FOUND",
                "window list",
            ),
            (
                Error::RegionOutside { region, size },
                Code::OutOfRange,
                "REGION_OUT_OF_BOUNDS",
                "9,9–12,12",
            ),
            (
                Error::ModelFileMissing { path: path() },
                Code::FailedPrecondition,
                "MODEL_FILE_MISSING",
                "tools/setup data",
            ),
            (
                Error::ModelFileUnusable {
                    path: path(),
                    detail: detail(),
                },
                Code::FailedPrecondition,
                "MODEL_FILE_UNUSABLE",
                "tools/setup data",
            ),
            (
                Error::ParserUnavailable {
                    url: "http://127.0.0.1:9".to_owned(),
                    detail: detail(),
                },
                Code::Unavailable,
                "PARSER_UNAVAILABLE",
                "`perception.parser`",
            ),
            (
                Error::ParserBusy,
                Code::ResourceExhausted,
                "PARSER_BUSY",
                "send fewer",
            ),
            (
                Error::ParseFailed { detail: detail() },
                Code::Internal,
                "PARSE_FAILED",
                "why",
            ),
            (
                Error::TooManyStreams { max: 32 },
                Code::ResourceExhausted,
                "TOO_MANY_STREAMS",
                "maximum of 32 live streams",
            ),
            (
                Error::FrameExpired {
                    frame: FrameId::new("f"),
                },
                Code::NotFound,
                "FRAME_EXPIRED",
                "capture again",
            ),
            (
                Error::ImageUnreadable { detail: detail() },
                Code::InvalidArgument,
                "IMAGE_UNREADABLE",
                "send PNG",
            ),
            (
                Error::ImageTooLarge {
                    width: 9,
                    height: 9,
                    limit: 80,
                },
                Code::InvalidArgument,
                "IMAGE_TOO_LARGE",
                "at most 80 pixels",
            ),
            (Error::Cancelled, Code::Cancelled, "CANCELLED", "cancelled"),
            (
                Error::Invalid(FieldError::missing("frame")),
                Code::InvalidArgument,
                "INVALID_FIELD",
                "frame: is required",
            ),
            (
                Error::Internal { detail: detail() },
                Code::Internal,
                "INTERNAL",
                "see the log",
            ),
        ]
    }

    #[test]
    fn each_variant_survives_the_wire_with_its_reason() {
        for (error, code, reason, part) in every_variant() {
            let report = error.report();
            assert_eq!(
                (report.code, report.reason.as_str()),
                (code, reason),
                "{error}"
            );
            assert!(report.message.contains(part), "{error}");
            let status: Status = report.clone().into_status();
            assert_eq!(ErrorReport::from_status(&status), report);
        }
    }

    #[test]
    fn every_perception_reason_has_a_variant() {
        let given: BTreeSet<_> = every_variant()
            .iter()
            .map(|(_, _, reason, _)| *reason)
            .collect();
        assert!(reason::ALL.iter().all(|reason| given.contains(reason)));
    }

    #[test]
    fn each_reason_has_a_page() {
        let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for (error, code, reason, _) in every_variant() {
            let text = std::fs::read_to_string(pages.join(format!("{reason}.md")))
                .unwrap_or_else(|error| panic!("docs/errors/{reason}.md: {error}"));
            assert!(text.starts_with(&format!("# {reason}\n")), "{reason}");
            let code = format!("{code:?}");
            assert!(
                text.replace('_', "")
                    .to_lowercase()
                    .contains(&code.to_lowercase()),
                "{reason}: {code}"
            );
            assert!(text.contains("## What to do"), "{reason}");
            for key in error.report().metadata.keys() {
                assert!(text.contains(&format!("`{key}`")), "{reason}: {key}");
            }
        }
    }
}
