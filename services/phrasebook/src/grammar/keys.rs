//! Keys and chords in their various spellings: `ctrl+s`, `Ctrl-Shift-T`, `the down arrow key`, `回车`.

use motorium_proto::domain::key::Key;

use super::phrase::phrase_length;
use super::reader::Reader;
use super::vocabulary;

/// Parses the words as a chord. With `surely` the sentence says that a key is meant; otherwise a word that is equally often
/// the text of a button is not taken as a key.
pub(super) fn format_chord(reader: Reader<'_>, surely: bool) -> Option<Vec<Key>> {
    let mut reader = reader.trimmed();
    if reader.len() > 1 {
        reader.eat(vocabulary::DETERMINERS);
    }
    if let Some(chord) = chinese_key(reader) {
        return Key::parse_chord("keys", chord).ok();
    }
    let name = reader.sole_quoted().unwrap_or_else(|| reader.raw());
    if !surely && vocabulary::AMBIGUOUS_KEY_NAMES.contains(&name.to_lowercase().as_str()) {
        return None;
    }
    parse(name)
}

/// Returns the key with this Chinese name.
fn chinese_key(reader: Reader<'_>) -> Option<&'static str> {
    vocabulary::CHINESE_KEYS
        .iter()
        .find(|(_, names)| {
            names
                .iter()
                .any(|name| phrase_length(reader.tokens(), name) == Some(reader.len()))
        })
        .map(|(chord, _)| *chord)
}

/// Parses a chord in any spelling.
fn parse(name: &str) -> Option<Vec<Key>> {
    let name = name.trim();
    if name.is_empty() {
        return None;
    }
    let plain = name.replace(['＋', '加'], "+");
    Key::parse_chord("keys", &plain)
        .ok()
        .filter(|keys| is_chord(keys))
        .or_else(|| joined_by(&plain, '-'))
        .or_else(|| one_key_in_words(&plain))
        .or_else(|| joined_by(&plain, ' '))
}

/// Returns whether every key but the last is a modifier; so `a+b` is not a chord.
fn is_chord(keys: &[Key]) -> bool {
    keys.split_last()
        .is_some_and(|(_, before)| before.iter().all(|key| key.is_modifier()))
}

/// Parses `ctrl-shift-t`, `ctrl shift t`, `ctrl and s`.
fn joined_by(name: &str, separator: char) -> Option<Vec<Key>> {
    let names: Vec<&str> = name
        .split(separator)
        .map(str::trim)
        .filter(|part| !part.is_empty() && *part != "and")
        .collect();
    if names.len() < 2 {
        return None;
    }
    let keys = names
        .into_iter()
        .map(|part| Key::parse("keys", part))
        .collect::<Result<Vec<_>, _>>()
        .ok()?;
    is_chord(&keys).then_some(keys)
}

/// Parses a key name of several words: `page down`, `arrow left`.
fn one_key_in_words(name: &str) -> Option<Vec<Key>> {
    let squeezed: String = name.split_whitespace().collect();
    Key::parse("keys", &squeezed).ok().map(|key| vec![key])
}

/// Returns whether every key of the chord is a modifier.
pub(super) fn is_modifiers(keys: &[Key]) -> bool {
    keys.iter().all(|key| key.is_modifier())
}
