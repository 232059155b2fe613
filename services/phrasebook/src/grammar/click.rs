//! Parser of clicks.

use motorium_proto::domain::action::Button;
use motorium_proto::domain::key::Key;

use super::arguments::{Arguments, ParsedInstruction, PhraseRole, Result};
use super::instruction::Instruction;
use super::reader::Reader;
use super::{keys, number};

/// Parses a click on every named target, with its repetitions.
pub(super) fn click(
    arguments: &Arguments<'_>,
    button: Button,
    count: u8,
) -> Result<Vec<ParsedInstruction>> {
    let mut rest = arguments.rest;
    let mut modifiers = arguments.modifiers.clone();
    modifiers.extend(take_held_keys(&mut rest));
    let times = number::eat_times_at_end(&mut rest)
        .or_else(|| number::eat_times(&mut rest))
        .unwrap_or(1);
    if let Some(object) = arguments
        .before(PhraseRole::Object)
        .filter(|_| rest.is_empty())
    {
        rest = object;
    }
    let click = |target| Instruction::Click {
        target,
        button,
        count,
        modifiers: modifiers.clone(),
    };
    let once = if rest.is_empty() {
        arguments.one(click(None))?
    } else {
        arguments.each(rest, |aim| click(Some(aim)))?
    };
    Ok(once
        .iter()
        .cycle()
        .take(once.len() * times as usize)
        .cloned()
        .collect())
}

/// Consumes a trailing `while holding ctrl` or similar.
fn take_held_keys(rest: &mut Reader<'_>) -> Vec<Key> {
    let found = (1..rest.len()).find_map(|at| {
        let (before, mut names) = rest.split_at(at);
        if !names.eat(&[
            "while holding",
            "while holding down",
            "holding",
            "holding down",
            "with",
        ]) {
            return None;
        }
        names.eat_end(&["held down", "held", "pressed", "down"]);
        names.eat_end(&["key", "keys"]);
        keys::format_chord(names, true)
            .filter(|keys| keys::is_modifiers(keys))
            .map(|keys| (before, keys))
    });
    let Some((before, keys)) = found else {
        return Vec::new();
    };
    *rest = before;
    keys
}
