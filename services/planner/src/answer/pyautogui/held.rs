//! Keys that code puts down and releases: what happens in between is done with them.
//!
//! The action list has no "key down" by itself, so that nothing can stay pressed. A key that is put down must be
//! released in the same code.

use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::key::Key;
use motorium_proto::limits::MAX_CHORD;

use crate::picture::SaidPoint;

/// The longest time for which keys are held.
const LONGEST: Duration = Duration::from_secs(60);

/// One call, as far as keys are concerned.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Step {
    Act(Action<SaidPoint>),
    Down(Key),
    Up(Key),
}

/// The actions, with the keys that are down while each of them is done.
pub(super) fn fold(steps: Vec<Step>) -> Result<Vec<Action<SaidPoint>>, String> {
    let mut held = Held::default();
    let mut actions = Vec::new();
    for step in steps {
        match step {
            Step::Down(key) => held.down(key)?,
            Step::Up(key) => actions.extend(held.up(key)?),
            Step::Act(action) if held.keys.is_empty() => actions.push(action),
            Step::Act(action) => actions.extend(held.with(action)?),
        }
        if held.waited > LONGEST {
            return Err(format!(
                "keys can be held for at most {} seconds",
                LONGEST.as_secs()
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
struct Held {
    keys: Vec<Key>,
    /// How long they have been held since they last did something.
    waited: Duration,
    /// They did something since the last of them went down.
    used: bool,
}

impl Held {
    fn down(&mut self, key: Key) -> Result<(), String> {
        if self.keys.contains(&key) {
            return Err(format!("`{key}` is down already"));
        }
        if self.keys.len() == MAX_CHORD {
            return Err(format!("at most {MAX_CHORD} keys can be down at once"));
        }
        self.keys.push(key);
        self.used = false;
        Ok(())
    }

    /// Keys that did nothing while they were down were struck or held for their own sake.
    fn up(&mut self, key: Key) -> Result<Option<Action<SaidPoint>>, String> {
        if !self.keys.contains(&key) {
            return Err(format!("`{key}` is released and was not put down"));
        }
        let struck = (!self.used).then(|| self.struck());
        self.used = true;
        self.keys.retain(|held| *held != key);
        Ok(struck)
    }

    fn struck(&mut self) -> Action<SaidPoint> {
        let keys = self.keys.clone();
        match std::mem::take(&mut self.waited) {
            Duration::ZERO => Action::KeyChord { keys, repeat: 1 },
            duration => Action::HoldKey { keys, duration },
        }
    }

    fn with(&mut self, action: Action<SaidPoint>) -> Result<Option<Action<SaidPoint>>, String> {
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
                ..
            } => Action::Drag {
                path,
                button,
                modifiers: held(),
                duration,
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
            // The pointer moves alike with keys down and without, and takes no use of them.
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
