//! Any model behind an endpoint with OpenAI's chat protocol, including local ones: it is shown an annotated screenshot
//! and responds with one JSON object.
//!
//! The endpoint is first asked to enforce a schema. If it rejects that, any JSON is requested; if it rejects that too,
//! the prompt alone describes the format.

use serde_json::{Value, json};

use super::chat;
use super::degraded_features::OutputFormat;
use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::som_prompt::{self, Options, SomPrompt};
use crate::models::Api;
use crate::response::ResponseError;
use crate::response::som;
use crate::screenshot::RenderedImage;

/// Name in the configuration.
pub const NAME: &str = "operator";

/// Dialect for a model behind a chat endpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatSom {
    pub options: Options,
}

impl Dialect for ChatSom {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::OpenaiChat
    }

    fn needs_image(&self) -> bool {
        self.options.images
    }

    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
        let form = step.degraded.output_format;
        let numbered = SomPrompt::of(step, self.options, form)?;
        let content = numbered.content(step, image);
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output_tokens,
            "messages": [
                {"role": "system", "content": numbered.system},
                {"role": "user", "content": content},
            ],
        });
        chat::set_greedy_sampling(&mut body, step);
        if let Some(format) = response_format(form) {
            body["response_format"] = format;
        }
        Ok(numbered.into_request(body))
    }

    fn parse_response(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
    ) -> Result<ParsedResponse, ResponseError> {
        let reading = som_prompt::read(self.api(), step, model_request, answer)?;
        Ok(ParsedResponse::Decision(Box::new(reading)))
    }

    fn repair_request(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest {
        let mut model_request = model_request.clone();
        som_prompt::raise_output_limit(&mut model_request.body, "max_tokens", response_error);
        if let Some(turns) = model_request.body["messages"].as_array_mut() {
            let complaint = som_prompt::repair_message(step, response_error);
            match som_prompt::response_text(self.api(), answer) {
                Some(text) => turns.extend([
                    json!({"role": "assistant", "content": text}),
                    json!({"role": "user", "content": complaint}),
                ]),
                None => som_prompt::append(turns, &complaint),
            }
        }
        model_request
    }
}

fn response_format(form: OutputFormat) -> Option<Value> {
    match form {
        OutputFormat::Schema => Some(json!({"type": "json_schema", "json_schema": {
            "name": "decision", "strict": true, "schema": som::schema::schema()}})),
        OutputFormat::Json => Some(json!({"type": "json_object"})),
        OutputFormat::PromptOnly => None,
    }
}

fn image(rendered: &RenderedImage) -> Value {
    json!({"type": "image_url", "image_url": {"url": rendered.data_url()}})
}
