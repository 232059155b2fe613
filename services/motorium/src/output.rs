//! Standard output and standard error. A closed pipe ends the process without a panic.
//!
//! Invariant: texts of users, pages and programs cannot command the terminal. Their control characters, and those that reverse
//! the order of a text, are shown as escapes (`\u001b`), which JSON and TOML read as the same characters.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use motorium_text::characters::is_terminal_control;

/// Prints a line. Ends the process if the reader has closed the pipe, as `head` does.
pub(crate) fn line(text: &str) {
    if try_line(text).is_err() {
        std::process::exit(0);
    }
}

/// Prints a line, for commands that have something to end before they end themselves.
///
/// # Errors
/// If the reader has closed the pipe, or the terminal is gone.
pub(crate) fn try_line(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{}", printable(text)).and_then(|()| output.flush())
}

/// Prints a text on standard error without a line break. A terminal that is gone is not an error.
pub(crate) fn remark(text: &str) {
    let mut output = io::stderr().lock();
    let _ = write!(output, "{}", printable(text)).and_then(|()| output.flush());
}

/// Returns a text whose control characters are written as escapes.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_terminal_control) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_terminal_control(character) {
            // All of them are in the plane whose characters have four digits.
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        let check = |text: &str, expected: &str| assert_eq!(printable(text), expected);
        check(
            "two\nlines\tof “text” 保存 👩‍👩‍👧",
            "two\nlines\tof “text” 保存 👩‍👩‍👧",
        );
        check("\u{1b}[31mred\u{7}", "\\u001b[31mred\\u0007");
        check("a\rb\u{9b}2J", "a\\u000db\\u009b2J");
        check("type \u{202e}cba\u{202c}", "type \\u202ecba\\u202c");
        check("\u{2066}x\u{200f}\u{2028}", "\\u2066x\\u200f\\u2028");
    }

    #[test]
    fn json_with_shown_characters_means_the_same() {
        let json = serde_json::to_string("\u{202e}\u{1b}\u{9b}").unwrap();
        let read: String = serde_json::from_str(&printable(&json)).unwrap();
        assert_eq!(read, "\u{202e}\u{1b}\u{9b}");
    }
}
