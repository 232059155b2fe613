//! The meaning of keys and text: the button they press or the field they fill in.
//!
//! The focus is seldom visible on a screenshot. It is then assumed to be at the last clicked target or, once keys may have
//! moved it, at any field of the window.

use std::collections::BTreeSet;

use motorium_proto::domain::element::RelationKind;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::key::Key;

use super::TargetContext;
use super::address::meanings_of_address;
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
            (true, false) => meanings.extend(self.meanings_of_key_press(words)),
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
    fn meanings_of_key_press(&self, words: &Lexicon) -> Meanings {
        let mut meanings = words.meanings_of_sentence(&self.inputs.planned.intent);
        meanings.extend(words.meanings_of_label(&self.text()));
        meanings.extend(self.surroundings(words));
        if self.asks_to_leave() && !stays_on_page(&self.text()) {
            meanings.insert(DELETE.to_owned());
        }
        meanings.remove("password");
        meanings.insert(AFFIRM.to_owned());
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
                meanings.extend(self.meanings_of_key_press(words));
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

    /// Returns the label of the target field: texts in it, beside it, or related to it as its label.
    pub(super) fn label(&self) -> String {
        let Some(own) = self.bounds else {
            return String::new();
        };
        let named = self.element.into_iter().flat_map(|element| {
            let relations = self.inputs.scene.relations.iter();
            relations
                .filter(|relation| {
                    relation.kind == RelationKind::LabelOf && relation.to == element.id
                })
                .filter_map(|relation| self.inputs.scene.element(relation.from))
        });
        let beside = self
            .elements()
            .filter(|(_, bounds)| is_label_position(own, *bounds));
        let texts = named
            .chain(beside.map(|(element, _)| element))
            .map(|element| element.content.as_str());
        texts.collect::<Vec<_>>().join(" · ")
    }
}

/// Returns the bounding box of the focused element, if the screen shows it.
pub(super) fn focused(inputs: &ActionInputs<'_>) -> Option<CaptureRect> {
    let mut elements = inputs.scene.elements.iter();
    let focused = elements.find(|element| element.state.focused == Some(true))?;
    Some(bounds_on_display(focused, inputs.frame))
}

/// Returns true if a text is at the position of a field's label: in it, to its left, or above it. 8 px of overlap are allowed,
/// because detected boxes are not exact.
fn is_label_position(field: CaptureRect, text: CaptureRect) -> bool {
    let (left, above) = LABEL_REACH;
    let inside = field.contains(text.center());
    let beside = text.center().y >= field.min.y
        && text.center().y <= field.max.y
        && text.max.x <= field.min.x + 8
        && field.min.x - text.max.x <= left;
    let on_top = text.max.y <= field.min.y + 8
        && field.min.y - text.max.y <= above
        // A label above a field may begin slightly to its left, but a text far to the left belongs to another field.
        && text.min.x < field.max.x
        && text.max.x > field.min.x - left / 4;
    inside || beside || on_top
}

/// Returns true if a text is a single line that ends with a line break, which submits it. Text of several lines is prose.
fn is_one_line(argument: &str) -> bool {
    !argument.trim().contains('\n') && argument.trim_end_matches([' ', '\t']).ends_with('\n')
}
