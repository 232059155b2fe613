//! Performs one action of a decision: resolves its target, checks that it may be performed ([`super::preflight`]),
//! stores the intent, acts, stores the outcome, and judges the effect.

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{Action, ActionKind, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, NOTHING_SENT};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    ActionProgress, LookUpRequest, PerformRequest, ResolveRequest, TargetQuery,
};
use tokio::time::{Duration, Instant};

use super::permission::IntendedAction;
use super::preflight::Preflight;
use super::settle::PerformedAction;
use super::{Halt, INPUT_RELEASE_TIMEOUT, RunResult, Runner, ScreenView, halt, is_transient};
use motorium_task::event::{ActionIntended, Event};
use motorium_task::retry::{self, MAX_RETRIES, RetryStrategy};
use motorium_task::{ActionRecord, Lifecycle, limits, machine};

/// Maximum time to wait for a running action whose call broke off; afterwards its outcome counts as unknown.
// Longer than typing a usual text takes, so that most actions can report their outcome.
const RUNNING_ACTION_TIMEOUT: Duration = Duration::from_secs(5);
/// As [`RUNNING_ACTION_TIMEOUT`], when the task is ending.
// The user waits for the end, and a stopped action reports within a few milliseconds.
const STOPPED_ACTION_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval between lookups of a running action.
const LOOKUP_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum number of times an action is judged again because the screen changed during preflight.
// A screen that still changes after three rounds is most likely animated.
const MAX_PREFLIGHT_ROUNDS: u32 = 3;

/// An action whose targets are resolved to points.
pub(super) struct ResolvedAction {
    pub(super) action: Action<CapturePoint>,
    /// Bounding box of the last target.
    pub(super) target: Option<CaptureRect>,
}

/// One attempt at an action.
pub(super) struct ActionAttempt {
    pub(super) id: ActionId,
    /// Attempt number, starting at 0.
    number: u32,
    pub(super) planned: PlannedAction,
    /// True for the last action of its step.
    is_last: bool,
    /// The previous attempt.
    pub(super) previous: Option<ActionRecord>,
}

impl ResolvedAction {
    /// Returns the action of an earlier attempt at a new point.
    pub(super) fn at(
        record: &ActionRecord,
        point: CapturePoint,
        target: Option<CaptureRect>,
    ) -> Self {
        let Ok(action) = record
            .action
            .clone()
            .try_map(|_| Ok::<_, std::convert::Infallible>(point));
        Self { action, target }
    }
}

impl ActionAttempt {
    /// Returns whether an earlier attempt was performed without effect.
    pub(super) fn is_repeated(&self) -> bool {
        self.previous.as_ref().is_some_and(ActionRecord::performed)
    }

    /// Returns the action, with resolved targets, for the policy to judge.
    pub(super) fn intended<'a>(
        &'a self,
        index: usize,
        resolved: &'a ResolvedAction,
    ) -> IntendedAction<'a> {
        IntendedAction {
            index,
            planned: &self.planned,
            resolved,
            is_retry: self.is_repeated(),
        }
    }
}

/// Returns whether an action depends on what is on the screen, so that the policy has to judge its target.
pub(super) fn depends_on_screen(kind: ActionKind) -> bool {
    use ActionKind::{Move, Scroll, SetClipboard, Wait};
    !matches!(kind, Move | Scroll | SetClipboard | Wait)
}

impl Runner {
    pub(super) async fn act(&mut self, index: usize) -> RunResult {
        if self.view.is_none() && self.is_retry_of_performed(index) {
            let message = self.task.text(Message::RetryUnobserved);
            return self
                .record(vec![Event::TargetNotResolved { message }])
                .await;
        }
        if self.view.is_none() {
            // The step was started by another run. Its decision is carried out on the current screen.
            let observation = self.observe_screen(false).await?;
            self.view = Some(ScreenView::of(observation));
        }
        let Some(attempt) = self.next_attempt(index) else {
            return Ok(());
        };
        let mut rounds = 0;
        loop {
            let Some(resolved) = self.resolved(&attempt).await? else {
                return Ok(());
            };
            let ready = self.preflight(index, &attempt, &resolved).await?;
            rounds += 1;
            match ready {
                Preflight::ScreenChanged if rounds < MAX_PREFLIGHT_ROUNDS => {}
                Preflight::ScreenChanged if self.is_approved(index) => {
                    let message = self.task.text(Message::ApprovalTargetUnsteady);
                    return self
                        .record(vec![Event::TargetNotResolved { message }])
                        .await;
                }
                Preflight::ScreenChanged => return self.attempt_on_last_view(index, attempt).await,
                Preflight::Passed => return self.attempt(attempt, resolved).await,
                Preflight::Blocked => return Ok(()),
            }
        }
    }

    /// Attempts an action on a screen that keeps changing, judged on the last view.
    async fn attempt_on_last_view(&mut self, index: usize, attempt: ActionAttempt) -> RunResult {
        let Some(resolved) = self.resolved(&attempt).await? else {
            return Ok(());
        };
        if self.is_permitted(index, &attempt, &resolved).await? {
            self.attempt(attempt, resolved).await?;
        }
        Ok(())
    }

    /// Returns whether the next attempt repeats a performed one, which is allowed only while nothing has changed.
    fn is_retry_of_performed(&self, index: usize) -> bool {
        let attempt = self.next_attempt(index);
        let before = attempt.and_then(|attempt| attempt.previous);
        before.is_some_and(|record| record.performed())
    }

    fn next_attempt(&self, index: usize) -> Option<ActionAttempt> {
        let step = self.task.open_step()?;
        let planned = step.planned();
        let before = step
            .actions
            .get(index)
            .filter(|action| action.retry_due.is_some());
        let number = before.map_or(0, |record| record.retries + 1);
        Some(ActionAttempt {
            id: machine::action_id(&self.task.spec.name, step.number, index, number),
            number,
            planned: planned.get(index)?.clone(),
            is_last: index + 1 == planned.len(),
            previous: before.cloned(),
        })
    }

    /// Stores the intent, acts, stores the outcome, and judges the effect.
    async fn attempt(&mut self, attempt: ActionAttempt, resolved: ResolvedAction) -> RunResult {
        let began = Instant::now();
        let ActionAttempt { id, number, .. } = attempt;
        let retry_of = attempt.previous.map(|record| record.action_id);
        self.record_intent(&id, retry_of.clone(), attempt.planned, &resolved)
            .await?;
        if !self.may_act() {
            return self.record_not_started(id).await;
        }
        let outcome = self
            .perform(id.clone(), retry_of, resolved.action.clone())
            .await?;
        let performed = outcome.result == ActionResult::Performed;
        let again = outcome.sent_nothing() && number < MAX_RETRIES && self.may_continue();
        let outcome = Event::ActionPerformed {
            action_id: id.clone(),
            outcome,
        };
        let due = again.then(|| retry_due(id.clone(), self.task.spec.message_language()));
        self.record([outcome].into_iter().chain(due).collect())
            .await?;
        self.record_timing("act", began);
        let mut settled = Ok(());
        if performed && machine::expects_effect(&resolved.action) {
            let deed = PerformedAction {
                id: &id,
                action: &resolved.action,
                target: resolved.target,
                is_last: attempt.is_last,
            };
            settled = self.settle(deed).await;
        }
        self.after_action(&id).await;
        settled
    }

    async fn record_intent(
        &mut self,
        action_id: &ActionId,
        retry_of: Option<ActionId>,
        planned: PlannedAction,
        resolved: &ResolvedAction,
    ) -> RunResult {
        let intended = ActionIntended {
            action_id: action_id.clone(),
            retry_of,
            planned,
            action: resolved.action.clone(),
            target: resolved.target,
        };
        self.record(vec![Event::ActionIntended(Box::new(intended))])
            .await
    }

    /// Returns whether the action may still be performed: the task was not stopped, paused or taken over while the
    /// intent was stored.
    pub(super) fn may_act(&self) -> bool {
        let is_still_due = self
            .task
            .open_step()
            .is_some_and(|step| step.abort_reason.is_none());
        is_still_due
            && self.task.lifecycle == Lifecycle::Running
            && self.task.cancel_requested.is_none()
    }

    /// Returns whether the task continues after the current action.
    fn may_continue(&self) -> bool {
        let left = limits::remaining(&self.task, self.now()).time;
        self.stop.reason().is_none() && left.is_none_or(|left| !left.is_zero())
    }

    /// Records that an intended action was not started. It is due again if the task continues.
    async fn record_not_started(&mut self, action_id: ActionId) -> RunResult {
        let outcome = outcome_of(ActionProgress::NotStarted);
        self.record(vec![
            Event::ActionPerformed {
                action_id: action_id.clone(),
                outcome,
            },
            retry_due(action_id, self.task.spec.message_language()),
        ])
        .await
    }

    /// Performs an action once. Failures are outcomes, unless the task itself has to be released.
    async fn perform(
        &mut self,
        action_id: ActionId,
        retry_of: Option<ActionId>,
        action: Action<CapturePoint>,
    ) -> RunResult<ActionOutcome> {
        let request = self.perform_request(action_id.clone(), retry_of, action)?;
        let executor = self.ports.executor.clone();
        let performed = tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.recording.stopped();
                Err(Halt::Reevaluate)
            }
            performed = self.guard(executor.perform(request)) => performed,
        };
        match performed {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(report)) => self.after_failed_call(action_id, report).await,
            Err(Halt::Reevaluate) => {
                self.release_inputs().await;
                Ok(self.outcome_after_stop(action_id).await)
            }
            Err(halt) => Err(halt),
        }
    }

    pub(super) fn perform_request(
        &self,
        action_id: ActionId,
        retry_of: Option<ActionId>,
        action: Action<CapturePoint>,
    ) -> RunResult<PerformRequest> {
        let Some((_, epoch)) = self.task.desktop.clone() else {
            return Err(Halt::OwnershipLost("the desktop was released".to_owned()));
        };
        let Some(display) = self.display() else {
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

    /// Determines the outcome after a failed call: only the Executor's journal knows how far the action came.
    async fn after_failed_call(
        &mut self,
        action_id: ActionId,
        report: ErrorReport,
    ) -> RunResult<ActionOutcome> {
        if let halt @ Halt::OwnershipLost(_) = halt("performing an action", report.clone()) {
            return Err(halt);
        }
        let progress = self.look_up(action_id.clone()).await?;
        if progress != ActionProgress::NotStarted {
            return Ok(outcome_of(progress));
        }
        if !is_transient(&report) {
            return Ok(ActionOutcome::new(ActionResult::Failed, report.message));
        }
        // The call may still be queued at the Executor. Releasing the inputs cancels it, so that it cannot start later.
        self.release_inputs().await;
        let progress = self.look_up(action_id).await?;
        Ok(match progress {
            ActionProgress::NotStarted => nothing_sent(&report.message),
            progress => outcome_of(progress),
        })
    }

    /// Returns the outcome of an action that was stopped halfway, waiting only briefly because the task is ending.
    async fn outcome_after_stop(&self, action_id: ActionId) -> ActionOutcome {
        let request = LookUpRequest {
            display: self.display(),
            action_id,
        };
        let asked = async {
            loop {
                let asked = self.ports.executor.look_up_action(request.clone()).await;
                match asked {
                    Ok(ActionProgress::Running) => self.recording.sleep(LOOKUP_INTERVAL).await,
                    asked => return asked.unwrap_or(ActionProgress::Unknown),
                }
            }
        };
        let progress = tokio::time::timeout(STOPPED_ACTION_TIMEOUT, asked).await;
        outcome_of(progress.unwrap_or(ActionProgress::Unknown))
    }

    /// Looks up how far an action came, waiting a limited time for a running one.
    pub(super) async fn look_up(&mut self, action_id: ActionId) -> RunResult<ActionProgress> {
        let began = self.recording.start_timer();
        loop {
            let request = LookUpRequest {
                display: self.display(),
                action_id: action_id.clone(),
            };
            let progress = self
                .call("looking up an action", move |ports| {
                    let request = request.clone();
                    async move { ports.executor.look_up_action(request).await }
                })
                .await?;
            if progress != ActionProgress::Running
                || self.elapsed_since(began) > RUNNING_ACTION_TIMEOUT
            {
                return Ok(progress);
            }
            self.guard(self.recording.sleep(LOOKUP_INTERVAL)).await?;
        }
    }

    /// Stops typing and releases all keys and buttons.
    pub(super) async fn release_inputs(&self) {
        if self.task.desktop.is_none() {
            return;
        }
        let released = self.ports.executor.release_all(self.display());
        let problem = match tokio::time::timeout(INPUT_RELEASE_TIMEOUT, released).await {
            Ok(Ok(_)) => return,
            Ok(Err(report)) => report.message,
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(task = %self.task.spec.name, problem, "releasing keys and buttons failed");
    }

    /// Resolves the targets of an action to points, or returns why that is impossible.
    pub(super) async fn resolve(
        &mut self,
        planned: &PlannedAction,
    ) -> RunResult<Result<ResolvedAction, String>> {
        let is_point = |target: &Target| matches!(target, Target::Point(_));
        // The policy judges the element under the action, even if the action names none: an earlier click may have
        // opened something.
        if depends_on_screen(planned.action.kind()) || !planned.action.targets().all(is_point) {
            self.refresh_stale_view().await?;
        }
        // A click needs the element at its point; a drag's path has many points and no element.
        let at_rest = planned.action.kind() == ActionKind::Click
            && self.view.as_ref().is_some_and(|view| !view.stale);
        let mut points = Vec::new();
        let mut target_box = None;
        for target in planned.action.targets() {
            if let Target::Point(point) = target
                && !at_rest
            {
                points.push(*point);
                continue;
            }
            match self.locate(target.clone()).await? {
                Ok((point, bounds)) => {
                    points.push(point);
                    target_box = bounds;
                }
                Err(message) => return Ok(Err(message)),
            }
        }
        let mut points = points.into_iter();
        let with_points = planned.action.clone().try_map(|_| points.next().ok_or(()));
        let action = with_points.expect("one point was found for each target");
        Ok(Ok(ResolvedAction {
            action,
            target: target_box,
        }))
    }

    /// Observes the screen again if an earlier action of this step changed it, because targets refer to the current
    /// screen.
    pub(super) async fn refresh_stale_view(&mut self) -> RunResult {
        if !self.view.as_ref().is_some_and(|view| view.stale) {
            return Ok(());
        }
        let observation = self.observe_screen(false).await?;
        if let Some(view) = &mut self.view {
            view.latest_frame = observation.frame.clone();
            view.observation = observation;
            view.stale = false;
        }
        Ok(())
    }

    async fn locate(
        &mut self,
        target: Target,
    ) -> RunResult<Result<(CapturePoint, Option<CaptureRect>), String>> {
        let Some(view) = &self.view else {
            return Ok(Err(self.task.text(Message::ScreenNotObserved)));
        };
        let request = ResolveRequest {
            target: TargetQuery::Target(target),
            frame: view.observation.frame.clone(),
            scene: view.observation.scene.clone(),
        };
        let resolved = self
            .try_call("finding a target", move |ports| {
                let request = request.clone();
                async move { ports.planner.resolve_target(request).await }
            })
            .await?;
        match resolved {
            Ok(resolved) => Ok(Ok((resolved.point, Some(resolved.bounds)))),
            Err(report) if is_transient(&report) => Err(halt("finding a target", report)),
            Err(report) => Ok(Err(report.message)),
        }
    }
}

/// Converts the Executor's journal entry into the outcome of an action.
pub(super) fn outcome_of(progress: ActionProgress) -> ActionOutcome {
    match progress {
        ActionProgress::Finished(outcome) => outcome,
        ActionProgress::NotStarted => nothing_sent("the action was not started"),
        ActionProgress::Running | ActionProgress::Unknown => ActionOutcome::new(
            ActionResult::Unknown,
            "the action was started, and it is unknown whether it took effect; it is not repeated",
        ),
    }
}

fn nothing_sent(why: &str) -> ActionOutcome {
    ActionOutcome::new(ActionResult::Cancelled, format!("{why}; {NOTHING_SENT}"))
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
