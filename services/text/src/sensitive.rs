//! Detection of sensitive text: numbers of cards and addresses of mail, as text recognition or a page gives them.
//!
//! False positives are preferred: a number redacted unnecessarily costs less than a leaked one.

use std::sync::LazyLock;

use motorium_proto::service::SensitiveText;
use regex::Regex;

/// Grouped digits of a card: four groups of four, or groups of four, six and five. `O`, `o`, `l` and `I` count as
/// misread digits.
static GROUPED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b[\dOolI]{4}(?:[ \-–·.][\dOolI]{4}){3}\b|\b\d{4}[ \-–·.]\d{6}[ \-–·.]\d{5}\b")
});

/// Consecutive digits, possibly with spaces added by text recognition; other numbers may be adjacent.
static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d(?:[ \-]?\d){12,}"));

/// Number of digits of a card (ISO/IEC 7812).
const LENGTHS: std::ops::RangeInclusive<usize> = 13..=19;

/// E-mail address. Text recognition may insert spaces around the `@` or return it as a full-width character.
pub(crate) static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[\p{L}\p{N}._%+\-]+\s?[@＠]\s?[\p{L}\p{N}\-]+(?:\s?[.．。]\s?[\p{L}\p{N}\-]+)+")
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Returns whether a text contains sensitive content of this kind.
#[must_use]
pub fn is_in(text: &str, kind: SensitiveText) -> bool {
    match kind {
        SensitiveText::CardNumber => has_card_number(text),
        SensitiveText::EmailAddress => EMAIL.is_match(text),
    }
}

fn has_card_number(text: &str) -> bool {
    GROUPED.is_match(text)
        || DIGITS
            .find_iter(text)
            .any(|found| has_card_among(found.as_str()))
}

/// Returns whether a card number starts and ends at group boundaries of a digit sequence.
fn has_card_among(text: &str) -> bool {
    let mut digits = String::new();
    // A card begins and ends at a gap. Digits of a date or a check code beside it would spoil the check digit.
    let mut edges = vec![0];
    for group in text.split([' ', '-']) {
        digits.push_str(group);
        edges.push(digits.len());
    }
    let spans = edges
        .iter()
        .flat_map(|&start| edges.iter().map(move |&end| (start, end)));
    spans
        .filter(|(start, end)| LENGTHS.contains(&end.saturating_sub(*start)))
        .any(|(start, end)| has_check_digit(&digits[start..end]))
}

/// Verifies the Luhn check digit (ISO/IEC 7812): from the right, every second digit is doubled, and the sum ends in 0.
fn has_check_digit(text: &str) -> bool {
    let digits = text.chars().rev().filter_map(|sign| sign.to_digit(10));
    let sum: u32 = digits
        .zip([1, 2].into_iter().cycle())
        .map(|(digit, times)| digit * times)
        .map(|product| product / 10 + product % 10)
        .sum();
    sum.is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_numbers_are_recognised() {
        let check = |text: &str, expected| {
            assert_eq!(is_in(text, SensitiveText::CardNumber), expected, "{text}");
        };
        check("Card: 4111 1111 1111 1111", true);
        check("4111-1111-1111-1111", true);
        check("5500000000000004", true);
        check("3782 822463 10005", true);
        check("550000000000 0004", true);
        // Beside other numbers.
        check("4111111111111111 12/27", true);
        check("4111111111111111 123", true);
        check("1 4111111111111111", true);
        check("378282246310005 08/28", true);
        // A zero misread as a letter is still redacted.
        check("4OOO 1234 5678 9O1O", true);
        check("Order 5500000000000005", false);
        check("+49 30 901820", false);
        check("2026-11-21 14:03:59", false);
        check("129.87", false);
        check("", false);
    }

    #[test]
    fn email_addresses_are_recognised() {
        let check = |text: &str, expected| {
            assert_eq!(is_in(text, SensitiveText::EmailAddress), expected, "{text}");
        };
        check("ann.lee+x@mail.example.org", true);
        check("写信给 wang@例子.中国", true);
        check("ann @example.org", true);
        check("ann＠example．org", true);
        check("price @ 12", false);
        check("@ann", false);
        check("example.org", false);
    }
}
