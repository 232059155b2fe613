//! Plans how to enter a text: as keys, as remapped keys, or through the clipboard.
//!
//! Pure: the plan depends on the text and the layout. The session carries it out. Invariant: the segments of a plan,
//! concatenated, are the text, except that a carriage return before a newline is dropped for keys (Return is one key).

use std::collections::HashSet;

use super::key_remap::MAX_REMAPS;
use crate::drivers::Error;

/// Maximum length in characters for remapping. Longer texts with missing characters are pasted, even if few distinct
/// ones are missing: this bounds how long the remapped keycodes stay in use.
const MAX_LENGTH_WITH_REMAPS: usize = 100;

/// A part of a text with its input method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextSegment {
    /// Typed as keys: the layout has every character; newline and tab are keys.
    Keys(String),
    /// Typed as keys, after the missing characters were mapped to unused keys.
    Remapped { text: String, missing: Vec<char> },
    /// Through the clipboard.
    Pasted(String),
}

/// Conditions of a plan besides the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanOptions {
    /// Newline and tab are inserted with the text instead of pressed.
    pub(super) inserts_controls: bool,
    /// Maximum number of remapped characters.
    pub(super) max_remaps: usize,
    /// The text is a secret: it is never pasted, and no error reveals a character of it.
    pub(super) secret: bool,
    /// An input method may consume keys. It leaves those of password fields alone.
    pub(super) input_method: bool,
}

/// Plans how to enter `text`. `in_layout` tells whether the layout has a character.
pub(super) fn plan(
    text: &str,
    circumstances: PlanOptions,
    in_layout: impl Fn(char) -> bool,
) -> Result<Vec<TextSegment>, Error> {
    refuse_control_characters(text, circumstances.secret)?;
    let room = circumstances.max_remaps.min(MAX_REMAPS);
    if circumstances.inserts_controls && text.contains(['\n', '\r', '\t']) {
        return paste_whole(text, circumstances.secret);
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let has_key = |character: char| matches!(character, '\n' | '\t') || in_layout(character);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if circumstances.input_method && !circumstances.secret {
        return Ok(by_line(&text, |_| false));
    }
    let missing = distinct(text.chars().filter(|&character| !has_key(character)));
    if missing.is_empty() {
        return Ok(vec![TextSegment::Keys(text)]);
    }
    if circumstances.secret {
        return in_batches(&text, room, has_key);
    }
    if missing.len() <= room && text.chars().count() <= MAX_LENGTH_WITH_REMAPS {
        return Ok(vec![TextSegment::Remapped { text, missing }]);
    }
    Ok(by_line(&text, has_key))
}

fn paste_whole(text: &str, secret: bool) -> Result<Vec<TextSegment>, Error> {
    if secret {
        return Err(Error::TextNotTypable {
            why: "a secret is entered as keys, but newline and tab as text can only be pasted"
                .to_owned(),
        });
    }
    Ok(vec![TextSegment::Pasted(text.to_owned())])
}

/// Rejects control characters other than newline, return and tab: they have no key, and applications drop them from a
/// paste.
fn refuse_control_characters(text: &str, secret: bool) -> Result<(), Error> {
    let offender = text
        .chars()
        .enumerate()
        .find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t'));
    let Some((position, character)) = offender else {
        return Ok(());
    };
    let why = if secret {
        "the secret contains a control character".to_owned()
    } else {
        format!(
            "character {} is the control character U+{:04X}",
            position + 1,
            u32::from(character)
        )
    };
    Err(Error::TextNotTypable { why })
}

fn distinct(characters: impl Iterator<Item = char>) -> Vec<char> {
    let mut seen = HashSet::new();
    characters
        .filter(|&character| seen.insert(character))
        .collect()
}

/// Splits the text so that no part needs more than `room` remapped characters.
fn in_batches(
    text: &str,
    room: usize,
    has_key: impl Fn(char) -> bool,
) -> Result<Vec<TextSegment>, Error> {
    if room == 0 {
        return Err(Error::TextNotTypable {
            why: "the keyboard layout has no unused keycode for it".to_owned(),
        });
    }
    let mut pieces = Vec::new();
    let (mut part, mut missing) = (String::new(), Vec::new());
    for character in text.chars() {
        if !has_key(character) && !missing.contains(&character) {
            if missing.len() == room {
                pieces.push(TextSegment::Remapped {
                    text: std::mem::take(&mut part),
                    missing: std::mem::take(&mut missing),
                });
            }
            missing.push(character);
        }
        part.push(character);
    }
    pieces.push(if missing.is_empty() {
        TextSegment::Keys(part)
    } else {
        TextSegment::Remapped {
            text: part,
            missing,
        }
    });
    Ok(pieces)
}

/// Pastes lines with missing characters. Newline and tab, and all other lines, are entered as keys.
fn by_line(text: &str, has_key: impl Fn(char) -> bool) -> Vec<TextSegment> {
    let mut pieces: Vec<TextSegment> = Vec::new();
    for part in text.split_inclusive(['\n', '\t']) {
        let line = part.trim_end_matches(['\n', '\t']);
        if line.chars().all(&has_key) {
            append_keys(&mut pieces, part);
        } else {
            pieces.push(TextSegment::Pasted(line.to_owned()));
            append_keys(&mut pieces, &part[line.len()..]);
        }
    }
    pieces
}

fn append_keys(pieces: &mut Vec<TextSegment>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(TextSegment::Keys(keys)) => keys.push_str(text),
        _ => pieces.push(TextSegment::Keys(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> TextSegment {
        TextSegment::Keys(text.to_owned())
    }

    fn pasted(text: &str) -> TextSegment {
        TextSegment::Pasted(text.to_owned())
    }

    fn lent(text: &str, missing: &str) -> TextSegment {
        TextSegment::Remapped {
            text: text.to_owned(),
            missing: missing.chars().collect(),
        }
    }

    const TYPED: PlanOptions = PlanOptions {
        inserts_controls: false,
        max_remaps: 18,
        secret: false,
        input_method: false,
    };
    const AS_TEXT: PlanOptions = PlanOptions {
        inserts_controls: true,
        ..TYPED
    };
    const SECRET: PlanOptions = PlanOptions {
        secret: true,
        max_remaps: 2,
        ..TYPED
    };

    fn check(circumstances: PlanOptions, text: &str, expected: &[TextSegment]) {
        assert_eq!(
            plan(text, circumstances, |c| c.is_ascii()).unwrap(),
            expected,
            "{text:?}"
        );
    }

    fn check_refused(circumstances: PlanOptions, text: &str, part: &str) {
        let error = plan(text, circumstances, |c| c.is_ascii())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn text_is_typed_with_keys_where_possible() {
        check(TYPED, "", &[]);
        check(TYPED, "Hello, world\n", &[keys("Hello, world\n")]);
        check(TYPED, "one\r\ntwo\rthree", &[keys("one\ntwo\nthree")]);
        check(TYPED, "grüße", &[lent("grüße", "üß")]);
        check(AS_TEXT, "Hello", &[keys("Hello")]);
        check(AS_TEXT, "a\tb\n", &[pasted("a\tb\n")]);
    }

    #[test]
    fn lines_needing_too_many_remapped_keys_are_pasted() {
        let many: String = ('\u{4e00}'..'\u{4e20}').collect();
        check(TYPED, &many, &[pasted(&many)]);
        let text = format!("first\nsecond\t{many}\n\nlast");
        check(
            TYPED,
            &text,
            &[keys("first\nsecond\t"), pasted(&many), keys("\n\nlast")],
        );
        let long = format!("{}é", "x".repeat(100));
        check(TYPED, &long, &[pasted(&long)]);
        check(
            PlanOptions {
                max_remaps: 1,
                ..TYPED
            },
            "你好",
            &[pasted("你好")],
        );
    }

    #[test]
    fn beside_an_input_method_letters_are_pasted_and_secrets_are_not() {
        let beside = |circumstances| PlanOptions {
            input_method: true,
            ..circumstances
        };
        check(
            beside(TYPED),
            "nihao\n\tma",
            &[pasted("nihao"), keys("\n\t"), pasted("ma")],
        );
        check(beside(AS_TEXT), "a\tb", &[pasted("a\tb")]);
        check(beside(SECRET), "plain", &[keys("plain")]);
        check(beside(TYPED), "", &[]);
    }

    #[test]
    fn a_secret_is_never_pasted() {
        check(SECRET, "plain", &[keys("plain")]);
        check(
            SECRET,
            "aäböcü1ä",
            &[lent("aäböc", "äö"), lent("ü1ä", "üä")],
        );
        check_refused(
            PlanOptions {
                max_remaps: 0,
                ..SECRET
            },
            "ä",
            "no unused keycode",
        );
        check_refused(
            PlanOptions {
                inserts_controls: true,
                ..SECRET
            },
            "a\nb",
            "as keys",
        );
    }

    #[test]
    fn control_characters_are_refused_without_revealing_those_of_secrets() {
        check_refused(
            TYPED,
            "ab\u{1b}[0m",
            "character 3 is the control character U+001B",
        );
        check_refused(AS_TEXT, "\0", "U+0000");
        check_refused(SECRET, "ab\u{7}", "the secret contains a control character");
    }
}
