//! Builds the request: model, tools, system prompt, and the conversation with its images.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::conversation::Conversation;
use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::backends::native::messages;
use crate::backends::native::toolbox::Toolbox;
use crate::models::{ComputerTool, Model, Thinking};
use crate::screenshot::{RenderedImage, SentImage};

/// Thinking budget in tokens, for models that require one. A compromise between latency and quality; the API's minimum is
/// 1024.
const THINKING_BUDGET: u64 = 2048;
/// Maximum request size in bytes: the API rejects 32 MB, and JSON syntax needs some room.
const MAX_REQUEST_BYTES: usize = 30_000_000;

/// Versions of the computer tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComputerToolVersion {
    January2025,
    November2025,
    /// Each action is a separate tool.
    Toolset,
}

const ACTIONS_OF_THE_TOOLSET: &[&str] = &[
    "key",
    "hold_key",
    "type",
    "cursor_position",
    "mouse_move",
    "left_mouse_down",
    "left_mouse_up",
    "left_click",
    "left_click_drag",
    "right_click",
    "middle_click",
    "double_click",
    "triple_click",
    "scroll",
    "wait",
    "screenshot",
    "zoom",
];

impl ComputerToolVersion {
    pub(super) fn of(model: &Model) -> Result<Self, RequestError> {
        match model.computer_tool {
            ComputerTool::Anthropic20250124 => Ok(ComputerToolVersion::January2025),
            ComputerTool::Anthropic20251124 => Ok(ComputerToolVersion::November2025),
            ComputerTool::AnthropicToolset20260801 => Ok(ComputerToolVersion::Toolset),
            _ => Err(RequestError::Unsuitable(format!(
                "{} is not known to support Anthropic's computer tool; set `computer_tool` in its [[planner.models]] entry",
                model.name
            ))),
        }
    }

    /// Returns whether this version supports zoom.
    pub(super) fn zooms(self) -> bool {
        self != ComputerToolVersion::January2025
    }

    /// Returns the action that a call names, if it belongs to the computer tool.
    pub(super) fn action<'a>(
        self,
        name: &'a str,
        toolset: Option<&str>,
        input: &'a Value,
    ) -> Option<&'a str> {
        if self != ComputerToolVersion::Toolset {
            return (name == "computer").then(|| input["action"].as_str())?;
        }
        let is_ours = toolset == Some("computer") || ACTIONS_OF_THE_TOOLSET.contains(&name);
        is_ours.then_some(name)
    }

    fn declared(self, view: &SentImage) -> Value {
        let name = match self {
            ComputerToolVersion::January2025 => "computer_20250124",
            ComputerToolVersion::November2025 => "computer_20251124",
            ComputerToolVersion::Toolset => return json!({"type": "computer_toolset_20260801"}),
        };
        let size = view.sent();
        let mut tool = json!({
            "type": name,
            "name": "computer",
            "display_width_px": size.width,
            "display_height_px": size.height,
        });
        if self.zooms() {
            tool["enable_zoom"] = json!(true);
        }
        tool
    }

    /// Returns the beta header value that this version needs.
    fn beta(self) -> Option<&'static str> {
        match self {
            ComputerToolVersion::January2025 => Some("computer-use-2025-01-24"),
            ComputerToolVersion::November2025 => Some("computer-use-2025-11-24"),
            ComputerToolVersion::Toolset => None,
        }
    }
}

/// The parts of a request that stay the same during a conversation.
#[derive(Debug)]
pub(super) struct Setup {
    tool: ComputerToolVersion,
    system: String,
    tools: Vec<Value>,
    /// Everything that the meaning of the conversation depends on.
    identity: String,
}

impl Setup {
    /// Returns a hash by which a later step detects a changed setup.
    pub(super) fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.identity.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

pub(super) fn setup(
    step: &StepContext<'_>,
    tool: ComputerToolVersion,
    view: &SentImage,
) -> Result<Setup, RequestError> {
    let system = messages::system(step)?;
    let toolbox = Toolbox::with(&step.request.functions);
    let beside = toolbox.tools().iter().map(|tool| {
        json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
    });
    let tools: Vec<Value> = std::iter::once(tool.declared(view)).chain(beside).collect();
    let size = view.sent();
    let identity = json!([step.model.name, [size.width, size.height], system, tools]).to_string();
    Ok(Setup {
        tool,
        system,
        tools,
        identity,
    })
}

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
pub(super) fn is_too_large(asked: &ModelRequest) -> bool {
    text_bytes(&asked.body) > MAX_REQUEST_BYTES
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
