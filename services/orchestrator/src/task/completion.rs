//! Whether what is claimed holds: expectations of the task, evidence of the planner, against what can be seen.
//!
//! Pure. Files are asked for elsewhere.

use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::service::Observation;
use serde_json::Value;

use super::fold::Task;
use super::screen::folded;
use super::spec::Expectation;

/// The last screen.
#[derive(Debug, Clone, Copy)]
pub struct LastScreen<'a> {
    pub scene: &'a Scene,
    pub frame: &'a Frame,
}

impl<'a> LastScreen<'a> {
    /// The screen of an observation.
    #[must_use]
    pub fn of(observation: &'a Observation) -> Self {
        Self {
            scene: &observation.scene,
            frame: &observation.frame,
        }
    }

    /// Whether a text can be read on it, in one line or across lines that follow each other.
    #[must_use]
    pub fn shows(&self, text: &str) -> bool {
        let wanted = folded(text);
        let lines = self
            .scene
            .elements
            .iter()
            .map(|element| folded(&element.content));
        let lines: Vec<String> = lines.collect();
        lines.iter().any(|line| line.contains(&wanted)) || lines.concat().contains(&wanted)
    }

    /// Whether the active window's title has this text.
    #[must_use]
    pub fn is_titled(&self, title: &str) -> bool {
        self.frame
            .active_window()
            .is_some_and(|window| folded(&window.title).contains(&folded(title)))
    }

    /// Whether a piece of evidence can be seen: all of it, or something that it quotes.
    fn bears_out(&self, evidence: &str) -> bool {
        let seen =
            |text: &str| !folded(text).is_empty() && (self.shows(text) || self.is_titled(text));
        seen(evidence) || quotes(evidence).any(seen)
    }
}

/// What stands in quotation marks, English or Chinese.
fn quotes(text: &str) -> impl Iterator<Item = &str> {
    const MARKS: [(char, char); 5] = [
        ('"', '"'),
        ('“', '”'),
        ('「', '」'),
        ('\'', '\''),
        ('`', '`'),
    ];
    MARKS.into_iter().flat_map(move |(open, close)| {
        let parts: Vec<&str> = if open == close {
            text.split(open).skip(1).step_by(2).collect()
        } else {
            text.split(open)
                .skip(1)
                .filter_map(|rest| rest.split_once(close).map(|(quoted, _)| quoted))
                .collect()
        };
        parts
    })
}

/// What of the planner's evidence is missing: nothing if any of it can be seen. Evidence may also be a fact that no
/// screen shows; so one piece that is borne out is enough, and none at all is not held against a planner.
#[must_use]
pub fn missing_evidence(evidence: &[String], screen: LastScreen<'_>) -> Vec<String> {
    if evidence.iter().any(|piece| screen.bears_out(piece)) {
        return Vec::new();
    }
    let missing = evidence
        .iter()
        .map(|piece| format!("its evidence \"{piece}\" cannot be seen on the last screen"));
    missing.collect()
}

/// Whether anything that the task has extracted has all of this.
#[must_use]
pub fn has_extracted(task: &Task, wanted: &Value) -> bool {
    let extracted = task
        .steps
        .iter()
        .filter_map(|step| step.extracted.as_deref());
    extracted
        .filter_map(|json| serde_json::from_str::<Value>(json).ok())
        .any(|json| has_all(&json, wanted))
}

/// Whether every member and every element of `wanted` is in `json`. Lists may hold more, in any order.
fn has_all(json: &Value, wanted: &Value) -> bool {
    match (json, wanted) {
        (Value::Object(members), Value::Object(wanted)) => wanted.iter().all(|(name, value)| {
            members
                .get(name)
                .is_some_and(|member| has_all(member, value))
        }),
        (Value::Array(elements), Value::Array(wanted)) => wanted
            .iter()
            .all(|value| elements.iter().any(|element| has_all(element, value))),
        (Value::Number(number), Value::Number(wanted)) => number.as_f64() == wanted.as_f64(),
        _ => json == wanted,
    }
}

/// What is missing when an expectation does not hold.
#[must_use]
pub fn words(expectation: &Expectation) -> String {
    match expectation {
        Expectation::TextOnScreen(text) => format!("the text \"{text}\" is not on the screen"),
        Expectation::WindowTitle(title) => format!("the active window is not titled \"{title}\""),
        Expectation::FileExists(name) => format!("there is no file {name} in the desktop's folder"),
        Expectation::ExtractedJson(json) => format!("nothing was extracted that has {json}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check_json(json: Value, wanted: Value, expected: bool) {
        assert_eq!(has_all(&json, &wanted), expected, "{wanted} in {json}");
    }

    #[test]
    fn extracted_data_may_have_more_than_is_wanted() {
        let order = || json!({"number": 7, "lines": [{"name": "a", "price": 1}, {"name": "b"}]});
        check_json(order(), json!({}), true);
        check_json(order(), json!({"number": 7.0}), true);
        check_json(order(), json!({"lines": [{"name": "b"}]}), true);
        check_json(order(), json!({"lines": [{"name": "c"}]}), false);
        check_json(order(), json!({"number": "7"}), false);
        check_json(order(), json!({"total": null}), false);
    }

    #[test]
    fn quotations_are_found_in_both_languages() {
        let quoted = |text: &'static str| quotes(text).collect::<Vec<_>>();
        assert_eq!(quoted("the text \"Saved\" and “Done”"), ["Saved", "Done"]);
        assert_eq!(quoted("显示「已保存」"), ["已保存"]);
        assert_eq!(quoted("it's done"), ["s done"]);
        assert_eq!(quoted("nothing"), Vec::<&str>::new());
    }
}
