//! The parts of a request that stay the same during a conversation: instructions, tools and the storage mode.

use motorium_proto::domain::desktop::Platform;
use motorium_text::hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::storage::ConversationStorage;
use crate::backends::dialect::{RequestError, StepContext};
use crate::backends::native::messages;
use crate::backends::native::toolbox::Toolbox;
use crate::models::{ComputerTool, Model};
use crate::screenshot::sizes::OpenAiDetail;
use crate::screenshot::{SentImage, SizeRule};

/// The parts of a request that stay the same during a conversation.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) is_preview: bool,
    pub(super) keeping: ConversationStorage,
    detail: &'static str,
    pub(super) instructions: String,
    pub(super) tools: Vec<Value>,
    /// Everything that the meaning of the conversation depends on.
    identity: String,
}

impl Setup {
    pub(super) fn of(
        step: &StepContext<'_>,
        keeping: ConversationStorage,
        view: &SentImage,
    ) -> Result<Self, RequestError> {
        let is_preview = is_preview(step.model)?;
        let toolbox = Toolbox::with(&step.request.functions);
        let beside = toolbox.tools().iter().map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false})
        });
        let computer = computer(is_preview, step.request.platform, view);
        let size = view.sent();
        let instructions = messages::system(step)?;
        let tools: Vec<Value> = std::iter::once(computer).chain(beside).collect();
        let size = [size.width, size.height];
        let identity = json!([step.model.name, size, keeping, instructions, tools]).to_string();
        Ok(Self {
            is_preview,
            keeping,
            detail: detail(step.model, is_preview),
            instructions,
            tools,
            identity,
        })
    }

    /// Returns a hash by which a later step detects a changed setup.
    pub(super) fn fingerprint(&self) -> String {
        hex::encode(&Sha256::digest(self.identity.as_bytes()))
    }

    /// Returns the detail level of images.
    pub(super) fn detail(&self) -> &'static str {
        self.detail
    }
}

fn is_preview(model: &Model) -> Result<bool, RequestError> {
    match model.computer_tool {
        ComputerTool::Openai => Ok(false),
        ComputerTool::OpenaiPreview => Ok(true),
        _ => Err(RequestError::Unsuitable(format!(
            "{} is not known to support OpenAI's computer tool; set `computer_tool` in its [[planner.models]] entry",
            model.name
        ))),
    }
}

fn computer(is_preview: bool, platform: Platform, view: &SentImage) -> Value {
    if !is_preview {
        return json!({"type": "computer"});
    }
    let size = view.sent();
    let environment = match platform {
        Platform::Windows => "windows",
        Platform::Macos => "mac",
        Platform::Browser => "browser",
        Platform::Linux | Platform::Unknown => "linux",
    };
    json!({
        "type": "computer_use_preview",
        "display_width": size.width,
        "display_height": size.height,
        "environment": environment,
    })
}

/// Returns the detail level. Any other than `original` may downscale the image without notice, which shifts every
/// coordinate.
fn detail(model: &Model, is_preview: bool) -> &'static str {
    match model.image_spec.rule {
        _ if is_preview => "auto",
        SizeRule::OpenAi(OpenAiDetail::High) => "high",
        _ => "original",
    }
}
