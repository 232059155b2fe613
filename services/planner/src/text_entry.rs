//! Decides how texts of several lines are entered: inserted whole instead of typed line by line.
//!
//! Editors indent lines and complete brackets as they are typed, and chats send at every line break, so that a typed text
//! arrives as another. Terminals run each line and are typed into.
//!
//! Pure. Deliberately not here: how a text is inserted, which is the Executor's; secrets, which never go through a clipboard; and
//! texts of one line with a line break at the end, which is the Enter key.

use std::sync::LazyLock;

use motorium_proto::domain::action::{Action, ControlCharacters, Text};
use motorium_proto::domain::decision::{Decision, Next};
use motorium_proto::domain::frame::Frame;
use motorium_text::lexicon::{self, Lexicon};

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    Lexicon::read(lexicon::DEFAULT).expect("the lexicon of the crate is read by its tests")
});

/// Changes typed texts of several lines in a decision, so that they are inserted.
pub(crate) fn insert_lines_whole(decision: &mut Decision, frame: &Frame) {
    let Next::Act(actions) = &mut decision.next else {
        return;
    };
    let active = frame.active_window();
    let application = active.map_or("", |window| &window.application);
    for planned in actions {
        if let Action::TypeText {
            text: Text::Literal(text),
            control_characters,
        } = &mut planned.action
            && is_inserted(text, application)
        {
            *control_characters = ControlCharacters::AsText;
        }
    }
}

/// Returns whether a text is inserted into an application, of which the window class is given.
fn is_inserted(text: &str, application: &str) -> bool {
    let has_lines = text.trim_end_matches(['\n', '\r']).contains('\n');
    has_lines && !LEXICON.applications(application).contains("terminal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_are_inserted_except_in_terminals() {
        for (application, text, expected) in [
            ("mousepad", "if a {\nb\n}", true),
            ("Chromium", "Dear Ann,\nhello\n", true),
            ("", "Dear Ann,\nhello", true),
            ("XTerm", "cd a\nls\n", false),
            ("Chromium", "ann\tsecret\n", false),
            ("Chromium", "hello", false),
        ] {
            assert_eq!(
                is_inserted(text, application),
                expected,
                "{application} {text:?}"
            );
        }
    }
}
