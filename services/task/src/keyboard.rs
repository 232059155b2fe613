//! History of keyboard input: the line being typed, and whether the focus may have left the last target.
//!
//! Both are derived from the performed actions, not from the screen. A line typed in several actions is one line. Keys that
//! may move the focus are assumed to move it. Typing by a person is not tracked.

use motorium_proto::domain::action::{Action, Text};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::key::Key;

use super::Task;

/// Placeholder in a line for input whose text is not known, such as a secret or the clipboard.
const UNKNOWN_INPUT: char = '\u{fffd}';
/// Letters that edit the focused field when pressed with Ctrl, without moving the focus.
const EDITING_LETTERS: [&str; 6] = ["a", "c", "v", "x", "z", "y"];

/// Keyboard input since the start of the task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyboardHistory {
    /// Text entered since the last line break.
    pub line: String,
    /// True if keys, another window or another page may have moved the focus since the last click.
    pub focus_may_have_moved: bool,
}

impl Task {
    /// Returns the keyboard history of the performed actions.
    #[must_use]
    pub fn keyboard(&self) -> KeyboardHistory {
        let performed = self.actions().filter(|action| action.performed());
        let mut keyboard = KeyboardHistory::default();
        performed.for_each(|record| keyboard.apply(&record.action));
        keyboard
    }
}

impl KeyboardHistory {
    fn apply(&mut self, action: &Action<CapturePoint>) {
        match action {
            Action::TypeText { text, .. } | Action::Paste { text: Some(text) } => {
                self.enter_text(text)
            }
            Action::Paste { text: None } => self.line.push(UNKNOWN_INPUT),
            Action::KeyChord { keys, repeat } => self.press(keys, *repeat),
            Action::HoldKey { keys, .. } => self.press(keys, 1),
            Action::Click { at: Some(_), .. } | Action::MouseDown { at: Some(_), .. } => {
                self.focus_may_have_moved = false;
            }
            Action::OpenUrl { .. } | Action::GoToUrl { .. } | Action::OpenApplication { .. } => {
                self.line.clear();
                self.focus_may_have_moved = true;
            }
            // The line of a terminal stays while another window is in front.
            Action::FocusWindow { .. } | Action::GoBack | Action::GoForward | Action::Refresh => {
                self.focus_may_have_moved = true
            }
            Action::Click { at: None, .. }
            | Action::MouseDown { at: None, .. }
            | Action::MouseUp { .. }
            | Action::Move { .. }
            | Action::Drag { .. }
            | Action::Scroll { .. }
            | Action::Wait { .. }
            | Action::SetClipboard { .. } => {}
        }
    }

    fn enter_text(&mut self, text: &Text) {
        let Text::Literal(text) = text else {
            self.line.push(UNKNOWN_INPUT);
            return;
        };
        self.focus_may_have_moved |= text.contains(['\t', '\n', '\r']);
        match text.rsplit_once(['\n', '\r']) {
            // A line break submits the line; what follows it is the new one.
            Some((_, last)) => last.clone_into(&mut self.line),
            None => self.line.push_str(text),
        }
    }

    fn press(&mut self, keys: &[Key], repeat: u32) {
        let written: Vec<Key> = keys.iter().map(|key| key.in_main_block()).collect();
        if let [Key::Character(letter)] | [Key::Shift, Key::Character(letter)] = written.as_slice()
        {
            (0..repeat).for_each(|_| self.line.push(*letter));
            return;
        }
        match Key::on_us_keyboard(keys).as_slice() {
            [Key::Space] => self.line.push(' '),
            [Key::Backspace] => (0..repeat).for_each(|_| {
                self.line.pop();
            }),
            [Key::Delete | Key::Home | Key::End | Key::Left | Key::Right] => {}
            // The content of the clipboard is not known here, so the line contains an unknown part.
            [Key::Control, Key::Character('v')]
            | [Key::Control, Key::Shift, Key::Character('v')]
            | [Key::Shift, Key::Insert] => self.line.push(UNKNOWN_INPUT),
            [Key::Control, Key::Character(letter)]
                if EDITING_LETTERS.contains(&letter.to_lowercase().to_string().as_str()) => {}
            keys => {
                self.focus_may_have_moved = true;
                // Enter submits the line, and other control keys such as Ctrl-D and Ctrl-U may discard it.
                if keys.contains(&Key::Enter) || matches!(keys, [Key::Control, ..]) {
                    self.line.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::{Button, ControlCharacters, WindowSelector};

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

    fn check(actions: &[Action<CapturePoint>], line: &str, focus_may_have_moved: bool) {
        let mut keyboard = KeyboardHistory::default();
        actions.iter().for_each(|action| keyboard.apply(action));
        let line = line.to_owned();
        assert_eq!(
            keyboard,
            KeyboardHistory {
                line,
                focus_may_have_moved
            },
            "{actions:?}"
        );
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
    fn keys_may_move_the_focus_and_clicks_reset_it() {
        check(&[clicked(), typed("ann")], "ann", false);
        check(&[clicked(), typed("ann"), struck("tab")], "ann", true);
        check(&[clicked(), typed("ann\tsecret")], "ann\tsecret", true);
        check(&[clicked(), struck("ctrl+l")], "", true);
        check(&[struck("tab"), clicked()], "", false);
        check(&[clicked(), struck("ctrl+a"), struck("delete")], "", false);
    }

    #[test]
    fn another_window_or_page_moves_the_focus() {
        let window = WindowSelector::Title("notes".to_owned());
        let focus = || Action::FocusWindow {
            window: window.clone(),
        };
        check(&[clicked(), focus()], "", true);
        check(&[clicked(), Action::GoBack], "", true);
        check(&[clicked(), Action::Refresh], "", true);
        check(&[Action::GoBack, clicked()], "", false);
        check(&[typed("rm"), focus(), typed(" x")], "rm x", true);
    }
}
