//! What is tried when an action had no effect: a ladder, one rung after the other.
//!
//! A click goes a few pixels beside, then to another point of its target, then to where a closer look finds the target.
//! What is not safe to do twice is never repeated: its effect is looked for once more. After the last rung the planner
//! is told. Pure; [`crate::run`] climbs.

use motorium_proto::domain::action::{Action, ActionKind, ScrollAmount, Target};
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;

use super::record::ActionRecord;
use super::{risk, screen};

/// Automatic repetitions of an action, whatever for.
pub const MAX_RETRIES: u32 = 3;
/// How far a repeated click is moved, in pixels; always inside the target. The first that moves it at all is taken.
const OFFSETS: [(i32, i32); 4] = [(3, 0), (-3, 0), (0, 3), (0, -3)];
/// A side shorter than this has no second point worth trying, in pixels.
const SMALLEST_SPREAD: i32 = 12;

/// How an action is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// The same once more: nothing of it had been sent.
    AsBefore,
    /// A few pixels beside the last point, within the target.
    Moved,
    /// At another point of the target.
    OtherPoint,
    /// Where a second, closer look finds the target.
    SecondLook,
    /// A scroll, the other way.
    OtherDirection,
    /// Nothing is sent again; the effect is looked for once more.
    LookedAgain,
}

impl Way {
    /// Whether an action is performed for it.
    #[must_use]
    pub fn acts(self) -> bool {
        self != Way::LookedAgain
    }
}

/// The rung that follows on an attempt with this effect; `None` after the last one, or if none is needed.
#[must_use]
pub fn next(record: &ActionRecord, effect: &Effect, scroll_back: bool) -> Option<Way> {
    let tried = |way| record.ways.contains(&way);
    if !is_nothing(effect) {
        return None;
    }
    match effect.verdict {
        Verdict::EndReached => {
            let other = scroll_back
                && record.planned.repeatable
                && record.action.kind() == ActionKind::Scroll
                && !tried(Way::OtherDirection)
                && record.retries < MAX_RETRIES;
            other.then_some(Way::OtherDirection)
        }
        Verdict::NoEffect if !is_safe_to_repeat(record) => {
            (!tried(Way::LookedAgain)).then_some(Way::LookedAgain)
        }
        Verdict::NoEffect if record.retries >= MAX_RETRIES => None,
        Verdict::NoEffect => rungs(record).find(|way| !tried(*way)),
        Verdict::Confirmed | Verdict::ChangedElsewhere | Verdict::Unknown => None,
    }
}

/// Whether nothing at all changed, whatever the verdict's rule makes of it: only then may anything be sent again.
fn is_nothing(effect: &Effect) -> bool {
    let unchanged = effect.change.regions.is_empty() && !effect.change.size_differs;
    unchanged && !effect.window_changed && effect.settled
}

/// Only a click is: repeating it is what a person would do, and only where the planner called it repeatable and nothing
/// depends on it that a careful person would think about twice.
fn is_safe_to_repeat(record: &ActionRecord) -> bool {
    record.planned.repeatable
        && record.action.kind() == ActionKind::Click
        && risk::assess(&record.planned).is_none()
}

fn rungs(record: &ActionRecord) -> impl Iterator<Item = Way> {
    let spread = record
        .target
        .zip(record.point())
        .and_then(|(target, point)| other_point(point, target));
    // Who gave a point meant that point: what lies around it may be something as large as a list.
    let is_point = matches!(
        record.planned.action.targets().last(),
        Some(Target::Point(_))
    );
    let rungs = [
        Some(Way::Moved),
        spread.filter(|_| !is_point).map(|_| Way::OtherPoint),
        (!is_point).then_some(Way::SecondLook),
    ];
    rungs.into_iter().flatten()
}

/// Why it is tried, for people.
#[must_use]
pub fn reason(way: Way, attempts: u32) -> String {
    let tries = if attempts == 1 {
        "once".to_owned()
    } else {
        format!("after {attempts} attempts")
    };
    match way {
        Way::OtherDirection => "the end is reached; the other direction is tried".to_owned(),
        Way::LookedAgain => {
            "nothing has changed so far; it is not repeated, its effect is looked for once more"
                .to_owned()
        }
        Way::AsBefore => motorium_proto::domain::effect::NOTHING_SENT.to_owned(),
        Way::Moved => format!("nothing changed ({tries}); a few pixels beside"),
        Way::OtherPoint => format!("nothing changed ({tries}); at another point of the target"),
        Way::SecondLook => format!("nothing changed ({tries}); the target is looked for again"),
    }
}

/// A point a little beside, never out of the target. Without a target's box, the point itself.
#[must_use]
pub fn moved(point: CapturePoint, target: Option<CaptureRect>) -> CapturePoint {
    let Some(target) = target else {
        return point;
    };
    let beside = OFFSETS.map(|(x, y)| within(CapturePoint::new(point.x + x, point.y + y), target));
    beside
        .into_iter()
        .find(|moved| *moved != point)
        .unwrap_or(point)
}

/// The point of the target that is farthest from the one that did not help; `None` where the target is too small to
/// have one worth trying.
#[must_use]
pub fn other_point(point: CapturePoint, target: CaptureRect) -> Option<CapturePoint> {
    if target.width() < SMALLEST_SPREAD && target.height() < SMALLEST_SPREAD {
        return None;
    }
    let quarter = |from: i32, length: i32, quarters: i32| from + length * quarters / 4;
    let place = |x: i32, y: i32| {
        CapturePoint::new(
            quarter(target.min.x, target.width(), x),
            quarter(target.min.y, target.height(), y),
        )
    };
    let distance = |other: &CapturePoint| (*other - point).to_i64().square_length();
    [place(1, 2), place(3, 2), place(2, 1), place(2, 3)]
        .into_iter()
        .max_by_key(distance)
}

fn within(point: CapturePoint, target: CaptureRect) -> CapturePoint {
    let inside = |value: i32, from: i32, to: i32| {
        if from < to {
            value.clamp(from, to - 1)
        } else {
            value
        }
    };
    CapturePoint::new(
        inside(point.x, target.min.x, target.max.x),
        inside(point.y, target.min.y, target.max.y),
    )
}

/// The same scroll the other way; every other action as it is.
#[must_use]
pub fn reversed(action: Action<CapturePoint>) -> Action<CapturePoint> {
    match action {
        Action::Scroll {
            at,
            amount,
            modifiers,
        } => Action::Scroll {
            at,
            amount: match amount {
                ScrollAmount::Notches { x, y } => ScrollAmount::Notches { x: -x, y: -y },
                ScrollAmount::Pixels { x, y } => ScrollAmount::Pixels { x: -x, y: -y },
            },
            modifiers,
        },
        other => other,
    }
}

/// The element of a closer look that is what was aimed at: of the same content and the nearest, or else what lies over
/// the old box. `bounds` gives the boxes of the new scene, in pixels of the whole display.
#[must_use]
pub fn found_again(
    scene: &Scene,
    bounds: impl Fn(ElementId) -> Option<CaptureRect>,
    content: &str,
    old: CaptureRect,
) -> Option<ElementId> {
    let wanted = screen::folded(content);
    let distance = |other: CaptureRect| {
        let apart = other.center() - old.center();
        apart.to_i64().square_length()
    };
    let boxes: Vec<_> = scene
        .elements
        .iter()
        .filter_map(|element| Some((element, bounds(element.id)?)))
        .collect();
    let same = boxes
        .iter()
        .filter(|(element, _)| !wanted.is_empty() && screen::folded(&element.content) == wanted)
        .min_by_key(|(_, bounds)| distance(*bounds));
    let over = || {
        let overlap = |bounds: &CaptureRect| {
            bounds.intersection(&old).map_or(0, |common| {
                i64::from(common.width()) * i64::from(common.height())
            })
        };
        boxes
            .iter()
            .filter(|(element, bounds)| element.interactable && overlap(bounds) > 0)
            .max_by_key(|(_, bounds)| overlap(bounds))
    };
    same.or_else(over).map(|(element, _)| element.id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::action::{Button, ControlCharacters, Text};
    use motorium_proto::domain::decision::PlannedAction;
    use motorium_proto::domain::effect::{ActionOutcome, ActionResult, ChangeMap, ChangedRegion};
    use motorium_proto::domain::element::{Element, ElementKind, ElementSource, ElementState};
    use motorium_proto::domain::geometry::{NormalisedPoint, NormalisedRect};
    use motorium_proto::domain::id::{ActionId, FrameId};
    use proptest::prelude::*;

    use super::*;

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    fn effect(verdict: Verdict) -> Effect {
        Effect {
            verdict,
            change: ChangeMap::default(),
            share_near_target: 0.0,
            window_changed: false,
            explanation: String::new(),
            settled: true,
            settle_time: Duration::ZERO,
        }
    }

    fn record(action: Action<Target>, intent: &str, repeatable: bool) -> ActionRecord {
        let centre = CapturePoint::new(120, 110);
        let Ok(performed) = action
            .clone()
            .try_map(|_| Ok::<_, std::convert::Infallible>(centre));
        ActionRecord {
            action_id: ActionId::new("a"),
            planned: PlannedAction {
                action,
                intent: intent.to_owned(),
                verify_pointer: false,
                repeatable,
            },
            action: performed,
            target: Some(rect(100, 100, 40, 20)),
            outcome: Some(ActionOutcome::new(ActionResult::Performed, "")),
            effect: None,
            retries: 0,
            ways: Vec::new(),
            retry_due: None,
        }
    }

    fn click(intent: &str, repeatable: bool) -> ActionRecord {
        let action = Action::Click {
            at: Some(Target::Element(ElementId(1))),
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        };
        record(action, intent, repeatable)
    }

    fn scroll() -> ActionRecord {
        let action = Action::Scroll {
            at: None,
            amount: ScrollAmount::Notches { x: 0, y: 3 },
            modifiers: vec![],
        };
        record(action, "scroll down", true)
    }

    /// Climbs with the same effect until there is no rung left.
    fn climb(mut record: ActionRecord, verdict: Verdict, scroll_back: bool) -> Vec<Way> {
        while let Some(way) = next(&record, &effect(verdict), scroll_back) {
            record.ways.push(way);
            record.retries += u32::from(way.acts());
            assert!(record.ways.len() <= 4, "it never ends: {:?}", record.ways);
        }
        record.ways
    }

    #[test]
    fn a_click_climbs_the_whole_ladder_and_never_further() {
        use Way::{Moved, OtherPoint, SecondLook};

        let whole = [Moved, OtherPoint, SecondLook];
        assert_eq!(climb(click("open", true), Verdict::NoEffect, false), whole);
        let mut tiny = click("open", true);
        tiny.target = Some(rect(118, 108, 5, 5));
        assert_eq!(climb(tiny, Verdict::NoEffect, false), [Moved, SecondLook]);
        let mut point = click("open", true);
        point.planned.action = point
            .action
            .clone()
            .try_map(|at| Ok::<_, ()>(Target::Point(at)))
            .unwrap();
        assert_eq!(
            climb(point, Verdict::NoEffect, false),
            [Moved],
            "that point is meant"
        );
        for verdict in [
            Verdict::Confirmed,
            Verdict::ChangedElsewhere,
            Verdict::Unknown,
        ] {
            assert_eq!(climb(click("open", true), verdict, true), []);
        }
    }

    #[test]
    fn nothing_is_repeated_once_anything_has_changed() {
        let record = click("open", true);
        let small = ChangedRegion {
            bounds: rect(0, 0, 9, 9),
            changed_pixels: 20,
        };
        let mut ticked = effect(Verdict::NoEffect);
        ticked.change.regions.push(small);
        let retitled = Effect {
            window_changed: true,
            ..effect(Verdict::NoEffect)
        };
        let restless = Effect {
            settled: false,
            ..effect(Verdict::NoEffect)
        };
        for effect in [ticked, retitled, restless] {
            assert_eq!(next(&record, &effect, true), None, "{effect:?}");
        }
    }

    #[test]
    fn what_is_not_safe_to_repeat_is_only_looked_at_again() {
        let typing = Action::TypeText {
            text: Text::Literal("a".into()),
            control_characters: ControlCharacters::AsKeys,
        };
        for record in [
            click("click \"Send\"", true),
            click("open", false),
            record(typing, "type", true),
        ] {
            assert_eq!(climb(record, Verdict::NoEffect, true), [Way::LookedAgain]);
        }
    }

    #[test]
    fn a_scroll_at_its_end_turns_round_once_and_only_if_that_is_wanted() {
        assert_eq!(climb(scroll(), Verdict::EndReached, false), []);
        assert_eq!(
            climb(scroll(), Verdict::EndReached, true),
            [Way::OtherDirection]
        );
        let Action::Scroll { amount, .. } = reversed(scroll().action) else {
            panic!("it is no scroll any more");
        };
        assert_eq!(amount, ScrollAmount::Notches { x: 0, y: -3 });
    }

    fn seen(elements: &[(&str, bool, CaptureRect)]) -> (Scene, Vec<CaptureRect>) {
        let element =
            |(number, (content, interactable, _)): (u32, &(&str, bool, CaptureRect))| Element {
                id: ElementId(number),
                kind: ElementKind::Button,
                content: (*content).to_owned(),
                bounds: NormalisedRect::new(NormalisedPoint::zero(), NormalisedPoint::zero()),
                interactable: *interactable,
                confidence: 0.9,
                centre: CapturePoint::zero(),
                source: ElementSource::Both,
                state: ElementState::default(),
            };
        let scene = Scene {
            frame: FrameId::new("f"),
            elements: (1..).zip(elements).map(element).collect(),
            relations: vec![],
        };
        (
            scene,
            elements.iter().map(|(_, _, bounds)| *bounds).collect(),
        )
    }

    fn check_found(content: &str, elements: &[(&str, bool, CaptureRect)], expected: Option<u32>) {
        let (scene, boxes) = seen(elements);
        let bounds = |id: ElementId| boxes.get(id.0 as usize - 1).copied();
        let found = found_again(&scene, bounds, content, rect(100, 100, 40, 20));
        assert_eq!(
            found.map(|id| id.0),
            expected,
            "{content} among {elements:?}"
        );
    }

    #[test]
    fn the_target_is_found_again_by_its_words_or_its_place() {
        let far = ("Save", false, rect(300, 300, 40, 20));
        let near = ("save", false, rect(130, 110, 40, 20));
        let over = ("", true, rect(95, 95, 50, 30));
        let beside = ("", true, rect(400, 95, 50, 30));
        check_found("Save", &[far, near, over], Some(2));
        check_found("Save", &[beside, over], Some(2));
        check_found("Save", &[beside], None);
        check_found("", &[far, over], Some(2));
    }

    proptest! {
        #[test]
        fn every_point_stays_in_its_target(x in 0..2000i32, y in 0..2000i32, w in 1..300i32, h in 1..300i32) {
            let target = rect(x, y, w, h);
            let centre = target.center();
            let beside = moved(centre, Some(target));
            prop_assert!(target.contains(beside));
            prop_assert!((beside.x - centre.x).abs() <= 3 && (beside.y - centre.y).abs() <= 3);
            prop_assert!(beside != centre || (w == 1 && h == 1));
            if let Some(other) = other_point(beside, target) {
                prop_assert!(target.contains(other) && other != centre);
            }
        }
    }
}
