//! The calls of a model's turn, and what it is told of each of them afterwards.
//!
//! Every call gets an output: also one that was stopped, refused, denied, lost in a crash, or never begun. What became
//! of it is read off the step that it belongs to, in words that stay the same, because a model reads them.

use motorium_proto::domain::decision::{PastAction, PastStep};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult, Verdict};
use motorium_proto::service::PlanRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::shown::Shown;

/// What Anthropic wants to be said of the calls after a failed one, to the letter.
pub(crate) const AFTER_A_FAILURE: &str =
    "Not executed: an earlier computer action in this turn failed.";
const NOT_NOW: &str = "Not executed: something else had to be carried out first. Look at the screen, and ask for it again if it is still right.";
const NEVER_BEGUN: &str = "Not executed: it was stopped before it began.";
const NOT_KNOWN: &str =
    "It is not known whether this was executed. Look at the screen before you repeat it.";

/// A call that a model made, and what will have to be said of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) fate: Fate,
    /// What its provider's output has to repeat of it.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) detail: Value,
}

/// What becomes of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Fate {
    /// It is so many actions of the step, beginning with that one; `problem` says why there are no more.
    Acts {
        first: usize,
        count: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// A picture that was there when it was asked for; `None`: the next one.
    Look {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Shown>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        region: Option<[i32; 4]>,
    },
    /// The place of the mouse cursor.
    Pointer,
    Function,
    /// It ended the task, and the task goes on.
    Ended,
    Asked,
    Extracted,
    /// It only said something.
    Noted,
    /// It cannot be done or understood.
    Invalid {
        problem: String,
    },
    AfterFailure,
    NotNow,
}

/// What a model is told of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settled<'a> {
    pub(crate) call: &'a Call,
    pub(crate) succeeded: bool,
    pub(crate) text: String,
    pub(crate) picture: Option<Picture>,
}

/// A picture that an output has to show.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Picture {
    Shown(Shown),
    /// A region of the screen as it is now; `None`: all of it.
    Now(Option<[i32; 4]>),
}

/// What has been decided since a conversation was last continued.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Since<'a> {
    Nothing,
    One(&'a PastStep),
    /// Others have decided as well.
    More,
}

impl<'a> Since<'a> {
    /// What the history has after the step of that number.
    pub(crate) fn step(number: u32, history: &'a [PastStep]) -> Self {
        let mut later = history.iter().filter(|step| step.step > number);
        match (later.next(), later.next()) {
            (None, _) => Since::Nothing,
            (Some(step), None) => Since::One(step),
            (Some(_), Some(_)) => Since::More,
        }
    }
}

/// The number of the last step of a history.
pub(crate) fn last_step(history: &[PastStep]) -> u32 {
    history.last().map_or(0, |step| step.step)
}

/// What is to be said of each call, in their order. `step` is the one that carried them out, if it is known.
pub(crate) fn settle<'a>(
    calls: &'a [Call],
    step: Option<&PastStep>,
    request: &PlanRequest,
    cursor: Option<(i64, i64)>,
) -> Vec<Settled<'a>> {
    let mut failed = false;
    let settled = |call: &'a Call| {
        let settled = one(call, failed, step, request, cursor);
        failed |= !settled.succeeded && is_input(&call.fate);
        settled
    };
    calls.iter().map(settled).collect()
}

fn is_input(fate: &Fate) -> bool {
    matches!(
        fate,
        Fate::Acts { .. } | Fate::Invalid { .. } | Fate::AfterFailure
    )
}

fn one<'a>(
    call: &'a Call,
    failed: bool,
    step: Option<&PastStep>,
    request: &PlanRequest,
    cursor: Option<(i64, i64)>,
) -> Settled<'a> {
    let said = |outcome: Result<String, String>| Settled {
        call,
        succeeded: outcome.is_ok(),
        text: outcome.unwrap_or_else(|problem| problem),
        picture: None,
    };
    match &call.fate {
        Fate::Function => said(function(&call.id, step)),
        Fate::Ended => said(Err("The task is not over.".to_owned())),
        Fate::Asked => said(Ok(answer(step, request))),
        Fate::Extracted => said(extracted(step)),
        Fate::Noted => said(Ok("Noted. Go on with the task.".to_owned())),
        Fate::Invalid { problem } => said(Err(problem.clone())),
        Fate::NotNow => said(Err(NOT_NOW.to_owned())),
        Fate::AfterFailure => said(Err(AFTER_A_FAILURE.to_owned())),
        Fate::Acts { .. } | Fate::Look { .. } | Fate::Pointer if failed => {
            said(Err(AFTER_A_FAILURE.to_owned()))
        }
        Fate::Acts {
            first,
            count,
            problem,
        } => said(acts(*first, *count, problem.as_deref(), step)),
        Fate::Pointer => said(pointer(cursor)),
        Fate::Look { shown, region } => Settled {
            call,
            succeeded: true,
            text: String::new(),
            picture: Some(match shown {
                Some(shown) => Picture::Shown(shown.clone()),
                None => Picture::Now(*region),
            }),
        },
    }
}

/// What is said of the actions of a call: what the last one did, or why one of them failed.
fn acts(
    first: usize,
    count: usize,
    problem: Option<&str>,
    step: Option<&PastStep>,
) -> Result<String, String> {
    let step = step.ok_or(NOT_KNOWN)?;
    let mut said = String::new();
    for index in first..first.saturating_add(count) {
        let past = step.actions.get(index);
        let outcome = past.map_or_else(|| Err(never_begun(index, step)), performed);
        said = outcome.map_err(|why| numbered(index - first, count, &why))?;
    }
    match problem {
        None => Ok(said),
        Some(problem) => Err(problem.to_owned()),
    }
}

fn numbered(index: usize, count: usize, why: &str) -> String {
    match count {
        1 => why.to_owned(),
        _ => format!("Action {} of {count}: {why}", index + 1),
    }
}

/// An action that there is no record of: one before it failed, or nothing was begun at all.
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
        ActionResult::Cancelled if outcome.never_happened() => Err(NEVER_BEGUN.to_owned()),
        ActionResult::Cancelled => Err(with_detail("Stopped in the middle", &outcome.detail)),
    }
}

fn effect(past: &PastAction) -> &'static str {
    match past.effect.as_ref().map(|effect| effect.verdict) {
        Some(Verdict::Confirmed) => "Done; the screen changed.",
        Some(Verdict::ChangedElsewhere) => "Done; the screen changed, but elsewhere.",
        Some(Verdict::NoEffect) if past.retries > 0 => "Done again and again; nothing changed.",
        Some(Verdict::NoEffect) => "Done; nothing changed.",
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

/// What the user said since the question was asked.
fn answer(step: Option<&PastStep>, request: &PlanRequest) -> String {
    let before = step.map(|step| step.user_messages.as_slice());
    let said = before
        .unwrap_or_default()
        .iter()
        .chain(&request.user_messages);
    let said: Vec<&str> = said.map(String::as_str).collect();
    if said.is_empty() {
        "The user said nothing.".to_owned()
    } else {
        said.join("\n")
    }
}
