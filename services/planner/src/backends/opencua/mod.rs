//! OpenCUA on a server with OpenAI's protocol. It receives a screenshot and responds with Thought, Action and Code; the
//! code is parsed as typed actions and never run.
//!
//! - [`history`]: earlier steps in the prompt
//! - [`sections`]: the sections of a response
//!
//! The prompt keeps the structure of the models' training data: the instruction as the system prompt, steps without a
//! screenshot as one message, then a screenshot and the response for each remaining step, then the task with the user's
//! images. The wording is ours; users can replace it with the project's own in their template folder.

mod history;
mod sections;

use bytes::Bytes;
use motorium_proto::service::PlanRequest;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{self, history_text};
use super::dialect::{Dialect, ModelRequest, ParsedResponse, RequestError, StepContext};
use super::user_images;
use crate::models::Api;
use crate::prompt::Language;
use crate::response::pyautogui;
use crate::response::{ParsedDecision, ResponseError};
use crate::screenshot::RenderedImage;

use history::Records;
use sections::Sections;

/// Generation of prompts that the model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptGeneration {
    /// OpenCUA-7B and 32B.
    V1,
    /// OpenCUA-72B.
    V2,
}

/// Amount of text before the code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtLevel {
    /// The action only.
    L1,
    /// Thought and action.
    #[default]
    L2,
    /// Observation, thought and action.
    L3,
}

/// Parts of earlier responses that the model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryKind {
    Action,
    Thought,
    Observation,
}

/// Model-dependent options; absent ones are derived from the model's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub family: Option<PromptGeneration>,
    pub level: ThoughtLevel,
    pub history: Option<HistoryKind>,
}

impl Options {
    fn family(self, model: &str) -> PromptGeneration {
        let is_v2 = model.to_lowercase().contains("72b");
        self.family.unwrap_or(if is_v2 {
            PromptGeneration::V2
        } else {
            PromptGeneration::V1
        })
    }

    fn history(self, family: PromptGeneration) -> HistoryKind {
        self.history.unwrap_or(match family {
            PromptGeneration::V1 => HistoryKind::Action,
            PromptGeneration::V2 => HistoryKind::Thought,
        })
    }
}

/// Name in the configuration.
pub const NAME: &str = "opencua";

/// Dialect for OpenCUA.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenCua {
    options: Options,
}

impl OpenCua {
    /// Creates the dialect with these options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    fn messages(
        &self,
        step: &StepContext<'_>,
        language: Language,
        current: &RenderedImage,
    ) -> Result<Vec<Value>, RequestError> {
        let family = self.options.family(&step.model.name);
        let system = step.prompts.render(
            "opencua_system",
            language,
            json!({
                "family": family,
                "level": self.options.level,
                "language": chat::output_language(step),
            }),
        )?;
        let values = minijinja::context! {
            messages => history_text::user_words(step.request),
        };
        let values = chat::with_context(step, values)?;
        let task = step.prompts.render("opencua_task", language, values)?;
        let mut messages = vec![chat::message("system", system)];
        messages.extend(history::messages(
            step,
            self.options.history(family),
            language,
        )?);
        let task = chat::image_message(current, &task);
        messages.push(chat::with_user_images(task, &user_images::rendered(step)?));
        Ok(messages)
    }
}

impl Dialect for OpenCua {
    fn name(&self) -> &'static str {
        NAME
    }

    fn api(&self) -> Api {
        Api::OpenaiChat
    }

    fn needs_image(&self) -> bool {
        true
    }

    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError> {
        check_functions(step.request)?;
        let language = chat::language(step);
        let current = step.images.current(step.model.image_spec)?;
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output_tokens,
            "messages": self.messages(step, language, &current)?,
        });
        chat::set_greedy_sampling(&mut body, step);
        if body.get("temperature").is_some() {
            // Has no effect at temperature 0. It limits the sampling of a repair, which raises the temperature.
            body["top_p"] = json!(0.9);
        }
        Ok(ModelRequest {
            body,
            view: Some(current.view),
            ..ModelRequest::default()
        })
    }

    fn parse_response(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
    ) -> Result<ParsedResponse, ResponseError> {
        let text = chat::text(answer)?;
        let sections = Sections::of(&text);
        let code = sections
            .code
            .ok_or_else(|| ResponseError::invalid("there is no code in the answer"))?;
        let commands =
            pyautogui::read(code).map_err(|error| ResponseError::invalid(error.to_string()))?;
        let view = model_request
            .view
            .ok_or_else(|| ResponseError::invalid("no screenshot was sent"))?;
        let words = sections.words();
        let next = chat::decision(step, commands, &view, words)?;
        Ok(ParsedResponse::Decision(Box::new(ParsedDecision {
            thought: sections.thought.to_owned(),
            progress: first_line(words).to_owned(),
            next,
            conversation: conversation(step, &sections),
            safety_checks: Vec::new(),
            suspected_injections: Vec::new(),
            conversation_images: Vec::new(),
        })))
    }

    fn repair_request(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest {
        chat::repaired(model_request, answer, response_error, chat::language(step))
    }
}

/// Checks that the task has no functions: the model answers with code for mouse and keyboard only, and would never call
/// them.
fn check_functions(request: &PlanRequest) -> Result<(), RequestError> {
    let functions = request.functions.iter();
    let names: Vec<&str> = functions.map(|function| function.name.as_str()).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(RequestError::Unsuitable(format!(
        "it cannot call functions, and the task has some ({}); use another backend for this task",
        names.join(", ")
    )))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

/// Returns the conversation with the model's own response added, to be shown to it again.
fn conversation(step: &StepContext<'_>, sections: &Sections<'_>) -> Bytes {
    let mut records = Records::of(step.request);
    records.add(chat::number(step), sections);
    records.to_bytes()
}
