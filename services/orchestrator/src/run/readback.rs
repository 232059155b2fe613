//! Reads an entered text again on the next screen, so that a field that shows another text is reported to the planner.
//!
//! A text that was to replace another one is compared with that one, too: a field that does not take the selection shows both.
//!
//! A field that shows nothing may hold a text that cannot be read. If it shows nothing before either, its pixels tell
//! ([`is_still_empty`]).
//!
//! The comparison of texts is pure. Deliberately not here: secrets, which are redacted on the screen, and differences that may be misreadings. A text that was
//! sent but is not readable counts as entered.

use motorium_phrasebook::matcher::{ScreenIndex, TextAtField};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::{ActionId, FrameId};
use motorium_proto::domain::key::Key;
use motorium_proto::service::{CompareRequest, Observation};
use motorium_task::{Task, effect};

use super::context::RunContext;
use super::{RunResult, capture};

/// Returns the effect of the task's last action in view of what its field shows now, if that is another text. `before` is the latest
/// screen from before the action.
fn reread(
    task: &Task,
    before: Option<&Observation>,
    seen: &Observation,
    reads_cells: bool,
) -> Option<(ActionId, Effect)> {
    let record = task.steps.last()?.actions.last()?;
    let entered = record
        .action
        .entered_text()
        .filter(|_| record.performed())?;
    // The last line break was Enter: the field may have been sent, and shows something else since.
    if entered.ends_with('\n') {
        return None;
    }
    let judged = record.effect.as_ref().filter(|it| is_effect(it))?;
    let screen = ScreenIndex::new(&seen.frame, &seen.scene);
    let field = task.entry_field().or_else(|| field_of_lines(task))?;
    let former = before.map(|before| ScreenIndex::new(&before.frame, &before.scene));
    let former = former.as_ref();
    let shown = match screen.text_in_field(field) {
        Some(shown) => {
            let former = former.and_then(|former| former.text_in_field(field));
            let differs = shown.differs_from(entered) || keeps_former(task, former, shown);
            differs.then_some(shown)?
        }
        // The cell of a table takes a text after a double click, and shows it in a box of another size.
        None => {
            let cell = field.center();
            let former = former.and_then(|former| former.text_at(cell));
            let shown = screen.text_at(cell).filter(|_| reads_cells)?;
            keeps_former(task, former, shown).then_some(shown)?
        }
    };
    let language = task.spec.message_language();
    let effect = effect::text_differs(judged.clone(), entered, shown.value(), language);
    Some((record.action_id.clone(), effect))
}

/// Returns the effect of the task's last action if its field shows another text than it entered, or still nothing.
pub(super) async fn differing_text(
    run: &mut RunContext,
    before: Option<&Observation>,
    seen: &Observation,
) -> RunResult<Option<(ActionId, Effect)>> {
    let features = run.config.features;
    if !features.read_text_back {
        return Ok(None);
    }
    let task = run.task();
    let differs = match features.compare_former_text {
        true => reread(task, before, seen, features.read_cells_back),
        false => reread_one_line(task, seen),
    };
    let entry = before
        .filter(|_| differs.is_none() && features.read_empty_fields)
        .and_then(|before| Some((before, empty_field(task, before, seen)?)));
    let Some((before, entry)) = entry else {
        return Ok(differs);
    };
    let (before, now) = (before.frame.id.clone(), seen.frame.id.clone());
    if !is_still_empty(run, before, now, entry.field).await? {
        return Ok(None);
    }
    let language = run.task().spec.message_language();
    let effect = effect::text_differs(entry.judged, &entry.text, "", language);
    Ok(Some((entry.action, effect)))
}

/// A text whose field shows nothing.
struct EmptyEntry {
    action: ActionId,
    judged: Effect,
    text: String,
    field: CaptureRect,
}

/// Returns the text that the task's last action entered, if its field shows nothing now, as before.
fn empty_field(task: &Task, before: &Observation, seen: &Observation) -> Option<EmptyEntry> {
    let record = task.steps.last()?.actions.last()?;
    let performed = record.action.entered_text().filter(|_| record.performed());
    let text = performed.filter(|text| text.chars().any(char::is_alphanumeric))?;
    // Enter sends the text, and the field is empty again.
    let judged = record.effect.as_ref().filter(|_| !text.contains('\n'))?;
    let field = task.entry_field()?;
    let shows_nothing = |screen: &Observation| {
        let screen = ScreenIndex::new(&screen.frame, &screen.scene);
        let shown = screen.text_in_field(field);
        shown.is_some_and(|shown| shown.is_blank() && !shown.holds(text))
    };
    let is_entry = is_effect(judged) && shows_nothing(before) && shows_nothing(seen);
    is_entry.then(|| EmptyEntry {
        action: record.action_id.clone(),
        judged: judged.clone(),
        text: text.to_owned(),
        field,
    })
}

/// Returns whether the inside of a field looks as before, but for a caret. Frames that cannot be compared tell nothing.
async fn is_still_empty(
    run: &mut RunContext,
    before: FrameId,
    now: FrameId,
    field: CaptureRect,
) -> RunResult<bool> {
    let inside = effect::field_inside(field);
    let request = CompareRequest {
        measured_regions: vec![inside],
        ..CompareRequest::new(before, now)
    };
    let compared = capture::compare(run, request).await?;
    let share = compared
        .ok()
        .and_then(|it| it.measured_shares.first().copied());
    Ok(!inside.is_empty() && share.is_some_and(|share| effect::is_at_most_a_caret(inside, share)))
}

/// Returns whether an action was seen to have an effect.
fn is_effect(effect: &Effect) -> bool {
    matches!(
        effect.verdict,
        Verdict::Confirmed | Verdict::ChangedElsewhere
    )
}

/// Returns the effect of [`reread`] as earlier versions did: by the text alone, if it has one line.
fn reread_one_line(task: &Task, seen: &Observation) -> Option<(ActionId, Effect)> {
    let last = task.steps.last()?.actions.last()?;
    let entered = last.action.entered_text()?;
    (!entered.contains('\n'))
        .then(|| reread(task, None, seen, false))
        .flatten()
}

/// Returns the field that a text of several lines went into. In a field of one line, a line break may have moved the focus; only what
/// the field itself shows tells.
fn field_of_lines(task: &Task) -> Option<CaptureRect> {
    let mut actions = task.actions().rev();
    let entered = actions.next()?.action.entered_text()?;
    if !entered.contains('\n') || entered.contains('\t') {
        return None;
    }
    let mut before = actions.skip_while(|record| selects_or_deletes(&record.action));
    before.next()?.target
}

/// Returns whether the field still shows its former text beside the one that was to replace it.
fn keeps_former(task: &Task, former: Option<TextAtField<'_>>, shown: TextAtField<'_>) -> bool {
    let mut actions = task.actions().rev().map(|record| &record.action);
    let entered = actions.next().and_then(Action::entered_text);
    let Some((entered, former)) = entered.zip(former) else {
        return false;
    };
    replaces(actions) && shown.keeps(former.value(), entered)
}

/// Returns whether the actions before a text, the last one first, select what the text is to replace.
fn replaces<'a>(mut before: impl Iterator<Item = &'a Action<CapturePoint>>) -> bool {
    match before.find(|action| !deletes(action)) {
        Some(Action::Click { count, .. }) => *count > 1,
        Some(action) => selects_all(action),
        None => false,
    }
}

pub(super) fn selects_or_deletes(action: &Action<CapturePoint>) -> bool {
    selects_all(action) || deletes(action)
}

fn deletes(action: &Action<CapturePoint>) -> bool {
    matches!(keys_of(action), [Key::Backspace | Key::Delete])
}

fn selects_all(action: &Action<CapturePoint>) -> bool {
    matches!(
        keys_of(action),
        [Key::Control | Key::Super, Key::Character('a' | 'A')]
    )
}

pub(super) fn keys_of(action: &Action<CapturePoint>) -> &[Key] {
    match action {
        Action::KeyChord { keys, .. } => keys,
        _ => &[],
    }
}
