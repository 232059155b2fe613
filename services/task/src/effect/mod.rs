//! Judgement of the effect of an action on the screen.
//!
//! No pixels here: Perception reports changes and background motion, and this module derives the verdict. Small effects count
//! (one typed character is far less than one percent of a screen), so the criterion is where a change is, not how large: near
//! the target, at the possible keyboard focus, or of the active window. A caret alone is no effect.

mod background_motion;
mod clock;
pub mod look;

use std::time::Duration;

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::effect::{ChangeMap, ChangedRegion, Effect, Verdict};
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::{Frame, Window};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::service::{Comparison, IdleReport};

pub use background_motion::{
    BackgroundMotion, grown_to_elements, is_beside, is_only_trace, is_small, with_surroundings,
};
pub use clock::clocks;

use crate::screen::bounds_on_display;
use crate::shown_text::folded;

/// Margin around the target within which a change counts as near it, in pixels. Covers focus rings and shadows outside the box.
pub const NEAR_MARGIN: i32 = 24;
/// Maximum width and height of a text caret, in pixels. Measured carets are 1 to 3 by 15 to 18 pixels; 4 by 40 is the largest
/// that common applications draw.
pub const MAX_CARET_SIZE: (i32, i32) = (4, 40);
/// Time after which a blinking caret shows its other state.
// Carets blink every 300 to 600 ms.
pub const CARET_BLINK_INTERVAL: Duration = Duration::from_millis(400);
/// Minimum number of changed pixels that count as an effect of a click elsewhere than at its target. A digit of 12 px that becomes
/// another one changes more; fewer are the edge of something that moves.
const MIN_PIXELS_ELSEWHERE: u64 = 12;

/// Width of the border of a field with the padding that no text reaches, and distance to which the ring of the focus reaches around
/// it, in pixels. Detected boxes are off by a pixel or two; browsers and toolkits draw rings of 1 to 4 pixels.
const FIELD_BORDER: i32 = 5;
const FOCUS_RING: i32 = 8;

/// Input of [`judge`].
#[derive(Debug)]
pub struct Evidence<'a> {
    pub action: &'a Action<CapturePoint>,
    pub target: Option<CaptureRect>,
    /// Field that a click leaves, of which [`field_inside`] is the second measured region of the comparison.
    pub left_field: Option<CaptureRect>,
    pub before: &'a Frame,
    pub after: &'a Frame,
    pub comparison: Comparison,
    pub idle: &'a IdleReport,
    /// Regions with background motion.
    pub background_motion: &'a [CaptureRect],
    /// Language of the explanation.
    pub language: Language,
}

/// Criterion for an effect.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum EffectCriterion {
    /// Changed regions: near the target, at the focus, or in the active window.
    #[default]
    ChangedRegions,
    /// Share of changed pixels: a change of more than this share, from 0 to 1, is an effect.
    ChangedShare(f64),
}

/// Returns the effect of an entered text whose field shows another one.
#[must_use]
pub fn text_differs(judged: Effect, entered: &str, shown: &str, language: Language) -> Effect {
    let message = Message::EffectTextDiffers {
        entered: &abbreviated(entered),
        shown: &abbreviated(shown),
    };
    Effect {
        verdict: Verdict::TextDiffers,
        explanation: message.text(language),
        ..judged
    }
}

/// Returns the beginning of a text that is too long for a sentence.
fn abbreviated(text: &str) -> String {
    // Enough to recognise the text by.
    const MAX_CHARS: usize = 80;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the box within which a change counts as near the target.
#[must_use]
pub fn near_area(target: CaptureRect) -> CaptureRect {
    target.inflate(NEAR_MARGIN, NEAR_MARGIN)
}

/// Returns an effect with the verdict "unknown" and this explanation.
#[must_use]
pub fn unknown(explanation: String) -> Effect {
    Effect {
        verdict: Verdict::Unknown,
        change: ChangeMap::default(),
        share_near_target: 0.0,
        window_changed: false,
        explanation,
        settled: false,
        settle_time: Duration::ZERO,
    }
}

/// Judges the effect of an action.
#[must_use]
pub fn judge(evidence: Evidence<'_>, rule: EffectCriterion) -> Effect {
    let Evidence {
        action,
        target,
        left_field,
        before,
        after,
        comparison,
        idle,
        background_motion,
        language,
    } = evidence;
    let has_shifted = comparison.vertical_shifts.iter().any(|shift| *shift != 0);
    let share_near_target = comparison
        .measured_shares
        .first()
        .copied()
        .unwrap_or_default();
    // A caret near the target of a click is kept: placing the caret is the effect of a click in text.
    let share_in_field = comparison.measured_shares.get(1).copied();
    let placed_caret = target.filter(|_| action.kind() == ActionKind::Click);
    let mut change = without_carets(comparison.change, placed_caret.map(near_area));
    change
        .background_motion
        .extend_from_slice(background_motion);
    let window_changed = window_changed(before, after);
    let near_target = places(action, target).any(|place| touches(&change, near_area(place)));
    let nothing = !change.size_differs && change.regions.is_empty();
    let verdict = match (nothing, window_changed) {
        _ if let EffectCriterion::ChangedShare(min_share) = rule => {
            judge_by_share(action, change.changed_share > min_share)
        }
        (true, false) if action.kind() == ActionKind::Scroll => Verdict::EndReached,
        // A clock or a spinner somewhere else: what scrolls is larger.
        (false, false)
            if action.kind() == ActionKind::Scroll
                && !goes_to_focus(action)
                && !near_target
                && !change.size_differs
                && change.regions.iter().all(|region| is_small(region.bounds)) =>
        {
            Verdict::EndReached
        }
        (true, false) if !idle.settled => Verdict::Unknown,
        (true, false) => Verdict::NoEffect,
        _ if has_shifted && !window_changed => Verdict::TargetMoved,
        _ if near_target || window_changed || goes_to_focus(action) => Verdict::Confirmed,
        _ => Verdict::ChangedElsewhere,
    };
    let lost_focus = left_field.zip(share_in_field).filter(|(field, share)| {
        verdict == Verdict::ChangedElsewhere && is_only_lost_focus(*field, *share, &change)
    });
    if lost_focus.is_some() {
        return Effect {
            verdict: Verdict::NoEffect,
            change: without_regions(change),
            share_near_target,
            window_changed,
            explanation: Message::EffectFocusLeft.text(language),
            settled: idle.settled,
            settle_time: idle.elapsed,
        };
    }
    let explanation = explain(verdict, &change, window_changed, after, language);
    Effect {
        verdict,
        change,
        share_near_target,
        window_changed,
        explanation,
        settled: idle.settled,
        settle_time: idle.elapsed,
    }
}

/// Returns the area in which the text of a field is, without its border and the ring of the focus.
#[must_use]
pub fn field_inside(field: CaptureRect) -> CaptureRect {
    field.inflate(-FIELD_BORDER, -FIELD_BORDER)
}

/// Returns whether all that changed is the look of a field that has lost the focus: its ring and its caret. What stands in it is
/// as before. `share` is the changed share of [`field_inside`].
fn is_only_lost_focus(field: CaptureRect, share: f64, change: &ChangeMap) -> bool {
    let (inside, around) = (field_inside(field), field.inflate(FOCUS_RING, FOCUS_RING));
    let is_around = |region: &ChangedRegion| around.contains_box(&region.bounds);
    !change.size_differs
        && is_at_most_a_caret(inside, share)
        && change.regions.iter().all(is_around)
}

/// Returns whether no more of the inside of a field has changed than a caret takes. `share` is its changed share.
#[must_use]
pub fn is_at_most_a_caret(inside: CaptureRect, share: f64) -> bool {
    let caret = inside.height().max(0) * MAX_CARET_SIZE.0 / 2;
    share * (inside.area() as f64) <= f64::from(caret)
}

/// Takes changes that are no effect for background motion, so that they do not count as changes.
fn without_regions(mut change: ChangeMap) -> ChangeMap {
    let regions = std::mem::take(&mut change.regions);
    change
        .background_motion
        .extend(regions.into_iter().map(|region| region.bounds));
    change
}

fn judge_by_share(action: &Action<CapturePoint>, changed: bool) -> Verdict {
    match (changed, action.kind()) {
        (true, _) => Verdict::Confirmed,
        (false, ActionKind::Scroll) => Verdict::EndReached,
        (false, _) => Verdict::NoEffect,
    }
}

/// Returns true if background motion may hide the effect of an action that seems to have none. `change` contains all changes,
/// including those in background motion. After a click only changes near the target count. A scroll changes more than a small
/// region. The effect of keys and text may be anywhere.
#[must_use]
pub fn is_obscured(
    action: &Action<CapturePoint>,
    near: Option<CaptureRect>,
    change: &ChangeMap,
) -> bool {
    let is_entry = action.entered_text().is_some();
    let may_be = |region: &ChangedRegion| match near {
        // A caret at the target is the effect of a click in a text, and none of what is typed there.
        Some(near) => region.bounds.intersects(&near) && !(is_entry && is_caret(region)),
        None if action.kind() == ActionKind::Scroll => !background_motion::is_small(region.bounds),
        None => !is_caret(region),
    };
    change.regions.iter().any(may_be)
}

/// Returns the effect of a click whose target had moved away when it came.
#[must_use]
pub fn target_moved(effect: Effect, language: Language) -> Effect {
    Effect {
        verdict: Verdict::TargetMoved,
        explanation: Message::EffectTargetMoved.text(language),
        ..effect
    }
}

/// Returns the effect of a click that changed nothing but the look of its own target.
#[must_use]
pub fn only_own_look(effect: Effect, language: Language) -> Effect {
    Effect {
        verdict: Verdict::NoEffect,
        explanation: Message::EffectOwnLook.text(language),
        ..effect
    }
}

/// Returns the effect of an action beside which only a clock went on.
#[must_use]
pub fn only_clock(effect: Effect, language: Language) -> Effect {
    Effect {
        verdict: Verdict::NoEffect,
        explanation: Message::EffectNone.text(language),
        ..effect
    }
}

/// Returns the effect of an action of which only something elsewhere changed, if all is as before again. `change` is what differs
/// between the frames now.
#[must_use]
pub fn passed_elsewhere(
    effect: Effect,
    change: ChangeMap,
    before: &Frame,
    now: &Frame,
    language: Language,
) -> Option<Effect> {
    let change = without_carets(change, None);
    let differs = change.size_differs || !change.regions.is_empty() || window_changed(before, now);
    (!differs).then(|| Effect {
        verdict: Verdict::NoEffect,
        change,
        explanation: Message::EffectPassedElsewhere.text(language),
        ..effect
    })
}

/// Returns the effect as unknown because background motion may hide it.
#[must_use]
pub fn obscured(effect: Effect, language: Language) -> Effect {
    Effect {
        verdict: Verdict::Unknown,
        explanation: Message::EffectObscured.text(language),
        ..effect
    }
}

/// Returns the normalised text of the elements within the surroundings of a target; beside the target itself, without what
/// is in background motion. `place`, as [`near_area`] returns it, and `moving` are in display pixels.
#[must_use]
pub fn text_within(
    scene: &Scene,
    frame: &Frame,
    place: CaptureRect,
    moving: &[CaptureRect],
) -> String {
    // A line that reaches out of the area is read otherwise where it is cut, and a clock beside the target changes by itself.
    let own = place.inflate(-NEAR_MARGIN, -NEAR_MARGIN);
    let counts = |bounds: CaptureRect| {
        let moves = moving.iter().any(|area| area.intersects(&bounds));
        place.contains_box(&bounds) && (own.contains(bounds.center()) || !moves)
    };
    let within = scene
        .elements
        .iter()
        .filter(|element| counts(bounds_on_display(element, frame)));
    within.map(|element| folded(&element.content)).collect()
}

/// Judges an effect hidden by background motion by the text at its target.
#[must_use]
pub fn judge_text_change(effect: Effect, before: &str, after: &str, language: Language) -> Effect {
    if before == after {
        return Effect {
            verdict: Verdict::Unknown,
            explanation: Message::EffectTextUnchanged.text(language),
            ..effect
        };
    }
    Effect {
        verdict: Verdict::Confirmed,
        explanation: Message::EffectTextChanged.text(language),
        ..effect
    }
}

/// Returns where an action acts: its target, and the points that it names, such as both ends of a drag.
fn places(
    action: &Action<CapturePoint>,
    target: Option<CaptureRect>,
) -> impl Iterator<Item = CaptureRect> {
    let points = action.targets().map(|point| {
        let pixel = CaptureSize::new(1, 1);
        CaptureRect::from_origin_and_size(*point, pixel)
    });
    points.chain(target)
}

/// Returns true for actions without a target point. Keys and text go to the focus, whose position is not known, so any change
/// counts as their effect.
fn goes_to_focus(action: &Action<CapturePoint>) -> bool {
    action.targets().next().is_none()
}

fn without_carets(mut change: ChangeMap, keep: Option<CaptureRect>) -> ChangeMap {
    if change.size_differs {
        return change;
    }
    let kept = |region: &ChangedRegion| keep.is_some_and(|place| region.bounds.intersects(&place));
    // Of keys and text, a full stop is an effect.
    let min_pixels = keep.map_or(0, |_| MIN_PIXELS_ELSEWHERE);
    let is_nothing = |region: &ChangedRegion| {
        !kept(region) && (is_caret(region) || region.changed_pixels < min_pixels)
    };
    let (carets, regions): (Vec<_>, Vec<_>) = change.regions.drain(..).partition(is_nothing);
    change.regions = regions;
    change
        .background_motion
        .extend(carets.into_iter().map(|region| region.bounds));
    change
}

/// Returns true if a change is as small as a blinking text caret.
#[must_use]
pub fn is_caret(region: &ChangedRegion) -> bool {
    region.bounds.width() <= MAX_CARET_SIZE.0 && region.bounds.height() <= MAX_CARET_SIZE.1
}

fn touches(change: &ChangeMap, place: CaptureRect) -> bool {
    change.size_differs
        || change
            .regions
            .iter()
            .any(|region| region.bounds.intersects(&place))
}

fn window_changed(before: &Frame, after: &Frame) -> bool {
    let look = |window: &Window| (window.id.clone(), window.title.clone());
    before.active_window().map(look) != after.active_window().map(look)
}

fn explain(
    verdict: Verdict,
    change: &ChangeMap,
    window_changed: bool,
    after: &Frame,
    language: Language,
) -> String {
    let title = after
        .active_window()
        .map(|window| window.title.as_str())
        .unwrap_or_default();
    let pixels = change.changed_pixels;
    let message = match verdict {
        Verdict::Confirmed if window_changed => Message::EffectWindow { title },
        Verdict::Confirmed => Message::EffectAtTarget { pixels },
        Verdict::ChangedElsewhere => Message::EffectElsewhere { pixels },
        Verdict::NoEffect => Message::EffectNone,
        Verdict::EndReached => Message::EffectEndReached,
        Verdict::TargetMoved => Message::EffectTargetMoved,
        // Text is compared on the next screen only, and has a message of its own.
        Verdict::Unknown | Verdict::TextDiffers => Message::EffectNotSettled,
    };
    message.text(language)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use motorium_proto::domain::action::{Button, ControlCharacters, ScrollAmount, Text};
    use motorium_proto::domain::geometry::CaptureSize;
    use motorium_proto::domain::id::{DisplayId, FrameId};

    use super::*;

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    fn frame(title: &str) -> Frame {
        let window = Window {
            id: "1".into(),
            title: title.into(),
            application: "app".into(),
            process: None,
            bounds: rect(0, 0, 800, 600),
            active: true,
            minimised: false,
            modal: false,
        };
        Frame {
            id: FrameId::new("f"),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(800, 600),
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: vec![],
            windows: vec![window],
        }
    }

    fn click() -> Action<CapturePoint> {
        Action::Click {
            at: Some(CapturePoint::new(110, 110)),
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        }
    }

    fn scroll() -> Action<CapturePoint> {
        Action::Scroll {
            at: None,
            amount: ScrollAmount::Notches { x: 0, y: 3 },
            modifiers: vec![],
        }
    }

    fn typing() -> Action<CapturePoint> {
        let text = Text::Literal("a".into());
        Action::TypeText {
            text,
            control_characters: ControlCharacters::AsKeys,
        }
    }

    /// A field at the top has the ring of the focus; a click lower down takes it away, and perhaps the text as well.
    #[test]
    fn ring_that_leaves_another_field_is_no_effect_of_a_click() {
        let field = rect(100, 20, 200, 30);
        let click = click();
        let check = |share_inside: f64, around: CaptureRect, expected: Verdict| {
            let change = ChangeMap {
                changed_pixels: 792,
                regions: vec![ChangedRegion {
                    bounds: around,
                    changed_pixels: 792,
                }],
                ..ChangeMap::default()
            };
            let idle = IdleReport {
                settled: true,
                changed: true,
                elapsed: Duration::from_millis(100),
                first_change_after: None,
                still_changing: vec![],
                background_motion: vec![],
            };
            let evidence = Evidence {
                action: &click,
                target: Some(rect(100, 100, 40, 20)),
                left_field: Some(field),
                before: &frame("Form"),
                after: &frame("Form"),
                comparison: Comparison {
                    vertical_shifts: Vec::new(),
                    change,
                    measured_shares: vec![0.0, share_inside],
                },
                idle: &idle,
                background_motion: &[],
                language: Language::English,
            };
            let judged = judge(evidence, EffectCriterion::ChangedRegions);
            assert_eq!(judged.verdict, expected, "{judged:?}");
            assert_eq!(
                judged.change.regions.is_empty(),
                expected == Verdict::NoEffect
            );
        };
        let ring = field.inflate(3, 3);
        check(0.0, ring, Verdict::NoEffect);
        // The caret goes as well: 1 by 18 of 190 by 20 pixels.
        check(18.0 / 3800.0, ring, Verdict::NoEffect);
        // The text in the field is another one.
        check(300.0 / 3800.0, ring, Verdict::ChangedElsewhere);
        // Something below the field changes too, such as a message.
        check(0.0, rect(97, 17, 206, 50), Verdict::ChangedElsewhere);
    }

    fn check(
        action: &Action<CapturePoint>,
        changed: &[CaptureRect],
        titles: (&str, &str),
        settled: bool,
        expected: Verdict,
    ) {
        let region = |bounds: &CaptureRect| ChangedRegion {
            bounds: *bounds,
            changed_pixels: bounds.area() as u64,
        };
        let regions: Vec<ChangedRegion> = changed.iter().map(region).collect();
        let change = ChangeMap {
            changed_pixels: regions.iter().map(|region| region.changed_pixels).sum(),
            regions,
            ..ChangeMap::default()
        };
        let idle = IdleReport {
            settled,
            changed: !changed.is_empty(),
            elapsed: Duration::from_millis(100),
            first_change_after: None,
            still_changing: vec![],
            background_motion: vec![],
        };
        let effect = judge(
            Evidence {
                action,
                target: matches!(action, Action::Click { .. }).then(|| rect(100, 100, 40, 20)),
                left_field: None,
                before: &frame(titles.0),
                after: &frame(titles.1),
                comparison: Comparison {
                    vertical_shifts: Vec::new(),
                    change,
                    measured_shares: vec![0.1],
                },
                idle: &idle,
                background_motion: &[],
                language: Language::English,
            },
            EffectCriterion::ChangedRegions,
        );
        assert_eq!(effect.verdict, expected, "{effect:?}");
        assert!(!effect.explanation.is_empty());
    }

    const SAME: (&str, &str) = ("a", "a");

    #[test]
    fn verdicts() {
        use Verdict::{ChangedElsewhere, Confirmed, EndReached, NoEffect, Unknown};

        check(&click(), &[], SAME, true, NoEffect);
        check(&click(), &[rect(105, 105, 9, 9)], SAME, true, Confirmed);
        check(
            &click(),
            &[rect(600, 500, 9, 9)],
            SAME,
            true,
            ChangedElsewhere,
        );
        // The edge of something that moves; at the target it may be anything.
        check(&click(), &[rect(600, 500, 5, 2)], SAME, true, NoEffect);
        check(&click(), &[rect(105, 105, 5, 2)], SAME, true, Confirmed);
        check(&click(), &[], ("a", "b"), true, Confirmed);
        check(&click(), &[], SAME, false, Unknown);
        check(&scroll(), &[], SAME, true, EndReached);
        check(&scroll(), &[rect(0, 0, 400, 400)], SAME, true, Confirmed);
    }

    #[test]
    fn scrolls_and_drags_are_judged_at_their_points() {
        use Verdict::{ChangedElsewhere, Confirmed, EndReached};

        let (start, end) = (CapturePoint::new(150, 300), CapturePoint::new(500, 300));
        let scrolled = Action::Scroll {
            at: Some(start),
            amount: ScrollAmount::Notches { x: 0, y: 3 },
            modifiers: vec![],
        };
        let list = rect(120, 200, 200, 300);
        check(&scrolled, &[list], SAME, true, Confirmed);
        let clock = rect(900, 0, 60, 20);
        check(&scrolled, &[clock], SAME, true, EndReached);
        let page = rect(900, 0, 60, 400);
        check(&scrolled, &[page], SAME, true, ChangedElsewhere);
        let dragged = Action::Drag {
            path: vec![start, end],
            button: Button::Left,
            modifiers: vec![],
            duration: None,
            hold: None,
        };
        for place in [start, end] {
            let item = CaptureRect::new(place, place).inflate(20, 20);
            check(&dragged, &[item], SAME, true, Confirmed);
        }
        check(&dragged, &[clock], SAME, true, ChangedElsewhere);
    }

    #[test]
    fn one_typed_character_is_an_effect_and_a_caret_is_not() {
        check(
            &typing(),
            &[rect(300, 300, 7, 10)],
            SAME,
            true,
            Verdict::Confirmed,
        );
        check(
            &typing(),
            &[rect(300, 300, 1, 15)],
            SAME,
            true,
            Verdict::NoEffect,
        );
        check(
            &click(),
            &[rect(110, 100, 2, 18)],
            SAME,
            true,
            Verdict::Confirmed,
        );
        check(
            &click(),
            &[rect(500, 100, 2, 18)],
            SAME,
            true,
            Verdict::NoEffect,
        );
    }
}
