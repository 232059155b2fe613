//! Detects the controls of a user interface in an image.
//!
//! [`yolo`] runs a model with the YOLOv8 layout: the built-in one or a user's own. [`postprocess`] decodes its output,
//! [`class_names`] maps its classes to kinds, [`multiscale`] merges the passes at several scales, [`row_alignment`]
//! aligns rows with their text, [`edge_snapping`] snaps large boxes to edges, [`series_boost`] raises the scores of
//! elements in a series, and [`caption_filter`] and [`page_filter`] remove false text fields; [`refine`] applies these in
//! order. [`outputs`] does all of it with outputs that another program computed. Icon names and states are predicted in
//! [`super::describe`]; text is not considered here.

mod caption_filter;
mod class_names;
mod edge_snapping;
mod multiscale;
mod outputs;
mod page_filter;
mod postprocess;
mod refine;
mod row_alignment;
mod series_boost;
mod yolo;

use std::fmt;
use std::sync::Arc;

use image::RgbaImage;
use motorium_proto::domain::element::{ElementKind, ElementState};
use motorium_proto::domain::geometry::CaptureRect;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
pub use outputs::{ModelOutputs, OutputError};
pub use yolo::{DetectSettings, DetectorModel, YoloDetector};

/// Confidence from which on a detected field is no row of a table. Rows were seen with 0.3 to 0.6, drawn fields with 0.8 and more.
pub const MIN_CERTAIN_FIELD: f32 = 0.7;

/// Detected control.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    pub bounds: CaptureRect,
    pub kind: ElementKind,
    /// 0 to 1.
    pub confidence: f32,
    /// Meaning of an icon, if it was classified with sufficient confidence.
    pub name: Option<Arc<str>>,
    pub state: ElementState,
}

impl Detection {
    /// Creates a detection without name and state.
    #[must_use]
    pub fn new(bounds: CaptureRect, kind: ElementKind, confidence: f32) -> Self {
        Self {
            bounds,
            kind,
            confidence,
            name: None,
            state: ElementState::default(),
        }
    }
}

/// Detects controls. Calls block: run them outside the async workers.
pub trait Detector: Send + Sync + fmt::Debug {
    /// Returns the controls within the region `within` of `pixels`, in image pixels and in no particular order. The
    /// region must be inside the image. Controls that extend beyond it are clipped, and those mostly outside are
    /// omitted.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; otherwise errors of running the model.
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error>;

    /// Loads the model that the first call would load.
    ///
    /// # Errors
    /// If the model cannot be loaded.
    fn warm_up(&self) -> Result<(), Error>;
}

/// Detector that finds nothing: elements come from text only.
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

    fn warm_up(&self) -> Result<(), Error> {
        Ok(())
    }
}
