//! Finds out from the next screen whether a page moved before a click came, so that the click hit what had arrived at its point.
//!
//! Right after a click this shows in the pixels only if nothing else changes its look; what the click hit usually does, because it
//! gets the pointer and the focus. On the next screen the texts tell: the target has moved, and what lies at the point now has moved
//! with it. Content that was inserted above the target, such as further entries above a "More" button, was not there before and does
//! not count. A button that evades the pointer has moved alone: nothing is in its place, and nothing else is new.
//!
//! Pure. Deliberately not here: clicks whose target still lies at their point, and targets without a text or with a text that is on
//! the screen several times.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::{ChangeMap, Effect, Verdict};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::Observation;
use motorium_task::screen::bounds_on_display;
use motorium_task::shown_text::folded;
use motorium_task::{Task, effect};

/// Maximum difference of two shifts of one page, in pixels. Detected boxes are off by a pixel or two.
const TOLERANCE_PX: i32 = 3;
/// Width of what a control changes around itself, in pixels: its focus ring, its shadow, and the error of its box.
const RING_PX: i32 = 12;

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
    let (before, now) = (labels(before), labels(now));
    let has_moved = is_effect
        && (has_moved(point, &before, &now) || has_evaded(point, &before, &now, &judged.change));
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

/// Returns whether the label at a point has left it alone: nothing is at the point now, and nothing has changed but where it was, where
/// it is, and what stands in line with it and moved along.
fn has_evaded(point: CapturePoint, before: &[Label], now: &[Label], change: &ChangeMap) -> bool {
    let Some(target) = at(point, before).filter(|_| at(point, now).is_none()) else {
        return false;
    };
    let (Some(was), Some(is)) = (only(&target.text, before), only(&target.text, now)) else {
        return false;
    };
    // The box of a text that is read anew may be a part of its former one.
    let alike = |one: i32, other: i32| (one - other).abs() <= RING_PX;
    let (before, now) = (was.bounds, is.bounds);
    let is_elsewhere = !before.contains(now.center())
        && alike(before.width(), now.width())
        && alike(before.height(), now.height());
    if !is_elsewhere {
        return false;
    }
    let around = |bounds: CaptureRect| bounds.inflate(RING_PX, RING_PX);
    let (was, is) = (around(was.bounds), around(is.bounds));
    let is_explained = |area: CaptureRect| {
        let is_in_line = was.min.y <= area.min.y && area.max.y <= was.max.y;
        is_in_line || was.contains_box(&area) || is.contains_box(&area)
    };
    let mut areas = change.regions.iter().map(|region| region.bounds);
    !change.size_differs && areas.all(is_explained)
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
    use motorium_proto::domain::effect::ChangedRegion;

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
    fn a_button_that_evades_the_pointer_is_told_from_one_that_made_room() {
        let label = |text: &str, x: i32, y: i32| Label {
            text: text.to_owned(),
            bounds: CaptureRect::new(CapturePoint::new(x, y), CapturePoint::new(x + 80, y + 40)),
        };
        let before = [label("save", 40, 160), label("keep", 140, 160)];
        let evaded = |now: &[Label], changed: &[(i32, i32)]| {
            let region = |(x, y): &(i32, i32)| ChangedRegion {
                bounds: label("", *x, *y).bounds,
                changed_pixels: 100,
            };
            let change = ChangeMap {
                regions: changed.iter().map(region).collect(),
                ..ChangeMap::default()
            };
            has_evaded(CapturePoint::new(80, 180), &before, now, &change)
        };
        let aside = [label("save", 240, 160), label("keep", 340, 160)];
        let in_line = [(40, 160), (140, 160), (240, 160), (340, 160)];
        assert!(evaded(&aside, &in_line));
        let away = [label("save", 300, 20), label("keep", 140, 160)];
        assert!(evaded(&away, &[(40, 160), (300, 20)]));
        // Something has opened, came in its place, or it is still there.
        assert!(!evaded(&aside, &[(40, 160), (240, 160), (40, 300)]));
        let replaced = [label("save", 240, 160), label("saved", 40, 160)];
        assert!(!evaded(&replaced, &in_line));
        assert!(!evaded(&before, &[(40, 160)]));
        // A row that was read as one field is read as its words now.
        let mut words = label("save", 40, 160);
        words.bounds.max.x = 75;
        assert!(!evaded(&[words, label("keep", 140, 160)], &[(40, 160)]));
        assert!(
            !evaded(&[label("keep", 140, 160)], &[(40, 160)]),
            "it is gone"
        );
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
