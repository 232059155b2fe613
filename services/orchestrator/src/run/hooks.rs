//! Calls the hooks from the loop.
//!
//! - `model_calls`, `actions`, `screenshots`, `text`: hook points by subject; those of a run are here
//!
//! Hooks called before an event may delay it until the task is stopped, paused or taken over; then the event has not
//! happened, and the loop evaluates the task again. Hooks called after an event are not awaited by a user who stops the
//! task. Not here: what hooks may decide ([`crate::hooks`]).

mod actions;
mod model_calls;
mod screenshots;
mod text;

use motorium_messages::Message;

pub(super) use self::actions::{
    after_action, after_function, after_policy_denial, before_action, before_function,
};
pub(super) use self::model_calls::{
    ImageCounts, after_model_call, after_usage, before_model_call, count_rejected,
    decision_for_hooks, may_summarise,
};
pub(super) use self::screenshots::{
    after_screenshot, before_next_screenshot, before_screenshot, use_next_redactions,
};
pub(super) use self::text::{
    after_answer, ask_user, before_answer, correct_progress, final_text, show_progress,
};
use super::context::RunContext;
use super::{Halt, RunResult};
use crate::hooks::event::HookRunEnd;
use crate::hooks::{HookDenial, HookEvent, HookPoint, TaskArchive};
use motorium_task::event::Failure;
use motorium_task::{Lifecycle, Task};

/// Fails the task if the event was denied.
fn or_fail(denial: Option<HookDenial>, task: &Task, message: fn(&str) -> Message<'_>) -> RunResult {
    let Some(denial) = denial else {
        return Ok(());
    };
    let why = denial.message(task.spec.message_language());
    Err(Halt::Fail(Failure::new(
        denial.failure_reason(),
        task.text(message(&why)),
    )))
}

/// Requests the hooks' points, and asks whether the task may run.
pub(super) async fn before_run(run: &mut RunContext) -> RunResult {
    let loaded = run.hooks.load_points(run.task(), run.recording());
    let loaded = run.guard_unless_paused(loaded).await?;
    let denial = run.record_interventions(loaded);
    or_fail(denial, run.task(), |denial| Message::HookDeniesRun {
        denial,
    })?;
    if !run.wants(HookPoint::BeforeRun) {
        return Ok(());
    }
    let denial = run.ask_hooks(&mut HookEvent::BeforeRun, None).await?;
    or_fail(denial, run.task(), |denial| Message::HookDeniesRun {
        denial,
    })
}

/// Notifies the hooks of the end of the task. Only the desktop waits for it, and nothing can be recorded any more.
pub(super) async fn after_run(run: &mut RunContext) {
    let (state, message) = match &run.task().lifecycle {
        Lifecycle::Succeeded { answer } => ("SUCCEEDED", answer.clone()),
        Lifecycle::Failed(failure) => ("FAILED", failure.message.clone()),
        Lifecycle::Cancelled { reason } => ("CANCELLED", reason.clone()),
        _ => return,
    };
    if !run.wants(HookPoint::AfterRun) {
        return;
    }
    let archive = TaskArchive::new(run.journal.store(), run.recorder.blobs().clone());
    let mut event = HookEvent::AfterRun(HookRunEnd {
        state,
        message: &message,
        archive: &archive,
    });
    let dispatch = run
        .hooks
        .dispatch(run.recording(), run.task(), &mut event, None);
    let outcome = dispatch.await;
    run.record_interventions(outcome);
}
