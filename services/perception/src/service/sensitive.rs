//! Kinds of text that are often to be hidden, as they look on a screen and come out of a reader.
//!
//! What is in doubt counts as sensitive: a number hidden for nothing costs less than one that is told.

use std::sync::LazyLock;

use motorium_proto::service::SensitiveText;
use regex::Regex;

/// Digits in groups, as cards show them: of four, or of four, six and five.
static GROUPED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"\b[\dOolI]{4}(?:[ \-–·.][\dOolI]{4}){3}\b|\b\d{4}[ \-–·.]\d{6}[ \-–·.]\d{5}\b")
});

/// Digits in a row, perhaps with spaces that a reader saw among them; other numbers may stand beside a card's.
static DIGITS: LazyLock<Regex> = LazyLock::new(|| pattern(r"\d(?:[ \-]?\d){12,}"));

/// How many digits a card has.
const LENGTHS: std::ops::RangeInclusive<usize> = 13..=19;

/// A reader may see spaces around the sign, and the sign wide.
static EMAIL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[\p{L}\p{N}._%+\-]+\s?[@＠]\s?[\p{L}\p{N}\-]+(?:\s?[.．。]\s?[\p{L}\p{N}\-]+)+")
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// Whether there is something of that kind in a text.
pub(super) fn is_in(text: &str, kind: SensitiveText) -> bool {
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

/// Whether a card's number begins with one of the groups of digits and ends with one.
fn has_card_among(text: &str) -> bool {
    let mut digits = String::new();
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

/// The check of ISO/IEC 7812 (Luhn): from the right, every second digit counts twice, and the sum ends in 0.
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
    fn numbers_of_cards() {
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
        // A zero read as a letter hides it all the same.
        check("4OOO 1234 5678 9O1O", true);
        check("Order 5500000000000005", false);
        check("+49 30 901820", false);
        check("2026-11-21 14:03:59", false);
        check("129.87", false);
        check("", false);
    }

    #[test]
    fn addresses_of_mail() {
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
