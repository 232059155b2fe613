//! Earlier steps in the prompt: the last ones with their screenshots, those before as text.
//!
//! Steps that the model decided itself are shown in its own words; for other steps, the other backend's thought and
//! actions.

use std::collections::BTreeMap;

use bytes::Bytes;
use motorium_proto::domain::decision::PastStep;
use motorium_proto::service::PlanRequest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::HistoryKind;
use super::sections::Sections;
use crate::backends::chat::{self, history_text};
use crate::backends::dialect::{RequestError, StepContext};
use crate::prompt::Language;
use crate::prompt::context::with_bounded_data;

/// The model's responses by step number: the content of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Records {
    steps: BTreeMap<u32, Record>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Record {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    observation: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    thought: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    action: String,
}

impl Records {
    /// Returns the records of the request's conversation; none if another backend wrote it.
    pub(super) fn of(request: &PlanRequest) -> Self {
        serde_json::from_slice(&request.conversation).unwrap_or_default()
    }

    pub(super) fn add(&mut self, step: u32, sections: &Sections<'_>) {
        let record = Record {
            observation: sections.observation.to_owned(),
            thought: sections.thought.to_owned(),
            action: sections.action.to_owned(),
        };
        self.steps.insert(step, record);
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self)
            .map(Bytes::from)
            .unwrap_or_default()
    }

    fn get(&self, step: &PastStep, language: Language) -> Record {
        let own = self.steps.get(&step.step).cloned();
        let mut record = own.unwrap_or_else(|| Record {
            thought: step.thought.clone(),
            ..Record::default()
        });
        let outcomes: Vec<String> = step
            .actions
            .iter()
            .filter_map(|action| history_text::outcome(action, language))
            .collect();
        if record.action.is_empty() {
            record.action = history_text::actions_text(step, language);
        } else if let Some(outcome) = outcomes.first() {
            record.action = format!("{} ({outcome})", record.action);
        }
        record
    }
}

/// Returns the messages of all earlier steps, oldest first.
pub(super) fn messages(
    step: &StepContext<'_>,
    kind: HistoryKind,
    language: Language,
) -> Result<Vec<Value>, RequestError> {
    let history = &with_bounded_data(&step.request.history);
    let records = Records::of(step.request);
    let first_shown = history.len().saturating_sub(chat::max_past_images(step));
    let mut messages = Vec::new();
    let mut waiting = Vec::new();
    for (index, past) in history.iter().enumerate() {
        if index >= first_shown
            && let Some(image) = chat::past_image(step, past)?
        {
            speak(&mut messages, &mut waiting);
            messages.push(chat::image_message(&image, ""));
        }
        waiting.push(text(past.step, &records.get(past, language), kind));
    }
    speak(&mut messages, &mut waiting);
    Ok(messages)
}

/// Joins consecutive steps without a screenshot into one message.
fn speak(messages: &mut Vec<Value>, waiting: &mut Vec<String>) {
    if !waiting.is_empty() {
        messages.push(chat::message("assistant", waiting.join("\n")));
        waiting.clear();
    }
}

fn text(number: u32, record: &Record, kind: HistoryKind) -> String {
    let observed = kind == HistoryKind::Observation && !record.observation.is_empty();
    let thought = kind != HistoryKind::Action && !record.thought.is_empty();
    let mut text = format!("# Step {number}:\n");
    if observed {
        text += &format!("## Observation:\n{}\n\n", record.observation);
    }
    if thought {
        text += &format!("## Thought:\n{}\n\n", record.thought);
    }
    text + &format!("## Action:\n{}\n", record.action)
}
