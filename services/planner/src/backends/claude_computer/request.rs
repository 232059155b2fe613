//! Builds the request: model, tools, system prompt, and the conversation with its images.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::conversation::Conversation;
use super::setup::{ComputerToolVersion, Setup};
use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::models::{Model, Thinking};
use crate::screenshot::{RenderedImage, SentImage};

/// Thinking budget in tokens, for models that require one. A compromise between latency and quality; the API's minimum is
/// 1024.
const THINKING_BUDGET: u64 = 2048;
/// Maximum request size in bytes: the API rejects 32 MB, and JSON syntax needs some room.
const MAX_REQUEST_BYTES: usize = 30_000_000;

/// Builds the request of a conversation.
pub(super) fn assemble(
    step: &StepContext<'_>,
    setup: &Setup,
    memory: &Conversation,
    view: SentImage,
) -> Result<ModelRequest, RequestError> {
    let model = step.model;
    let mut messages =
        memory.with_images(|shown| Ok(image(&shown.rendered(step.images, model.image_spec)?)))?;
    mark_newest(&mut messages);
    let cached = json!({"type": "ephemeral"});
    let mut body = json!({
        "model": model.name,
        "max_tokens": model.max_output_tokens,
        "system": [{"type": "text", "text": setup.system, "cache_control": cached}],
        "tools": setup.tools,
        "messages": messages,
    });
    if let Some(thinking) = thinking(model) {
        body["thinking"] = thinking;
    }
    if let Some(effort) = &model.effort {
        body["output_config"] = json!({"effort": effort});
    }
    Ok(ModelRequest {
        body,
        headers: headers(setup.tool),
        view: Some(view),
        context: memory.to_json(),
        ..ModelRequest::default()
    })
}

/// Returns whether the provider would reject the request because of its size.
pub(super) fn is_too_large(model_request: &ModelRequest) -> bool {
    text_bytes(&model_request.body) > MAX_REQUEST_BYTES
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(text_bytes).sum(),
        Value::Object(values) => values.values().map(text_bytes).sum(),
        _ => 0,
    }
}

fn image(rendered: &RenderedImage) -> Value {
    json!({"type": "image", "source": {
        "type": "base64", "media_type": rendered.media_type, "data": rendered.base64}})
}

/// Marks everything up to the newest block for caching: the next request starts with it.
fn mark_newest(messages: &mut [Value]) {
    let block = messages
        .last_mut()
        .and_then(|message| message["content"].as_array_mut())
        .and_then(|content| content.last_mut());
    if let Some(block) = block {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
}

fn thinking(model: &Model) -> Option<Value> {
    match model.thinking {
        Thinking::Adaptive => Some(json!({"type": "adaptive"})),
        Thinking::Budgeted if model.max_output_tokens > THINKING_BUDGET => {
            Some(json!({"type": "enabled", "budget_tokens": THINKING_BUDGET}))
        }
        _ => None,
    }
}

/// Returns whether a tool call can be forced. The API rejects that together with thinking.
pub(super) fn may_be_forced(model: &Model) -> bool {
    model.forced_tool_choice && model.thinking == Thinking::Unspecified
}

fn headers(tool: ComputerToolVersion) -> Vec<(HeaderName, HeaderValue)> {
    let header = |beta| {
        let name = HeaderName::from_static("anthropic-beta");
        (name, HeaderValue::from_static(beta))
    };
    tool.beta().map(header).into_iter().collect()
}
