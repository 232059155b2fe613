//! Tool calls that a model writes into its text, in the format of Qwen's chat templates: JSON or XML between
//! `<tool_call>` and `</tool_call>`.
//!
//! Parsing is lenient (text around the calls, a missing closing tag, arguments as text) and atomic: of several
//! consecutive calls, either all are accepted or none.
//!
//! - [`computer_use`]: calls of the function `computer_use`
//!
//! It does not interpret names and arguments; [`computer_use`] does.

pub mod computer_use;

use serde_json::{Map, Value};

/// Maximum number of consecutive calls: bounds what one response can do.
const MAX_CALLS: usize = 32;
const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// A tool call as the model writes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub name: String,
    /// Arguments by name. In XML every value is a text.
    pub arguments: Map<String, Value>,
}

/// Text without usable tool calls. The message is for the model that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("there is no tool call in the answer")]
    Missing,
    #[error("there are {0} tool calls in a row, and at most {MAX_CALLS} are read")]
    TooMany(usize),
    #[error(
        "there are words between the tool calls, so that it is not clear which of them are meant; write them in a row"
    )]
    Scattered,
    #[error("the tool call is not well-formed: {0}")]
    Malformed(String),
}

/// Parses the consecutive tool calls of a text. Calls inside reasoning (`<think>…</think>`) are ignored.
///
/// # Errors
/// Fails if there is none, or one of them is malformed.
pub fn read(text: &str) -> Result<Vec<ToolCall>, CallError> {
    let text = text
        .rsplit_once("</think>")
        .map_or(text, |(_, answer)| answer);
    let bodies = in_a_row(text)?;
    if bodies.is_empty() {
        return read_body(untagged(text).ok_or(CallError::Missing)?).map(|call| vec![call]);
    }
    if bodies.len() > MAX_CALLS {
        return Err(CallError::TooMany(bodies.len()));
    }
    bodies.into_iter().map(read_body).collect()
}

/// Returns the trimmed text before the calls that [`read`] finds.
#[must_use]
pub fn words_before(text: &str) -> &str {
    let end = text.find(OPEN).or_else(|| text.find("<function="));
    text[..end.unwrap_or(text.len())].trim()
}

fn in_a_row(text: &str) -> Result<Vec<&str>, CallError> {
    let mut bodies = Vec::new();
    let mut after = "";
    for piece in text.split(OPEN).skip(1) {
        if !after.trim().is_empty() {
            return Err(CallError::Scattered);
        }
        let (body, rest) = piece.split_once(CLOSE).unwrap_or((piece, ""));
        bodies.push(body);
        after = rest;
    }
    Ok(bodies)
}

/// Returns a call without tags, if the text contains nothing else.
fn untagged(text: &str) -> Option<&str> {
    let text = without_fence(text.trim());
    let is_call =
        text.starts_with("<function=") || (text.starts_with('{') && text.contains("\"arguments\""));
    is_call.then_some(text)
}

fn without_fence(text: &str) -> &str {
    let inner = text
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    let inner = inner.map(|text| text.trim_start_matches(|c: char| c.is_ascii_alphanumeric()));
    inner.unwrap_or(text).trim()
}

fn read_body(body: &str) -> Result<ToolCall, CallError> {
    let body = without_fence(body.trim());
    if body.starts_with('<') {
        read_xml(body)
    } else {
        read_json(body)
    }
}

fn read_json(body: &str) -> Result<ToolCall, CallError> {
    let value: Value = serde_json::from_str(body).map_err(malformed)?;
    of_value(value)
}

fn of_value(mut call: Value) -> Result<ToolCall, CallError> {
    let name = call.get("name").and_then(Value::as_str).map(str::to_owned);
    let name = name.ok_or_else(|| malformed("it has no name"))?;
    let arguments = call.get_mut("arguments").map(Value::take);
    of_parts(name, arguments.unwrap_or_default())
}

/// Builds a call from separate parts, as in `tool_calls` of a chat message. Arguments may be JSON inside a text.
///
/// # Errors
/// Fails if the arguments are not an object.
pub fn of_parts(name: String, arguments: Value) -> Result<ToolCall, CallError> {
    let arguments = match arguments {
        Value::String(text) => serde_json::from_str(&text).map_err(malformed)?,
        other => other,
    };
    match arguments {
        Value::Object(arguments) => Ok(ToolCall { name, arguments }),
        _ => Err(malformed("its arguments are no object")),
    }
}

/// Parses `<function=NAME><parameter=KEY>VALUE</parameter>…</function>`. A value starts and ends on its own lines.
///
/// A missing end tag is an error, because the call may be incomplete: a click whose coordinate was cut off would become a
/// click at the pointer.
fn read_xml(body: &str) -> Result<ToolCall, CallError> {
    let (name, mut rest) = body
        .strip_prefix("<function=")
        .and_then(|rest| rest.split_once('>'))
        .ok_or_else(|| malformed("it names no function"))?;
    let mut arguments = Map::new();
    while let Some((_, from)) = rest.split_once("<parameter=") {
        let parts = from.split_once('>').and_then(|(key, from)| {
            let (value, after) = from.split_once("</parameter>")?;
            Some((key, value, after))
        });
        let (key, value, after) = parts.ok_or_else(|| malformed("a parameter does not end"))?;
        if arguments
            .insert(unquoted(key).to_owned(), on_own_lines(value).into())
            .is_some()
        {
            return Err(malformed(format!("`{}` is given twice", unquoted(key))));
        }
        rest = after;
    }
    if !rest.contains("</function>") {
        return Err(malformed("the function does not end"));
    }
    Ok(ToolCall {
        name: unquoted(name).to_owned(),
        arguments,
    })
}

fn unquoted(name: &str) -> &str {
    name.trim().trim_matches('"')
}

fn on_own_lines(value: &str) -> &str {
    let value = value.strip_prefix('\n').unwrap_or(value);
    value.strip_suffix('\n').unwrap_or(value)
}

fn malformed(problem: impl ToString) -> CallError {
    CallError::Malformed(problem.to_string())
}
