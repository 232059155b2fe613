//! Parser that delegates to an existing OmniParser server.
//!
//! It sends `POST /parse/` with `{"base64_image"}` and reads boxes and contents from `parsed_content_list`. The
//! annotated image in the response is ignored. OmniParser's icons become controls of unknown kind.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_imaging::space::denormalise;
use motorium_kit::http_client;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CaptureSize, NormalisedPoint, NormalisedRect};
use reqwest::{Client, Url};
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::detect::Detection;
use super::read::TextLine;
use super::remote;
use super::remote::{REQUEST_TIMEOUT, block_on_with_timeout, bytes_of, encode_lossless};
use super::{Parse, Parser};
use crate::error::Error;

/// Maximum size of a response, in bytes. The response includes the annotated image.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// Confidence assigned to results, because OmniParser reports none.
const CONFIDENCE: f32 = 0.9;

/// Client of an OmniParser server.
#[derive(Debug)]
pub struct OmniParser {
    endpoint: Url,
    http: Client,
}

/// Response of the server. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
struct OmniParserResponse {
    parsed_content_list: Vec<ParsedContent>,
}

#[derive(Debug, Deserialize)]
struct ParsedContent {
    /// `text` or `icon`.
    r#type: String,
    /// x1, y1, x2, y2 as fractions of the image.
    bbox: [f64; 4],
    content: Option<String>,
}

impl OmniParser {
    /// Creates a client for a base address such as `http://127.0.0.1:8000`.
    ///
    /// # Errors
    /// If the address is not a valid http URL.
    pub fn new(base: &str) -> Result<Self, String> {
        let base = Url::parse(base).map_err(|error| error.to_string())?;
        if base.scheme() != "http" {
            return Err(format!(
                "scheme {} is not supported, use http",
                base.scheme()
            ));
        }
        let mut endpoint = base;
        let folder = endpoint.path().trim_end_matches('/').to_owned();
        endpoint.set_path(&format!("{folder}/parse/"));
        // Redirects are not followed, so that screenshots go to no other server.
        let client = http_client::plaintext().map_err(|error| error.to_string())?;
        let http = client.timeout(REQUEST_TIMEOUT).build();
        Ok(Self {
            endpoint,
            http: http.map_err(|error| error.to_string())?,
        })
    }

    async fn ask(&self, picture: String) -> Result<OmniParserResponse, String> {
        let question = json!({ "base64_image": picture });
        let answer = self.http.post(self.endpoint.clone()).json(&question).send();
        let answer = answer.await.and_then(reqwest::Response::error_for_status);
        let mut answer = answer.map_err(|error| error_chain(&error))?;
        let mut body = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| error_chain(&error))? {
            if body.len() + piece.len() > MAX_RESPONSE_BYTES {
                return Err(format!(
                    "the response exceeds {} MiB",
                    MAX_RESPONSE_BYTES >> 20
                ));
            }
            body.extend_from_slice(&piece);
        }
        serde_json::from_slice(&body).map_err(|error| format!("invalid response: {error}"))
    }
}

impl Parser for OmniParser {
    fn parse(&self, pixels: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error> {
        let started = Instant::now();
        let picture = STANDARD.encode(bytes_of(encode_lossless(pixels)?));
        let answer = block_on_with_timeout(cancel, self.endpoint.as_str(), self.ask(picture))?;
        let answer = answer.map_err(|detail| Error::ParserUnavailable {
            url: self.endpoint.to_string(),
            detail,
        })?;
        let mut parse = to_parse(answer.parsed_content_list, size_of(pixels));
        parse.effort.detection = started.elapsed();
        Ok(parse)
    }

    /// Does nothing: the server is contacted by the first parse.
    fn warm_up(&self) -> Result<(), Error> {
        Ok(())
    }

    fn is_local(&self) -> bool {
        false
    }
}

/// Formats an error with its causes; the outermost one only says that sending failed.
fn error_chain(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let words = causes.map(ToString::to_string);
    std::iter::once(error.to_string())
        .chain(words)
        .collect::<Vec<_>>()
        .join(": ")
}

/// Converts the response to boxes and lines. Invalid boxes are skipped.
fn to_parse(entries: Vec<ParsedContent>, size: CaptureSize) -> Parse {
    let (mut detections, mut lines) = (Vec::new(), Vec::new());
    for entry in entries {
        let [x1, y1, x2, y2] = entry.bbox.map(|side| side.clamp(0.0, 1.0));
        if !(x1 < x2 && y1 < y2) {
            continue;
        }
        let bounds =
            NormalisedRect::new(NormalisedPoint::new(x1, y1), NormalisedPoint::new(x2, y2));
        let bounds = denormalise(&bounds, size);
        if entry.r#type != "text" {
            detections.push(Detection::new(bounds, ElementKind::Control, CONFIDENCE));
        }
        let text = entry.content.unwrap_or_default().trim().to_owned();
        if !text.is_empty() {
            lines.push(TextLine::new(bounds, text, CONFIDENCE));
        }
    }
    remote::to_parse(detections, lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_and_contents_are_taken_over() {
        let answer = json!({
            "som_image_base64": "",
            "latency": 0.6,
            "parsed_content_list": [
                {"type": "text", "bbox": [0.5, 0.5, 0.75, 0.6], "interactivity": false, "content": "Name", "source": "box_ocr_content_ocr"},
                {"type": "icon", "bbox": [0.0, 0.0, 0.1, 0.1], "interactivity": true, "content": "Save ", "source": "box_yolo_content_ocr"},
                {"type": "icon", "bbox": [0.9, 0.0, 1.2, 0.1], "interactivity": true, "content": null, "source": "box_yolo_content_yolo"},
                {"type": "icon", "bbox": [0.9, 0.5, 0.8, 0.4], "interactivity": true, "content": "upside down", "source": ""},
            ]
        });
        let answer: OmniParserResponse = serde_json::from_value(answer).unwrap();
        let parse = to_parse(answer.parsed_content_list, CaptureSize::new(1000, 500));
        let texts: Vec<_> = parse.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["Save", "Name"]);
        let lefts: Vec<_> = parse
            .detections
            .iter()
            .map(|found| found.bounds.min.x)
            .collect();
        assert_eq!(lefts, [0, 900]);
        assert_eq!(parse.detections[1].bounds.max.x, 1000);
    }

    #[test]
    fn a_path_of_the_address_is_kept() {
        for base in ["http://gpu:8000/omni", "http://gpu:8000/omni/"] {
            let parser = OmniParser::new(base).unwrap();
            assert_eq!(parser.endpoint.as_str(), "http://gpu:8000/omni/parse/");
        }
    }

    #[test]
    fn addresses_that_cannot_be_asked() {
        for (address, part) in [
            ("nowhere", "relative URL"),
            ("https://example.org", "use http"),
        ] {
            let error = OmniParser::new(address).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
