//! What a function gives back, in a form and a size that a planner can be shown. Pure.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use serde_json::Value;

/// More of a result is cut, in bytes: models read text at a price, and every later step sends it again.
pub const LARGEST_RESULT: usize = 64 * 1024;
/// More of an error is cut, in bytes.
pub const LARGEST_ERROR: usize = 4 * 1024;

/// In place of what no planner can be shown.
const LEFT_OUT: &str = "[something that cannot be shown is left out]";

/// A value as JSON, or why there is none.
pub type Outcome = Result<String, String>;

/// The value of a ToolService. What is no JSON is a text.
pub fn value(json: &str) -> Outcome {
    match serde_json::from_str::<Value>(json) {
        Ok(_) => Ok(json.to_owned()),
        Err(_) => Ok(as_text(json)),
    }
}

/// What an MCP server gives back: structured content as it is, else its texts; what cannot be shown is named.
pub fn of_mcp(result: CallToolResult) -> Outcome {
    let failed = result.is_error == Some(true);
    let shown = result.content.iter().map(words).collect::<Vec<_>>();
    let text = shown.join("\n");
    if failed {
        return Err(match text.trim() {
            "" => "it failed and does not say why".to_owned(),
            _ => text,
        });
    }
    match result.structured_content {
        Some(structured) => Ok(structured.to_string()),
        None => Ok(json_or_text(&text)),
    }
}

/// What does not fit is cut, and that is said.
pub fn fitting(outcome: Outcome) -> Outcome {
    match outcome {
        Ok(json) if json.len() <= LARGEST_RESULT => Ok(json),
        Ok(json) => Ok(as_text(&cut(&json, LARGEST_RESULT))),
        Err(error) if error.len() <= LARGEST_ERROR => Err(error),
        Err(error) => Err(cut(&error, LARGEST_ERROR)),
    }
}

fn words(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => format!("[an image ({}) is left out]", image.mime_type),
        ContentBlock::Audio(audio) => format!("[a sound ({}) is left out]", audio.mime_type),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, .. } => {
                format!("[the file {uri} is left out]")
            }
            _ => LEFT_OUT.to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[see {}]", link.uri),
        _ => LEFT_OUT.to_owned(),
    }
}

/// Servers that have no structured content often write it into a text.
fn json_or_text(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(_) | Value::Array(_)) => text.to_owned(),
        _ => as_text(text),
    }
}

fn as_text(text: &str) -> String {
    Value::from(text).to_string()
}

fn cut(text: &str, most: usize) -> String {
    let kept = &text[..text.floor_char_boundary(most)];
    format!(
        "{kept} … [cut: these are the first {} of {} bytes]",
        kept.len(),
        text.len()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mcp(result: Value) -> Outcome {
        of_mcp(serde_json::from_value(result).unwrap())
    }

    #[test]
    fn values_are_json_whatever_comes() {
        assert_eq!(value("{\"a\": 1}"), Ok("{\"a\": 1}".to_owned()));
        assert_eq!(
            value("plain \"words\""),
            Ok(r#""plain \"words\"""#.to_owned())
        );
        assert_eq!(value(""), Ok("\"\"".to_owned()));
    }

    #[test]
    fn contents_of_an_mcp_server_become_one_value() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let image = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let both = mcp(json!({"content": [text("two"), text("lines"), image]}));
        let expected = r#""two\nlines\n[an image (image/png) is left out]""#;
        assert_eq!(both, Ok(expected.to_owned()));
        let written = mcp(json!({"content": [text("{\"a\": 1}")]}));
        assert_eq!(written, Ok("{\"a\": 1}".to_owned()));
        let structured = mcp(json!({"content": [text("x")], "structuredContent": {"a": 1}}));
        assert_eq!(structured, Ok("{\"a\":1}".to_owned()));
        let failed = mcp(json!({"content": [text("no such note")], "isError": true}));
        assert_eq!(failed, Err("no such note".to_owned()));
        let silent = mcp(json!({"content": [], "isError": true}));
        assert!(silent.unwrap_err().contains("does not say why"));
    }

    #[test]
    fn what_is_too_large_is_cut_and_that_is_said() {
        let large = fitting(Ok(format!("\"{}\"", "é".repeat(LARGEST_RESULT)))).unwrap();
        assert!(large.len() < LARGEST_RESULT + 200, "{}", large.len());
        let read: String = serde_json::from_str(&large).unwrap();
        assert!(
            read.contains("[cut: these are the first"),
            "{}",
            &read[read.len() - 80..]
        );
        let error = fitting(Err("x".repeat(LARGEST_RESULT))).unwrap_err();
        assert!(error.len() < LARGEST_ERROR + 100 && error.contains("cut"));
        assert_eq!(fitting(Ok("1".to_owned())), Ok("1".to_owned()));
    }
}
