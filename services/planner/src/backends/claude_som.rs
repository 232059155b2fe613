//! Claude, shown a numbered picture: it answers with one JSON object that names an element and an action.
//!
//! Every step is one message by itself, with what happened before as lines of text. No conversation is kept, so that
//! nothing of it can be lost, edited or bound to a cache; the system prompt is the same in every step and is cached.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::concessions::Form;
use super::dialect::{Answer, Asked, Dialect, Misread, Step, Unasked};
use super::estimate;
use super::numbered::{self, Numbered, Options};
use crate::answer::said::Said;
use crate::answer::som;
use crate::models::{Api, Model, Thinking};
use crate::picture::Rendered;

/// The name in configurations.
pub const NAME: &str = "claude_som";
/// The model that is asked if the user names none.
pub const DEFAULT_MODEL: &str = "claude-opus-4-6";

/// Of an answer that nothing else keeps to an object.
const BEGINNING: &str = "{";

/// Claude with a numbered picture.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClaudeSom {
    pub options: Options,
}

impl Dialect for ClaudeSom {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::AnthropicMessages
    }

    fn needs_image(&self) -> bool {
        self.options.images
    }

    fn ask(&self, step: &Step<'_>) -> Result<Asked, Unasked> {
        let form = step.concessions.form;
        let numbered = Numbered::of(step, self.options, form)?;
        let content = numbered.content(step, image);
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output,
            "system": [system(step, &numbered.system)],
            "messages": [{"role": "user", "content": content}],
        });
        if form != Form::Schema && may_be_begun(step.model) {
            let turns = body["messages"].as_array_mut();
            turns.into_iter().for_each(|turns| turns.push(begun()));
        }
        if step.model.thinking == Thinking::Adaptive {
            body["thinking"] = json!({"type": "adaptive"});
        }
        if let Some(output) = output_config(step, form) {
            body["output_config"] = output;
        }
        Ok(Asked {
            body,
            view: numbered.picture.map(|picture| picture.view),
            ..Asked::default()
        })
    }

    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread> {
        let answer = whole(asked, answer);
        let reading = numbered::read(self.api(), step, asked, &answer)?;
        Ok(Answer::Decided(Box::new(reading)))
    }

    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked {
        let answer = &*whole(asked, answer);
        let mut asked = asked.clone();
        let complaint = numbered::complaint(step, misread);
        numbered::make_room(&mut asked.body, "max_tokens", misread);
        if let Some(turns) = asked.body["messages"].as_array_mut() {
            turns.retain(|turn| *turn != begun());
            // The content goes back as it came: thinking must not be edited. What was cut off or cannot be read does not.
            let content = &answer["content"];
            let is_whole = Said::of(self.api(), answer).is_ok();
            if is_whole && content.as_array().is_some_and(|blocks| !blocks.is_empty()) {
                turns.push(json!({"role": "assistant", "content": content}));
                turns.push(json!({"role": "user", "content": complaint}));
            } else {
                numbered::append(turns, &complaint);
            }
        }
        asked
    }
}

/// The system prompt. It is cached where it is long enough for that; a mark on a shorter one would do nothing.
fn system(step: &Step<'_>, text: &str) -> Value {
    let mut block = json!({"type": "text", "text": text});
    let tokens = estimate::tokens_of(text);
    if step.model.cache_minimum.is_none_or(|least| tokens >= least) {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    block
}

/// Whether the beginning of the answer may be given, so that nothing but an object can follow. Not while it thinks.
fn may_be_begun(model: &Model) -> bool {
    model.prefill && model.thinking != Thinking::Adaptive
}

fn begun() -> Value {
    json!({"role": "assistant", "content": BEGINNING})
}

/// The answer with the beginning that was given to the model.
fn whole<'a>(asked: &Asked, answer: &'a Value) -> Cow<'a, Value> {
    let is_begun = asked.body["messages"]
        .as_array()
        .and_then(|turns| turns.last())
        == Some(&begun());
    let mut answer = Cow::Borrowed(answer);
    if is_begun {
        let blocks = answer.to_mut()["content"]
            .as_array_mut()
            .into_iter()
            .flatten();
        let text = blocks.filter_map(|block| block.get_mut("text")).next();
        if let Some(text) = text {
            *text = json!(format!("{BEGINNING}{}", text.as_str().unwrap_or_default()));
        }
    }
    answer
}

fn output_config(step: &Step<'_>, form: Form) -> Option<Value> {
    let mut output = serde_json::Map::new();
    if let Some(effort) = &step.model.effort {
        output.insert("effort".to_owned(), json!(effort));
    }
    if form == Form::Schema {
        let format = json!({"type": "json_schema", "schema": som::schema::schema()});
        output.insert("format".to_owned(), format);
    }
    (!output.is_empty()).then_some(Value::Object(output))
}

fn image(picture: &Rendered) -> Value {
    json!({"type": "image", "source": {
        "type": "base64", "media_type": picture.media_type, "data": picture.base64}})
}
