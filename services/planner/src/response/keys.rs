//! Key names as models write them: xdotool names (`Return`, `ctrl+s`, `KP_Enter`, `quotedbl`) and the upper-case names of
//! OpenAI's tools (`CTRL`, `ARROWLEFT`, `CMD`).
//!
//! Models write letters in either case and mean the key: with a modifier, `S` is the key `s`. A single letter keeps its
//! case, because a capital may be intended.
//!
//! The key table itself is not here but in [`motorium_proto::domain::key`].

use motorium_proto::domain::key::Key;
use motorium_proto::limits::MAX_CHORD_KEYS;

/// X11 names of characters that the key table has no other name for.
const CHARACTERS: &[(&str, char)] = &[
    ("exclam", '!'),
    ("at", '@'),
    ("numbersign", '#'),
    ("dollar", '$'),
    ("percent", '%'),
    ("asciicircum", '^'),
    ("ampersand", '&'),
    ("parenleft", '('),
    ("parenright", ')'),
    ("less", '<'),
    ("greater", '>'),
    ("question", '?'),
    ("quotedbl", '"'),
    ("quoteleft", '`'),
    ("quoteright", '\''),
    ("braceleft", '{'),
    ("braceright", '}'),
    ("bar", '|'),
    ("asciitilde", '~'),
];

/// Parses chords: keys joined by `+`, chords separated by spaces (`ctrl+a Delete`).
///
/// # Errors
/// Fails with a message for the model if a key is unknown or there is none.
pub fn chords(text: &str) -> Result<Vec<Vec<Key>>, String> {
    // A text of spaces only means the space key.
    if !text.is_empty() && text.trim().is_empty() {
        return Ok(vec![vec![Key::Space]]);
    }
    let joined = text.replace(" +", "+").replace("+ ", "+");
    let chords = joined
        .split_whitespace()
        .map(chord)
        .collect::<Result<Vec<_>, _>>()?;
    if chords.is_empty() {
        return Err("No key is named.".to_owned());
    }
    Ok(chords)
}

/// Parses one chord: keys joined by `+` (`ctrl+shift+t`, `ctrl++`).
///
/// # Errors
/// Fails with a message for the model.
pub fn chord(text: &str) -> Result<Vec<Key>, String> {
    let text = text.trim();
    if text == "+" {
        return Ok(vec![Key::Character('+')]);
    }
    let (names, plus) = match text.strip_suffix("++") {
        Some(names) => (names, true),
        None => (text, false),
    };
    let names = names.split('+').chain(plus.then_some("plus"));
    pressed(names)
}

/// Parses a chord from a list of names, each of which may itself be a chord (`["CTRL", "S"]`, `["ctrl+s"]`).
///
/// # Errors
/// Fails with a message for the model.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Key>, String> {
    let mut keys = Vec::new();
    for name in names {
        keys.extend(chord(name)?);
    }
    // Such lists spell all keys in capitals; the capital letter is not intended.
    limited(keys.into_iter().map(small).collect())
}

/// Parses a list of names as the chords that are pressed in order. Modifiers are held for what follows them
/// (`["CTRL", "S"]`); without any, every name is a key press of its own (`["DOWN", "DOWN", "ENTER"]`), as in the sample
/// programs of the provider.
///
/// # Errors
/// Fails with a message for the model.
pub fn listed_presses<'a>(
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<Vec<Key>>, String> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut presses = Vec::new();
    for name in &names {
        presses.push(listed([*name])?);
    }
    let is_modifier = |press: &Vec<Key>| press.iter().all(|key| key.is_modifier());
    if presses.len() < 2 || presses.iter().any(is_modifier) {
        return listed(names).map(|chord| vec![chord]);
    }
    Ok(presses)
}

/// Parses modifier keys that are held during another action; empty if none is named.
///
/// # Errors
/// Fails with a message for the model if a key is not a modifier.
pub fn modifiers(text: &str) -> Result<Vec<Key>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    held(chord(text)?)
}

/// Parses modifier keys from a list of names.
///
/// # Errors
/// Fails with a message for the model.
pub fn listed_modifiers<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Key>, String> {
    let mut keys = Vec::new();
    for name in names {
        keys.extend(chord(name)?);
    }
    held(keys)
}

fn held(keys: Vec<Key>) -> Result<Vec<Key>, String> {
    match keys.iter().find(|key| !key.is_modifier()) {
        None if keys.is_empty() => Ok(keys),
        None => limited(keys),
        Some(other) => Err(format!(
            "{other} cannot be held during a mouse action: only ctrl, shift, alt and super can."
        )),
    }
}

fn pressed<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Key>, String> {
    let keys = names
        .into_iter()
        .map(|name| key(name.trim()))
        .collect::<Result<Vec<_>, _>>()?;
    let keys = if keys.len() > 1 {
        keys.into_iter().map(small).collect()
    } else {
        keys
    };
    limited(keys)
}

fn limited(keys: Vec<Key>) -> Result<Vec<Key>, String> {
    match keys.len() {
        0 => Err("No key is named.".to_owned()),
        1..=MAX_CHORD_KEYS => Ok(keys),
        more => Err(format!(
            "{more} keys at once are too many: at most {MAX_CHORD_KEYS}."
        )),
    }
}

fn key(name: &str) -> Result<Key, String> {
    let folded = name.to_lowercase();
    if let Some((_, character)) = CHARACTERS.iter().find(|(known, _)| *known == folded) {
        return Ok(Key::Character(*character));
    }
    // Without Num Lock the keypad has navigation keys (`KP_Home`), which do what those of the main block do.
    let in_main_block = || Key::parse("keys", folded.strip_prefix("kp_")?).ok();
    Key::parse("keys", name)
        .ok()
        .or_else(in_main_block)
        .ok_or_else(|| format!("No key is called \"{name}\"."))
}

fn small(key: Key) -> Key {
    match key {
        Key::Character(letter) => Key::Character(letter.to_ascii_lowercase()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(keys: &[Key]) -> String {
        keys.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("+")
    }

    #[track_caller]
    fn check(text: &str, expected: Result<&[&str], &str>) {
        let got = chords(text).map(|chords| {
            let words = chords.iter().map(|chord| words(chord));
            words.collect::<Vec<_>>()
        });
        match (got, expected) {
            (Ok(got), Ok(expected)) => assert_eq!(got, expected, "{text}"),
            (Err(got), Err(expected)) => assert_eq!(got, expected, "{text}"),
            (got, expected) => panic!("{text}: got {got:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn chords_are_read_in_the_spelling_of_xdotool() {
        check("Return", Ok(&["enter"]));
        check("ctrl+S", Ok(&["ctrl+s"]));
        check("A", Ok(&["A"]));
        check("ctrl + shift + t", Ok(&["ctrl+shift+t"]));
        check("Page_Down", Ok(&["pagedown"]));
        check("super", Ok(&["super"]));
        check("ctrl+a Delete", Ok(&["ctrl+a", "delete"]));
        check("Down Down Down", Ok(&["down", "down", "down"]));
        check("KP_Enter", Ok(&["kpenter"]));
        check("KP_7", Ok(&["kp7"]));
        check("KP_Home", Ok(&["home"]));
        check("ctrl+quotedbl", Ok(&["ctrl+\""]));
        check("ctrl++", Ok(&["ctrl++"]));
        check("+", Ok(&["+"]));
        check(" ", Ok(&["space"]));
        check("F5", Ok(&["f5"]));
    }

    #[test]
    fn unknown_keys_are_reported() {
        check("ctrl+flurb", Err("No key is called \"flurb\"."));
        check("", Err("No key is named."));
        check("ctrl+", Err("No key is called \"\"."));
        check(
            "a+b+c+d+e+f+g+h+i",
            Err("9 keys at once are too many: at most 8."),
        );
    }

    #[track_caller]
    fn check_list(names: &[&str], expected: &str) {
        let got = listed(names.iter().copied());
        assert_eq!(got.map(|keys| words(&keys)), Ok(expected.to_owned()));
    }

    #[test]
    fn lists_are_read_in_capitals() {
        check_list(&["CTRL", "S"], "ctrl+s");
        check_list(&["CTRL+S"], "ctrl+s");
        check_list(&["ARROWLEFT"], "left");
        check_list(&["CMD", "SHIFT", "4"], "super+shift+4");
        check_list(&["A"], "a");
        check_list(&["ENTER"], "enter");
        check_list(&["ESC"], "escape");
        assert_eq!(listed([]), Err("No key is named.".to_owned()));
    }

    #[test]
    fn listed_keys_without_modifiers_are_pressed_in_sequence() {
        let check = |names: &[&str], expected: &[&str]| {
            let presses = listed_presses(names.iter().copied()).unwrap();
            let presses: Vec<String> = presses.iter().map(|chord| words(chord)).collect();
            assert_eq!(presses, expected, "{names:?}");
        };
        check(&["DOWN", "DOWN", "ENTER"], &["down", "down", "enter"]);
        check(&["CTRL+A", "DELETE"], &["ctrl+a", "delete"]);
        check(&["CTRL", "SHIFT", "T"], &["ctrl+shift+t"]);
        check(&["ENTER"], &["enter"]);
        check(&["SHIFT"], &["shift"]);
        assert!(listed_presses([]).is_err() && listed_presses(["DOWN", "FLURB"]).is_err());
    }

    #[test]
    fn only_modifiers_are_held_during_a_click() {
        assert_eq!(modifiers("ctrl+shift"), Ok(vec![Key::Control, Key::Shift]));
        assert_eq!(modifiers(""), Ok(Vec::new()));
        assert_eq!(listed_modifiers(["SHIFT"]), Ok(vec![Key::Shift]));
        assert_eq!(listed_modifiers([]), Ok(Vec::new()));
        assert!(
            modifiers("ctrl+a")
                .unwrap_err()
                .starts_with("a cannot be held")
        );
    }
}
