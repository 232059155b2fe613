//! Data of the page templates. Field names are the templates' variables.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use motorium_proto::domain::geometry::CapturePoint;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::trajectory::answer::{duration, facts, outcome};
use crate::trajectory::steps::{
    ActionSummary, CallSummary, ExportedStep, Steps, TimelineEntry, time, verdict,
};
use motorium_task::{Lifecycle, Task};

/// Radius of a drawn click point, as a share of the frame's width, so that it is visible on any screen size.
const POINT_RADIUS_RATIO: f64 = 0.009;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Data of the header, above the steps.
#[derive(Debug, Serialize)]
pub(super) struct PageHeader<'a> {
    goal: &'a str,
    state: &'static str,
    outcome: &'static str,
    answer: String,
    facts: Vec<(&'static str, String)>,
    steps: Vec<u32>,
    before: Vec<TimelineRow<'a>>,
    instructions: &'a str,
    style: &'static str,
    script_hash: String,
}

/// Data of the footer, below the steps.
#[derive(Debug, Serialize)]
pub(super) struct PageFooter {
    outcome: &'static str,
    answer: String,
    state: &'static str,
    script: &'static str,
}

#[derive(Debug, Serialize)]
struct TimelineRow<'a> {
    at: String,
    tone: &'a str,
    title: &'a str,
    text: &'a str,
}

/// Data of one step.
#[derive(Debug, Serialize)]
pub(super) struct StepView<'a> {
    number: u32,
    at: String,
    took: String,
    window: &'a str,
    image: Option<String>,
    /// The screen after the last action of a task that ended without success.
    image_after: Option<String>,
    width: i32,
    height: i32,
    targets: Vec<TargetBox>,
    points: Vec<ClickPoint>,
    decided: &'a str,
    progress: &'a str,
    thought: &'a str,
    backend: String,
    actions: Vec<ActionView<'a>>,
    functions: Vec<CallView<'a>>,
    extracted: Option<&'a str>,
    moments: Vec<TimelineRow<'a>>,
    timings: Vec<(&'a str, String)>,
}

#[derive(Debug, Serialize)]
struct TargetBox {
    x: i32,
    y: i32,
    width: i32,
    height: i32,
}

#[derive(Debug, Serialize)]
struct ClickPoint {
    x: i32,
    y: i32,
    radius: f64,
    /// Number of the action; empty if the step has only one.
    number: String,
}

#[derive(Debug, Serialize)]
pub(super) struct ActionView<'a> {
    number: usize,
    intent: &'a str,
    outcome: &'a str,
    detail: &'a str,
    verdict: &'a str,
    /// `good`, `bad` or `open`.
    tone: &'static str,
    explanation: &'a str,
    attempts: usize,
}

#[derive(Debug, Serialize)]
pub(super) struct CallView<'a> {
    name: &'a str,
    arguments: &'a str,
    outcome: &'a str,
    failed: bool,
}

impl<'a> PageHeader<'a> {
    pub(super) fn of(task: &'a Task, steps: &'a Steps) -> Self {
        Self {
            goal: &task.spec.goal,
            state: state(task),
            outcome: outcome(task),
            answer: final_message(task),
            facts: facts(task),
            steps: steps.steps.iter().map(|step| step.number).collect(),
            before: steps.before.iter().map(TimelineRow::of).collect(),
            instructions: &task.spec.instructions,
            style: STYLE,
            script_hash: BASE64.encode(Sha256::digest(SCRIPT)),
        }
    }
}

impl PageFooter {
    pub(super) fn of(task: &Task) -> Self {
        Self {
            outcome: outcome(task),
            answer: final_message(task),
            state: state(task),
            script: SCRIPT,
        }
    }
}

/// Returns the CSS class of a task's state.
fn state(task: &Task) -> &'static str {
    match &task.lifecycle {
        Lifecycle::Succeeded { .. } => "succeeded",
        Lifecycle::Failed(_) => "failed",
        Lifecycle::Cancelled { .. } => "cancelled",
        _ => "going",
    }
}

/// Returns the final answer, failure or pending request of a task.
fn final_message(task: &Task) -> String {
    match &task.lifecycle {
        Lifecycle::Succeeded { answer } => answer.clone(),
        Lifecycle::Failed(failure) => format!("{} ({})", failure.message, failure.reason),
        Lifecycle::Cancelled { reason } => reason.clone(),
        Lifecycle::AwaitingUser(request) => request.message.clone(),
        _ => String::new(),
    }
}

impl<'a> TimelineRow<'a> {
    fn of(moment: &'a TimelineEntry) -> Self {
        Self {
            at: clock(moment.at),
            tone: moment.tone,
            title: moment.title,
            text: &moment.text,
        }
    }
}

/// Formats the time of day.
fn clock(at: std::time::SystemTime) -> String {
    let time = time(at);
    time.get(11..19).unwrap_or_default().to_owned()
}

impl<'a> StepView<'a> {
    pub(super) fn of(
        step: &'a ExportedStep,
        image: Option<String>,
        image_after: Option<String>,
    ) -> Self {
        let frame = &step.frame;
        let size = frame.size;
        let inside = |point: CapturePoint| point - frame.origin.to_vector();
        let targets = step.actions.iter().filter_map(|act| act.intended.target);
        let decision = step.decision.as_ref();
        let several = step.actions.len() > 1;
        Self {
            number: step.number,
            at: clock(step.at),
            took: step.took().map(duration).unwrap_or_default(),
            window: frame
                .active_window()
                .map_or("", |window| window.title.as_str()),
            image,
            image_after,
            width: size.width,
            height: size.height,
            targets: targets
                .map(|target| {
                    let corner = inside(target.min);
                    TargetBox {
                        x: corner.x,
                        y: corner.y,
                        width: target.width(),
                        height: target.height(),
                    }
                })
                .collect(),
            points: step
                .actions
                .iter()
                .enumerate()
                .flat_map(|(index, act)| {
                    let number = if several {
                        (index + 1).to_string()
                    } else {
                        String::new()
                    };
                    act.points.iter().map(move |point| (number.clone(), *point))
                })
                .map(|(number, point)| {
                    let point = inside(point);
                    ClickPoint {
                        x: point.x,
                        y: point.y,
                        // At least 5 px, so that the point is visible on small frames.
                        radius: (f64::from(size.width) * POINT_RADIUS_RATIO).max(5.0),
                        number,
                    }
                })
                .collect(),
            decided: step.decided(),
            progress: decision.map_or("", |decision| decision.progress.as_str()),
            thought: decision.map_or("", |decision| decision.thought.as_str()),
            backend: decision
                .map(|decision| [decision.backend.as_str(), decision.model.as_str()])
                .map(|names| {
                    let named = names.into_iter().filter(|name| !name.is_empty());
                    named.collect::<Vec<_>>().join(" · ")
                })
                .unwrap_or_default(),
            actions: step
                .actions
                .iter()
                .enumerate()
                .map(|(index, act)| ActionView::of(index, act))
                .collect(),
            functions: step.functions.iter().map(CallView::of).collect(),
            extracted: step.extracted.as_deref(),
            moments: step.moments.iter().map(TimelineRow::of).collect(),
            timings: step
                .timings
                .iter()
                .map(|(stage, elapsed)| (stage.as_str(), duration(*elapsed)))
                .collect(),
        }
    }
}

impl<'a> ActionView<'a> {
    fn of(index: usize, act: &'a ActionSummary) -> Self {
        let (outcome, detail) = match &act.outcome {
            Some((word, detail)) => (*word, detail.as_str()),
            None => ("under way", ""),
        };
        let word = act
            .effect
            .as_ref()
            .map_or("", |effect| verdict(effect.verdict));
        let tone = match (outcome, word) {
            ("performed", "confirmed" | "changed elsewhere" | "end reached") => "good",
            ("performed", "no effect") => "bad",
            ("performed" | "under way", _) => "open",
            _ => "bad",
        };
        Self {
            number: index + 1,
            intent: &act.intended.planned.intent,
            outcome,
            detail,
            verdict: word,
            tone,
            explanation: act
                .effect
                .as_ref()
                .map_or("", |effect| effect.explanation.as_str()),
            attempts: act.points.len().max(1),
        }
    }
}

impl<'a> CallView<'a> {
    fn of(called: &'a CallSummary) -> Self {
        let (outcome, failed) = match &called.outcome {
            Some(Ok(result)) => (result.as_str(), false),
            Some(Err(error)) => (error.as_str(), true),
            None => ("", false),
        };
        Self {
            name: &called.name,
            arguments: &called.arguments,
            outcome,
            failed,
        }
    }
}
