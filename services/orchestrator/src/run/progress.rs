//! Corrects the progress line of a step that turned out otherwise than it announced.
//!
//! The line is announced with the decision, before anything is done. What was done as announced needs no correction: the
//! events say what came of it.

use super::context::RunContext;
use super::{RunResult, hooks};

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
    if !run.config.correct_progress || !has_line(run) {
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
