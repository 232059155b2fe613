//! What a line that is sent off to a terminal answers.
//!
//! A command was judged when it was entered ([`crate::policy::commands`]). Here it is about lines that only say yes, or nothing.

use super::Place;
use crate::policy::commands;
use crate::policy::words::{Meanings, Words};

/// So many texts at the foot of a terminal are its last lines.
const LAST_LINES: usize = 3;

impl<'a> Place<'a> {
    /// What it means to send a line off to a terminal. A command was judged when it was entered; a yes, or nothing, is
    /// judged by what the terminal shows last: a question, or a command that was called up again.
    pub(super) fn of_line_end(&self, words: &Words, line: &str) -> Meanings {
        if !is_yes(line) {
            return Meanings::new();
        }
        let mut meanings = Meanings::new();
        for text in self.last_lines() {
            meanings.extend(words.of_sentence(text));
            meanings.extend(words.of_command(text));
            if let Some(command) = commands::behind_prompt(text) {
                meanings.extend(words.of_written_command(command));
            }
        }
        meanings.remove("password");
        meanings
    }

    /// What stands lowest in the window in front, from below.
    pub(super) fn last_lines(&self) -> Vec<&'a str> {
        let mut lines: Vec<_> = self.in_window().collect();
        lines.sort_by_key(|(_, bounds)| std::cmp::Reverse(bounds.max.y));
        let lines = lines.into_iter().take(LAST_LINES);
        lines.map(|(element, _)| element.content.as_str()).collect()
    }
}

/// Whether a line says yes, or nothing, to whatever was asked.
fn is_yes(line: &str) -> bool {
    let line = line.trim().trim_matches('\u{fffd}').to_lowercase();
    matches!(
        line.as_str(),
        "" | "y" | "yes" | "ok" | "j" | "ja" | "o" | "oui" | "是"
    )
}
