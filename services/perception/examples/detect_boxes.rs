//! Post-processes detector outputs of another program, for training and evaluation (`training/detector/postprocess.py`).
//!
//!     cargo run --release -p motorium-perception --example detect_boxes
//!
//! Each line of standard input is a request in JSON, see [`Request`]; each gets one line with the detections or an
//! error:
//!
//!     {"detections": [{"class": "button", "box": [16, 8, 24, 12], "score": 0.9}]}
//!     {"error": "…"}
//!
//! Ends with standard input.

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};

use image::{DynamicImage, RgbImage, RgbaImage};
use motorium_perception::config::DEFAULT_CONFIDENCE_THRESHOLD;
use motorium_perception::parse::detect::{Detection, ModelOutputs};
use motorium_perception::parse::precomputed::{self, Thresholds};
use serde::{Deserialize, Serialize};

type AnyError = Box<dyn std::error::Error>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// File with the pixels: three bytes per pixel (RGB), row by row from the top.
    pixels: PathBuf,
    width: u32,
    height: u32,
    /// Class names in the order of the outputs.
    classes: Vec<String>,
    /// Files with the outputs `[4 + classes, cells]`, as little-endian `f32`: of the full-size pass and, if they were run,
    /// of the passes at half and at a quarter of its size.
    outputs: Vec<PathBuf>,
    /// Number of input pixels per image pixel in the full-size pass.
    scale: f64,
    /// Length of large elements in input pixels. Default: a single pass.
    large_from: Option<f64>,
    /// Minimum score of a detection, 0 to 1.
    confidence_threshold: f32,
    /// Minimum score of evidence for a backdrop. Default: the confidence threshold of the product.
    backdrop_threshold: Option<f32>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Response {
    Detections(Vec<FoundBox>),
    Error(String),
}

#[derive(Debug, Serialize)]
struct FoundBox {
    class: &'static str,
    /// Left, top, right, bottom in image pixels.
    r#box: [i32; 4],
    score: f32,
}

fn main() -> Result<(), AnyError> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let response = match detect(&line?) {
            Ok(found) => Response::Detections(found),
            Err(error) => Response::Error(error.to_string()),
        };
        writeln!(out, "{}", serde_json::to_string(&response)?)?;
        // The other program waits for this line.
        out.flush()?;
    }
    Ok(())
}

fn detect(line: &str) -> Result<Vec<FoundBox>, AnyError> {
    let request: Request = serde_json::from_str(line)?;
    let pixels = read_pixels(&request)?;
    let passes: Result<Vec<_>, AnyError> = request
        .outputs
        .iter()
        .map(|path| read_output(path))
        .collect();
    let outputs = ModelOutputs {
        classes: request.classes,
        passes: passes?,
        scale: request.scale,
        large_from: request.large_from,
    };
    let thresholds = Thresholds {
        confidence: request.confidence_threshold,
        backdrop: request
            .backdrop_threshold
            .unwrap_or(DEFAULT_CONFIDENCE_THRESHOLD),
    };
    let found = precomputed::detect(&pixels, &outputs, thresholds)?;
    Ok(found.iter().map(found_box).collect())
}

fn read_pixels(request: &Request) -> Result<RgbaImage, AnyError> {
    let bytes = read(&request.pixels)?;
    let size = bytes.len();
    // `from_raw` accepts longer buffers, but a larger file is another image.
    let expected = 3 * u64::from(request.width) * u64::from(request.height);
    let fitting = Some(bytes).filter(|bytes| bytes.len() as u64 == expected);
    let pixels = fitting.and_then(|bytes| RgbImage::from_raw(request.width, request.height, bytes));
    let pixels = pixels.ok_or_else(|| {
        let (path, width, height) = (request.pixels.display(), request.width, request.height);
        format!("{path} has {size} bytes instead of the {expected} of {width}x{height} RGB pixels")
    })?;
    Ok(DynamicImage::ImageRgb8(pixels).to_rgba8())
}

fn read_output(path: &Path) -> Result<Vec<f32>, AnyError> {
    let bytes = read(path)?;
    let (values, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(format!("{} does not hold whole f32 values", path.display()).into());
    }
    Ok(values.iter().copied().map(f32::from_le_bytes).collect())
}

fn read(path: &Path) -> Result<Vec<u8>, AnyError> {
    std::fs::read(path).map_err(|error| format!("reading {}: {error}", path.display()).into())
}

fn found_box(found: &Detection) -> FoundBox {
    let (min, max) = (found.bounds.min, found.bounds.max);
    FoundBox {
        class: found.kind.as_str(),
        r#box: [min.x, min.y, max.x, max.y],
        score: found.confidence,
    }
}
