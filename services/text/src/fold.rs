//! Folding of texts to one normal form, regardless of how they are written.
//!
//! Texts that a person reads alike fold to the same form. Ignored are case, width, accents, look-alikes of other alphabets,
//! invisible characters, punctuation, and spaces between letters. Meanings belong to the lexicon, not here.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::skeleton;

use crate::characters::{is_ideograph, is_ignorable};

/// Minimum number of consecutive single letters that are joined to a spelt-out word. Two occur in ordinary text.
const MIN_SPELT_OUT_LETTERS: usize = 3;

/// A folded text: words, and the characters of scripts without spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NormalisedText {
    /// Words of letters and digits, in order.
    pub words: Vec<String>,
    /// Characters of East Asian scripts, in order.
    pub characters: String,
}

impl NormalisedText {
    pub fn of(text: &str) -> Self {
        let is_ideographic = |word: &String| word.starts_with(is_ideograph);
        let words = words(&split_camel_case(text));
        let (characters, words): (Vec<_>, Vec<_>) = words.into_iter().partition(is_ideographic);
        Self {
            words: join_spelt_out(words),
            characters: characters.concat(),
        }
    }

    /// Returns true if it contains the phrase's words consecutively, and its characters.
    pub fn contains(&self, phrase: &Self) -> bool {
        self.find(phrase).is_some() && self.characters.contains(&phrase.characters)
    }

    /// Removes all occurrences of a phrase.
    pub fn without(mut self, phrase: &Self) -> Self {
        if !phrase.words.is_empty() {
            while let Some(at) = self.find(phrase) {
                self.words.drain(at..at + phrase.words.len());
            }
        }
        if !phrase.characters.is_empty() {
            self.characters = self.characters.replace(&phrase.characters, "");
        }
        self
    }

    fn find(&self, phrase: &Self) -> Option<usize> {
        let wanted = phrase.words.len();
        if wanted == 0 {
            return Some(0);
        }
        let mut places = self.words.windows(wanted);
        places.position(|words| words == phrase.words)
    }
}

/// Returns the folded words of a text in order. Every ideograph is a word. Camel case and spelt-out words stay as they are.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let text = normalise(text);
    let pieces = text.split(|letter: char| !letter.is_alphanumeric());
    pieces.flat_map(ideographs_apart).collect()
}

/// Splits a word before and after every ideograph.
fn ideographs_apart(word: &str) -> Vec<String> {
    let mut parts = Vec::<String>::new();
    let mut follows_letter = false;
    for letter in word.chars() {
        let is_letter = !is_ideograph(letter);
        match parts.last_mut().filter(|_| is_letter && follows_letter) {
            Some(part) => part.push(letter),
            None => parts.push(letter.to_string()),
        }
        follows_letter = is_letter;
    }
    parts
}

/// Folds width, compatibility forms and case, and nothing else. For texts of the user and of the applications, where
/// accents and alphabets matter; [`words`] also folds what is written to evade a list.
pub fn width_and_case(text: &str) -> impl Iterator<Item = char> {
    text.nfkc().flat_map(char::to_lowercase)
}

/// A folded letter or digit and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NormalisedChar {
    pub letter: char,
    /// Byte range in the original text.
    pub at: std::ops::Range<usize>,
}

/// Returns all folded letters and digits of a text, without separators.
pub fn normalised_chars(text: &str) -> Vec<NormalisedChar> {
    let mut letters = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for (start, letter) in text.char_indices() {
        let at = start..start + letter.len_utf8();
        let mut add = |plain: &str| {
            let plain = plain.chars().filter(|letter| letter.is_alphanumeric());
            let at = &at;
            letters.extend(plain.map(|letter| NormalisedChar {
                letter,
                at: at.clone(),
            }));
        };
        match ASCII.get(letter as usize) {
            Some(plain) => add(plain),
            None => add(&normalise(letter.encode_utf8(&mut buffer))),
        }
    }
    letters
}

/// Folded form of every ASCII character. Cached, because every screen text goes through [`normalised_chars`] and most are ASCII.
static ASCII: LazyLock<[String; 128]> = LazyLock::new(|| {
    std::array::from_fn(|letter| normalise(&char::from(letter as u8).to_string()))
});

/// Currency signs and codes of prices.
// `US$` stands before `$`, which also is its end.
const CURRENCIES: [&str; 16] = [
    "US$", "$", "€", "£", "¥", "￥", "₹", "₽", "₩", "USD", "EUR", "GBP", "CNY", "RMB", "元", "円",
];
/// Digits and signs that are written in place of letters.
const LEET_SUBSTITUTIONS: [(char, char); 8] = [
    ('1', 'i'),
    ('3', 'e'),
    ('4', 'a'),
    ('5', 's'),
    ('7', 't'),
    ('8', 'b'),
    ('@', 'a'),
    ('$', 's'),
];
/// Small-capital letters in alphabetical order. Unicode has no compatibility mapping for them.
const SMALL_CAPITALS: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ_ʏᴢ";
/// First code points of the negative circled and negative squared alphabets.
const WHITE_ON_BLACK: [u32; 2] = [0x1f150, 0x1f170];

/// Replaces digits and signs next to letters by the letters they stand for. Returns `None` if there are none.
pub fn without_leetspeak(text: &str) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    let is_letter = |at: usize| letters.get(at).is_some_and(|letter| letter.is_alphabetic());
    let meant = |at: usize| {
        let letter = letters[at];
        let known = LEET_SUBSTITUTIONS
            .iter()
            .find(|(written, _)| *written == letter);
        // Only beside a letter: `1` in `10:30` is a digit.
        let beside = is_letter(at + 1) || (at > 0 && is_letter(at - 1));
        known.filter(|_| beside).map_or(letter, |(_, meant)| *meant)
    };
    let undisguised: String = (0..letters.len()).map(meant).collect();
    (undisguised != text).then_some(undisguised)
}

/// Joins spaced-out letters: `i g n o r e  t h i s` becomes `ignore  this`. Returns `None` if there are none.
///
/// A word ends where the separator changes, for example at a wider space.
pub fn without_letter_spacing(text: &str) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    let mut joined = String::with_capacity(text.len());
    let mut at = 0;
    while at < letters.len() {
        let end = end_of_spaced_word(&letters, at);
        // Only letters are kept, and the next separator follows them.
        joined.extend(letters[at..end].iter().step_by(2));
        at = end;
    }
    (joined != text).then_some(joined)
}

/// Returns the end of the spaced-out word at `at`, or of the character if there is none.
fn end_of_spaced_word(letters: &[char], at: usize) -> usize {
    let is_word = |at: usize| {
        letters
            .get(at)
            .is_some_and(|letter| letter.is_alphanumeric())
    };
    let is_single = |at: usize| is_word(at) && !is_word(at + 1) && (at == 0 || !is_word(at - 1));
    let separator = letters.get(at + 1);
    let mut last = at;
    while is_single(last) && is_single(last + 2) && letters.get(last + 1) == separator {
        last += 2;
    }
    let count = (last - at) / 2 + 1;
    if count >= MIN_SPELT_OUT_LETTERS {
        last + 1
    } else {
        at + 1
    }
}

/// Returns true if a text is only a price, for example `$4.99` or `12 元`.
pub fn is_price(text: &str) -> bool {
    let text = text.trim();
    let without = CURRENCIES.iter().find_map(|currency| {
        text.strip_prefix(currency)
            .or_else(|| text.strip_suffix(currency))
    });
    without.is_some_and(|amount| {
        amount.contains(|letter: char| letter.is_ascii_digit())
            && amount
                .chars()
                .all(|letter| letter.is_ascii_digit() || " .,'\u{a0}-–".contains(letter))
    })
}

/// Splits camel case: `deleteFile` becomes `delete File`.
fn split_camel_case(text: &str) -> String {
    let mut divided = String::with_capacity(text.len());
    let mut before = None::<char>;
    for letter in text.chars() {
        if letter.is_uppercase() && before.is_some_and(char::is_lowercase) {
            divided.push(' ');
        }
        divided.push(letter);
        before = Some(letter);
    }
    divided
}

/// Folds a text: compatibility decomposition, no marks, lower case, and one letter for each group of look-alikes.
fn normalise(text: &str) -> String {
    let ordinary = text.chars().map(base_letter);
    let visible = ordinary.nfkd().filter(|letter| !is_ignorable(*letter));
    let small: String = visible.flat_map(char::to_lowercase).collect();
    // Apostrophes are removed, because they do not separate words.
    let small = small.replace(['\'', '’', '`'], "");
    // The skeleton of a letter with a stroke is the letter and a mark.
    // After lower case: the skeleton of a capital `I` is the letter `l`.
    let alike = skeleton(&small).filter(|letter| !is_ignorable(*letter));
    alike.flat_map(char::to_lowercase).collect()
}

/// Returns the Latin letter of a small capital, a white-on-black letter, or a look-alike of another alphabet that is no
/// look-alike in the other case.
fn base_letter(letter: char) -> char {
    if letter.is_ascii() {
        return letter;
    }
    from_small_capital(letter)
        .or_else(|| from_white_on_black(letter))
        .or_else(|| from_look_alike(letter))
        .unwrap_or(letter)
}

fn from_small_capital(letter: char) -> Option<char> {
    let at = SMALL_CAPITALS.chars().position(|capital| capital == letter);
    at.and_then(|at| u32::try_from(at).ok())
        .and_then(nth_letter)
}

fn from_white_on_black(letter: char) -> Option<char> {
    let offsets = WHITE_ON_BLACK
        .iter()
        .filter_map(|begin| u32::from(letter).checked_sub(*begin));
    offsets.filter(|offset| *offset < 26).find_map(nth_letter)
}

/// Returns a lower-case Latin letter by its number in the alphabet, from 0.
fn nth_letter(number: u32) -> Option<char> {
    char::from_u32(u32::from('a') + number)
}

/// Returns the Latin letter of a capital that looks like one, such as the Greek beta and nu, or of a letter that looks
/// like a small capital, such as the Cyrillic en. Both have to be mapped before lower-casing: the lower case of a nu
/// looks like another letter.
fn from_look_alike(letter: char) -> Option<char> {
    if !letter.is_alphabetic() || is_ideograph(letter) {
        return None;
    }
    let first = skeleton(letter.encode_utf8(&mut [0; 4])).next()?;
    match first {
        // The skeleton of every capital I is a small l; its lower case has the right one.
        'l' => None,
        latin if latin.is_ascii_alphabetic() => letter.is_uppercase().then_some(latin),
        other => from_small_capital(other),
    }
}

/// Joins consecutive single letters to the word they spell.
fn join_spelt_out(words: Vec<String>) -> Vec<String> {
    let is_letter = |word: &String| word.chars().nth(1).is_none();
    let runs = words.chunk_by(|one, next| is_letter(one) && is_letter(next));
    let mut joined = Vec::with_capacity(words.len());
    for run in runs {
        if run.len() >= MIN_SPELT_OUT_LETTERS {
            joined.push(run.concat());
        } else {
            joined.extend(run.iter().cloned());
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(one: &str, other: &str) {
        assert_eq!(
            NormalisedText::of(one),
            NormalisedText::of(other),
            "{one} and {other}"
        );
    }

    #[test]
    fn lookalike_texts_fold_alike() {
        check("DELETE", "delete");
        check("ＤＥＬＥＴＥ", "delete");
        check("D e l e t e", "delete");
        check("d.e.l.e.t.e", "delete");
        check("Dеlеtе", "delete"); // Cyrillic е
        check("de\u{ad}le\u{200b}te", "delete");
        check("Délété", "delete");
        check("Βuу", "buy"); // Greek Β, Cyrillic у
        check("Іnstall", "install"); // Cyrillic І
        check("ᴅᴇʟᴇᴛᴇ", "delete");
        check("🅳🅴🅻🅴🆃🅴", "delete");
        check("deleteFile", "delete file");
        check("删 除", "删除");
        check("Don't save", "dont save");
        check("pay-now", "Pay now!");
    }

    #[test]
    fn spaced_out_letters_are_joined_up_to_another_separator() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(without_letter_spacing(text).as_deref(), expected, "{text}");
        };
        check("i g n o r e  t h i s", Some("ignore  this"));
        check("see d.e.l.e.t.e, now", Some("see delete, now"));
        check("p-a-y n-o-w", Some("pay now"));
        check("plan B is a b test", None);
        check("ignore this", None);
        check("", None);
    }

    #[test]
    fn different_texts_fold_differently() {
        assert_ne!(NormalisedText::of("pay pal"), NormalisedText::of("paypal"));
        assert_ne!(NormalisedText::of("a b"), NormalisedText::of("ab"));
    }
}
