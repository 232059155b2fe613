//! Requests to providers and their responses, as they are kept for the record of a task.
//!
//! A response is kept as it was sent. A request is kept without the content of its images, which are stored once and named
//! here, and without the turns for which there is no room. It does not mask keys: [`Endpoint`](crate::provider::Endpoint)
//! does.

use serde_json::{Value, json};

use crate::backends::embedded_image::is_image;
use crate::screenshot::Checksum;

/// Maximum length of all responses of a call together, and of all requests, in bytes: they are kept with the step and must fit a
/// message.
const MAX_TOTAL_BYTES: usize = 1 << 20;
/// Maximum length of one request, in bytes. A prompt with a full screen takes 20 to 60 KiB; a conversation repeats all earlier
/// turns in each step, which the requests of those steps have already.
const MAX_REQUEST_BYTES: usize = 256 << 10;
/// Length that is kept free for the note about turns that are left out, in bytes.
const NOTE_BYTES: usize = 200;
/// Fields with the turns of a conversation, in the protocols of all providers.
const TURNS: [&str; 2] = ["messages", "input"];

/// A request that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct AnsweredRequest {
    /// Null if it is not known.
    pub request: Value,
    pub response: Value,
}

/// Requests and their responses as JSON, in the same order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExchangeTexts {
    pub requests: Vec<String>,
    pub responses: Vec<String>,
}

impl ExchangeTexts {
    /// Writes what is kept of a call. What would make it too long is replaced by a note.
    #[must_use]
    pub fn of(answered: &[AnsweredRequest]) -> Self {
        let requests = answered.iter().map(|one| shortened(&one.request));
        let responses = answered.iter().map(|one| one.response.to_string());
        Self {
            requests: bounded(requests, "request"),
            responses: bounded(responses, "response"),
        }
    }
}

/// Returns a request with each image replaced by its name. `name_of` knows the images that were rendered for it.
pub(crate) fn without_images(body: &Value, name_of: &impl Fn(&str) -> Option<Checksum>) -> Value {
    match body {
        Value::String(text) => {
            let content = text.split_once("base64,").map_or(&**text, |(_, rest)| rest);
            Value::String(match name_of(content) {
                Some(checksum) => format!("<image artifacts/{checksum}>"),
                // Providers also send signed reasoning in this form, which they want back.
                None if is_image(text) => format!("<{} characters of base64>", content.len()),
                None => text.clone(),
            })
        }
        Value::Array(items) => items
            .iter()
            .map(|item| without_images(item, name_of))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), without_images(field, name_of)))
            .collect(),
        other => other.clone(),
    }
}

/// Writes a request. One that is too long keeps its first turn, which has the goal, and its latest ones.
fn shortened(request: &Value) -> String {
    let whole = request.to_string();
    let Some(excess) = whole.len().checked_sub(MAX_REQUEST_BYTES) else {
        return whole;
    };
    let mut request = request.clone();
    let turns = TURNS.into_iter().find_map(|field| {
        request
            .get_mut(field)?
            .as_array_mut()
            .map(std::mem::take)
            .map(|turns| (field, turns))
    });
    let Some((field, mut turns)) = turns else {
        return note("request", whole.len());
    };
    let mut left_out = 0;
    let unneeded = turns.iter().skip(1).take(turns.len().saturating_sub(2));
    let count = unneeded
        .take_while(|turn| {
            let goes_on = left_out < excess + NOTE_BYTES;
            left_out += if goes_on { turn.to_string().len() } else { 0 };
            goes_on
        })
        .count();
    let gap = json!({"left_out": format!("{count} earlier turns of {left_out} bytes")});
    let first = turns.len().min(1);
    drop(turns.splice(first..first + count, [gap]));
    request[field] = turns.into();
    let kept = request.to_string();
    match kept.len() <= MAX_REQUEST_BYTES {
        true => kept,
        false => note("request", whole.len()),
    }
}

/// Replaces the texts for which there is no room beside those before them.
fn bounded(texts: impl Iterator<Item = String>, what: &str) -> Vec<String> {
    let mut left = MAX_TOTAL_BYTES;
    let fitting = texts.map(|text| match left.checked_sub(text.len()) {
        Some(rest) => {
            left = rest;
            text
        }
        None => note(what, text.len()),
    });
    fitting.collect()
}

fn note(what: &str, bytes: usize) -> String {
    json!({"left_out": format!("a {what} of {bytes} bytes")}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_replaced_by_the_names_under_which_they_are_stored() {
        let known = "A".repeat(4000);
        let signature = "B".repeat(4000);
        let body = json!({
            "tools": [{"name": "click"}],
            "messages": [{"content": [
                {"type": "text", "text": "Press Save"},
                {"source": {"data": known}},
                {"image_url": {"url": format!("data:image/png;base64,{known}")}},
                {"signature": signature},
            ]}],
        });
        let name_of = |content: &str| (content == known).then_some(Checksum([0xab; 32]));
        let name = format!("<image artifacts/{}>", "ab".repeat(32));
        let kept = without_images(&body, &name_of);
        let expected = json!({
            "tools": [{"name": "click"}],
            "messages": [{"content": [
                {"type": "text", "text": "Press Save"},
                {"source": {"data": name}},
                {"image_url": {"url": name}},
                {"signature": "<4000 characters of base64>"},
            ]}],
        });
        assert_eq!(kept, expected);
    }

    #[test]
    fn a_long_conversation_keeps_its_goal_and_its_latest_turns() {
        let turn = |number: usize| json!({"turn": number, "text": "x".repeat(20_000)});
        for field in TURNS {
            let turns: Vec<Value> = (0..40).map(turn).collect();
            let text = shortened(&json!({"system": "You operate a computer.", field: turns}));
            assert!(text.len() <= MAX_REQUEST_BYTES, "{}", text.len());
            let kept: Value = serde_json::from_str(&text).unwrap();
            let kept_turns = kept[field].as_array().unwrap();
            assert_eq!(kept["system"], "You operate a computer.");
            assert_eq!(kept_turns[0]["turn"], 0);
            assert_eq!(kept_turns.last().unwrap()["turn"], 39);
            let left_out = 40 - (kept_turns.len() - 1);
            let note = kept_turns[1]["left_out"].as_str().unwrap();
            assert!(
                note.starts_with(&format!("{left_out} earlier turns")),
                "{note}"
            );
            assert!(
                text.len() > MAX_REQUEST_BYTES - 30_000,
                "no more than needed"
            );
        }
    }

    #[test]
    fn requests_without_turns_to_drop_are_replaced_by_a_note() {
        let long = "x ".repeat(MAX_REQUEST_BYTES);
        for request in [
            json!({ "prompt": long }),
            json!({"messages": [{ "text": long }]}),
            json!({"messages": [{ "text": "short" }, { "text": long }]}),
        ] {
            let expected = format!("a request of {} bytes", request.to_string().len());
            let kept: Value = serde_json::from_str(&shortened(&request)).unwrap();
            assert_eq!(kept, json!({ "left_out": expected }));
        }
        let short = json!({"messages": []});
        assert_eq!(shortened(&short), short.to_string());
    }

    #[test]
    fn requests_and_responses_stay_side_by_side_within_their_limit() {
        let long = "x ".repeat(MAX_REQUEST_BYTES / 3);
        let answered = |request: Value| AnsweredRequest {
            request,
            response: json!("done"),
        };
        let several = vec![answered(json!({ "prompt": long })); 9];
        let kept = ExchangeTexts::of(&several);
        assert_eq!((kept.requests.len(), kept.responses.len()), (9, 9));
        let total: usize = kept.requests.iter().map(String::len).sum();
        assert!(total <= MAX_TOTAL_BYTES + 9 * NOTE_BYTES, "{total}");
        assert!(kept.requests[8].contains("left_out"));
        assert_eq!(kept.responses[8], r#""done""#);
    }
}
