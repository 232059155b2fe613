//! The request: model, tools, system prompt, and the conversation with its pictures in their places.

use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::memory::Memory;
use crate::backends::dialect::{Asked, Step, Unasked};
use crate::backends::native::briefing;
use crate::backends::native::toolbox::Toolbox;
use crate::models::{ComputerTool, Model, Thinking};
use crate::picture::{Rendered, SentPicture};

/// For models that are told how much to think.
const THINKING_BUDGET: u64 = 2048;
/// A request of 32 MB is refused.
const MOST_BYTES: usize = 30_000_000;

/// The versions of the computer tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    January2025,
    November2025,
    /// Each action is a tool of its own.
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

impl Tool {
    pub(super) fn of(model: &Model) -> Result<Self, Unasked> {
        match model.computer_tool {
            ComputerTool::Anthropic20250124 => Ok(Tool::January2025),
            ComputerTool::Anthropic20251124 => Ok(Tool::November2025),
            ComputerTool::AnthropicToolset20260801 => Ok(Tool::Toolset),
            _ => Err(Unasked::Unsuitable(format!(
                "{} is not known to have Anthropic's computer tool; say in the model's entry of the configuration which version it has",
                model.name
            ))),
        }
    }

    /// Whether it has a closer look.
    pub(super) fn zooms(self) -> bool {
        self != Tool::January2025
    }

    /// The action that a call names, if it is one of the computer's.
    pub(super) fn action<'a>(
        self,
        name: &'a str,
        toolset: Option<&str>,
        input: &'a Value,
    ) -> Option<&'a str> {
        if self != Tool::Toolset {
            return (name == "computer").then(|| input["action"].as_str())?;
        }
        let is_ours = toolset == Some("computer") || ACTIONS_OF_THE_TOOLSET.contains(&name);
        is_ours.then_some(name)
    }

    fn declared(self, view: &SentPicture) -> Value {
        let name = match self {
            Tool::January2025 => "computer_20250124",
            Tool::November2025 => "computer_20251124",
            Tool::Toolset => return json!({"type": "computer_toolset_20260801"}),
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

    /// The beta that it needs.
    fn beta(self) -> Option<&'static str> {
        match self {
            Tool::January2025 => Some("computer-use-2025-01-24"),
            Tool::November2025 => Some("computer-use-2025-11-24"),
            Tool::Toolset => None,
        }
    }
}

/// What stays the same through a conversation.
#[derive(Debug)]
pub(super) struct Setup {
    tool: Tool,
    system: String,
    tools: Vec<Value>,
    /// Everything that the meaning of the conversation depends on.
    identity: String,
}

impl Setup {
    /// By which a later step knows whether it is still the same.
    pub(super) fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.identity.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

pub(super) fn setup(step: &Step<'_>, tool: Tool, view: &SentPicture) -> Result<Setup, Unasked> {
    let system = briefing::system(step)?;
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

/// The request that a conversation makes.
pub(super) fn assemble(
    step: &Step<'_>,
    setup: &Setup,
    memory: &Memory,
    view: SentPicture,
) -> Result<Asked, Unasked> {
    let model = step.model;
    let mut messages =
        memory.filled(|shown| Ok(image(&shown.rendered(step.pictures, model.taste)?)))?;
    mark_newest(&mut messages);
    let cached = json!({"type": "ephemeral"});
    let mut body = json!({
        "model": model.name,
        "max_tokens": model.max_output,
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
    Ok(Asked {
        body,
        headers: headers(setup.tool),
        view: Some(view),
        memory: memory.to_json(),
        ..Asked::default()
    })
}

/// Whether the provider would refuse it for its size.
pub(super) fn is_too_large(asked: &Asked) -> bool {
    text_bytes(&asked.body) > MOST_BYTES
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(text_bytes).sum(),
        Value::Object(values) => values.values().map(text_bytes).sum(),
        _ => 0,
    }
}

fn image(rendered: &Rendered) -> Value {
    json!({"type": "image", "source": {
        "type": "base64", "media_type": rendered.media_type, "data": rendered.base64}})
}

/// Everything up to the newest block is to be cached: the next request begins with it.
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
        Thinking::Budgeted if model.max_output > THINKING_BUDGET => {
            Some(json!({"type": "enabled", "budget_tokens": THINKING_BUDGET}))
        }
        _ => None,
    }
}

/// Whether the model can be made to call something. Not while it thinks.
pub(super) fn may_be_forced(model: &Model) -> bool {
    model.forced_tool_choice && model.thinking == Thinking::Unsaid
}

fn headers(tool: Tool) -> Vec<(HeaderName, HeaderValue)> {
    let header = |beta| {
        let name = HeaderName::from_static("anthropic-beta");
        (name, HeaderValue::from_static(beta))
    };
    tool.beta().map(header).into_iter().collect()
}
