//! The parts of a request that stay the same during a conversation: the version of the computer tool, the system prompt
//! and the tools.

use motorium_text::hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::backends::dialect::{RequestError, StepContext};
use crate::backends::native::messages;
use crate::backends::native::toolbox::Toolbox;
use crate::models::{ComputerTool, Model};
use crate::screenshot::SentImage;

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
    pub(super) fn beta(self) -> Option<&'static str> {
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
    pub(super) tool: ComputerToolVersion,
    pub(super) system: String,
    pub(super) tools: Vec<Value>,
    /// Everything that the meaning of the conversation depends on.
    identity: String,
}

impl Setup {
    /// Returns a hash by which a later step detects a changed setup.
    pub(super) fn fingerprint(&self) -> String {
        hex::encode(&Sha256::digest(self.identity.as_bytes()))
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
