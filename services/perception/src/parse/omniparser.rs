//! Parser that delegates to an existing OmniParser server.
//!
//! It sends `POST /parse/` with `{"base64_image"}` and reads boxes and contents from `parsed_content_list`. The
//! annotated image in the response is ignored. `type` is a kind of ours, or `text` or `icon`; an icon is a control of
//! unknown kind if it has `interactivity`, and an image if not. `source` tells a text that was read from a description
//! that a model made up: only the former is text on the screen.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::RgbaImage;
use motorium_imaging::codec::size_of;
use motorium_imaging::space::denormalise;
use motorium_kit::config::Secret;
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
    /// Sent as `authorization: Bearer …`.
    token: Option<Secret>,
}

/// Address of an OmniParser server, and what it asks of its callers.
#[derive(Debug, Clone, Default)]
pub struct OmniParserConfig {
    /// Base address such as `https://gpu.example.com:8000`.
    pub base: String,
    pub token: Option<Secret>,
    /// Certificates to trust besides the system's, in PEM.
    pub ca_file: Option<PathBuf>,
}

/// Response of the server. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
struct OmniParserResponse {
    parsed_content_list: Vec<ParsedContent>,
}

#[derive(Debug, Deserialize)]
struct ParsedContent {
    /// `text`, `icon`, or a kind of element.
    r#type: String,
    /// x1, y1, x2, y2 as fractions of the image.
    bbox: [f64; 4],
    content: Option<String>,
    /// Servers of the first version do not have it.
    interactivity: Option<bool>,
    /// `box_ocr_content_ocr`, `box_yolo_content_ocr` or `box_yolo_content_yolo`: what found the box, and what the content.
    #[serde(default)]
    source: String,
}

impl ParsedContent {
    /// Returns the kind of the box; `None` if it is text alone.
    fn kind(&self) -> Option<ElementKind> {
        let is_interactive = self.interactivity;
        match self.r#type.as_str() {
            // Text that can be clicked, such as a link.
            "text" => is_interactive
                .unwrap_or(false)
                .then_some(ElementKind::Control),
            "icon" if is_interactive == Some(false) => Some(ElementKind::Image),
            // Anything that looks like a control, not only pictograms.
            "icon" => Some(ElementKind::Control),
            name => Some(ElementKind::from_name(name).unwrap_or(ElementKind::Control)),
        }
    }

    /// Returns whether the content is a description by a model instead of text on the screen.
    fn is_described(&self) -> bool {
        self.source.ends_with("content_yolo") || self.source.ends_with("content_caption")
    }
}

impl OmniParser {
    /// Creates a client.
    ///
    /// # Errors
    /// If the address is not a valid http or https URL, a token would be sent in the clear to another machine, or the
    /// certificates cannot be used.
    pub fn new(config: &OmniParserConfig) -> Result<Self, String> {
        let mut endpoint = Url::parse(&config.base).map_err(|error| error.to_string())?;
        let builder = match endpoint.scheme() {
            "https" => http_client::with_root_certificates(config.ca_file.as_deref()),
            "http" if config.token.is_some() && !http_client::is_loopback(&endpoint) => {
                return Err("a token would be sent unencrypted; use https".to_owned());
            }
            "http" => http_client::plaintext(),
            scheme => {
                return Err(format!(
                    "scheme {scheme} is not supported, use http or https"
                ));
            }
        };
        let folder = endpoint.path().trim_end_matches('/').to_owned();
        endpoint.set_path(&format!("{folder}/parse/"));
        // Redirects are not followed, so that screenshots go to no other server.
        let builder = builder.map_err(|error| error.to_string())?;
        let http = builder.timeout(REQUEST_TIMEOUT).build();
        Ok(Self {
            endpoint,
            http: http.map_err(|error| error.to_string())?,
            token: config.token.clone(),
        })
    }

    async fn ask(&self, base64_image: String) -> Result<OmniParserResponse, String> {
        let question = json!({ "base64_image": base64_image });
        let request = self.http.post(self.endpoint.clone()).json(&question);
        let request = match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        };
        let answer = request
            .send()
            .await
            .and_then(reqwest::Response::error_for_status);
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
        let base64_image = STANDARD.encode(bytes_of(encode_lossless(pixels)?));
        let answer = block_on_with_timeout(cancel, self.endpoint.as_str(), self.ask(base64_image))?;
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
        let kind = entry.kind();
        let is_described = entry.is_described();
        let text = entry.content.unwrap_or_default().trim().to_owned();
        let (name, line) = match text.as_str() {
            "" => (None, None),
            _ if is_described => (Some(text.into()), None),
            _ => (None, Some(text)),
        };
        if let Some(kind) = kind {
            detections.push(Detection {
                name,
                ..Detection::new(bounds, kind, CONFIDENCE)
            });
        }
        lines.extend(line.map(|text| TextLine::new(bounds, text, CONFIDENCE)));
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
                {"type": "icon", "bbox": [0.3, 0.3, 0.4, 0.4], "interactivity": false, "content": "A red arrow", "source": "box_yolo_content_yolo"},
                {"type": "checkbox", "bbox": [0.3, 0.7, 0.4, 0.8], "interactivity": true, "content": "Remember", "source": "box_yolo_content_ocr"},
                {"type": "text", "bbox": [0.5, 0.7, 0.6, 0.8], "interactivity": true, "content": "more", "source": "box_ocr_content_ocr"},
                {"type": "icon", "bbox": [0.7, 0.7, 0.8, 0.8], "content": "Old", "source": ""},
            ]
        });
        let answer: OmniParserResponse = serde_json::from_value(answer).unwrap();
        let parse = to_parse(answer.parsed_content_list, CaptureSize::new(1000, 500));
        let texts: Vec<_> = parse.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!(texts, ["Save", "Name", "Remember", "more", "Old"]);
        let lefts: Vec<_> = parse
            .detections
            .iter()
            .map(|found| found.bounds.min.x)
            .collect();
        assert_eq!(lefts, [0, 900, 300, 300, 500, 700]);
        assert_eq!(parse.detections[1].bounds.max.x, 1000);
        let kinds: Vec<_> = parse.detections.iter().map(|found| found.kind).collect();
        let control = ElementKind::Control;
        assert_eq!(
            kinds,
            [
                control,
                control,
                ElementKind::Image,
                ElementKind::Checkbox,
                control,
                control
            ]
        );
        // What a model describes is a name and no text.
        assert_eq!(parse.detections[2].name.as_deref(), Some("A red arrow"));
    }

    #[test]
    fn a_path_of_the_address_is_kept() {
        for base in ["http://gpu:8000/omni", "http://gpu:8000/omni/"] {
            let parser = parser(base, None).unwrap();
            assert_eq!(parser.endpoint.as_str(), "http://gpu:8000/omni/parse/");
        }
    }

    fn parser(base: &str, token: Option<&str>) -> Result<OmniParser, String> {
        OmniParser::new(&OmniParserConfig {
            base: base.to_owned(),
            token: token.map(Secret::new),
            ca_file: None,
        })
    }

    #[test]
    fn invalid_omniparser_addresses_are_refused() {
        for (address, token, part) in [
            ("nowhere", None, "relative URL"),
            ("ftp://example.org", None, "use http or https"),
            ("http://example.org", Some("t"), "unencrypted; use https"),
        ] {
            let error = parser(address, token).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        for (address, token) in [
            ("https://example.org", Some("t")),
            ("http://127.0.0.1:8000", Some("t")),
            ("http://example.org", None),
        ] {
            assert!(parser(address, token).is_ok(), "{address}");
        }
        let shown = format!("{:?}", parser("https://a.example", Some("hidden")).unwrap());
        assert!(!shown.contains("hidden"), "{shown}");
    }
}
