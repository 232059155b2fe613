//! Verification of a success claim: the task's expectations and the planner's evidence, against the last screen.
//!
//! Pure. The existence of files is checked by the run loop.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::Verdict;
use motorium_proto::domain::element::{Element, Scene};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;
use motorium_proto::domain::session::FileOrigin;
use motorium_proto::service::{FileInfo, Observation};
use motorium_text::browser_words::BrowserWords;
use serde_json::Value;

use super::fold::Task;
use super::record::{ActionRecord, expects_effect};
use super::shown_text::{contains_words, folded, is_telling, shows_words};
use super::spec::Expectation;

/// Strictness with which a claim of success is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClaimRules {
    /// Words belong to one element or to adjacent lines, one letter is no evidence, only the task's own files count, the words
    /// of a browser about the address that it opens are no text of the page, and a text from before an action without effect is no
    /// evidence for it.
    #[default]
    Strict,
    /// As `Strict`, but texts from before the last action count, one second look is enough for a whole task, and an unknown effect
    /// is one. For replays of recordings from before.
    WithEarlierTexts,
    /// As `WithEarlierTexts`, but a browser's own words count. For replays of recordings from before.
    WithBrowserWords,
    /// The rules of earlier versions, for replays of their recordings: words may run from one element into any other, the
    /// Planner may find a single letter, and every file in the desktop's folder counts.
    Lenient,
}

impl ClaimRules {
    /// Returns true if a browser's own words are no text of the page.
    #[must_use]
    pub fn excludes_browser_words(self) -> bool {
        matches!(self, Self::Strict | Self::WithEarlierTexts)
    }
}

/// Returns the words of a browser about the pages that the task has opened.
#[must_use]
pub fn browser_words(task: &Task, on: &Observation, rules: ClaimRules) -> BrowserWords {
    if !rules.excludes_browser_words() {
        return BrowserWords::default();
    }
    let in_browser = on.frame.is_browser_in_front();
    let opened = task.steps.iter().flat_map(|step| {
        let actions = step.actions.iter();
        let opened = actions.filter_map(move |record| record.action.opened_address(in_browser));
        opened.chain(step.current_url.as_deref())
    });
    let elements = &on.scene.elements;
    BrowserWords::new(
        opened,
        elements.iter().map(|element| element.content.as_str()),
    )
}

/// The last observed screen.
#[derive(Debug, Clone, Copy)]
pub struct LastScreen<'a> {
    pub scene: &'a Scene,
    pub frame: &'a Frame,
    pub browser: &'a BrowserWords,
    pub rules: ClaimRules,
}

impl<'a> LastScreen<'a> {
    /// Returns the screen of an observation.
    #[must_use]
    pub fn of(observation: &'a Observation, browser: &'a BrowserWords, rules: ClaimRules) -> Self {
        Self {
            scene: &observation.scene,
            frame: &observation.frame,
            browser,
            rules,
        }
    }

    /// Returns true if it shows these words, in one element or in vertically adjacent lines.
    #[must_use]
    pub fn shows(&self, text: &str) -> bool {
        let elements = self.page_elements(text);
        match self.rules {
            ClaimRules::Lenient => contains_words(
                elements.iter().map(|element| element.content.as_str()),
                text,
            ),
            _ => shows_words(&elements, text),
        }
    }

    /// Returns the elements without the browser's own words, if `wanted` is looked for.
    fn page_elements(&self, wanted: &str) -> Cow<'a, [Element]> {
        let mut elements = Cow::Borrowed(self.scene.elements.as_slice());
        for (at, element) in self.scene.elements.iter().enumerate() {
            if let Cow::Owned(rest) = self.browser.removed_from(&element.content, wanted) {
                elements.to_mut()[at].content = rest;
            }
        }
        elements
    }

    /// Returns true if the active window's title contains these words.
    #[must_use]
    pub fn is_titled(&self, title: &str) -> bool {
        self.frame.active_window().is_some_and(|window| {
            let shown = self.browser.removed_from(&window.title, title);
            contains_words([shown.as_ref()], title)
        })
    }

    /// Returns true if the screen shows a piece of evidence: all of it, or a part it quotes.
    fn supports(&self, evidence: &str) -> bool {
        let is_long_enough = |text: &str| match self.rules {
            ClaimRules::Lenient => folded(text).chars().count() > 1,
            _ => is_telling(text),
        };
        let seen = |text: &str| is_long_enough(text) && (self.shows(text) || self.is_titled(text));
        seen(evidence) || quotes(evidence).any(seen)
    }
}

/// Returns the parts in quotation marks, English or Chinese.
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

/// Returns the pieces of the planner's evidence that the screen does not show, or nothing if it shows any of them. One piece
/// is enough, because evidence may also be a fact that no screen shows. [`doubts`] judges the rest.
#[must_use]
pub fn missing_evidence(
    evidence: &[String],
    screen: LastScreen<'_>,
    language: Language,
) -> Vec<String> {
    if evidence.iter().any(|piece| screen.supports(piece)) {
        return Vec::new();
    }
    let missing = evidence
        .iter()
        .map(|evidence| Message::EvidenceNotVisible { evidence }.text(language));
    missing.collect()
}

/// Returns the pieces of evidence that can tell success from failure. One letter cannot, and neither can the text of the last
/// target after an action without effect, or any other that `was_shown` before it.
#[must_use]
pub fn telling_evidence(
    task: &Task,
    evidence: &[String],
    rules: ClaimRules,
    was_shown: impl Fn(&str) -> bool,
) -> Vec<String> {
    let label = acted_in_vain(task).and_then(|record| record.target_label.as_deref());
    let is_own_text = |piece: &String| label.is_some_and(|label| contains_words([label], piece));
    let is_too_short = |piece: &String| rules != ClaimRules::Lenient && !is_telling(piece);
    let telling = evidence
        .iter()
        .filter(|piece| !is_own_text(piece) && !is_too_short(piece));
    telling
        .flat_map(|piece| without_shown(piece, &was_shown))
        .collect()
}

/// Returns what is left of a piece of evidence without texts that were shown before: the piece itself, or the other parts that it
/// quotes.
fn without_shown(piece: &str, was_shown: impl Fn(&str) -> bool) -> Vec<String> {
    if was_shown(piece) {
        return Vec::new();
    }
    let parts: Vec<&str> = quotes(piece).filter(|part| is_telling(part)).collect();
    let new: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| !was_shown(part))
        .collect();
    match new.len() == parts.len() {
        true => vec![piece.to_owned()],
        false => new.into_iter().map(str::to_owned).collect(),
    }
}

/// Granularity of the times of files. Some file systems store whole seconds, rounded down.
const FILE_TIME_GRANULARITY: Duration = Duration::from_secs(1);

/// Returns true if a file of the desktop's folder belongs to the task: it was attached to it, or written or given its name
/// since the task first looked at the desktop. Files of earlier tasks and of other people are in the folder as well.
// Frames and files have the time of the desktop's machine, so that the clock of the Orchestrator does not matter.
#[must_use]
pub fn is_own_file(task: &Task, file: &FileInfo) -> bool {
    let mut files = task.context.files.iter();
    let is_attached =
        files.any(|known| known.origin == FileOrigin::Attached && known.name == file.name);
    let is_recent = |first_look: SystemTime| {
        // Zero if the file is younger than the first look.
        let age = first_look.duration_since(file.modified_at);
        age.unwrap_or_default() < FILE_TIME_GRANULARITY
    };
    is_attached || task.first_look.is_some_and(is_recent)
}

/// Returns why a claim is not believed, or nothing if it is. A model whose last action had no effect, or that names no evidence, is
/// asked to look once more. Without evidence, an action at the end without effect, or with one that nothing tells, is no success even
/// then. A backend without a model verifies its own claims. `is_supported` says that the screen shows what the task or the planner
/// named.
#[must_use]
pub fn doubts(task: &Task, is_supported: bool, rules: ClaimRules) -> Vec<String> {
    let Some(decision) = task.steps.last().and_then(|step| step.decision.as_ref()) else {
        return Vec::new();
    };
    let was_asked = was_asked(task, rules);
    if decision.model.is_empty() || (is_supported && was_asked) {
        return Vec::new();
    }
    let language = task.spec.message_language();
    let last = last_acting(task);
    let setback = last.and_then(|record| match rules {
        ClaimRules::Strict => explained_setback(record, language),
        _ => setback(record, language),
    });
    let hidden = last.filter(|_| !is_supported && rules == ClaimRules::Strict);
    let hidden = hidden.and_then(hidden_effect);
    let is_asked = !is_supported && !was_asked;
    let is_new_wanted = rules == ClaimRules::Strict && needs_new_text(task).is_some();
    let request = match is_new_wanted {
        true => Message::ClaimWithoutNewEvidence,
        false => Message::ClaimWithoutEvidence,
    };
    let request = is_asked.then(|| request.text(language));
    setback.or(hidden).into_iter().chain(request).collect()
}

/// Returns true if the planner was asked for a second look at what its last action did. It is asked for once: a model that insists
/// would be asked for ever.
#[must_use]
pub fn was_asked(task: &Task, rules: ClaimRules) -> bool {
    match rules {
        ClaimRules::Strict => task.looked_again,
        _ => task.second_looks > 0,
    }
}

/// Returns the last performed action that was to have an effect.
#[must_use]
pub fn last_acting(task: &Task) -> Option<&ActionRecord> {
    let steps = task.steps.iter().rev();
    let mut actions = steps.flat_map(|step| step.actions.iter().rev());
    actions.find(|record| expects_effect(&record.action) && record.performed())
}

/// Returns the last performed action, if it went wrong.
#[must_use]
pub fn acted_in_vain(task: &Task) -> Option<&ActionRecord> {
    let last = last_acting(task);
    last.filter(|record| setback(record, Language::English).is_some())
}

/// Returns the last action if only a text that was not shown before it can tell that it worked: nothing changed, or something
/// elsewhere.
#[must_use]
pub fn needs_new_text(task: &Task) -> Option<&ActionRecord> {
    let is_elsewhere = |record: &&ActionRecord| {
        let effect = record.effect.as_ref();
        effect.is_some_and(|effect| effect.verdict == Verdict::ChangedElsewhere)
    };
    let last = acted_in_vain(task).or_else(|| last_acting(task).filter(is_elsewhere));
    last.filter(|record| !is_invisible(&record.action))
}

/// Returns the last action if nothing tells whether it had an effect: motion, or something else, may hide it.
#[must_use]
pub fn has_hidden_effect(task: &Task) -> Option<&ActionRecord> {
    last_acting(task).filter(|record| hidden_effect(record).is_some())
}

/// Returns true if an action changes nothing on the screen although it does what it should: a copy into the clipboard.
#[must_use]
pub fn is_invisible(action: &Action<CapturePoint>) -> bool {
    let Action::KeyChord { keys, .. } = action else {
        return false;
    };
    matches!(
        keys.as_slice(),
        [Key::Control | Key::Super, Key::Character('c' | 'C')]
    )
}

/// Returns what went wrong with an action, if it is known to have gone wrong.
fn setback(record: &ActionRecord, language: Language) -> Option<String> {
    let effect = record.effect.as_ref()?;
    match effect.verdict {
        Verdict::NoEffect => {
            let intent = &record.planned.intent;
            Some(Message::LastActionWithoutEffect { intent }.text(language))
        }
        Verdict::TextDiffers | Verdict::TargetMoved => Some(effect.explanation.clone()),
        _ => None,
    }
}

/// Returns what went wrong with an action, and what little changed.
fn explained_setback(record: &ActionRecord, language: Language) -> Option<String> {
    let text = &setback(record, language)?;
    let effect = record.effect.as_ref()?;
    let detail = &effect.explanation;
    // Other verdicts are explained already.
    let is_more = effect.verdict == Verdict::NoEffect && !detail.is_empty();
    Some(
        match is_more && *detail != Message::EffectNone.text(language) {
            true => Message::WithDetail { text, detail }.text(language),
            false => text.clone(),
        },
    )
}

/// Returns why nothing tells whether an action had an effect, if that is so.
fn hidden_effect(record: &ActionRecord) -> Option<String> {
    let effect = record.effect.as_ref()?;
    (effect.verdict == Verdict::Unknown).then(|| effect.explanation.clone())
}

/// Returns true if any data that the task extracted contains `wanted`.
#[must_use]
pub fn has_extracted(task: &Task, wanted: &Value) -> bool {
    let extracted = task
        .steps
        .iter()
        .filter_map(|step| step.extracted.as_deref());
    extracted
        .filter_map(|json| serde_json::from_str::<Value>(json).ok())
        .any(|json| json_contains(&json, wanted))
}

/// Returns true if `json` contains every member and element of `wanted`. Arrays may have more elements, in any order.
fn json_contains(json: &Value, wanted: &Value) -> bool {
    match (json, wanted) {
        (Value::Object(members), Value::Object(wanted)) => wanted.iter().all(|(name, value)| {
            members
                .get(name)
                .is_some_and(|member| json_contains(member, value))
        }),
        (Value::Array(elements), Value::Array(wanted)) => wanted
            .iter()
            .all(|value| elements.iter().any(|element| json_contains(element, value))),
        // As floating point, because a model writes `1.0` for `1`.
        (Value::Number(number), Value::Number(wanted)) => number.as_f64() == wanted.as_f64(),
        _ => json == wanted,
    }
}

/// Describes an expectation that is not met.
#[must_use]
pub fn describe_unmet(expectation: &Expectation, language: Language) -> String {
    let json;
    let message = match expectation {
        Expectation::TextOnScreen(text) => Message::TextNotOnScreen { text },
        Expectation::WindowTitle(title) => Message::WindowNotTitled { title },
        Expectation::FileExists(name) => Message::FileMissing { name },
        Expectation::ExtractedJson(wanted) => {
            json = wanted.to_string();
            Message::DataNotExtracted { json: &json }
        }
    };
    message.text(language)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::Event;
    use crate::samples::{at, finished, observed, started, with_limits};
    use crate::spec::Limits;

    fn check_json(json: Value, wanted: Value, expected: bool) {
        assert_eq!(
            json_contains(&json, &wanted),
            expected,
            "{wanted} in {json}"
        );
    }

    #[test]
    fn expected_data_matches_a_superset() {
        let order = || json!({"number": 7, "lines": [{"name": "a", "price": 1}, {"name": "b"}]});
        check_json(order(), json!({}), true);
        check_json(order(), json!({"number": 7.0}), true);
        check_json(order(), json!({"lines": [{"name": "b"}]}), true);
        check_json(order(), json!({"lines": [{"name": "c"}]}), false);
        check_json(order(), json!({"number": "7"}), false);
        check_json(order(), json!({"total": null}), false);
    }

    #[test]
    fn only_files_that_were_attached_or_written_since_the_first_look_are_the_tasks_own() {
        let put = Event::AttachmentPut {
            name: "form.txt".into(),
            size_bytes: 1,
            path: "/files/form.txt".into(),
            error: String::new(),
            image: None,
            image_error: String::new(),
        };
        let mut looked = observed();
        if let Event::Observed(observed) = &mut looked {
            observed.frame.captured_at = at(100);
        }
        let is_own = |task: &Task, name: &str, modified_at| {
            let file = FileInfo {
                name: name.to_owned(),
                size_bytes: 1,
                modified_at,
                sha256: [0; 32],
                path: String::new(),
            };
            is_own_file(task, &file)
        };
        let task = with_limits(Limits::default(), vec![started(), put.clone()]);
        assert!(
            !is_own(&task, "report.txt", at(500)),
            "it has seen nothing yet"
        );
        assert!(is_own(&task, "form.txt", at(5)));
        // The second look changes nothing.
        let events = vec![started(), put, looked, finished(), observed()];
        let task = with_limits(Limits::default(), events);
        assert!(is_own(&task, "report.txt", at(100)));
        let rounded_down = at(100) - Duration::from_millis(999);
        assert!(is_own(&task, "report.txt", rounded_down));
        assert!(!is_own(&task, "report.txt", at(99)));
        assert!(is_own(&task, "form.txt", at(5)));
    }

    #[test]
    fn one_letter_is_no_evidence_for_success() {
        let task = with_limits(Limits::default(), vec![started()]);
        let pieces = ["7", "Saved", "5.", "Ａ"].map(str::to_owned);
        let telling = |rules| telling_evidence(&task, &pieces, rules, |_| false);
        assert_eq!(telling(ClaimRules::Strict), ["Saved"]);
        assert_eq!(telling(ClaimRules::Lenient), pieces);
    }

    #[test]
    fn texts_from_before_an_action_in_vain_are_taken_out_of_its_evidence() {
        let left = |piece: &str| without_shown(piece, |text| ["Save", "Form"].contains(&text));
        assert_eq!(left("Save"), Vec::<String>::new());
        assert_eq!(left("Saved"), ["Saved"]);
        assert_eq!(left("the text \"Form\" is shown"), Vec::<String>::new());
        assert_eq!(left("\"Form\" is shown with \"Sent\""), ["Sent"]);
        assert_eq!(left("\"Sent\" is shown"), ["\"Sent\" is shown"]);
        assert_eq!(
            left("it's as the user's note says"),
            ["it's as the user's note says"]
        );
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
