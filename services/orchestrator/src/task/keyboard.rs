//! What the keyboard has been used for: the line that is being written, and whether it still goes to what was pointed at.
//!
//! Both are taken from what was performed, not from the screen. A line in pieces is one line; keys that may have given the
//! keyboard to something else are believed to have. Nothing is known of what a person types.

use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;

use super::Task;

/// Stands in a line for something that was entered and is not known.
const UNKNOWN: char = '\u{fffd}';
/// Chords that edit where the keyboard is.
const EDITING: [&str; 6] = ["a", "c", "v", "x", "z", "y"];

/// What is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keyboard {
    /// What was entered since a line ended last.
    pub line: String,
    /// Keys may have given the keyboard to something else since something was pointed at.
    pub moved_on: bool,
}

impl Task {
    /// What the keyboard was used for so far.
    #[must_use]
    pub fn keyboard(&self) -> Keyboard {
        let performed = self.actions().filter(|action| action.performed());
        let mut keyboard = Keyboard::default();
        performed.for_each(|record| keyboard.follow(&record.action));
        keyboard
    }
}

impl Keyboard {
    fn follow(&mut self, action: &Action<CapturePoint>) {
        match action {
            Action::TypeText { text, .. } | Action::Paste { text: Some(text) } => self.write(text),
            Action::Paste { text: None } => self.line.push(UNKNOWN),
            Action::KeyChord { keys, repeat } => self.strike(keys, *repeat),
            Action::HoldKey { keys, .. } => self.strike(keys, 1),
            Action::Click { at: Some(_), .. } | Action::MouseDown { at: Some(_), .. } => {
                self.moved_on = false;
            }
            Action::OpenUrl { .. } | Action::GoToUrl { .. } | Action::OpenApplication { .. } => {
                self.line.clear();
                self.moved_on = true;
            }
            _ => {}
        }
    }

    fn write(&mut self, text: &Text) {
        let Text::Literal(text) = text else {
            self.line.push(UNKNOWN);
            return;
        };
        self.moved_on |= text.contains(['\t', '\n']);
        match text.rsplit_once('\n') {
            Some((_, last)) => last.clone_into(&mut self.line),
            None => self.line.push_str(text),
        }
    }

    fn strike(&mut self, keys: &[Key], repeat: u32) {
        match keys {
            [Key::Character(letter)] | [Key::Shift, Key::Character(letter)] => {
                (0..repeat).for_each(|_| self.line.push(*letter));
            }
            [Key::Space] => self.line.push(' '),
            [Key::Backspace] => (0..repeat).for_each(|_| {
                self.line.pop();
            }),
            [Key::Delete | Key::Home | Key::End | Key::Left | Key::Right] => {}
            [Key::Control, Key::Character('v')] => self.line.push(UNKNOWN),
            [Key::Control, Key::Character(letter)]
                if EDITING.contains(&letter.to_lowercase().to_string().as_str()) => {}
            keys => {
                self.moved_on = true;
                if keys.contains(&Key::Enter) || matches!(keys, [Key::Control, ..]) {
                    self.line.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::{Button, ControlCharacters};

    use super::*;

    fn typed(text: &str) -> Action<CapturePoint> {
        Action::TypeText {
            text: Text::Literal(text.to_owned()),
            control_characters: ControlCharacters::AsKeys,
        }
    }

    fn struck(chord: &str) -> Action<CapturePoint> {
        Action::KeyChord {
            keys: Key::parse_chord("keys", chord).unwrap(),
            repeat: 1,
        }
    }

    fn clicked() -> Action<CapturePoint> {
        Action::Click {
            at: Some(CapturePoint::new(1, 1)),
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        }
    }

    fn check(actions: &[Action<CapturePoint>], line: &str, moved_on: bool) {
        let mut keyboard = Keyboard::default();
        actions.iter().for_each(|action| keyboard.follow(action));
        let line = line.to_owned();
        assert_eq!(keyboard, Keyboard { line, moved_on }, "{actions:?}");
    }

    #[test]
    fn a_line_in_pieces_is_one_line() {
        check(&[typed("r"), typed("m x")], "rm x", false);
        check(
            &[struck("r"), struck("m"), struck("space"), typed("x")],
            "rm x",
            false,
        );
        check(&[typed("rn"), struck("backspace"), typed("m")], "rm", false);
        check(&[typed("ls\nrm"), typed(" x")], "rm x", true);
        check(&[typed("ls"), struck("enter"), typed("rm")], "rm", true);
        check(&[typed("ls"), struck("ctrl+c"), typed("rm")], "lsrm", false);
        check(&[typed("rm"), struck("ctrl+v")], "rm\u{fffd}", false);
    }

    #[test]
    fn keys_move_on_and_a_click_tells_where_the_keyboard_is() {
        check(&[clicked(), typed("ann")], "ann", false);
        check(&[clicked(), typed("ann"), struck("tab")], "ann", true);
        check(&[clicked(), typed("ann\tsecret")], "ann\tsecret", true);
        check(&[clicked(), struck("ctrl+l")], "", true);
        check(&[struck("tab"), clicked()], "", false);
        check(&[clicked(), struck("ctrl+a"), struck("delete")], "", false);
    }
}
