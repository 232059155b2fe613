//! Finds out from the next screen whether a page moved before a click came, so that the click hit what had arrived at its point.
//!
//! Right after a click this shows in the pixels only if nothing else changes its look; what the click hit usually does, because it
//! gets the pointer and the focus. On the next screen the texts tell: the target has moved, and what lies at the point now has moved
//! with it. Content that was inserted above the target, such as further entries above a "More" button, was not there before and does
//! not count.
//!
//! Pure. Deliberately not here: clicks whose target still lies at their point, and targets without a text or with a text that is on
//! the screen several times.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::Observation;
use motorium_task::screen::bounds_on_display;
use motorium_task::shown_text::folded;
use motorium_task::{Task, effect};

/// Maximum difference of two shifts of one page, in pixels. Detected boxes are off by a pixel or two.
const TOLERANCE_PX: i32 = 3;

/// Returns the effect of the task's last click, if its target had moved away when it came. `before` is the screen that the click was
/// decided on, and `now` the next one.
pub(super) fn target_moved(
    task: &Task,
    before: &Observation,
    now: &Observation,
) -> Option<(ActionId, Effect)> {
    let record = task.steps.last()?.actions.last()?;
    let judged = record.effect.as_ref().filter(|_| record.performed())?;
    let Action::Click {
        at: Some(point), ..
    } = record.action
    else {
        return None;
    };
    let is_effect = matches!(
        judged.verdict,
        Verdict::Confirmed | Verdict::ChangedElsewhere
    );
    let has_moved = is_effect && has_moved(point, &labels(before), &labels(now));
    has_moved.then(|| {
        let language = task.spec.message_language();
        let effect = effect::target_moved(judged.clone(), language);
        (record.action_id.clone(), effect)
    })
}

/// A text on the screen.
#[derive(Debug, Clone, PartialEq)]
struct Label {
    text: String,
    bounds: CaptureRect,
}

fn labels(observation: &Observation) -> Vec<Label> {
    let elements = observation.scene.elements.iter();
    let labels = elements.map(|element| Label {
        text: folded(&element.content),
        bounds: bounds_on_display(element, &observation.frame),
    });
    labels.filter(|label| !label.text.is_empty()).collect()
}

/// Returns whether the label at a point has moved up or down, together with the one that is there now.
fn has_moved(point: CapturePoint, before: &[Label], now: &[Label]) -> bool {
    let (Some(target), Some(arrived)) = (at(point, before), at(point, now)) else {
        return false;
    };
    if target.text == arrived.text {
        return false;
    }
    let shift = |text: &str| {
        let (was, is) = (only(text, before)?, only(text, now)?);
        Some(is.bounds.center() - was.bounds.center())
    };
    let (Some(own), Some(other)) = (shift(&target.text), shift(&arrived.text)) else {
        return false;
    };
    let is_moved = own.y.abs() > TOLERANCE_PX && own.x.abs() <= TOLERANCE_PX;
    let apart = own - other;
    is_moved && apart.x.abs() <= TOLERANCE_PX && apart.y.abs() <= TOLERANCE_PX
}

/// Returns the smallest label at a point.
fn at(point: CapturePoint, labels: &[Label]) -> Option<&Label> {
    let around = labels.iter().filter(|label| label.bounds.contains(point));
    around.min_by_key(|label| label.bounds.area())
}

/// Returns the label with a text that is there once.
fn only<'a>(text: &str, labels: &'a [Label]) -> Option<&'a Label> {
    let mut same = labels.iter().filter(|label| label.text == text);
    let first = same.next()?;
    same.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns labels of one size below each other, with the y coordinate of each.
    fn column(labels: &[(&str, i32)]) -> Vec<Label> {
        let boxes = labels.iter().map(|(text, y)| Label {
            text: (*text).to_owned(),
            bounds: CaptureRect::new(CapturePoint::new(40, *y), CapturePoint::new(240, y + 40)),
        });
        boxes.collect()
    }

    #[track_caller]
    fn expect(now: &[(&str, i32)], expected: bool) {
        let before = column(&[
            ("name", 20),
            ("delete", 100),
            ("save", 160),
            ("cancel", 220),
        ]);
        let click = CapturePoint::new(140, 180);
        assert_eq!(has_moved(click, &before, &column(now)), expected, "{now:?}");
    }

    #[test]
    fn a_page_that_moves_before_the_click_is_told_from_its_effects() {
        // A banner above everything: "Delete" has arrived at the point.
        expect(
            &[
                ("name", 80),
                ("delete", 160),
                ("save", 220),
                ("cancel", 280),
            ],
            true,
        );
        // Nothing moved, or the target is still at the point.
        expect(&[("name", 20), ("delete", 100), ("save", 160)], false);
        expect(&[("delete", 110), ("save", 170), ("cancel", 230)], false);
        // An entry that the click has inserted above its button.
        expect(
            &[("name", 20), ("delete", 100), ("entry", 160), ("save", 220)],
            false,
        );
        // The target is gone, or another page is shown.
        expect(&[("name", 80), ("delete", 160), ("cancel", 280)], false);
        expect(&[("saved", 160), ("back", 220)], false);
        // A list that was sorted: the others did not move along.
        expect(&[("save", 100), ("delete", 160), ("cancel", 220)], false);
    }
}
