//! Performs actions: stores the intent, acts, and determines the outcome.
//!
//! The permission of an action is decided before ([`super::gate`]); its effect is judged after
//! ([`super::judge`]).

use std::collections::BTreeSet;

use motorium_messages::Language;
use motorium_messages::Message;
use motorium_policy::named_private_hosts;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DisplayId};
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::service::{
    ActionProgress, FenceRequest, LookUpRequest, PerformRequest, Result as CallResult,
};
use motorium_recording::ports::Ports;
use tokio::time::Duration;
use tonic::Code;

use super::attempt::{ActionAttempt, ResolvedAction, TypedAddresses};
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
        if action.entered_secret().is_some() {
            run.hide_screen();
        }
        let request = perform_request(run, action_id.clone(), attempt.retry_of(), action)?;
        let request = with_addresses(run, request, &resolved.addresses);
        let executor = run.ports.executor.clone();
        let performed = run.guard_unless_paused(executor.perform(request)).await;
        let halt = match performed {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(report)) => {
                let settled = self.after_failed_call(run, action_id.clone(), report);
                match settled.await {
                    // Stopped before it was fenced.
                    Err(halt @ Halt::Reevaluate) if run.config.features.fence_actions => halt,
                    settled => return settled,
                }
            }
            Err(halt) => halt,
        };
        if !matches!(halt, Halt::Reevaluate) {
            return Err(halt);
        }
        self.release_inputs(run).await;
        Ok(self.outcome_after_stop(run, action_id).await)
    }

    /// Determines the outcome after a failed call: only the Executor's journal knows how far the action came. The call may
    /// still be on its way, so the action is fenced first.
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
        let fence = fence_request(run, action_id.clone())?;
        let progress = match self.fence(run, fence).await? {
            Some(progress) => progress,
            None => self.look_up_unfenced(run, action_id, &report).await?,
        };
        let language = run.task().spec.message_language();
        Ok(match progress {
            ActionProgress::NotStarted if is_transient(&report) => {
                cancelled_unsent(&report.message, language)
            }
            ActionProgress::NotStarted => ActionOutcome::new(ActionResult::Failed, report.message),
            progress => outcome_of(progress, language),
        })
    }

    /// Fences an action, so that it cannot start later, and returns how far it came, waiting a limited time for a running
    /// one. `None` if it cannot be fenced: the Executor or the recorded run is of an earlier version, or the Executor
    /// cannot write.
    pub(super) async fn fence(
        &self,
        run: &mut RunContext,
        request: FenceRequest,
    ) -> RunResult<Option<ActionProgress>> {
        if !run.config.features.fence_actions {
            return Ok(None);
        }
        let action_id = request.action_id.clone();
        let fenced = self
            .while_running(run, move |ports| {
                let request = request.clone();
                async move { ports.executor.fence_action(request).await }
            })
            .await?;
        let report = match fenced {
            Ok(progress) => return Ok(Some(progress)),
            Err(report) => report,
        };
        let halt = halt(run.task(), Message::OperationLookUpAction, report.clone());
        if is_transient(&report) || matches!(halt, Halt::OwnershipLost(_)) {
            return Err(halt);
        }
        if report.code != Code::Unimplemented {
            tracing::warn!(task = %run.task().spec.name, action = %action_id, %report, "an action could not be fenced");
        }
        Ok(None)
    }

    /// Looks up an action that cannot be fenced.
    async fn look_up_unfenced(
        &self,
        run: &mut RunContext,
        action_id: ActionId,
        report: &ErrorReport,
    ) -> RunResult<ActionProgress> {
        let progress = self.look_up(run, action_id.clone()).await?;
        if progress != ActionProgress::NotStarted || !is_transient(report) {
            return Ok(progress);
        }
        // The call may still be queued at the Executor. Releasing the inputs cancels it, so that it cannot start later.
        self.release_inputs(run).await;
        let progress = self.look_up(run, action_id).await?;
        // A call that the Executor itself answered is over. Any other may still be delivered, and would be performed.
        let may_arrive = run.config.features.fence_actions && report.reason == reason::TRANSPORT;
        Ok(match progress {
            ActionProgress::NotStarted if may_arrive => ActionProgress::Unknown,
            progress => progress,
        })
    }

    /// Returns the outcome of an action that was stopped halfway, waiting only briefly because the task is ending.
    async fn outcome_after_stop(&self, run: &RunContext, action_id: ActionId) -> ActionOutcome {
        let asked = async {
            loop {
                match self.progress_after_stop(run, &action_id).await {
                    Ok(ActionProgress::Running) => run.recording().sleep(LOOKUP_INTERVAL).await,
                    asked => return asked.unwrap_or(ActionProgress::Unknown),
                }
            }
        };
        let progress = tokio::time::timeout(STOPPED_ACTION_TIMEOUT, asked).await;
        let progress = progress.unwrap_or(ActionProgress::Unknown);
        outcome_of(progress, run.task().spec.message_language())
    }

    /// Fences a stopped action and returns how far it came. Without a fence it may still start.
    async fn progress_after_stop(
        &self,
        run: &RunContext,
        action_id: &ActionId,
    ) -> CallResult<ActionProgress> {
        let executor = &run.ports.executor;
        if run.config.features.fence_actions
            && let Ok(request) = fence_request(run, action_id.clone())
        {
            match executor.fence_action(request).await {
                Err(report) if report.code == Code::Unimplemented => {}
                fenced => return fenced,
            }
        }
        let request = LookUpRequest {
            display: run.display(),
            action_id: action_id.clone(),
        };
        let progress = executor.look_up_action(request).await?;
        Ok(match progress {
            ActionProgress::NotStarted if run.config.features.fence_actions => {
                ActionProgress::Unknown
            }
            progress => progress,
        })
    }

    /// Looks up how far an action came, waiting a limited time for a running one.
    pub(super) async fn look_up(
        &self,
        run: &mut RunContext,
        action_id: ActionId,
    ) -> RunResult<ActionProgress> {
        let request = LookUpRequest {
            display: run.display(),
            action_id,
        };
        let progress = self
            .while_running(run, move |ports| {
                let request = request.clone();
                async move { ports.executor.look_up_action(request).await }
            })
            .await?;
        progress.map_err(|report| halt(run.task(), Message::OperationLookUpAction, report))
    }

    /// Asks for the progress of an action until it is no longer running, for a limited time.
    async fn while_running<F>(
        &self,
        run: &mut RunContext,
        ask: impl Fn(Ports) -> F,
    ) -> RunResult<CallResult<ActionProgress>>
    where
        F: Future<Output = CallResult<ActionProgress>>,
    {
        let began = run.recording().start_timer();
        loop {
            let asked = run.try_call(Message::OperationLookUpAction, &ask).await?;
            if asked != Ok(ActionProgress::Running)
                || run.recording().elapsed(began) > RUNNING_ACTION_TIMEOUT
            {
                return Ok(asked);
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
    let (display, epoch) = leased_display(run)?;
    let owner = &run.task().spec.owner;
    let is_sent = run.config.features.authenticated_creator;
    Ok(PerformRequest {
        display,
        epoch,
        action_id,
        retry_of,
        action,
        named_hosts: named_hosts(run),
        creator: is_sent.then(|| owner.creator.clone()),
        tenant: is_sent.then(|| owner.tenant.clone()),
        addresses: Vec::new(),
    })
}

/// Adds the addresses that the action may open in an address bar, which the Executor judges.
fn with_addresses(
    run: &RunContext,
    request: PerformRequest,
    addresses: &TypedAddresses,
) -> PerformRequest {
    if !run.config.features.sends_addresses {
        return request;
    }
    let hosts = request.named_hosts.into_iter();
    PerformRequest {
        addresses: addresses.opened.clone(),
        named_hosts: hosts
            .chain(addresses.approved_hosts.iter().cloned())
            .collect(),
        ..request
    }
}

/// Returns the private hosts that the user named, with their ports.
fn named_hosts(run: &RunContext) -> Vec<String> {
    if !run.config.features.names_hosts {
        return Vec::new();
    }
    let named = named_private_hosts(run.task().user_texts());
    if run.config.features.names_ports {
        return named.into_iter().collect();
    }
    let hosts = named.iter().filter_map(|name| name.rsplit_once(':'));
    let hosts: BTreeSet<&str> = hosts.map(|(host, _)| host).collect();
    hosts.into_iter().map(str::to_owned).collect()
}

/// Returns the request to fence an action of this run.
fn fence_request(run: &RunContext, action_id: ActionId) -> RunResult<FenceRequest> {
    let (display, epoch) = leased_display(run)?;
    Ok(FenceRequest {
        display,
        epoch,
        action_id,
        journal_checkpoint: run.task().journal_checkpoint.clone(),
        last_action_id: last_action(run),
    })
}

/// Returns the last action that the Executor's journal is known to have.
pub(super) fn last_action(run: &RunContext) -> Option<ActionId> {
    let is_sent = run.config.features.fences_name_actions;
    run.task().journal_action.clone().filter(|_| is_sent)
}

pub(super) fn leased_display(run: &RunContext) -> RunResult<(DisplayId, DesktopEpoch)> {
    let Some((_, epoch)) = run.task().desktop.clone() else {
        return Err(Halt::OwnershipLost("the desktop was released".to_owned()));
    };
    let Some(display) = run.display() else {
        return Err(Halt::OwnershipLost("the desktop has no display".to_owned()));
    };
    Ok((display, epoch))
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
        strategy: RetryStrategy::Unchanged,
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
