//! How large rectangles are, and how much of one lies in another.
//!
//! In whole pixels of a capture; one without an inside has no area. Pure.

use motorium_proto::domain::geometry::CaptureRect;

/// Shared area as a share of the union, 0 to 1.
pub(crate) fn overlap(a: CaptureRect, b: CaptureRect) -> f64 {
    let shared = shared(a, b);
    let union = area(a) + area(b) - shared;
    if union == 0 {
        0.0
    } else {
        shared as f64 / union as f64
    }
}

/// How much of `part` lies in `whole`, 0 to 1.
pub(crate) fn share_inside(part: CaptureRect, whole: CaptureRect) -> f64 {
    shared(part, whole) as f64 / area(part).max(1) as f64
}

fn shared(a: CaptureRect, b: CaptureRect) -> i64 {
    a.intersection(&b).map_or(0, area)
}

/// In pixels.
pub(crate) fn area(bounds: CaptureRect) -> i64 {
    i64::from(bounds.width().max(0)) * i64::from(bounds.height().max(0))
}
