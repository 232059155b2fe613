//! The areas around a target that count: what an approver is shown, and the dialog.

use motorium_proto::domain::element::{ElementKind, Scene};
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::CaptureRect;

use crate::screen::bounds_on_display;

/// Margin around a target that an approver is shown: horizontal and vertical, in pixels.
// Shows the row or dialog around the target, so that a person recognises the place.
const EVIDENCE_MARGIN_PX: (i32, i32) = (240, 120);
/// Reach of a dialog without a visible border to each side of a target, in pixels at scale 1.
// A form of a page is rarely wider or higher; advertisements with prices are beside it.
const DIALOG_REACH_PX: i32 = 480;

/// Returns the area around a target that an approver is shown.
#[must_use]
pub fn evidence_area(target: CaptureRect) -> CaptureRect {
    target.inflate(EVIDENCE_MARGIN_PX.0, EVIDENCE_MARGIN_PX.1)
}

/// Returns the area whose amounts and recipients belong to a target: the dialog that it is in.
#[must_use]
pub fn dialog_area(scene: &Scene, frame: &Frame, target: Option<CaptureRect>) -> CaptureRect {
    let window = frame.active_window();
    let whole = window.map_or(frame.bounds(), |window| window.bounds);
    let Some(target) = target else {
        return whole;
    };
    let dialogs = scene.elements.iter();
    let dialogs = dialogs.filter(|element| element.kind == ElementKind::Dialog);
    let dialogs = dialogs.map(|dialog| bounds_on_display(dialog, frame));
    let around = dialogs.filter(|dialog| dialog.contains(target.center()));
    // A box that was found too small must not cut off what the approver is shown.
    let shown = evidence_area(target);
    if let Some(dialog) = around.min_by_key(CaptureRect::area) {
        return dialog.union(&shown);
    }
    if window.is_some_and(|window| is_dialog(window, frame)) {
        return whole.union(&shown);
    }
    let reach = (f64::from(DIALOG_REACH_PX) * frame.scale).round() as i32;
    let near = target.inflate(reach, reach);
    near.intersection(&whole).unwrap_or(near).union(&shown)
}

/// Returns true if a window is a dialog: it is modal, or covers less than half of the screen.
#[must_use]
pub fn is_dialog(window: &Window, frame: &Frame) -> bool {
    let area = |bounds: CaptureRect| i64::from(bounds.width()) * i64::from(bounds.height());
    // The modal hint is optional. A dialog seldom covers half of the screen.
    window.modal || area(window.bounds) * 2 < area(frame.bounds())
}
