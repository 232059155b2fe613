//! Element with its box in pixels, and its distance from a label.

use motorium_proto::domain::element::{Element, ElementKind};
use motorium_proto::domain::geometry::CaptureRect;

/// Maximum distance of a label from its control, in label heights.
// Labels of a form are aligned to the longest one, so short ones are far from their fields.
pub(super) const MAX_LABEL_DISTANCE: i32 = 8;

/// An element with its box in pixels.
pub(super) struct PlacedElement<'a> {
    pub(super) element: &'a Element,
    pub(super) bounds: CaptureRect,
}

/// Returns the distance of a text from a control that it may label; `None` if the position is not that of a label.
pub(super) fn label_distance(
    text: CaptureRect,
    control: CaptureRect,
    kind: ElementKind,
) -> Option<i32> {
    let height = text.height().max(1);
    let same_row = text.center().y > control.min.y && text.center().y < control.max.y;
    let (before, behind) = (control.min.x - text.max.x, text.min.x - control.max.x);
    let above = control.min.y - text.max.y;
    let starts_alike = (text.min.x - control.min.x).abs() <= 2 * height;
    // Text boxes are slightly too large and may touch what is beside them.
    let near = |gap: i32, max_heights: i32| (-height / 3..=max_heights * height).contains(&gap);
    let is_box = matches!(
        kind,
        ElementKind::Checkbox | ElementKind::Radio | ElementKind::Switch
    );
    if is_box && same_row && near(behind, MAX_LABEL_DISTANCE / 2) {
        return Some(behind.max(0));
    }
    if same_row && near(before, MAX_LABEL_DISTANCE) {
        return Some(before.max(0));
    }
    // A label above a field counts as farther away than one beside it.
    (!is_box && starts_alike && near(above, 1)).then(|| above.max(0) + height)
}
