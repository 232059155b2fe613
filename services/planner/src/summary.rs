//! Summarises a task for the user. Without a model: the answer of the last decision, or for a failed task, how far it
//! came. With a model: in its words, from the same record.

use std::sync::Arc;

use motorium_messages::{Message, join_clauses, join_sentences};
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
    let performed = performed(&request.history);
    match (request.succeeded, request.answer.trim()) {
        (true, "") => done(&performed, language),
        (true, answer) => answer.to_owned(),
        (false, answer) => not_done(answer, &performed, language),
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

fn done(performed: &[&str], language: Language) -> String {
    let joined = join_clauses(performed, language);
    let message = match performed.is_empty() {
        true => Message::SummaryNothingNeeded,
        false => Message::SummarySucceeded { done: &joined },
    };
    message.text(language)
}

fn not_done(answer: &str, performed: &[&str], language: Language) -> String {
    let joined = join_clauses(performed, language);
    let reason = answer.trim_end_matches(['.', '。']);
    let failed = (!reason.is_empty()).then_some(Message::SummaryFailed { reason });
    let until_then = match performed.is_empty() {
        true => Message::SummaryNothingDone,
        false => Message::SummaryDone { done: &joined },
    };
    let sentences = failed.into_iter().chain([until_then]);
    let sentences: Vec<String> = sentences.map(|message| message.text(language)).collect();
    join_sentences(&sentences, language)
}
