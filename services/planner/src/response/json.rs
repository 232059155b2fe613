//! Finds the JSON objects in a model's text: inside fences, between prose, with trailing commas. The content is not
//! interpreted here.
//!
//! Invariant: it terminates for every text, in time linear in the length of the text.

use serde_json::{Map, Value};

/// Maximum number of `{` that are tried as the start of the object. Bounds the work on adversarial text.
const MAX_CANDIDATES: usize = 64;

/// Returns the complete objects in a text, in order. Objects inside another one are a part of it.
#[must_use]
pub fn objects(text: &str) -> Vec<Map<String, Value>> {
    if let Some(object) = parsed(text.trim()) {
        return vec![object];
    }
    let starts = text.match_indices('{').map(|(start, _)| start);
    let mut found = Vec::new();
    let mut after = 0;
    for start in starts.take(MAX_CANDIDATES) {
        if start < after {
            continue;
        }
        let Some(end) = end_of_object(&text[start..]) else {
            continue;
        };
        let candidate = &text[start..start + end];
        found.extend(parsed(candidate).or_else(|| parsed(&repaired(candidate))));
        // `{curly}` words in prose are skipped whole. Objects nested in a malformed one are not tried: they are not the
        // response.
        after = start + end;
    }
    found
}

fn parsed(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// Returns the end of the object at the start of the text, ignoring braces inside strings.
fn end_of_object(text: &str) -> Option<usize> {
    let (mut depth, mut strings) = (0_usize, Strings::default());
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            _ if strings.is_within(byte) => {}
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(index + 1);
        }
    }
    None
}

/// Removes commas before closing brackets and escapes line breaks inside strings.
fn repaired(text: &str) -> String {
    let mut repaired = String::with_capacity(text.len());
    let mut strings = Strings::default();
    for (index, character) in text.char_indices() {
        let is_within =
            u8::try_from(character).map_or(strings.is_open, |byte| strings.is_within(byte));
        match character {
            '\n' if is_within => repaired.push_str("\\n"),
            '\r' if is_within => repaired.push_str("\\r"),
            '\t' if is_within => repaired.push_str("\\t"),
            ',' if !is_within && is_before_closing(&text[index + 1..]) => {}
            _ => repaired.push(character),
        }
    }
    repaired
}

fn is_before_closing(rest: &str) -> bool {
    rest.trim_start().starts_with(['}', ']'])
}

/// Tracks whether a position in a text lies inside a JSON string.
#[derive(Debug, Default)]
struct Strings {
    is_open: bool,
    is_escaped: bool,
}

impl Strings {
    /// Advances by one byte and returns whether it belongs to a string, including its quotes.
    fn is_within(&mut self, byte: u8) -> bool {
        let was_open = self.is_open;
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if was_open => self.is_escaped = true,
            b'"' => self.is_open = !was_open,
            _ => {}
        }
        was_open || self.is_open
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn object(text: &str) -> Option<Map<String, Value>> {
        objects(text).into_iter().next()
    }

    #[track_caller]
    fn check(text: &str, expected: Option<Value>) {
        assert_eq!(object(text).map(Value::Object), expected, "{text}");
    }

    #[test]
    fn object_is_found_within_surrounding_text() {
        let a = || Some(json!({"a": 1}));
        check(r#"{"a": 1}"#, a());
        check("```json\n{\"a\": 1}\n```", a());
        check("```\n{\"a\": 1}\n```\nThat is it.", a());
        check("I think {so}: {\"a\": 1} and {\"b\": 2}", a());
        check("Sure! {\"a\": 1", None);
        check("", None);
        check("no object", None);
        check("[1, 2]", None);
        check("\"{\"", None);
        check("}{", None);
    }

    #[test]
    fn every_object_is_found_and_none_inside_another() {
        let text = r#"{"a": 1} then {"b": {"c": 2},} and {so} {"d": 3}"#;
        let found: Vec<Value> = objects(text).into_iter().map(Value::Object).collect();
        assert_eq!(
            found,
            [json!({"a": 1}), json!({"b": {"c": 2}}), json!({"d": 3})]
        );
        assert!(objects("none").is_empty());
    }

    #[test]
    fn braces_and_quotes_in_strings_are_text() {
        check(
            r#"so: {"a": "}{\"}", "b": {"c": "\\"}}."#,
            Some(json!({"a": "}{\"}", "b": {"c": "\\"}})),
        );
    }

    #[test]
    fn trailing_commas_and_raw_newlines_are_repaired() {
        check(
            "{\"a\": [1, 2,], \"b\": \"x,}\", }",
            Some(json!({"a": [1, 2], "b": "x,}"})),
        );
        check(
            "{\"a\": \"line\nline\tend\"}",
            Some(json!({"a": "line\nline\tend"})),
        );
        check("{\"a\": \"ä\nö\",}", Some(json!({"a": "ä\nö"})));
    }

    #[test]
    fn object_nested_in_a_malformed_one_is_not_used() {
        check(r#"{"a": oops, "b": {"c": 1}}"#, None);
    }

    #[test]
    fn deeply_nested_braces_are_rejected_quickly() {
        check(&"{".repeat(1_000_000), None);
        check(&"{\"a\":".repeat(100_000), None);
    }

    proptest! {
        #[test]
        fn parsing_arbitrary_text_terminates(text in "\\PC{0,200}|[{}\"\\\\,a\\[\\]: \n]{0,200}") {
            let _ = object(&text);
        }

        #[test]
        fn an_object_survives_any_prose_without_braces(before in "[^{}\"]{0,50}", after in "[^{}\"]{0,50}", value in "\\PC{0,30}") {
            let object_within = json!({"a": value});
            let text = format!("{before}{object_within}{after}");
            prop_assert_eq!(object(&text).map(Value::Object), Some(object_within));
        }
    }
}
