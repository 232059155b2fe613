//! Constructors of planned actions, each with its intent.

use std::time::Duration;

use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text,
};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::key::Key;

use motorium_phrasebook::grammar::Direction;

/// Returns an action that is retried if it had no effect, as far as its kind allows that.
pub(super) fn repeatable(action: Action<Target>, intent: &str) -> PlannedAction {
    PlannedAction {
        repeatable: action.is_repeatable(),
        action,
        intent: intent.to_owned(),
        verify_pointer: false,
    }
}

/// Returns an action that is never retried.
pub(super) fn once(action: Action<Target>, intent: &str) -> PlannedAction {
    PlannedAction {
        repeatable: false,
        ..repeatable(action, intent)
    }
}

/// Returns a left click.
pub(super) fn click(at: Target, intent: &str) -> PlannedAction {
    repeatable(
        Action::Click {
            at: Some(at),
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        },
        intent,
    )
}

/// Returns a triple click, which selects a line of text.
pub(super) fn triple_click(at: Target, intent: &str) -> PlannedAction {
    once(
        Action::Click {
            at: Some(at),
            button: Button::Left,
            count: 3,
            modifiers: Vec::new(),
        },
        intent,
    )
}

pub(super) fn key_chord(keys: Vec<Key>, intent: &str) -> PlannedAction {
    once(Action::KeyChord { keys, repeat: 1 }, intent)
}

pub(super) fn type_text(text: Text, intent: &str) -> PlannedAction {
    once(
        Action::TypeText {
            text,
            control_characters: ControlCharacters::AsKeys,
        },
        intent,
    )
}

pub(super) fn paste(text: Text, intent: &str) -> PlannedAction {
    once(Action::Paste { text: Some(text) }, intent)
}

pub(super) fn wait(duration: Duration, intent: &str) -> PlannedAction {
    repeatable(Action::Wait { duration }, intent)
}

/// Returns a scroll.
pub(super) fn scroll(
    at: Option<Target>,
    direction: Direction,
    amount: ScrollDistance,
    intent: &str,
) -> PlannedAction {
    let signed = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let (x, y) = match direction {
        Direction::Up => (0, -1),
        Direction::Down => (0, 1),
        Direction::Left => (-1, 0),
        Direction::Right => (1, 0),
    };
    let amount = match amount {
        ScrollDistance::Notches(number) => ScrollAmount::Notches {
            x: x * signed(number),
            y: y * signed(number),
        },
        ScrollDistance::Pixels(number) => ScrollAmount::Pixels {
            x: x * signed(number),
            y: y * signed(number),
        },
    };
    repeatable(
        Action::Scroll {
            at,
            amount,
            modifiers: Vec::new(),
        },
        intent,
    )
}

/// Distance of a scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScrollDistance {
    Notches(u32),
    Pixels(u32),
}

/// Returns the platform's command modifier: `Command` on macOS, `Ctrl` elsewhere.
pub(super) fn command_key(platform: Platform) -> Key {
    if platform == Platform::Macos {
        Key::Super
    } else {
        Key::Control
    }
}
