//! Results of function calls, in a form and size that a planner can be shown. Pure.

use motorium_messages::{Language, Message};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Maximum size of a result in bytes; the rest is truncated.
// Models charge per token, and every later step sends the result again.
pub const MAX_RESULT_BYTES: usize = 64 * 1024;
/// Maximum size of an error in bytes; the rest is truncated.
// The model needs the cause, not a stack trace, and pays for every byte.
pub const MAX_ERROR_BYTES: usize = 4 * 1024;

/// A JSON value, or an error message.
pub type FunctionOutcome = Result<String, String>;

/// Returns the value of a ToolService result. Text that is not JSON becomes a JSON string.
pub fn from_json(json: &str) -> FunctionOutcome {
    match serde_json::from_str::<Value>(json) {
        Ok(_) => Ok(json.to_owned()),
        Err(_) => Ok(as_text(json)),
    }
}

/// Converts the result of an MCP server: its structured content, or else its text. Other content is replaced by a note.
pub fn from_mcp(result: CallToolResult, language: Language) -> FunctionOutcome {
    let failed = result.is_error == Some(true);
    let shown = result
        .content
        .iter()
        .map(|content| words(content, language));
    let shown = shown.collect::<Vec<_>>();
    let text = shown.join("\n");
    if failed {
        return Err(match text.trim() {
            "" => Message::FunctionFailedSilently.text(language),
            _ => text,
        });
    }
    match result.structured_content {
        Some(structured) => Ok(structured.to_string()),
        None => Ok(json_or_text(&text)),
    }
}

/// Truncates an outcome that is too large, with a note.
pub fn truncated(outcome: FunctionOutcome, language: Language) -> FunctionOutcome {
    match outcome {
        Ok(json) if json.len() <= MAX_RESULT_BYTES => Ok(json),
        Ok(json) => Ok(as_text(&truncate(&json, MAX_RESULT_BYTES, language))),
        Err(error) if error.len() <= MAX_ERROR_BYTES => Err(error),
        Err(error) => Err(truncate(&error, MAX_ERROR_BYTES, language)),
    }
}

fn words(content: &ContentBlock, language: Language) -> String {
    let note = match content {
        ContentBlock::Text(text) => return text.text.clone(),
        ContentBlock::Image(image) => Message::ImageOmitted {
            media_type: &image.mime_type,
        },
        ContentBlock::Audio(audio) => Message::AudioOmitted {
            media_type: &audio.mime_type,
        },
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => return text.clone(),
            ResourceContents::BlobResourceContents { uri, .. } => Message::FileOmitted { uri },
            _ => Message::ContentOmitted,
        },
        ContentBlock::ResourceLink(link) => Message::LinkedContent { uri: &link.uri },
        _ => Message::ContentOmitted,
    };
    format!("[{}]", note.text(language))
}

/// Servers without structured content often write JSON into a text.
fn json_or_text(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_) | Value::Array(_)) => text.to_owned(),
        _ => as_text(text),
    }
}

fn as_text(text: &str) -> String {
    Value::from(text).to_string()
}

fn truncate(text: &str, max_bytes: usize, language: Language) -> String {
    let kept = &text[..text.floor_char_boundary(max_bytes)];
    let note = Message::ResultTruncated {
        kept: kept.len(),
        size: text.len(),
    };
    format!("{kept} … [{}]", note.text(language))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mcp(result: Value) -> FunctionOutcome {
        from_mcp(serde_json::from_value(result).unwrap(), Language::English)
    }

    #[test]
    fn non_json_results_become_json_strings() {
        assert_eq!(from_json("{\"a\": 1}"), Ok("{\"a\": 1}".to_owned()));
        assert_eq!(
            from_json("plain \"words\""),
            Ok(r#""plain \"words\"""#.to_owned())
        );
        assert_eq!(from_json(""), Ok("\"\"".to_owned()));
    }

    #[test]
    fn contents_of_an_mcp_server_become_one_value() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let both = mcp(json!({"content": [text("two"), text("lines"), image]}));
        let expected = r#""two\nlines\n[image (image/png) omitted]""#;
        assert_eq!(both, Ok(expected.to_owned()));
        let written = mcp(json!({"content": [text("{\"a\": 1}")]}));
        assert_eq!(written, Ok("{\"a\": 1}".to_owned()));
        let structured = mcp(json!({"content": [text("x")], "structuredContent": {"a": 1}}));
        assert_eq!(structured, Ok("{\"a\":1}".to_owned()));
        let failed = mcp(json!({"content": [text("no such note")], "isError": true}));
        assert_eq!(failed, Err("no such note".to_owned()));
        let silent = mcp(json!({"content": [], "isError": true}));
        assert!(silent.unwrap_err().contains("without a message"));
    }

    #[test]
    fn oversize_results_are_truncated_with_a_notice() {
        let truncated = |outcome| truncated(outcome, Language::English);
        let large = truncated(Ok(format!("\"{}\"", "é".repeat(MAX_RESULT_BYTES)))).unwrap();
        assert!(large.len() < MAX_RESULT_BYTES + 200, "{}", large.len());
        let read: String = serde_json::from_str(&large).unwrap();
        assert!(
            read.contains("[truncated: the first"),
            "{}",
            &read[read.len() - 80..]
        );
        let error = truncated(Err("x".repeat(MAX_RESULT_BYTES))).unwrap_err();
        assert!(error.len() < MAX_ERROR_BYTES + 100 && error.contains("truncated"));
        assert_eq!(truncated(Ok("1".to_owned())), Ok("1".to_owned()));
    }
}
