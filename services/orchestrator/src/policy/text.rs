//! Words as a rule sees them, whatever they look like on the screen.
//!
//! Two texts that a person reads alike are alike here: case, width, accents, look-alikes of other alphabets, invisible
//! characters, punctuation, and letters or characters that are set apart. No meaning is known here.

use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;
use unicode_security::skeleton;

/// So many letters that stand alone in a row are one word that was set apart.
const SPELT_OUT: usize = 3;

/// A text as words, and, for scripts that do not divide them, as characters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plain {
    /// Of letters and digits, in order.
    pub(super) words: Vec<String>,
    /// The characters of East Asian scripts alone, in order.
    pub(super) characters: String,
}

impl Plain {
    pub(super) fn of(text: &str) -> Self {
        let text = plain(&divided(text));
        let characters = text.chars().filter(|letter| is_ideograph(*letter));
        let characters = characters.collect();
        let pieces = text.split(|letter: char| !letter.is_alphanumeric() || is_ideograph(letter));
        let words = pieces.filter(|word| !word.is_empty()).map(str::to_owned);
        Self {
            words: joined(words.collect()),
            characters,
        }
    }

    /// Whether these words stand in it, one after the other, and these characters.
    pub(super) fn contains(&self, phrase: &Self) -> bool {
        self.find(phrase).is_some() && self.characters.contains(&phrase.characters)
    }

    /// Takes all that a phrase says out of it.
    pub(super) fn without(mut self, phrase: &Self) -> Self {
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

/// A letter or digit in its plain form, and where it stands in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Letter {
    pub(super) letter: char,
    /// In bytes.
    pub(super) at: std::ops::Range<usize>,
}

/// All letters and digits in a row, whatever is between them.
pub(super) fn letters(text: &str) -> Vec<Letter> {
    let mut letters = Vec::with_capacity(text.len());
    let mut buffer = [0; 4];
    for (start, letter) in text.char_indices() {
        let at = start..start + letter.len_utf8();
        let mut add = |plain: &str| {
            let plain = plain.chars().filter(|letter| letter.is_alphanumeric());
            let at = &at;
            letters.extend(plain.map(|letter| Letter {
                letter,
                at: at.clone(),
            }));
        };
        match ASCII.get(letter as usize) {
            Some(plain) => add(plain),
            None => add(&plain(letter.encode_utf8(&mut buffer))),
        }
    }
    letters
}

/// The plain form of every ASCII character. All texts of all screens go through [`letters`], and most of them are made of
/// these.
static ASCII: LazyLock<[String; 128]> =
    LazyLock::new(|| std::array::from_fn(|letter| plain(&char::from(letter as u8).to_string())));

/// How prices are written.
const CURRENCIES: [&str; 16] = [
    "US$", "$", "€", "£", "¥", "￥", "₹", "₽", "₩", "USD", "EUR", "GBP", "CNY", "RMB", "元", "円",
];
/// Figures and signs that are written for letters.
const DISGUISES: [(char, char); 8] = [
    ('1', 'i'),
    ('3', 'e'),
    ('4', 'a'),
    ('5', 's'),
    ('7', 't'),
    ('8', 'b'),
    ('@', 'a'),
    ('$', 's'),
];
/// Letters that look small and capital, in the order of the alphabet; those that Unicode does not take for letters' forms.
const SMALL_CAPITALS: &str = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡ_ʏᴢ";
/// Where such alphabets begin in which each letter is white on black.
const WHITE_ON_BLACK: [u32; 2] = [0x1f150, 0x1f170];

/// The text with letters for the figures and signs that stand beside letters; `None` if there are none.
pub(super) fn undisguised(text: &str) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    let is_letter = |at: usize| letters.get(at).is_some_and(|letter| letter.is_alphabetic());
    let meant = |at: usize| {
        let letter = letters[at];
        let known = DISGUISES.iter().find(|(written, _)| *written == letter);
        let beside = is_letter(at + 1) || (at > 0 && is_letter(at - 1));
        known.filter(|_| beside).map_or(letter, |(_, meant)| *meant)
    };
    let undisguised: String = (0..letters.len()).map(meant).collect();
    (undisguised != text).then_some(undisguised)
}

/// Whether a text says what something costs, and nothing else: `$4.99`, `12 元`.
pub(super) fn is_price(text: &str) -> bool {
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

/// `deleteFile` as `delete File`.
fn divided(text: &str) -> String {
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

/// In one form: compatible characters, no marks, small letters, and of letters that look alike one.
fn plain(text: &str) -> String {
    let ordinary = text.chars().map(ordinary);
    let visible = ordinary.nfkd().filter(|letter| !is_invisible(*letter));
    let small: String = visible.flat_map(char::to_lowercase).collect();
    // Words apart, because an apostrophe within one is no division of it.
    let small = small.replace(['\'', '’', '`'], "");
    skeleton(&small).flat_map(char::to_lowercase).collect()
}

/// The letter that is drawn small and capital, white on black, or as a capital of another alphabet that looks like ours.
fn ordinary(letter: char) -> char {
    if letter.is_ascii() {
        return letter;
    }
    drawn(letter).or_else(|| capital(letter)).unwrap_or(letter)
}

fn drawn(letter: char) -> Option<char> {
    let mut capitals = SMALL_CAPITALS.chars();
    let small = capitals.position(|capital| capital == letter);
    let small = small.and_then(|offset| u32::try_from(offset).ok());
    let mut alphabets = WHITE_ON_BLACK.iter();
    let on_black = || {
        alphabets.find_map(|begin| {
            u32::from(letter)
                .checked_sub(*begin)
                .filter(|offset| *offset < 26)
        })
    };
    small
        .or_else(on_black)
        .and_then(|offset| char::from_u32(u32::from('a') + offset))
}

/// A capital whose small form looks like none of our letters: of the Greek beta only the capital does.
fn capital(letter: char) -> Option<char> {
    let look_alike = |text: String| {
        let mut letters = skeleton(&text).collect::<Vec<_>>().into_iter();
        letters.next().filter(|letter| letter.is_ascii_alphabetic())
    };
    if !letter.is_uppercase() || look_alike(letter.to_lowercase().collect()).is_some() {
        return None;
    }
    look_alike(letter.to_string())
}

/// Whether nobody sees it: marks above and below letters, joiners, soft hyphens.
fn is_invisible(letter: char) -> bool {
    is_combining_mark(letter)
        || matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

pub(super) fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}')
        || matches!(letter, '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

/// Letters that stand alone, several in a row, as the word that they spell.
fn joined(words: Vec<String>) -> Vec<String> {
    let is_letter = |word: &String| word.chars().nth(1).is_none();
    let runs = words.chunk_by(|one, next| is_letter(one) && is_letter(next));
    let mut joined = Vec::with_capacity(words.len());
    for run in runs {
        if run.len() >= SPELT_OUT {
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
        assert_eq!(Plain::of(one), Plain::of(other), "{one} and {other}");
    }

    #[test]
    fn what_reads_alike_is_alike() {
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
    fn what_reads_otherwise_is_not() {
        assert_ne!(Plain::of("pay pal"), Plain::of("paypal"));
        assert_ne!(Plain::of("a b"), Plain::of("ab"));
    }
}
