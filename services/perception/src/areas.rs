//! Areas and overlaps of rectangles, in whole pixels of a capture. An empty rectangle has area 0. Pure.

use motorium_proto::domain::geometry::CaptureRect;

/// Intersection over union (IoU) of two rectangles, 0 to 1.
pub(crate) fn iou(a: CaptureRect, b: CaptureRect) -> f64 {
    let shared = shared(a, b);
    let union = area(a) + area(b) - shared;
    if union == 0 {
        0.0
    } else {
        shared as f64 / union as f64
    }
}

/// Fraction of `part` that lies inside `whole`, 0 to 1.
pub(crate) fn fraction_inside(part: CaptureRect, whole: CaptureRect) -> f64 {
    shared(part, whole) as f64 / area(part).max(1) as f64
}

fn shared(a: CaptureRect, b: CaptureRect) -> i64 {
    a.intersection(&b).map_or(0, area)
}

/// Area in pixels.
pub(crate) fn area(bounds: CaptureRect) -> i64 {
    i64::from(bounds.width().max(0)) * i64::from(bounds.height().max(0))
}
