//! The answer of a model that was shown a numbered picture and a list of elements: one JSON object.
//!
//! - [`schema`]: what it looks like
//!
//! It is read leniently (a field that is missing, a number in quotes, a word in capitals) and held strictly against the
//! screen: what cannot be done exactly as it is said is an error that the model is told.

mod action;
mod fields;
pub mod schema;

use bytes::Bytes;
use motorium_proto::domain::decision::{Next, PlannedAction};
use serde_json::{Map, Value};

use self::fields::Fields;
use super::validate::{self, Ground};
use crate::backends::dialect::{Misread, Reading};

/// Most actions of one step: what comes after them is better decided on a new screen.
pub const MOST_ACTIONS: usize = 8;
/// Longest line of progress, in characters.
const LONGEST_PROGRESS: usize = 200;

/// Reads an answer.
///
/// # Errors
/// If it is no decision that can be carried out on this screen.
pub fn read(answer: &Map<String, Value>, ground: &Ground<'_>) -> Result<Reading, Misread> {
    let fields = Fields(answer);
    let next = next(fields, ground)?;
    let progress = progress(fields, &next);
    let quotes = fields.texts("suspected_injections").into_iter();
    Ok(Reading {
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

fn next(fields: Fields<'_>, ground: &Ground<'_>) -> Result<Next, Misread> {
    let word = fields.word("next");
    match word.as_str() {
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
            needs_hands: fields.flag("needs_hands"),
        }),
        "call_function" => {
            let call = ground.function_call(&fields.text("function"), &fields.text("arguments"))?;
            Ok(Next::CallFunctions(vec![call]))
        }
        "extract" => extract(fields),
        other => Err(Misread::invalid(format!(
            "`next` is `{other}`; it is one of: {}",
            schema::NEXT.join(", ")
        ))),
    }
}

/// Whether there is something to do although it is not said that there is.
fn is_action(fields: Fields<'_>) -> bool {
    let actions = fields.objects("actions");
    actions.map_or(true, |actions| !actions.is_empty()) || !fields.word("action").is_empty()
}

fn acts(fields: Fields<'_>, ground: &Ground<'_>) -> Result<Next, Misread> {
    let mut actions = fields.objects("actions")?;
    if actions.is_empty() && !fields.word("action").is_empty() {
        actions.push(fields);
    }
    if actions.is_empty() {
        return Err(Misread::invalid("`next` is `act`, and `actions` is empty"));
    }
    if actions.len() > MOST_ACTIONS {
        return Err(Misread::invalid(format!(
            "`actions` has {} actions, and at most {MOST_ACTIONS} are possible in one step",
            actions.len()
        )));
    }
    let numbered = actions.into_iter().enumerate();
    let read = numbered.map(|(index, fields)| {
        action::read(fields, ground).map_err(|misread| of_action(index, misread))
    });
    read.collect::<Result<Vec<_>, _>>().map(Next::Act)
}

fn of_action(index: usize, misread: Misread) -> Misread {
    match misread {
        Misread::Invalid { message } => Misread::invalid(format!("actions[{index}]: {message}")),
        other => other,
    }
}

fn message(fields: Fields<'_>, what: &str) -> Result<String, Misread> {
    let message = fields.text("message").trim().to_owned();
    if message.is_empty() {
        return Err(Misread::invalid(format!(
            "`message` is empty; it says {what}"
        )));
    }
    Ok(message)
}

fn extract(fields: Fields<'_>) -> Result<Next, Misread> {
    let json_schema = fields.text("json_schema");
    if !validate::is_schema(&json_schema) {
        return Err(Misread::invalid("`json_schema` is no JSON Schema"));
    }
    Ok(Next::Extract {
        json_schema,
        instruction: message(fields, "what to take from the screen")?,
    })
}

/// One line for people; where the model gives none, what it means to do.
fn progress(fields: Fields<'_>, next: &Next) -> String {
    let said = fields.text("progress");
    let line = match next {
        _ if !said.trim().is_empty() => said,
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
    match line.char_indices().nth(LONGEST_PROGRESS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
