//! Finds panels that were detected as text fields by the captions of the fields in them.
//!
//! The empty rest of a form looks like an editor. Its text would be taken for what the field contains, and "type into
//! Second" would click the panel. In an editor no text stands beside a field: what is in it is its text. Pure. Panels with
//! several controls of higher scores are dropped before ([`crate::parse::detect`]), without their text.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::merged_element::MergedElement;
use super::placed_element::label_distance;
use crate::areas::{area, fraction_inside};

/// Minimum fraction of a field or a caption that must be inside the panel, and maximum fraction of a caption that may be
/// inside its field.
// Boxes of text and of fields are off by a pixel or two.
const MIN_FRACTION_INSIDE: f64 = 0.9;
const MAX_FRACTION_SHARED: f64 = 0.1;

/// Returns whether a text field contains another one with its caption to the left.
pub(super) fn is_captioned_panel(
    panel: &MergedElement,
    controls: &[MergedElement],
    lines: &[CaptureRect],
) -> bool {
    let is_in_panel = |part: CaptureRect| fraction_inside(part, panel.bounds) > MIN_FRACTION_INSIDE;
    let is_field_in_panel = |field: &&MergedElement| {
        field.kind == ElementKind::TextField
            && area(field.bounds) < area(panel.bounds)
            && is_in_panel(field.bounds)
    };
    let mut fields = controls.iter().filter(is_field_in_panel);
    panel.kind == ElementKind::TextField
        && fields.any(|field| {
            let is_caption =
                |line: CaptureRect| is_in_panel(line) && is_to_the_left(line, field.bounds);
            lines.iter().copied().any(is_caption)
        })
}

fn is_to_the_left(line: CaptureRect, field: CaptureRect) -> bool {
    line.center().x < field.min.x
        && fraction_inside(line, field) < MAX_FRACTION_SHARED
        && label_distance(line, field, ElementKind::TextField).is_some()
}
