//! Qwen-VL on any server with OpenAI's protocol. It receives a screenshot and responds with a call of `computer_use`, as
//! JSON or XML in the text.
//!
//! - [`tools`]: tool declarations for the model
//! - [`history`]: earlier steps in the prompt
//!
//! The functions are part of the system prompt, as in the models' training data. They are not sent as the protocol's
//! `tools`, because the server's template would add them a second time. Qwen2.5-VL uses pixels of the image after its own
//! resizing and is told that size; later models use thousandths and are told 1000x1000.

mod history;
mod tools;

use bytes::Bytes;
use motorium_proto::domain::decision::{FunctionCall, Next};
use serde_json::{Value, json};

use super::chat::{self, history_text};
use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::user_images;
use crate::models::Api;
use crate::response::text::ResponseText;
use crate::response::tool_calls::{self, ToolCall, computer_use};
use crate::response::validate::ValidationContext;
use crate::response::{ParsedDecision, ResponseError};
use crate::screenshot::{RenderedImage, SentImage};

use history::Records;

/// Name in the configuration.
pub const NAME: &str = "qwen_vl";
/// Model if none is configured.
pub const DEFAULT_MODEL: &str = "qwen3-vl-plus";

/// Dialect for Qwen-VL.
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

    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
        let current = step.images.current(step.model.image_spec)?;
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output_tokens,
            "messages": messages(step, &current)?,
        });
        chat::set_greedy_sampling(&mut body, step);
        Ok(ModelRequest {
            body,
            view: Some(current.view),
            ..ModelRequest::default()
        })
    }

    fn parse_response(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
    ) -> Result<ParsedResponse, ResponseError> {
        let (text, calls) = calls(answer)?;
        let view = model_request
            .view
            .ok_or_else(|| ResponseError::invalid("no screenshot was sent"))?;
        let thought = tool_calls::words_before(&text);
        let words = action_words(thought);
        let next = decision(step, &calls, &view, words)?;
        Ok(ParsedResponse::Decision(Box::new(ParsedDecision {
            thought: thought.to_owned(),
            progress: words.to_owned(),
            next,
            conversation: conversation(step, &text),
            safety_checks: Vec::new(),
            suspected_injections: Vec::new(),
            conversation_images: Vec::new(),
        })))
    }

    fn repair_request(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest {
        chat::repaired(model_request, answer, response_error, chat::language(step))
    }
}

fn messages(step: &StepContext<'_>, current: &RenderedImage) -> Result<Vec<Value>, RequestError> {
    let language = chat::language(step);
    let system = step.prompts.render(
        "qwen_vl_system",
        language,
        json!({
            "tools": tools::lines(step.request, &current.view),
            "language": chat::output_language(step),
        }),
    )?;
    let past = history::of(step, language)?;
    let values = minijinja::context! {
        messages => history_text::user_words(step.request),
        actions => past.text_steps,
    };
    let values = chat::with_context(step, values)?;
    let task = step.prompts.render("qwen_vl_task", language, &values)?;
    let screen = step.prompts.render("qwen_vl_screen", language, &values)?;
    let mut messages = vec![chat::message("system", system)];
    // The task goes with the first screenshot that is shown, whichever step it belongs to, and the user's images go with
    // the task. The outcome of a step goes with the next screenshot, and what holds only now with the current one.
    let (mut beside, mut of_user) = (Some(task), user_images::rendered(step)?);
    for shown in past.image_steps {
        let message = chat::image_message(&shown.image, &beside.unwrap_or_default());
        messages.push(chat::with_user_images(message, &of_user));
        of_user.clear();
        messages.push(chat::message("assistant", shown.answer));
        beside = shown.outcome;
    }
    let beside: Vec<&str> = beside
        .iter()
        .map(|text| text.trim_end())
        .chain([screen.as_str()])
        .collect();
    let message = chat::image_message(current, &beside.join("\n\n"));
    messages.push(chat::with_user_images(message, &of_user));
    Ok(messages)
}

/// Returns the text of a response and its calls: those that the server has parsed, or those in the text.
fn calls(answer: &Value) -> Result<(String, Vec<ToolCall>), ResponseError> {
    let message = &answer["choices"][0]["message"];
    let invalid = |error: tool_calls::CallError| ResponseError::invalid(error.to_string());
    match message["tool_calls"].as_array() {
        Some(calls) if !calls.is_empty() => {
            let response = ResponseText::of(Api::OpenaiChat, answer)?;
            let call = |call: &Value| {
                let function = &call["function"];
                let name = function["name"].as_str().unwrap_or_default().to_owned();
                tool_calls::of_parts(name, function["arguments"].clone())
            };
            let calls = calls.iter().map(call).collect::<Result<_, _>>();
            Ok((response.text, calls.map_err(invalid)?))
        }
        _ => {
            let text = chat::text(answer)?;
            let calls = tool_calls::read(&text).map_err(invalid)?;
            Ok((text, calls))
        }
    }
}

/// Returns either the leading function calls of the task, or the screen actions before any of them.
fn decision(
    step: &StepContext<'_>,
    calls: &[ToolCall],
    view: &SentImage,
    words: &str,
) -> Result<Next, ResponseError> {
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
        computer_use::read(calls).map_err(|error| ResponseError::invalid(error.to_string()))?;
    chat::decision(step, commands, view, words)
}

/// Builds a function call. The calls have no ids here, so they are numbered.
fn function(
    step: &StepContext<'_>,
    index: usize,
    call: &ToolCall,
) -> Result<FunctionCall, ResponseError> {
    let ground = ValidationContext {
        request: step.request,
        view: None,
    };
    let arguments = Value::Object(call.arguments.clone());
    Ok(FunctionCall {
        call_id: format!("step-{}-call-{}", chat::number(step), index + 1),
        ..ground.function_call(&call.name, &arguments.to_string())?
    })
}

/// Returns the model's description of its action: the line after `Action:`, or else its last line.
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

/// Returns the conversation with the model's own response added, to be shown to it again.
fn conversation(step: &StepContext<'_>, text: &str) -> Bytes {
    let mut records = Records::of(step.request);
    records.add(chat::number(step), text);
    records.to_bytes()
}
