//! What came of a replay.

use serde::Serialize;

use super::folder::Folder;

/// The first thing that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// 0: before the first one.
    pub step: u32,
    /// In words.
    pub what: String,
    /// As it was recorded.
    pub expected: String,
    /// As it is now.
    pub got: String,
}

/// A step, in a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepVerdict {
    pub number: u32,
    /// What was decided.
    pub line: String,
    /// `None`: it was not come to.
    pub same: Option<bool>,
}

/// What came of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub task: String,
    pub steps: Vec<StepVerdict>,
    /// Events that were written again, and all that were recorded.
    pub events_replayed: usize,
    pub events: usize,
    pub difference: Option<Difference>,
    /// What is worth knowing beside it.
    pub notes: Vec<String>,
}

impl Verdict {
    pub(super) fn of(folder: &Folder, replayed: usize, difference: Option<Difference>) -> Self {
        let differs_at = difference.as_ref().map(|difference| difference.step);
        let steps = folder
            .steps()
            .into_iter()
            .map(|(number, line)| StepVerdict {
                number,
                line,
                same: match differs_at {
                    Some(at) if number > at => None,
                    Some(at) => Some(number != at),
                    None => Some(true),
                },
            });
        Self {
            task: folder.task.spec.name.to_string(),
            steps: steps.collect(),
            events_replayed: replayed,
            events: folder.log.len(),
            difference,
            notes: folder.notes.clone(),
        }
    }

    /// Whether nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.difference.is_none()
    }

    /// For people: a line a step, and the verdict.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.steps.iter().map(StepVerdict::words).collect();
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        match &self.difference {
            None => lines.push(format!(
                "{}: the same decisions and the same events ({} of {} carried out again)",
                self.task, self.events_replayed, self.events
            )),
            Some(difference) => {
                let place = match difference.step {
                    0 => "before the first step".to_owned(),
                    step => format!("step {step}"),
                };
                lines.push(format!(
                    "{}: differs at {place}: {}",
                    self.task, difference.what
                ));
                lines.push(format!("  recorded: {}", difference.expected));
                lines.push(format!("  now:      {}", difference.got));
            }
        }
        lines
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a verdict can be written into memory")
    }
}

impl StepVerdict {
    fn words(&self) -> String {
        let word = match self.same {
            Some(true) => "same",
            Some(false) => "DIFFERS",
            None => "not come to",
        };
        format!("step {:>3}  {word:<11}  {}", self.number, self.line)
    }
}
