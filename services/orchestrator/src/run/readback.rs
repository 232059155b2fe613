//! Reads an entered text again on the next screen, so that a field that shows another text is reported to the planner.
//!
//! Pure. Deliberately not here: secrets, which are redacted on the screen, texts of several lines, and differences that may be
//! misreadings. A text that was sent but is not readable counts as entered.

use motorium_phrasebook::matcher::ScreenIndex;
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::Observation;
use motorium_task::{Task, effect};

/// Returns the effect of the task's last action in view of what its field shows now, if that is another text.
pub(super) fn reread(task: &Task, seen: &Observation) -> Option<(ActionId, Effect)> {
    let record = task.steps.last()?.actions.last()?;
    let entered = record
        .action
        .entered_text()
        .filter(|_| record.performed())?;
    let judged = record.effect.as_ref()?;
    if !matches!(
        judged.verdict,
        Verdict::Confirmed | Verdict::ChangedElsewhere
    ) {
        return None;
    }
    let screen = ScreenIndex::new(&seen.frame, &seen.scene);
    let shown = screen.text_in_field(task.entry_field()?)?;
    let language = task.spec.message_language();
    shown.differs_from(entered).then(|| {
        let effect = effect::text_differs(judged.clone(), entered, shown.value(), language);
        (record.action_id.clone(), effect)
    })
}
