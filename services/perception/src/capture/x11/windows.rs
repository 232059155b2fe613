//! Window list of a display as callers see it, and which windows certainly cover what is below them.

use motorium_proto::domain::frame::Window;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_x11::ignore_gone;
use motorium_x11::windows::{Bounds, WindowDetail};
use x11rb::protocol::shape::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{ConnectionExt as _, Rectangle, Window as Id};

use super::connection::{ScreenConnection, X11Fault};

/// Listed window, and whether it certainly covers what is below it.
#[derive(Debug)]
pub(super) struct ListedWindow {
    pub(super) window: Window,
    pub(super) is_opaque: bool,
}

/// Lists all windows, topmost first. With exact detail, windows with holes count as non-covering.
pub(super) fn list(
    connection: &ScreenConnection,
    detail: WindowDetail,
) -> Result<Vec<ListedWindow>, X11Fault> {
    let found = motorium_x11::windows::list(&connection.server, detail)?;
    let mut listed = Vec::with_capacity(found.len());
    for window in found {
        let info = window.info;
        let bounds = capture_bounds(info.bounds);
        let has_holes = detail == WindowDetail::Exact
            && has_holes(connection, [info.id, window.frame], bounds)?;
        listed.push(ListedWindow {
            // A window that is not viewable is on another workspace.
            is_opaque: info.is_viewable && !info.has_alpha && !has_holes,
            window: Window {
                id: format_id(info.id),
                title: info.title,
                application: info.application,
                process: info.process,
                bounds,
                active: window.is_active,
                minimised: info.is_minimised,
                modal: info.is_modal,
            },
        });
    }
    Ok(listed)
}

/// Formats a window id as used in requests and responses.
fn format_id(id: Id) -> String {
    format!("{id:#x}")
}

fn capture_bounds(bounds: Bounds) -> CaptureRect {
    CaptureRect::from_origin_and_size(
        CapturePoint::new(bounds.x.into(), bounds.y.into()),
        CaptureSize::new(bounds.width.into(), bounds.height.into()),
    )
}

/// Returns whether content below a window is visible within its box, because the window or its frame has a shape (SHAPE
/// extension).
fn has_holes(
    connection: &ScreenConnection,
    framed: [Id; 2],
    bounds: CaptureRect,
) -> Result<bool, X11Fault> {
    if !connection.extensions.shape {
        return Ok(false);
    }
    let x = &connection.server.x;
    let cookies = framed.map(|id| {
        let place = x.translate_coordinates(id, connection.server.root, 0, 0);
        (
            x.shape_query_extents(id),
            x.shape_get_rectangles(id, shape::SK::BOUNDING),
            place,
        )
    });
    for (extents, rectangles, place) in cookies {
        let (extents, rectangles, place) = (extents?, rectangles?, place?);
        let shaped = ignore_gone(extents.reply())?.is_some_and(|extents| extents.bounding_shaped);
        let rectangles = ignore_gone(rectangles.reply())?;
        let place = ignore_gone(place.reply())?;
        let (Some(rectangles), Some(place)) = (rectangles, place) else {
            continue;
        };
        if shaped && leaves_gap(bounds, &rectangles.rectangles, [place.dst_x, place.dst_y]) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether non-overlapping rectangles, relative to a corner, leave a part of a box uncovered.
fn leaves_gap(bounds: CaptureRect, rectangles: &[Rectangle], [x, y]: [i16; 2]) -> bool {
    let corner = euclid::vec2(x.into(), y.into());
    let covered = rectangles.iter().filter_map(|rectangle| {
        let shape = super::damage::capture_rect(rectangle).translate(corner);
        shape.intersection(&bounds)
    });
    covered.map(|part| part.to_i64().area()).sum::<i64>() < bounds.to_i64().area()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_with_a_cut_corner_leaves_a_gap() {
        let bounds =
            CaptureRect::from_origin_and_size(CapturePoint::new(100, 50), CaptureSize::new(40, 30));
        let rectangle = |x, y, width, height| Rectangle {
            x,
            y,
            width,
            height,
        };
        let check = |rectangles: &[Rectangle], corner, expected| {
            assert_eq!(leaves_gap(bounds, rectangles, corner), expected);
        };
        check(&[rectangle(0, 0, 40, 30)], [100, 50], false);
        check(
            &[rectangle(2, 0, 38, 1), rectangle(0, 1, 40, 29)],
            [100, 50],
            true,
        );
        check(&[], [100, 50], true);
        // A frame whose upper corners are cut off, above the window in it.
        let frame = [rectangle(3, 0, 44, 2), rectangle(0, 2, 50, 60)];
        check(&frame, [95, 30], false);
    }
}
