//! Finding the controls of a user interface on a picture.

use std::fmt;

use image::RgbaImage;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;
use tokio_util::sync::CancellationToken;

use crate::error::Error;

/// A control that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    pub bounds: CaptureRect,
    pub kind: ElementKind,
    /// 0 to 1.
    pub confidence: f32,
}

/// Finds controls. It computes and blocks: call it off the runtime's workers.
pub trait Detector: Send + Sync + fmt::Debug {
    /// The controls in the part `within` of `pixels`, in the picture's own pixels and in no particular order. The part
    /// lies inside; nothing outside of it is looked at.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; otherwise whatever kept the model from running.
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error>;
}

/// Finds nothing: elements then come from text alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoDetector;

impl Detector for NoDetector {
    fn detect(
        &self,
        _pixels: &RgbaImage,
        _within: CaptureRect,
        _cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error> {
        Ok(Vec::new())
    }
}
