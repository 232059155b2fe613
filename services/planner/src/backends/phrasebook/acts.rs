//! Small makers of planned actions, each with the words that say what it is for.

use std::time::Duration;

use motorium_proto::domain::action::{
    Action, Button, ControlCharacters, ScrollAmount, Target, Text,
};
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::key::Key;

use super::grammar::Direction;

/// An action that may be done again if nothing changed.
pub(super) fn repeatable(action: Action<Target>, intent: &str) -> PlannedAction {
    PlannedAction {
        action,
        intent: intent.to_owned(),
        verify_pointer: false,
        repeatable: true,
    }
}

/// An action that is done once.
pub(super) fn once(action: Action<Target>, intent: &str) -> PlannedAction {
    PlannedAction {
        repeatable: false,
        ..repeatable(action, intent)
    }
}

/// A plain click.
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

pub(super) fn chord(keys: Vec<Key>, intent: &str) -> PlannedAction {
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

pub(super) fn wait(duration: Duration, intent: &str) -> PlannedAction {
    repeatable(Action::Wait { duration }, intent)
}

/// A turn of the wheel.
pub(super) fn scroll(
    at: Option<Target>,
    direction: Direction,
    amount: Amount,
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
        Amount::Notches(number) => ScrollAmount::Notches {
            x: x * signed(number),
            y: y * signed(number),
        },
        Amount::Pixels(number) => ScrollAmount::Pixels {
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

/// How far a wheel is turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Amount {
    Notches(u32),
    Pixels(u32),
}

/// The modifier of the usual commands: `Command` on macOS, `Ctrl` elsewhere.
pub(super) fn command_key(platform: Platform) -> Key {
    if platform == Platform::Macos {
        Key::Super
    } else {
        Key::Control
    }
}
