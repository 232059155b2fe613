//! Detection of clocks by their text.
//!
//! A clock with seconds changes within every no-effect window, and before the first action of a task there are too few
//! observations to know that it moves on its own. A text that matches the time of day of the capture is a clock from the start.
//! A stopwatch does not match, because an action may have started it.

use std::time::{SystemTime, UNIX_EPOCH};

use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;

use crate::screen::{bounds_on_display, contains_time, minute_of_time};

/// Maximum length of a clock's text. Longer texts only mention a time; `Sun 22 Nov 2026, 14:03:27` has 25 characters.
const MAX_CLOCK_TEXT_CHARS: usize = 32;
/// Granularity of time zone offsets in use, in minutes. The desktop's zone is not known.
const TIME_ZONE_STEP_MINUTES: u64 = 15;
/// Maximum difference between the frame's time and the desktop's clock, in minutes: a minute may turn between them.
const TOLERANCE_MINUTES: u64 = 1;
/// Maximum difference in seconds of the frame's time and a clock without hours, which another text may resemble.
const TOLERANCE_SECONDS: u64 = 2;

/// Returns the boxes of the clocks on a screen, in display pixels: texts that match the current time, and texts that show any
/// time and overlap `background_motion`. An overlap is enough, because often only the last digit has changed so far.
#[must_use]
pub fn clocks(scene: &Scene, frame: &Frame, background_motion: &[CaptureRect]) -> Vec<CaptureRect> {
    let is_clock = |element: &&Element| {
        let moves = |place: &CaptureRect| place.intersects(&bounds_on_display(element, frame));
        let says_time = contains_time(&element.content)
            && element.content.chars().count() <= MAX_CLOCK_TEXT_CHARS;
        shows_current_time(&element.content, frame.captured_at)
            || is_cut_clock(&element.content)
            || shows_current_second(&element.content, frame.captured_at)
            || (says_time && background_motion.iter().any(moves))
    };
    let clocks = scene.elements.iter().filter(is_clock);
    clocks
        .map(|element| bounds_on_display(element, frame))
        .collect()
}

/// Returns true for the end of a clock whose hours were read as another text: `:52:00`. Nothing else begins like that.
fn is_cut_clock(text: &str) -> bool {
    let digits = text.trim().strip_prefix(':');
    digits.is_some_and(|digits| {
        let is_time = digits.chars().all(|c| c.is_ascii_digit() || c == ':');
        is_time && digits.len() <= "52:00".len() && digits.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Returns true for the end of a clock without its hours that shows the current minute and second: `28:25` of `17:28:25`.
fn shows_current_second(text: &str, now: SystemTime) -> bool {
    let pair = text.trim().split_once(':');
    let numbers = pair.filter(|(minute, second)| minute.len() == 2 && second.len() == 2);
    let numbers = numbers.and_then(|(minute, second)| {
        Some((minute.parse::<u64>().ok()?, second.parse::<u64>().ok()?))
    });
    let Some((minute, second)) = numbers.filter(|(minute, second)| *minute < 60 && *second < 60)
    else {
        return false;
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let quarter = TIME_ZONE_STEP_MINUTES * 60;
    let apart = (minute * 60 + second + quarter - now % quarter) % quarter;
    apart <= TOLERANCE_SECONDS || apart >= quarter - TOLERANCE_SECONDS
}

fn shows_current_time(text: &str, now: SystemTime) -> bool {
    if text.chars().count() > MAX_CLOCK_TEXT_CHARS {
        return false;
    }
    let Some(minute) = minute_of_time(text) else {
        return false;
    };
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Only the minute within a quarter of an hour is compared: it is the same in every time zone.
    let ahead = (minute + TIME_ZONE_STEP_MINUTES - now.as_secs() / 60 % TIME_ZONE_STEP_MINUTES)
        % TIME_ZONE_STEP_MINUTES;
    ahead <= TOLERANCE_MINUTES || ahead >= TIME_ZONE_STEP_MINUTES - TOLERANCE_MINUTES
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn end_of_a_clock_is_a_clock() {
        assert!(is_cut_clock(":52:00") && is_cut_clock(":48"));
        for text in [":", "::", ":a", "52:00", ":52:00:10", ":1234567"] {
            assert!(!is_cut_clock(text), "{text}");
        }
    }

    #[test]
    fn minute_and_second_of_now_are_a_clock() {
        // 2026-11-22 14:03:27 UTC.
        let now = UNIX_EPOCH + Duration::from_secs(1_795_356_207);
        assert!(shows_current_second("03:27", now) && shows_current_second("48:26", now));
        for text in [
            "03:20", "04:27", "3:27", "03:27:00", "00:01", "99:99", "03:2a",
        ] {
            assert!(!shows_current_second(text, now), "{text}");
        }
    }

    #[test]
    fn text_showing_the_current_time_is_a_clock() {
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
            assert!(shows_current_time(text, now), "{text}");
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
            assert!(!shows_current_time(text, now), "{text}");
        }
    }
}
