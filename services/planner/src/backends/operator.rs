//! Any model behind an endpoint that speaks OpenAI's chat protocol, local ones with it: shown a numbered picture, it
//! answers with one JSON object.
//!
//! The endpoint is asked to hold the model to a schema; where it refuses, to JSON of any shape; where it refuses that as
//! well, the prompt alone says what is wanted.

use serde_json::{Value, json};

use super::chat;
use super::concessions::Form;
use super::dialect::{Answer, Asked, Dialect, Misread, Step, Unasked};
use super::numbered::{self, Numbered, Options};
use crate::answer::som;
use crate::models::Api;
use crate::picture::Rendered;

/// The name in configurations.
pub const NAME: &str = "operator";

/// A model behind a chat endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct Operator {
    pub options: Options,
}

impl Dialect for Operator {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::OpenaiChat
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
            "messages": [
                {"role": "system", "content": numbered.system},
                {"role": "user", "content": content},
            ],
        });
        chat::decide_surely(&mut body, step);
        if let Some(format) = response_format(form) {
            body["response_format"] = format;
        }
        Ok(Asked {
            body,
            view: numbered.picture.map(|picture| picture.view),
            ..Asked::default()
        })
    }

    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread> {
        let reading = numbered::read(self.api(), step, asked, answer)?;
        Ok(Answer::Decided(Box::new(reading)))
    }

    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked {
        let mut asked = asked.clone();
        numbered::make_room(&mut asked.body, "max_tokens", misread);
        if let Some(turns) = asked.body["messages"].as_array_mut() {
            let complaint = numbered::complaint(step, misread);
            match numbered::echo(self.api(), answer) {
                Some(text) => turns.extend([
                    json!({"role": "assistant", "content": text}),
                    json!({"role": "user", "content": complaint}),
                ]),
                None => numbered::append(turns, &complaint),
            }
        }
        asked
    }
}

fn response_format(form: Form) -> Option<Value> {
    match form {
        Form::Schema => Some(json!({"type": "json_schema", "json_schema": {
            "name": "decision", "strict": true, "schema": som::schema::schema()}})),
        Form::Json => Some(json!({"type": "json_object"})),
        Form::Plain => None,
    }
}

fn image(picture: &Rendered) -> Value {
    json!({"type": "image_url", "image_url": {"url": picture.data_url()}})
}
