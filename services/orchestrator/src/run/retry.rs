//! Resolves a retry of an action according to its retry strategy.

use motorium_messages::Message;
use motorium_proto::domain::element::Element;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{CaptureArea, ParseOptions};

use super::attempt::ResolvedAction;
use super::context::RunContext;
use super::screen::Screen;
use super::{RunResult, capture};
use motorium_task::ActionRecord;
use motorium_task::retry::{self, RetryStrategy};
use motorium_task::screen::bounds_on_display;

/// Margin around the old target in which it is searched again, in pixels.
// Applications that redraw shift elements by a line or two.
const SEARCH_MARGIN_PX: i32 = 80;
/// Magnification of the second look.
// Twice the size makes small text readable for the recogniser.
const MAGNIFICATION: u32 = 2;

fn reversed(record: &ActionRecord) -> ResolvedAction {
    ResolvedAction {
        action: retry::reversed(record.action.clone()),
        ..ResolvedAction::of(record)
    }
}

/// Returns the action for its next attempt, or why there is none.
pub(super) async fn resolve_retry(
    run: &mut RunContext,
    screen: &Screen,
    record: &ActionRecord,
) -> RunResult<Result<ResolvedAction, String>> {
    let Some(point) = record.point() else {
        return Ok(Ok(reversed(record)));
    };
    Ok(match record.retry_due {
        Some(RetryStrategy::ReversedScroll) => Ok(reversed(record)),
        Some(RetryStrategy::OtherPoint) => {
            let other = record
                .target
                .and_then(|target| retry::other_point(point, target));
            Ok(ResolvedAction::at(
                record,
                other.unwrap_or(point),
                record.target,
            ))
        }
        Some(RetryStrategy::RelocatedTarget) => resolve_magnified(run, screen, record).await?,
        _ => {
            let moved = retry::offset_point(point, record.target, run.config.retry.offset_px);
            Ok(ResolvedAction::at(record, moved, record.target))
        }
    })
}

/// Searches the magnified surroundings of the old target for the element that was aimed at.
async fn resolve_magnified(
    run: &mut RunContext,
    screen: &Screen,
    record: &ActionRecord,
) -> RunResult<Result<ResolvedAction, String>> {
    let Some(old) = record.target else {
        return Ok(Err(run.task().text(Message::RetryWithoutElement {
            intent: &record.planned.intent,
        })));
    };
    let content = content_at(screen, old);
    let Some(frame) = screen.latest_frame() else {
        return Ok(Err(run.task().text(Message::ScreenNotObserved)));
    };
    let around = old
        .inflate(SEARCH_MARGIN_PX, SEARCH_MARGIN_PX)
        .intersection(&frame.bounds());
    let (area, closer) = closer_look(around, frame.bounds());
    let Ok(seen) = capture::try_observe_area(run, area, closer).await? else {
        return Ok(Err(run.task().text(Message::RetryTargetLost {
            intent: &record.planned.intent,
        })));
    };
    let bounds = |id: ElementId| {
        let element = seen.scene.element(id)?;
        Some(bounds_on_display(element, &seen.frame))
    };
    let found = retry::relocate(&seen.scene, bounds, &content, old)
        .and_then(|id| Some((seen.scene.element(id)?, bounds(id)?)));
    Ok(match found {
        Some((element, bounds)) => {
            let point = element.centre + seen.frame.origin.to_vector();
            Ok(ResolvedAction::at(record, point, Some(bounds)))
        }
        None => Err(run.task().text(Message::RetryTargetLost {
            intent: &record.planned.intent,
        })),
    })
}

/// Returns the area to look at and how to parse it: enlarged, unless the area is too large for that.
fn closer_look(around: Option<CaptureRect>, screen: CaptureRect) -> (CaptureArea, ParseOptions) {
    let size = around.unwrap_or(screen).size().to_u32();
    let fits = ParseOptions::may_magnify(size.width, size.height, MAGNIFICATION);
    let parsing = ParseOptions {
        magnification: fits.then_some(MAGNIFICATION),
        ..ParseOptions::default()
    };
    (
        around.map_or(CaptureArea::Display, CaptureArea::Region),
        parsing,
    )
}

/// Returns the text of the element at this place when the step began.
fn content_at(screen: &Screen, place: CaptureRect) -> String {
    let Some(view) = screen.view() else {
        return String::new();
    };
    let (scene, frame) = view.scene();
    let is_there = |element: &&Element| bounds_on_display(element, frame) == place;
    let element = scene.elements.iter().find(is_there);
    element.map_or(String::new(), |element| element.content.clone())
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn rect(width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::zero(), CapturePoint::new(width, height))
    }

    #[test]
    fn too_wide_fields_are_not_magnified() {
        let screen = rect(1280, 800);
        let magnification = |around| closer_look(around, screen).1.magnification;
        assert_eq!(magnification(Some(rect(960, 600))), Some(MAGNIFICATION));
        assert_eq!(magnification(Some(rect(1007, 683))), None);
        assert_eq!(magnification(None), None, "the whole screen");
    }
}
