//! What is about to be done, and where: everything that the rules may speak of.
//!
//! Made from the decision and the screen that the action will meet, without asking anybody. What an element does is not
//! known before it is used; it is guessed from what is written on it, from what the planner says it is for, and, where it
//! only says yes or says nothing, from what is written around it. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::action::{Action, Button, Text};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::key::Key;
use serde_json::Value;
use url::Url;

use super::place::Place;
use super::words::{Meanings, Words};
use crate::task::keyboard::Keyboard;

/// An action, its place, and what it means.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Situation {
    pub kind: String,
    /// What is written on the target.
    pub text: String,
    pub element: String,
    pub application: String,
    pub window: String,
    pub url: String,
    pub host: String,
    /// What is entered; of a secret its name.
    pub argument: String,
    pub meanings: Meanings,
    pub sites: BTreeSet<String>,
    pub applications: BTreeSet<String>,
    /// The task's, each as `key=value`.
    pub labels: BTreeSet<String>,
    pub changes: bool,
    pub enters: bool,
    pub navigates: bool,
    pub unlabelled: bool,
    pub destructive: bool,
    pub secret: bool,
    pub tainted: bool,
    pub suspected_injection: bool,
    /// What was read beside the target to judge it: the question that a yes answers, the name of the field that is filled in,
    /// the last lines of a terminal. Not for rules: it is what a person's approval is held to.
    pub beside: Vec<String>,
    /// Where keys and text go, as far as it is known.
    pub keyboard_at: Option<CaptureRect>,
}

/// What a situation is made from.
#[derive(Debug, Clone, Copy)]
pub struct Circumstances<'a> {
    pub planned: &'a PlannedAction,
    /// With points for its targets.
    pub action: &'a Action<CapturePoint>,
    /// The box of its last target.
    pub target: Option<CaptureRect>,
    /// The box that was pointed at last, where keys and text are likely to go.
    pub pointed_at: Option<CaptureRect>,
    pub keyboard: &'a Keyboard,
    pub frame: &'a Frame,
    pub scene: &'a Scene,
    /// Of the page, if anybody knows it.
    pub url: Option<&'a str>,
    pub labels: &'a BTreeMap<String, String>,
    /// What is in the clipboard, where the task itself has put it there.
    pub pasted: Option<&'a str>,
    /// The argument was read from the screen.
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// What the situation of a function call is made from.
#[derive(Debug, Clone, Copy)]
pub struct CallCircumstances<'a> {
    /// As it is offered to the planner.
    pub name: &'a str,
    /// What its tool calls it.
    pub own_name: &'a str,
    /// Its tool says that it may destroy something.
    pub may_destroy: bool,
    /// As JSON.
    pub arguments: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    /// An argument was read from the screen.
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// Keys that enter what is in the clipboard.
const PASTING: [&str; 3] = ["ctrl+v", "ctrl+shift+v", "shift+insert"];

/// The kind of deed that a function call is.
pub const CALL_FUNCTION: &str = "call_function";

/// What of an action matters for what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Looks, waits, moves: nothing comes of it.
    Reads,
    /// Presses something on the screen.
    Presses,
    /// Drops something somewhere.
    Drops,
    /// Strikes keys.
    Strikes,
    /// Enters text.
    Enters,
    /// Goes to an address or opens a program.
    Goes,
}

pub(super) fn sort(action: &Action<CapturePoint>) -> Sort {
    match action {
        // A menu opens, and whatever is chosen from it is an action of its own.
        Action::Click {
            button: Button::Right,
            ..
        } => Sort::Reads,
        Action::Click { .. } | Action::MouseDown { .. } | Action::MouseUp { .. } => Sort::Presses,
        Action::Drag { .. } => Sort::Drops,
        action if pastes(action) => Sort::Enters,
        Action::KeyChord { .. } | Action::HoldKey { .. } => Sort::Strikes,
        Action::TypeText { .. } | Action::Paste { .. } => Sort::Enters,
        Action::OpenUrl { .. } | Action::GoToUrl { .. } | Action::OpenApplication { .. } => {
            Sort::Goes
        }
        Action::Move { .. }
        | Action::Scroll { .. }
        | Action::Wait { .. }
        | Action::SetClipboard { .. }
        | Action::FocusWindow { .. }
        | Action::GoBack
        | Action::GoForward
        | Action::Refresh => Sort::Reads,
    }
}

impl Situation {
    /// What the rules are asked about.
    #[must_use]
    pub fn of(words: &Words, circumstances: &Circumstances<'_>) -> Self {
        let place = Place::of(circumstances);
        let sort = sort(circumstances.action);
        let window = circumstances.frame.active_window();
        let application = window.map(|window| window.application.clone());
        let application = application.unwrap_or_default();
        let applications = words.applications(&application);
        let url = place.url(applications.contains("browser"));
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let (mut argument, secret) = argument(circumstances.action);
        if pastes(circumstances.action) {
            circumstances
                .pasted
                .unwrap_or_default()
                .clone_into(&mut argument);
        }
        let text = place.text();
        let goes_to = (sort == Sort::Enters)
            .then(|| place.address_entered(&applications, &argument))
            .flatten();
        Self {
            kind: circumstances.action.kind().to_string(),
            element: place
                .element
                .map(|element| element.kind.to_string())
                .unwrap_or_default(),
            meanings: place.meanings(words, sort, &applications, &argument),
            sites: words.sites(host),
            host: host.to_owned(),
            url: url.map(String::from).unwrap_or_default(),
            labels: as_set(circumstances.labels),
            changes: !matches!(sort, Sort::Reads | Sort::Goes),
            enters: sort == Sort::Enters || pastes_selection(circumstances.action),
            navigates: matches!(sort, Sort::Goes) || goes_to.is_some(),
            destructive: false,
            unlabelled: sort == Sort::Presses && text.is_empty(),
            tainted: circumstances.tainted,
            suspected_injection: circumstances.suspected_injection,
            beside: place.beside(words, sort, &applications, &argument),
            keyboard_at: place.keyboard_at(sort),
            window: window
                .map(|window| window.title.clone())
                .unwrap_or_default(),
            text,
            application,
            applications,
            argument,
            secret,
        }
    }
}

impl Situation {
    /// What the rules are asked about before a function is called. It is done on no screen: what is in front then says
    /// nothing of it.
    #[must_use]
    pub fn of_call(words: &Words, call: &CallCircumstances<'_>) -> Self {
        Self {
            kind: CALL_FUNCTION.to_owned(),
            text: call.name.to_owned(),
            argument: call.arguments.to_owned(),
            meanings: meanings_of_call(words, call),
            labels: as_set(call.labels),
            // What it does is not known, so it may.
            changes: true,
            destructive: call.may_destroy,
            tainted: call.tainted,
            suspected_injection: call.suspected_injection,
            ..Self::default()
        }
    }
}

/// By the function's name, by arguments that are one word, and by those that hold a command: `{"action": "delete"}` chooses
/// what is done, and sentences are what it is done to.
fn meanings_of_call(words: &Words, call: &CallCircumstances<'_>) -> Meanings {
    let arguments = serde_json::from_str::<Value>(call.arguments);
    let arguments = arguments.ok().and_then(|value| match value {
        Value::Object(members) => Some(members),
        _ => None,
    });
    let chosen = arguments.into_iter().flatten().map(|(name, value)| {
        let written = value.as_str().unwrap_or_default().trim();
        let is_one_word = !written.is_empty() && !written.contains(char::is_whitespace);
        let mut meanings = Meanings::new();
        if is_one_word {
            meanings.extend(words.of_label(written));
        }
        if words.is_command(&name) {
            meanings.extend(words.of_written_command(written));
        }
        meanings
    });
    let mut meanings = words.of_function(call.own_name);
    meanings.extend(chosen.flatten());
    meanings
}

fn as_set(labels: &BTreeMap<String, String>) -> BTreeSet<String> {
    let labels = labels.iter();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// Everything in JSON that may have been read somewhere: texts, names and numbers, each by itself, also of JSON that
/// stands in a text.
#[must_use]
pub fn values(json: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<Value> = serde_json::from_str(json).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_))) => {
                    open.push(inner);
                }
                _ => found.push(text),
            },
            Value::Number(number) => found.push(number.to_string()),
            Value::Array(values) => open.extend(values),
            Value::Object(members) => {
                for (name, value) in members {
                    found.push(name);
                    open.push(value);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

/// Whether what is in the clipboard is entered, whatever it is.
#[must_use]
pub fn pastes<T>(action: &Action<T>) -> bool {
    match action {
        Action::Paste { text: None } => true,
        _ => strikes(action, &PASTING),
    }
}

/// Whether what was selected last is entered, as X11 does with the middle button where text can be written.
#[must_use]
pub fn pastes_selection<T>(action: &Action<T>) -> bool {
    matches!(
        action,
        Action::Click {
            button: Button::Middle,
            ..
        }
    )
}

/// What is entered, struck or gone to, and whether it is a secret.
#[must_use]
pub fn argument(action: &Action<CapturePoint>) -> (String, bool) {
    let written = |text: &Text| match text {
        Text::Literal(text) => (text.clone(), false),
        Text::Secret(name) => (format!("secret:{name}"), true),
    };
    match action {
        Action::TypeText { text, .. }
        | Action::SetClipboard { text }
        | Action::Paste { text: Some(text) } => written(text),
        Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => (chord(keys), false),
        Action::OpenUrl { url } | Action::GoToUrl { url } => (url.clone(), false),
        Action::OpenApplication { name } => (name.clone(), false),
        _ => Default::default(),
    }
}

/// Whether an action strikes one of these chords, whichever way round and in whichever case its keys are named.
#[must_use]
pub fn strikes<T>(action: &Action<T>, chords: &[&str]) -> bool {
    match action {
        Action::KeyChord { keys, .. } | Action::HoldKey { keys, .. } => {
            let struck = struck(keys);
            chords
                .iter()
                .any(|known| struck.iter().map(String::as_str).eq(as_keys(known)))
        }
        _ => false,
    }
}

fn as_keys(chord: &str) -> BTreeSet<&str> {
    chord.split('+').collect()
}

/// The keys of a chord, in no order and in small letters: a planner may write `ctrl+V`, and mean the same.
pub(super) fn struck(keys: &[Key]) -> BTreeSet<String> {
    keys.iter()
        .map(|key| key.to_string().to_lowercase())
        .collect()
}

fn chord(keys: &[Key]) -> String {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.join("+")
}
