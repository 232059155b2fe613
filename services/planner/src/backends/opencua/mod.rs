//! OpenCUA on a server with OpenAI's protocol: a screenshot goes in, Thought, Action and Code come out, and the code is
//! read as typed actions (never run).
//!
//! - [`history`]: what the model is shown of earlier steps
//! - [`sections`]: the parts of its answer
//!
//! The models were trained on prompts of one shape, which is kept: the instruction as the system prompt, steps that are
//! no longer shown as one message, then a screenshot and what was said of it for each step that is, then the task. The
//! words are ours; the project's own can take their place in the user's folder of templates.

mod history;
mod sections;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{self, past};
use super::dialect::{Answer, Asked, Dialect, Misread, Reading, Step, Unasked};
use crate::answer::pyautogui;
use crate::models::Api;
use crate::picture::Rendered;
use crate::prompt::Language;

use history::Records;
use sections::Sections;

/// Which generation of prompts the model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// OpenCUA-7B and 32B.
    V1,
    /// OpenCUA-72B.
    V2,
}

/// How much the model says before its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The action alone.
    L1,
    /// What it thinks, and the action.
    #[default]
    L2,
    /// What it sees, what it thinks, and the action.
    L3,
}

/// What it is shown of what it said before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HistoryKind {
    Action,
    Thought,
    Observation,
}

/// Settings that depend on the model; what is absent is taken from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    pub family: Option<Family>,
    pub level: Level,
    pub history: Option<HistoryKind>,
}

impl Options {
    fn family(self, model: &str) -> Family {
        let is_v2 = model.to_lowercase().contains("72b");
        self.family
            .unwrap_or(if is_v2 { Family::V2 } else { Family::V1 })
    }

    fn history(self, family: Family) -> HistoryKind {
        self.history.unwrap_or(match family {
            Family::V1 => HistoryKind::Action,
            Family::V2 => HistoryKind::Thought,
        })
    }
}

/// The name in configurations.
pub const NAME: &str = "opencua";

/// The way of asking.
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenCua {
    options: Options,
}

impl OpenCua {
    /// With these settings.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options }
    }

    fn messages(
        &self,
        step: &Step<'_>,
        language: Language,
        current: &Rendered,
    ) -> Result<Vec<Value>, Unasked> {
        let family = self.options.family(&step.model.name);
        let system = step.prompts.render(
            "opencua_system",
            language,
            json!({"family": family, "level": self.options.level}),
        )?;
        let task = step.prompts.render(
            "opencua_task",
            language,
            json!({
                "goal": step.request.goal,
                "instructions": step.request.instructions,
                "advice": step.prompts.advice(&step.request.frame, language),
                "messages": past::user_words(step.request),
                "notices": step.request.notices,
            }),
        )?;
        let mut messages = vec![chat::message("system", system)];
        messages.extend(history::messages(
            step,
            self.options.history(family),
            language,
        )?);
        messages.push(chat::shown(current, &task));
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

    fn ask(&self, step: &Step<'_>) -> Result<Asked, Unasked> {
        let language = chat::language(step);
        let current = step.pictures.current(step.model.taste)?;
        let mut body = json!({
            "model": step.model.name,
            "max_tokens": step.model.max_output,
            "messages": self.messages(step, language, &current)?,
        });
        chat::decide_surely(&mut body, step);
        if body.get("temperature").is_some() {
            body["top_p"] = json!(0.9);
        }
        Ok(Asked {
            body,
            view: Some(current.view),
            ..Asked::default()
        })
    }

    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread> {
        let text = chat::text(answer)?;
        let sections = Sections::of(&text);
        let code = sections
            .code
            .ok_or_else(|| Misread::invalid("there is no code in the answer"))?;
        let commands =
            pyautogui::read(code).map_err(|error| Misread::invalid(error.to_string()))?;
        let view = asked
            .view
            .ok_or_else(|| Misread::invalid("no picture was sent"))?;
        let words = sections.words();
        let next = commands
            .decision(&view, words)
            .map_err(|error| Misread::invalid(error.to_string()))?;
        Ok(Answer::Decided(Box::new(Reading {
            thought: sections.thought.to_owned(),
            progress: first_line(words).to_owned(),
            next,
            conversation: conversation(step, &sections),
            safety_checks: Vec::new(),
            suspected_injections: Vec::new(),
            conversation_images: Vec::new(),
        })))
    }

    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked {
        chat::repaired(asked, answer, misread, chat::language(step))
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

/// What the model said in its own words, to be shown to it again.
fn conversation(step: &Step<'_>, sections: &Sections<'_>) -> Bytes {
    let mut records = Records::of(step.request);
    records.add(chat::number(step), sections);
    records.to_bytes()
}
