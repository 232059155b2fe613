//! Qwen-VL on any server with OpenAI's protocol: a screenshot goes in, a call of `computer_use` comes out, as JSON or
//! XML in the text.
//!
//! - [`tools`]: what the model is told that it can call
//! - [`history`]: what it is shown of earlier steps
//!
//! The functions are written into the system prompt, as the models were trained, and not sent as the protocol's own
//! `tools`: a server's template would write them a second time. Qwen2.5-VL counts in pixels of the picture as its own
//! preprocessing resizes it and is told that size; later ones count in thousandths and are told 1000x1000.

mod history;
mod tools;

use bytes::Bytes;
use motorium_proto::domain::decision::{FunctionCall, Next};
use serde_json::{Value, json};

use super::chat::{self, past};
use super::dialect::{Answer, Asked, Dialect, Misread, Reading, Step, Unasked};
use crate::answer::said::Said;
use crate::answer::tool_calls::{self, ToolCall, computer_use};
use crate::answer::validate::Ground;
use crate::models::Api;
use crate::picture::{Rendered, SentPicture};

use history::Records;

/// The name in configurations.
pub const NAME: &str = "qwen_vl";
/// The model that is asked if the user names none.
pub const DEFAULT_MODEL: &str = "qwen3-vl-plus";

/// The way of asking.
#[derive(Debug, Clone, Copy, Default)]
pub struct QwenVl;

impl Dialect for QwenVl {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::OpenaiChat
    }

    fn needs_image(&self) -> bool {
        true
    }

    fn ask(&self, step: &Step<'_>) -> Result<Asked, Unasked> {
        let current = step.pictures.current(step.model.taste)?;
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output,
            "messages": messages(step, &current)?,
        });
        chat::decide_surely(&mut body, step);
        Ok(Asked {
            body,
            view: Some(current.view),
            ..Asked::default()
        })
    }

    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread> {
        let (text, calls) = calls(answer)?;
        let view = asked
            .view
            .ok_or_else(|| Misread::invalid("no picture was sent"))?;
        let thought = tool_calls::words_before(&text);
        let words = action_words(thought);
        let next = decision(step, &calls, &view, words)?;
        Ok(Answer::Decided(Box::new(Reading {
            thought: thought.to_owned(),
            progress: words.to_owned(),
            next,
            conversation: conversation(step, &text),
            safety_checks: Vec::new(),
            suspected_injections: Vec::new(),
            conversation_images: Vec::new(),
        })))
    }

    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked {
        chat::repaired(asked, answer, misread, chat::language(step))
    }
}

fn messages(step: &Step<'_>, current: &Rendered) -> Result<Vec<Value>, Unasked> {
    let language = chat::language(step);
    let system = step.prompts.render(
        "qwen_vl_system",
        language,
        json!({"tools": tools::lines(step.request, &current.view)}),
    )?;
    let past = history::of(step, language)?;
    let task = step.prompts.render(
        "qwen_vl_task",
        language,
        json!({
            "goal": step.request.goal,
            "instructions": step.request.instructions,
            "advice": step.prompts.advice(&step.request.frame, language),
            "messages": past::user_words(step.request),
            "notices": step.request.notices,
            "actions": past.told,
        }),
    )?;
    let mut messages = vec![chat::message("system", system)];
    // The task stands beside the first screenshot that is shown, whichever step that is of; what came of a step, beside
    // the next one.
    let mut beside = task;
    for shown in past.shown {
        messages.push(chat::shown(&shown.picture, &beside));
        messages.push(chat::message("assistant", shown.answer));
        beside = shown.outcome.unwrap_or_default();
    }
    messages.push(chat::shown(current, &beside));
    Ok(messages)
}

/// The words of an answer and its calls: those that the server has read by itself, or those in the text.
fn calls(answer: &Value) -> Result<(String, Vec<ToolCall>), Misread> {
    let message = &answer["choices"][0]["message"];
    let invalid = |error: tool_calls::CallError| Misread::invalid(error.to_string());
    match message["tool_calls"].as_array() {
        Some(calls) if !calls.is_empty() => {
            let said = Said::of(Api::OpenaiChat, answer)?;
            let call = |call: &Value| {
                let function = &call["function"];
                let name = function["name"].as_str().unwrap_or_default().to_owned();
                tool_calls::of_parts(name, function["arguments"].clone())
            };
            let calls = calls.iter().map(call).collect::<Result<_, _>>();
            Ok((said.text, calls.map_err(invalid)?))
        }
        _ => {
            let text = chat::text(answer)?;
            let calls = tool_calls::read(&text).map_err(invalid)?;
            Ok((text, calls))
        }
    }
}

/// Either the functions of the task that are called first, or what is to be done on the screen before any of them.
fn decision(
    step: &Step<'_>,
    calls: &[ToolCall],
    view: &SentPicture,
    words: &str,
) -> Result<Next, Misread> {
    let is_function = |call: &ToolCall| {
        step.request
            .functions
            .iter()
            .any(|known| known.name == call.name)
    };
    let first = calls.first().is_some_and(is_function);
    let end = calls.iter().position(|call| is_function(call) != first);
    let calls = &calls[..end.unwrap_or(calls.len())];
    if first {
        let calls = calls.iter().enumerate();
        let called = calls.map(|(index, call)| function(step, index, call));
        return called.collect::<Result<_, _>>().map(Next::CallFunctions);
    }
    let commands =
        computer_use::read(calls).map_err(|error| Misread::invalid(error.to_string()))?;
    commands
        .decision(view, words)
        .map_err(|error| Misread::invalid(error.to_string()))
}

/// The protocol has no names for single calls here, so that they are counted.
fn function(step: &Step<'_>, index: usize, call: &ToolCall) -> Result<FunctionCall, Misread> {
    let ground = Ground {
        request: step.request,
        view: None,
    };
    let arguments = Value::Object(call.arguments.clone());
    Ok(FunctionCall {
        call_id: format!("step-{}-call-{}", chat::number(step), index + 1),
        ..ground.function_call(&call.name, &arguments.to_string())?
    })
}

/// What the model says that it does: the line behind `Action:`, or else its last words.
fn action_words(thought: &str) -> &str {
    let lines = || {
        thought
            .lines()
            .rev()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let action = lines().find_map(|line| line.strip_prefix("Action:"));
    action.or_else(|| lines().next()).unwrap_or_default().trim()
}

/// What the model said in its own words, to be shown to it again.
fn conversation(step: &Step<'_>, text: &str) -> Bytes {
    let mut records = Records::of(step.request);
    records.add(chat::number(step), text);
    records.to_bytes()
}
