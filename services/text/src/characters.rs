//! Classes of characters that several services ask for.
//!
//! It does not interpret texts: callers decide how a class of characters is treated.

use unicode_normalization::char::is_combining_mark;

/// Returns true for characters of scripts that are written without spaces between words: ideographs, radicals, kana and Hangul.
///
/// Source: the blocks of the Unicode Standard, chapter 18.
#[must_use]
pub const fn is_ideograph(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}')
        || matches!(character, '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns true for Han characters, of which Chinese consists. Kana and Hangul are none.
#[must_use]
pub const fn is_han(character: char) -> bool {
    matches!(
        character,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns true for characters of scripts in which a word may end after any character. Korean has spaces, so Hangul is none.
#[must_use]
pub const fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns true for characters of East Asian scripts, with their punctuation and full-width forms.
#[must_use]
pub const fn is_east_asian(character: char) -> bool {
    is_unspaced(character) || matches!(character, '\u{ac00}'..='\u{d7af}' | '\u{ff00}'..='\u{ffef}')
}

/// Returns true for East Asian wide and full-width characters and for emoji, which are as wide as high.
///
/// Source: Unicode Standard Annex 11.
#[must_use]
pub const fn is_wide(character: char) -> bool {
    matches!(
        character,
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{303e}' | '\u{3041}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
    ) || matches!(
        character,
        '\u{fe30}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}' | '\u{1f300}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}'
    )
}

/// Returns true for characters that take no space on a screen and are no line break: soft hyphens, joiners, zero widths,
/// direction controls (U+202A to U+202E, U+2066 to U+2069), variation selectors, byte order marks and tags.
#[must_use]
pub const fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
    ) || matches!(
        character,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns true for invisible characters and for marks that are drawn onto the letter before them.
#[must_use]
pub fn is_ignorable(character: char) -> bool {
    is_combining_mark(character) || is_invisible(character)
}

/// Returns true for characters that change the order in which a text is shown: embeddings, overrides, isolates and marks.
#[must_use]
pub const fn is_direction_control(character: char) -> bool {
    matches!(
        character,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Returns true for characters that command a terminal or change the order of its text. Line breaks and tabs are none.
#[must_use]
pub fn is_terminal_control(character: char) -> bool {
    let is_layout = matches!(character, '\n' | '\t');
    character.is_control() && !is_layout
        || is_direction_control(character)
        || matches!(character, '\u{2028}' | '\u{2029}')
}
