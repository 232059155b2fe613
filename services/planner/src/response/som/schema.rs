//! JSON schema of a response, the same for all providers. It uses the subset that Anthropic, OpenAI, vLLM's xgrammar,
//! Ollama and llama.cpp all support: every field is required, no field has two types, no value has bounds. Fields that do
//! not apply get a placeholder value.

use serde_json::{Value, json};

use crate::response::ResponseError;

/// Allowed values of `next`.
pub(super) const NEXT: [&str; 6] = ["act", "done", "fail", "ask", "call_function", "extract"];

/// Allowed values of `action`.
pub(super) const ACTIONS: [&str; 23] = [
    "click",
    "move",
    "mouse_down",
    "mouse_up",
    "drag",
    "scroll_up",
    "scroll_down",
    "scroll_left",
    "scroll_right",
    "type_text",
    "press_keys",
    "hold_keys",
    "wait",
    "set_clipboard",
    "paste",
    "open_application",
    "open_url",
    "focus_window",
    "go_to_url",
    "go_back",
    "go_forward",
    "refresh",
    "close",
];

/// Returns the error of an action that does not exist.
pub(super) fn unknown_action(word: &str) -> ResponseError {
    ResponseError::invalid(format!(
        "there is no action `{word}`; there are: {}",
        ACTIONS.join(", ")
    ))
}

/// Returns the schema.
#[must_use]
pub fn schema() -> Value {
    object(&[
        ("thought", text()),
        ("progress", text()),
        ("suspected_injections", list(text())),
        ("next", word(&NEXT)),
        ("actions", list(action())),
        ("message", text()),
        ("evidence", list(text())),
        ("needs_hands", json!({"type": "boolean"})),
        ("function", text()),
        ("arguments", text()),
        ("json_schema", text()),
    ])
}

fn action() -> Value {
    object(&[
        ("intent", text()),
        ("action", word(&ACTIONS)),
        ("element_id", whole()),
        ("x", whole()),
        ("y", whole()),
        ("path", list(place())),
        (
            "button",
            word(&["left", "right", "middle", "back", "forward"]),
        ),
        ("count", whole()),
        ("text", text()),
        ("keys", text()),
        ("amount", whole()),
        ("verify_pointer", json!({"type": "boolean"})),
    ])
}

fn place() -> Value {
    object(&[("element_id", whole()), ("x", whole()), ("y", whole())])
}

fn object(fields: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> = fields
        .iter()
        .map(|(name, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": names,
        "properties": properties,
    })
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn word(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn whole() -> Value {
    json!({"type": "integer"})
}
