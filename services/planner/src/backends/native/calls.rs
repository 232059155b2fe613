//! The calls of a model's turn, and their results.
//!
//! Every call gets a result, including one that was stopped, refused, denied, lost in a crash, or never started. The
//! result is derived from the step of the call. Its wording is stable, because a model reads it.

use motorium_proto::domain::decision::{PastAction, PastStep};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Verdict};
use motorium_proto::service::PlanRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::conversation_image::ConversationImage;

/// Result text that Anthropic prescribes for calls after a failed one. Keep it verbatim.
pub(crate) const AFTER_A_FAILURE: &str =
    "Not executed: an earlier computer action in this turn failed.";
const NOT_NOW: &str = "Not executed: something else had to be carried out first. Look at the screen, and ask for it again if it is still right.";
const NEVER_BEGUN: &str = "Not executed: it was stopped before it began.";
const NOT_KNOWN: &str =
    "It is not known whether this was executed. Look at the screen before you repeat it.";

/// A call of a model's turn, with its status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PendingCall {
    pub(crate) id: String,
    pub(crate) fate: CallStatus,
    /// Data that the provider requires in the result.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) detail: Value,
}

/// Status of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallStatus {
    /// `count` actions of the step, starting at index `first`; `problem` is the reason why there are no more.
    Acts {
        first: usize,
        count: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// An image that existed when it was requested; `None` means the next one.
    Look {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<ConversationImage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        region: Option<[i32; 4]>,
    },
    /// The position of the mouse cursor.
    Pointer,
    /// A call of a function.
    Function,
    /// The call ended the task, but the task continues.
    Ended,
    /// The call asked the user.
    Asked,
    /// The call extracted data.
    Extracted,
    /// The call reported progress, and nothing else.
    Noted,
    /// It cannot be understood or performed.
    Invalid {
        problem: String,
    },
    AfterFailure,
    NotNow,
}

/// Result of a call, for the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult<'a> {
    pub(crate) call: &'a PendingCall,
    pub(crate) succeeded: bool,
    pub(crate) text: String,
    pub(crate) image: Option<ResultImage>,
}

/// An image that a result shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ResultImage {
    Shown(ConversationImage),
    /// A region of the current screen; `None` means all of it.
    Now(Option<[i32; 4]>),
}

/// Steps decided since the conversation was last continued.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StepsSince<'a> {
    None,
    One(&'a PastStep),
    /// More than one step, so other backends decided as well.
    Many,
}

impl<'a> StepsSince<'a> {
    /// Returns the steps of the history after this step number.
    pub(crate) fn step(number: u32, history: &'a [PastStep]) -> Self {
        let mut later = history.iter().filter(|step| step.step > number);
        match (later.next(), later.next()) {
            (None, _) => StepsSince::None,
            (Some(step), None) => StepsSince::One(step),
            (Some(_), Some(_)) => StepsSince::Many,
        }
    }
}

/// Returns the number of the history's last step, 0 if it is empty.
pub(crate) fn last_step(history: &[PastStep]) -> u32 {
    history.last().map_or(0, |step| step.step)
}

/// Returns the result of each call, in order. `step` is the step that performed them, if known.
pub(crate) fn resolve_calls<'a>(
    calls: &'a [PendingCall],
    step: Option<&PastStep>,
    request: &PlanRequest,
    cursor: Option<(i64, i64)>,
) -> Vec<CallResult<'a>> {
    let mut failed = false;
    let settled = |call: &'a PendingCall| {
        let settled = one(call, failed, step, request, cursor);
        failed |= !settled.succeeded && is_input(&call.fate);
        settled
    };
    calls.iter().map(settled).collect()
}

fn is_input(fate: &CallStatus) -> bool {
    matches!(
        fate,
        CallStatus::Acts { .. } | CallStatus::Invalid { .. } | CallStatus::AfterFailure
    )
}

fn one<'a>(
    call: &'a PendingCall,
    failed: bool,
    step: Option<&PastStep>,
    request: &PlanRequest,
    cursor: Option<(i64, i64)>,
) -> CallResult<'a> {
    let text_result = |outcome: Result<String, String>| CallResult {
        call,
        succeeded: outcome.is_ok(),
        text: outcome.unwrap_or_else(|problem| problem),
        image: None,
    };
    match &call.fate {
        CallStatus::Function => text_result(function(&call.id, step)),
        CallStatus::Ended => text_result(Err("The task is not over.".to_owned())),
        CallStatus::Asked => text_result(Ok(answer(step, request))),
        CallStatus::Extracted => text_result(extracted(step)),
        CallStatus::Noted => text_result(Ok("Noted. Go on with the task.".to_owned())),
        CallStatus::Invalid { problem } => text_result(Err(problem.clone())),
        CallStatus::NotNow => text_result(Err(NOT_NOW.to_owned())),
        CallStatus::AfterFailure => text_result(Err(AFTER_A_FAILURE.to_owned())),
        CallStatus::Acts { .. } | CallStatus::Look { .. } | CallStatus::Pointer if failed => {
            text_result(Err(AFTER_A_FAILURE.to_owned()))
        }
        CallStatus::Acts {
            first,
            count,
            problem,
        } => text_result(acts(*first, *count, problem.as_deref(), step)),
        CallStatus::Pointer => text_result(pointer(cursor)),
        CallStatus::Look { shown, region } => CallResult {
            call,
            succeeded: true,
            text: String::new(),
            image: Some(match shown {
                Some(shown) => ResultImage::Shown(shown.clone()),
                None => ResultImage::Now(*region),
            }),
        },
    }
}

/// Returns the result of a call's actions: the effect of the last one, or the reason why one failed.
fn acts(
    first: usize,
    count: usize,
    problem: Option<&str>,
    step: Option<&PastStep>,
) -> Result<String, String> {
    let step = step.ok_or(NOT_KNOWN)?;
    let mut text = String::new();
    for index in first..first.saturating_add(count) {
        let past = step.actions.get(index);
        let outcome = past.map_or_else(|| Err(never_begun(index, step)), performed);
        text = outcome.map_err(|why| numbered(index - first, count, &why))?;
    }
    match problem {
        None => Ok(text),
        Some(problem) => Err(problem.to_owned()),
    }
}

fn numbered(index: usize, count: usize, why: &str) -> String {
    match count {
        1 => why.to_owned(),
        _ => format!("Action {} of {count}: {why}", index + 1),
    }
}

/// Returns the text for an action without a record: an earlier one failed, or none was started.
fn never_begun(index: usize, step: &PastStep) -> String {
    let failed = |past: &PastAction| past.outcome.result != ActionResult::Performed;
    if index > 0 && step.actions.iter().any(failed) {
        AFTER_A_FAILURE.to_owned()
    } else {
        NEVER_BEGUN.to_owned()
    }
}

fn performed(past: &PastAction) -> Result<String, String> {
    let outcome = &past.outcome;
    match outcome.result {
        ActionResult::Performed => Ok(effect(past).to_owned()),
        ActionResult::Refused => Err(refused(outcome)),
        ActionResult::Failed => Err(with_detail("Failed", &outcome.detail)),
        ActionResult::Unknown => Err(NOT_KNOWN.to_owned()),
        ActionResult::Cancelled if outcome.sent_nothing => Err(NEVER_BEGUN.to_owned()),
        ActionResult::Cancelled => Err(with_detail("Stopped in the middle", &outcome.detail)),
    }
}

fn effect(past: &PastAction) -> &'static str {
    match past.effect.as_ref().map(|effect| effect.verdict) {
        Some(Verdict::Confirmed) => "Done; the screen changed.",
        Some(Verdict::ChangedElsewhere) => "Done; the screen changed, but elsewhere.",
        Some(Verdict::NoEffect) if past.retries > 0 => "Done again and again; nothing changed.",
        Some(Verdict::NoEffect) => "Done; nothing changed.",
        Some(Verdict::TargetMoved) => {
            "Done, but the target moved as it was clicked, so the click may have missed it."
        }
        Some(Verdict::TextDiffers) => {
            "Done, but the field shows another text than the one entered. Correct it: select it all and enter it again."
        }
        Some(Verdict::EndReached) => "Done; nothing moved: the end is reached.",
        Some(Verdict::Unknown) | None => "Done.",
    }
}

fn refused(outcome: &ActionOutcome) -> String {
    match &outcome.rule {
        Some(rule) => with_detail(&format!("Not allowed by the rule {rule}"), &outcome.detail),
        None => with_detail("Not allowed", &outcome.detail),
    }
}

fn with_detail(what: &str, detail: &str) -> String {
    match detail {
        "" => format!("{what}."),
        _ => format!("{what}: {detail}"),
    }
}

fn pointer(cursor: Option<(i64, i64)>) -> Result<String, String> {
    match cursor {
        Some((x, y)) => Ok(format!("X={x},Y={y}")),
        None => Err("The cursor is not on the screen.".to_owned()),
    }
}

fn function(id: &str, step: Option<&PastStep>) -> Result<String, String> {
    let results = step.map(|step| &step.function_results).ok_or(NOT_KNOWN)?;
    match results.iter().find(|result| result.call_id == id) {
        Some(result) => result.outcome.clone(),
        None => Err(NEVER_BEGUN.to_owned()),
    }
}

fn extracted(step: Option<&PastStep>) -> Result<String, String> {
    let json = step.and_then(|step| step.extracted_json.clone());
    json.ok_or_else(|| "No data could be taken from the screen.".to_owned())
}

/// Returns the user's messages since the question was asked.
fn answer(step: Option<&PastStep>, request: &PlanRequest) -> String {
    let before = step.map(|step| step.user_messages.as_slice());
    let messages = before
        .unwrap_or_default()
        .iter()
        .chain(&request.user_messages);
    let messages: Vec<&str> = messages.map(String::as_str).collect();
    if messages.is_empty() {
        "The user said nothing.".to_owned()
    } else {
        messages.join("\n")
    }
}
