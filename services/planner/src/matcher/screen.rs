//! A frame and its elements, prepared for looking things up: boxes in pixels, folded texts, and which window each
//! element lies in.

use motorium_proto::domain::element::{Element, ElementKind, ElementSource, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

use super::likeness::Folded;

/// A control that may be a field is at least so many times as wide as high. Cells and days of calendars are narrower.
const FIELD_SHAPE: i32 = 4;

/// How far up a thing lies, the furthest down first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// In a window that has not the keyboard, or in none.
    Behind,
    Active,
    /// In a dialog that keeps the rest from being used.
    Dialog,
}

/// An element with what is needed to compare it.
#[derive(Debug, Clone)]
pub(super) struct Item<'a> {
    pub(super) element: &'a Element,
    pub(super) bounds: CaptureRect,
    pub(super) text: Folded,
    pub(super) layer: Layer,
    /// The window it lies in, or the whole frame.
    pub(super) container: CaptureRect,
}

impl Item<'_> {
    pub(super) fn kind(&self) -> ElementKind {
        self.element.kind
    }

    /// Whether nothing but its text is known of it: it was read and not detected.
    pub(super) fn is_only_text(&self) -> bool {
        self.element.source == ElementSource::Ocr || self.element.kind == ElementKind::Label
    }

    /// Whether text can be entered into it.
    pub(super) fn is_field(&self) -> bool {
        matches!(
            self.kind(),
            ElementKind::TextField | ElementKind::SpinBox | ElementKind::DropDown
        )
    }

    /// Whether it is shaped like a field, and nothing is known of it but that one can act on it: a detector knows a wide
    /// field less surely than a narrow one.
    pub(super) fn may_be_field(&self) -> bool {
        self.kind() == ElementKind::Control
            && self.bounds.width() >= FIELD_SHAPE * self.bounds.height()
    }

    /// Whether it can be on or off.
    pub(super) fn is_toggle(&self) -> bool {
        matches!(
            self.kind(),
            ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch
        )
    }
}

/// Everything on a frame.
#[derive(Debug, Clone)]
pub struct Screen<'a> {
    pub(super) frame: &'a Frame,
    pub(super) items: Vec<Item<'a>>,
    /// What lies at these points is not meant.
    pub(super) excluded: Vec<CapturePoint>,
}

impl<'a> Screen<'a> {
    /// Prepares a frame and its elements, which stand in reading order.
    #[must_use]
    pub fn new(frame: &'a Frame, scene: &'a Scene) -> Self {
        let items = scene
            .elements
            .iter()
            .map(|element| item(frame, scene, element))
            .collect();
        Self {
            frame,
            items,
            excluded: Vec::new(),
        }
    }

    /// The same screen, where nothing at these points is found.
    #[must_use]
    pub fn without(&self, points: Vec<CapturePoint>) -> Self {
        Self {
            excluded: points,
            ..self.clone()
        }
    }

    /// The whole frame.
    pub(super) fn bounds(&self) -> CaptureRect {
        CaptureRect::from_size(self.frame.size)
    }
}

fn item<'a>(frame: &'a Frame, scene: &Scene, element: &'a Element) -> Item<'a> {
    let bounds = pixels(element, frame.size);
    let centre = centre(bounds);
    let window = frame
        .windows
        .iter()
        .find(|window| !window.minimised && window.bounds.contains(centre));
    Item {
        element,
        bounds,
        text: Folded::new(&element.content),
        layer: layer(frame, scene, element, window),
        container: window.map_or(CaptureRect::from_size(frame.size), |window| window.bounds),
    }
}

fn layer(frame: &Frame, scene: &Scene, element: &Element, window: Option<&Window>) -> Layer {
    let in_dialog = scene.elements.iter().any(|dialog| {
        dialog.kind == ElementKind::Dialog
            && dialog.id != element.id
            && dialog.bounds.contains(element.bounds.center())
    });
    match window {
        Some(window) if window.modal && !is_behind_another(frame, window) => Layer::Dialog,
        Some(window) if window.active && in_dialog => Layer::Dialog,
        Some(window) if window.active => Layer::Active,
        None if frame.windows.is_empty() => {
            if in_dialog {
                Layer::Dialog
            } else {
                Layer::Active
            }
        }
        _ => Layer::Behind,
    }
}

/// Whether a window that has the keyboard lies above this one.
fn is_behind_another(frame: &Frame, window: &Window) -> bool {
    frame
        .active_window()
        .is_some_and(|active| active.id != window.id && active.modal)
}

/// The element's box in pixels of the frame.
#[expect(
    clippy::cast_possible_truncation,
    reason = "fractions of a frame's extent fit its pixels"
)]
fn pixels(element: &Element, size: CaptureSize) -> CaptureRect {
    let scale = |fraction: f64, extent: i32| (fraction * f64::from(extent)).round() as i32;
    let point = |x: f64, y: f64| CapturePoint::new(scale(x, size.width), scale(y, size.height));
    CaptureRect::new(
        point(element.bounds.min.x, element.bounds.min.y),
        point(element.bounds.max.x, element.bounds.max.y),
    )
}

/// The middle of a box.
pub(super) fn centre(bounds: CaptureRect) -> CapturePoint {
    CapturePoint::new(
        bounds.min.x + bounds.width() / 2,
        bounds.min.y + bounds.height() / 2,
    )
}
