//! OpenAI's models with OpenAI's computer tool, over the Responses API: the newer `computer` with several actions per
//! call, and the older `computer_use_preview` with one.
//!
//! - [`input`]: tool input, converted into actions
//! - [`conversation`]: the conversation between two steps, without pixels
//! - [`setup`]: the parts of a request that stay the same during a conversation
//! - [`storage`]: the place of a conversation between two steps
//! - [`request`]: builds the request from the conversation and the model's capabilities
//!
//! The provider stores the conversation and each request names the last response. For users who want nothing stored, and
//! for accounts without storage, each request contains the whole conversation with encrypted reasoning. A safety check of
//! the provider is acknowledged only if the user accepted it; otherwise the conversation restarts without its call.

mod conversation;
mod input;
mod request;
mod setup;
mod storage;

use std::time::Duration;

use bytes::Bytes;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{Next, SafetyCheck};
use serde_json::{Value, json};

use super::degraded_features::DegradedFeatures;
use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::estimate;
use super::native::actions::ScreenshotContext;
use super::native::conversation_image::{self, ConversationImage};
use super::native::progress;
use super::native::toolbox::Toolbox;
use super::native::turn::{self, CallMeaning, ParsedCall, Turn};
use crate::models::Api;
use crate::provider::RejectedRequest;
use crate::response::validate::ValidationContext;
use crate::response::{ParsedDecision, ResponseError};
use crate::screenshot::{self, SentImage};
use conversation::Conversation;
use setup::Setup;

pub use storage::ConversationStorage;

/// Name in the configuration.
pub const NAME: &str = "openai_computer";
/// Model if none is configured.
pub const DEFAULT_MODEL: &str = "gpt-5.6-sol";

/// Maximum output tokens of the repeated request after a truncated response: bounds its cost.
const MAX_OUTPUT_TOKENS: u64 = 32_768;

/// Dialect for OpenAI's models with OpenAI's computer tool.
#[derive(Debug, Clone, Copy, Default, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenAiComputer {
    pub conversation_storage: ConversationStorage,
}

impl Dialect for OpenAiComputer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::OpenaiResponses
    }

    fn needs_image(&self) -> bool {
        true
    }

    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
        let view = view(step)?;
        let keeping = if step.degraded.without_storage {
            ConversationStorage::Stateless
        } else {
            self.conversation_storage
        };
        let setup = Setup::of(step, keeping, &view)?;
        if let Some(memory) = Conversation::continued(step, &setup)? {
            let model_request = request::assemble(step, &setup, &memory, view)?;
            if !estimate::is_too_long(&model_request, step.model, step.request.frame.size) {
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
        check_status(model_request, answer)?;
        let parsed = parse_turn(step, model_request, answer)?;
        let memory = Conversation::of(model_request)?;
        if parsed.turn.calls.is_empty() {
            let memory = memory.after(
                ConversationStorage::of(model_request),
                answer,
                Vec::new(),
                Vec::new(),
            )?;
            return Ok(decided(step, parsed.words.decision()?, parsed, memory));
        }
        let memory = memory.after(
            ConversationStorage::of(model_request),
            answer,
            parsed.turn.calls.clone(),
            parsed.turn.suspected.clone(),
        )?;
        match &parsed.turn.next {
            Some(next) => {
                let next = next.clone();
                Ok(decided(step, next, parsed, memory))
            }
            None if parsed.turn.problem.is_some() => Err(ResponseError::Invalid {
                message: parsed.turn.problem.unwrap_or_default(),
            }),
            // There is no action, but the user has to see the safety check before the screen is shown.
            None if !parsed.checks.is_empty() => {
                Ok(decided(step, pause(step, model_request)?, parsed, memory))
            }
            None => looks(step, model_request, memory),
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
            // A failed response is not part of the conversation.
            _ if check_status(model_request, answer).is_err() => model_request.clone(),
            _ => correction_request(step, model_request, answer, response_error)
                .unwrap_or_else(|| model_request.clone()),
        }
    }

    fn degrade(
        &self,
        refused: &RejectedRequest,
        made: DegradedFeatures,
    ) -> Option<DegradedFeatures> {
        let words = refused.words.to_lowercase();
        let is_not_kept = words.contains("zero data retention")
            || words.contains("previous response cannot be used");
        if is_not_kept && !made.without_storage {
            return Some(DegradedFeatures {
                without_storage: true,
                ..made
            });
        }
        if words.contains("current_url") && !made.without_current_url {
            return Some(DegradedFeatures {
                without_current_url: true,
                ..made
            });
        }
        made.degraded_by(refused)
    }
}

/// Answers a turn that only observes with the screenshot.
fn looks(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    memory: Conversation,
) -> Result<ParsedResponse, ResponseError> {
    let memory = memory
        .with_screenshot_results(step)
        .map_err(|error| ResponseError::invalid(error.to_string()))?;
    if memory.shown().len() > step.model.max_images {
        return Err(ResponseError::invalid(
            "You have looked often enough: act now.",
        ));
    }
    let again = again(step, model_request, &memory);
    let again = again.map_err(|error| ResponseError::invalid(error.to_string()))?;
    Ok(ParsedResponse::FollowUp(Box::new(again)))
}

/// Builds the request that reports the error of the model's turn. A turn with a safety check cannot be answered before
/// the user has seen it, so the conversation restarts.
fn correction_request(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    answer: &Value,
    response_error: &ResponseError,
) -> Option<ModelRequest> {
    let parsed = parse_turn(step, model_request, answer).ok();
    let problem = response_error.to_string();
    let memory = match parsed {
        Some(parsed) if !parsed.checks.is_empty() => {
            let view = model_request.view?;
            let setup = Setup::of(step, ConversationStorage::of(model_request), &view).ok()?;
            Conversation::new(step, &setup)
                .ok()?
                .with_user_text(&problem)
        }
        parsed => {
            let turn = parsed.map(|parsed| parsed.turn);
            let (calls, suspected) =
                turn.map_or_else(Default::default, |turn| (turn.calls, turn.suspected));
            let keeping = ConversationStorage::of(model_request);
            let memory = Conversation::of(model_request).ok()?;
            let memory = memory.after(keeping, answer, calls, suspected).ok()?;
            memory.with_correction(step, &problem).ok()?
        }
    };
    again(step, model_request, &memory).ok()
}

fn again(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    memory: &Conversation,
) -> Result<ModelRequest, RequestError> {
    let view = model_request.view.map_or_else(|| view(step), Ok)?;
    let setup = Setup::of(step, ConversationStorage::of(model_request), &view)?;
    request::assemble(step, &setup, memory, view)
}

/// The parsed content of a response.
struct ParsedTurn {
    turn: Turn,
    words: ModelWords,
    /// Safety checks that the user has to see before anything is performed.
    checks: Vec<SafetyCheck>,
}

fn view(step: &StepContext<'_>) -> Result<SentImage, RequestError> {
    if !step.images.has_current() {
        return Err(screenshot::Error::NoImage.into());
    }
    let image_spec = step.model.image_spec;
    let view = SentImage::whole(
        step.request.frame.size,
        image_spec.rule,
        image_spec.convention,
    );
    Ok(view.map_err(screenshot::Error::from)?)
}

/// Checks that the response is complete and not refused.
fn check_status(model_request: &ModelRequest, answer: &Value) -> Result<(), ResponseError> {
    let reason = answer["incomplete_details"]["reason"].as_str();
    match (answer["status"].as_str(), reason) {
        (_, Some("max_output_tokens")) => Err(ResponseError::Truncated {
            limit: model_request.body["max_output_tokens"]
                .as_u64()
                .unwrap_or_default(),
        }),
        (_, Some("content_filter")) => Err(ResponseError::Refused {
            message: "the provider's filter stopped the answer".to_owned(),
        }),
        (Some("completed") | None, None) => Ok(()),
        (status, _) => {
            let status = status.unwrap_or("incomplete");
            let error = answer["error"]["message"].as_str().unwrap_or_default();
            Err(ResponseError::invalid(format!(
                "The response is {status}. {error}"
            )))
        }
    }
}

fn items(answer: &Value) -> &[Value] {
    answer["output"].as_array().map_or(&[], Vec::as_slice)
}

fn parse_turn(
    step: &StepContext<'_>,
    model_request: &ModelRequest,
    answer: &Value,
) -> Result<ParsedTurn, ResponseError> {
    let view = model_request
        .view
        .ok_or_else(|| ResponseError::invalid("There was no screenshot."))?;
    let sight = ScreenshotContext::new(view, step.request);
    let toolbox = Toolbox::with(&step.request.functions);
    let mut calls = Vec::new();
    let mut checks = Vec::new();
    for item in items(answer) {
        match item["type"].as_str() {
            Some("computer_call") => {
                checks.extend(pending(item).filter_map(safety_check));
                calls.push(computer_call(item, &sight)?);
            }
            Some("function_call") => calls.push(function_call(item, &toolbox, &ground(step))?),
            Some("message") => refusal(item)?,
            _ => {}
        }
    }
    let current = ConversationImage::current(step.images).ok();
    Ok(ParsedTurn {
        turn: turn::decide(calls, current.as_ref()),
        words: ModelWords::of(items(answer)),
        checks,
    })
}

fn computer_call(item: &Value, sight: &ScreenshotContext<'_>) -> Result<ParsedCall, ResponseError> {
    let checks: Vec<&Value> = pending(item).collect();
    Ok(ParsedCall {
        id: call_id(item)?,
        detail: json!({"computer": true, "checks": checks}),
        meaning: input::read(item, sight),
    })
}

fn function_call(
    item: &Value,
    toolbox: &Toolbox,
    ground: &ValidationContext<'_>,
) -> Result<ParsedCall, ResponseError> {
    let name = item["name"].as_str().unwrap_or_default();
    let arguments = item["arguments"].as_str().unwrap_or_default();
    let meaning = match serde_json::from_str::<Value>(arguments) {
        Ok(arguments) => toolbox.read(name, &arguments, ground),
        Err(error) => {
            CallMeaning::Invalid(format!("The arguments of {name} are no JSON: {error}."))
        }
    };
    Ok(ParsedCall {
        id: call_id(item)?,
        detail: Value::Null,
        meaning,
    })
}

fn call_id(item: &Value) -> Result<String, ResponseError> {
    let id = item["call_id"].as_str().map(ToOwned::to_owned);
    id.ok_or_else(|| ResponseError::invalid("A call has no call_id."))
}

/// Returns the safety checks of a call. Documentation and types disagree on whether the field is always present.
fn pending(item: &Value) -> impl Iterator<Item = &Value> {
    item["pending_safety_checks"]
        .as_array()
        .into_iter()
        .flatten()
}

fn safety_check(check: &Value) -> Option<SafetyCheck> {
    let text = |key: &str| check[key].as_str().unwrap_or_default().to_owned();
    Some(SafetyCheck {
        id: check["id"].as_str()?.to_owned(),
        code: text("code"),
        message: text("message"),
    })
}

fn refusal(message: &Value) -> Result<(), ResponseError> {
    let mut parts = message["content"].as_array().into_iter().flatten();
    match parts.find_map(|part| part["refusal"].as_str()) {
        Some(refusal) => Err(ResponseError::Refused {
            message: refusal.to_owned(),
        }),
        None => Ok(()),
    }
}

/// The model's own words in a response.
struct ModelWords {
    /// Text of its messages to the user.
    message: String,
    /// Summary of its reasoning.
    reasoning: String,
}

impl ModelWords {
    fn of(items: &[Value]) -> Self {
        let texts = |kind: &str, parts: &str| {
            let of_kind = items.iter().filter(|item| item["type"] == kind);
            let parts = of_kind.filter_map(|item| item[parts].as_array()).flatten();
            let texts: Vec<&str> = parts
                .filter_map(|part| part["text"].as_str().map(str::trim))
                .filter(|text| !text.is_empty())
                .collect();
            texts.join("\n")
        };
        Self {
            message: texts("message", "content"),
            reasoning: texts("reasoning", "summary"),
        }
    }

    /// Returns the message; the reasoning if there is none.
    fn thought(&self) -> &str {
        if self.message.is_empty() {
            &self.reasoning
        } else {
            &self.message
        }
    }

    /// Returns the decision of a turn without calls: a question to the user, or the end of the task. Reasoning alone
    /// says nothing to the user, so it decides nothing.
    fn decision(&self) -> Result<Next, ResponseError> {
        if self.message.is_empty() {
            return Err(ResponseError::invalid(
                "Your turn has neither a call nor an answer. Use the computer, call ask_user, or call finish if the goal is reached.",
            ));
        }
        let text = self.message.clone();
        Ok(if is_question(&text) {
            Next::Ask {
                question: text,
                requires_manual_action: false,
            }
        } else {
            Next::Done {
                answer: text,
                evidence: Vec::new(),
            }
        })
    }
}

/// Polite offers at the end of an answer. They are questions in form only.
const OFFERS: [&str; 7] = [
    "anything else",
    "something else",
    "further help",
    "more help",
    "还需要",
    "还有其他",
    "还有什么",
];

/// Returns whether a message to the user ends with a question that wants an answer.
fn is_question(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '*', ')', '”', '」', '）', '_', ' ', '\n']);
    let Some(model_request) = text.strip_suffix(['?', '？']) else {
        return false;
    };
    let begins = model_request.rfind(['.', '!', '?', '\n', '。', '！', '？']);
    let sentence = model_request[begins.unwrap_or(0)..].to_lowercase();
    !OFFERS.iter().any(|offer| sentence.contains(offer))
}

fn pause(step: &StepContext<'_>, model_request: &ModelRequest) -> Result<Next, ResponseError> {
    let view = model_request
        .view
        .ok_or_else(|| ResponseError::invalid("There was no screenshot."))?;
    let wait = Action::Wait {
        duration: Duration::ZERO,
    };
    Ok(Next::Act(vec![
        ScreenshotContext::new(view, step.request).planned(wait),
    ]))
}

fn decided(
    step: &StepContext<'_>,
    next: Next,
    parsed: ParsedTurn,
    mut memory: Conversation,
) -> ParsedResponse {
    let suspected = memory.state.take_suspected();
    let ground = ground(step);
    ParsedResponse::Decision(Box::new(ParsedDecision {
        progress: progress::progress(parsed.words.thought(), &next),
        thought: parsed.words.thought().to_owned(),
        next,
        conversation: Bytes::from(memory.to_json().to_string()),
        safety_checks: parsed.checks,
        conversation_images: conversation_image::checksums(&memory.shown()),
        suspected_injections: suspected
            .iter()
            .map(|quote| ground.suspected_injection(quote))
            .collect(),
    }))
}

fn ground<'a>(step: &StepContext<'a>) -> ValidationContext<'a> {
    ValidationContext {
        request: step.request,
        view: None,
    }
}

fn with_more_room(model_request: &ModelRequest, limit: u64) -> ModelRequest {
    let mut model_request = model_request.clone();
    model_request.body["max_output_tokens"] = json!(limit.saturating_mul(2).min(MAX_OUTPUT_TOKENS));
    model_request
}
