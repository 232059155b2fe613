//! Claude with Anthropic's computer tool. The conversation uses Anthropic's format, with the model's turns verbatim.
//!
//! - [`input`]: tool input, converted into actions
//! - [`conversation`]: the conversation between two steps, without pixels
//! - [`setup`]: the parts of a request that stay the same during a conversation
//! - [`request`]: builds the request from the conversation and the model's capabilities
//!
//! The tool version of a model is looked up in the model table. A turn that only observes (a screenshot, a zoom, the
//! cursor position) is answered at once from the current frame; no action is performed.

mod conversation;
mod input;
mod request;
mod setup;

use bytes::Bytes;
use motorium_proto::domain::decision::Next;
use serde_json::{Value, json};

use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::estimate;
use super::native::actions::ScreenshotContext;
use super::native::conversation_image::{self, ConversationImage};
use super::native::progress;
use super::native::toolbox::Toolbox;
use super::native::turn::{self, CallMeaning, ParsedCall, Turn};
use crate::models::Api;
use crate::response::validate::ValidationContext;
use crate::response::{ParsedDecision, ResponseError};
use crate::screenshot::{self, SentImage};
use conversation::Conversation;
use setup::ComputerToolVersion;

/// Name in the configuration.
pub const NAME: &str = "claude_computer";

/// Maximum output tokens of a request without streaming.
// The API requires streaming above it.
const MAX_OUTPUT_TOKENS: u64 = 21_333;

/// Dialect for Claude with Anthropic's computer tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeComputer;

impl Dialect for ClaudeComputer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::AnthropicMessages
    }

    fn needs_image(&self) -> bool {
        true
    }

    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
        let tool = ComputerToolVersion::of(step.model)?;
        let view = view(step)?;
        let setup = setup::setup(step, tool, &view)?;
        if let Some(memory) = Conversation::continued(step, &setup, &view)? {
            let model_request = request::assemble(step, &setup, &memory, view)?;
            let is_too_long =
                estimate::is_too_long(&model_request, step.model, step.request.frame.size);
            if !is_too_long && !request::is_too_large(&model_request) {
                return Ok(model_request);
            }
        }
        request::assemble(step, &setup, &Conversation::new(step, &setup)?, view)
    }

    fn parse_response(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
    ) -> Result<ParsedResponse, ResponseError> {
        check_stop(model_request, answer)?;
        let (turn, thought) = parse_turn(step, model_request, answer)?;
        match turn.next {
            Some(next) => {
                let memory = Conversation::of(model_request)?;
                let memory = memory.after(answer, turn.calls, turn.suspected);
                let decided = reading(step, next, thought, memory);
                Ok(ParsedResponse::Decision(Box::new(decided)))
            }
            None => looks(step, model_request, answer, turn),
        }
    }

    fn repair_request(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest {
        match response_error {
            ResponseError::Truncated { limit } => with_more_room(model_request, *limit),
            _ if answer["stop_reason"] == "model_context_window_exceeded" => {
                anew(step).unwrap_or_else(|_| model_request.clone())
            }
            _ => correction_request(step, model_request, answer, response_error)
                .unwrap_or_else(|| model_request.clone()),
        }
    }
}

fn view(step: &StepContext<'_>) -> Result<SentImage, RequestError> {
    if !step.images.has_current() {
        return Err(screenshot::Error::NoImage.into());
    }
    let image_spec = step.model.image_spec;
    let frame = step.request.frame.size;
    let view = SentImage::whole(frame, image_spec.rule, image_spec.convention);
    Ok(view.map_err(screenshot::Error::from)?)
}

/// Checks that the response is complete and not refused.
fn check_stop(model_request: &ModelRequest, answer: &Value) -> Result<(), ResponseError> {
    match answer["stop_reason"].as_str() {
        Some("refusal") => {
            let explanation = answer["stop_details"]["explanation"].as_str();
            Err(ResponseError::Refused {
                message: explanation.unwrap_or("no reason is given").to_owned(),
            })
        }
        Some("max_tokens") => Err(ResponseError::Truncated {
            limit: model_request.body["max_tokens"]
                .as_u64()
                .unwrap_or_default(),
        }),
        Some("model_context_window_exceeded") => Err(ResponseError::invalid(
            "The conversation has become too long.",
        )),
        // An unknown stop reason is accepted: the content counts.
        _ => Ok(()),
    }
}

/// Parses the turn of a response, and the model's text in it.
fn parse_turn(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    answer: &Value,
) -> Result<(Turn, String), ResponseError> {
    let view = model_request
        .view
        .ok_or_else(|| ResponseError::invalid("There was no screenshot."))?;
    let tool = ComputerToolVersion::of(step.model)
        .map_err(|error| ResponseError::invalid(error.to_string()))?;
    let sight = ScreenshotContext::new(view, step.request);
    let toolbox = Toolbox::with(&step.request.functions);
    let blocks = answer["content"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = tool_uses(answer)
        .map(|block| call(block, tool, &sight, &toolbox, &ground(step)))
        .collect::<Result<Vec<_>, _>>()?;
    if calls.is_empty() {
        return Err(ResponseError::invalid(
            "Your turn has no call. Use the computer, or call finish, fail or ask_user.",
        ));
    }
    let current = ConversationImage::current(step.images).ok();
    Ok((
        turn::decide(calls, current.as_ref()),
        text_or_thinking(blocks),
    ))
}

fn tool_uses(answer: &Value) -> impl Iterator<Item = &Value> {
    let blocks = answer["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "tool_use")
}

fn call(
    block: &Value,
    tool: ComputerToolVersion,
    sight: &ScreenshotContext<'_>,
    toolbox: &Toolbox,
    ground: &ValidationContext<'_>,
) -> Result<ParsedCall, ResponseError> {
    let text = |key: &str| block[key].as_str();
    let (Some(id), Some(name)) = (text("id"), text("name")) else {
        return Err(ResponseError::invalid("A call has no id or no name."));
    };
    let arguments = &block["input"];
    let meaning = match tool.action(name, text("toolset_name"), arguments) {
        Some(action) => input::read(action, arguments, tool, sight),
        None if name == "computer" => CallMeaning::Invalid("The input has no action.".to_owned()),
        None => toolbox.read(name, arguments, ground),
    };
    Ok(ParsedCall {
        id: id.to_owned(),
        // A result has to repeat the toolset of its call.
        detail: block["toolset_name"].clone(),
        meaning,
    })
}

/// Returns the model's text; its thinking if there is no text.
fn text_or_thinking(blocks: &[Value]) -> String {
    let joined = |kind: &str| {
        let texts = blocks.iter().filter(|block| block["type"] == kind);
        let texts = texts.filter_map(|block| block[kind].as_str().map(str::trim));
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        texts.join("\n")
    };
    let text = joined("text");
    if text.is_empty() {
        joined("thinking")
    } else {
        text
    }
}

fn reading(
    step: &StepContext<'_>,
    next: Next,
    thought: String,
    mut memory: Conversation,
) -> ParsedDecision {
    let suspected = memory.state.take_suspected();
    let ground = ground(step);
    ParsedDecision {
        progress: progress::progress(&thought, &next),
        thought,
        next,
        conversation: Bytes::from(memory.to_json().to_string()),
        safety_checks: Vec::new(),
        conversation_images: conversation_image::checksums(&memory.shown()),
        suspected_injections: suspected
            .iter()
            .map(|quote| ground.suspected_injection(quote))
            .collect(),
    }
}

fn ground<'a>(step: &StepContext<'a>) -> ValidationContext<'a> {
    ValidationContext {
        request: step.request,
        view: None,
    }
}

/// Answers a turn that only observes with what it asked for, or fails with the turn's error.
fn looks(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    answer: &Value,
    turn: Turn,
) -> Result<ParsedResponse, ResponseError> {
    if let Some(problem) = turn.problem {
        return Err(ResponseError::Invalid { message: problem });
    }
    let wrong = |error: &dyn std::fmt::Display| ResponseError::invalid(error.to_string());
    let view = model_request
        .view
        .ok_or_else(|| ResponseError::invalid("There was no screenshot."))?;
    let memory = Conversation::of(model_request)?
        .after(answer, turn.calls, turn.suspected)
        .with_screenshot_results(step, &view)
        .map_err(|error| wrong(&error))?;
    if memory.shown().len() > step.model.max_images {
        return Err(ResponseError::invalid(
            "You have looked often enough: act now.",
        ));
    }
    let again = again(step, &memory, view).map_err(|error| wrong(&error))?;
    Ok(ParsedResponse::FollowUp(Box::new(again)))
}

fn again(
    step: &StepContext<'_>,
    memory: &Conversation,
    view: SentImage,
) -> Result<ModelRequest, RequestError> {
    let setup = setup::setup(step, ComputerToolVersion::of(step.model)?, &view)?;
    request::assemble(step, &setup, memory, view)
}

fn anew(step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
    let view = view(step)?;
    let setup = setup::setup(step, ComputerToolVersion::of(step.model)?, &view)?;
    request::assemble(step, &setup, &Conversation::new(step, &setup)?, view)
}

fn with_more_room(model_request: &ModelRequest, limit: u64) -> ModelRequest {
    let mut model_request = model_request.clone();
    model_request.body["max_tokens"] = json!(limit.saturating_mul(2).min(MAX_OUTPUT_TOKENS));
    model_request
}

/// Builds the request that reports the error of the model's turn.
fn correction_request(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    answer: &Value,
    response_error: &ResponseError,
) -> Option<ModelRequest> {
    let memory = Conversation::of(model_request).ok()?;
    let is_silent = tool_uses(answer).next().is_none();
    let turn = parse_turn(step, model_request, answer).map(|(turn, _)| turn);
    let (calls, suspected) = turn.map_or_else(
        |_| (Vec::new(), Vec::new()),
        |turn| (turn.calls, turn.suspected),
    );
    let memory = memory
        .after(answer, calls, suspected)
        .with_correction(&response_error.to_string());
    let mut again = again(step, &memory, model_request.view?).ok()?;
    if is_silent && request::may_be_forced(step.model) {
        again.body["tool_choice"] = json!({"type": "any"});
    }
    Some(again)
}
