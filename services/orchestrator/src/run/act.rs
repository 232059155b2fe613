//! Performing one action of a decision: resolve its target, see that it may be done ([`super::ready`]), write the intent, act,
//! write the outcome, judge.

use motorium_proto::domain::action::{Action, ActionKind, Target};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, NOTHING_SENT};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{ActionProgress, PerformRequest, ResolveRequest, Sought};
use tokio::time::{Duration, Instant};

use super::permission::Intended;
use super::ready::Ready;
use super::settle::Deed;
use super::{Flow, Halt, LET_GO, Runner, View, halt, is_transient};
use crate::task::event::{ActionIntended, Event};
use crate::task::retry::{self, MAX_RETRIES, Way};
use crate::task::{ActionRecord, Lifecycle, limits, machine};

/// How long an action whose call broke off may go on before its outcome counts as unknown.
const RUNNING_PATIENCE: Duration = Duration::from_secs(5);
/// The same, when the task is ending.
const STOP_PATIENCE: Duration = Duration::from_millis(500);
/// Pause before the Executor is asked again.
const LOOK_UP_PAUSE: Duration = Duration::from_millis(20);

/// So often an action is judged anew because the screen has changed under it meanwhile.
const MOST_ROUNDS: u32 = 3;

/// An action whose targets are points.
pub(super) struct Resolved {
    pub(super) action: Action<CapturePoint>,
    /// The box of the last target.
    pub(super) target: Option<CaptureRect>,
}

/// What is to be tried now.
pub(super) struct Attempt {
    pub(super) id: ActionId,
    /// 0 for the first one.
    number: u32,
    pub(super) planned: PlannedAction,
    /// Nothing follows it in its step.
    is_last: bool,
    /// The attempt before it.
    pub(super) before: Option<ActionRecord>,
}

impl Resolved {
    /// The action of an earlier attempt, at this point.
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

impl Attempt {
    /// It was performed before, in vain.
    pub(super) fn is_repeated(&self) -> bool {
        self.before.as_ref().is_some_and(ActionRecord::performed)
    }

    /// What the rules are asked about: the action at this place of its step, with its targets found.
    pub(super) fn intended<'a>(&'a self, index: usize, resolved: &'a Resolved) -> Intended<'a> {
        Intended {
            index,
            planned: &self.planned,
            resolved,
            is_repeated: self.is_repeated(),
        }
    }
}

/// Whether something may come of an action, and so the rules look at what is where it is done.
pub(super) fn meets_the_screen(kind: ActionKind) -> bool {
    use ActionKind::{Move, Scroll, SetClipboard, Wait};
    !matches!(kind, Move | Scroll | SetClipboard | Wait)
}

impl Runner {
    pub(super) async fn act(&mut self, index: usize) -> Flow {
        if self.view.is_none() && self.may_have_changed_since(index) {
            let message = "nobody has watched the screen since the last attempt had no effect; it is not repeated";
            return self
                .record(vec![Event::TargetMissed {
                    message: message.to_owned(),
                }])
                .await;
        }
        if self.view.is_none() {
            // The step was begun by a run that has gone away: what it decided is still to be done, on the screen
            // as it is now.
            let observation = self.look(false).await?;
            self.view = Some(View::of(observation));
        }
        let Some(attempt) = self.next_attempt(index) else {
            return Ok(());
        };
        let mut rounds = 0;
        loop {
            let Some(resolved) = self.resolved(&attempt).await? else {
                return Ok(());
            };
            let ready = self.ready(index, &attempt, &resolved).await?;
            rounds += 1;
            match ready {
                Ready::Changed if rounds < MOST_ROUNDS => {}
                Ready::Changed if self.is_approved(index) => {
                    let message =
                        "what a person agreed to does not come to rest on the screen".to_owned();
                    return self.record(vec![Event::TargetMissed { message }]).await;
                }
                Ready::Changed => return self.attempt_as_seen_last(index, attempt).await,
                Ready::Yes => return self.attempt(attempt, resolved).await,
                Ready::No => return Ok(()),
            }
        }
    }

    /// Tries what never comes to rest: it is judged by what was seen of it last.
    async fn attempt_as_seen_last(&mut self, index: usize, attempt: Attempt) -> Flow {
        let Some(resolved) = self.resolved(&attempt).await? else {
            return Ok(());
        };
        if self.is_permitted(index, &attempt, &resolved).await? {
            self.attempt(attempt, resolved).await?;
        }
        Ok(())
    }

    /// Whether an attempt was made that is to be repeated: it may only be while nothing has changed.
    fn may_have_changed_since(&self, index: usize) -> bool {
        let attempt = self.next_attempt(index);
        let before = attempt.and_then(|attempt| attempt.before);
        before.is_some_and(|record| record.performed())
    }

    fn next_attempt(&self, index: usize) -> Option<Attempt> {
        let step = self.task.open_step()?;
        let planned = step.planned();
        let before = step
            .actions
            .get(index)
            .filter(|action| action.retry_due.is_some());
        let number = before.map_or(0, |record| record.retries + 1);
        Some(Attempt {
            id: machine::action_id(&self.task.spec.name, step.number, index, number),
            number,
            planned: planned.get(index)?.clone(),
            is_last: index + 1 == planned.len(),
            before: before.cloned(),
        })
    }

    /// Writes the intent, acts, writes the outcome, and judges.
    async fn attempt(&mut self, attempt: Attempt, resolved: Resolved) -> Flow {
        let began = Instant::now();
        let Attempt { id, number, .. } = attempt;
        let retry_of = attempt.before.map(|record| record.action_id);
        self.intend(&id, retry_of.clone(), attempt.planned, &resolved)
            .await?;
        if !self.may_act() {
            return self.not_begun(id).await;
        }
        let outcome = self
            .perform(id.clone(), retry_of, resolved.action.clone())
            .await?;
        let performed = outcome.result == ActionResult::Performed;
        let again = outcome.never_happened() && number < MAX_RETRIES && self.nobody_stops();
        let outcome = Event::ActionPerformed {
            action_id: id.clone(),
            outcome,
        };
        let due = again.then(|| due_again(id.clone()));
        self.record([outcome].into_iter().chain(due).collect())
            .await?;
        self.timed("act", began);
        let mut settled = Ok(());
        if performed && machine::has_effect(&resolved.action) {
            let deed = Deed {
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

    async fn intend(
        &mut self,
        action_id: &ActionId,
        retry_of: Option<ActionId>,
        planned: PlannedAction,
        resolved: &Resolved,
    ) -> Flow {
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

    /// Whether nobody has said stop while the intent was being written, nor had the desktop meanwhile.
    pub(super) fn may_act(&self) -> bool {
        let is_still_due = self
            .task
            .open_step()
            .is_some_and(|step| step.missed.is_none());
        is_still_due
            && self.task.lifecycle == Lifecycle::Running
            && self.task.cancel_requested.is_none()
    }

    /// Whether the task goes on after what is being done now.
    fn nobody_stops(&self) -> bool {
        let left = limits::remaining(&self.task, self.now()).time;
        self.stop.reason().is_none() && left.is_none_or(|left| !left.is_zero())
    }

    /// What was intended is not done now; if the task goes on, it is due again.
    async fn not_begun(&mut self, action_id: ActionId) -> Flow {
        let outcome = outcome_of(ActionProgress::NotStarted);
        self.record(vec![
            Event::ActionPerformed {
                action_id: action_id.clone(),
                outcome,
            },
            due_again(action_id),
        ])
        .await
    }

    /// Performs an action once. Whatever becomes of it is an outcome, except that the task itself has to be left.
    async fn perform(
        &mut self,
        action_id: ActionId,
        retry_of: Option<ActionId>,
        action: Action<CapturePoint>,
    ) -> Flow<ActionOutcome> {
        let request = self.perform_request(action_id.clone(), retry_of, action)?;
        let executor = self.ports.executor.clone();
        let performed = tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.tape.stopped();
                Err(Halt::LookAgain)
            }
            performed = self.guard(executor.perform(request)) => performed,
        };
        match performed {
            Ok(Ok(outcome)) => Ok(outcome),
            Ok(Err(report)) => self.after_failed_call(action_id, report).await,
            Err(Halt::LookAgain) => {
                self.let_go().await;
                Ok(self.after_stop(action_id).await)
            }
            Err(halt) => Err(halt),
        }
    }

    pub(super) fn perform_request(
        &self,
        action_id: ActionId,
        retry_of: Option<ActionId>,
        action: Action<CapturePoint>,
    ) -> Flow<PerformRequest> {
        let Some((_, epoch)) = self.task.desktop.clone() else {
            return Err(Halt::Lost("the desktop was given back".to_owned()));
        };
        let Some(display) = self.display() else {
            return Err(Halt::Lost("the desktop has no display".to_owned()));
        };
        Ok(PerformRequest {
            display,
            epoch,
            action_id,
            retry_of,
            action,
        })
    }

    /// The call did not answer for the action: only the Executor's journal knows how far it came.
    async fn after_failed_call(
        &mut self,
        action_id: ActionId,
        report: ErrorReport,
    ) -> Flow<ActionOutcome> {
        if let halt @ Halt::Lost(_) = halt("performing an action", report.clone()) {
            return Err(halt);
        }
        let progress = self.look_up(action_id.clone()).await?;
        if progress != ActionProgress::NotStarted {
            return Ok(outcome_of(progress));
        }
        if !is_transient(&report) {
            return Ok(ActionOutcome::new(ActionResult::Failed, report.message));
        }
        // The call may still wait for its turn there; it must not be begun after this.
        self.let_go().await;
        let progress = self.look_up(action_id).await?;
        Ok(match progress {
            ActionProgress::NotStarted => nothing_sent(&report.message),
            progress => outcome_of(progress),
        })
    }

    /// What became of an action that was stopped in the middle. The task is ending, so nobody waits for long.
    async fn after_stop(&self, action_id: ActionId) -> ActionOutcome {
        let asked = async {
            loop {
                let id = action_id.clone();
                let asked = self.ports.executor.look_up_action(self.display(), id).await;
                match asked {
                    Ok(ActionProgress::Running) => self.tape.pause(LOOK_UP_PAUSE).await,
                    asked => return asked.unwrap_or(ActionProgress::Unknown),
                }
            }
        };
        let progress = tokio::time::timeout(STOP_PATIENCE, asked).await;
        outcome_of(progress.unwrap_or(ActionProgress::Unknown))
    }

    /// How far an action came. One that is still being performed is waited for, for a while.
    pub(super) async fn look_up(&mut self, action_id: ActionId) -> Flow<ActionProgress> {
        let began = self.tape.begin();
        loop {
            let (display, id) = (self.display(), action_id.clone());
            let progress = self
                .ask("asking how far an action came", move |ports| {
                    let (display, id) = (display.clone(), id.clone());
                    async move { ports.executor.look_up_action(display, id).await }
                })
                .await?;
            if progress != ActionProgress::Running || self.since(began) > RUNNING_PATIENCE {
                return Ok(progress);
            }
            self.guard(self.tape.pause(LOOK_UP_PAUSE)).await?;
        }
    }

    /// Makes sure that nothing is being typed and nothing stays pressed.
    pub(super) async fn let_go(&self) {
        if self.task.desktop.is_none() {
            return;
        }
        let released = self.ports.executor.release_all(self.display());
        let problem = match tokio::time::timeout(LET_GO, released).await {
            Ok(Ok(_)) => return,
            Ok(Err(report)) => report.message,
            Err(_) => "no answer in time".to_owned(),
        };
        tracing::warn!(task = %self.task.spec.name, problem, "keys and buttons could not be released");
    }

    /// Points for the targets of an action, or what could not be found.
    pub(super) async fn resolve(
        &mut self,
        planned: &PlannedAction,
    ) -> Flow<Result<Resolved, String>> {
        let is_point = |target: &Target| matches!(target, Target::Point(_));
        // The rules judge what an action meets, also where it names no element: what a click before has opened.
        if meets_the_screen(planned.action.kind()) || !planned.action.targets().all(is_point) {
            self.refresh_stale_view().await?;
        }
        // What lies at a point matters for a click; the way of a drag has many points and no box.
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
        Ok(Ok(Resolved {
            action,
            target: target_box,
        }))
    }

    /// An earlier action of this step changed the screen: what it shows now is what a target means.
    pub(super) async fn refresh_stale_view(&mut self) -> Flow {
        if !self.view.as_ref().is_some_and(|view| view.stale) {
            return Ok(());
        }
        let observation = self.look(false).await?;
        if let Some(view) = &mut self.view {
            view.latest = observation.frame.clone();
            view.observation = observation;
            view.stale = false;
        }
        Ok(())
    }

    async fn locate(
        &mut self,
        target: Target,
    ) -> Flow<Result<(CapturePoint, Option<CaptureRect>), String>> {
        let Some(view) = &self.view else {
            return Ok(Err("the screen has not been looked at".to_owned()));
        };
        let request = ResolveRequest {
            target: Sought::Target(target),
            frame: view.observation.frame.clone(),
            scene: view.observation.scene.clone(),
        };
        let resolved = self
            .ask_for_answer("finding a target", move |ports| {
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

/// What an answer of the Executor's journal says of an action that nobody answered for.
pub(super) fn outcome_of(progress: ActionProgress) -> ActionOutcome {
    match progress {
        ActionProgress::Finished(outcome) => outcome,
        ActionProgress::NotStarted => nothing_sent("it was never begun"),
        ActionProgress::Running | ActionProgress::Unknown => ActionOutcome::new(
            ActionResult::Unknown,
            "it was begun, and whether it arrived is not known; it is not repeated",
        ),
    }
}

fn nothing_sent(why: &str) -> ActionOutcome {
    ActionOutcome::new(ActionResult::Cancelled, format!("{why}; {NOTHING_SENT}"))
}

/// Says that an action of which nothing was sent is still to be done, under an id of its own.
pub(super) fn due_again(action_id: ActionId) -> Event {
    Event::ActionRetried {
        action_id,
        attempts: 0,
        reason: retry::reason(Way::AsBefore, 0),
        way: Way::AsBefore,
    }
}
