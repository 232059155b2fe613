//! Gesture timing and drag paths shared by all drivers. Pure.
//!
//! The times were measured with applications. Chromium takes a double click with equal time stamps for two single
//! clicks, and HTML drag and drop needs several moves and a pause on the target to accept a drop.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::action::{Button, ScrollAmount};
use motorium_proto::domain::geometry::CapturePoint;

use super::Error;

/// Press duration of a click.
// As for chords: programs that poll the pointer miss shorter presses.
pub(crate) const CLICK_HOLD: Duration = Duration::from_millis(10);
/// Delay between the clicks of a double or triple click, well below the usual double-click interval.
pub(crate) const CLICK_GAP: Duration = Duration::from_millis(30);
/// Maximum number of clicks that applications count as one gesture.
// A triple click selects a paragraph; toolkits know no longer gesture.
const MAX_CLICKS: u8 = 3;

/// Delay between two points of a drag. Chromium merges moves that arrive faster than its frames.
pub(crate) const DRAG_STEP: Duration = Duration::from_millis(12);
/// Minimum number of moves: with fewer, HTML drag and drop misses the drop.
const MIN_DRAG_STEPS: usize = 10;
/// Distance per step of longer drags.
// Targets that react to the pointer are not jumped over: controls are about this high.
const PIXELS_PER_DRAG_STEP: f64 = 30.0;
/// Default time between the press and the first move. Lists that are reordered by a long press want 150 ms, measured by
/// the application, which may receive the press later than the first move on a busy machine.
const DRAG_HOLD: Duration = Duration::from_millis(250);
/// Maximum duration of a drag. Longer values are taken for errors.
const MAX_DRAG_DURATION: Duration = Duration::from_secs(60);
/// Delay on the target before the release.
// Several frames, in which the target shows that it accepts the drop.
pub(crate) const DRAG_DWELL: Duration = Duration::from_millis(150);

/// Shortest double-click interval to assume. Chromium and Tk use 500 ms whatever the desktop has set.
pub(crate) const MIN_DOUBLE_CLICK_INTERVAL: Duration = Duration::from_millis(500);
/// Additional delay: applications compare the times at which the display handled the presses, not those of sending.
const CLICK_SEPARATION_MARGIN: Duration = Duration::from_millis(50);
/// Distance within which two presses count as one place. Toolkits use up to 5 logical points, at a scale of up to 3.
const SAME_PLACE_DISTANCE: i32 = 15;

/// Distance that one wheel notch scrolls in Chromium, in pixels of content.
const PIXELS_PER_NOTCH: i32 = 120;
/// Maximum number of notches per action. Larger values are taken for errors.
const MAX_NOTCHES: u32 = 1_000;
/// Notches per write. The stop signal is checked between writes.
pub(crate) const NOTCHES_PER_WRITE: u32 = 5;
/// Delay between two writes.
// Less than a frame, so that a scroll is smooth and a stop comes between two writes.
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

/// The last press of a button.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LastPress {
    pub(crate) at: CapturePoint,
    pub(crate) button: Button,
    /// Time at which the press had been sent.
    pub(crate) time: SystemTime,
}

impl LastPress {
    /// Returns the delay before the next gesture with `button` at `at`, so that no application takes the two for a
    /// double click.
    pub(crate) fn separation(
        &self,
        at: CapturePoint,
        button: Button,
        interval: Duration,
        now: SystemTime,
    ) -> Duration {
        let distance = at - self.at;
        let is_same_place = distance.x.abs().max(distance.y.abs()) <= SAME_PLACE_DISTANCE;
        if button != self.button || !is_same_place {
            return Duration::ZERO;
        }
        // A press in the future comes from a clock that was changed.
        let elapsed = now.duration_since(self.time).unwrap_or(Duration::MAX);
        (interval + CLICK_SEPARATION_MARGIN).saturating_sub(elapsed)
    }
}

/// The path of a drag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DragPath {
    /// Point at which the button is pressed.
    pub(crate) first: CapturePoint,
    /// Time between the press and the first move.
    pub(crate) hold: Duration,
    /// Points that the pointer then moves through, including the last one.
    pub(crate) steps: Vec<CapturePoint>,
    /// Point at which the button is released.
    pub(crate) last: CapturePoint,
}

/// Returns the path of a drag in steps of [`DRAG_STEP`].
pub(crate) fn drag_path(
    path: &[CapturePoint],
    duration: Option<Duration>,
    hold: Option<Duration>,
) -> Result<DragPath, Error> {
    let [first, .., last] = *path else {
        return Err(Error::InvalidAction {
            what: "a drag needs at least two points".to_owned(),
        });
    };
    if duration
        .max(hold)
        .is_some_and(|longest| longest > MAX_DRAG_DURATION)
    {
        return Err(Error::InvalidAction {
            what: format!("a drag takes at most {} s", MAX_DRAG_DURATION.as_secs()),
        });
    }
    Ok(DragPath {
        first,
        hold: hold.unwrap_or(DRAG_HOLD),
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

    #[test]
    fn presses_at_one_place_keep_more_than_the_interval() {
        let begun = SystemTime::UNIX_EPOCH;
        let last = LastPress {
            at: CapturePoint::new(100, 100),
            button: Button::Left,
            time: begun,
        };
        let check = |(x, y), button, elapsed: u64, expected: u64| {
            let now = begun + Duration::from_millis(elapsed);
            let interval = Duration::from_millis(500);
            let delay = last.separation(CapturePoint::new(x, y), button, interval, now);
            assert_eq!(delay, Duration::from_millis(expected), "{x}, {y} {elapsed}");
        };
        check((100, 100), Button::Left, 20, 530);
        check((103, 95), Button::Left, 200, 350);
        check((100, 100), Button::Left, 550, 0);
        check((100, 100), Button::Right, 20, 0);
        check((100, 140), Button::Left, 20, 0);
        let changed_clock = begun - Duration::from_secs(3600);
        let interval = Duration::from_millis(500);
        let delay = last.separation(last.at, last.button, interval, changed_clock);
        assert_eq!(delay, Duration::ZERO);
    }

    fn check_notches(amount: ScrollAmount, expected: Option<(i32, i32)>) {
        assert_eq!(notches(amount).ok(), expected, "{amount:?}");
    }

    #[test]
    fn scroll_pixels_convert_to_whole_notches() {
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
