//! The meaning of keys and text: the button they press or the field they fill in.
//!
//! The focus is seldom visible on a screenshot. It is then assumed to be at the last clicked target or, once keys may have
//! moved it, at any field of the window.

use std::collections::BTreeSet;

use motorium_proto::domain::element::{Element, ElementKind, RelationKind};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::key::Key;

use super::address::meanings_of_address;
use super::content::{is_title, without_name};
use super::{TargetContext, has_no_words, is_text_field};
use crate::action::{ActionCategory, ActionInputs, presses_chord};
use motorium_task::screen::bounds_on_display;
use motorium_text::browser_words::stays_on_page;
use motorium_text::lexicon::{AFFIRM, DELETE, Lexicon, Meanings};

/// Chords that only move the focus, undo or show something. The planner's intent is ignored for them.
const HARMLESS_CHORDS: [&str; 20] = [
    "escape",
    "tab",
    "shift+tab",
    "left",
    "right",
    "up",
    "down",
    "pageup",
    "pagedown",
    "home",
    "end",
    "backspace",
    "ctrl+a",
    "ctrl+c",
    "ctrl+l",
    "ctrl+t",
    "ctrl+f",
    "ctrl+z",
    "f5",
    "ctrl+r",
];
/// Chords that submit the line in a terminal as Enter does: the control characters CR and LF, and `operate-and-get-next` of
/// shells.
const LINE_ENDS_IN_TERMINALS: [&str; 3] = ["ctrl+m", "ctrl+j", "ctrl+o"];
/// Maximum length of a field's label, in characters. Longer texts are sentences that merely mention a password.
const MAX_LABEL_CHARS: usize = 40;
/// Maximum distance of a field's label to the left and above, in pixels.
const LABEL_REACH: (i32, i32) = (260, 50);
/// Overlap of a field and its label, in pixels. Detected boxes are not exact.
const LABEL_OVERLAP: i32 = 8;
/// Number of digits of a time, and of a date with the year.
const MAX_TIME_DIGITS: usize = 4;
const MAX_DATE_DIGITS: usize = 8;
/// Phrases of a label that asks to confirm something by an entry.
const CONFIRMING_PHRASES: [&str; 6] = [
    "to confirm",
    "to continue",
    "to proceed",
    "确认",
    "以继续",
    "確認",
];
/// Words with which a question for information begins, and phrases within one.
const INFORMATION_WORDS: [&str; 12] = [
    "how", "what", "why", "where", "who", "when", "which", "can", "could", "should", "is", "does",
];
const INFORMATION_PHRASES: [&str; 8] = [
    "如何",
    "怎么",
    "怎样",
    "可以",
    "什么",
    "哪",
    "能不能",
    "怎麼",
];

impl TargetContext<'_> {
    pub(super) fn of_keys(&self, words: &Lexicon, applications: &BTreeSet<String>) -> Meanings {
        let keys = self.inputs.action.keys();
        if keys.is_empty() {
            return Meanings::new();
        }
        let mut meanings = words.meanings_of_keys(keys, applications);
        let in_terminal = applications.contains("terminal");
        let submits = if in_terminal {
            self.ends_line_of_terminal()
        } else {
            self.presses_a_button()
        };
        match (submits, in_terminal) {
            (true, true) => {
                meanings.extend(self.meanings_of_line_end(words, &self.inputs.keyboard.line));
            }
            (true, false) => {
                let line = &self.inputs.keyboard.line;
                meanings.extend(self.meanings_of_key_press(words, line));
            }
            (false, _) if !presses_chord(self.inputs.action, &HARMLESS_CHORDS) => {
                meanings.extend(words.meanings_of_sentence(&self.inputs.planned.intent));
                if self.chooses_a_button() {
                    meanings.extend(self.surroundings(words));
                }
            }
            (false, _) => {}
        }
        meanings.extend(self.meanings_of_opened_addresses(words));
        meanings.remove("password");
        meanings
    }

    pub(super) fn meanings_of_opened_addresses(&self, words: &Lexicon) -> Meanings {
        let addresses = self.addresses.iter();
        addresses
            .flat_map(|url| meanings_of_address(words, url.as_str()))
            .collect()
    }

    /// Returns true if the keys press the focused element or a dialog's default button.
    pub(super) fn presses_a_button(&self) -> bool {
        let keys = self.keys();
        keys.contains(&Key::Enter) || keys == [Key::Space]
    }

    /// Returns true if the keys submit the line of a terminal.
    pub(super) fn ends_line_of_terminal(&self) -> bool {
        self.presses_a_button() || presses_chord(self.inputs.action, &LINE_ENDS_IN_TERMINALS)
    }

    /// Returns true if a letter, with or without Alt, presses a dialog's button by its mnemonic.
    fn chooses_a_button(&self) -> bool {
        let is_letter = matches!(
            self.keys().as_slice(),
            [Key::Character(_)] | [Key::Alt, Key::Character(_)]
        );
        is_letter && self.title().is_some()
    }

    /// Returns true if the keys answer a question on the screen.
    pub(super) fn answers(&self) -> bool {
        self.presses_a_button() || self.chooses_a_button()
    }

    /// Returns the pressed keys, whichever way they are written.
    fn keys(&self) -> Vec<Key> {
        Key::on_us_keyboard(self.inputs.action.keys())
    }

    /// Returns the bounding box of the keyboard focus, if known.
    pub(crate) fn keyboard_target(&self, category: ActionCategory) -> Option<CaptureRect> {
        let uses_keyboard = matches!(
            category,
            ActionCategory::KeyPress | ActionCategory::TextEntry
        );
        self.bounds
            .filter(|_| uses_keyboard && !self.is_focus_unknown())
    }

    /// Returns the meanings of the element that Enter or the space bar presses: the focused element or a dialog's default button.
    /// `entered` is the text that was entered there.
    fn meanings_of_key_press(&self, words: &Lexicon, entered: &str) -> Meanings {
        let intent = &self.inputs.planned.intent;
        let is_in_page = self.is_field() && !self.is_focus_unknown() && self.title().is_none();
        let mut meanings = if is_in_page {
            // What is entered is neither an order nor a label.
            words.meanings_of_sentence(&without_name(intent, entered))
        } else {
            words.meanings_of_sentence(intent)
        };
        if is_in_page && !self.is_asked_to_confirm() {
            meanings.extend(self.meanings_of_submission(words, entered));
        } else {
            meanings.extend(words.meanings_of_label(&self.text()));
            meanings.extend(self.surroundings(words));
        }
        if self.asks_to_leave() && !stays_on_page(&self.text()) {
            meanings.insert(DELETE.to_owned());
        }
        meanings.remove("password");
        meanings.insert(AFFIRM.to_owned());
        meanings
    }

    /// Returns true if the label of a text field asks to confirm something by an entry.
    fn is_asked_to_confirm(&self) -> bool {
        let label = self.label().to_lowercase();
        let mut phrases = CONFIRMING_PHRASES.iter();
        phrases.any(|phrase| label.contains(phrase))
    }

    /// Returns the meanings of the label of a text field and of questions near it that Enter may answer. Other texts of a page
    /// are what it is about: the messages of a chat, the entries of a list, the results of a search.
    fn meanings_of_submission(&self, words: &Lexicon, entered: &str) -> Meanings {
        let near = self.near().map(|(element, _)| element.content.as_str());
        let questions = near.filter(|text| asks_for_consent(text));
        let shown = self.element.map(|element| element.content.as_str());
        let labels = self.labels();
        let labels = labels.iter().copied().filter(|text| !is_prose(text));
        let mut meanings: Meanings = questions
            .chain(labels.filter(|text| Some(*text) != shown))
            .flat_map(|text| words.meanings_of_sentence(text))
            .collect();
        // A button may be taken for a field. What is entered is no label, and neither is a title that it replaces.
        let is_content = |text: &&str| entered.ends_with(*text) || is_title(text);
        let label = shown.filter(|text| entered.is_empty() || !is_content(text));
        meanings.extend(words.meanings_of_label(label.unwrap_or_default()));
        meanings
    }

    pub(super) fn meanings_of_entry(
        &self,
        words: &Lexicon,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Meanings {
        let mut meanings = Meanings::new();
        let in_terminal = applications.contains("terminal");
        let line = format!("{}{argument}", self.inputs.keyboard.line);
        let ends_line = argument.contains('\n') && !argument.starts_with("secret:");
        if in_terminal {
            meanings.extend(words.meanings_of_typed_command(argument));
            meanings.extend(words.meanings_of_typed_command(&line));
            if ends_line {
                meanings.extend(self.meanings_of_line_end(words, &line));
            }
        }
        if self.may_be_asked_for_a_password(words, in_terminal, argument) {
            meanings.insert("password".to_owned());
        }
        meanings.extend(self.meanings_of_opened_addresses(words));
        if ends_line && !in_terminal {
            meanings.extend(words.meanings_of_keys(&[Key::Enter], applications));
            if is_one_line(argument) {
                meanings.extend(self.meanings_of_key_press(words, &line));
            }
        }
        meanings
    }

    /// Returns true if the text may be entered into a password field. If the focus is not known, any field of the window counts.
    fn may_be_asked_for_a_password(
        &self,
        words: &Lexicon,
        in_terminal: bool,
        argument: &str,
    ) -> bool {
        let asks = |text: &str| words.meanings_of_sentence(text).contains("password");
        if in_terminal {
            // A terminal asks on its last line. Questions further up have been answered.
            return self.last_lines().first().is_some_and(|line| asks(line));
        }
        if asks(&self.label()) {
            return true;
        }
        // A tab within the text moves on to a field that is not known yet. The name of a secret contains none.
        let moves_on = argument.contains('\t') && !argument.starts_with("secret:");
        (self.is_focus_unknown() || moves_on)
            && !is_time_or_date(argument)
            && self
                .in_window()
                .map(|(element, _)| element.content.as_str())
                .any(|text| text.chars().count() <= MAX_LABEL_CHARS && asks(text))
    }

    /// Returns true if the focus may be elsewhere than at the last clicked target.
    pub(super) fn is_focus_unknown(&self) -> bool {
        focused(self.inputs).is_none()
            && (self.bounds.is_none() || self.inputs.keyboard.focus_may_have_moved)
    }

    /// Returns the label of the target field.
    pub(super) fn label(&self) -> String {
        self.labels().join(" · ")
    }

    /// Returns the texts in the target field, beside it, or related to it as its label.
    fn labels(&self) -> Vec<&str> {
        let Some(own) = self.bounds else {
            return Vec::new();
        };
        let named = self.element.into_iter().flat_map(|element| {
            let relations = self.inputs.scene.relations.iter();
            relations
                .filter(|relation| {
                    relation.kind == RelationKind::LabelOf && relation.to == element.id
                })
                .filter_map(|relation| self.inputs.scene.element(relation.from))
        });
        named
            .chain(self.beside(own))
            .map(|element| element.content.as_str())
            .collect()
    }

    /// Returns the texts at the position of a field's label. Controls and the labels of other fields are left out, unless there is
    /// no other text: a label may be taken for one of them.
    fn beside(&self, own: CaptureRect) -> Vec<&Element> {
        let all: Vec<_> = self
            .elements()
            .filter(|(_, bounds)| is_label_position(own, *bounds))
            .collect();
        let likely: Vec<_> = all
            .iter()
            .copied()
            .filter(|(element, bounds)| {
                own.contains(bounds.center())
                    || (element.kind == ElementKind::Label
                        && !self.belongs_to_other_field(own, *bounds))
            })
            .collect();
        let begins_before = |text: CaptureRect| text.min.x < own.min.x - LABEL_OVERLAP;
        let has_label_to_the_left = likely.iter().any(|(element, bounds)| {
            begins_before(*bounds) && is_in_row(own, *bounds) && has_words(element)
        });
        // Beside a label to the left, a text above that begins in the same column belongs to the rows above.
        let chosen = likely.into_iter().filter(|(_, bounds)| {
            is_in_row(own, *bounds) || !has_label_to_the_left || !begins_before(*bounds)
        });
        let chosen: Vec<&Element> = chosen.map(|(element, _)| element).collect();
        match chosen.iter().any(|element| has_words(element)) {
            true => chosen,
            false => all.into_iter().map(|(element, _)| element).collect(),
        }
    }

    /// Returns true for a text at the position of another field's label that is closer to that one.
    fn belongs_to_other_field(&self, own: CaptureRect, text: CaptureRect) -> bool {
        let mut fields = self.elements().filter(|(other, bounds)| {
            let is_own = bounds.contains(own.center()) || own.contains(bounds.center());
            is_text_field(other) && !is_own
        });
        fields.any(|(_, other)| {
            is_label_position(other, text) && distance(other, text) < distance(own, text)
        })
    }
}

/// Returns the bounding box of the focused element, if the screen shows it.
pub(super) fn focused(inputs: &ActionInputs<'_>) -> Option<CaptureRect> {
    let mut elements = inputs.scene.elements.iter();
    let focused = elements.find(|element| element.state.focused == Some(true))?;
    Some(bounds_on_display(focused, inputs.frame))
}

/// Returns true if a text is at the position of a field's label: in it, to its left, or above it.
fn is_label_position(field: CaptureRect, text: CaptureRect) -> bool {
    let (left, above) = LABEL_REACH;
    let inside = field.contains(text.center());
    let beside = is_in_row(field, text)
        && text.max.x <= field.min.x + LABEL_OVERLAP
        && field.min.x - text.max.x <= left;
    let on_top = text.max.y <= field.min.y + LABEL_OVERLAP
        && field.min.y - text.max.y <= above
        // A label above a field may begin slightly to its left, but a text far to the left belongs to another field.
        && text.min.x < field.max.x
        && text.max.x > field.min.x - left / 4;
    inside || beside || on_top
}

fn is_in_row(field: CaptureRect, text: CaptureRect) -> bool {
    (field.min.y..=field.max.y).contains(&text.center().y)
}

/// Returns the distance of two boxes, horizontally and vertically together; 0 if they touch.
fn distance(one: CaptureRect, other: CaptureRect) -> i32 {
    let aside = one.min.x.max(other.min.x) - one.max.x.min(other.max.x);
    let upright = one.min.y.max(other.min.y) - one.max.y.min(other.max.y);
    aside.max(0) + upright.max(0)
}

fn has_words(element: &Element) -> bool {
    !has_no_words(&element.content)
}

fn is_question(text: &str) -> bool {
    text.trim_end().ends_with(['?', '？'])
}

/// Returns true for a question that is answered by yes or no, and not by information (`How do I delete a branch?`).
fn asks_for_consent(text: &str) -> bool {
    let text = text.trim().to_lowercase();
    let first = text.split(|letter: char| !letter.is_alphanumeric()).next();
    let mut phrases = INFORMATION_PHRASES.iter();
    let asks_for_information = INFORMATION_WORDS.contains(&first.unwrap_or_default())
        || phrases.any(|phrase| text.contains(phrase));
    is_question(&text) && !asks_for_information
}

/// Returns true for a text that is too long for a label, or a whole sentence.
fn is_prose(text: &str) -> bool {
    let is_sentence = text.trim_end().ends_with(['.', '。']) || is_question(text);
    is_sentence || text.chars().count() > MAX_LABEL_CHARS
}

/// Returns true for a time or a date, which is no password. Longer rows of digits may be the number of a card or a person.
fn is_time_or_date(text: &str) -> bool {
    let text = text.trim();
    let parts: Vec<&str> = text
        .split(['.', ':', '-', '/', '：', '年', '月', '日'])
        .collect();
    let is_number = |part: &&str| {
        (1..=4).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_digit())
    };
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let mut numbers = parts.iter().filter(|part| !part.is_empty());
    // Two numbers of four digits, as `1234-5678`, may be a code.
    let max_digits = match numbers.clone().count() {
        2 => MAX_TIME_DIGITS,
        3 => MAX_DATE_DIGITS,
        _ => return false,
    };
    numbers.all(is_number) && digits <= max_digits
}

/// Returns true if a text is a single line that ends with a line break, which submits it. Text of several lines is prose.
fn is_one_line(argument: &str) -> bool {
    !argument.trim().contains('\n') && argument.trim_end_matches([' ', '\t']).ends_with('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_and_dates_are_no_passwords() {
        for text in [
            "14:35",
            "12/05/2026",
            "2026-12-05",
            "2026年12月5日",
            "9：30",
        ] {
            assert!(is_time_or_date(text), "{text}");
        }
        for text in [
            "1234",
            "1234-5678",
            "123-45-6789",
            "4111 1111 1111 1111",
            "a1:b2",
            ":",
            "",
        ] {
            assert!(!is_time_or_date(text), "{text}");
        }
    }
}
