//! Retry strategies for an action that had no effect, tried in order.
//!
//! A click is observed for longer first and then sent once more at most, offset by a few pixels. An action that is not safe to
//! repeat is never sent again; only its effect is observed once more. If that is configured, a click on a text field, a radio
//! button, a tab or a slider is offset, then moved to another point of its target, then to where a new parse of the screen
//! locates the target. After the last strategy the planner is told. Pure; the Orchestrator's run loop executes the strategies.

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{Action, ActionKind, ScrollAmount, Target};
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::element::{ElementKind, Scene};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ElementId;

use super::record::ActionRecord;
use super::{risk, shown_text};

pub use super::retry_strategy::RetryStrategy;

/// Rules for automatic retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryRules {
    /// Maximum number of retries of an action, over all strategies; 0 for none.
    pub max_retries: u32,
    /// Distance by which a retried click is offset, in pixels.
    pub offset_px: u32,
    /// Retry a scroll that has reached the end in the other direction.
    pub reverse_scroll_at_end: bool,
    /// Repeat a click that may carry out a command once at most. False only in a replay of a recording from before.
    pub spare_commands: bool,
    /// Repeat a click by each strategy where the recognised kind of its target says that a second one does the same as the first.
    /// Otherwise every click counts as one that may carry out a command. Recordings of earlier versions were made so.
    pub trust_kinds: bool,
}

/// An attempt at an action whose effect is judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgedAttempt<'a> {
    pub record: &'a ActionRecord,
    pub effect: &'a Effect,
    /// Something changed for a moment after it, such as the look of a pressed button: it has arrived.
    pub has_reacted: bool,
    /// A person approved it, or the policy takes it for one that cannot be undone.
    pub is_risky: bool,
}

impl Default for RetryRules {
    fn default() -> Self {
        Self {
            // One for each strategy of a click.
            max_retries: 3,
            // Leaves a hit-test edge without leaving a small target.
            offset_px: 3,
            reverse_scroll_at_end: false,
            spare_commands: true,
            trust_kinds: false,
        }
    }
}

/// Kinds on which a second click does the same as the first one did. A second click on a checkbox or a list undoes the first, and
/// one on any other kind may send, order or post a second time.
const IDEMPOTENT_KINDS: [ElementKind; 4] = [
    ElementKind::TextField,
    ElementKind::Radio,
    ElementKind::Tab,
    ElementKind::Slider,
];

/// Directions of an offset. The first one that stays inside the target and moves the point is used.
const OFFSET_DIRECTIONS: [(i32, i32); 4] = [(1, 0), (-1, 0), (0, 1), (0, -1)];
/// Minimum side of a target that has a second point worth trying, in pixels. Below it, the point is within the offsets already
/// tried.
const MIN_TARGET_SIDE: i32 = 12;

/// Returns the next strategy after an attempt with this effect, or `None` if there is none left or none is needed.
#[must_use]
pub fn next_strategy(attempt: JudgedAttempt<'_>, rules: RetryRules) -> Option<RetryStrategy> {
    let JudgedAttempt { record, effect, .. } = attempt;
    let tried = |strategy| record.retry_strategies.contains(&strategy);
    if !is_unchanged(effect) {
        return None;
    }
    match effect.verdict {
        Verdict::EndReached => {
            let other = rules.reverse_scroll_at_end
                && record.planned.repeatable
                && record.action.kind() == ActionKind::Scroll
                && !tried(RetryStrategy::ReversedScroll)
                && record.retries < rules.max_retries;
            other.then_some(RetryStrategy::ReversedScroll)
        }
        Verdict::NoEffect if !is_safe_to_repeat(attempt, rules) => {
            (!tried(RetryStrategy::ReobservedEffect)).then_some(RetryStrategy::ReobservedEffect)
        }
        Verdict::NoEffect if record.retries >= rules.max_retries => None,
        Verdict::NoEffect if rules.spare_commands && may_be_command(record, rules) => {
            // A slow answer is waited for before anything is sent twice.
            let possible = [RetryStrategy::ReobservedEffect, RetryStrategy::OffsetPoint];
            possible.into_iter().find(|strategy| !tried(*strategy))
        }
        Verdict::NoEffect => strategies(record).find(|strategy| !tried(*strategy)),
        Verdict::Confirmed
        | Verdict::ChangedElsewhere
        | Verdict::Unknown
        | Verdict::TargetMoved
        | Verdict::TextDiffers => None,
    }
}

/// Returns true if nothing changed at all. Nothing is sent again otherwise, whatever the verdict says: with the changed-share
/// criterion a small change, such as a menu that opened, is no effect, and the next click would hit what is there now.
fn is_unchanged(effect: &Effect) -> bool {
    let unchanged = effect.change.regions.is_empty() && !effect.change.size_differs;
    unchanged && !effect.window_changed && effect.settled
}

/// Returns true for single plain clicks that the planner marked repeatable and that are not risky. Typing, keys and drags are not safe,
/// because a late effect would apply them twice.
fn is_safe_to_repeat(attempt: JudgedAttempt<'_>, rules: RetryRules) -> bool {
    let record = attempt.record;
    let is_plain = record.planned.repeatable
        && record.action.kind() == ActionKind::Click
        && record.action.is_repeatable()
        && risk::assess(&record.planned).is_none();
    if !rules.spare_commands {
        return is_plain;
    }
    let label = record.target_label.as_deref();
    let is_risky = attempt.is_risky || label.is_some_and(|label| risk::of_label(label).is_some());
    let has_arrived = attempt.has_reacted && may_be_command(record, rules);
    is_plain && !is_risky && !has_arrived
}

/// Returns true unless a second click on the target is taken to do the same as the first.
fn may_be_command(record: &ActionRecord, rules: RetryRules) -> bool {
    // The kind is what the detector takes the target for. A slow button that looks like a tab would be clicked four times.
    if !rules.trust_kinds {
        return true;
    }
    let label = record.target_label.as_deref().unwrap_or_default();
    // The kind comes first in a label, and the text of the element follows in quotation marks.
    let kind = label.split(" \"").next().and_then(ElementKind::from_name);
    !kind.is_some_and(|kind| IDEMPOTENT_KINDS.contains(&kind))
}

fn strategies(record: &ActionRecord) -> impl Iterator<Item = RetryStrategy> {
    let spread = record
        .target
        .zip(record.point())
        .and_then(|(target, point)| other_point(point, target));
    // A point given by the planner is meant exactly: the box around it may be as large as a list.
    let is_point = matches!(
        record.planned.action.targets().last(),
        Some(Target::Point(_))
    );
    let rungs = [
        Some(RetryStrategy::OffsetPoint),
        spread
            .filter(|_| !is_point)
            .map(|_| RetryStrategy::OtherPoint),
        (!is_point).then_some(RetryStrategy::RelocatedTarget),
    ];
    rungs.into_iter().flatten()
}

/// Describes the reason for a retry, for people.
#[must_use]
pub fn reason(strategy: RetryStrategy, attempts: u32, language: Language) -> String {
    let message = match strategy {
        RetryStrategy::ReversedScroll => Message::RetryReversedScroll,
        RetryStrategy::ReobservedEffect => Message::RetryReobserved,
        RetryStrategy::Unchanged => Message::RetryUnsent,
        RetryStrategy::OffsetPoint => Message::RetryOffset { attempts },
        RetryStrategy::OtherPoint => Message::RetryOtherPoint { attempts },
        RetryStrategy::RelocatedTarget => Message::RetryRelocated { attempts },
    };
    message.text(language)
}

/// Returns a point offset by some pixels, never outside the target. Returns the point itself without a target box.
#[must_use]
pub fn offset_point(
    point: CapturePoint,
    target: Option<CaptureRect>,
    offset_px: u32,
) -> CapturePoint {
    let offset = i32::try_from(offset_px).unwrap_or(i32::MAX);
    let Some(target) = target else {
        return point;
    };
    let along = |from: i32, direction: i32| from.saturating_add(offset.saturating_mul(direction));
    let beside = OFFSET_DIRECTIONS.map(|(x, y)| {
        within(
            CapturePoint::new(along(point.x, x), along(point.y, y)),
            target,
        )
    });
    beside
        .into_iter()
        .find(|moved| *moved != point)
        .unwrap_or(point)
}

/// Returns the quarter point of the target that is farthest from the failed one, or `None` if the target is too small.
#[must_use]
pub fn other_point(point: CapturePoint, target: CaptureRect) -> Option<CapturePoint> {
    if target.width() < MIN_TARGET_SIDE && target.height() < MIN_TARGET_SIDE {
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
    // Quarter points are apart from the centre and from the offsets tried before, and clear of the edges.
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

/// Returns a scroll in the opposite direction. Other actions are returned unchanged.
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

/// Returns the element of a new scene that corresponds to the old target: the nearest one with the same content, or else the
/// interactable one that overlaps the old box most. `bounds` returns boxes of the new scene in display pixels.
#[must_use]
pub fn relocate(
    scene: &Scene,
    bounds: impl Fn(ElementId) -> Option<CaptureRect>,
    content: &str,
    old: CaptureRect,
) -> Option<ElementId> {
    let wanted = shown_text::folded(content);
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
        .filter(|(element, _)| !wanted.is_empty() && shown_text::folded(&element.content) == wanted)
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
    use motorium_proto::domain::key::Key;
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
            target_label: None,
            outcome: Some(ActionOutcome::new(ActionResult::Performed, "")),
            effect: None,
            retries: 0,
            retry_strategies: Vec::new(),
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

    /// Returns the same attempt at an element of this kind.
    fn at_kind(kind: ElementKind, record: ActionRecord) -> ActionRecord {
        ActionRecord {
            target_label: Some(format!("{kind} \"Open\"")),
            ..record
        }
    }

    fn judged<'a>(record: &'a ActionRecord, effect: &'a Effect) -> JudgedAttempt<'a> {
        JudgedAttempt {
            record,
            effect,
            has_reacted: false,
            is_risky: false,
        }
    }

    /// Applies strategies with the same effect until none is left.
    fn climb(record: ActionRecord, verdict: Verdict, scroll_back: bool) -> Vec<RetryStrategy> {
        let rules = RetryRules {
            reverse_scroll_at_end: scroll_back,
            ..RetryRules::default()
        };
        climb_by(rules, record, |record| {
            next_strategy(judged(record, &effect(verdict)), rules)
        })
    }

    fn climb_by(
        rules: RetryRules,
        mut record: ActionRecord,
        next: impl Fn(&ActionRecord) -> Option<RetryStrategy>,
    ) -> Vec<RetryStrategy> {
        while let Some(strategy) = next(&record) {
            assert!(record.retries <= rules.max_retries);
            record.retry_strategies.push(strategy);
            record.retries += u32::from(strategy.performs_action());
            assert!(
                record.retry_strategies.len() <= 4,
                "it never ends: {:?}",
                record.retry_strategies
            );
        }
        record.retry_strategies
    }

    #[test]
    fn click_retries_use_each_strategy_once() {
        use RetryStrategy::{OffsetPoint, OtherPoint, RelocatedTarget};

        let whole = [OffsetPoint, OtherPoint, RelocatedTarget];
        let trusting = RetryRules {
            trust_kinds: true,
            ..RetryRules::default()
        };
        let climb = |record, verdict| {
            climb_by(trusting, record, |record| {
                next_strategy(judged(record, &effect(verdict)), trusting)
            })
        };
        let tab = || at_kind(ElementKind::Tab, click("open", true));
        assert_eq!(climb(tab(), Verdict::NoEffect), whole);
        let mut tiny = tab();
        tiny.target = Some(rect(118, 108, 5, 5));
        assert_eq!(
            climb(tiny, Verdict::NoEffect),
            [OffsetPoint, RelocatedTarget]
        );
        let mut point = tab();
        point.planned.action = point
            .action
            .clone()
            .try_map(|at| Ok::<_, ()>(Target::Point(at)))
            .unwrap();
        assert_eq!(
            climb(point, Verdict::NoEffect),
            [OffsetPoint],
            "that point is meant"
        );
        for verdict in [
            Verdict::Confirmed,
            Verdict::ChangedElsewhere,
            Verdict::Unknown,
        ] {
            assert_eq!(climb(tab(), verdict), []);
        }
    }

    #[test]
    fn a_command_is_sent_twice_at_most_and_only_after_a_longer_look() {
        use RetryStrategy::{OffsetPoint, OtherPoint, RelocatedTarget, ReobservedEffect};

        let once = [ReobservedEffect, OffsetPoint];
        let unnamed = click("open", true);
        let button = || at_kind(ElementKind::Button, click("open", true));
        let menu_item = at_kind(ElementKind::MenuItem, click("open", true));
        let toggle = at_kind(ElementKind::Checkbox, click("open", true));
        for record in [unnamed, button(), menu_item, toggle] {
            assert_eq!(climb(record, Verdict::NoEffect, false), once);
        }
        // The kind is a guess: a slow button may be taken for any of these.
        for kind in IDEMPOTENT_KINDS {
            let record = at_kind(kind, click("open", true));
            assert_eq!(climb(record, Verdict::NoEffect, false), once, "{kind}");
        }
        // Nothing is sent again where it arrived, where it cannot be undone, and where a person approved it.
        let risky = ActionRecord {
            target_label: Some("button \"Delete all\"".to_owned()),
            ..button()
        };
        assert_eq!(climb(risky, Verdict::NoEffect, false), [ReobservedEffect]);
        let rules = RetryRules::default();
        let nothing = effect(Verdict::NoEffect);
        let by = |rules, has_reacted, is_risky, record| {
            climb_by(rules, record, |record| {
                let attempt = JudgedAttempt {
                    has_reacted,
                    is_risky,
                    ..judged(record, &nothing)
                };
                next_strategy(attempt, rules)
            })
        };
        let with = |has_reacted, is_risky, record| by(rules, has_reacted, is_risky, record);
        assert_eq!(with(true, false, button()), [ReobservedEffect]);
        assert_eq!(with(false, true, button()), [ReobservedEffect]);
        let tab = || at_kind(ElementKind::Tab, click("open", true));
        assert_eq!(with(true, false, tab()), [ReobservedEffect]);
        // A page that plays something for a moment does not keep a tab from being clicked again where kinds are trusted.
        let whole = [OffsetPoint, OtherPoint, RelocatedTarget];
        let trusting = RetryRules {
            trust_kinds: true,
            ..rules
        };
        assert_eq!(by(trusting, true, false, tab()), whole);
        let as_before = RetryRules {
            spare_commands: false,
            ..rules
        };
        let recorded = climb_by(as_before, button(), |record| {
            next_strategy(judged(record, &nothing), as_before)
        });
        assert_eq!(recorded, whole);
    }

    #[test]
    fn any_change_prevents_a_retry() {
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
            let rules = RetryRules::default();
            let next = next_strategy(judged(&record, &effect), rules);
            assert_eq!(next, None, "{effect:?}");
        }
    }

    #[test]
    fn unsafe_action_is_only_reobserved() {
        let typing = Action::TypeText {
            text: Text::Literal("a".into()),
            control_characters: ControlCharacters::AsKeys,
        };
        let with = |button, count, modifiers| {
            let at = Some(Target::Element(ElementId(1)));
            let action = Action::Click {
                at,
                button,
                count,
                modifiers,
            };
            record(action, "open", true)
        };
        for record in [
            click("click \"Send\"", true),
            click("open", false),
            record(typing, "type", true),
            with(Button::Left, 2, vec![]),
            with(Button::Left, 3, vec![]),
            with(Button::Right, 1, vec![]),
            with(Button::Left, 1, vec![Key::Control]),
        ] {
            assert_eq!(
                climb(record, Verdict::NoEffect, true),
                [RetryStrategy::ReobservedEffect]
            );
        }
    }

    #[test]
    fn a_scroll_at_its_end_turns_round_once_and_only_if_that_is_wanted() {
        assert_eq!(climb(scroll(), Verdict::EndReached, false), []);
        assert_eq!(
            climb(scroll(), Verdict::EndReached, true),
            [RetryStrategy::ReversedScroll]
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
        let found = relocate(&scene, bounds, content, rect(100, 100, 40, 20));
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
            let beside = offset_point(centre, Some(target), 3);
            prop_assert!(target.contains(beside));
            prop_assert!((beside.x - centre.x).abs() <= 3 && (beside.y - centre.y).abs() <= 3);
            prop_assert!(beside != centre || (w == 1 && h == 1));
            if let Some(other) = other_point(beside, target) {
                prop_assert!(target.contains(other) && other != centre);
            }
        }
    }
}
