//! What is common to the gestures of all drivers: their times, and the way of a drag. Pure.
//!
//! The times were measured with applications: a double click with equal time stamps is two single ones to Chromium,
//! and HTML's drag and drop wants to see the way and to be dwelt upon before it takes a drop.

use std::time::Duration;

use motorium_proto::domain::action::ScrollAmount;
use motorium_proto::domain::geometry::CapturePoint;

use super::Error;

/// How long a button stays down in a click.
pub(crate) const CLICK_HOLD: Duration = Duration::from_millis(10);
/// Between the clicks of a double or triple click.
pub(crate) const CLICK_GAP: Duration = Duration::from_millis(30);
/// The most clicks that applications count as one gesture.
const MOST_CLICKS: u8 = 3;

/// Between two points of a drag. Chromium merges what comes quicker than a frame.
pub(crate) const DRAG_STEP: Duration = Duration::from_millis(12);
/// Fewer moves than this, and HTML's drag and drop does not see the drop.
const FEWEST_DRAG_STEPS: usize = 10;
/// Longer ways get more steps: about one in so many pixels.
const PIXELS_PER_DRAG_STEP: f64 = 30.0;
/// Between the press and the first move.
pub(crate) const DRAG_GRIP: Duration = Duration::from_millis(30);
/// A drag that takes longer is a mistake.
const LONGEST_DRAG: Duration = Duration::from_secs(60);
/// How long the pointer rests on the target before the release.
pub(crate) const DRAG_DWELL: Duration = Duration::from_millis(150);

/// What one notch of the wheel scrolls in Chromium, in pixels of content.
const PIXELS_PER_NOTCH: i32 = 120;
/// More than this in one action is a mistake.
const MOST_NOTCHES: u32 = 1_000;
/// Notches that go out in one write, between two looks at the stop.
pub(crate) const NOTCHES_PER_WRITE: u32 = 5;
/// Between two such writes.
pub(crate) const SCROLL_STEP: Duration = Duration::from_millis(10);

/// Refuses what no application counts as one gesture.
pub(crate) fn check_clicks(count: u8) -> Result<(), Error> {
    if (1..=MOST_CLICKS).contains(&count) {
        return Ok(());
    }
    Err(Error::Malformed {
        what: format!("{count} clicks are not one gesture; 1 to {MOST_CLICKS} are"),
    })
}

/// Where a drag leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    /// Where the button goes down.
    pub(crate) first: CapturePoint,
    /// Where the pointer then passes, the last point included.
    pub(crate) steps: Vec<CapturePoint>,
    /// Where the button goes up.
    pub(crate) last: CapturePoint,
}

/// The way of a drag in enough steps, one each [`DRAG_STEP`].
pub(crate) fn way_of_drag(path: &[CapturePoint], duration: Option<Duration>) -> Result<Way, Error> {
    let [first, .., last] = *path else {
        return Err(Error::Malformed {
            what: "a drag needs at least two points".to_owned(),
        });
    };
    if duration.is_some_and(|duration| duration > LONGEST_DRAG) {
        return Err(Error::Malformed {
            what: format!("a drag takes at most {} s", LONGEST_DRAG.as_secs()),
        });
    }
    Ok(Way {
        first,
        steps: interpolate(path, duration),
        last,
    })
}

/// A neighbour of a point, for the little movement before a drop.
pub(crate) fn beside(point: CapturePoint) -> CapturePoint {
    CapturePoint::new(if point.x > 0 { point.x - 1 } else { 1 }, point.y)
}

/// Whole notches, right and down. What is asked for in pixels and is not nothing is at least one notch.
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
    if x.unsigned_abs().saturating_add(y.unsigned_abs()) > MOST_NOTCHES {
        return Err(Error::Malformed {
            what: format!("more than {MOST_NOTCHES} notches are not one scroll"),
        });
    }
    Ok((x, y))
}

/// The points between the first and the last of a path, the last included, evenly spaced along its length.
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
        .max(FEWEST_DRAG_STEPS);
    // Every corner of the path is visited, so that each leg gets its share of the steps and at least one.
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
