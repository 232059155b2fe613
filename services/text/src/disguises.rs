//! Ways to write a text so that a person reads it and a word list does not match it. Data for tests of every list that
//! has to recognise them.

/// A way to disguise a text.
#[derive(Debug, Clone, Copy)]
pub struct Disguise {
    pub name: &'static str,
    /// Returns the disguised form of a text in lower-case ASCII.
    pub apply: fn(&str) -> String,
}

const CYRILLIC: [(char, char); 11] = [
    ('a', 'а'),
    ('c', 'с'),
    ('e', 'е'),
    ('i', 'і'),
    ('j', 'ј'),
    ('o', 'о'),
    ('p', 'р'),
    ('s', 'ѕ'),
    ('v', 'ѵ'),
    ('x', 'х'),
    ('y', 'у'),
];
const CYRILLIC_CAPITALS: [(char, char); 12] = [
    ('a', 'А'),
    ('b', 'В'),
    ('c', 'С'),
    ('e', 'Е'),
    ('h', 'Н'),
    ('i', 'І'),
    ('m', 'М'),
    ('o', 'О'),
    ('p', 'Р'),
    ('s', 'Ѕ'),
    ('t', 'Т'),
    ('x', 'Х'),
];
const GREEK: [(char, char); 5] = [('o', 'ο'), ('v', 'ν'), ('i', 'ι'), ('p', 'ρ'), ('u', 'υ')];
const GREEK_CAPITALS: [(char, char); 13] = [
    ('a', 'Α'),
    ('b', 'Β'),
    ('e', 'Ε'),
    ('h', 'Η'),
    ('i', 'Ι'),
    ('k', 'Κ'),
    ('m', 'Μ'),
    ('n', 'Ν'),
    ('o', 'Ο'),
    ('p', 'Ρ'),
    ('t', 'Τ'),
    ('y', 'Υ'),
    ('z', 'Ζ'),
];
const STROKES: [(char, char); 5] = [('d', 'đ'), ('i', 'ɨ'), ('l', 'ł'), ('o', 'ø'), ('t', 'ŧ')];
const SMALL_CAPITALS: [(char, char); 14] = [
    ('c', 'ᴄ'),
    ('d', 'ᴅ'),
    ('e', 'ᴇ'),
    ('g', 'ɢ'),
    ('i', 'ɪ'),
    ('l', 'ʟ'),
    ('n', 'ɴ'),
    ('o', 'ᴏ'),
    ('p', 'ᴘ'),
    ('r', 'ʀ'),
    ('s', 'ꜱ'),
    ('t', 'ᴛ'),
    ('u', 'ᴜ'),
    ('v', 'ᴠ'),
];

/// Every known disguise.
pub const DISGUISES: [Disguise; 31] = [
    Disguise {
        name: "none",
        apply: str::to_owned,
    },
    Disguise {
        name: "capitals",
        apply: str::to_uppercase,
    },
    Disguise {
        name: "zero-width spaces",
        apply: |text| between(text, "\u{200b}"),
    },
    Disguise {
        name: "zero-width non-joiners",
        apply: |text| between(text, "\u{200c}"),
    },
    Disguise {
        name: "zero-width joiners",
        apply: |text| between(text, "\u{200d}"),
    },
    Disguise {
        name: "word joiners",
        apply: |text| between(text, "\u{2060}"),
    },
    Disguise {
        name: "invisible separators",
        apply: |text| between(text, "\u{2063}"),
    },
    Disguise {
        name: "byte order marks",
        apply: |text| between(text, "\u{feff}"),
    },
    Disguise {
        name: "soft hyphens",
        apply: |text| between(text, "\u{ad}"),
    },
    Disguise {
        name: "grapheme joiners",
        apply: |text| between(text, "\u{34f}"),
    },
    Disguise {
        name: "Hangul fillers",
        apply: |text| between(text, "\u{3164}"),
    },
    Disguise {
        name: "variation selectors",
        apply: |text| between(text, "\u{fe0f}"),
    },
    Disguise {
        name: "variation selectors of the supplement",
        apply: |text| between(text, "\u{e0100}"),
    },
    Disguise {
        name: "direction marks",
        apply: |text| between(text, "\u{200e}\u{200f}\u{61c}"),
    },
    Disguise {
        name: "direction embeddings",
        apply: |text| between(text, "\u{202a}\u{202b}\u{202c}"),
    },
    Disguise {
        name: "direction overrides",
        apply: |text| between(text, "\u{202d}\u{202e}\u{202c}"),
    },
    Disguise {
        name: "direction isolates",
        apply: |text| between(text, "\u{2066}\u{2067}\u{2068}\u{2069}"),
    },
    Disguise {
        name: "tags",
        apply: |text| between(text, "\u{e0001}\u{e0041}\u{e007f}"),
    },
    Disguise {
        name: "combining marks",
        apply: |text| between(text, "\u{301}\u{327}"),
    },
    Disguise {
        name: "enclosing marks",
        apply: |text| between(text, "\u{20dd}"),
    },
    Disguise {
        name: "strokes",
        apply: |text| replaced(text, &STROKES),
    },
    Disguise {
        name: "full width",
        apply: |text| shifted(text, '!', 0xff01),
    },
    Disguise {
        name: "bold",
        apply: |text| shifted(text, 'a', 0x1d41a),
    },
    Disguise {
        name: "circles",
        apply: |text| shifted(text, 'a', 0x24d0),
    },
    Disguise {
        name: "white on black",
        apply: |text| shifted(text, 'a', 0x1f170),
    },
    Disguise {
        name: "small capitals",
        apply: |text| replaced(text, &SMALL_CAPITALS),
    },
    Disguise {
        name: "Cyrillic",
        apply: |text| replaced(text, &CYRILLIC),
    },
    Disguise {
        name: "Cyrillic capitals",
        apply: |text| replaced(text, &CYRILLIC_CAPITALS).to_uppercase(),
    },
    Disguise {
        name: "Greek",
        apply: |text| replaced(text, &GREEK),
    },
    Disguise {
        name: "Greek capitals",
        apply: |text| replaced(text, &GREEK_CAPITALS).to_uppercase(),
    },
    Disguise {
        name: "no-break spaces",
        apply: |text| text.replace(' ', "\u{a0}"),
    },
];

/// Inserts a sequence after every letter.
fn between(text: &str, sequence: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        ' ' => " ".to_owned(),
        letter => format!("{letter}{sequence}"),
    });
    letters.collect()
}

fn replaced(text: &str, alike: &[(char, char)]) -> String {
    let letters = text.chars().map(|letter| {
        let known = alike.iter().find(|(latin, _)| *latin == letter);
        known.map_or(letter, |(_, other)| *other)
    });
    letters.collect()
}

/// Replaces the characters from `first` to `z` by those of the same order from the code point `start`.
fn shifted(text: &str, first: char, start: u32) -> String {
    let letters = text.chars().map(|letter| {
        let offset = u32::from(letter).checked_sub(u32::from(first));
        let other = offset
            .filter(|_| letter <= 'z')
            .and_then(|offset| char::from_u32(start + offset));
        other.unwrap_or(letter)
    });
    letters.collect()
}
