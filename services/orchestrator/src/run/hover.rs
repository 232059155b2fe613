//! Rests the pointer before an action: at which points, and the wait for an application's reaction, such as a highlight or a menu.
//!
//! The reaction is not judged here: the screen is compared afterwards.

use std::ops::Range;
use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::WaitForIdleRequest;
use tokio::time::Instant;
use tonic::Code;

use super::context::RunContext;
use super::{RunResult, capture, halt};

/// Maximum time for an application to start reacting to the pointer.
// A browser takes two to four frames, and several times that on a busy machine.
const HOVER_RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);
/// Maximum time for an application's reaction to the pointer to settle.
// Hover transitions rarely last longer; an endless animation must not block the click.
const HOVER_SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Waits until the application's reaction to the pointer at a place has settled, or until it is clear that there
/// is none. The next checks judge the result.
pub(super) async fn wait_for_hover_response(
    run: &mut RunContext,
    before: &Frame,
    place: CaptureRect,
) -> RunResult {
    let began = Instant::now();
    let since_the_look_before = WaitForIdleRequest {
        display: run.display(),
        since_frame: Some(before.id.clone()),
        first_change_timeout: HOVER_RESPONSE_TIMEOUT,
        // An earlier change may be unrelated to the pointer, or only the beginning of the reaction.
        idle_duration: HOVER_RESPONSE_TIMEOUT,
        timeout: HOVER_SETTLE_TIMEOUT,
        ignore: outside(place, before.bounds()),
        ..WaitForIdleRequest::default()
    };
    let from_now_on = WaitForIdleRequest {
        since_frame: None,
        ..since_the_look_before.clone()
    };
    for request in [since_the_look_before, from_now_on] {
        let answered =
            capture::wait_for_idle(run, Message::OperationAwaitReaction, request).await?;
        match answered {
            Ok(_) => break,
            // Perception has dropped the baseline frame.
            Err(report) if report.code == Code::NotFound => {}
            // Only in a replay of a recording from before further attempts.
            Err(report) if run.config.max_screen_failures == 0 => {
                return Err(halt(run.task(), Message::OperationAwaitReaction, report));
            }
            Err(_) => break,
        }
    }
    run.record_timing("pointer", began);
    Ok(())
}

/// Returns the points at which the pointer rests before an action: the end of a drag, then its start.
pub(super) fn pointer_stops(action: &Action<CapturePoint>) -> Vec<CapturePoint> {
    let mut points = action.targets().copied();
    match action {
        Action::Drag { .. } => {
            let start = points.next();
            let end = points.last();
            end.into_iter().chain(start).collect()
        }
        Action::Click { .. } | Action::MouseDown { .. } | Action::MouseUp { .. } => {
            points.collect()
        }
        // Every kind is named: a new one that clicks would otherwise be performed without a last look. A movement and a
        // scroll change nothing that an approval could cover; the others are not at a place.
        Action::Move { .. }
        | Action::Scroll { .. }
        | Action::TypeText { .. }
        | Action::KeyChord { .. }
        | Action::HoldKey { .. }
        | Action::Wait { .. }
        | Action::SetClipboard { .. }
        | Action::Paste { .. }
        | Action::OpenApplication { .. }
        | Action::OpenUrl { .. }
        | Action::FocusWindow { .. }
        | Action::GoToUrl { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => Vec::new(),
    }
}

/// Returns the rectangles that cover the screen except for one place.
fn outside(place: CaptureRect, screen: CaptureRect) -> Vec<CaptureRect> {
    let Some(hole) = place.intersection(&screen) else {
        return Vec::new();
    };
    let (Range { start: x0, end: x1 }, Range { start: y0, end: y1 }) =
        (hole.x_range(), hole.y_range());
    let corners = |x: Range<i32>, y: Range<i32>| {
        CaptureRect::new(
            CapturePoint::new(x.start, y.start),
            CapturePoint::new(x.end, y.end),
        )
    };
    let all = [
        corners(screen.x_range(), screen.min.y..y0),
        corners(screen.x_range(), y1..screen.max.y),
        corners(screen.min.x..x0, y0..y1),
        corners(x1..screen.max.x, y0..y1),
    ];
    all.into_iter().filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x0: i32, y0: i32, x1: i32, y1: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x0, y0), CapturePoint::new(x1, y1))
    }

    #[test]
    fn outside_regions_partition_the_rest_of_the_screen() {
        let screen = rect(0, 0, 100, 80);
        for place in [
            rect(20, 30, 60, 50),
            rect(0, 0, 10, 10),
            rect(90, 70, 120, 90),
            screen,
        ] {
            let parts = outside(place, screen);
            let seen = place.intersection(&screen).unwrap();
            let area = parts.iter().map(CaptureRect::area).sum::<i32>() + seen.area();
            assert_eq!(area, screen.area(), "{place:?}");
            for (index, part) in parts.iter().enumerate() {
                assert!(!part.intersects(&place), "{part:?} of {place:?}");
                let others = &parts[index + 1..];
                assert!(!others.iter().any(|other| other.intersects(part)));
            }
        }
        assert_eq!(outside(rect(200, 200, 210, 210), screen), []);
    }
}
