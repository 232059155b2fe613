//! What the answer of a chat endpoint says.

use serde_json::Value;

use crate::backends::dialect::Misread;

/// The text of a complete answer.
///
/// # Errors
/// If it was cut off, withheld, or is empty.
pub(in crate::backends) fn complete(answer: &Value, limit: u64) -> Result<&str, Misread> {
    let choice = &answer["choices"][0];
    match choice["finish_reason"].as_str() {
        Some("length") => return Err(Misread::Truncated { limit }),
        Some("content_filter") => {
            let message = refusal(choice).unwrap_or("its provider withholds the answer");
            return Err(Misread::Refused {
                message: message.to_owned(),
            });
        }
        _ => {}
    }
    if let Some(refusal) = refusal(choice) {
        return Err(Misread::Refused {
            message: refusal.to_owned(),
        });
    }
    text(answer).ok_or_else(|| Misread::invalid("the answer is empty"))
}

/// Whatever was said, also in an answer that is not complete. With some servers all of it ends up where a model's
/// reasoning belongs.
pub(in crate::backends) fn text(answer: &Value) -> Option<&str> {
    let message = &answer["choices"][0]["message"];
    ["content", "reasoning", "reasoning_content"]
        .into_iter()
        .filter_map(|field| message[field].as_str())
        .find(|text| !text.trim().is_empty())
}

fn refusal(choice: &Value) -> Option<&str> {
    let refusal = choice["message"]["refusal"].as_str();
    refusal.filter(|words| !words.is_empty())
}
