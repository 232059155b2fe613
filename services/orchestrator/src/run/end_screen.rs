//! Captures the screen after the last action of a task that ends without success.
//!
//! The screen after any other action is the one that the next step begins with. Here no step follows, so without this
//! capture it would be missing where it is wanted most: in the record of a task that failed or was stopped.
//!
//! It is made once and in a short time, because a person may be waiting for the end. Without it the task ends as well.

use std::time::Duration;

use motorium_proto::service::{CaptureRequest, CapturedFrame, Redaction};

use super::capture::SCREENSHOT_OPTIONS;
use super::context::RunContext;
use super::hooks;
use crate::hooks::{HookChainOutcome, HookEvent, HookPoint};
use motorium_task::event::{Artifact, Event};
use motorium_task::{Task, secret_fields};

/// Time limit for asking hooks, capturing and storing.
// A capture takes some 100 ms, most of it for encoding; a person who cancels waits no longer than this.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Records the screen if the task ends with an action whose result nothing shows.
pub(super) async fn record(run: &mut RunContext, end: &Event) {
    if !run.config.features.capture_end_screen || !is_missing(run.task(), end) {
        return;
    }
    let taken = tokio::select! {
        biased;
        taken = capture_with_hooks(run) => taken,
        () = run.recording().deadline(TIMEOUT) => {
            run.recording().timed_out();
            EndScreen::default()
        }
    };
    run.record_interventions(taken.verdict);
    let Some((captured, image)) = taken.screen else {
        tracing::debug!(task = %run.task().spec.name, "the last screen could not be captured");
        return;
    };
    hooks::after_screenshot(run, &captured.frame, captured.image.as_ref()).await;
    run.defer(Event::EndScreenCaptured { image });
}

/// The screen, and the verdict of the hooks on taking it.
#[derive(Default)]
struct EndScreen {
    verdict: HookChainOutcome,
    screen: Option<(CapturedFrame, Artifact)>,
}

/// Returns whether the last thing that the task did is an action, and the task has no screenshot after it. The place of a secret is
/// known only once the action that entered it is judged, so that without a judgement there is none.
fn is_missing(task: &Task, end: &Event) -> bool {
    let Some(step) = task.steps.last() else {
        return false;
    };
    let Some(last) = step.actions.last() else {
        return false;
    };
    let is_safe = last.effect.is_some() || last.action.entered_secret().is_none();
    !matches!(end, Event::Succeeded { .. }) && step.image_after.is_none() && is_safe
}

/// Asks the hooks for redactions, captures the screen and stores it. A hook that denies the screenshot may be why the task
/// ends.
async fn capture_with_hooks(run: &RunContext) -> EndScreen {
    let boxes = run.task().secret_fields.boxes();
    if !run.wants(HookPoint::BeforeScreenshot) {
        return EndScreen {
            screen: take(run, run.redactions(&boxes)).await,
            ..EndScreen::default()
        };
    }
    let mut event = HookEvent::BeforeScreenshot(Vec::new());
    let asked = run
        .hooks
        .dispatch(run.recording(), run.task(), &mut event, None);
    let verdict = asked.await;
    let HookEvent::BeforeScreenshot(mut redactions) = event else {
        unreachable!("a hook cannot change an event's kind");
    };
    redactions.extend(secret_fields::redactions(&boxes));
    let screen = match verdict.denial {
        Some(_) => None,
        None => take(run, redactions).await,
    };
    EndScreen { verdict, screen }
}

/// Captures and stores the screen. `None` if Perception or the store cannot do it now.
async fn take(run: &RunContext, redactions: Vec<Redaction>) -> Option<(CapturedFrame, Artifact)> {
    let number = run.task().steps.last()?.number;
    let request = CaptureRequest {
        display: run.display(),
        image: Some(SCREENSHOT_OPTIONS),
        redactions,
        ..CaptureRequest::default()
    };
    let captured = run.ports.perception.capture(request).await.ok()?;
    let name = format!("step-{number}-after");
    let stored = run
        .store_image(captured.image.as_ref(), &name)
        .await
        .ok()??;
    Some((captured, stored))
}
