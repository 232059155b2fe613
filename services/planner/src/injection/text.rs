//! Splits texts into comparable words: letters and digits in lower case and of one width, each ideograph on its own.

use unicode_normalization::UnicodeNormalization;

/// Returns the words of a text, in order.
#[must_use]
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for character in text.nfkc().flat_map(char::to_lowercase) {
        if is_ideograph(character) {
            finish(&mut word, &mut words);
            words.push(character.to_string());
        } else if character.is_alphanumeric() {
            word.push(character);
        } else if !is_inside_of_words(character) {
            finish(&mut word, &mut words);
        }
    }
    finish(&mut word, &mut words);
    words
}

fn finish(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns whether a character is ignored inside a word: apostrophes, and invisible characters that are inserted to hide
/// a word.
fn is_inside_of_words(character: char) -> bool {
    matches!(
        character,
        '\'' | '’' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
    )
}
