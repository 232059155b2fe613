//! Actions and points as a model names them, in the coordinates of the image that it saw.

use motorium_proto::domain::action::{Action, Target, Text};
use motorium_proto::domain::decision::{Next, PlannedAction};

use crate::screenshot::{CoordinateError, ReportedPoint, SentImage};

/// All actions that one response asks for. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelActions {
    /// In order of execution.
    pub actions: Vec<Action<ReportedPoint>>,
    /// End of the task that the model declares after the actions.
    pub ending: Option<TaskEnding>,
}

/// End of a task, as a model declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskEnding {
    /// Success, with an answer that may be empty.
    Done(String),
    /// Failure, with a reason that may be empty.
    Fail(String),
}

impl ModelActions {
    /// Converts the actions into a decision in frame pixels. An ending after actions is dropped: the model sees the
    /// effect of the actions first and can then declare the end again.
    ///
    /// `words` is the model's own description, shown to the user. If it is empty, the action kind is used instead.
    ///
    /// # Errors
    /// Fails if a point lies outside the image that the model saw.
    pub fn decision(self, view: &SentImage, words: &str) -> Result<Next, CoordinateError> {
        match self.ending {
            Some(ending) if self.actions.is_empty() => Ok(ending.decision(words)),
            _ => {
                let planned = self.actions.into_iter().map(|action| {
                    let aimed =
                        action.try_map(|point| view.to_capture(point).map(Target::Point))?;
                    Ok(planned(aimed, words))
                });
                planned.collect::<Result<_, _>>().map(Next::Act)
            }
        }
    }
}

impl TaskEnding {
    fn decision(self, words: &str) -> Next {
        let text_or_words = |own: String| {
            if own.is_empty() {
                words.to_owned()
            } else {
                own
            }
        };
        match self {
            TaskEnding::Done(answer) => Next::Done {
                answer: text_or_words(answer),
                evidence: Vec::new(),
            },
            TaskEnding::Fail(reason) => Next::Fail {
                reason: text_or_words(reason),
            },
        }
    }
}

fn planned(action: Action<Target>, words: &str) -> PlannedAction {
    let intent = if words.is_empty() {
        action.kind().to_string()
    } else {
        words.to_owned()
    };
    PlannedAction {
        repeatable: action.is_repeatable(),
        verify_pointer: false,
        intent,
        action,
    }
}

/// Parses text to enter: `secret:NAME` is a reference to a secret, everything else is literal text.
#[must_use]
pub fn parse_text(text: &str) -> Text {
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
    };
    match text.strip_prefix("secret:").filter(is_name) {
        Some(name) => Text::Secret(name.to_owned()),
        None => Text::Literal(text.to_owned()),
    }
}
