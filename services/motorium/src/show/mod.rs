//! Terminal output: progress of a task, lists, tables. Pure formatting; the caller prints.

mod flags;
pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod prompt;
pub(crate) mod table;

use motorium_messages::{Language, Message};
use motorium_proto::v1::orchestrator as wire;

use crate::output::printable;

pub(crate) use flags::{in_flags, limits_in_flags};

/// Variables that name the language of a terminal's messages, in the order of POSIX.
const LOCALE_VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// Returns the language of output that belongs to no task: that of the terminal's locale.
pub(crate) fn terminal_language() -> Language {
    language_of(LOCALE_VARIABLES.map(|name| std::env::var(name).unwrap_or_default()))
}

/// Returns the language of the texts of a task.
pub(crate) fn task_language(task: &wire::Task) -> Language {
    Language::of(Some(&task.language), &task.goal)
}

/// Returns a text that belongs to no task.
pub(crate) fn text(message: Message<'_>) -> String {
    message.text(terminal_language())
}

/// Returns a text with its detail, or the text alone if there is no detail.
pub(crate) fn with_detail(text: &str, detail: &str, language: Language) -> String {
    match detail {
        "" => text.to_owned(),
        detail => Message::WithDetail { text, detail }.text(language),
    }
}

/// Returns the language of the first locale that is set; English without one.
fn language_of(locales: [String; 3]) -> Language {
    let first = locales.iter().find(|locale| !locale.is_empty());
    first.map_or(Language::English, |locale| Language::from_tag(locale))
}

/// Maximum columns of an action's description, so that a line stays at about a hundred.
const MAX_DESCRIPTION_COLUMNS: usize = 60;

/// Shortens a long description in the middle: it starts with the action and ends with the target.
pub(crate) fn shortened(text: &str) -> String {
    if columns(text) <= MAX_DESCRIPTION_COLUMNS {
        return text.to_owned();
    }
    let beginning = truncate_to_columns(text.chars(), MAX_DESCRIPTION_COLUMNS * 2 / 3);
    let end: String = truncate_to_columns(text.chars().rev(), MAX_DESCRIPTION_COLUMNS / 3)
        .chars()
        .rev()
        .collect();
    format!("{}…{}", beginning.trim_end(), end.trim_start())
}

/// Maximum columns of an error of a service, so that it fills three lines at most.
const MAX_ERROR_COLUMNS: usize = 300;

/// Returns the beginning of a long error: what went wrong comes first, and the log has the whole of it.
pub(crate) fn excerpt(text: &str) -> String {
    let beginning = truncate_to_columns(text.chars(), MAX_ERROR_COLUMNS);
    if beginning.len() == text.len() {
        return beginning;
    }
    format!("{}…", beginning.trim_end())
}

/// Returns the first characters that fit into `columns`.
fn truncate_to_columns(characters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut used = 0;
    characters
        .take_while(|character| {
            used += columns_of(*character);
            used < columns
        })
        .collect()
}

/// Returns the columns of a text.
fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Returns a text as one line of at most `width` columns.
fn one_line(text: &str, width: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    // Before the columns are counted: an escape takes more of them than its character.
    let line = printable(&words.join(" ")).into_owned();
    if columns(&line) <= width {
        return line;
    }
    let beginning = truncate_to_columns(line.chars(), width);
    format!("{}…", beginning.trim_end())
}

/// Returns the columns of a character: two from the East Asian scripts on.
fn columns_of(character: char) -> usize {
    if character < '\u{1100}' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use motorium_messages::Language;

    use super::{language_of, shortened};

    #[test]
    fn the_first_locale_that_is_set_gives_the_language() {
        let check = |locales: [&str; 3], expected: Language| {
            assert_eq!(
                language_of(locales.map(str::to_owned)),
                expected,
                "{locales:?}"
            );
        };
        check(["", "", ""], Language::English);
        check(["", "", "zh_CN.UTF-8"], Language::Chinese);
        check(["C.UTF-8", "", "zh_CN.UTF-8"], Language::English);
        check(["", "zh_TW", "en_GB.UTF-8"], Language::Chinese);
    }

    #[test]
    fn a_long_description_keeps_its_beginning_and_its_end() {
        let check = |text: &str, expected: &str| assert_eq!(shortened(text), expected);
        check(r#"click "Save""#, r#"click "Save""#);
        check(
            &format!(r#"type "{}" into "Name""#, "word ".repeat(20)),
            r#"type "word word word word word word wor…word " into "Name""#,
        );
        check(
            &format!("在“姓名”中输入“{}”", "长".repeat(40)),
            "在“姓名”中输入“长长长长长长长长长长…长长长长长长长长”",
        );
    }
}
