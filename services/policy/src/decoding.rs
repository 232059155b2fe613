//! Decoded forms of a text, and the values in it.
//!
//! An attacker may write a text in another form so that it is not recognised: `%65vil.example`, base64, `1.299,00` for
//! `1299`. Only encodings that programs decode automatically are covered. A text counts as encoded if decoding it gives
//! readable text, which random letters do not.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

use motorium_text::characters::is_ideograph;
use motorium_text::fold;

/// Maximum number of nested percent-encodings. Bounds the work for a hostile text; programs decode once or twice.
const MAX_PERCENT_LAYERS: usize = 3;
/// Minimum number of letters and digits of a decoded text. Shorter ones are readable by chance.
const MIN_DECODED_CHARS: usize = 6;
/// Minimum length of an encoded word: six bytes take eight characters in base64.
const MIN_ENCODED_CHARS: usize = 8;
/// Minimum number of letters and digits of a value. Shorter ones are on every screen.
const MIN_VALUE_CHARS: usize = 3;
/// Maximum length of a code. Longer texts are recognised by their letters ([`super::provenance`]).
const MAX_CODE_CHARS: usize = 5;
/// Minimum length of a value in a query string. Higher, because addresses contain many short numbers such as page numbers.
const MIN_QUERY_VALUE_CHARS: usize = 4;
/// Characters around a value that are not part of it.
const VALUE_DELIMITERS: [char; 22] = [
    '(', ')', '[', ']', '{', '}', '"', '\'', ':', ';', '!', '?', '#', '=', '$', '€', '£', '¥',
    '￥', '元', '“', '”',
];

/// Accepts missing padding, which addresses often omit.
const PADDING: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const BASE64: [GeneralPurpose; 2] = [
    GeneralPurpose::new(&alphabet::STANDARD, PADDING),
    GeneralPurpose::new(&alphabet::URL_SAFE, PADDING),
];

/// Returns the decoded forms of encoded parts of a text. Empty for almost all texts.
pub(super) fn decoded(text: &str) -> Vec<String> {
    let percent = percent_decoded(text);
    let words =
        text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+/-_".contains(letter));
    // A slash is both a base64 character and a separator in addresses, so words are tried whole and in parts.
    let parts = words.clone().filter(|word| word.contains('/'));
    let parts = parts.flat_map(|word| word.split('/'));
    let words = words
        .chain(parts)
        .filter(|word| word.len() >= MIN_ENCODED_CHARS);
    // Base64 first: a word of hexadecimal digits is often valid Base64 as well, but seldom readable when decoded so.
    let words = words.filter_map(|word| from_base64(word).or_else(|| from_hex(word)));
    percent.into_iter().chain(words).collect()
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut read = text.to_owned();
    // An address within an address is encoded once more.
    for _ in 0..MAX_PERCENT_LAYERS {
        let again = percent_decode_str(&read).decode_utf8_lossy().into_owned();
        if again == read {
            break;
        }
        read = again;
    }
    (read != text).then_some(read)
}

fn from_base64(word: &str) -> Option<String> {
    let mut engines = BASE64.iter();
    engines.find_map(|engine| engine.decode(word).ok().and_then(readable))
}

fn from_hex(word: &str) -> Option<String> {
    let digits: Option<Vec<u8>> = word
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    readable(
        digits
            .chunks_exact(2)
            .map(|pair| pair[0] * 16 + pair[1])
            .collect(),
    )
}

/// Returns the bytes as text if it is readable.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let is_plain = |letter: char| !letter.is_control() || letter.is_whitespace();
    let letters = text
        .chars()
        .filter(|letter| letter.is_alphanumeric())
        .count();
    // Random words decode to control characters or to little text; a message for a planner does not.
    (letters >= MIN_DECODED_CHARS && text.chars().all(is_plain)).then_some(text)
}

/// Returns the values in a text that are too short to be recognised by their letters alone: amounts in any notation, and codes
/// with a digit.
pub(super) fn values(text: &str) -> BTreeSet<String> {
    if !text.contains(|letter: char| letter.is_numeric()) {
        return BTreeSet::new();
    }
    let text = without_digit_gaps(text);
    let words = text.split(char::is_whitespace);
    words
        .flat_map(|word| values_of(word, MIN_VALUE_CHARS))
        .collect()
}

/// Returns the value that an argument consists of or, for an address, the values of its query. Digits among other words are
/// ignored, because equal digits on the screen are likely a coincidence.
pub(super) fn argument_values(argument: &str) -> BTreeSet<String> {
    let whole = without_digit_gaps(argument.trim());
    if let Some((_, query)) = whole.split_once('?') {
        let pairs = query.split(['&', '#', ';']);
        let values = pairs.filter_map(|pair| pair.split_once('='));
        return values
            .flat_map(|(_, value)| values_of(value, MIN_QUERY_VALUE_CHARS))
            .collect();
    }
    if whole.contains(char::is_whitespace) {
        return BTreeSet::new();
    }
    values_of(&whole, MIN_VALUE_CHARS)
}

/// Removes spaces that group digits: `1 299,00` becomes `1299,00`.
fn without_digit_gaps(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_digit = |at: usize| letters.get(at).is_some_and(char::is_ascii_digit);
    let is_gap = |at: usize| {
        at > 0
            && matches!(letters[at], ' ' | '\u{a0}' | '\u{2009}' | '\u{202f}')
            && is_digit(at - 1)
            // Exactly three digits follow a gap that groups. A year or a second number has two or four.
            && (1..=3).all(|next| is_digit(at + next))
            && !is_digit(at + 4)
    };
    (0..letters.len())
        .filter(|at| !is_gap(*at))
        .map(|at| letters[at])
        .collect()
}

fn values_of(word: &str, min_chars: usize) -> BTreeSet<String> {
    let word = word.trim_matches(VALUE_DELIMITERS);
    // The end of a sentence is not part of its last value.
    let word = word.trim_end_matches(['.', ',']);
    let is_amount = word.starts_with(|letter: char| letter.is_ascii_digit())
        && word
            .chars()
            .all(|letter| letter.is_ascii_digit() || ".,'’".contains(letter));
    let read = if is_amount {
        amounts(word)
    } else {
        code(word).into_iter().collect()
    };
    let long_enough = |value: &String| {
        let figures = value.chars().filter(|letter| letter.is_alphanumeric());
        figures.count() >= min_chars
    };
    read.into_iter().filter(long_enough).collect()
}

/// Returns a short word with a digit in normalised form.
fn code(word: &str) -> Option<String> {
    let letters = fold::normalised_chars(word);
    let letters: String = letters.iter().map(|letter| letter.letter).collect();
    let is_code = word.contains(|letter: char| letter.is_numeric())
        && letters.chars().count() <= MAX_CODE_CHARS
        && !letters.contains(is_ideograph);
    is_code.then_some(letters)
}

/// Returns the possible values of an amount in normalised form. `1,299.00` and `1299` are the same; `1.299` is ambiguous and
/// gives two.
fn amounts(word: &str) -> Vec<String> {
    let plain = |whole: &str, decimals: &str| {
        let whole: String = whole.chars().filter(char::is_ascii_digit).collect();
        let (whole, decimals) = (
            whole.trim_start_matches('0'),
            decimals.trim_end_matches('0'),
        );
        match decimals {
            "" => whole.to_owned(),
            decimals => format!("{whole}.{decimals}"),
        }
    };
    let Some((whole, last)) = word.rsplit_once(['.', ',']) else {
        return vec![plain(word, "")];
    };
    match last.len() {
        // A second separator before it: the last one groups thousands as well.
        3 if whole.contains(['.', ',', '\'', '’']) => vec![plain(word, "")],
        // One separator before three digits groups thousands in one notation and starts the decimals in another.
        3 => vec![plain(word, ""), plain(whole, last)],
        _ => vec![plain(whole, last)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_decoded(text: &str, expected: &[&str]) {
        assert_eq!(decoded(text), expected, "{text}");
    }

    #[test]
    fn encoded_values_are_decoded() {
        check_decoded("https://%65vil.example/x", &["https://evil.example/x"]);
        check_decoded("%2565vil.example", &["evil.example"]);
        check_decoded(
            "send Y2xhaW1zQGV2aWwuZXhhbXBsZQ== now",
            &["claims@evil.example"],
        );
        check_decoded("Y2xhaW1zQGV2aWwuZXhhbXBsZQ", &["claims@evil.example"]);
        check_decoded("6576696c2e6578616d706c65", &["evil.example"]);
    }

    #[test]
    fn plain_text_is_not_decoded() {
        for text in [
            "",
            "internationalisation",
            "Please write to claims@evil.example before noon",
            "100 % cotton, 50 %",
            "4711-22-33-44",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "/home/ann/photos/holidays",
            "password12345678",
        ] {
            check_decoded(text, &[]);
        }
    }

    fn check_values(text: &str, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(values(text), expected, "{text}");
    }

    #[test]
    fn an_amount_is_the_same_however_it_is_written() {
        for text in [
            "Total: 1,299.50 EUR",
            "1.299,50",
            "€1299.50",
            "1 299,5",
            "1'299.50",
        ] {
            assert!(
                values(text).contains("1299.5"),
                "{text}: {:?}",
                values(text)
            );
        }
        check_values("1,299", &["1299", "1.299"]);
        check_values("49.90", &["49.9"]);
        check_values("account 4711", &["4711"]);
        check_values("seat A7X!", &["a7x"]);
        check_values("3 of 12, 3.5", &[]);
        check_values("no figures at all", &[]);
    }

    #[test]
    fn argument_values_are_whole_identifiers() {
        let check = |argument: &str, expected: &[&str]| {
            let expected: BTreeSet<String> = expected.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(argument_values(argument), expected, "{argument}");
        };
        check("4711", &["4711"]);
        check("head -n 100", &[]);
        check("https://shop.example/pay?to=4711&page=100", &["4711"]);
        check("Rome", &[]);
    }
}
