//! A step of a task and its actions, folded from the log.
//!
//! Only the fold changes it.

use std::time::SystemTime;

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, Next, PlannedAction, Usage,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect, Verdict};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::{ActionId, EventSeq};
use motorium_proto::service::StageTiming;

use super::artifact::{Artifact, StoredExchange};
use super::event::Observed;
use super::retry_strategy::RetryStrategy;
use super::screen::Fingerprint;
use super::shortened::shortened;

/// Maximum length of a function's result in the outcome of a step in characters: one line of a terminal.
const MAX_RESULT_CHARS: usize = 120;

/// An action of a step: its last attempt, and the retries before it.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecord {
    pub action_id: ActionId,
    pub planned: PlannedAction,
    /// The action with resolved target points.
    pub action: Action<CapturePoint>,
    pub target: Option<CaptureRect>,
    /// Element at the target, as its kind and its text.
    pub target_label: Option<String>,
    pub outcome: Option<ActionOutcome>,
    pub effect: Option<Effect>,
    pub retries: u32,
    /// Strategies of its retries, in order.
    pub retry_strategies: Vec<RetryStrategy>,
    /// Strategy of the retry that is due, if the attempt had no effect.
    pub retry_due: Option<RetryStrategy>,
}

impl ActionRecord {
    /// Returns true if it was sent to the application completely.
    #[must_use]
    pub fn performed(&self) -> bool {
        self.outcome
            .as_ref()
            .is_some_and(|outcome| outcome.result == ActionResult::Performed)
    }

    /// Returns its last target point.
    #[must_use]
    pub fn point(&self) -> Option<CapturePoint> {
        self.action.targets().last().copied()
    }
}

/// The end of a step before all of its actions were performed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abandonment {
    /// Reason for people and for the planner.
    pub reason: String,
    /// Result of the action that the step was abandoned at: refused by a person, failed before any input was sent (a target
    /// that could not be resolved, a policy), or cancelled by a take-over.
    pub result: ActionResult,
}

/// One round of the loop.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// Step number, from 1.
    pub number: u32,
    pub started_at: SystemTime,
    pub ended_at: Option<SystemTime>,
    pub image: Option<Artifact>,
    /// Screenshot after its actions, if the task ended with them. Otherwise the next step has one.
    pub image_after: Option<Artifact>,
    /// Annotated screenshot, as the model received it.
    pub annotated_image: Option<Artifact>,
    /// Requests of its decision, and the responses.
    pub exchange: StoredExchange,
    pub frame_size: Option<CaptureSize>,
    /// The parsed scene, if scenes are stored.
    pub scene: Option<Artifact>,
    pub window_titles: Vec<String>,
    /// URL of the page that the active browser window showed.
    pub current_url: Option<String>,
    /// The frame it began with. `None` once the step has finished or another holder had the desktop.
    pub frame: Option<Box<Frame>>,
    /// Fingerprint of the screen at its beginning.
    pub screen: Fingerprint,
    pub decision: Option<Decision>,
    /// Line of progress for people, with the event that added it.
    pub progress: Option<(EventSeq, String)>,
    pub actions: Vec<ActionRecord>,
    /// Reason why the rest of the step was dropped.
    pub abandonment: Option<Abandonment>,
    pub extracted: Option<String>,
    /// Calls that were made or that have a result.
    pub function_calls: Vec<FunctionCall>,
    /// Results in the order of the calls; one fewer while a call is running.
    pub function_results: Vec<FunctionResult>,
    /// Messages that the user sent after this step.
    pub user_messages: Vec<String>,
    pub timings: Vec<StageTiming>,
    /// Resources used by the step: its decision, backends that failed before it, and calls beside it.
    pub usage: Usage,
    /// Outcome in one line, for people. Empty until the step has ended, or if it did nothing.
    pub outcome: String,
}

fn titles(frame: &Frame) -> Vec<String> {
    let windows = frame.windows.iter();
    windows.map(|window| window.title.clone()).collect()
}

/// Returns true if an action of this kind is expected to have a visible effect.
#[must_use]
pub fn expects_effect(action: &Action<CapturePoint>) -> bool {
    !matches!(
        action.kind(),
        ActionKind::Wait | ActionKind::Move | ActionKind::SetClipboard | ActionKind::MouseDown
    )
}

/// Returns true if an action did not do what it was to do, as far as the screen tells.
fn is_setback(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::NoEffect | Verdict::TargetMoved | Verdict::TextDiffers
    )
}

impl StepRecord {
    pub(super) fn begin(number: u32, at: SystemTime, observed: &Observed) -> Self {
        Self {
            number,
            // The event is recorded after the observation, which is part of the step.
            started_at: at.checked_sub(observed.elapsed).unwrap_or(at),
            ended_at: None,
            image: observed.image.clone(),
            annotated_image: None,
            image_after: None,
            exchange: StoredExchange::default(),
            frame_size: Some(observed.frame.size),
            scene: observed.scene.clone(),
            window_titles: titles(&observed.frame),
            current_url: observed.current_url.clone(),
            frame: Some(Box::new(observed.frame.clone())),
            screen: observed.fingerprint,
            decision: None,
            progress: None,
            actions: Vec::new(),
            abandonment: None,
            extracted: None,
            function_calls: Vec::new(),
            function_results: Vec::new(),
            user_messages: Vec::new(),
            timings: Vec::new(),
            usage: Usage::default(),
            outcome: String::new(),
        }
    }

    /// Returns the decided actions.
    #[must_use]
    pub fn planned(&self) -> &[PlannedAction] {
        match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::Act(actions)) => actions,
            _ => &[],
        }
    }

    /// Returns why the step did not do what it announced: the reason why its rest was dropped, or what went wrong with its
    /// last action or function call.
    #[must_use]
    pub fn setback(&self) -> Option<&str> {
        if let Some(abandonment) = &self.abandonment {
            return Some(&abandonment.reason);
        }
        let call = self.function_results.last();
        if let Some(Err(error)) = call.map(|result| result.outcome.as_ref()) {
            return Some(error);
        }
        let action = self.actions.last()?;
        match (&action.outcome, &action.effect) {
            (Some(outcome), _) if outcome.result != ActionResult::Performed => {
                Some(&outcome.detail)
            }
            (_, Some(effect)) if is_setback(effect.verdict) => Some(&effect.explanation),
            _ => None,
        }
    }

    /// Describes the outcome of the step for people: why it did not do what it announced, or the effect of its last action,
    /// the result of its last function call, or that data was extracted. Empty if it did nothing.
    #[must_use]
    pub fn describe_outcome(&self, language: Language) -> String {
        if let Some(setback) = self.setback() {
            return setback.to_owned();
        }
        if self.extracted.is_some() {
            return Message::OutcomeExtracted.text(language);
        }
        if let (Some(call), Some(result)) =
            (self.function_calls.last(), self.function_results.last())
        {
            let name = &call.name;
            let result = result.outcome.as_deref().unwrap_or_default();
            return match shortened(result, MAX_RESULT_CHARS).as_str() {
                "" => Message::ProgressReturnedNothing { name }.text(language),
                result => Message::ProgressReturned { name, result }.text(language),
            };
        }
        let effect = self.actions.last().and_then(|last| last.effect.as_ref());
        effect.map_or_else(String::new, |effect| effect.explanation.clone())
    }

    /// Returns true if the step decided on actions or calls that were not all made.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        let decided = match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::Act(actions)) => actions.len(),
            Some(Next::CallFunctions(calls)) => calls.len(),
            _ => 0,
        };
        let performed = self.actions.iter().filter(|action| action.performed());
        performed.count() + self.function_results.len() < decided
    }

    /// Returns true if the step only looks again for what the step before it waited for, without another model call.
    #[must_use]
    pub fn looks_again_after(&self, before: &Self) -> bool {
        let is_free = self
            .decision
            .as_ref()
            .is_some_and(|decision| decision.usage.calls == 0);
        let wait = self.awaited();
        is_free && wait.is_some() && wait == before.awaited()
    }

    /// Returns the purpose of the wait, if the step decided nothing else.
    fn awaited(&self) -> Option<&str> {
        match self.planned() {
            [planned] if planned.action.kind() == ActionKind::Wait => Some(&planned.intent),
            _ => None,
        }
    }

    /// Returns the function call that was started and has no result yet.
    #[must_use]
    pub fn open_call(&self) -> Option<&FunctionCall> {
        self.function_calls.get(self.function_results.len())
    }

    pub(super) fn returned(&mut self, result: &FunctionResult) {
        if self.open_call().is_none() {
            // The call was not made, and the result says why.
            let decided = self.decided_call(self.function_results.len()).cloned();
            self.function_calls.extend(decided);
        }
        self.function_results.push(result.clone());
    }

    /// Returns the decided function call at this index.
    #[must_use]
    pub fn decided_call(&self, index: usize) -> Option<&FunctionCall> {
        match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::CallFunctions(calls)) => calls.get(index),
            _ => None,
        }
    }
}
