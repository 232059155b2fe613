//! Claude with an annotated screenshot: it responds with one JSON object that names an element and an action.
//!
//! Every step is a single message, with earlier steps as lines of text. No conversation is kept, so nothing of it can be
//! lost or invalidated. The system prompt is the same in every step and is cached.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::degraded_features::OutputFormat;
use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::estimate;
use super::som_prompt::{self, Options, SomPrompt};
use crate::models::{Api, Model, Thinking};
use crate::response::ResponseError;
use crate::response::som;
use crate::response::text::ResponseText;
use crate::screenshot::RenderedImage;

/// Name in the configuration.
pub const NAME: &str = "claude_som";
/// Model if none is configured.
pub const DEFAULT_MODEL: &str = "claude-opus-4-6";

/// Prefilled start of a response, if no schema enforces an object.
const PREFILL: &str = "{";

/// Dialect for Claude with an annotated screenshot.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeSom {
    pub options: Options,
}

impl Dialect for ClaudeSom {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::AnthropicMessages
    }

    fn needs_image(&self) -> bool {
        self.options.images
    }

    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
        let form = step.degraded.output_format;
        let numbered = SomPrompt::of(step, self.options, form)?;
        let content = numbered.content(step, image);
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output_tokens,
            "system": [system(step, &numbered.system)],
            "messages": [{"role": "user", "content": content}],
        });
        if form != OutputFormat::Schema && can_prefill(step.model) {
            let turns = body["messages"].as_array_mut();
            turns
                .into_iter()
                .for_each(|turns| turns.push(prefill_turn()));
        }
        if step.model.thinking == Thinking::Adaptive {
            body["thinking"] = json!({"type": "adaptive"});
        }
        if let Some(output) = output_config(step, form) {
            body["output_config"] = output;
        }
        Ok(numbered.into_request(body))
    }

    fn parse_response(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
    ) -> Result<ParsedResponse, ResponseError> {
        let answer = with_prefill(model_request, answer);
        let reading = som_prompt::read(self.api(), step, model_request, &answer)?;
        Ok(ParsedResponse::Decision(Box::new(reading)))
    }

    fn repair_request(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest {
        let answer = &*with_prefill(model_request, answer);
        let mut model_request = model_request.clone();
        let complaint = som_prompt::repair_message(step, response_error);
        som_prompt::raise_output_limit(&mut model_request.body, "max_tokens", response_error);
        if let Some(turns) = model_request.body["messages"].as_array_mut() {
            turns.retain(|turn| *turn != prefill_turn());
            // The content goes back verbatim, because thinking must not be edited. Truncated or unreadable content is
            // left out.
            let content = &answer["content"];
            let is_whole = ResponseText::of(self.api(), answer).is_ok();
            if is_whole && content.as_array().is_some_and(|blocks| !blocks.is_empty()) {
                turns.push(json!({"role": "assistant", "content": content}));
                turns.push(json!({"role": "user", "content": complaint}));
            } else {
                som_prompt::append(turns, &complaint);
            }
        }
        model_request
    }
}

/// Returns the system prompt. It is marked for caching if it reaches the model's minimum; on a shorter one the mark has
/// no effect.
fn system(step: &StepContext<'_>, text: &str) -> Value {
    let mut block = json!({"type": "text", "text": text});
    let tokens = estimate::tokens_of(text);
    if step
        .model
        .min_cache_tokens
        .is_none_or(|min_tokens| tokens >= min_tokens)
    {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    block
}

/// Returns whether the response may be prefilled, so that only an object can follow. The API rejects that together with
/// thinking.
fn can_prefill(model: &Model) -> bool {
    model.prefill && model.thinking != Thinking::Adaptive
}

fn prefill_turn() -> Value {
    json!({"role": "assistant", "content": PREFILL})
}

/// Returns the response including the prefilled start.
fn with_prefill<'a>(model_request: &ModelRequest, answer: &'a Value) -> Cow<'a, Value> {
    let is_begun = model_request.body["messages"]
        .as_array()
        .and_then(|turns| turns.last())
        == Some(&prefill_turn());
    let mut answer = Cow::Borrowed(answer);
    if is_begun {
        let blocks = answer.to_mut()["content"]
            .as_array_mut()
            .into_iter()
            .flatten();
        let text = blocks.filter_map(|block| block.get_mut("text")).next();
        if let Some(text) = text {
            *text = json!(format!("{PREFILL}{}", text.as_str().unwrap_or_default()));
        }
    }
    answer
}

fn output_config(step: &StepContext<'_>, form: OutputFormat) -> Option<Value> {
    let mut output = serde_json::Map::new();
    if let Some(effort) = &step.model.effort {
        output.insert("effort".to_owned(), json!(effort));
    }
    if form == OutputFormat::Schema {
        let format = json!({"type": "json_schema", "schema": som::schema::schema()});
        output.insert("format".to_owned(), format);
    }
    (!output.is_empty()).then_some(Value::Object(output))
}

fn image(rendered: &RenderedImage) -> Value {
    json!({"type": "image", "source": {
        "type": "base64", "media_type": rendered.media_type, "data": rendered.base64}})
}
