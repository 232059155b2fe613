//! What the model is shown of earlier steps: the last ones as screenshots with its own answers, those before as lines.

use std::collections::BTreeMap;

use bytes::Bytes;
use motorium_proto::domain::decision::PastStep;
use motorium_proto::service::PlanRequest;
use serde::{Deserialize, Serialize};

use crate::backends::chat::{self, past};
use crate::backends::dialect::{Step, Unasked};
use crate::picture::Rendered;
use crate::prompt::Language;
use crate::prompt::history::{self, Places};

/// What the model answered, by the number of the step: the content of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Records {
    answers: BTreeMap<u32, String>,
}

impl Records {
    /// Those of a conversation; none if another backend wrote it.
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

/// Earlier steps, the oldest first.
#[derive(Debug)]
pub(super) struct Past {
    /// Steps without a screenshot, each in a line.
    pub(super) told: Vec<String>,
    pub(super) shown: Vec<Shown>,
}

/// A step with its screenshot.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) picture: Rendered,
    /// What was answered to it.
    pub(super) answer: String,
    /// What came of that, where the model cannot see it.
    pub(super) outcome: Option<String>,
}

/// Everything before this step.
pub(super) fn of(step: &Step<'_>, language: Language) -> Result<Past, Unasked> {
    let history = &step.request.history;
    let records = Records::of(step.request);
    let first_shown = history
        .len()
        .saturating_sub(step.model.max_images.saturating_sub(1));
    let mut all = Past {
        told: Vec::new(),
        shown: Vec::new(),
    };
    for (index, past) in history.iter().enumerate() {
        let picture = if index >= first_shown {
            chat::picture(step, past)?
        } else {
            None
        };
        match picture {
            Some(picture) => all.shown.push(Shown {
                picture,
                answer: answer(&records, past, language),
                outcome: outcome(past, language),
            }),
            None => all.told.push(told(step, past, language)),
        }
    }
    Ok(all)
}

/// The model's own answer, or what another did.
fn answer(records: &Records, past: &PastStep, language: Language) -> String {
    let own = records.answers.get(&past.step).cloned();
    own.unwrap_or_else(|| format!("Action: {}", past::deeds(past, language)))
}

fn outcome(past: &PastStep, language: Language) -> Option<String> {
    let actions = past
        .actions
        .iter()
        .filter_map(|action| past::outcome(action, language));
    let outcomes: Vec<String> = actions.chain(past::results(past)).collect();
    (!outcomes.is_empty()).then(|| outcomes.join("\n"))
}

/// A step in a line, and what it brought.
fn told(step: &Step<'_>, past: &PastStep, language: Language) -> String {
    let places = Places::Seen {
        taste: step.model.taste,
        frame: step.request.frame.size,
        numbered: false,
    };
    let line = history::line(past, language, places);
    let lines = std::iter::once(line).chain(past::results(past));
    lines.collect::<Vec<_>>().join("\n")
}
