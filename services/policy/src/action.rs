//! An action as policies see it: its inputs, its category and its argument.
//!
//! It does not judge the action: [`engine`](super::engine) does.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::action::{Action, Button, Text};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use motorium_task::keyboard::KeyboardHistory;
use motorium_text::lexicon::chord_keys;

/// Chords that paste the clipboard.
const PASTE_CHORDS: [&str; 3] = ["ctrl+v", "ctrl+shift+v", "shift+insert"];

/// Inputs of an action's context.
#[derive(Debug, Clone, Copy)]
pub struct ActionInputs<'a> {
    pub planned: &'a PlannedAction,
    /// The action with resolved target points.
    pub action: &'a Action<CapturePoint>,
    /// Bounding box of its last target.
    pub target: Option<CaptureRect>,
    /// Bounding box of the last clicked target, where keys and text are likely to go.
    pub pointed_at: Option<CaptureRect>,
    pub keyboard: &'a KeyboardHistory,
    pub frame: &'a Frame,
    pub scene: &'a Scene,
    /// URL of the page, if known.
    pub url: Option<&'a str>,
    pub labels: &'a BTreeMap<String, String>,
    /// Private hosts that the user named, with their ports.
    pub named_hosts: &'a BTreeSet<String>,
    /// Content of the clipboard, if the task itself set it.
    pub pasted: Option<&'a str>,
    /// True if part of the argument was read from the screen.
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// Category of an action, which selects how its meaning is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ActionCategory {
    /// Observes, waits or moves the pointer, without an effect.
    ReadOnly,
    /// Presses an element.
    Press,
    /// Drags and drops.
    Drop,
    /// Presses keys.
    KeyPress,
    /// Enters text.
    TextEntry,
    /// Opens an address or an application.
    Navigation,
}

pub(super) fn category(action: &Action<CapturePoint>) -> ActionCategory {
    match action {
        // A right click opens a menu; choosing an entry is a separate action.
        Action::Click {
            button: Button::Right,
            ..
        } => ActionCategory::ReadOnly,
        Action::Click { .. } | Action::MouseDown { .. } | Action::MouseUp { .. } => {
            ActionCategory::Press
        }
        Action::Drag { .. } => ActionCategory::Drop,
        action if pastes(action) => ActionCategory::TextEntry,
        Action::KeyChord { .. } | Action::HoldKey { .. } => ActionCategory::KeyPress,
        Action::TypeText { .. } | Action::Paste { .. } => ActionCategory::TextEntry,
        Action::OpenUrl { .. } | Action::GoToUrl { .. } | Action::OpenApplication { .. } => {
            ActionCategory::Navigation
        }
        Action::Move { .. }
        | Action::Scroll { .. }
        | Action::Wait { .. }
        | Action::SetClipboard { .. }
        | Action::FocusWindow { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => ActionCategory::ReadOnly,
    }
}

/// Returns true if an action pastes the clipboard.
#[must_use]
pub fn pastes<T>(action: &Action<T>) -> bool {
    match action {
        Action::Paste { text: None } => true,
        _ => presses_chord(action, &PASTE_CHORDS),
    }
}

/// Returns true if an action presses or releases the middle button, which on X11 pastes the current selection into text fields:
/// some applications paste at the press, others at the release.
#[must_use]
pub fn pastes_selection<T>(action: &Action<T>) -> bool {
    action.button() == Some(Button::Middle)
}

/// Returns the text, keys or address of an action, and true if it is a secret.
#[must_use]
pub fn argument(action: &Action<CapturePoint>) -> (String, bool) {
    let written = |text: &Text| match text {
        Text::Literal(text) => (text.clone(), false),
        Text::Secret(name) => (format!("secret:{name}"), true),
    };
    match action {
        // A carriage return presses Enter as a line feed does.
        Action::TypeText { text, .. } => {
            let (text, is_secret) = written(text);
            (text.replace("\r\n", "\n").replace('\r', "\n"), is_secret)
        }
        Action::SetClipboard { text } | Action::Paste { text: Some(text) } => written(text),
        Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => (chord(keys), false),
        Action::OpenUrl { url } | Action::GoToUrl { url } => (url.clone(), false),
        Action::OpenApplication { name } => (name.clone(), false),
        Action::Move { .. }
        | Action::Click { .. }
        | Action::MouseDown { .. }
        | Action::MouseUp { .. }
        | Action::Drag { .. }
        | Action::Scroll { .. }
        | Action::Wait { .. }
        | Action::Paste { text: None }
        | Action::FocusWindow { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => Default::default(),
    }
}

/// Returns true if an action presses one of these chords, in any order and letter case of its keys.
#[must_use]
pub fn presses_chord<T>(action: &Action<T>, chords: &[&str]) -> bool {
    let struck = chord_keys(action.keys());
    chords
        .iter()
        .any(|known| struck.iter().map(String::as_str).eq(as_keys(known)))
}

fn as_keys(chord: &str) -> BTreeSet<&str> {
    chord.split('+').collect()
}

fn chord(keys: &[Key]) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.join("+")
}
