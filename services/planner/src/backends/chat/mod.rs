//! What dialects share that speak to a chat endpoint (`/v1/chat/completions`) and write their own prompts.
//!
//! - [`past`]: earlier steps in words

pub(super) mod past;

use motorium_proto::domain::decision::PastStep;
use serde_json::{Value, json};

use crate::answer::said::Said;
use crate::backends::dialect::{Asked, Misread, Step, Unasked};
use crate::backends::numbered;
use crate::models::Api;
use crate::picture::{Checksum, Error, Rendered};
use crate::prompt::Language;

/// A message of nothing but text.
pub(super) fn message(role: &str, text: impl Into<String>) -> Value {
    json!({"role": role, "content": text.into()})
}

/// A message of the user with a picture and, unless it is empty, a text.
pub(super) fn shown(picture: &Rendered, text: &str) -> Value {
    let picture = json!({"type": "image_url", "image_url": {"url": picture.data_url()}});
    let text = (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let content: Vec<Value> = std::iter::once(picture).chain(text).collect();
    json!({"role": "user", "content": content})
}

/// The picture of an earlier step, if the request still has it: one that was dropped to save room, or that travels only
/// as a reference, is done without.
pub(super) fn picture(step: &Step<'_>, past: &PastStep) -> Result<Option<Rendered>, Unasked> {
    let Some(image) = &past.image else {
        return Ok(None);
    };
    match step.pictures.past(step.model.taste, Checksum(image.sha256)) {
        Ok(picture) => Ok(Some(picture)),
        Err(Error::Unknown(_) | Error::Reference { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The language that the model is spoken to in.
pub(super) fn language(step: &Step<'_>) -> Language {
    Language::of(step.request.language.as_deref(), &step.request.goal)
}

/// The number of the step that is asked about.
pub(super) fn number(step: &Step<'_>) -> u32 {
    let last = step.request.history.last();
    last.map_or(1, |last| last.step.saturating_add(1))
}

/// The model says what is most likely, where it takes such a setting and the endpoint does.
pub(super) fn decide_surely(body: &mut Value, step: &Step<'_>) {
    if step.model.sampling && !step.concessions.without_sampling {
        body["temperature"] = json!(0.0);
    }
}

/// The words of an answer.
///
/// # Errors
/// If it was refused or cut off, or says nothing.
pub(super) fn text(answer: &Value) -> Result<String, Misread> {
    let text = Said::of(Api::OpenaiChat, answer)?.into_text();
    if text.trim().is_empty() {
        return Err(Misread::invalid("the answer is empty"));
    }
    Ok(text)
}

/// The same request with the answer and what is wrong with it at the end, a little less rigid than before: a model that
/// always says what is most likely would say the same again.
pub(super) fn repaired(
    asked: &Asked,
    answer: &Value,
    misread: &Misread,
    language: Language,
) -> Asked {
    let mut repaired = asked.clone();
    numbered::make_room(&mut repaired.body, "max_tokens", misread);
    let answered = text(answer).unwrap_or_default();
    if let Some(messages) = repaired.body["messages"].as_array_mut() {
        if !answered.is_empty() {
            messages.push(message("assistant", answered));
        }
        messages.push(message("user", complaint(misread, language)));
    }
    if repaired.body.get("temperature").is_some() {
        repaired.body["temperature"] = json!(REPAIR_TEMPERATURE);
    }
    repaired
}

const REPAIR_TEMPERATURE: f64 = 0.2;

fn complaint(misread: &Misread, language: Language) -> String {
    match language {
        Language::English => format!(
            "Your answer cannot be carried out: {misread}. Nothing of it was done. Answer again, in the same form."
        ),
        Language::Chinese => {
            format!("你的回答无法执行：{misread}。其中没有任何操作被执行。请按同样的格式重新回答。")
        }
    }
}
