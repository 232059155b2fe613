//! Builds the request: model, tools, instructions, and the part of the conversation that the provider has not received.

use motorium_proto::domain::desktop::Platform;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::ConversationStorage;
use super::conversation::Conversation;
use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::backends::native::messages;
use crate::backends::native::toolbox::Toolbox;
use crate::models::{ComputerTool, Model};
use crate::screenshot::sizes::OpenAiDetail;
use crate::screenshot::{SentImage, SizeRule};

/// The parts of a request that stay the same during a conversation.
#[derive(Debug)]
pub(super) struct Setup {
    is_preview: bool,
    keeping: ConversationStorage,
    detail: &'static str,
    instructions: String,
    tools: Vec<Value>,
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
        let digest = Sha256::digest(self.identity.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the detail level of images.
    pub(super) fn detail(&self) -> &'static str {
        self.detail
    }
}

/// Builds the request of a conversation.
pub(super) fn assemble(
    step: &StepContext<'_>,
    setup: &Setup,
    memory: &Conversation,
    view: SentImage,
) -> Result<ModelRequest, RequestError> {
    let model = step.model;
    let mut input = memory.with_images(|shown| {
        let rendered = shown.rendered(step.images, model.image_spec)?;
        Ok(json!(rendered.data_url()))
    })?;
    if !setup.is_preview {
        input
            .iter_mut()
            .for_each(|item| look_closely(item, setup.detail));
    }
    let stored = setup.keeping == ConversationStorage::Stored;
    let mut body = json!({
        "model": model.name,
        "store": stored,
        "instructions": setup.instructions,
        "tools": setup.tools,
        "max_output_tokens": model.max_output_tokens,
        "input": input,
    });
    if !stored {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(response) = memory.response() {
        body["previous_response_id"] = json!(response);
    }
    if setup.is_preview {
        body["truncation"] = json!("auto");
    } else {
        body["reasoning"] = reasoning(model);
    }
    Ok(ModelRequest {
        body,
        view: Some(view),
        context: memory.to_json(),
        kept_tokens: memory.kept_tokens(),
        ..ModelRequest::default()
    })
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

/// Sets the detail level of screenshots. It is documented, but missing in the types of the official client.
fn look_closely(item: &mut Value, detail: &str) {
    if item["type"] == "computer_call_output" {
        item["output"]["detail"] = json!(detail);
    }
}

fn reasoning(model: &Model) -> Value {
    match &model.effort {
        Some(effort) => json!({"effort": effort, "summary": "concise"}),
        None => json!({"summary": "concise"}),
    }
}
