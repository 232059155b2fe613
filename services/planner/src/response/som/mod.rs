//! The response of a model to an annotated screenshot and a list of elements: one JSON object.
//!
//! - [`schema`]: its JSON schema
//!
//! Parsing is lenient (missing fields, quoted numbers, words in capitals); validation against the screen is strict. What
//! cannot be performed exactly as stated is an error that is sent to the model.
//!
//! The prompt is not built here but in `som_prompt`.

mod action;
mod arguments;
mod fields;
pub mod schema;

use bytes::Bytes;
use motorium_proto::domain::decision::{Next, PlannedAction};
use serde_json::{Map, Value};

use self::action::Focus;
use self::fields::Fields;
use super::validate::{self, ValidationContext};
use crate::response::{ParsedDecision, ResponseError};

/// Maximum number of actions per step: later ones are better decided on a new screenshot.
pub const MAX_ACTIONS: usize = 8;
/// Maximum length of a progress line, in characters: it has to fit one line of a terminal or page.
const MAX_PROGRESS_CHARS: usize = 200;

/// Returns whether an object is meant as a decision, valid or not: it says what comes next.
#[must_use]
pub fn is_decision(object: &Map<String, Value>) -> bool {
    ["next", "actions", "action"]
        .iter()
        .any(|name| object.contains_key(*name))
}

/// Parses a response.
///
/// # Errors
/// Fails if it is not a decision that can be performed on this screen.
pub fn read(
    answer: &Map<String, Value>,
    ground: &ValidationContext<'_>,
) -> Result<ParsedDecision, ResponseError> {
    let fields = Fields(answer);
    let next = next(fields, ground)?;
    let progress = progress(fields, &next);
    let quotes = fields.texts("suspected_injections").into_iter();
    Ok(ParsedDecision {
        thought: fields.text("thought"),
        progress,
        next,
        conversation: Bytes::new(),
        safety_checks: Vec::new(),
        conversation_images: Vec::new(),
        suspected_injections: quotes
            .map(|quote| ground.suspected_injection(&quote))
            .collect(),
    })
}

fn next(fields: Fields<'_>, ground: &ValidationContext<'_>) -> Result<Next, ResponseError> {
    let word = fields.word("next");
    if !matches!(word.as_str(), "act" | "") && has_actions(fields) {
        return Err(ResponseError::invalid(format!(
            "`next` is `{word}`, and `actions` is not empty; perform them with `act` first"
        )));
    }
    match word.as_str() {
        "act" | "" if ending_word(fields).is_some() => ending(fields),
        "act" => acts(fields, ground),
        "" if is_action(fields) => acts(fields, ground),
        "done" => Ok(Next::Done {
            answer: fields.text("message"),
            evidence: fields.texts("evidence"),
        }),
        "fail" => Ok(Next::Fail {
            reason: message(fields, "why it cannot be done")?,
        }),
        "ask" => Ok(Next::Ask {
            question: message(fields, "the question")?,
            requires_manual_action: fields.flag("needs_hands"),
        }),
        "call_function" => {
            let call = ground.function_call(&fields.text("function"), &fields.text("arguments"))?;
            Ok(Next::CallFunctions(vec![call]))
        }
        "extract" => extract(fields),
        other => Err(ResponseError::invalid(format!(
            "`next` is `{other}`; it is one of: {}",
            schema::NEXT.join(", ")
        ))),
    }
}

fn has_actions(fields: Fields<'_>) -> bool {
    let actions = fields.objects("actions");
    actions.map_or(true, |actions| !actions.is_empty())
}

/// Words of actions that end the task. Models that were trained on other tools write them as an action.
const SUCCESS: &[&str] = &["done", "finish", "finished", "answer"];
const FAILURE: &[&str] = &["fail", "failed"];
const EITHER: &str = "terminate";

/// Returns the action that ends the task, if the response is one alone: `{"action": "done"}`.
fn ending_action(fields: Fields<'_>) -> Option<Fields<'_>> {
    let actions = fields.objects("actions").ok()?;
    match actions.as_slice() {
        [] => Some(fields),
        [action] => Some(*action),
        _ => None,
    }
}

fn ending_word(fields: Fields<'_>) -> Option<String> {
    let word = ending_action(fields)?.word("action");
    is_ending(&word).then_some(word)
}

fn is_ending(word: &str) -> bool {
    SUCCESS.contains(&word) || FAILURE.contains(&word) || word == EITHER
}

fn ending(fields: Fields<'_>) -> Result<Next, ResponseError> {
    let action = ending_action(fields).unwrap_or(fields);
    let texts = [
        fields.text("message"),
        action.text("message"),
        action.text("text"),
        action.text("reason"),
    ];
    let text = texts
        .into_iter()
        .map(|text| text.trim().to_owned())
        .find(|text| !text.is_empty())
        .unwrap_or_default();
    let word = action.word("action");
    let succeeds = match action.word("status").as_str() {
        _ if SUCCESS.contains(&word.as_str()) => true,
        _ if FAILURE.contains(&word.as_str()) => false,
        "success" => true,
        "failure" | "fail" => false,
        other => {
            return Err(ResponseError::invalid(format!(
                "`{other}` is no status: success and failure are"
            )));
        }
    };
    if succeeds {
        return Ok(Next::Done {
            answer: text,
            evidence: fields.texts("evidence"),
        });
    }
    let thought = fields.text("thought").trim().to_owned();
    let reason = if text.is_empty() { thought } else { text };
    if reason.is_empty() {
        return Err(ResponseError::invalid(
            "it does not say why it cannot be done",
        ));
    }
    Ok(Next::Fail { reason })
}

/// Returns whether the response has an action although `next` does not say so.
fn is_action(fields: Fields<'_>) -> bool {
    has_actions(fields) || !fields.word("action").is_empty()
}

fn acts(fields: Fields<'_>, ground: &ValidationContext<'_>) -> Result<Next, ResponseError> {
    let mut actions = fields.objects("actions")?;
    if actions.is_empty() && !fields.word("action").is_empty() {
        actions.push(fields);
    }
    if actions.is_empty() {
        return Err(ResponseError::invalid(
            "`next` is `act`, and `actions` is empty",
        ));
    }
    if actions.len() > MAX_ACTIONS {
        return Err(ResponseError::invalid(format!(
            "`actions` has {} actions, and at most {MAX_ACTIONS} are possible in one step",
            actions.len()
        )));
    }
    let mut focus = Focus::default();
    let mut planned = Vec::new();
    for (index, fields) in actions.into_iter().enumerate() {
        let word = fields.word("action");
        // The model sees the effect of the actions first and can then declare the end again.
        if index > 0 && is_ending(&word) {
            break;
        }
        let read = action::read(fields, ground, &mut focus);
        planned.extend(read.map_err(|response_error| of_action(index, response_error))?);
    }
    Ok(Next::Act(planned))
}

fn of_action(index: usize, response_error: ResponseError) -> ResponseError {
    match response_error {
        ResponseError::Invalid { message } => {
            ResponseError::invalid(format!("actions[{index}]: {message}"))
        }
        other => other,
    }
}

fn message(fields: Fields<'_>, what: &str) -> Result<String, ResponseError> {
    let message = fields.text("message").trim().to_owned();
    if message.is_empty() {
        return Err(ResponseError::invalid(format!(
            "`message` is empty; it says {what}"
        )));
    }
    Ok(message)
}

fn extract(fields: Fields<'_>) -> Result<Next, ResponseError> {
    let json_schema = fields.text("json_schema");
    // A field that is absent may have been lost.
    let is_given = fields.first_of(&["json_schema"]).is_some();
    if is_given && json_schema.trim().is_empty() {
        return Ok(Next::Extract {
            json_schema: String::new(),
            instruction: fields.text("message").trim().to_owned(),
        });
    }
    if !validate::is_schema(&json_schema) {
        return Err(ResponseError::invalid("`json_schema` is no JSON Schema"));
    }
    Ok(Next::Extract {
        json_schema,
        instruction: message(fields, "what to take from the screen")?,
    })
}

/// Returns one line for the user; the actions' intents if the model gives none.
fn progress(fields: Fields<'_>, next: &Next) -> String {
    let text = fields.text("progress");
    let line = match next {
        _ if !text.trim().is_empty() => text,
        Next::Act(actions) => {
            let intent = |action: &PlannedAction| action.intent.clone();
            actions.iter().map(intent).collect::<Vec<_>>().join("; ")
        }
        Next::Done { answer, .. } => answer.clone(),
        Next::Fail { reason } => reason.clone(),
        Next::Ask { question, .. } => question.clone(),
        Next::CallFunctions(calls) => {
            let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
            names.join(", ")
        }
        Next::Extract { instruction, .. } => instruction.clone(),
    };
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MAX_PROGRESS_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
