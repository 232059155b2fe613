//! A step of a task and its actions, as the log tells them.

use std::time::SystemTime;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, Next, PlannedAction,
};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Effect};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::StageTiming;

use super::event::{Artifact, Observed};
use super::retry::Way;
use super::screen::Fingerprint;

/// An action of a step: the last attempt, and how many there were.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRecord {
    pub action_id: ActionId,
    pub planned: PlannedAction,
    /// As it was performed.
    pub action: Action<CapturePoint>,
    pub target: Option<CaptureRect>,
    pub outcome: Option<ActionOutcome>,
    pub effect: Option<Effect>,
    pub retries: u32,
    /// How it was tried again, in order.
    pub ways: Vec<Way>,
    /// The attempt had no effect and another one is due, so.
    pub retry_due: Option<Way>,
}

impl ActionRecord {
    /// Whether it was sent to the application, whole.
    #[must_use]
    pub fn performed(&self) -> bool {
        self.outcome
            .as_ref()
            .is_some_and(|outcome| outcome.result == ActionResult::Performed)
    }

    /// Where it went.
    #[must_use]
    pub fn point(&self) -> Option<CapturePoint> {
        self.action.targets().last().copied()
    }
}

/// One round of the loop.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// From 1.
    pub number: u32,
    pub started_at: SystemTime,
    pub ended_at: Option<SystemTime>,
    pub image: Option<Artifact>,
    pub marked_image: Option<Artifact>,
    pub frame_size: Option<CaptureSize>,
    /// The elements that were seen, where they are kept.
    pub scene: Option<Artifact>,
    pub window_titles: Vec<String>,
    /// The frame that it began with, for as long as it goes on and nobody else has the desktop.
    pub frame: Option<Box<Frame>>,
    /// What the screen was at its beginning.
    pub screen: Fingerprint,
    pub decision: Option<Decision>,
    pub actions: Vec<ActionRecord>,
    /// The target of the next action could not be found.
    pub missed: Option<String>,
    pub extracted: Option<String>,
    /// That were made or that a result says something of.
    pub function_calls: Vec<FunctionCall>,
    /// In the order of the calls; fewer of them while one is under way.
    pub function_results: Vec<FunctionResult>,
    /// What the user said after this step.
    pub user_messages: Vec<String>,
    pub timings: Vec<StageTiming>,
}

fn titles(frame: &Frame) -> Vec<String> {
    let windows = frame.windows.iter();
    windows.map(|window| window.title.clone()).collect()
}

impl StepRecord {
    pub(super) fn begin(number: u32, at: SystemTime, observed: &Observed) -> Self {
        Self {
            number,
            // The event is recorded when the screen has been looked at; looking is part of the step.
            started_at: at.checked_sub(observed.elapsed).unwrap_or(at),
            ended_at: None,
            image: observed.image.clone(),
            marked_image: observed.marked_image.clone(),
            frame_size: Some(observed.frame.size),
            scene: observed.scene.clone(),
            window_titles: titles(&observed.frame),
            frame: Some(Box::new(observed.frame.clone())),
            screen: observed.fingerprint,
            decision: None,
            actions: Vec::new(),
            missed: None,
            extracted: None,
            function_calls: Vec::new(),
            function_results: Vec::new(),
            user_messages: Vec::new(),
            timings: Vec::new(),
        }
    }

    /// The actions that were decided.
    #[must_use]
    pub fn planned(&self) -> &[PlannedAction] {
        match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::Act(actions)) => actions,
            _ => &[],
        }
    }

    /// The function call of which only is known that it was about to be made.
    #[must_use]
    pub fn open_call(&self) -> Option<&FunctionCall> {
        self.function_calls.get(self.function_results.len())
    }

    pub(super) fn returned(&mut self, result: &FunctionResult) {
        if self.open_call().is_none() {
            // It was not called, and the result says why.
            let decided = self.decided_call(self.function_results.len()).cloned();
            self.function_calls.extend(decided);
        }
        self.function_results.push(result.clone());
    }

    /// The function call that was decided at this place.
    #[must_use]
    pub fn decided_call(&self, index: usize) -> Option<&FunctionCall> {
        match self.decision.as_ref().map(|decision| &decision.next) {
            Some(Next::CallFunctions(calls)) => calls.get(index),
            _ => None,
        }
    }
}
