//! Clocks, told by what they say.
//!
//! A clock that shows seconds changes within every no-effect window, and before the first action of a task nobody has
//! looked long enough to know that it moves by itself. What reads like the time of day at the moment of the look is a
//! clock from the beginning; a stopwatch, which an action may have started, does not.

use std::time::{SystemTime, UNIX_EPOCH};

use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;

use crate::task::screen::{bounds_on_display, minute_shown, shows_time};

/// Longer texts only mention a time: `Sun 22 Nov 2026, 14:03:27` has 25 characters.
const LONGEST: usize = 32;
/// All time zones in use differ by multiples of so many minutes.
const ZONE_STEP: u64 = 15;
/// The frame's time and the desktop's may differ by so many minutes.
const TOLERANCE: u64 = 1;

/// Where the clocks of a screen are, in pixels of the whole display: what says the time of now, and what says any time
/// and has been seen to move (`stirring`). Of the latter a part may have moved so far, the last digit.
#[must_use]
pub fn clocks(scene: &Scene, frame: &Frame, stirring: &[CaptureRect]) -> Vec<CaptureRect> {
    let is_clock = |element: &&Element| {
        let moves = |place: &CaptureRect| place.intersects(&bounds_on_display(element, frame));
        let says_time = shows_time(&element.content) && element.content.chars().count() <= LONGEST;
        is_now(&element.content, frame.captured_at) || (says_time && stirring.iter().any(moves))
    };
    let clocks = scene.elements.iter().filter(is_clock);
    clocks
        .map(|element| bounds_on_display(element, frame))
        .collect()
}

fn is_now(text: &str, now: SystemTime) -> bool {
    if text.chars().count() > LONGEST {
        return false;
    }
    let Some(minute) = minute_shown(text) else {
        return false;
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let ahead = (minute + ZONE_STEP - now.as_secs() / 60 % ZONE_STEP) % ZONE_STEP;
    ahead <= TOLERANCE || ahead >= ZONE_STEP - TOLERANCE
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_says_the_time_is_a_clock() {
        // 2026-11-22 14:03:27 UTC.
        let now = UNIX_EPOCH + Duration::from_secs(1_795_356_207);
        for text in [
            "14:03",
            "14:03:27",
            "2:03:27 PM",
            "Sun 22 Nov 2026, 14:03:27",
            "19:33", // in a zone half an hour off
            "14:04", // a little ahead
            "下午2:03",
        ] {
            assert!(is_now(text, now), "{text}");
        }
        for text in [
            "00:00:07", // a stopwatch
            "14:10",
            "meet at 14:03 in front of the house, Alice",
            "1:2:3",
            "114:03",
            "12:99",
            "a:03",
            "3 times",
            "",
        ] {
            assert!(!is_now(text, now), "{text}");
        }
    }
}
