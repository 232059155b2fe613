//! Finding the controls of a user interface on a picture.
//!
//! [`yolo`] runs a network in the layout that YOLOv8 made usual: the one that is built in, or a user's own. [`answer`]
//! makes detections of what such a network says, [`names`] kinds of the names of its classes; [`looks`] puts together what
//! it says of a picture and of smaller copies, [`rows`] lays rows on their text, and [`edges`] large boxes on edges;
//! [`series`] believes more in what stands in a row of its like, and [`captions`] and [`pages`] leave out fields that are none. What
//! a pictogram means and which state shows is [`super::describe`]'s matter; what text is on a control is not looked at here.

mod answer;
mod captions;
mod edges;
mod looks;
mod names;
mod pages;
mod rows;
mod series;
mod yolo;

use std::fmt;
use std::sync::Arc;

use image::RgbaImage;
use motorium_proto::domain::element::{ElementKind, ElementState};
use motorium_proto::domain::geometry::CaptureRect;
use tokio_util::sync::CancellationToken;

use crate::error::Error;
pub use yolo::{DetectSettings, Model, YoloDetector};

/// A control that was seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Detection {
    pub bounds: CaptureRect,
    pub kind: ElementKind,
    /// 0 to 1.
    pub confidence: f32,
    /// What it means where it shows no text, as far as somebody is sure of it.
    pub name: Option<Arc<str>>,
    pub state: ElementState,
}

impl Detection {
    /// One of which nothing else is known.
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

/// Finds controls. It computes and blocks: call it off the runtime's workers.
pub trait Detector: Send + Sync + fmt::Debug {
    /// The controls in the part `within` of `pixels`, in the picture's own pixels and in no particular order. The part
    /// lies inside the picture; what goes on beyond it ends at its edge, and what lies mostly outside is not told.
    ///
    /// # Errors
    /// [`Error::Cancelled`] soon after `cancel` is set; otherwise whatever kept the model from running.
    fn detect(
        &self,
        pixels: &RgbaImage,
        within: CaptureRect,
        cancel: &CancellationToken,
    ) -> Result<Vec<Detection>, Error>;

    /// Loads whatever the first call would load.
    ///
    /// # Errors
    /// Whatever keeps the model from being loaded.
    fn warm_up(&self) -> Result<(), Error>;
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

    fn warm_up(&self) -> Result<(), Error> {
        Ok(())
    }
}
