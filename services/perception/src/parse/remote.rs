//! Parser that delegates to another Perception service, for example one with a GPU or a pool behind one address.
//!
//! The response contains merged elements. They are split into boxes and lines again, so that marks, ids and redaction
//! work as for any other parser.
//!
//! The other service does not capture the screen: it only parses the images that it is sent.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use image::RgbaImage;
use motorium_imaging::codec::{self, size_of};
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
use super::{Parse, ParseStats, Parser};
use crate::error::{Error, reason};

/// Maximum number of concurrent requests; the other service has its own queue.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Timeout of a request. A busy machine without a GPU can take minutes per image.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(300);

/// Client of another Perception service.
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
    /// Creates a parser that calls `perception`; the address is used in messages.
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
            image: encode_lossless(pixels)?,
            max_elements: None,
            annotated_image: None,
            parsing: ParseOptions::default(),
            include_prompt_lines: false,
        };
        let parsed = block_on_with_timeout(cancel, &self.url, self.perception.parse(request))?;
        let parsed = parsed.map_err(|report| failed(&self.url, report))?;
        let mut parse = split_elements(&parsed.scene.elements, size);
        parse.effort.text_detection = started.elapsed();
        Ok(parse)
    }

    /// Does nothing: the service is contacted by the first parse.
    fn warm_up(&self) -> Result<(), Error> {
        Ok(())
    }

    fn max_concurrency(&self) -> usize {
        MAX_CONCURRENT_REQUESTS
    }

    fn is_local(&self) -> bool {
        false
    }
}

/// Converts an error of the other service at `url`.
fn failed(url: &str, report: ErrorReport) -> Error {
    match report.code {
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => Error::ParserUnavailable {
            url: url.to_owned(),
            detail: report.message,
        },
        Code::ResourceExhausted if report.reason == reason::PARSER_BUSY => Error::ParserBusy,
        // The service is reachable and rejected this image or this caller; a retry would not help.
        _ => Error::ParseFailed {
            detail: format!("{url} returned: {}", report.message),
        },
    }
}

/// Encodes the image without loss.
pub(super) fn encode_lossless(pixels: &RgbaImage) -> Result<Image, Error> {
    codec::encode(pixels, ImageFormat::Png).map_err(|error| Error::ParseFailed {
        detail: format!("the image cannot be encoded for sending: {error}"),
    })
}

/// Returns the bytes of an image.
pub(super) fn bytes_of(image: Image) -> Bytes {
    match image.content {
        ImageContent::Bytes(bytes) => bytes,
        ImageContent::BlobUri(_) => Bytes::new(),
    }
}

/// Blocks the current thread until `work` is done, `cancel` is set, or [`REQUEST_TIMEOUT`] has passed.
pub(super) fn block_on_with_timeout<T>(
    cancel: &CancellationToken,
    url: &str,
    work: impl Future<Output = T>,
) -> Result<T, Error> {
    Handle::current().block_on(async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::Cancelled),
            done = tokio::time::timeout(REQUEST_TIMEOUT, work) => done.map_err(|_| Error::ParserUnavailable {
                url: url.to_owned(),
                detail: format!("no response within {} s", REQUEST_TIMEOUT.as_secs()),
            }),
        }
    })
}

/// Splits elements of an image of `size` pixels into boxes and lines.
fn split_elements(elements: &[Element], size: CaptureSize) -> Parse {
    let (mut detections, mut lines) = (Vec::new(), Vec::new());
    for element in elements {
        let bounds = denormalise(&element.bounds, size);
        // An element found only by the detector shows no text: its content is a name.
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
    to_parse(detections, lines)
}

/// Builds a parse result with sorted lines.
pub(super) fn to_parse(detections: Vec<Detection>, mut lines: Vec<TextLine>) -> Parse {
    lines.sort_by_key(|line| (line.bounds.min.y, line.bounds.min.x));
    Parse {
        detections: detections.into(),
        effort: ParseStats {
            scanned_fraction: 1.0,
            recognised_lines: lines.len(),
            ..ParseStats::default()
        },
        lines: lines.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_transient_parser_errors_are_retryable() {
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
