//! A question to a model besides the steps of a task: a summary, data from the screen, the position of the pointer or of
//! a described element. Any model can be asked, whatever dialect its steps use.

use std::fmt;
use std::sync::Arc;

use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::domain::element::Element;
use motorium_proto::domain::frame::Image;
use serde_json::{Value, json};

use super::call::exchange::ExchangeTexts;
use crate::models::{Api, Model, Thinking};
use crate::prompt;
use crate::screenshot::{RenderedImage, SentImage};

/// Validates an answer: returns the accepted value, or an error message for the model.
pub type AnswerCheck = dyn Fn(&str, Option<&SentImage>) -> Result<Value, String> + Send + Sync;

/// Renders the text of a question, which may depend on the image.
pub type QuestionText = dyn Fn(Option<&SentImage>) -> Result<String, prompt::Error> + Send + Sync;

/// A question to a model.
#[derive(Clone)]
pub struct Question {
    pub system: String,
    pub text: Arc<QuestionText>,
    /// Image that is shown as a whole.
    pub image: Option<Image>,
    /// Elements that are annotated on the image; usually none.
    pub marked: Vec<Element>,
    pub check: Arc<AnswerCheck>,
    /// Remaining limits of the task.
    pub remaining: RemainingLimits,
}

impl fmt::Debug for Question {
    // The texts contain the content of the user's screen and must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("image", &self.image.is_some())
            .finish_non_exhaustive()
    }
}

/// A validated answer with its usage.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionResult {
    pub value: Value,
    pub usage: Usage,
    /// Requests and responses, also of backends that failed before.
    pub exchange: ExchangeTexts,
}

/// Builds the request of a question.
///
/// # Errors
/// Fails if the text cannot be rendered.
pub fn ask(
    api: Api,
    model: &Model,
    question: &Question,
    image: Option<&RenderedImage>,
) -> Result<Value, prompt::Error> {
    let text = (question.text)(image.map(|image| &image.view))?;
    let system = &question.system;
    Ok(match api {
        Api::AnthropicMessages => anthropic(model, system, &text, image),
        Api::OpenaiResponses => responses(model, system, &text, image),
        Api::OpenaiChat => chat(model, system, &text, image),
    })
}

/// Repeats a question with the invalid answer and its error appended.
#[must_use]
pub fn ask_again(api: Api, mut body: Value, answer: &str, problem: &str) -> Value {
    let key = match api {
        Api::OpenaiResponses => "input",
        Api::AnthropicMessages | Api::OpenaiChat => "messages",
    };
    if let Some(turns) = body[key].as_array_mut() {
        // Every provider rejects an empty turn.
        if !answer.trim().is_empty() {
            turns.push(json!({"role": "assistant", "content": answer}));
        }
        turns.push(json!({"role": "user", "content": problem}));
    }
    body
}

fn anthropic(model: &Model, system: &str, text: &str, image: Option<&RenderedImage>) -> Value {
    let mut content = vec![json!({"type": "text", "text": text})];
    content.extend(image.map(|image| {
        json!({"type": "image", "source": {
            "type": "base64", "media_type": image.media_type, "data": image.base64}})
    }));
    let mut body = json!({
        "model": model.name,
        "max_tokens": model.max_output_tokens,
        "system": system,
        "messages": [{"role": "user", "content": content}],
    });
    if model.thinking == Thinking::Adaptive {
        body["thinking"] = json!({"type": "adaptive"});
    }
    body
}

fn responses(model: &Model, system: &str, text: &str, image: Option<&RenderedImage>) -> Value {
    let mut content = vec![json!({"type": "input_text", "text": text})];
    content.extend(image.map(
        |image| json!({"type": "input_image", "detail": "original", "image_url": image.data_url()}),
    ));
    json!({
        "model": model.name,
        "store": false,
        "instructions": system,
        "max_output_tokens": model.max_output_tokens,
        "input": [{"role": "user", "content": content}],
    })
}

fn chat(model: &Model, system: &str, text: &str, image: Option<&RenderedImage>) -> Value {
    let mut content = vec![json!({"type": "text", "text": text})];
    content.extend(
        image.map(|image| json!({"type": "image_url", "image_url": {"url": image.data_url()}})),
    );
    json!({
        "model": model.name,
        "max_tokens": model.max_output_tokens,
        "messages": [
            {"role": "system", "content": system},
            {"role": "user", "content": content},
        ],
    })
}
