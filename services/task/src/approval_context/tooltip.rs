//! The tooltip of the pointer, which comes some time after the pointer rests on a target.
//!
//! Its text is no change of what was approved. Amounts and recipients in it are: values count wherever they are.

use motorium_proto::domain::element::{Element, ElementKind, ElementSource, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;

use super::ApprovalContext;
use crate::screen::bounds_on_display;
use crate::shown_text::folded;

/// Reach of a tooltip around the pointer, in pixels: to each side, above and below. Browsers and toolkits draw it 15 to 30 px away, as
/// wide as its text.
const REACH_PX: (i32, i32) = (240, 70);
/// Maximum height of a line of a tooltip, in pixels: small letters with their margins.
const MAX_LINE_HEIGHT_PX: i32 = 40;

/// Distance of a tooltip's text from the edge of its shadow, in pixels.
const MARGIN_PX: i32 = 8;

/// Returns whether a text lies on the target of a context that was not there when it was read. A tooltip may repeat the label of its
/// button: then it is a text that reaches into the target from outside.
#[must_use]
pub fn is_covered(scene: &Scene, frame: &Frame, shown: &ApprovalContext) -> bool {
    let Some(target) = shown.target else {
        return false;
    };
    let near = |text: CaptureRect| text.inflate(MARGIN_PX, MARGIN_PX).intersects(&target);
    let reaches_in =
        |text: CaptureRect| text.intersects(&target) && !target.contains(text.center());
    let texts = scene.elements.iter().filter(|element| is_text(element));
    let mut places = texts.map(|element| bounds_on_display(element, frame));
    new_texts(scene, frame, shown).any(near) || places.any(reaches_in)
}

fn is_text(element: &Element) -> bool {
    let is_text = element.kind == ElementKind::Label || element.source == ElementSource::Ocr;
    is_text && !folded(&element.content).is_empty()
}

/// Returns the areas of texts that a context does not have.
fn new_texts<'a>(
    scene: &'a Scene,
    frame: &'a Frame,
    shown: &ApprovalContext,
) -> impl Iterator<Item = CaptureRect> + 'a {
    let known: Vec<String> = shown.texts.iter().map(|text| folded(text)).collect();
    let elements = scene.elements.iter();
    let new = elements
        .filter(move |element| is_text(element) && !known.contains(&folded(&element.content)));
    new.map(|element| bounds_on_display(element, frame))
}

/// Returns the areas of texts that have come near the pointer since a context was read, with the pointer on its target then and now.
#[must_use]
pub fn tooltip(scene: &Scene, frame: &Frame, shown: &ApprovalContext) -> Vec<CaptureRect> {
    let pointer = frame
        .cursor
        .map(|cursor| cursor.position + frame.origin.to_vector());
    let on_target = shown
        .target
        .zip(pointer)
        .filter(|(target, pointer)| shown.pointer_on_target && target.contains(*pointer));
    let Some((target, pointer)) = on_target else {
        return Vec::new();
    };
    let around = CaptureRect::new(pointer, pointer).inflate(REACH_PX.0, REACH_PX.1);
    new_texts(scene, frame, shown)
        .filter(|bounds| {
            bounds.height() <= MAX_LINE_HEIGHT_PX
                && around.contains(bounds.center())
                && !target.contains(bounds.center())
        })
        .collect()
}
