//! Groups a log into steps: observation, decision, actions and effects of each, and a timeline of other events.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::decision::{Decision, Next, Usage};
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::v1::common as wire;
use serde_json::{Map, Value, json};

use super::json as contract;
use motorium_task::event::{
    ActionIntended, Artifact, Event, Observed, RecordedEvent, UserRequestKind,
};
use motorium_task::machine::outcome_label;
use motorium_task::{Approval, ApprovalState};

/// Kind of a step's file.
#[derive(Debug, Clone, Copy)]
pub enum StepFile {
    Frame,
    /// The screen after the last action of a task that ended without success.
    FrameAfter,
    Annotated,
    Scene,
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
    responses: Option<Artifact>,
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
    pub(super) outcome: Option<(&'static str, String)>,
    pub(super) effect: Option<Effect>,
    /// Target points of all attempts, in order.
    pub(super) points: Vec<CapturePoint>,
    pub(super) elapsed: Option<Duration>,
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

/// One line of the timeline.
#[derive(Debug, Clone)]
pub(super) struct TimelineEntry {
    pub(super) at: SystemTime,
    /// Style of the line: `person`, `warning` or `note`.
    pub(super) tone: &'static str,
    pub(super) title: &'static str,
    pub(super) text: String,
}

impl Steps {
    pub(super) fn of(log: &[RecordedEvent]) -> Self {
        let mut steps = Self::default();
        log.iter().for_each(|recorded| steps.apply(recorded));
        steps
    }

    fn apply(&mut self, recorded: &RecordedEvent) {
        if let Event::Observed(observed) = &recorded.event {
            self.steps.push(ExportedStep::begin(recorded, observed));
            return;
        }
        if let Some((tone, title, text)) = timeline_entry(&recorded.event) {
            let moments = match self.steps.last_mut() {
                Some(step) => &mut step.moments,
                None => &mut self.before,
            };
            moments.push(TimelineEntry {
                at: recorded.at,
                tone,
                title,
                text,
            });
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
                .checked_sub(observed.elapsed)
                .unwrap_or(recorded.at),
            ended_at: None,
            frame: observed.frame.clone(),
            element_count: observed.element_count,
            image: observed.image.clone(),
            annotated: None,
            image_after: None,
            responses: None,
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
                responses,
                ..
            } => {
                self.usage = self.usage.plus(decision.usage);
                self.responses.clone_from(responses);
                self.decision = Some((**decision).clone());
                self.annotated.clone_from(annotated_image);
            }
            Event::BackendSkipped(attempt) => self.usage = self.usage.plus(attempt.usage),
            Event::PointerChecked(checked) => self.usage = self.usage.plus(checked.usage),
            Event::ActionIntended(intended) => self.intended(intended),
            Event::ActionPerformed { action_id, outcome } => {
                if let Some(act) = self.act(action_id.as_str()) {
                    let word = outcome_label(outcome.result).unwrap_or("performed");
                    act.outcome = Some((word, outcome.detail.clone()));
                    act.elapsed = Some(outcome.elapsed);
                }
            }
            Event::EffectJudged { action_id, effect } => {
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
            elapsed: None,
        });
    }

    fn act(&mut self, id: &str) -> Option<&mut ActionSummary> {
        let mut acts = self.actions.iter_mut().rev();
        acts.find(|act| act.intended.action_id.as_str() == id)
    }

    /// Returns the kind of the decision.
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
            "time": time(self.at),
            "milliseconds": self.took().map(milliseconds),
            "frame": file(StepFile::Frame, &self.image),
            "frame_after": file(StepFile::FrameAfter, &self.image_after),
            "annotated_frame": file(StepFile::Annotated, &self.annotated),
            "scene": file(StepFile::Scene, &self.scene),
            "responses": file(StepFile::Responses, &self.responses),
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
        without_nulls(json!({
            "action_id": self.intended.action_id.as_str(),
            "intent": self.intended.planned.intent,
            "action": contract::of(contract::ACTION, &action),
            "target": self.intended.target.as_ref().map(target),
            "points": self.points.iter().map(point).collect::<Vec<_>>(),
            "outcome": self.outcome.as_ref().map(|(word, _)| *word),
            "detail": self.outcome.as_ref().map(|(_, detail)| detail.clone()),
            "milliseconds": self.elapsed.map(milliseconds),
            "effect": effect.map(|effect| verdict(effect.verdict)),
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

impl TimelineEntry {
    fn json(&self) -> Value {
        json!({"time": time(self.at), "what": self.title, "text": self.text})
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

/// Formats a time as RFC 3339.
pub(crate) fn time(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at)
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}

/// Returns a label for an effect's verdict.
pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Confirmed => "confirmed",
        Verdict::ChangedElsewhere => "changed elsewhere",
        Verdict::NoEffect => "no effect",
        Verdict::Unknown => "unknown",
        Verdict::EndReached => "end reached",
        Verdict::TargetMoved => "target moved",
        Verdict::TextDiffers => "text differs",
    }
}

/// Returns the timeline line of an event, or `None` if the event is part of the step itself.
fn timeline_entry(event: &Event) -> Option<(&'static str, &'static str, String)> {
    const PERSON: &str = "person";
    const WARNING: &str = "warning";
    const NOTE: &str = "note";

    Some(match event {
        Event::Recovered { orchestrator, .. } => {
            let text = format!("{orchestrator} continues the task after another run ended");
            (WARNING, "Recovered", text)
        }
        Event::DesktopReleased { desktop } => (NOTE, "Desktop released", desktop.to_string()),
        Event::DesktopAwaited { message, .. } => (NOTE, "Queued", message.clone()),
        Event::SessionLoaded { tasks } => {
            let goals = tasks.iter().map(|task| task.goal.as_str());
            let text = goals.collect::<Vec<_>>().join("; ");
            (NOTE, "Follows earlier tasks", text)
        }
        Event::AttachmentPut { name, error, .. } if !error.is_empty() => (
            WARNING,
            "File not put on the desktop",
            format!("{name}: {error}"),
        ),
        Event::AttachmentPut {
            name, image_error, ..
        } if !image_error.is_empty() => (
            WARNING,
            "Image not shown to the model",
            format!("{name}: {image_error}"),
        ),
        Event::AttachmentPut { name, path, .. } => {
            (NOTE, "File put on the desktop", format!("{name}: {path}"))
        }
        Event::BackendSkipped(attempt) => {
            let text = format!(
                "{}: {} ({})",
                attempt.backend, attempt.message, attempt.reason
            );
            (WARNING, "Backend skipped", text)
        }
        Event::ActionRetried { reason, .. } => (NOTE, "Retried", reason.clone()),
        Event::PointerChecked(checked) => {
            let where_to = if checked.on_target {
                "on its target"
            } else {
                "not on its target"
            };
            let text = format!(
                "the pointer is at ({}, {}), {where_to}; {} corrections",
                checked.pointer.x, checked.pointer.y, checked.corrections
            );
            (NOTE, "Pointer checked", text)
        }
        Event::TargetNotResolved { message } => (WARNING, "Not performed", message.clone()),
        Event::UserAsked(request) => {
            let title = match request.kind {
                UserRequestKind::Question => "Asks the user",
                UserRequestKind::ManualAction => "Needs a manual action",
                UserRequestKind::Approval => "Asks for approval",
                UserRequestKind::TakeOver => "Taken over by the user",
            };
            (PERSON, title, request.message.clone())
        }
        Event::UserAcknowledged { message, .. } if message.is_empty() => {
            (PERSON, "The user", "I have done it".to_owned())
        }
        Event::UserAcknowledged { message, .. } => (PERSON, "The user", message.clone()),
        Event::MessageReceived { text, .. } => (PERSON, "The user", text.clone()),
        Event::ApprovalResolved(approval) => resolved(approval),
        Event::TakenOver { user } => (PERSON, "Taken over", user.clone()),
        Event::HumanActed { description, .. } => (PERSON, "The user", description.clone()),
        Event::HandedBack { message } => (PERSON, "Handed back", message.clone()),
        Event::Paused { reason } => (PERSON, "Paused", reason.clone()),
        Event::Resumed => (PERSON, "Resumed", String::new()),
        Event::CancelRequested { reason } => (PERSON, "Cancellation requested", reason.clone()),
        Event::LoopDetected(notice) => (WARNING, "Loop detected", notice.message.clone()),
        Event::InjectionSuspected {
            suspected_injections,
            ..
        } => {
            let quotes = suspected_injections
                .iter()
                .map(|one| format!("“{}”", one.quote));
            let text = quotes.collect::<Vec<_>>().join(", ");
            (WARNING, "Prompt injection suspected", text)
        }
        Event::CompletionChecked { passed: true, .. } => (
            NOTE,
            "Verified",
            "the success claim was confirmed".to_owned(),
        ),
        Event::CompletionChecked {
            second_look: true,
            missing,
            ..
        } => (NOTE, "Second look requested", missing.join("; ")),
        Event::CompletionChecked { missing, .. } => {
            (WARNING, "Success claim rejected", missing.join("; "))
        }
        Event::ResultFetched(file) => match &file.artifact {
            Some(artifact) => (NOTE, "File fetched", artifact.file_name.clone()),
            None => (WARNING, "File not fetched", file.error.clone()),
        },
        Event::TransientFailure { message, .. } => (WARNING, "Transient failure", message.clone()),
        Event::Summarized { text, .. } => (NOTE, "Summary", text.clone()),
        Event::HookIntervened { hook, message, .. } => {
            (WARNING, "A hook intervened", format!("{hook}: {message}"))
        }
        _ => return None,
    })
}

fn resolved(approval: &Approval) -> (&'static str, &'static str, String) {
    let title = match approval.state {
        ApprovalState::Approved => "Approved",
        ApprovalState::Denied => "Denied",
        ApprovalState::Expired => "Not approved in time",
        _ => "Approval invalidated",
    };
    let mut text = approval.subject.intent().to_owned();
    if !approval.resolved_by.is_empty() {
        text += &format!(", by {}", approval.resolved_by);
    }
    if !approval.message.is_empty() {
        text += &format!(": {}", approval.message);
    }
    ("person", title, text)
}
