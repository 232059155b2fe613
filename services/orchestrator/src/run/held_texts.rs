//! Remembers the texts that fields were seen to hold, and reads them once more when success is claimed: a page may empty or
//! replace the text of a field when the field is left.
//!
//! Pure. Only the fields of one form are read: those that were filled with nothing in between but entering text, so that
//! neither a button nor scrolling can have changed what is at their place. A text that is shown elsewhere on the screen has
//! moved with its field, and one that was never read there is not missed.

use motorium_phrasebook::matcher::ScreenIndex;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::domain::key::Key;
use motorium_proto::service::Observation;
use motorium_task::{ActionRecord, Task};

use super::readback::{keys_of, selects_or_deletes};

/// Maximum number of texts that are remembered: more than the fields of a form that fits on a screen.
const MAX_HELD_TEXTS: usize = 32;

/// Texts that fields were seen to hold, the oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldTexts(Vec<HeldText>);

/// A text that its field held on the screen after it was entered.
#[derive(Debug, Clone)]
struct HeldText {
    action: ActionId,
    field: CaptureRect,
    text: String,
}

/// A text that its field does not hold any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LostText {
    pub(super) entered: String,
    pub(super) shown: String,
}

impl HeldTexts {
    /// Remembers the text of the task's last action if its field holds it on this screen.
    pub(super) fn note(&mut self, task: &Task, seen: &Observation) {
        let mut latest = task.actions().rev();
        let Some(record) = latest.find(|record| !is_wait(&record.action)) else {
            return;
        };
        let entered = record.action.entered_text().filter(|_| record.performed());
        let entered = entered.filter(|text| text.chars().any(char::is_alphanumeric));
        let Some((text, field)) = entered.zip(task.entry_field()) else {
            return;
        };
        let screen = ScreenIndex::new(&seen.frame, &seen.scene);
        let shown = screen.text_in_field(field);
        if shown.is_some_and(|shown| shown.holds(text)) {
            self.0.retain(|held| held.field != field);
            self.0.push(HeldText {
                action: record.action_id.clone(),
                field,
                text: text.to_owned(),
            });
        }
        if self.0.len() > MAX_HELD_TEXTS {
            self.0.remove(0);
        }
    }

    /// Returns the texts of the form filled last that their fields have lost on this screen.
    pub(super) fn lost(&self, task: &Task, seen: &Observation) -> Vec<LostText> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let screen = ScreenIndex::new(&seen.frame, &seen.scene);
        let held = actions_on_form(task).filter_map(|record| {
            let mut held = self.0.iter();
            held.find(|held| held.action == record.action_id)
        });
        let lost = held.filter_map(|held| {
            let shown = screen.text_in_field(held.field)?;
            let is_lost =
                shown.is_blank() && !shown.holds(&held.text) || shown.differs_from(&held.text);
            let has_moved = || screen.find_text(&held.text).is_some();
            (is_lost && !has_moved()).then(|| LostText {
                entered: held.text.clone(),
                shown: shown.value().to_owned(),
            })
        });
        lost.collect()
    }
}

/// Returns the task's last actions, the latest first, back to one that does more than to fill the fields of a form.
fn actions_on_form(task: &Task) -> impl Iterator<Item = &ActionRecord> {
    let mut is_edited_next = false;
    task.actions().rev().take_while(move |record| {
        let is_edit = enters_line(&record.action) || edits(&record.action);
        // A click goes to a field if what follows it is entered there.
        let goes_to_field = is_edited_next && matches!(record.action, Action::Click { .. });
        let is_wait = is_wait(&record.action);
        is_edited_next = is_edit || is_wait && is_edited_next;
        is_edit || goes_to_field || is_wait || moves_on(&record.action)
    })
}

/// Returns whether an action only lets time pass, as before another look at a field.
fn is_wait(action: &Action<CapturePoint>) -> bool {
    matches!(action, Action::Wait { .. })
}

/// Returns whether an action enters text without an Enter that may send it.
fn enters_line(action: &Action<CapturePoint>) -> bool {
    action
        .entered_text()
        .is_some_and(|text| !text.contains('\n'))
}

/// Returns whether an action selects or deletes text of a field, or moves its caret.
fn edits(action: &Action<CapturePoint>) -> bool {
    let moves_caret = matches!(
        keys_of(action),
        [Key::Home | Key::End | Key::Left | Key::Right]
    );
    moves_caret || selects_or_deletes(action)
}

/// Returns whether an action leaves a field for another one.
fn moves_on(action: &Action<CapturePoint>) -> bool {
    matches!(keys_of(action), [Key::Tab] | [Key::Shift, Key::Tab])
}
