//! Numbers, counts and durations, in digits and in words of both languages.
//!
//! It does not know what is counted.

use std::time::Duration;

use motorium_proto::domain::action::Ordinal;

use super::phrase::{lookup, phrase_length};
use super::reader::Reader;
use super::token::TokenKind;
use super::vocabulary;

/// Maximum repetitions. A larger number is more likely a mistake than an intention.
const MAX_COUNT: u32 = 1_000;
/// Maximum duration of a wait. Keeps a typing mistake from blocking a task for hours.
const MAX_DURATION: Duration = Duration::from_secs(3_600);

/// Consumes a whole number.
pub(super) fn eat_count(reader: &mut Reader<'_>) -> Option<u32> {
    let (number, rest) = decimal(*reader).filter(|(number, _)| number.fract() == 0.0)?;
    let count = format!("{number}")
        .parse::<u32>()
        .ok()
        .filter(|count| (1..=MAX_COUNT).contains(count))?;
    *reader = rest;
    Some(count)
}

/// Splits a leading number off. A unit attached to the digits (`500ms`) is handled by [`eat_duration`].
fn decimal(reader: Reader<'_>) -> Option<(f64, Reader<'_>)> {
    let first = reader.tokens().first()?;
    if let Some(word) = first.word()
        && word.starts_with(|c: char| c.is_ascii_digit())
    {
        let number = word
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())?;
        return Some((number, reader.skip(1)));
    }
    if let Some((number, length)) = lookup(reader.tokens(), vocabulary::NUMBERS) {
        return Some((f64::from(number), reader.skip(length)));
    }
    chinese_number(reader).map(|(number, length)| (f64::from(number), reader.skip(length)))
}

/// Parses a Chinese number below one hundred; returns it with its length in characters.
fn chinese_number(reader: Reader<'_>) -> Option<(u32, usize)> {
    let mut tens = None;
    let mut units = None;
    let mut length = 0;
    for token in reader.tokens() {
        let TokenKind::Ideograph(character) = token.kind else {
            break;
        };
        match (chinese_digit(character), character) {
            (Some(digit), _) if units.is_none() => units = Some(digit),
            (None, '十') if tens.is_none() => tens = Some(units.take().unwrap_or(1)),
            _ => break,
        }
        length += 1;
    }
    (length > 0).then(|| (tens.unwrap_or(0) * 10 + units.unwrap_or(0), length))
}

fn chinese_digit(character: char) -> Option<u32> {
    if character == '两' {
        return Some(2);
    }
    let index = "零一二三四五六七八九"
        .chars()
        .position(|digit| digit == character)?;
    u32::try_from(index).ok()
}

/// Consumes a duration: `2 seconds`, `500ms`, `1.5 s`, `3 秒`, `a moment`.
pub(super) fn eat_duration(reader: &mut Reader<'_>) -> Option<Duration> {
    if let Some(milliseconds) = reader.eat_entry(vocabulary::VAGUE_TIMES) {
        return Some(Duration::from_millis(u64::from(milliseconds)));
    }
    let (number, unit, rest) = number_with_unit(*reader)?;
    let duration = Duration::try_from_secs_f64(number * f64::from(unit) / 1_000.0).ok()?;
    if duration > MAX_DURATION {
        return None;
    }
    *reader = rest;
    Some(duration)
}

fn number_with_unit(reader: Reader<'_>) -> Option<(f64, u32, Reader<'_>)> {
    if let Some((number, rest)) = decimal(reader) {
        let mut rest = rest;
        rest.eat(&["个"]);
        let unit = rest.eat_entry(vocabulary::TIME_UNITS)?;
        return Some((number, unit, rest));
    }
    // The unit is attached to the digits.
    let word = reader.tokens().first()?.word()?;
    let digits = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number = word[..digits].parse::<f64>().ok()?;
    let unit = vocabulary::TIME_UNITS
        .iter()
        .find(|(_, names)| names.contains(&&word[digits..]))?
        .0;
    Some((number, unit, reader.skip(1)))
}

/// Consumes a repetition count at the end of a clause: `3 times`, `twice`, `三次`.
pub(super) fn eat_times_at_end(reader: &mut Reader<'_>) -> Option<u32> {
    // Bounds the search: the longest count phrases (`二十三次`) have 4 tokens.
    (1..reader.len().min(5) + 1).rev().find_map(|length| {
        let (before, mut tail) = reader.split_at(reader.len() - length);
        let times = eat_times(&mut tail)?;
        if !tail.is_empty() {
            return None;
        }
        *reader = before;
        Some(times)
    })
}

/// Consumes a repetition count: `3 times`, `twice`, `三次`.
pub(super) fn eat_times(reader: &mut Reader<'_>) -> Option<u32> {
    for (word, count) in [("once", 1), ("twice", 2), ("thrice", 3)] {
        if reader.eat(&[word]) {
            return Some(count);
        }
    }
    let mut rest = *reader;
    let count = eat_count(&mut rest)?;
    if !rest.eat(vocabulary::TIMES) {
        return None;
    }
    *reader = rest;
    Some(count)
}

/// Consumes an ordinal: `second`, `2nd`, `last`, `第二个`, `最后一个`.
pub(super) fn eat_ordinal(reader: &mut Reader<'_>) -> Option<Ordinal> {
    if reader.eat(vocabulary::LAST) {
        return Some(Ordinal::Last);
    }
    if let Some(number) = reader.eat_entry(vocabulary::ORDINALS) {
        return Some(Ordinal::Nth(number));
    }
    if let Some(number) = reader
        .tokens()
        .first()
        .and_then(|token| token.word())
        .and_then(digits_ordinal)
    {
        *reader = reader.skip(1);
        return Some(Ordinal::Nth(number));
    }
    let mut rest = reader.skip(phrase_length(reader.tokens(), "第")?);
    let number = eat_count(&mut rest)?;
    rest.eat(vocabulary::CLASSIFIERS);
    rest.eat(&["的"]);
    *reader = rest;
    Some(Ordinal::Nth(number))
}

/// Parses `2nd`, `11th`.
fn digits_ordinal(word: &str) -> Option<u32> {
    let digits = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|suffix| word.strip_suffix(suffix))?;
    digits
        .parse()
        .ok()
        .filter(|number| (1..=MAX_COUNT).contains(number))
}
