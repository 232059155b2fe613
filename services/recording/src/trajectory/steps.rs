//! Groups a log into steps: observation, decision, actions and effects of each, and a timeline of other events.
//!
//! The lines of `steps.jsonl` are for programs: outcomes, verdicts and decisions have stable English names there. The page
//! shows them in the task's language.
//!
//! It does not write files: `files` names them, and `page` renders the steps for people.

use std::time::{Duration, SystemTime};

use motorium_messages::Language;
use motorium_proto::domain::decision::{Decision, Next, Usage};
use motorium_proto::domain::effect::{ActionOutcome, Effect};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::v1::common as wire;
use serde_json::{Map, Value, json};

use super::json as contract;
use super::timeline::{TimelineEntry, timeline_entry};
use motorium_task::event::{
    ActionIntended, Artifact, Event, Observed, RecordedEvent, StoredExchange,
};
use motorium_text::rfc3339;

/// Kind of a step's file.
#[derive(Debug, Clone, Copy)]
pub enum StepFile {
    Frame,
    /// The screen after the last action of a task that ended without success.
    FrameAfter,
    Annotated,
    Scene,
    Requests,
    Responses,
}

/// Returns the path of a step's artifact in the folder.
pub fn path(step: u32, place: StepFile, artifact: &Artifact) -> String {
    let extension = artifact.media_type.rsplit('/').next().unwrap_or("bin");
    match place {
        StepFile::Frame => format!("frames/step-{step:03}.{extension}"),
        StepFile::FrameAfter => format!("frames/step-{step:03}-after.{extension}"),
        StepFile::Annotated => format!("frames/step-{step:03}-annotated.{extension}"),
        StepFile::Scene => format!("scenes/step-{step:03}.json"),
        StepFile::Requests => format!("requests/step-{step:03}.json"),
        StepFile::Responses => format!("responses/step-{step:03}.json"),
    }
}

/// The steps of a log.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Timeline before the first step.
    pub(super) before: Vec<TimelineEntry>,
    pub(super) steps: Vec<ExportedStep>,
}

/// One round of the loop.
#[derive(Debug)]
pub(super) struct ExportedStep {
    pub(super) number: u32,
    pub(super) at: SystemTime,
    pub(super) ended_at: Option<SystemTime>,
    pub(super) frame: Frame,
    pub(super) element_count: u32,
    pub(super) image: Option<Artifact>,
    /// Screenshot after its actions, if the task ended with them.
    pub(super) image_after: Option<Artifact>,
    pub(super) annotated: Option<Artifact>,
    /// Requests of its decision, and the responses.
    exchange: StoredExchange,
    current_url: Option<String>,
    /// Resources used by the step, as in the task's view.
    usage: Usage,
    pub(super) scene: Option<Artifact>,
    pub(super) decision: Option<Decision>,
    pub(super) actions: Vec<ActionSummary>,
    pub(super) functions: Vec<CallSummary>,
    pub(super) extracted: Option<String>,
    pub(super) timings: Vec<(String, Duration)>,
    /// Other events, in order.
    pub(super) moments: Vec<TimelineEntry>,
}

/// An action with all its attempts.
#[derive(Debug)]
pub(super) struct ActionSummary {
    pub(super) intended: ActionIntended,
    pub(super) outcome: Option<ActionOutcome>,
    pub(super) effect: Option<Effect>,
    /// Target points of all attempts, in order.
    pub(super) points: Vec<CapturePoint>,
}

/// A function call.
#[derive(Debug)]
pub(super) struct CallSummary {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) outcome: Option<Result<String, String>>,
    pub(super) elapsed: Option<Duration>,
}

impl Steps {
    /// Groups a log, with the lines of the timeline in this language.
    pub(super) fn of(log: &[RecordedEvent], language: Language) -> Self {
        let mut steps = Self::default();
        for recorded in log {
            steps.apply(recorded, language);
        }
        steps
    }

    fn apply(&mut self, recorded: &RecordedEvent, language: Language) {
        if let Event::Observed(observed) = &recorded.event {
            self.steps.push(ExportedStep::begin(recorded, observed));
            return;
        }
        if let Some(entry) = timeline_entry(recorded, language) {
            let moments = match self.steps.last_mut() {
                Some(step) => &mut step.moments,
                None => &mut self.before,
            };
            moments.push(entry);
        }
        if let Some(step) = self.steps.last_mut() {
            step.take_in(recorded);
        }
    }
}

impl ExportedStep {
    fn begin(recorded: &RecordedEvent, observed: &Observed) -> Self {
        Self {
            number: recorded.step,
            at: recorded
                .at
                // The event is written after the observation, which is part of the step.
                .checked_sub(observed.elapsed)
                .unwrap_or(recorded.at),
            ended_at: None,
            frame: observed.frame.clone(),
            element_count: observed.element_count,
            image: observed.image.clone(),
            annotated: None,
            image_after: None,
            exchange: StoredExchange::default(),
            current_url: observed.current_url.clone(),
            usage: Usage::default(),
            scene: observed.scene.clone(),
            decision: None,
            actions: Vec::new(),
            functions: Vec::new(),
            extracted: None,
            timings: Vec::new(),
            moments: Vec::new(),
        }
    }

    fn take_in(&mut self, recorded: &RecordedEvent) {
        match &recorded.event {
            Event::Decided {
                decision,
                annotated_image,
                exchange,
                ..
            } => {
                self.usage = self.usage.plus(decision.usage);
                self.exchange.clone_from(exchange);
                self.decision = Some((**decision).clone());
                self.annotated.clone_from(annotated_image);
            }
            Event::BackendSkipped { attempt, .. } => {
                self.usage = self.usage.plus(attempt.usage);
            }
            Event::PointerChecked(checked) => self.usage = self.usage.plus(checked.usage),
            Event::ActionIntended(intended) => self.intended(intended),
            Event::ActionPerformed { action_id, outcome } => {
                if let Some(act) = self.act(action_id.as_str()) {
                    act.outcome = Some(outcome.clone());
                }
            }
            Event::EffectJudged {
                action_id, effect, ..
            } => {
                if let Some(act) = self.act(action_id.as_str()) {
                    act.effect = Some((**effect).clone());
                }
            }
            Event::FunctionCalled(call) => self.functions.push(CallSummary {
                id: call.call_id.clone(),
                name: call.name.clone(),
                arguments: call.arguments_json.clone(),
                outcome: None,
                elapsed: None,
            }),
            Event::FunctionReturned { result, elapsed } => {
                let mut called = self.functions.iter_mut().rev();
                if let Some(called) = called.find(|called| called.id == result.call_id) {
                    called.outcome = Some(result.outcome.clone());
                    called.elapsed = Some(*elapsed);
                }
            }
            Event::Extracted { json, usage, .. } => {
                self.usage = self.usage.plus(*usage);
                self.extracted = Some(json.clone());
            }
            Event::EndScreenCaptured { image } => self.image_after = Some(image.clone()),
            Event::StepFinished { timings, .. } => {
                self.ended_at = Some(recorded.at);
                let timings = timings.iter();
                self.timings = timings
                    .map(|timing| (timing.stage.clone(), timing.elapsed))
                    .collect();
            }
            _ => {}
        }
    }

    fn intended(&mut self, intended: &ActionIntended) {
        let point = intended.action.targets().last().copied();
        if let Some(before) = self.actions.last_mut()
            && intended.retry_of.as_ref() == Some(&before.intended.action_id)
        {
            before.intended = intended.clone();
            before.points.extend(point);
            before.outcome = None;
            before.effect = None;
            return;
        }
        self.actions.push(ActionSummary {
            intended: intended.clone(),
            outcome: None,
            effect: None,
            points: point.into_iter().collect(),
        });
    }

    fn act(&mut self, id: &str) -> Option<&mut ActionSummary> {
        // Latest first: results belong to the actions that were started last.
        let mut acts = self.actions.iter_mut().rev();
        acts.find(|act| act.intended.action_id.as_str() == id)
    }

    /// Returns the name of the decision's kind.
    pub(super) fn decided(&self) -> &'static str {
        match self.decision.as_ref().map(|decision| &decision.next) {
            None => "",
            Some(Next::Act(_)) => "act",
            Some(Next::Done { .. }) => "done",
            Some(Next::Fail { .. }) => "fail",
            Some(Next::Ask { .. }) => "ask",
            Some(Next::CallFunctions(_)) => "call functions",
            Some(Next::Extract { .. }) => "extract",
        }
    }

    /// Returns the duration of the step, if it has ended.
    pub(super) fn took(&self) -> Option<Duration> {
        self.ended_at?.duration_since(self.at).ok()
    }

    /// Returns its line of `steps.jsonl`.
    pub(super) fn json(&self) -> Value {
        let file = |place, artifact: &Option<Artifact>| {
            artifact
                .as_ref()
                .map(|artifact| path(self.number, place, artifact))
        };
        let decision = self.decision.as_ref();
        let timings = self.timings.iter();
        let timings: Map<String, Value> = timings
            .map(|(stage, elapsed)| (stage.clone(), milliseconds(*elapsed).into()))
            .collect();
        without_nulls(json!({
            "step": self.number,
            "time": rfc3339::format(self.at),
            "milliseconds": self.took().map(milliseconds),
            "frame": file(StepFile::Frame, &self.image),
            "frame_after": file(StepFile::FrameAfter, &self.image_after),
            "annotated_frame": file(StepFile::Annotated, &self.annotated),
            "scene": file(StepFile::Scene, &self.scene),
            "requests": file(StepFile::Requests, &self.exchange.requests),
            "responses": file(StepFile::Responses, &self.exchange.responses),
            "current_url": self.current_url,
            "window": self.frame.active_window().map(|window| window.title.clone()),
            "elements": self.element_count,
            "thought": decision.map(|decision| decision.thought.clone()),
            "progress": decision.map(|decision| decision.progress.clone()),
            "decision": decision.map(|_| self.decided()),
            "backend": decision.map(|decision| decision.backend.clone()),
            "model": decision.map(|decision| decision.model.clone()),
            "usage": decision.map(|_| usage(self.usage)),
            "actions": self.actions.iter().map(ActionSummary::json).collect::<Vec<_>>(),
            "function_calls": self.functions.iter().map(CallSummary::json).collect::<Vec<_>>(),
            "extracted": self.extracted.as_deref().map(parsed),
            "happened": self.moments.iter().map(TimelineEntry::json).collect::<Vec<_>>(),
            "timings_ms": timings,
        }))
    }
}

impl ActionSummary {
    fn json(&self) -> Value {
        let point = |point: &CapturePoint| json!({"x": point.x, "y": point.y});
        let target = |target: &CaptureRect| json!({"x1": target.min.x, "y1": target.min.y, "x2": target.max.x, "y2": target.max.y});
        let action = wire::Action::from(self.intended.action.clone());
        let effect = self.effect.as_ref();
        let outcome = self.outcome.as_ref();
        without_nulls(json!({
            "action_id": self.intended.action_id.as_str(),
            "intent": self.intended.planned.intent,
            "action": contract::of(contract::ACTION, &action),
            "target": self.intended.target.as_ref().map(target),
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
            "outcome": outcome.map(|outcome| outcome.result.as_str()),
            "detail": outcome.map(|outcome| outcome.detail.clone()),
            "milliseconds": outcome.map(|outcome| milliseconds(outcome.elapsed)),
            "effect": effect.map(|effect| effect.verdict.as_str()),
            "explanation": effect.map(|effect| effect.explanation.clone()),
        }))
    }
}

impl CallSummary {
    fn json(&self) -> Value {
        let outcome = self.outcome.as_ref();
        without_nulls(json!({
            "name": self.name,
            "arguments": parsed(&self.arguments),
            "result": outcome.and_then(|outcome| outcome.as_ref().ok()).map(|json| parsed(json)),
            "error": outcome.and_then(|outcome| outcome.as_ref().err()),
            "milliseconds": self.elapsed.map(milliseconds),
        }))
    }
}

fn usage(usage: Usage) -> Value {
    contract::of(contract::USAGE, &wire::Usage::from(usage))
}

/// Parses JSON from a model or tool. Invalid JSON becomes a string.
fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

/// Removes null and empty fields.
fn without_nulls(value: Value) -> Value {
    let Value::Object(fields) = value else {
        return value;
    };
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let kept = fields.into_iter().filter(|(_, value)| !is_empty(value));
    Value::Object(kept.collect())
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
