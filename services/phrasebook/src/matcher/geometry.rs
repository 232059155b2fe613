//! Positions of elements: ninths of the screen, and relations between two elements.

use motorium_proto::domain::action::FramePart;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

/// Position of an element relative to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Nearest, preferably on the same row.
    NextTo,
    LeftOf,
    RightOf,
    Above,
    Below,
    /// On the same row.
    RowOf,
    /// Inside the other element's box: a dialog, a section, a window.
    Inside,
}

/// Returns the distance of a point from a place, relative to the container's extent; `None` if it lies on the other side.
pub(super) fn distance_to_place(
    point: CapturePoint,
    container: CaptureRect,
    place: FramePart,
) -> Option<f64> {
    let along =
        |value: i32, min: i32, extent: i32| f64::from(value - min) / f64::from(extent.max(1));
    let x = along(point.x, container.min.x, container.width());
    let y = along(point.y, container.min.y, container.height());
    let (wanted_x, wanted_y) = corner(place);
    let off = |value: f64, wanted: Option<f64>| {
        wanted.map_or(Some(0.0), |wanted| {
            let distance = (value - wanted).abs();
            // The middle half counts as the centre; otherwise the half on that side.
            let limit = if wanted == 0.5 { 0.25 } else { 0.5 };
            (distance <= limit).then_some(distance)
        })
    };
    Some(off(x, wanted_x)?.hypot(off(y, wanted_y)?))
}

/// Returns the point of a place, in fractions of the container; `None` on an axis that the place leaves open.
fn corner(place: FramePart) -> (Option<f64>, Option<f64>) {
    match place {
        FramePart::TopLeft => (Some(0.0), Some(0.0)),
        FramePart::Top => (None, Some(0.0)),
        FramePart::TopRight => (Some(1.0), Some(0.0)),
        FramePart::Left => (Some(0.0), None),
        FramePart::Centre => (Some(0.5), Some(0.5)),
        FramePart::Right => (Some(1.0), None),
        FramePart::BottomLeft => (Some(0.0), Some(1.0)),
        FramePart::Bottom => (None, Some(1.0)),
        FramePart::BottomRight => (Some(1.0), Some(1.0)),
    }
}

/// Returns the overlap of two ranges in pixels; a negative value is the gap between them.
pub(super) fn overlap(a: (i32, i32), b: (i32, i32)) -> i32 {
    a.1.min(b.1) - a.0.max(b.0)
}

pub(super) fn horizontal_overlap(a: CaptureRect, b: CaptureRect) -> i32 {
    overlap((a.min.x, a.max.x), (b.min.x, b.max.x))
}

pub(super) fn vertical_overlap(a: CaptureRect, b: CaptureRect) -> i32 {
    overlap((a.min.y, a.max.y), (b.min.y, b.max.y))
}

/// Returns whether two boxes are on one row: they overlap by half of the smaller height.
pub(super) fn on_one_row(a: CaptureRect, b: CaptureRect) -> bool {
    vertical_overlap(a, b) * 2 >= a.height().min(b.height()).max(1)
}

/// Returns the gap between two boxes in pixels, 0 if they touch or overlap.
pub(super) fn gap(a: CaptureRect, b: CaptureRect) -> f64 {
    let beside = f64::from((-horizontal_overlap(a, b)).max(0));
    let above = f64::from((-vertical_overlap(a, b)).max(0));
    beside.hypot(above)
}

/// Returns the cost of `thing` having this relation to `other`: smaller is better, `None` if it does not hold.
pub(super) fn distance(relation: Relation, thing: CaptureRect, other: CaptureRect) -> Option<f64> {
    let from = gap(thing, other);
    let (middle, other_middle) = (centre(thing), centre(other));
    // Aligned elements win over merely near ones: the penalty lets an aligned element be three times as far away.
    let aligned = |is_aligned: bool| if is_aligned { from } else { from * 3.0 + 50.0 };
    match relation {
        Relation::NextTo => Some(aligned(on_one_row(thing, other))),
        Relation::RowOf => on_one_row(thing, other).then_some(from),
        Relation::LeftOf => (middle.x < other.min.x).then(|| aligned(on_one_row(thing, other))),
        Relation::RightOf => (middle.x >= other.max.x).then(|| aligned(on_one_row(thing, other))),
        Relation::Above => {
            (middle.y < other.min.y).then(|| aligned(horizontal_overlap(thing, other) > 0))
        }
        Relation::Below => {
            (middle.y >= other.max.y).then(|| aligned(horizontal_overlap(thing, other) > 0))
        }
        Relation::Inside if other.contains(middle) => Some(0.0),
        // The section of a heading is below it.
        Relation::Inside => (middle.y > other_middle.y).then_some(from),
    }
}

/// Returns whether two boxes belong to one element detected twice: 60 % of the smaller lies inside the other.
pub(super) fn is_same_element(a: CaptureRect, b: CaptureRect) -> bool {
    let common =
        i64::from(horizontal_overlap(a, b).max(0)) * i64::from(vertical_overlap(a, b).max(0));
    let area =
        |bounds: CaptureRect| i64::from(bounds.width().max(1)) * i64::from(bounds.height().max(1));
    common * 10 >= area(a).min(area(b)) * 6
}

/// Returns the centre of a box.
pub(super) fn centre(bounds: CaptureRect) -> CapturePoint {
    CapturePoint::new(
        bounds.min.x + bounds.width() / 2,
        bounds.min.y + bounds.height() / 2,
    )
}
