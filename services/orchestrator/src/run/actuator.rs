//! Performs actions: stores the intent, acts, and determines the outcome.
//!
//! The permission of an action is decided before ([`super::gate`]); its effect is judged after
//! ([`super::judge`]).

use motorium_messages::Language;
use motorium_messages::Message;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{ActionProgress, LookUpRequest, PerformRequest};
use tokio::time::Duration;

use super::attempt::{ActionAttempt, ResolvedAction};
use super::context::RunContext;
use super::{Halt, INPUT_RELEASE_TIMEOUT, RunResult, halt, is_transient};
use motorium_task::event::{ActionIntended, Event};
use motorium_task::retry::{self, RetryStrategy};
use motorium_task::{Lifecycle, Task};

/// Maximum time to wait for a running action whose call broke off; afterwards its outcome counts as unknown.
// Longer than typing a usual text takes, so that most actions can report their outcome.
const RUNNING_ACTION_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time to wait for a running action when the task is ending.
// The user waits for the end, and a stopped action reports within a few milliseconds.
const STOPPED_ACTION_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval between lookups of a running action.
// Short beside an action; the lookup is one read of the journal.
const LOOKUP_INTERVAL: Duration = Duration::from_millis(20);

/// Sends actions to the Executor.
#[derive(Debug, Default)]
pub(super) struct Actuator {
    /// Number of pointer moves made for pointer checks.
    pub(super) pointer_moves: u64,
}

impl Actuator {
    pub(super) async fn record_intent(
        &self,
        run: &mut RunContext,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult {
        let intended = ActionIntended {
            action_id: attempt.id.clone(),
            retry_of: attempt.retry_of(),
            planned: attempt.planned.clone(),
            action: resolved.action.clone(),
            target: resolved.target,
            target_label: resolved.label.clone(),
        };
        run.record(vec![Event::ActionIntended(Box::new(intended))])
            .await
    }

    /// Records that an intended action was not started. It is due again if the task continues.
    pub(super) async fn record_not_started(
        &self,
        run: &mut RunContext,
        action_id: ActionId,
    ) -> RunResult {
        let language = run.task().spec.message_language();
        let outcome = outcome_of(ActionProgress::NotStarted, language);
        run.record(vec![
            Event::ActionPerformed {
                action_id: action_id.clone(),
                outcome,
            },
            retry_due(action_id, language),
        ])
        .await
    }

    /// Performs an action once. Failures are outcomes, unless the task itself has to be released.
    pub(super) async fn perform(
        &self,
        run: &mut RunContext,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult<ActionOutcome> {
        let (action_id, action) = (attempt.id.clone(), resolved.action.clone());
        let request = perform_request(run, action_id.clone(), attempt.retry_of(), action)?;
        let executor = run.ports.executor.clone();
        let performed = run.guard_unless_paused(executor.perform(request)).await;
        match performed {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(report)) => self.after_failed_call(run, action_id, report).await,
            Err(Halt::Reevaluate) => {
                self.release_inputs(run).await;
                Ok(self.outcome_after_stop(run, action_id).await)
            }
            Err(halt) => Err(halt),
        }
    }

    /// Determines the outcome after a failed call: only the Executor's journal knows how far the action came.
    async fn after_failed_call(
        &self,
        run: &mut RunContext,
        action_id: ActionId,
        report: ErrorReport,
    ) -> RunResult<ActionOutcome> {
        if let halt @ Halt::OwnershipLost(_) =
            halt(run.task(), Message::OperationPerformAction, report.clone())
        {
            return Err(halt);
        }
        let progress = self.look_up(run, action_id.clone()).await?;
        let language = run.task().spec.message_language();
        if progress != ActionProgress::NotStarted {
            return Ok(outcome_of(progress, language));
        }
        if !is_transient(&report) {
            return Ok(ActionOutcome::new(ActionResult::Failed, report.message));
        }
        // The call may still be queued at the Executor. Releasing the inputs cancels it, so that it cannot start later.
        self.release_inputs(run).await;
        let progress = self.look_up(run, action_id).await?;
        Ok(match progress {
            ActionProgress::NotStarted => cancelled_unsent(&report.message, language),
            progress => outcome_of(progress, language),
        })
    }

    /// Returns the outcome of an action that was stopped halfway, waiting only briefly because the task is ending.
    async fn outcome_after_stop(&self, run: &RunContext, action_id: ActionId) -> ActionOutcome {
        let request = LookUpRequest {
            display: run.display(),
            action_id,
        };
        let asked = async {
            loop {
                let asked = run.ports.executor.look_up_action(request.clone()).await;
                match asked {
                    Ok(ActionProgress::Running) => run.recording().sleep(LOOKUP_INTERVAL).await,
                    asked => return asked.unwrap_or(ActionProgress::Unknown),
                }
            }
        };
        let progress = tokio::time::timeout(STOPPED_ACTION_TIMEOUT, asked).await;
        let progress = progress.unwrap_or(ActionProgress::Unknown);
        outcome_of(progress, run.task().spec.message_language())
    }

    /// Looks up how far an action came, waiting a limited time for a running one.
    pub(super) async fn look_up(
        &self,
        run: &mut RunContext,
        action_id: ActionId,
    ) -> RunResult<ActionProgress> {
        let began = run.recording().start_timer();
        loop {
            let request = LookUpRequest {
                display: run.display(),
                action_id: action_id.clone(),
            };
            let progress = run
                .call(Message::OperationLookUpAction, move |ports| {
                    let request = request.clone();
                    async move { ports.executor.look_up_action(request).await }
                })
                .await?;
            if progress != ActionProgress::Running
                || run.recording().elapsed(began) > RUNNING_ACTION_TIMEOUT
            {
                return Ok(progress);
            }
            run.sleep(LOOKUP_INTERVAL).await?;
        }
    }

    /// Stops typing and releases all keys and buttons.
    pub(super) async fn release_inputs(&self, run: &RunContext) {
        if run.task().desktop.is_none() {
            return;
        }
        let released = run.ports.executor.release_all(run.display());
        let problem = match tokio::time::timeout(INPUT_RELEASE_TIMEOUT, released).await {
            Ok(Ok(_)) => return,
            Ok(Err(report)) => report.message,
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(task = %run.task().spec.name, problem, "releasing keys and buttons failed");
    }
}

pub(super) fn perform_request(
    run: &RunContext,
    action_id: ActionId,
    retry_of: Option<ActionId>,
    action: Action<CapturePoint>,
) -> RunResult<PerformRequest> {
    let Some((_, epoch)) = run.task().desktop.clone() else {
        return Err(Halt::OwnershipLost("the desktop was released".to_owned()));
    };
    let Some(display) = run.display() else {
        return Err(Halt::OwnershipLost("the desktop has no display".to_owned()));
    };
    Ok(PerformRequest {
        display,
        epoch,
        action_id,
        retry_of,
        action,
    })
}

/// Returns whether the action may still be performed: the task was not stopped, paused or taken over while the
/// intent was stored.
pub(super) fn may_act(task: &Task) -> bool {
    let is_still_due = task
        .open_step()
        .is_some_and(|step| step.abandonment.is_none());
    is_still_due && task.lifecycle == Lifecycle::Running && task.cancel_requested.is_none()
}

/// Converts the Executor's journal entry into the outcome of an action.
pub(super) fn outcome_of(progress: ActionProgress, language: Language) -> ActionOutcome {
    match progress {
        ActionProgress::Finished(outcome) => outcome,
        ActionProgress::NotStarted => {
            cancelled_unsent(&Message::ActionNotStarted.text(language), language)
        }
        ActionProgress::Running | ActionProgress::Unknown => ActionOutcome::new(
            ActionResult::Unknown,
            Message::ActionOutcomeUnknown.text(language),
        ),
    }
}

/// Returns the outcome of an action that ended before any of its input was sent.
pub(super) fn cancelled_unsent(reason: &str, language: Language) -> ActionOutcome {
    ActionOutcome::cancelled_unsent(Message::NothingSent { reason }.text(language))
}

/// Returns the event that makes an action of which no input was sent due again, under a new id.
pub(super) fn retry_due(action_id: ActionId, language: Language) -> Event {
    Event::ActionRetried {
        action_id,
        attempts: 0,
        reason: retry::reason(RetryStrategy::Unchanged, 0, language),
        way: RetryStrategy::Unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_action_that_was_not_started_may_be_repeated() {
        let performed = ActionOutcome::new(ActionResult::Performed, "");
        for (progress, result, sent_nothing) in [
            (ActionProgress::NotStarted, ActionResult::Cancelled, true),
            (ActionProgress::Running, ActionResult::Unknown, false),
            (ActionProgress::Unknown, ActionResult::Unknown, false),
            (
                ActionProgress::Finished(performed),
                ActionResult::Performed,
                false,
            ),
        ] {
            let outcome = outcome_of(progress.clone(), Language::English);
            assert_eq!(
                (outcome.result, outcome.sent_nothing),
                (result, sent_nothing),
                "{progress:?}"
            );
        }
    }
}
