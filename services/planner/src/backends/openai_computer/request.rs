//! Builds the request: model, tools, instructions, and the part of the conversation that the provider has not received.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::setup::Setup;
use super::storage::ConversationStorage;
use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::models::Model;
use crate::screenshot::SentImage;

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
            .for_each(|item| look_closely(item, setup.detail()));
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
