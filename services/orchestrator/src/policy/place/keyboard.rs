//! What keys and text do where they go: which button they press, which field they fill in.
//!
//! Which field has the keyboard is seldom shown. Then it is the one that was pointed at last, and once keys have moved on, any
//! of the window's.

use std::collections::BTreeSet;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::element::RelationKind;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::key::Key;

use super::Place;
use super::address::of_address;
use crate::policy::situation::{Circumstances, Sort, strikes};
use crate::policy::words::{AFFIRM, Meanings, Words};
use crate::task::screen::bounds_on_display;

/// Keys that only move, take back, or show something: whatever they are said to be for.
const MOVING: [&str; 20] = [
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
/// No name of a field is longer, in characters.
const LONGEST_LABEL: usize = 40;
/// How far a field's name stands from it, at most: to its left or above it.
const LABEL_REACH: (i32, i32) = (260, 50);

impl Place<'_> {
    pub(super) fn of_keys(&self, words: &Words, applications: &BTreeSet<String>) -> Meanings {
        let (Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. }) =
            self.circumstances.action
        else {
            return Meanings::new();
        };
        let mut meanings = words.of_keys(keys, applications);
        match (self.presses_a_button(), applications.contains("terminal")) {
            (true, true) => {
                meanings.extend(self.of_line_end(words, &self.circumstances.keyboard.line));
            }
            (true, false) => meanings.extend(self.of_what_is_pressed_by_keys(words)),
            (false, _) if !strikes(self.circumstances.action, &MOVING) => {
                meanings.extend(words.of_sentence(&self.circumstances.planned.intent));
                if self.chooses_a_button() {
                    meanings.extend(self.surroundings(words));
                }
            }
            (false, _) => {}
        }
        meanings.remove("password");
        meanings
    }

    /// Whether keys press what has the keyboard, or what a dialog presses by itself.
    pub(super) fn presses_a_button(&self) -> bool {
        matches!(self.keys(), [Key::Enter | Key::Space] | [.., Key::Enter])
    }

    /// Whether a letter, or one with Alt, chooses a button of a dialog: what that asks is what is answered.
    fn chooses_a_button(&self) -> bool {
        let is_letter = matches!(
            self.keys(),
            [Key::Character(_)] | [Key::Alt, Key::Character(_)]
        );
        is_letter && self.title().is_some()
    }

    /// Whether keys answer what is asked on the screen.
    pub(super) fn answers(&self) -> bool {
        self.presses_a_button() || self.chooses_a_button()
    }

    fn keys(&self) -> &[Key] {
        match self.circumstances.action {
            Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => keys,
            _ => &[],
        }
    }

    /// Where keys and text go, as far as it is known.
    pub(in crate::policy) fn keyboard_at(&self, sort: Sort) -> Option<CaptureRect> {
        let uses_keyboard = matches!(sort, Sort::Strikes | Sort::Enters);
        self.bounds
            .filter(|_| uses_keyboard && !self.is_focus_unknown())
    }

    /// Enter and the space bar press what has the keyboard, or the button that a dialog presses by itself.
    fn of_what_is_pressed_by_keys(&self, words: &Words) -> Meanings {
        let mut meanings = words.of_sentence(&self.circumstances.planned.intent);
        meanings.extend(words.of_label(&self.text()));
        meanings.extend(self.surroundings(words));
        meanings.remove("password");
        meanings.insert(AFFIRM.to_owned());
        meanings
    }

    pub(super) fn of_entry(
        &self,
        words: &Words,
        applications: &BTreeSet<String>,
        argument: &str,
    ) -> Meanings {
        let mut meanings = Meanings::new();
        let in_terminal = applications.contains("terminal");
        let line = format!("{}{argument}", self.circumstances.keyboard.line);
        let ends_line = argument.contains('\n') && !argument.starts_with("secret:");
        if in_terminal {
            meanings.extend(words.of_written_command(argument));
            meanings.extend(words.of_written_command(&line));
            if ends_line {
                meanings.extend(self.of_line_end(words, &line));
            }
        }
        if self.may_be_asked_for_a_password(words, in_terminal, argument) {
            meanings.insert("password".to_owned());
        }
        if let Some(url) = self.address_entered(applications, argument) {
            meanings.extend(of_address(words, url.as_str()));
        }
        if ends_line && !in_terminal {
            meanings.extend(words.of_keys(&[Key::Enter], applications));
            if is_one_line(argument) {
                meanings.extend(self.of_what_is_pressed_by_keys(words));
            }
        }
        meanings
    }

    /// Whether what is entered may go into a field for passwords. Where it is not known which field has the keyboard, it may
    /// be any of them.
    fn may_be_asked_for_a_password(
        &self,
        words: &Words,
        in_terminal: bool,
        argument: &str,
    ) -> bool {
        let asks = |text: &str| words.of_sentence(text).contains("password");
        if in_terminal {
            return self.last_lines().first().is_some_and(|line| asks(line));
        }
        if asks(&self.label()) {
            return true;
        }
        let moves_on = argument.contains('\t') && !argument.starts_with("secret:");
        (self.is_focus_unknown() || moves_on)
            && self
                .in_window()
                .map(|(element, _)| element.content.as_str())
                .any(|text| text.chars().count() <= LONGEST_LABEL && asks(text))
    }

    /// Whether the keyboard may be elsewhere than at what was pointed at last.
    pub(super) fn is_focus_unknown(&self) -> bool {
        focused(self.circumstances).is_none()
            && (self.bounds.is_none() || self.circumstances.keyboard.moved_on)
    }

    /// The name of a field: what stands in it, beside it, or is said to be its name.
    pub(super) fn label(&self) -> String {
        let Some(own) = self.bounds else {
            return String::new();
        };
        let named = self.element.into_iter().flat_map(|element| {
            let relations = self.circumstances.scene.relations.iter();
            relations
                .filter(|relation| {
                    relation.kind == RelationKind::LabelOf && relation.to == element.id
                })
                .filter_map(|relation| self.circumstances.scene.element(relation.from))
        });
        let beside = self.elements().filter(|(_, bounds)| names(own, *bounds));
        let texts = named
            .chain(beside.map(|(element, _)| element))
            .map(|element| element.content.as_str());
        texts.collect::<Vec<_>>().join(" · ")
    }
}

/// The box of what has the keyboard, where the screen shows it.
pub(super) fn focused(circumstances: &Circumstances<'_>) -> Option<CaptureRect> {
    let mut elements = circumstances.scene.elements.iter();
    let focused = elements.find(|element| element.state.focused == Some(true))?;
    Some(bounds_on_display(focused, circumstances.frame))
}

/// Whether a text stands where the name of a field does: in it, to its left, or above it.
fn names(field: CaptureRect, text: CaptureRect) -> bool {
    let (left, above) = LABEL_REACH;
    let inside = field.contains(text.center());
    let beside = text.center().y >= field.min.y
        && text.center().y <= field.max.y
        && text.max.x <= field.min.x + 8
        && field.min.x - text.max.x <= left;
    let on_top = text.max.y <= field.min.y + 8
        && field.min.y - text.max.y <= above
        && text.min.x < field.max.x
        && text.max.x > field.min.x - left / 4;
    inside || beside || on_top
}

/// Whether a line break is there to send the line off: several lines are a text that somebody writes.
fn is_one_line(argument: &str) -> bool {
    !argument.trim().contains('\n') && argument.trim_end_matches([' ', '\t']).ends_with('\n')
}
