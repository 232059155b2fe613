//! Keys that code holds down: actions until the release are performed with them as modifiers.
//!
//! There is no separate key-down action, so that no key can stay pressed. A key that is put down must be released in the
//! same code.

use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::key::Key;
use motorium_proto::limits::MAX_CHORD_KEYS;

use crate::screenshot::ReportedPoint;

/// Maximum time for which keys are held: bounds how long one response can block the keyboard.
const MAX_HOLD: Duration = Duration::from_secs(60);

/// One call, as far as it concerns held keys.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum KeyStep {
    Act(Action<ReportedPoint>),
    Down(Key),
    Up(Key),
}

/// Folds held keys into the actions between key-down and key-up.
pub(super) fn fold(steps: Vec<KeyStep>) -> Result<Vec<Action<ReportedPoint>>, String> {
    let mut held = HeldKeys::default();
    let mut actions = Vec::new();
    for step in steps {
        match step {
            KeyStep::Down(key) => held.down(key)?,
            KeyStep::Up(key) => actions.extend(held.up(key)?),
            KeyStep::Act(action) if held.keys.is_empty() => actions.push(action),
            KeyStep::Act(action) => actions.extend(held.with(action)?),
        }
        if held.waited > MAX_HOLD {
            return Err(format!(
                "keys can be held for at most {} seconds",
                MAX_HOLD.as_secs()
            ));
        }
    }
    if let Some(key) = held.keys.first() {
        return Err(format!(
            "`{key}` is put down and not released: release it with keyUp in the same code"
        ));
    }
    Ok(actions)
}

#[derive(Debug, Default)]
struct HeldKeys {
    keys: Vec<Key>,
    /// Hold time since the keys last modified an action.
    waited: Duration,
    /// `true` if the keys have modified an action since the last key-down.
    used: bool,
}

impl HeldKeys {
    fn down(&mut self, key: Key) -> Result<(), String> {
        if self.keys.contains(&key) {
            return Err(format!("`{key}` is down already"));
        }
        if self.keys.len() == MAX_CHORD_KEYS {
            return Err(format!("at most {MAX_CHORD_KEYS} keys can be down at once"));
        }
        self.keys.push(key);
        self.used = false;
        Ok(())
    }

    /// Releases a key. Keys that modified nothing were pressed or held for their own sake, and become an action.
    fn up(&mut self, key: Key) -> Result<Option<Action<ReportedPoint>>, String> {
        if !self.keys.contains(&key) {
            return Err(format!("`{key}` is released and was not put down"));
        }
        let struck = (!self.used).then(|| self.struck());
        self.used = true;
        self.keys.retain(|held| *held != key);
        Ok(struck)
    }

    fn struck(&mut self) -> Action<ReportedPoint> {
        let keys = self.keys.clone();
        match std::mem::take(&mut self.waited) {
            Duration::ZERO => Action::KeyChord { keys, repeat: 1 },
            duration => Action::HoldKey { keys, duration },
        }
    }

    fn with(
        &mut self,
        action: Action<ReportedPoint>,
    ) -> Result<Option<Action<ReportedPoint>>, String> {
        let held = || self.keys.clone();
        let action = match action {
            Action::Click {
                at, button, count, ..
            } => Action::Click {
                at,
                button,
                count,
                modifiers: held(),
            },
            Action::Drag {
                path,
                button,
                duration,
                hold,
                ..
            } => Action::Drag {
                path,
                button,
                modifiers: held(),
                duration,
                hold,
            },
            Action::Scroll { at, amount, .. } => Action::Scroll {
                at,
                amount,
                modifiers: held(),
            },
            Action::KeyChord { keys, repeat } => Action::KeyChord {
                keys: [held(), keys].concat(),
                repeat,
            },
            // Moving the pointer is the same with and without held keys, and does not count as their use.
            Action::Move { .. } => return Ok(Some(action)),
            Action::Wait { duration } => {
                self.waited += duration;
                return Ok(None);
            }
            other => {
                return Err(format!(
                    "{} is not possible while keys are down",
                    other.kind()
                ));
            }
        };
        self.waited = Duration::ZERO;
        self.used = true;
        Ok(Some(action))
    }
}
