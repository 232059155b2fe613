//! Corrects the progress line of a step that turned out otherwise than it announced.
//!
//! The line is announced with the decision, before anything is done. What was done as announced needs no correction: the
//! end of the step has its outcome.

use motorium_messages::Message;

use super::context::RunContext;
use super::{Halt, RunResult, hooks};
use motorium_task::event::Event;

/// Corrects the line of the open step if its last action, or its last call, did not do what was announced.
pub(super) async fn correct_if_otherwise(run: &mut RunContext) -> RunResult {
    let setback = run.task().open_step().and_then(|step| step.setback());
    match setback.map(str::to_owned) {
        Some(setback) => correct(run, &setback).await,
        None => Ok(()),
    }
}

/// Adds a setback to the progress line of the last step, if it has one.
pub(super) async fn correct(run: &mut RunContext, setback: &str) -> RunResult {
    let has_line = |run: &RunContext| {
        let step = run.task().steps.last();
        step.is_some_and(|step| step.progress.is_some())
    };
    if !run.config.features.correct_progress || !has_line(run) {
        return Ok(());
    }
    // The correction names the event that added the line, and a deferred event may still change its number.
    run.flush().await?;
    let step = run.task().steps.last();
    let Some((sequence, line)) = step.and_then(|step| step.progress.clone()) else {
        return Ok(());
    };
    hooks::correct_progress(run, sequence, &line, setback).await
}

/// Corrects the line of the step in which the task ends, if it announced something that was not done.
pub(super) async fn correct_at_end(run: &mut RunContext, end: &Event) -> RunResult {
    let Some(step) = run.task().open_step() else {
        return Ok(());
    };
    let reason = match end {
        Event::Failed(failure) => failure.message.clone(),
        Event::Cancelled { reason } if reason.is_empty() => run.task().text(Message::TaskCancelled),
        Event::Cancelled { reason } => run.task().text(Message::TaskCancelledBecause { reason }),
        _ => return Ok(()),
    };
    let setback = step.setback().map(str::to_owned);
    let Some(setback) = setback.or_else(|| step.is_incomplete().then_some(reason)) else {
        return Ok(());
    };
    match correct(run, &setback).await {
        // Hooks are not asked about a line of a task that is being stopped; the line stays.
        Err(Halt::Reevaluate) => Ok(()),
        corrected => corrected,
    }
}
