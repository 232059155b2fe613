//! The result of a replay.
//!
//! It is not printed here, and nothing is compared.

use serde::Serialize;

use super::difference::Difference;
use super::folder::ExportFolder;

/// Result of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    pub number: u32,
    /// Summary of the decision.
    pub line: String,
    /// True if it was replayed identically; `None` if it was not reached.
    pub same: Option<bool>,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayReport {
    pub task: String,
    pub steps: Vec<StepReport>,
    /// Number of events that the replay wrote.
    pub events_replayed: usize,
    pub events: usize,
    pub difference: Option<Difference>,
    /// Notes that are not differences.
    pub notes: Vec<String>,
}

impl ReplayReport {
    pub fn of(folder: &ExportFolder, replayed: usize, difference: Option<Difference>) -> Self {
        let differs_at = difference.as_ref().map(|difference| difference.step);
        let steps = folder.steps().into_iter().map(|(number, line)| StepReport {
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

    /// Returns true if nothing differs.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.difference.is_none()
    }

    /// Formats the result for people: one line per step, then the outcome.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.steps.iter().map(StepReport::words).collect();
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        match &self.difference {
            None => lines.push(format!(
                "{}: same decisions and same events ({} of {} replayed)",
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

    /// Formats the result as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("a report serialises to JSON")
    }
}

impl StepReport {
    fn words(&self) -> String {
        let word = match self.same {
            Some(true) => "same",
            Some(false) => "DIFFERS",
            None => "not reached",
        };
        format!("step {:>3}  {word:<11}  {}", self.number, self.line)
    }
}
