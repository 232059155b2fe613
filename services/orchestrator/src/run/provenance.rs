//! What a task has read so far that is not its user's, and what of it goes into an action or a call.
//!
//! What screens have shown is remembered by the run, and read again by the next one; everything else is in the task's record. How one text is recognised in
//! another is [`crate::policy::provenance`]'s matter.

use bytes::Bytes;
use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::v1::common as wire;
use prost::Message as _;

use super::Runner;
use crate::policy::provenance::{Foreign, Origin, Sources};
use crate::policy::situation;
use crate::task::{ActionRecord, StepRecord, Task};

/// Keys that put something into the clipboard.
const COPYING: [&str; 4] = ["ctrl+c", "ctrl+x", "ctrl+shift+c", "ctrl+insert"];
/// Words of a click that does the same.
const COPIES: [&str; 4] = ["copy", "cut", "复制", "剪切"];

impl Runner {
    /// The parts of what an action enters or goes to that are not the user's.
    pub(super) fn foreign_in_action(&self, action: &Action<CapturePoint>) -> Vec<Foreign> {
        if situation::pastes(action) || situation::pastes_selection(action) {
            let known = pasted(&self.task).filter(|_| situation::pastes(action));
            let Some(pasted) = known else {
                let (text, origin) = (String::new(), Origin::Clipboard);
                return vec![Foreign { text, origin }];
            };
            return self.sources().foreign(&entered_before(&self.task), pasted);
        }
        let (argument, is_secret) = situation::argument(action);
        if argument.is_empty() || is_secret {
            return Vec::new();
        }
        let before = match literal(action) {
            Some(_) => entered_before(&self.task),
            None => String::new(),
        };
        self.sources().foreign(&before, &argument)
    }

    /// The parts of a call's arguments that are not the user's.
    pub(super) fn foreign_in_call(&self, arguments_json: &str) -> Vec<Foreign> {
        let sources = self.sources();
        let mut found: Vec<Foreign> = Vec::new();
        for value in situation::values(arguments_json) {
            for part in sources.foreign("", &value) {
                if !found.contains(&part) {
                    found.push(part);
                }
            }
        }
        found
    }

    fn sources(&self) -> Sources<'_> {
        Sources {
            seen: &self.seen,
            told: self.task.steps.iter().flat_map(told_in).collect(),
            users_words: self.task.users_words().collect(),
        }
    }

    /// Takes in what screens have shown to the runs before this one. What was not kept, as without recording, or cannot be
    /// read any more stays forgotten.
    pub(super) async fn remember_screens(&mut self) {
        for step in &self.task.steps {
            for title in &step.window_titles {
                self.seen.note_text(title);
            }
            let Some(stored) = &step.scene else {
                continue;
            };
            match self.blobs.get(stored.sha256).await {
                Ok(scene) => texts_of(scene)
                    .iter()
                    .for_each(|text| self.seen.note_text(text)),
                Err(error) => {
                    tracing::warn!(
                        task = %self.task.spec.name, step = step.number, %error,
                        "what was to be read on an earlier screen is not known any more"
                    );
                }
            }
        }
    }

    /// What a paste would enter, where the task itself has put it into the clipboard.
    pub(super) fn pasted(&self) -> Option<&str> {
        pasted(&self.task)
    }
}

/// What was to be read on a screen, as it was stored.
fn texts_of(scene: Bytes) -> Vec<String> {
    let scene = wire::Scene::decode(scene).unwrap_or_default();
    let elements = scene.elements.into_iter();
    elements.map(|element| element.content).collect()
}

/// What was extracted in a step, and what functions returned. What a tool says of a failure is its own words, too.
fn told_in(step: &StepRecord) -> Vec<(Origin, String)> {
    let extracted = step
        .extracted
        .iter()
        .flat_map(|json| situation::values(json));
    let mut told: Vec<_> = extracted.map(|text| (Origin::Extraction, text)).collect();
    for (call, result) in step.function_calls.iter().zip(&step.function_results) {
        let texts = match &result.outcome {
            Ok(json) => situation::values(json),
            Err(words) => vec![words.clone()],
        };
        let origin = || Origin::Function(call.name.clone());
        told.extend(texts.into_iter().map(|text| (origin(), text)));
    }
    told
}

/// What was entered so far, one piece after the other: what was done between them does not make them another text.
fn entered_before(task: &Task) -> String {
    let pieces = performed(task).filter_map(|action| literal(&action.action));
    pieces.collect::<Vec<_>>().join(" ")
}

/// What the task itself has put into the clipboard last; `None` if something else may be in it.
fn pasted(task: &Task) -> Option<&str> {
    let last = performed(task)
        .filter(|record| sets_clipboard(record))
        .last()?;
    match &last.action {
        Action::SetClipboard {
            text: Text::Literal(text),
        }
        | Action::Paste {
            text: Some(Text::Literal(text)),
        } => Some(text),
        _ => None,
    }
}

fn sets_clipboard(record: &ActionRecord) -> bool {
    let action = &record.action;
    match action {
        Action::SetClipboard { .. } | Action::Paste { text: Some(_) } => true,
        Action::KeyChord { .. } | Action::HoldKey { .. } => situation::strikes(action, &COPYING),
        // An entry of a menu copies, too.
        Action::Click { .. } => {
            let intent = record.planned.intent.to_lowercase();
            COPIES.iter().any(|word| intent.contains(word))
        }
        _ => false,
    }
}

fn performed(task: &Task) -> impl Iterator<Item = &ActionRecord> {
    let actions = task.steps.iter().flat_map(|step| &step.actions);
    actions.filter(|action| action.performed())
}

fn literal(action: &Action<CapturePoint>) -> Option<&str> {
    match action {
        Action::TypeText {
            text: Text::Literal(text),
            ..
        }
        | Action::Paste {
            text: Some(Text::Literal(text)),
        } => Some(text),
        _ => None,
    }
}
