//! The request: model, tools, instructions, and what of the conversation the provider has to be told.

use motorium_proto::domain::desktop::Platform;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::Keeping;
use super::memory::Memory;
use crate::backends::dialect::{Asked, Step, Unasked};
use crate::backends::native::briefing;
use crate::backends::native::toolbox::Toolbox;
use crate::models::{ComputerTool, Model};
use crate::picture::sizes::OpenAiDetail;
use crate::picture::{SentPicture, SizeRule};

/// What stays the same through a conversation.
#[derive(Debug)]
pub(super) struct Setup {
    is_preview: bool,
    keeping: Keeping,
    detail: &'static str,
    instructions: String,
    tools: Vec<Value>,
    /// Everything that the meaning of the conversation depends on.
    identity: String,
}

impl Setup {
    pub(super) fn of(
        step: &Step<'_>,
        keeping: Keeping,
        view: &SentPicture,
    ) -> Result<Self, Unasked> {
        let is_preview = is_preview(step.model)?;
        let toolbox = Toolbox::with(&step.request.functions);
        let beside = toolbox.tools().iter().map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false})
        });
        let computer = computer(is_preview, step.request.platform, view);
        let size = view.sent();
        let instructions = briefing::system(step)?;
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

    /// By which a later step knows whether it is still the same.
    pub(super) fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.identity.as_bytes());
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// How closely the model looks at pictures.
    pub(super) fn detail(&self) -> &'static str {
        self.detail
    }
}

/// The request that a conversation makes.
pub(super) fn assemble(
    step: &Step<'_>,
    setup: &Setup,
    memory: &Memory,
    view: SentPicture,
) -> Result<Asked, Unasked> {
    let model = step.model;
    let mut input = memory.filled(|shown| {
        let rendered = shown.rendered(step.pictures, model.taste)?;
        Ok(json!(rendered.data_url()))
    })?;
    if !setup.is_preview {
        input
            .iter_mut()
            .for_each(|item| look_closely(item, setup.detail));
    }
    let stored = setup.keeping == Keeping::Stored;
    let mut body = json!({
        "model": model.name,
        "store": stored,
        "instructions": setup.instructions,
        "tools": setup.tools,
        "max_output_tokens": model.max_output,
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
    Ok(Asked {
        body,
        view: Some(view),
        memory: memory.to_json(),
        kept_tokens: memory.kept_tokens(),
        ..Asked::default()
    })
}

fn is_preview(model: &Model) -> Result<bool, Unasked> {
    match model.computer_tool {
        ComputerTool::Openai => Ok(false),
        ComputerTool::OpenaiPreview => Ok(true),
        _ => Err(Unasked::Unsuitable(format!(
            "{} is not known to have OpenAI's computer tool; say in the model's entry of the configuration which one it has",
            model.name
        ))),
    }
}

fn computer(is_preview: bool, platform: Platform, view: &SentPicture) -> Value {
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

/// Anything but the original may be made smaller without a word, and every coordinate with it.
fn detail(model: &Model, is_preview: bool) -> &'static str {
    match model.taste.rule {
        _ if is_preview => "auto",
        SizeRule::OpenAi(OpenAiDetail::High) => "high",
        _ => "original",
    }
}

/// Documented of screenshots, and missing in the types of the official client.
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
