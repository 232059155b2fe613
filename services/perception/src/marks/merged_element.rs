//! Element of a scene before it has an id.

use motorium_proto::domain::element::{ElementKind, ElementSource, ElementState};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

/// Element without an id.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedElement {
    pub kind: ElementKind,
    /// Text or name; empty if unknown.
    pub content: String,
    /// Box in capture pixels, inside the frame, not empty.
    pub bounds: CaptureRect,
    /// Point to click, in capture pixels; `None`: the centre of the box.
    pub click_point: Option<CapturePoint>,
    pub interactable: bool,
    /// 0 to 1.
    pub confidence: f32,
    pub source: ElementSource,
    pub state: ElementState,
}
