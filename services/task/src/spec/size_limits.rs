//! Limits of the sizes of a new task: it is stored, listed and shown, and a part of it is in every prompt.
//!
//! Stored tasks are not checked: an earlier version accepted larger ones.

use motorium_proto::error::FieldError;
use motorium_proto::limits::{MAX_GOAL_CHARS, MAX_TEXT_CHARS};
use motorium_proto::v1::orchestrator as wire;
use prost::Message as _;

/// Maximum number of labels, attachments, results, expectations, backends and tools, of each.
// More than a person lists, and few enough to show.
const MAX_ITEMS: usize = 100;
/// Maximum size of the key and of the value of a label, in bytes. Labels are indexed.
const MAX_LABEL_BYTES: usize = 256;
/// Maximum size of a name or an address, in bytes.
const MAX_NAME_BYTES: usize = 2048;
/// Maximum size of an expectation, in bytes. It may be a JSON document.
const MAX_EXPECTATION_BYTES: usize = 64 * 1024;

/// Checks the sizes of a task that a caller creates.
pub(super) fn check(task: &wire::Task) -> Result<(), FieldError> {
    let texts = [
        ("task.instructions", &task.instructions, MAX_GOAL_CHARS),
        ("task.display_name", &task.display_name, MAX_GOAL_CHARS),
        ("task.language", &task.language, MAX_LABEL_BYTES),
    ];
    for (field, text, max) in texts {
        check_chars(field, text, max)?;
    }
    let counts = [
        ("task.attachments", task.attachments.len()),
        ("task.results", task.results.len()),
        ("task.expectations", task.expectations.len()),
        ("task.backends", task.backends.len()),
        ("task.tool_endpoints", task.tool_endpoints.len()),
    ];
    for (field, count) in counts {
        check_max(field, "entries", count, MAX_ITEMS)?;
    }
    for (field, names) in [
        ("task.backends", &task.backends),
        ("task.tool_endpoints", &task.tool_endpoints),
    ] {
        for (index, name) in names.iter().enumerate() {
            check_max(
                &format!("{field}[{index}]"),
                "bytes",
                name.len(),
                MAX_NAME_BYTES,
            )?;
        }
    }
    for (index, expectation) in task.expectations.iter().enumerate() {
        let field = format!("task.expectations[{index}]");
        check_max(
            &field,
            "bytes",
            expectation.encoded_len(),
            MAX_EXPECTATION_BYTES,
        )?;
    }
    check_labels("task.labels", task.labels.iter())?;
    let selector = task.desktop_selector.iter();
    check_labels(
        "task.desktop_selector.labels",
        selector.flat_map(|selector| &selector.labels),
    )
}

/// Checks a text that is sent to a task.
///
/// # Errors
/// If it is too long.
pub fn check_message(field: &str, text: &str) -> Result<(), FieldError> {
    check_chars(field, text, MAX_TEXT_CHARS)
}

fn check_labels<'a>(
    field: &str,
    labels: impl Iterator<Item = (&'a String, &'a String)>,
) -> Result<(), FieldError> {
    let mut count = 0;
    for (key, value) in labels {
        count += 1;
        for part in [key, value] {
            check_max(
                field,
                "bytes in a key or value",
                part.len(),
                MAX_LABEL_BYTES,
            )?;
        }
    }
    check_max(field, "labels", count, MAX_ITEMS)
}

fn check_chars(field: &str, text: &str, max: usize) -> Result<(), FieldError> {
    // Bytes first: they are at hand, and a text that has few of them needs no count.
    match text.len() <= max {
        true => Ok(()),
        false => check_max(field, "characters", text.chars().count(), max),
    }
}

fn check_max(field: &str, unit: &str, found: usize, max: usize) -> Result<(), FieldError> {
    if found <= max {
        return Ok(());
    }
    let problem = format!("has {found} {unit}; at most {max} are accepted");
    Err(FieldError::new(field, problem))
}
