//! How a text is to be entered: which of it as keys, as lent keys, or through the clipboard.
//!
//! Pure: the plan is made from the text and from what the layout has; carrying it out is the session's business.
//! Invariant: the pieces of a plan, one after the other, are the text, except that as keys a carriage return before a
//! newline is left out (Return is one key).

use std::collections::HashSet;

use motorium_proto::domain::action::ControlCharacters;

use super::loans::MOST_LOANS;
use crate::drivers::Error;

/// Longer texts with characters that the layout lacks are pasted, even if few distinct ones are missing.
const LONGEST_WITH_LOANS: usize = 100;

/// A part of a text and how to enter it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// The layout has every character; newline and tab are keys.
    Keys(String),
    /// As keys, after these characters have been lent some.
    Lent { text: String, missing: Vec<char> },
    /// Through the clipboard.
    Pasted(String),
}

/// What a plan depends on besides the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances {
    pub(super) control_characters: ControlCharacters,
    /// How many characters can be lent keys.
    pub(super) room: usize,
    /// A secret: never through the clipboard, and no error tells a character of it.
    pub(super) secret: bool,
    /// Keys may be taken by an input method, which leaves those of a password's field alone.
    pub(super) input_method: bool,
}

/// Plans how to enter `text` on a keyboard on which `in_layout` characters have keys.
pub(super) fn plan(
    text: &str,
    circumstances: Circumstances,
    in_layout: impl Fn(char) -> bool,
) -> Result<Vec<Piece>, Error> {
    refuse_control_characters(text, circumstances.secret)?;
    let room = circumstances.room.min(MOST_LOANS);
    if circumstances.control_characters == ControlCharacters::AsText
        && text.contains(['\n', '\r', '\t'])
    {
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
        return Ok(vec![Piece::Keys(text)]);
    }
    if circumstances.secret {
        return in_batches(&text, room, has_key);
    }
    if missing.len() <= room && text.chars().count() <= LONGEST_WITH_LOANS {
        return Ok(vec![Piece::Lent { text, missing }]);
    }
    Ok(by_line(&text, has_key))
}

fn paste_whole(text: &str, secret: bool) -> Result<Vec<Piece>, Error> {
    if secret {
        return Err(Error::TextNotTypable {
            why: "a secret goes in as keys, and newline and tab as text can only be pasted"
                .to_owned(),
        });
    }
    Ok(vec![Piece::Pasted(text.to_owned())])
}

/// Control characters other than newline, return and tab have no key, and applications drop them from a paste.
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

/// Cuts the text so that no part needs more loans than there is room for.
fn in_batches(
    text: &str,
    room: usize,
    has_key: impl Fn(char) -> bool,
) -> Result<Vec<Piece>, Error> {
    if room == 0 {
        return Err(Error::TextNotTypable {
            why: "the keyboard's layout leaves no keys free for it".to_owned(),
        });
    }
    let mut pieces = Vec::new();
    let (mut part, mut missing) = (String::new(), Vec::new());
    for character in text.chars() {
        if !has_key(character) && !missing.contains(&character) {
            if missing.len() == room {
                pieces.push(Piece::Lent {
                    text: std::mem::take(&mut part),
                    missing: std::mem::take(&mut missing),
                });
            }
            missing.push(character);
        }
        part.push(character);
    }
    pieces.push(if missing.is_empty() {
        Piece::Keys(part)
    } else {
        Piece::Lent {
            text: part,
            missing,
        }
    });
    Ok(pieces)
}

/// Pastes what the layout lacks; newline and tab, and lines that need no paste, go in as keys.
fn by_line(text: &str, has_key: impl Fn(char) -> bool) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for part in text.split_inclusive(['\n', '\t']) {
        let line = part.trim_end_matches(['\n', '\t']);
        if line.chars().all(&has_key) {
            append_keys(&mut pieces, part);
        } else {
            pieces.push(Piece::Pasted(line.to_owned()));
            append_keys(&mut pieces, &part[line.len()..]);
        }
    }
    pieces
}

fn append_keys(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Keys(keys)) => keys.push_str(text),
        _ => pieces.push(Piece::Keys(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Piece {
        Piece::Keys(text.to_owned())
    }

    fn pasted(text: &str) -> Piece {
        Piece::Pasted(text.to_owned())
    }

    fn lent(text: &str, missing: &str) -> Piece {
        Piece::Lent {
            text: text.to_owned(),
            missing: missing.chars().collect(),
        }
    }

    const TYPED: Circumstances = Circumstances {
        control_characters: ControlCharacters::AsKeys,
        room: 18,
        secret: false,
        input_method: false,
    };
    const AS_TEXT: Circumstances = Circumstances {
        control_characters: ControlCharacters::AsText,
        ..TYPED
    };
    const SECRET: Circumstances = Circumstances {
        secret: true,
        room: 2,
        ..TYPED
    };

    fn check(circumstances: Circumstances, text: &str, expected: &[Piece]) {
        assert_eq!(
            plan(text, circumstances, |c| c.is_ascii()).unwrap(),
            expected,
            "{text:?}"
        );
    }

    fn check_refused(circumstances: Circumstances, text: &str, part: &str) {
        let error = plan(text, circumstances, |c| c.is_ascii())
            .unwrap_err()
            .to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn a_text_is_entered_by_the_plainest_way() {
        check(TYPED, "", &[]);
        check(TYPED, "Hello, world\n", &[keys("Hello, world\n")]);
        check(TYPED, "one\r\ntwo\rthree", &[keys("one\ntwo\nthree")]);
        check(TYPED, "grüße", &[lent("grüße", "üß")]);
        check(AS_TEXT, "Hello", &[keys("Hello")]);
        check(AS_TEXT, "a\tb\n", &[pasted("a\tb\n")]);
    }

    #[test]
    fn what_needs_too_many_keys_is_pasted_line_by_line() {
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
            Circumstances { room: 1, ..TYPED },
            "你好",
            &[pasted("你好")],
        );
    }

    #[test]
    fn beside_an_input_method_letters_are_pasted_and_secrets_are_not() {
        let beside = |circumstances| Circumstances {
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
        check_refused(Circumstances { room: 0, ..SECRET }, "ä", "no keys free");
        check_refused(
            Circumstances {
                control_characters: ControlCharacters::AsText,
                ..SECRET
            },
            "a\nb",
            "as keys",
        );
    }

    #[test]
    fn control_characters_are_refused_and_those_of_a_secret_not_named() {
        check_refused(
            TYPED,
            "ab\u{1b}[0m",
            "character 3 is the control character U+001B",
        );
        check_refused(AS_TEXT, "\0", "U+0000");
        check_refused(SECRET, "ab\u{7}", "the secret contains a control character");
    }
}
