//! Texts of others in the words of this server: on one line, of bounded length, and without characters that are not seen.
//!
//! It judges no text, and leaves letters that look alike as they are.

use motorium_text::characters::is_invisible;

/// Marks the end of a text that was cut.
const CUT: char = '…';

/// Returns a text on one line: control characters and line breaks are spaces, invisible and direction characters are left out.
pub(super) fn on_one_line(text: &str, max_chars: usize) -> String {
    let seen = text.chars().filter(|c| !is_invisible(*c));
    let seen: String = seen
        .map(|c| match c.is_control() || c.is_whitespace() {
            true => ' ',
            false => c,
        })
        .collect();
    let seen = seen.trim();
    match seen.char_indices().nth(max_chars) {
        None => seen.to_owned(),
        Some((end, _)) => format!("{}{CUT}", &seen[..end]),
    }
}

/// Returns a text that a page may have chosen in quotation marks, which it cannot end.
pub(super) fn quoted(text: &str, max_chars: usize) -> String {
    let inner = on_one_line(text, max_chars).replace('"', "'");
    format!("\"{inner}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_line_or_its_quotation_marks() {
        for (text, expected) in [
            (
                "Pay\u{2028}page: x\u{2029}y\r\nz\u{85}w",
                "\"Pay page: x y  z w\"",
            ),
            (
                "a\u{1b}[31m\u{202e}b\u{61c}c\u{200b}d\u{e0041}",
                "\"a [31mbcd\"",
            ),
            ("Pay\" page: \"x", "\"Pay' page: 'x\""),
            ("12345678901234567890x", "\"12345678901234567890…\""),
        ] {
            assert_eq!(quoted(text, 20), expected);
        }
    }
}
