//! Results of function calls, in a form and size that a planner can be shown. Pure.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// Maximum size of a result in bytes; the rest is truncated.
// Models charge per token, and every later step sends the result again.
pub const MAX_RESULT_BYTES: usize = 64 * 1024;
/// Maximum size of an error in bytes; the rest is truncated.
// The model needs the cause, not a stack trace, and pays for every byte.
pub const MAX_ERROR_BYTES: usize = 4 * 1024;

/// Replacement for content that a planner cannot be shown.
const OMITTED: &str = "[unsupported content omitted]";

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
pub fn from_mcp(result: CallToolResult) -> FunctionOutcome {
    let failed = result.is_error == Some(true);
    let shown = result.content.iter().map(words).collect::<Vec<_>>();
    let text = shown.join("\n");
    if failed {
        return Err(match text.trim() {
            "" => "the function failed without a message".to_owned(),
            _ => text,
        });
    }
    match result.structured_content {
        Some(structured) => Ok(structured.to_string()),
        None => Ok(json_or_text(&text)),
    }
}

/// Truncates an outcome that is too large, with a note.
pub fn truncated(outcome: FunctionOutcome) -> FunctionOutcome {
    match outcome {
        Ok(json) if json.len() <= MAX_RESULT_BYTES => Ok(json),
        Ok(json) => Ok(as_text(&truncate(&json, MAX_RESULT_BYTES))),
        Err(error) if error.len() <= MAX_ERROR_BYTES => Err(error),
        Err(error) => Err(truncate(&error, MAX_ERROR_BYTES)),
    }
}

fn words(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[image ({}) omitted]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[audio ({}) omitted]", audio.mime_type),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, .. } => {
                format!("[file {uri} omitted]")
            }
            _ => OMITTED.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[see {}]", link.uri),
        _ => OMITTED.to_owned(),
    }
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

fn truncate(text: &str, max_bytes: usize) -> String {
    let kept = &text[..text.floor_char_boundary(max_bytes)];
    format!(
        "{kept} … [truncated: the first {} of {} bytes]",
        kept.len(),
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mcp(result: Value) -> FunctionOutcome {
        from_mcp(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn values_are_json_whatever_comes() {
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
    fn what_is_too_large_is_cut_and_that_is_said() {
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
