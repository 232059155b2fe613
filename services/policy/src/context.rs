//! The context of an action or a function call: all attributes that policies can refer to.
//!
//! Derived from the decision and the screen on which the action will be performed, without I/O. The effect of an element is not
//! known before it is used. It is estimated from its label, from the planner's intent and, if the label is only an affirmation
//! or has no words, from the surrounding text. Decisions are made in [`crate::engine`].

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::geometry::CaptureRect;
use serde_json::Value;
use url::Url;

use motorium_text::lexicon::{Lexicon, Meanings};

use super::action::{ActionCategory, category};
use super::named_hosts::opened_private_host;
use super::target_context::{TargetContext, hosts, origins, schemes};

pub use super::action::{ActionInputs, argument, pastes, pastes_selection, presses_chord};

/// Attributes of an action or a function call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActionContext {
    pub kind: String,
    /// Label of the target.
    pub text: String,
    pub element: String,
    pub application: String,
    pub window: String,
    /// URL of the page; empty unless the browser driver tells it.
    pub url: String,
    pub host: String,
    /// Schemes of the addresses that are, or may be, opened.
    pub address_schemes: BTreeSet<String>,
    /// Hosts of the addresses that are, or may be, opened.
    pub address_hosts: BTreeSet<String>,
    /// Addresses that keys or text open, or may open, in an address bar, by scheme, host and port. Not an attribute for policies:
    /// the Executor judges them by its rules.
    pub typed_addresses: BTreeSet<String>,
    /// Input of the action; for a secret its name.
    pub argument: String,
    pub meanings: Meanings,
    pub sites: BTreeSet<String>,
    pub applications: BTreeSet<String>,
    /// Labels of the task, each as `key=value`.
    pub labels: BTreeSet<String>,
    pub changes: bool,
    pub enters: bool,
    pub navigates: bool,
    /// Typed text opens, or may open, a private address that the user did not name.
    pub private_address: bool,
    pub unlabelled: bool,
    pub destructive: bool,
    pub secret: bool,
    pub tainted: bool,
    pub suspected_injection: bool,
    /// Texts beside the target that were used to judge it: the question that an affirmation answers, the label of the field, or
    /// the last lines of a terminal. Not an attribute for policies: an approval is valid only while these texts are unchanged.
    pub context_texts: Vec<String>,
    /// Bounding box of the keyboard focus, if known.
    pub keyboard_target: Option<CaptureRect>,
}

/// Inputs of a function call's context.
#[derive(Debug, Clone, Copy)]
pub struct CallInputs<'a> {
    /// Name as offered to the planner.
    pub name: &'a str,
    /// Name within its tool.
    pub function_in_tool: &'a str,
    /// True if its tool declares that it may be destructive.
    pub destructive: bool,
    /// Arguments as JSON.
    pub arguments: &'a str,
    pub labels: &'a BTreeMap<String, String>,
    /// True if part of an argument was read from the screen.
    pub tainted: bool,
    pub suspected_injection: bool,
}

/// Value of `kind` for function calls.
pub const CALL_FUNCTION: &str = "call_function";

impl ActionContext {
    /// Derives the context of an action.
    #[must_use]
    pub fn of(words: &Lexicon, inputs: &ActionInputs<'_>) -> Self {
        let category = category(inputs.action);
        let window = inputs.frame.active_window();
        let application = window.map(|window| window.application.clone());
        let application = application.unwrap_or_default();
        let applications = words.applications(&application);
        let (mut argument, secret) = argument(inputs.action);
        if pastes(inputs.action) {
            inputs.pasted.unwrap_or_default().clone_into(&mut argument);
        }
        let target = TargetContext::of(inputs, &applications, &argument);
        let text = target.text();
        let url = target.url();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let may_navigate = !secret && target.may_open_unknown_text(&applications, &argument);
        Self {
            kind: inputs.action.kind().to_string(),
            element: target
                .element
                .map(|element| element.kind.to_string())
                .unwrap_or_default(),
            meanings: target.meanings(words, category, &applications, &argument),
            sites: target.sites(words, &applications),
            host: host.to_owned(),
            address_schemes: schemes(&target.addresses),
            private_address: types_private_address(inputs, category, &target.addresses),
            address_hosts: hosts(&target.addresses),
            typed_addresses: match is_typed(category) {
                true => origins(&target.addresses),
                false => BTreeSet::new(),
            },
            url: url.map(String::from).unwrap_or_default(),
            labels: as_set(inputs.labels),
            changes: !matches!(
                category,
                ActionCategory::ReadOnly | ActionCategory::Navigation
            ),
            enters: category == ActionCategory::TextEntry || pastes_selection(inputs.action),
            navigates: matches!(category, ActionCategory::Navigation)
                || !target.addresses.is_empty()
                || may_navigate,
            destructive: false,
            unlabelled: category == ActionCategory::Press && text.is_empty(),
            tainted: inputs.tainted,
            suspected_injection: inputs.suspected_injection,
            context_texts: target.context_texts(words, category, &applications, &argument),
            keyboard_target: target.keyboard_target(category),
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

impl ActionContext {
    /// Derives the context of a function call. The screen is ignored, because a call does not act on it.
    #[must_use]
    pub fn of_call(words: &Lexicon, call: &CallInputs<'_>) -> Self {
        Self {
            kind: CALL_FUNCTION.to_owned(),
            text: call.name.to_owned(),
            argument: call.arguments.to_owned(),
            meanings: meanings_of_call(words, call),
            labels: as_set(call.labels),
            // The effect of a function is not known, so a change is assumed.
            changes: true,
            destructive: call.destructive,
            tainted: call.tainted,
            suspected_injection: call.suspected_injection,
            ..Self::default()
        }
    }
}

/// Returns true if keys or text open an address with a private host that the user did not name, or at another port.
fn types_private_address(
    circumstances: &ActionInputs<'_>,
    sort: ActionCategory,
    addresses: &[Url],
) -> bool {
    let opened = addresses.iter().filter_map(opened_private_host);
    let mut unnamed = opened.filter(|host| !circumstances.named_hosts.contains(host));
    is_typed(sort) && unnamed.next().is_some()
}

fn is_typed(category: ActionCategory) -> bool {
    matches!(
        category,
        ActionCategory::TextEntry | ActionCategory::KeyPress
    )
}

/// Returns the meanings of the function's name, of arguments of a single word, and of arguments that hold a command.
/// `{"action": "delete"}` selects the operation, while sentences are usually the data it operates on.
fn meanings_of_call(words: &Lexicon, call: &CallInputs<'_>) -> Meanings {
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
            meanings.extend(words.meanings_of_label(written));
        }
        if words.is_command(&name) {
            meanings.extend(words.meanings_of_typed_command(written));
        }
        meanings
    });
    let mut meanings = words.meanings_of_function(call.function_in_tool);
    meanings.extend(chosen.flatten());
    meanings
}

fn as_set(labels: &BTreeMap<String, String>) -> BTreeSet<String> {
    let labels = labels.iter();
    labels
        .map(|(key, value)| format!("{key}={value}"))
        .collect()
}

/// Returns all strings, member names and numbers of a JSON value, including those of JSON inside strings. Each of them may
/// have been read from the screen.
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
