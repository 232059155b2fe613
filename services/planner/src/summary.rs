//! Summarises a task for the user. Without a model: the answer of the last decision, or for a failed task, how far it
//! came. With a model: in its words, from the same record.

use std::sync::Arc;

use motorium_proto::domain::decision::PastStep;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::service::SummarizeRequest;
use serde_json::Value;

use crate::backends::question::Question;
use crate::prompt::history::CoordinateFormat;
use crate::prompt::{self, Language, Prompts, context};

/// Summarises a task without a model.
#[must_use]
pub fn summarise(request: &SummarizeRequest) -> String {
    let language = Language::of(request.language.as_deref(), &request.goal);
    let is_chinese = language == Language::Chinese;
    let performed = performed(&request.history);
    match (request.succeeded, request.answer.trim()) {
        (true, "") => done(&performed, is_chinese),
        (true, answer) => answer.to_owned(),
        (false, answer) => not_done(answer, &performed, is_chinese),
    }
}

/// Maximum length of a model's summary, in characters: far more than the few sentences that are requested.
const MAX_ANSWER_CHARS: usize = 4000;

/// Builds the question for a model.
///
/// # Errors
/// Fails if a template cannot be rendered.
pub fn question(request: &SummarizeRequest, prompts: &Prompts) -> Result<Question, prompt::Error> {
    let language = Language::of(request.language.as_deref(), &request.goal);
    let spoken = context::output_language(request.language.as_deref(), &request.goal);
    let system = minijinja::context! { language => spoken };
    let values = minijinja::context! {
        goal => request.goal.as_str(),
        history => context::past(&request.history, language, CoordinateFormat::Capture),
        data => context::data(&request.history),
        succeeded => request.succeeded,
        answer => request.answer.trim(),
    };
    let text = prompts.render("summary", language, values)?;
    Ok(Question {
        system: prompts.render("summary_system", language, system)?,
        text: Arc::new(move |_| Ok(text.clone())),
        image: None,
        marked: Vec::new(),
        check: Arc::new(|answer, _| checked(answer)),
        remaining: request.remaining,
    })
}

fn checked(answer: &str) -> Result<Value, String> {
    let answer = answer.trim();
    match answer.chars().count() {
        0 => Err("the answer is empty; a few sentences are wanted".to_owned()),
        1..=MAX_ANSWER_CHARS => Ok(Value::String(answer.to_owned())),
        _ => Err("the answer is far too long; two or three sentences are wanted".to_owned()),
    }
}

/// Returns the intents of performed actions, without consecutive duplicates.
fn performed(history: &[PastStep]) -> Vec<&str> {
    let actions = history.iter().flat_map(|step| &step.actions);
    let performed = actions.filter(|action| action.outcome.result == ActionResult::Performed);
    let mut intents: Vec<&str> = performed
        .map(|action| action.planned.intent.as_str())
        .filter(|intent| !intent.is_empty())
        .collect();
    intents.dedup();
    intents
}

fn done(performed: &[&str], is_chinese: bool) -> String {
    match (performed.is_empty(), is_chinese) {
        (true, false) => "Done; no action was needed.".to_owned(),
        (true, true) => "已完成，无需任何操作。".to_owned(),
        (false, false) => format!("Done: {}.", performed.join("; ")),
        (false, true) => format!("已完成：{}。", performed.join("；")),
    }
}

fn not_done(answer: &str, performed: &[&str], is_chinese: bool) -> String {
    let nothing = if is_chinese { "无" } else { "none" };
    let until_then = if performed.is_empty() {
        nothing.to_owned()
    } else {
        performed.join(if is_chinese { "；" } else { "; " })
    };
    match (answer.is_empty(), is_chinese) {
        (true, false) => format!("Not done. Completed steps: {until_then}."),
        (false, false) => format!("Not done: {answer} Completed steps: {until_then}."),
        (true, true) => format!("未完成。在此之前：{until_then}。"),
        (false, true) => format!("未完成：{answer}在此之前：{until_then}。"),
    }
}
