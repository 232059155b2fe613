//! Corpus of difficult texts: many scripts at many lengths, mixtures, and known problem cases.
//!
//! Deterministic. A run uses a sample; `MOTORIUM_TEXTS=all` uses all texts.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

/// Text lengths in characters or clusters.
const LENGTHS: [usize; 18] = [
    1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597, 2584, 5000,
];
const MIXTURES: usize = 130;
const MAX_MIXTURE_LENGTH: usize = 200;
/// Sampling step of a normal run.
const SAMPLE_STEP: usize = 29;

/// A script with its character ranges and grapheme clusters.
type Script = (
    &'static str,
    &'static [(char, char)],
    &'static [&'static str],
);

const SCRIPTS: &[Script] = &[
    ("ASCII", &[(' ', '~')], &[]),
    (
        "Latin with accents",
        &[('a', 'z'), ('À', 'ÿ'), ('Ā', 'ž')],
        &["€", "ß", "ẞ"],
    ),
    ("Greek", &[('Α', 'Ρ'), ('Σ', 'ω')], &["ά", "ή", " "]),
    ("Cyrillic", &[('А', 'я')], &["ё", "Ё", "і", "ї", " "]),
    ("Hebrew", &[('א', 'ת')], &[" ", "שָׁלוֹם"]),
    ("Arabic", &[('ء', 'غ'), ('ف', 'ي')], &[" ", "لَا", "\u{200f}"]),
    ("Devanagari", &[('अ', 'ह')], &["क्षि", "नमस्ते", " "]),
    ("Thai", &[('ก', 'ฮ')], &["น้ำ", "ที่"]),
    (
        "Han",
        &[('\u{4e00}', '\u{9fa5}')],
        &["，", "。", "「", "」"],
    ),
    (
        "Han beyond the basic plane",
        &[('\u{20000}', '\u{20100}')],
        &["𠮷"],
    ),
    (
        "Kana",
        &[('ぁ', 'ゖ'), ('ァ', 'ヺ')],
        &["ー", "が", "か\u{3099}"],
    ),
    ("Hangul", &[('가', '힣')], &[" "]),
    (
        "Emoji",
        &[('😀', '🙏')],
        &["👩‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "🏳️‍🌈", "1️⃣"],
    ),
    (
        "Combining marks",
        &[('a', 'z')],
        &[
            "e\u{301}",
            "a\u{308}\u{304}",
            "o\u{302}",
            "n\u{303}",
            "Z\u{351}\u{36b}",
        ],
    ),
    (
        "Symbols",
        &[('←', '⇿'), ('∀', '⋿'), ('─', '╿')],
        &["½", "‰", "№", "…", "—"],
    ),
    (
        "Letters beyond the basic plane",
        &[('𝒜', '𝒵'), ('𝟎', '𝟿')],
        &[" "],
    ),
    ("One letter", &[('x', 'x')], &[]),
    (
        "Shifted and not",
        &[('A', 'D'), ('a', 'd'), ('!', '&')],
        &[],
    ),
    (
        "Dead keys of some layouts",
        &[],
        &["^", "~", "`", "´", "¨", "\"", "'", "a", "e"],
    ),
    (
        "Spaces of all kinds",
        &[],
        &[" ", "\u{a0}", "\u{2003}", "\u{202f}", "\u{3000}", "x"],
    ),
    (
        "Digits of all kinds",
        &[('0', '9'), ('٠', '٩'), ('０', '９')],
        &[],
    ),
];

const HARD: &[&str] = &[
    "The quick brown fox jumps over the lazy dog, 42 times; isn't it?",
    "AAAAaaaaAAAAaaaa",
    "hello  world   with    spaces",
    "https://user:pass@example.com:8080/a%20b?q=1&r=2#frag",
    "C:\\Program Files\\App\\\"quoted\" & 'single'",
    "if (a < b && c > d) { return a[0] ^ ~b; } // `tick`",
    "{\"key\": [1, 2.5, null, true], \"ü\": \"\\u00fc\"}",
    "SELECT * FROM \"t\" WHERE a <> 'b' -- comment; DROP",
    "P@ssw0rd!#$%^&*()_+-=[]{}|;':\",./<>?",
    "#!/bin/sh -e $(echo `id`) ${HOME} !! ~root",
    "\u{feff}after a byte order mark",
    "ﬁ ligature, ½ fraction, ① circled, ﷺ",
    "Straße STRASSE İstanbul ıI ǅ",
    "mixed עברית and English 123 العربية end",
    "你好，世界！Hello, 世界 123。",
    "カタカナとひらがなと漢字とromaji",
    "대한민국 Korea 한글",
    "👨‍👩‍👧‍👦👨🏿‍🚀🧑🏻‍🤝‍🧑🏿🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "Z̸̢͎̟ḁ̶̈l̷̰̀g̵̱̈o̴͎͑",
    "one\ntwo\nthree",
    "first line\n\n\nafter empty lines",
    "ends with a newline\n",
];

/// Returns the texts of this run, each with the name of its kind.
pub(crate) fn corpus() -> Vec<(String, String)> {
    let all = everything();
    if std::env::var("MOTORIUM_TEXTS").is_ok_and(|which| which == "all") {
        return all;
    }
    let few = all
        .iter()
        .step_by(SAMPLE_STEP)
        .filter(|(_, text)| text.len() < 2_000);
    // Known problem cases are part of every run.
    let hard = all.iter().filter(|(kind, _)| kind == "hard");
    few.chain(hard).cloned().collect()
}

fn everything() -> Vec<(String, String)> {
    let mut random = StdRng::seed_from_u64(1);
    let mut texts = Vec::new();
    for &(name, ranges, clusters) in SCRIPTS {
        for length in LENGTHS {
            let text = made_of(&mut random, &[(name, ranges, clusters)], length);
            texts.push((format!("{name}, {length}"), text));
        }
    }
    for number in 0..MIXTURES {
        let length = random.random_range(1..MAX_MIXTURE_LENGTH);
        let scripts: Vec<Script> = SCRIPTS.choose_multiple(&mut random, 3).copied().collect();
        let text = made_of(&mut random, &scripts, length);
        texts.push((format!("mixture {number}"), text));
    }
    let hard = HARD
        .iter()
        .map(|text| ("hard".to_owned(), (*text).to_owned()));
    texts.extend(hard);
    assert!(texts.len() >= 500);
    texts
}

/// Generates a text of `length` characters or clusters of these scripts.
fn made_of(random: &mut StdRng, scripts: &[Script], length: usize) -> String {
    let one = |random: &mut StdRng| {
        let (_, ranges, clusters) = scripts.choose(random).unwrap();
        let choice = random.random_range(0..ranges.len() * 4 + clusters.len());
        match ranges.get(choice / 4) {
            Some(&(first, last)) => random.random_range(first..=last).to_string(),
            None => clusters[choice - ranges.len() * 4].to_owned(),
        }
    };
    (0..length).map(|_| one(random)).collect()
}
