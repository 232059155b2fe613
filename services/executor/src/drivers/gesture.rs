//! Gesture timing and drag paths shared by all drivers. Pure.
//!
//! The times were measured with applications. Chromium takes a double click with equal time stamps for two single
//! clicks, and HTML drag and drop needs several moves and a pause on the target to accept a drop.

use std::time::Duration;

use motorium_proto::domain::action::ScrollAmount;
use motorium_proto::domain::geometry::CapturePoint;

use super::Error;

/// Press duration of a click.
pub(crate) const CLICK_HOLD: Duration = Duration::from_millis(10);
/// Delay between the clicks of a double or triple click, well below the usual double-click interval.
pub(crate) const CLICK_GAP: Duration = Duration::from_millis(30);
/// Maximum number of clicks that applications count as one gesture.
const MAX_CLICKS: u8 = 3;

/// Delay between two points of a drag. Chromium merges moves that arrive faster than its frames.
pub(crate) const DRAG_STEP: Duration = Duration::from_millis(12);
/// Minimum number of moves: with fewer, HTML drag and drop misses the drop.
const MIN_DRAG_STEPS: usize = 10;
/// Distance per step of longer drags.
const PIXELS_PER_DRAG_STEP: f64 = 30.0;
/// Delay between the press and the first move.
pub(crate) const DRAG_START_DELAY: Duration = Duration::from_millis(30);
/// Maximum duration of a drag. Longer values are taken for errors.
const MAX_DRAG_DURATION: Duration = Duration::from_secs(60);
/// Delay on the target before the release.
pub(crate) const DRAG_DWELL: Duration = Duration::from_millis(150);

/// Distance that one wheel notch scrolls in Chromium, in pixels of content.
const PIXELS_PER_NOTCH: i32 = 120;
/// Maximum number of notches per action. Larger values are taken for errors.
const MAX_NOTCHES: u32 = 1_000;
/// Notches per write. The stop signal is checked between writes.
pub(crate) const NOTCHES_PER_WRITE: u32 = 5;
/// Delay between two writes.
pub(crate) const SCROLL_STEP: Duration = Duration::from_millis(10);

/// Checks the number of clicks of one gesture.
pub(crate) fn check_clicks(count: u8) -> Result<(), Error> {
    if (1..=MAX_CLICKS).contains(&count) {
        return Ok(());
    }
    Err(Error::InvalidAction {
        what: format!("{count} clicks are not one gesture; use 1 to {MAX_CLICKS}"),
    })
}

/// The path of a drag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DragPath {
    /// Point at which the button is pressed.
    pub(crate) first: CapturePoint,
    /// Points that the pointer then moves through, including the last one.
    pub(crate) steps: Vec<CapturePoint>,
    /// Point at which the button is released.
    pub(crate) last: CapturePoint,
}

/// Returns the path of a drag in steps of [`DRAG_STEP`].
pub(crate) fn drag_path(
    path: &[CapturePoint],
    duration: Option<Duration>,
) -> Result<DragPath, Error> {
    let [first, .., last] = *path else {
        return Err(Error::InvalidAction {
            what: "a drag needs at least two points".to_owned(),
        });
    };
    if duration.is_some_and(|duration| duration > MAX_DRAG_DURATION) {
        return Err(Error::InvalidAction {
            what: format!("a drag takes at most {} s", MAX_DRAG_DURATION.as_secs()),
        });
    }
    Ok(DragPath {
        first,
        steps: interpolate(path, duration),
        last,
    })
}

/// Returns a neighbouring point, for the small move before a drop.
pub(crate) fn adjacent_point(point: CapturePoint) -> CapturePoint {
    CapturePoint::new(if point.x > 0 { point.x - 1 } else { 1 }, point.y)
}

/// Converts an amount to whole notches, right and down. A non-zero number of pixels is at least one notch.
pub(crate) fn notches(amount: ScrollAmount) -> Result<(i32, i32), Error> {
    let from_pixels = |pixels: i32| {
        let rounded = (f64::from(pixels) / f64::from(PIXELS_PER_NOTCH)).round() as i32;
        if rounded == 0 {
            pixels.signum()
        } else {
            rounded
        }
    };
    let (x, y) = match amount {
        ScrollAmount::Notches { x, y } => (x, y),
        ScrollAmount::Pixels { x, y } => (from_pixels(x), from_pixels(y)),
    };
    if x.unsigned_abs().saturating_add(y.unsigned_abs()) > MAX_NOTCHES {
        return Err(Error::InvalidAction {
            what: format!("the scroll amount exceeds {MAX_NOTCHES} notches"),
        });
    }
    Ok((x, y))
}

/// Interpolates a path evenly along its length, without the first and including the last point.
fn interpolate(path: &[CapturePoint], duration: Option<Duration>) -> Vec<CapturePoint> {
    let length: f64 = path
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).to_f64().length())
        .sum();
    let wanted = match duration {
        Some(duration) => duration.as_millis() / DRAG_STEP.as_millis(),
        None => (length / PIXELS_PER_DRAG_STEP) as u128,
    };
    let steps = usize::try_from(wanted)
        .unwrap_or(usize::MAX)
        .max(MIN_DRAG_STEPS);
    // Every corner of the path is visited: each leg gets its share of the steps, and at least one.
    let mut points = Vec::new();
    for leg in path.windows(2) {
        let way = (leg[1] - leg[0]).to_f64();
        let share = if length > 0.0 {
            way.length() / length
        } else {
            1.0
        };
        let leg_steps = ((steps as f64 * share).ceil() as usize).max(1);
        for step in 1..=leg_steps {
            let part = step as f64 / leg_steps as f64;
            points.push((leg[0].to_f64() + way * part).round().to_i32());
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_way(path: &[(i32, i32)], duration: Option<u64>, expected_steps: usize) {
        let path: Vec<_> = path.iter().map(|&(x, y)| CapturePoint::new(x, y)).collect();
        let way = interpolate(&path, duration.map(Duration::from_millis));
        assert_eq!(way.len(), expected_steps, "{path:?}");
        assert_eq!(way.last(), path.last());
        for corner in &path[1..] {
            assert!(way.contains(corner), "{corner:?} is cut");
        }
    }

    #[test]
    fn a_drag_visits_its_corners_in_enough_steps() {
        check_way(&[(0, 0), (50, 0)], None, 10);
        check_way(&[(0, 0), (900, 0)], None, 30);
        check_way(&[(0, 0), (50, 0), (50, 50)], None, 10);
        check_way(&[(0, 0), (50, 0)], Some(1200), 100);
        check_way(&[(7, 7), (7, 7)], None, 10);
    }

    fn check_notches(amount: ScrollAmount, expected: Option<(i32, i32)>) {
        assert_eq!(notches(amount).ok(), expected, "{amount:?}");
    }

    #[test]
    fn pixels_become_whole_notches() {
        check_notches(ScrollAmount::Notches { x: -1, y: 3 }, Some((-1, 3)));
        check_notches(ScrollAmount::Pixels { x: 0, y: 360 }, Some((0, 3)));
        check_notches(ScrollAmount::Pixels { x: -130, y: 1 }, Some((-1, 1)));
        check_notches(
            ScrollAmount::Pixels {
                x: i32::MIN,
                y: -40,
            },
            None,
        );
    }
}
