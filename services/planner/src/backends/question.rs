//! A question to a model beside the steps of a task: a summary, data from the screen, where the pointer or a
//! described thing is. Any model can
//! be asked one, whatever dialect its steps are in.

use std::fmt;
use std::sync::Arc;

use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::Image;
use serde_json::{Value, json};

use crate::models::{Api, Model, Thinking};
use crate::picture::{Rendered, SentPicture};
use crate::prompt;

/// What has to hold of an answer: what is taken from it, or what is wrong with it, in words for the model.
pub type Check = dyn Fn(&str, Option<&SentPicture>) -> Result<Value, String> + Send + Sync;

/// What is asked, in words that may depend on the picture that goes with them.
pub type Words = dyn Fn(Option<&SentPicture>) -> Result<String, prompt::Error> + Send + Sync;

/// A question.
#[derive(Clone)]
pub struct Question {
    pub system: String,
    pub text: Arc<Words>,
    /// Shown whole.
    pub image: Option<Image>,
    /// What gets a numbered box on the picture; usually nothing.
    pub marked: Vec<Element>,
    pub check: Arc<Check>,
    /// Of the task's limits.
    pub remaining: RemainingLimits,
}

impl fmt::Debug for Question {
    // The words have what is on a person's screen.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("image", &self.image.is_some())
            .finish_non_exhaustive()
    }
}

/// An answer, as the question's check gives it back.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    pub value: Value,
    pub usage: Usage,
}

/// The request that asks a question.
///
/// # Errors
/// If its words cannot be rendered.
pub fn ask(
    api: Api,
    model: &Model,
    question: &Question,
    picture: Option<&Rendered>,
) -> Result<Value, prompt::Error> {
    let text = (question.text)(picture.map(|picture| &picture.view))?;
    let system = &question.system;
    Ok(match api {
        Api::AnthropicMessages => anthropic(model, system, &text, picture),
        Api::OpenaiResponses => responses(model, system, &text, picture),
        Api::OpenaiChat => chat(model, system, &text, picture),
    })
}

/// The same question after an answer that is none, with what is wrong with it.
#[must_use]
pub fn ask_again(api: Api, mut body: Value, answer: &str, problem: &str) -> Value {
    let key = match api {
        Api::OpenaiResponses => "input",
        Api::AnthropicMessages | Api::OpenaiChat => "messages",
    };
    if let Some(turns) = body[key].as_array_mut() {
        // An empty turn is refused by every provider.
        if !answer.trim().is_empty() {
            turns.push(json!({"role": "assistant", "content": answer}));
        }
        turns.push(json!({"role": "user", "content": problem}));
    }
    body
}

fn anthropic(model: &Model, system: &str, text: &str, picture: Option<&Rendered>) -> Value {
    let mut content = vec![json!({"type": "text", "text": text})];
    content.extend(picture.map(|picture| {
        json!({"type": "image", "source": {
            "type": "base64", "media_type": picture.media_type, "data": picture.base64}})
    }));
    let mut body = json!({
        "model": model.name,
        "max_tokens": model.max_output,
        "system": system,
        "messages": [{"role": "user", "content": content}],
    });
    if model.thinking == Thinking::Adaptive {
        body["thinking"] = json!({"type": "adaptive"});
    }
    body
}

fn responses(model: &Model, system: &str, text: &str, picture: Option<&Rendered>) -> Value {
    let mut content = vec![json!({"type": "input_text", "text": text})];
    content.extend(picture.map(|picture| {
        json!({"type": "input_image", "detail": "original", "image_url": picture.data_url()})
    }));
    json!({
        "model": model.name,
        "store": false,
        "instructions": system,
        "max_output_tokens": model.max_output,
        "input": [{"role": "user", "content": content}],
    })
}

fn chat(model: &Model, system: &str, text: &str, picture: Option<&Rendered>) -> Value {
    let mut content = vec![json!({"type": "text", "text": text})];
    content.extend(
        picture
            .map(|picture| json!({"type": "image_url", "image_url": {"url": picture.data_url()}})),
    );
    json!({
        "model": model.name,
        "max_tokens": model.max_output,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": content},
        ],
    })
}
