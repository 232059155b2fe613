//! Data of the page templates, in the task's language. Field names are the templates' variables.
//!
//! It contains no markup: the templates do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use motorium_messages::{Language, Message, choice_key};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Verdict};
use motorium_proto::domain::geometry::CapturePoint;
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::trajectory::answer::{duration, facts, final_message, outcome};
use crate::trajectory::steps::{ActionSummary, CallSummary, ExportedStep, Steps};
use crate::trajectory::timeline::TimelineEntry;
use motorium_task::{Lifecycle, Task, words};
use motorium_text::rfc3339;

/// Radius of a drawn click point, as a share of the frame's width, so that it is visible on any screen size.
const POINT_RADIUS_RATIO: f64 = 0.009;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Data of the header, above the steps.
#[derive(Debug, Serialize)]
pub(super) struct PageHeader<'a> {
    /// Tag of the page's language.
    language: &'static str,
    /// Name of the task, by which a later export recognises the page.
    task: String,
    labels: PageLabels,
    goal: &'a str,
    state: &'static str,
    outcome: String,
    answer: String,
    facts: Vec<(String, String)>,
    steps: Vec<u32>,
    before: Vec<TimelineRow<'a>>,
    instructions: &'a str,
    style: &'static str,
    script_hash: String,
}

/// Texts around the steps.
#[derive(Debug, Serialize)]
struct PageLabels {
    trajectory: String,
    steps: String,
    back_to_top: String,
    step_keys: String,
    no_steps: String,
}

/// Data of the footer, below the steps.
#[derive(Debug, Serialize)]
pub(super) struct PageFooter {
    outcome: String,
    answer: String,
    state: &'static str,
    script: &'static str,
}

#[derive(Debug, Serialize)]
struct TimelineRow<'a> {
    at: String,
    tone: &'static str,
    title: String,
    text: &'a str,
}

/// Data of one step.
#[derive(Debug, Serialize)]
pub(super) struct StepView<'a> {
    labels: StepLabels,
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
    /// The kind of the decision, as a sentence; empty without a decision.
    decided: String,
    progress: &'a str,
    thought: &'a str,
    backend: String,
    actions: Vec<ActionView<'a>>,
    functions: Vec<CallView<'a>>,
    extracted: Option<&'a str>,
    moments: Vec<TimelineRow<'a>>,
    timings: Vec<(String, String)>,
}

/// Texts of one step.
#[derive(Debug, Serialize)]
struct StepLabels {
    step: String,
    screen_before: String,
    screen_after: String,
    no_screenshot: String,
    extracted: String,
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
    /// The verdict on the effect, or the outcome of an action that was not performed. Empty without either.
    verdict: String,
    /// `good`, `bad` or `open`.
    tone: &'static str,
    explanation: &'a str,
    /// Number of attempts; empty for a single one.
    attempts: String,
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
        let language = task.spec.message_language();
        let before = steps.before.iter();
        Self {
            language: language.tag(),
            task: task.spec.name.to_string(),
            labels: PageLabels::new(language),
            goal: &task.spec.goal,
            state: state(task),
            outcome: outcome(task),
            answer: final_message(task),
            facts: facts(task),
            steps: steps.steps.iter().map(|step| step.number).collect(),
            before: before.map(|line| TimelineRow::of(line, language)).collect(),
            instructions: &task.spec.instructions,
            style: STYLE,
            script_hash: BASE64.encode(Sha256::digest(SCRIPT)),
        }
    }
}

impl PageLabels {
    fn new(language: Language) -> Self {
        Self {
            trajectory: Message::PageTrajectory.text(language),
            steps: Message::PageSteps.text(language),
            back_to_top: Message::PageBackToTop.text(language),
            step_keys: Message::PageStepKeys.text(language),
            no_steps: Message::PageNoSteps.text(language),
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

impl<'a> TimelineRow<'a> {
    fn of(moment: &'a TimelineEntry, language: Language) -> Self {
        Self {
            at: clock(moment.at),
            tone: moment.title.tone(),
            title: moment.title.text(language),
            text: &moment.text,
        }
    }
}

/// Formats the time of day.
fn clock(at: std::time::SystemTime) -> String {
    let time = rfc3339::format(at);
    // Position of the time within `2026-11-22T14:03:27Z`.
    time.get(11..19).unwrap_or_default().to_owned()
}

impl StepLabels {
    fn new(number: u32, language: Language) -> Self {
        Self {
            step: Message::PageStep { number }.text(language),
            screen_before: Message::PageScreenBefore { number }.text(language),
            screen_after: Message::PageScreenAfter.text(language),
            no_screenshot: Message::PageNoScreenshot.text(language),
            extracted: Message::PageExtracted.text(language),
        }
    }
}

impl<'a> StepView<'a> {
    pub(super) fn of(
        step: &'a ExportedStep,
        language: Language,
        image: Option<String>,
        image_after: Option<String>,
    ) -> Self {
        let frame = &step.frame;
        let size = frame.size;
        let inside = |point: CapturePoint| point - frame.origin.to_vector();
        let targets = step.actions.iter().filter_map(|act| act.intended.target);
        let decision = step.decision.as_ref();
        let several = step.actions.len() > 1;
        let duration = |elapsed| duration(elapsed, language);
        Self {
            labels: StepLabels::new(step.number, language),
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
            decided: decided(step.decided(), language),
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
                .map(|(index, act)| ActionView::of(index, act, language))
                .collect(),
            functions: step.functions.iter().map(CallView::of).collect(),
            extracted: step.extracted.as_deref(),
            moments: step
                .moments
                .iter()
                .map(|line| TimelineRow::of(line, language))
                .collect(),
            timings: step
                .timings
                .iter()
                .map(|(stage, elapsed)| {
                    let name = Message::StageName { stage }.text(language);
                    (name, duration(*elapsed))
                })
                .collect(),
        }
    }
}

/// Says what was decided, by the name of the decision's kind.
fn decided(kind: &str, language: Language) -> String {
    if kind.is_empty() {
        return String::new();
    }
    let decision = &choice_key(kind);
    let decision = &Message::DecisionKind { decision }.text(language);
    Message::PageDecided { decision }.text(language)
}

impl<'a> ActionView<'a> {
    fn of(index: usize, act: &'a ActionSummary, language: Language) -> Self {
        let outcome = act.outcome.as_ref();
        let performed = outcome.is_some_and(|known| known.result == ActionResult::Performed);
        let effect = act.effect.as_ref();
        let verdict = match (performed, effect) {
            (true, Some(effect)) => words::verdict(effect.verdict, language),
            (true, None) => String::new(),
            (false, _) => words::outcome(outcome, language),
        };
        let explanation = effect.map_or("", |effect| effect.explanation.as_str());
        let detail = outcome.map_or("", |outcome| outcome.detail.as_str());
        let attempts = act.points.len();
        Self {
            number: index + 1,
            intent: &act.intended.planned.intent,
            verdict,
            tone: tone(outcome, effect.map(|effect| effect.verdict)),
            explanation: if explanation.is_empty() {
                detail
            } else {
                explanation
            },
            attempts: if attempts > 1 {
                Message::PageAttempts { attempts }.text(language)
            } else {
                String::new()
            },
        }
    }
}

/// Returns the style of an action's verdict: `good`, `bad` or `open`.
fn tone(outcome: Option<&ActionOutcome>, verdict: Option<Verdict>) -> &'static str {
    let Some(outcome) = outcome else {
        return "open";
    };
    if outcome.result != ActionResult::Performed {
        return "bad";
    }
    match verdict {
        Some(Verdict::Confirmed | Verdict::ChangedElsewhere | Verdict::EndReached) => "good",
        Some(Verdict::NoEffect) => "bad",
        Some(Verdict::Unknown | Verdict::TargetMoved | Verdict::TextDiffers) | None => "open",
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
