//! Helpers for dialects that use a chat endpoint (`/v1/chat/completions`) with their own prompts.
//!
//! - [`history_text`]: earlier steps as text
//!
//! No request is sent here: each dialect does that.

pub(super) mod history_text;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{Next, PastStep};
use serde_json::{Value, json};

use crate::backends::dialect::{ModelRequest, RequestError, StepContext};
use crate::backends::som_prompt;
use crate::backends::step_prompt;
use crate::backends::user_images::{self, LabelledImage};
use crate::models::Api;
use crate::prompt::{Language, context};
use crate::response::ResponseError;
use crate::response::model_actions::ModelActions;
use crate::response::text::ResponseText;
use crate::response::validate::ValidationContext;
use crate::screenshot::{Checksum, Error, RenderedImage, SentImage};

/// A message with text only.
pub(super) fn message(role: &str, text: impl Into<String>) -> Value {
    json!({"role": role, "content": text.into()})
}

/// A user message with an image and, unless it is empty, a text.
pub(super) fn image_message(image: &RenderedImage, text: &str) -> Value {
    let image_part = json!({"type": "image_url", "image_url": {"url": image.data_url()}});
    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let content: Vec<Value> = std::iter::once(image_part).chain(text).collect();
    json!({"role": "user", "content": content})
}

/// Puts the user's images in front of a message's content, each after its label.
pub(super) fn with_user_images(mut message: Value, images: &[LabelledImage]) -> Value {
    let parts = images.iter().flat_map(|one| {
        let url = one.image.data_url();
        [
            json!({"type": "text", "text": one.label}),
            json!({"type": "image_url", "image_url": {"url": url}}),
        ]
    });
    if let Some(content) = message["content"].as_array_mut() {
        content.splice(0..0, parts);
    }
    message
}

/// Returns the number of earlier screenshots that a model is shown beside the current one and the user's images.
pub(super) fn max_past_images(step: &StepContext<'_>) -> usize {
    let of_user = user_images::shown(step.request, step.model).len();
    step.model.max_images.saturating_sub(1 + of_user)
}

/// Returns the image of an earlier step; `None` if it was dropped to save space or is only a reference.
pub(super) fn past_image(
    step: &StepContext<'_>,
    past: &PastStep,
) -> Result<Option<RenderedImage>, RequestError> {
    let Some(image) = &past.image else {
        return Ok(None);
    };
    match step
        .images
        .whole(step.model.image_spec, Checksum(image.sha256))
    {
        Ok(rendered) => Ok(Some(rendered)),
        Err(Error::Unknown(_) | Error::Reference { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the values of a template: those of the step, and these.
pub(super) fn with_context(
    step: &StepContext<'_>,
    more: minijinja::Value,
) -> Result<minijinja::Value, RequestError> {
    let context = step_prompt::values(step)?;
    Ok(minijinja::context! {
        ..more,
        ..minijinja::Value::from(minijinja::value::Serde(&context))
    })
}

/// Returns a decision in frame pixels, with each application under the name by which it can be opened.
///
/// # Errors
/// Fails if a point lies outside the image that the model saw, or an application cannot be opened by name.
pub(super) fn decision(
    step: &StepContext<'_>,
    actions: ModelActions,
    view: &SentImage,
    words: &str,
) -> Result<Next, ResponseError> {
    let next = actions
        .decision(view, words)
        .map_err(|error| ResponseError::invalid(error.to_string()))?;
    let Next::Act(mut planned) = next else {
        return Ok(next);
    };
    let screen = ValidationContext {
        request: step.request,
        view: Some(*view),
    };
    for planned in &mut planned {
        if let Action::OpenApplication { name } = &mut planned.action {
            *name = screen.application(name)?;
        }
    }
    Ok(Next::Act(planned))
}

/// Language of the prompt.
pub(super) fn language(step: &StepContext<'_>) -> Language {
    Language::of(step.request.language.as_deref(), &step.request.goal)
}

/// Language of texts for the user, as the prompt names it.
pub(super) fn output_language(step: &StepContext<'_>) -> String {
    context::output_language(step.request.language.as_deref(), &step.request.goal)
}

/// Number of the step that is being decided.
pub(super) fn number(step: &StepContext<'_>) -> u32 {
    context::step_number(step.request)
}

/// Sets the temperature to 0, so that the most likely response is chosen, if the model and the endpoint accept it.
pub(super) fn set_greedy_sampling(body: &mut Value, step: &StepContext<'_>) {
    if step.model.sampling && !step.degraded.without_sampling {
        body["temperature"] = json!(0.0);
    }
}

/// Returns the text of a response.
///
/// # Errors
/// Fails if it was refused, truncated or empty.
pub(super) fn text(answer: &Value) -> Result<String, ResponseError> {
    let text = ResponseText::of(Api::OpenaiChat, answer)?.into_text();
    if text.trim().is_empty() {
        return Err(ResponseError::invalid("the answer is empty"));
    }
    Ok(text)
}

/// Returns the request with the response and its error appended. The temperature is raised slightly: at 0 the model would
/// repeat its response.
pub(super) fn repaired(
    model_request: &ModelRequest,
    answer: &Value,
    response_error: &ResponseError,
    language: Language,
) -> ModelRequest {
    let mut repaired = model_request.clone();
    som_prompt::raise_output_limit(&mut repaired.body, "max_tokens", response_error);
    let answered = text(answer).unwrap_or_default();
    if let Some(messages) = repaired.body["messages"].as_array_mut() {
        if !answered.is_empty() {
            messages.push(message("assistant", answered));
        }
        messages.push(message("user", repair_message(response_error, language)));
    }
    if repaired.body.get("temperature").is_some() {
        repaired.body["temperature"] = json!(REPAIR_TEMPERATURE);
    }
    repaired
}

/// Sampling temperature of a repair: enough to vary the response, low enough to keep its format.
const REPAIR_TEMPERATURE: f64 = 0.2;

fn repair_message(response_error: &ResponseError, language: Language) -> String {
    match language {
        Language::English => format!(
            "Your answer cannot be carried out: {response_error}. Nothing of it was done. Answer again, in the same form."
        ),
        Language::Chinese => {
            format!(
                "你的回答无法执行：{response_error}。其中没有任何操作被执行。请按同样的格式重新回答。"
            )
        }
    }
}
