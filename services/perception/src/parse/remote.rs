//! Lets another Perception look at the pictures: one that has a GPU, or a pool of them behind one address.
//!
//! What comes back are elements that were merged there. They are taken apart into boxes and lines again, so that marks,
//! numbers and redaction are made here as for any other parser.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use image::RgbaImage;
use motorium_imaging::picture::{self, size_of};
use motorium_imaging::space::denormalise;
use motorium_proto::domain::element::{Element, ElementSource};
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::domain::geometry::CaptureSize;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{ImageFormat, ParseOptions, ParseRequest, Perception};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use super::detect::Detection;
use super::read::TextLine;
use super::{Effort, Parse, Parser};
use crate::error::{Error, reason};

/// Pictures that are sent at the same time; the other side has a queue of its own.
const AT_ONCE: usize = 8;

/// A busy machine without a GPU has been seen to take minutes for one picture.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// Another Perception.
pub struct RemoteParser {
    url: String,
    perception: Arc<dyn Perception>,
}

impl fmt::Debug for RemoteParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteParser")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl RemoteParser {
    /// One that is reached through `perception`; the address is for messages.
    #[must_use]
    pub fn new(url: String, perception: Arc<dyn Perception>) -> Self {
        Self { url, perception }
    }
}

impl Parser for RemoteParser {
    fn parse(&self, pixels: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error> {
        let started = Instant::now();
        let size = size_of(pixels);
        let request = ParseRequest {
            image: lossless(pixels)?,
            max_elements: None,
            marked_image: None,
            parsing: ParseOptions::default(),
        };
        let parsed = within(cancel, &self.url, self.perception.parse(request))?;
        let parsed = parsed.map_err(|report| failed(&self.url, report))?;
        let mut parse = apart(&parsed.scene.elements, size);
        parse.effort.locating = started.elapsed();
        Ok(parse)
    }

    /// It is asked when there is something to ask.
    fn warm_up(&self) -> Result<(), Error> {
        Ok(())
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn is_here(&self) -> bool {
        false
    }
}

/// What the other Perception at `url` says went wrong, as an error of this one.
fn failed(url: &str, report: ErrorReport) -> Error {
    match report.code {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => Error::ParserUnavailable {
            url: url.to_owned(),
            detail: report.message,
        },
        Code::ResourceExhausted if report.reason == reason::PARSER_BUSY => Error::ParserBusy,
        // It is there, and does not want this picture or us: asking again would not help.
        _ => Error::ParseFailed {
            detail: format!("{url} says: {}", report.message),
        },
    }
}

/// The picture as bytes that lose nothing.
pub(super) fn lossless(pixels: &RgbaImage) -> Result<Image, Error> {
    picture::encode(pixels, ImageFormat::Png).map_err(|error| Error::ParseFailed {
        detail: format!("the picture cannot be sent: {error}"),
    })
}

/// Its bytes.
pub(super) fn bytes_of(image: Image) -> Bytes {
    match image.content {
        ImageContent::Bytes(bytes) => bytes,
        ImageContent::BlobUri(_) => Bytes::new(),
    }
}

/// Waits on a thread that may block, until it is done, nobody waits for it, or [`PATIENCE`] is over.
pub(super) fn within<T>(
    cancel: &CancellationToken,
    url: &str,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    Handle::current().block_on(async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            done = tokio::time::timeout(PATIENCE, work) => done.map_err(|_| Error::ParserUnavailable {
                url: url.to_owned(),
                detail: format!("no answer within {} s", PATIENCE.as_secs()),
            }),
        }
    })
}

/// The boxes and lines that elements were made of, on a picture of `size` pixels.
fn apart(elements: &[Element], size: CaptureSize) -> Parse {
    let (mut detections, mut lines) = (Vec::new(), Vec::new());
    for element in elements {
        let bounds = denormalise(&element.bounds, size);
        // What only a detector has found shows no text: what it is called is a name.
        let is_read = element.source != ElementSource::Detector;
        let content = (!element.content.is_empty()).then_some(&*element.content);
        if element.source != ElementSource::Ocr {
            detections.push(Detection {
                name: content.filter(|_| !is_read).map(Into::into),
                state: element.state,
                ..Detection::new(bounds, element.kind, element.confidence)
            });
        }
        if let Some(text) = content.filter(|_| is_read) {
            lines.push(TextLine::new(bounds, text, element.confidence));
        }
    }
    finished(detections, lines)
}

/// What was found elsewhere, in the order that a parse has.
pub(super) fn finished(detections: Vec<Detection>, mut lines: Vec<TextLine>) -> Parse {
    lines.sort_by_key(|line| (line.bounds.min.y, line.bounds.min.x));
    Parse {
        detections: detections.into(),
        effort: Effort {
            looked_at: 1.0,
            read: lines.len(),
            ..Effort::default()
        },
        lines: lines.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_go_away_by_itself_is_to_be_tried_again() {
        let check = |code, reason: &'static str, expected: &str| {
            let error = failed("http://eyes", ErrorReport::new(code, reason, "why"));
            assert_eq!(error.report().reason, expected, "{code:?} {reason}");
        };
        check(Code::ResourceExhausted, "PARSER_BUSY", "PARSER_BUSY");
        check(Code::ResourceExhausted, "MESSAGE_TOO_LARGE", "PARSE_FAILED");
        check(Code::Unavailable, "TRANSPORT", "PARSER_UNAVAILABLE");
        check(Code::InvalidArgument, "IMAGE_UNREADABLE", "PARSE_FAILED");
    }
}
