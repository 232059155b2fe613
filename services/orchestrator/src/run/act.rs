//! Carries one action of a decision through its stages: resolves its target, checks that it may be performed
//! ([`super::preflight`]), stores the intent, acts, stores the outcome, and judges the effect.

use motorium_messages::Message;
use motorium_proto::domain::effect::{ActionResult, Verdict};
use motorium_proto::domain::id::ActionId;
use tokio::time::Instant;

use super::actuator::{may_act, retry_due};
use super::attempt::{ActionAttempt, AttemptStage, ResolvedAction};
use super::gate::{ActionPermission, PointerRest};
use super::preflight::Preflight;
use super::{RunResult, Runner, hooks, input_marks, readback};
use motorium_task::event::Event;
use motorium_task::{Task, machine};

/// Maximum number of times an action is judged again because the screen changed during preflight.
// A screen that still changes after three rounds is most likely animated.
const MAX_PREFLIGHT_ROUNDS: u32 = 3;

/// Maximum number of times that an action of which nothing was sent is tried again.
// An Executor that is restarted is back within three attempts; after that the planner decides.
const MAX_UNSENT_RETRIES: u32 = 3;

impl Runner {
    pub(super) async fn act(&mut self, index: usize) -> RunResult {
        if self.screen.view().is_none() && is_retry_of_performed(self.run.task(), index) {
            let message = self.run.task().text(Message::RetryUnobserved);
            return self.run.refuse(message).await;
        }
        self.screen.ensure_observed(&mut self.run, false).await?;
        let Some(mut attempt) = ActionAttempt::next(self.run.task(), index) else {
            return Ok(());
        };
        let mut rounds = 0;
        loop {
            let is_last_round = rounds == MAX_PREFLIGHT_ROUNDS;
            attempt.stage = match std::mem::replace(&mut attempt.stage, AttemptStage::Ended) {
                AttemptStage::Decided if is_last_round && self.run.task().is_approved(index) => {
                    let message = self.run.task().text(Message::ApprovalTargetUnsteady);
                    self.run.refuse(message).await?;
                    AttemptStage::Ended
                }
                AttemptStage::Decided => self.preflight().resolve_targets(&attempt).await?,
                // The screen keeps changing, so the action is judged on the last view.
                AttemptStage::Resolved(resolved) if is_last_round => {
                    self.permit(&attempt, resolved).await?
                }
                AttemptStage::Resolved(resolved) => {
                    rounds += 1;
                    self.preflight().check(&attempt, resolved).await?
                }
                AttemptStage::Permitted(resolved) => self.perform(&attempt, resolved).await?,
                AttemptStage::Performed(resolved) => self.judge_effect(&attempt, &resolved).await?,
                AttemptStage::Ended => return Ok(()),
            };
        }
    }

    fn preflight(&mut self) -> Preflight<'_> {
        Preflight {
            run: &mut self.run,
            screen: &mut self.screen,
            gate: &mut self.gate,
            actuator: &mut self.actuator,
            judge: &mut self.judge,
        }
    }

    /// Asks only the policy and the approver.
    async fn permit(
        &mut self,
        attempt: &ActionAttempt,
        resolved: ResolvedAction,
    ) -> RunResult<AttemptStage> {
        let (run, screen) = (&mut self.run, &mut self.screen);
        let permission = self
            .gate
            .permission(run, screen, attempt, &resolved, PointerRest::Done)
            .await?;
        Ok(match permission {
            // The target was found anew after the last check of the pointer, perhaps elsewhere, or it became another one in each round.
            ActionPermission::Granted(grant) if grant.verify_pointer || grant.is_risky => {
                let intent = &attempt.planned.intent;
                let message = run.task().text(Message::PointerTargetUnsteady { intent });
                run.refuse(message).await?;
                AttemptStage::Ended
            }
            ActionPermission::Granted(grant) => {
                AttemptStage::Permitted(resolved.permitted(grant.is_risky, grant.addresses))
            }
            ActionPermission::Refused | ActionPermission::ApprovalDue => AttemptStage::Ended,
        })
    }

    /// Stores the intent, acts, and stores the outcome.
    async fn perform(
        &mut self,
        attempt: &ActionAttempt,
        resolved: ResolvedAction,
    ) -> RunResult<AttemptStage> {
        let began = Instant::now();
        let (run, actuator) = (&mut self.run, &self.actuator);
        actuator.record_intent(run, attempt, &resolved).await?;
        if !may_act(run.task()) {
            actuator.record_not_started(run, attempt.id.clone()).await?;
            return Ok(AttemptStage::Ended);
        }
        input_marks::show(run, &resolved);
        let outcome = actuator.perform(run, attempt, &resolved).await?;
        let performed = outcome.result == ActionResult::Performed;
        let again = outcome.sent_nothing
            && attempt.number < MAX_UNSENT_RETRIES
            && run.interrupts.may_continue(run.task());
        let outcome = Event::ActionPerformed {
            action_id: attempt.id.clone(),
            outcome,
        };
        let due = again.then(|| retry_due(attempt.id.clone(), run.task().spec.message_language()));
        run.record([outcome].into_iter().chain(due).collect())
            .await?;
        run.record_timing("act", began);
        if performed && machine::expects_effect(&resolved.action) {
            return Ok(AttemptStage::Performed(resolved));
        }
        hooks::after_action(run, &attempt.id).await;
        Ok(AttemptStage::Ended)
    }

    async fn judge_effect(
        &mut self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult<AttemptStage> {
        let (run, screen, actuator) = (&mut self.run, &mut self.screen, &mut self.actuator);
        let judged = self
            .judge
            .settle(run, screen, actuator, attempt, resolved)
            .await;
        hooks::after_action(&mut self.run, &attempt.id).await;
        judged?;
        if !attempt.is_last
            && let Some(explanation) = missed_target(self.run.task())
        {
            // What follows may be typed into whatever has the focus instead.
            self.run.refuse(explanation).await?;
        } else if !attempt.is_last {
            self.read_back_within_step(&attempt.id).await?;
        }
        Ok(AttemptStage::Ended)
    }

    /// Reads the text of an action again before another one of its step follows, which may send it. If the field shows another text,
    /// the rest of the step is dropped, and the planner is told.
    async fn read_back_within_step(&mut self, action: &ActionId) -> RunResult {
        let record = self
            .run
            .task()
            .open_step()
            .and_then(|step| step.actions.last());
        let is_text = record.is_some_and(|record| record.action.entered_text().is_some());
        if !is_text || !self.run.config.features.read_each_text {
            return Ok(());
        }
        self.screen.refresh_if_stale(&mut self.run).await?;
        let before = self.screen.acted_on(action);
        let before = before.map(|acted| &acted.observation);
        let Some(seen) = self.screen.observation().cloned() else {
            return Ok(());
        };
        let found = readback::differing_text(&mut self.run, before, &seen).await?;
        let Some((action_id, effect)) = found else {
            self.screen.note_held_text(self.run.task(), &seen);
            return Ok(());
        };
        let explanation = effect.explanation.clone();
        self.run.defer(Event::EffectJudged {
            action_id,
            effect: Box::new(effect),
            screenshot: None,
        });
        self.run.refuse(explanation).await
    }
}

/// Returns why it is not known whether the last click hit its target, if that is so.
fn missed_target(task: &Task) -> Option<String> {
    let effect = task.open_step()?.actions.last()?.effect.as_ref()?;
    (effect.verdict == Verdict::TargetMoved).then(|| effect.explanation.clone())
}

/// Returns whether the next attempt repeats a performed one, which is allowed only while nothing has changed.
fn is_retry_of_performed(task: &Task, index: usize) -> bool {
    ActionAttempt::next(task, index).is_some_and(|attempt| attempt.is_repeated())
}
