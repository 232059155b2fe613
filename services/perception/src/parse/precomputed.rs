//! Detections as the parser would return them, from outputs of the detector that another program computed.
//!
//! For training and evaluation, whose models run in Python (`examples/detect_boxes.rs`). Does not run a model and reads
//! no text. Pure.

use std::sync::Arc;

use image::RgbaImage;

use super::backdrop;
use super::detect::{Detection, ModelOutputs, OutputError};

/// Thresholds of the confidence, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// Minimum confidence of a detection.
    pub confidence: f32,
    /// Minimum confidence of evidence for a backdrop. Usually the threshold of the product, while evaluation also looks at
    /// detections with less confidence.
    pub backdrop: f32,
}

/// Returns the controls on `pixels` that are not behind a backdrop, in image pixels.
///
/// # Errors
/// If the outputs do not fit the image or the classes.
pub fn detect(
    pixels: &RgbaImage,
    outputs: &ModelOutputs,
    thresholds: Thresholds,
) -> Result<Arc<[Detection]>, OutputError> {
    let found = outputs.detections(pixels, thresholds.confidence)?;
    let found = backdrop::without_obscured(pixels, found.into(), thresholds.backdrop);
    Ok(found)
}
