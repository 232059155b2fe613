//! Earlier steps in the prompt: the last ones as screenshots with the model's own responses, those before as lines of
//! text.

use std::collections::BTreeMap;

use bytes::Bytes;
use motorium_proto::domain::decision::PastStep;
use motorium_proto::service::PlanRequest;
use serde::{Deserialize, Serialize};

use crate::backends::chat::{self, history_text};
use crate::backends::dialect::{RequestError, StepContext};
use crate::prompt::Language;
use crate::prompt::context::with_bounded_data;
use crate::prompt::history::{self, CoordinateFormat};
use crate::screenshot::RenderedImage;

/// The model's responses by step number: the content of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Records {
    answers: BTreeMap<u32, String>,
}

impl Records {
    /// Returns the records of the request's conversation; none if another backend wrote it.
    pub(super) fn of(request: &PlanRequest) -> Self {
        serde_json::from_slice(&request.conversation).unwrap_or_default()
    }

    pub(super) fn add(&mut self, step: u32, answer: &str) {
        self.answers.insert(step, answer.to_owned());
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self)
            .map(Bytes::from)
            .unwrap_or_default()
    }
}

/// Earlier steps, oldest first.
#[derive(Debug)]
pub(super) struct Past {
    /// Steps without a screenshot, one line each.
    pub(super) text_steps: Vec<String>,
    pub(super) image_steps: Vec<ImageStep>,
}

/// A step with its screenshot.
#[derive(Debug)]
pub(super) struct ImageStep {
    pub(super) image: RenderedImage,
    /// The response to it.
    pub(super) answer: String,
    /// Outcome, as far as the model cannot see it.
    pub(super) outcome: Option<String>,
}

/// Returns all steps before this one.
pub(super) fn of(step: &StepContext<'_>, language: Language) -> Result<Past, RequestError> {
    let history = &with_bounded_data(&step.request.history);
    let records = Records::of(step.request);
    let first_shown = history.len().saturating_sub(chat::max_past_images(step));
    let mut all = Past {
        text_steps: Vec::new(),
        image_steps: Vec::new(),
    };
    for (index, past) in history.iter().enumerate() {
        let image = if index >= first_shown {
            chat::past_image(step, past)?
        } else {
            None
        };
        match image {
            Some(image) => all.image_steps.push(ImageStep {
                image,
                answer: answer(&records, past, language),
                outcome: outcome(past, language),
            }),
            None => all.text_steps.push(text_step(step, past, language)),
        }
    }
    Ok(all)
}

/// Returns the model's own response, or the actions of another backend.
fn answer(records: &Records, past: &PastStep, language: Language) -> String {
    let own = records.answers.get(&past.step).cloned();
    own.unwrap_or_else(|| format!("Action: {}", history_text::actions_text(past, language)))
}

fn outcome(past: &PastStep, language: Language) -> Option<String> {
    let actions = past
        .actions
        .iter()
        .filter_map(|action| history_text::outcome(action, language));
    let outcomes: Vec<String> = actions.chain(history_text::results(past)).collect();
    (!outcomes.is_empty()).then(|| outcomes.join("\n"))
}

/// Returns a step as one line, with its results.
fn text_step(step: &StepContext<'_>, past: &PastStep, language: Language) -> String {
    let places = CoordinateFormat::Model {
        image_spec: step.model.image_spec,
        frame: step.request.frame.size,
        numbered: false,
    };
    let line = history::line(past, language, places);
    let lines = std::iter::once(line).chain(history_text::results(past));
    lines.collect::<Vec<_>>().join("\n")
}
