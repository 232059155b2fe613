//! What a model asks for when it names actions and points itself, in the coordinates of the picture that it saw.

use motorium_proto::domain::action::{Action, Target, Text};
use motorium_proto::domain::decision::{Next, PlannedAction};

use crate::picture::{OffPicture, SaidPoint, SentPicture};

/// Everything that one answer asks for. Never empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Commands {
    /// In this order.
    pub actions: Vec<Action<SaidPoint>>,
    /// What the model says after them: that it is through.
    pub ending: Option<Ending>,
}

/// How a model ends a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With an answer, which may be empty.
    Done(String),
    /// With a reason, which may be empty.
    Fail(String),
}

impl Commands {
    /// The decision: what to do, in pixels of the frame. An ending after actions is left out: the model sees what they
    /// came to and says it again.
    ///
    /// `words` are the model's own for what it does, shown to people; where it gave none, what it does is named.
    ///
    /// # Errors
    /// If a point is not on the picture that the model saw.
    pub fn decision(self, view: &SentPicture, words: &str) -> Result<Next, OffPicture> {
        match self.ending {
            Some(ending) if self.actions.is_empty() => Ok(ending.decision(words)),
            _ => {
                let planned = self.actions.into_iter().map(|action| {
                    let aimed = action.try_map(|said| view.to_capture(said).map(Target::Point))?;
                    Ok(planned(aimed, words))
                });
                planned.collect::<Result<_, _>>().map(Next::Act)
            }
        }
    }
}

impl Ending {
    fn decision(self, words: &str) -> Next {
        let said = |own: String| {
            if own.is_empty() {
                words.to_owned()
            } else {
                own
            }
        };
        match self {
            Ending::Done(answer) => Next::Done {
                answer: said(answer),
                evidence: Vec::new(),
            },
            Ending::Fail(reason) => Next::Fail {
                reason: said(reason),
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
        repeatable: is_repeatable(&action),
        verify_pointer: false,
        intent,
        action,
    }
}

/// Whether doing it twice is as good as doing it once, when the first time changed nothing.
fn is_repeatable(action: &Action<Target>) -> bool {
    matches!(
        action,
        Action::Move { .. } | Action::Click { .. } | Action::Scroll { .. } | Action::Wait { .. }
    )
}

/// Text to enter: a secret by its name (`secret:NAME`), everything else as it is.
#[must_use]
pub fn entered(text: &str) -> Text {
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
