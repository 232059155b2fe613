//! The question that a line submitted to a terminal answers.
//!
//! Commands are judged when they are entered ([`motorium_text::commands`]). This module covers empty lines and affirmations.

use super::TargetContext;
use motorium_text::commands;
use motorium_text::lexicon::{Lexicon, Meanings};

/// Number of texts at the bottom of a terminal that count as its last lines: a question and its details rarely take more.
const LAST_LINES: usize = 3;

impl<'a> TargetContext<'a> {
    /// Returns the meanings of submitting a line to a terminal. A command was judged when it was entered. An affirmation or an
    /// empty line is judged by the terminal's last lines: a question, or a command recalled from the history.
    pub(super) fn meanings_of_line_end(&self, words: &Lexicon, line: &str) -> Meanings {
        if !is_yes(line) {
            return Meanings::new();
        }
        let mut meanings = Meanings::new();
        for text in self.last_lines() {
            meanings.extend(words.meanings_of_sentence(text));
            meanings.extend(words.meanings_of_command(text));
            if let Some(command) = commands::command_after_prompt(text) {
                meanings.extend(words.meanings_of_typed_command(command));
            }
        }
        meanings.remove("password");
        meanings
    }

    /// Returns the lowest texts of the active window, from the bottom up.
    pub(super) fn last_lines(&self) -> Vec<&'a str> {
        let mut lines: Vec<_> = self.in_window().collect();
        lines.sort_by_key(|(_, bounds)| std::cmp::Reverse(bounds.max.y));
        let lines = lines.into_iter().take(LAST_LINES);
        lines.map(|(element, _)| element.content.as_str()).collect()
    }
}

/// Returns true if a line is empty or an affirmation.
fn is_yes(line: &str) -> bool {
    let line = line.trim().trim_matches('\u{fffd}').to_lowercase();
    matches!(
        line.as_str(),
        "" | "y" | "yes" | "ok" | "j" | "ja" | "o" | "oui" | "是"
    )
}
