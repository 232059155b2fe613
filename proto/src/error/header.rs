//! Cuts what an error carries to what the header of a gRPC response holds.
//!
//! Only the copy that is sent is cut: within a process an error keeps all of it.

use serde_json::json;
use serde_json::value::RawValue;

/// Maximum length of the responses in an error together, in bytes. They share the header of a gRPC response with the messages
/// of all attempts; common clients accept 16 KiB, and base64 makes 4 KiB of it.
const MAX_RESPONSES_BYTES: usize = 3 * 1024;
/// Size of the header that message and responses may take together, in bytes. The rest of 16 KiB is for usage and metadata.
const MAX_HEADER_BYTES: usize = 12 * 1024;
/// Maximum length of the beginning that is kept of a response that is too long, in characters: enough for its kind, its
/// model and the start of its text.
const MAX_BEGINNING_CHARS: usize = 1000;
/// Length of a note about a response that is left out, with its quotes and braces, in bytes.
const NOTE_BYTES: usize = 60;

/// Returns responses as a JSON array that fits a header beside a message; `None` if there are none, or no room. The latest are
/// kept, because they led to the failure. Of one that is too long, the beginning is kept if there is room, and earlier ones are
/// left out.
pub(super) fn responses_beside(message: &str, responses: &[String]) -> Option<String> {
    fitting(responses, room_beside(message))
}

/// Returns the responses of an array that [`responses_beside`] has made; none of anything else.
pub(super) fn responses_of(array: &str) -> Vec<String> {
    // Each is kept as it was written; parsing its numbers could change them.
    let parsed: Result<Vec<&RawValue>, _> = serde_json::from_str(array);
    let parsed = parsed.unwrap_or_default();
    parsed.iter().map(|one| one.get().to_owned()).collect()
}

/// Cuts a message to a size in bytes of a header.
#[must_use]
pub fn cut_message(message: &str, bytes: usize) -> String {
    let mut size = 0;
    let too_long = message.char_indices().find(|(_, letter)| {
        size += thirds_in_header(*letter);
        size > 3 * bytes
    });
    match too_long {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// Returns the size of a message in a header, in bytes. The message is there twice: percent-encoded, which takes three bytes for a
/// space, a quote and each byte that is not ASCII, and in the details in base64.
#[must_use]
pub fn message_size(message: &str) -> usize {
    message.chars().map(thirds_in_header).sum::<usize>() / 3
}

fn fitting(responses: &[String], bytes: usize) -> Option<String> {
    let mut left = bytes;
    let mut kept = Vec::new();
    for response in responses.iter().rev() {
        let text = match response.len() <= left {
            true => response.clone(),
            false => beginning(response, left),
        };
        let Some(rest) = left.checked_sub(text.len()) else {
            break;
        };
        left = rest;
        kept.push(text);
    }
    kept.reverse();
    array_of(&kept)
}

/// Returns responses as a JSON array; `None` if there are none.
pub(super) fn array_of(responses: &[String]) -> Option<String> {
    (!responses.is_empty()).then(|| format!("[{}]", responses.join(",\n")))
}

/// Returns the bytes that are left for responses beside a message, in a header that common clients accept.
fn room_beside(message: &str) -> usize {
    let left = MAX_HEADER_BYTES.saturating_sub(message_size(message));
    (left * 3 / 4).min(MAX_RESPONSES_BYTES)
}

/// Returns the size of a letter of a message in a header, in thirds of a byte.
fn thirds_in_header(letter: char) -> usize {
    let bytes = letter.len_utf8();
    let escaped = if letter.is_ascii_alphanumeric() {
        1
    } else {
        3 * bytes
    };
    3 * escaped + 4 * bytes
}

/// Returns a note about a response with its beginning, as long as fits into `bytes`.
fn beginning(response: &str, bytes: usize) -> String {
    let left_out = format!("a response of {} bytes", response.len());
    // Quotes within a response take two bytes, and control characters up to six.
    let chars = (bytes.saturating_sub(NOTE_BYTES) / 6).min(MAX_BEGINNING_CHARS);
    let begins: String = response.chars().take(chars).collect();
    json!({"left_out": left_out, "begins": begins}).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_latest_responses_are_kept_as_far_as_they_fit() {
        let kept = |responses: &[String]| -> Vec<Value> {
            let json = fitting(responses, MAX_RESPONSES_BYTES).unwrap();
            assert!(
                json.len() <= MAX_RESPONSES_BYTES + 2 * responses.len() + 2,
                "{}",
                json.len()
            );
            serde_json::from_str(&json).unwrap()
        };
        let response = |id: &str, length: usize| {
            let text = "\"日".repeat(length);
            json!({"id": id, "text": text}).to_string()
        };
        let ids = |kept: &[Value]| -> Vec<String> {
            let ids = kept.iter().filter_map(|one| one["id"].as_str());
            ids.map(str::to_owned).collect()
        };
        let small = [response("a", 1), response("b", 2)];
        assert_eq!(ids(&kept(&small)), ["a", "b"]);
        let too_long = [response("a", 10), response("b", 5000), response("c", 10)];
        let kept_of_long = kept(&too_long);
        assert_eq!(ids(&kept_of_long), ["a", "c"]);
        let note = &kept_of_long[1];
        let left_out = format!("a response of {} bytes", too_long[1].len());
        assert_eq!(note["left_out"], left_out);
        assert!(too_long[1].starts_with(note["begins"].as_str().unwrap()));
        assert_eq!(fitting(&[], MAX_RESPONSES_BYTES), None);
        assert_eq!(room_beside("a short message"), MAX_RESPONSES_BYTES);
        assert_eq!(room_beside(&"长".repeat(900)), 441);
        assert_eq!(room_beside(&"长".repeat(3000)), 0);
    }

    #[test]
    fn a_message_is_cut_to_its_size_in_a_header() {
        assert_eq!(cut_message("short", 100), "short");
        for letter in ["x", "长", "\""] {
            let cut = cut_message(&letter.repeat(10_000), 600);
            let kept = cut.strip_suffix('…').unwrap();
            assert!(
                message_size(kept) <= 600 && message_size(kept) > 580,
                "{letter}"
            );
        }
    }
}
