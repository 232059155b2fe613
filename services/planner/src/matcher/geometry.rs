//! Where things lie: ninths of the screen, and one thing seen from another.

use motorium_proto::domain::action::Place;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::screen::centre;

/// How one thing lies to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Relation {
    /// On either side, or the nearest.
    NextTo,
    LeftOf,
    RightOf,
    Above,
    Below,
    /// On the same row.
    RowOf,
    /// Inside its box: a dialog, a section, a window.
    Inside,
}

/// How far a point is from where a place says it is, as a part of the container's extent; `None` if it lies on
/// the other side.
pub(super) fn distance_to_place(
    point: CapturePoint,
    container: CaptureRect,
    place: Place,
) -> Option<f64> {
    let along =
        |value: i32, min: i32, extent: i32| f64::from(value - min) / f64::from(extent.max(1));
    let x = along(point.x, container.min.x, container.width());
    let y = along(point.y, container.min.y, container.height());
    let (wanted_x, wanted_y) = corner(place);
    let off = |value: f64, wanted: Option<f64>| {
        wanted.map_or(Some(0.0), |wanted| {
            let distance = (value - wanted).abs();
            let limit = if wanted == 0.5 { 0.25 } else { 0.5 };
            (distance <= limit).then_some(distance)
        })
    };
    Some(off(x, wanted_x)?.hypot(off(y, wanted_y)?))
}

/// The point that a place names, in fractions; `None` on an axis that it says nothing of.
fn corner(place: Place) -> (Option<f64>, Option<f64>) {
    match place {
        Place::TopLeft => (Some(0.0), Some(0.0)),
        Place::Top => (None, Some(0.0)),
        Place::TopRight => (Some(1.0), Some(0.0)),
        Place::Left => (Some(0.0), None),
        Place::Centre => (Some(0.5), Some(0.5)),
        Place::Right => (Some(1.0), None),
        Place::BottomLeft => (Some(0.0), Some(1.0)),
        Place::Bottom => (None, Some(1.0)),
        Place::BottomRight => (Some(1.0), Some(1.0)),
    }
}

/// How many pixels two ranges have in common; negative is the gap between them.
pub(super) fn overlap(a: (i32, i32), b: (i32, i32)) -> i32 {
    a.1.min(b.1) - a.0.max(b.0)
}

pub(super) fn horizontal_overlap(a: CaptureRect, b: CaptureRect) -> i32 {
    overlap((a.min.x, a.max.x), (b.min.x, b.max.x))
}

pub(super) fn vertical_overlap(a: CaptureRect, b: CaptureRect) -> i32 {
    overlap((a.min.y, a.max.y), (b.min.y, b.max.y))
}

/// Whether two boxes stand on one row: half of the lower one's height is common to both.
pub(super) fn on_one_row(a: CaptureRect, b: CaptureRect) -> bool {
    vertical_overlap(a, b) * 2 >= a.height().min(b.height()).max(1)
}

/// The gap between two boxes in pixels, 0 where they touch or overlap.
pub(super) fn gap(a: CaptureRect, b: CaptureRect) -> f64 {
    let beside = f64::from((-horizontal_overlap(a, b)).max(0));
    let above = f64::from((-vertical_overlap(a, b)).max(0));
    beside.hypot(above)
}

/// How far `thing` is from lying so to `other`: smaller is better, `None` is not so at all.
pub(super) fn distance(relation: Relation, thing: CaptureRect, other: CaptureRect) -> Option<f64> {
    let from = gap(thing, other);
    let (middle, other_middle) = (centre(thing), centre(other));
    // A thing that is also aligned with the other is meant rather than one that is merely near.
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
        // What is `in` a heading's section stands below it.
        Relation::Inside => (middle.y > other_middle.y).then_some(from),
    }
}

/// Whether two boxes are one thing seen twice: one lies mostly inside the other.
pub(super) fn same_place(a: CaptureRect, b: CaptureRect) -> bool {
    let common =
        i64::from(horizontal_overlap(a, b).max(0)) * i64::from(vertical_overlap(a, b).max(0));
    let area =
        |bounds: CaptureRect| i64::from(bounds.width().max(1)) * i64::from(bounds.height().max(1));
    common * 10 >= area(a).min(area(b)) * 6
}
