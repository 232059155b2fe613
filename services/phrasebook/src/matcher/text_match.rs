//! Fuzzy comparison of a searched text with a recognised line. Tolerated differences, in this order: case, width and
//! spaces; punctuation; look-alike characters; more words on the same line; a truncated end; single misread characters.
//!
//! Misspellings are not tolerated: a name with another letter is another name, and "delete Alise" must not delete Alice.
//!
//! Pure. It does not know elements: [`super`] ranks the matches on a screen.

use std::ops::Range;

use motorium_text::characters::is_unspaced;
use motorium_text::fold::width_and_case;
use motorium_text::numbers::goes_on;
use unicode_segmentation::UnicodeSegmentation;

/// Quality of a match, from the weakest to the strongest.
///
/// | tier | score | tolerates |
/// |---|---|---|
/// | `Exact` | 1.00 | case, width and spaces |
/// | `AlphanumericOnly` | 0.98 | punctuation as well |
/// | `LookAlike` | 0.92 | look-alike characters as well |
/// | `WholeWords` | 0.80 to 0.88 | other words on the same line |
/// | `Prefix` | 0.70 to 0.78 | another end of the line, or a truncated one |
/// | `Fuzzy` | 0.64 to 0.68 | one misread character in five |
// Scores of two tiers are at least 0.02 apart, which is more than the matcher's tolerance for equal ranks (0.015), so
// that the tier decides first. Within a tier the score grows by up to 0.08 with the matched share of the line: `Save`
// names a button `Save file` better than a line of ten words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum MatchTier {
    Fuzzy,
    Prefix,
    WholeWords,
    LookAlike,
    AlphanumericOnly,
    Exact,
}

/// A match of a text in a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TextMatch {
    pub(super) tier: MatchTier,
    /// Score from 0 to 1.
    pub(super) score: f64,
    /// Range of the matching graphemes of the line.
    pub(super) range: Range<usize>,
}

/// A text with case, width and spaces folded. Each character keeps the index of its grapheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoldedText {
    graphemes: Vec<String>,
    characters: Vec<(char, usize)>,
}

impl FoldedText {
    /// Folds case, width, compatibility forms and spaces.
    pub(super) fn new(text: &str) -> Self {
        let graphemes: Vec<String> = text.graphemes(true).map(str::to_owned).collect();
        let folded = |(index, grapheme): (usize, &String)| {
            let characters: Vec<char> = width_and_case(grapheme)
                .filter(|c| !c.is_whitespace())
                .collect();
            characters
                .into_iter()
                .map(move |character| (unify(character), index))
        };
        let characters = graphemes.iter().enumerate().flat_map(folded).collect();
        Self {
            graphemes,
            characters,
        }
    }

    /// Returns the graphemes of the original text.
    pub(super) fn graphemes(&self) -> &[String] {
        &self.graphemes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.characters.is_empty()
    }

    fn len(&self) -> usize {
        self.characters.len()
    }

    fn text(&self) -> String {
        self.characters
            .iter()
            .map(|(character, _)| character)
            .collect()
    }

    /// Returns only the letters and digits; unchanged if there are none.
    fn alphanumeric_only(&self) -> Self {
        let characters: Vec<_> = self
            .characters
            .iter()
            .copied()
            .filter(|(c, _)| c.is_alphanumeric())
            .collect();
        if characters.is_empty() {
            self.clone()
        } else {
            Self {
                graphemes: self.graphemes.clone(),
                characters,
            }
        }
    }

    /// Returns the text with look-alike characters unified (`0` and `o`, `rn` and `m`).
    fn skeleton(&self) -> Self {
        let mut characters: Vec<(char, usize)> = Vec::with_capacity(self.len());
        for &(character, index) in &self.characters {
            let alike = match character {
                '0' => 'o',
                '1' | 'i' | '|' | '!' => 'l',
                other => other,
            };
            match (characters.last().map(|(last, _)| *last), alike) {
                (Some('r'), 'n') => {
                    characters
                        .last_mut()
                        .expect("matched as the last character")
                        .0 = 'm'
                }
                (Some('v'), 'v') => {
                    characters
                        .last_mut()
                        .expect("matched as the last character")
                        .0 = 'w'
                }
                _ => characters.push((alike, index)),
            }
        }
        Self {
            graphemes: self.graphemes.clone(),
            characters,
        }
    }

    fn digits(&self) -> String {
        self.characters
            .iter()
            .map(|(c, _)| *c)
            .filter(|c| c.is_numeric())
            .collect()
    }

    /// Returns the grapheme range of the characters in `range`.
    fn graphemes_of(&self, range: Range<usize>) -> Range<usize> {
        match (
            self.characters.get(range.start),
            self.characters.get(range.end.saturating_sub(1)),
        ) {
            (Some((_, first)), Some((_, last))) if !range.is_empty() => *first..*last + 1,
            _ => 0..self.graphemes.len(),
        }
    }

    /// Returns every occurrence of `needle`, as character ranges.
    fn occurrences(&self, needle: &Self) -> Vec<Range<usize>> {
        let (length, wanted) = (
            needle.len(),
            needle
                .characters
                .iter()
                .map(|(c, _)| *c)
                .collect::<Vec<_>>(),
        );
        if length == 0 || length > self.len() {
            return Vec::new();
        }
        let stands_at = |start: &usize| {
            self.characters[*start..*start + length]
                .iter()
                .map(|(c, _)| *c)
                .eq(wanted.iter().copied())
        };
        (0..=self.len() - length)
            .filter(stands_at)
            .map(|start| start..start + length)
            .filter(|range| self.keeps_numbers(range, needle))
            .collect()
    }

    /// Returns whether the characters are those of the other text, and numbers are not put together.
    fn is_same(&self, other: &Self) -> bool {
        self.text() == other.text() && self.keeps_numbers(&(0..self.len()), other)
    }

    /// Returns whether no two numbers of this range are one in `needle`, which has the same characters: `Part 2 5.00` is not `Part 25`.
    fn keeps_numbers(&self, range: &Range<usize>, needle: &Self) -> bool {
        let gap = |text: &Self, at: usize| text.characters[at].1 - text.characters[at - 1].1;
        let joins = |at: usize| {
            let (left, right) = (self.characters[at - 1].1, self.characters[at].1);
            let is_apart = gap(self, at) > 1 && self.is_digit(left) && self.is_digit(right);
            is_apart && gap(needle, at - range.start) == 1 && !self.goes_on(left, right)
        };
        !(range.start + 1..range.end).any(joins)
    }

    /// Returns whether the digits from one grapheme on belong to the number that ends at another one before it.
    fn goes_on(&self, left: usize, right: usize) -> bool {
        let first = |grapheme: &String| grapheme.chars().next().unwrap_or(' ');
        let is_space = |grapheme: &String| grapheme.chars().all(char::is_whitespace);
        let characters: Vec<char> = self.graphemes.iter().map(first).collect();
        self.graphemes[left + 1..right].iter().all(is_space) && goes_on(&characters, right)
            // The mark between thousands.
            || right - left == 2 && characters[right..].iter().take_while(|c| c.is_ascii_digit()).count() == 3
    }

    /// Returns whether the characters before and after `at` are digits: `Step 1` does not begin `Step 12`.
    fn is_number_at(&self, at: usize) -> bool {
        let is_digit = |at: usize| {
            let character = self.characters.get(at);
            character.is_some_and(|(_, grapheme)| self.is_digit(*grapheme))
        };
        is_digit(at) && at.checked_sub(1).is_some_and(is_digit)
    }

    fn is_digit(&self, grapheme: usize) -> bool {
        let grapheme = self.graphemes.get(grapheme);
        grapheme.is_some_and(|grapheme| grapheme.chars().all(|c| c.is_ascii_digit()))
    }

    /// Returns whether a word starts at the character `at`.
    fn word_begins(&self, at: usize) -> bool {
        let (Some((next, index)), Some((before, before_index))) = (
            self.characters.get(at),
            at.checked_sub(1).map(|at| self.characters[at]),
        ) else {
            return true;
        };
        let between = self.graphemes.get(before_index + 1..*index);
        let is_fraction = between.is_some_and(|marks| {
            !marks.is_empty()
                && marks
                    .iter()
                    .all(|mark| matches!(mark.as_str(), "." | "," | ":"))
        });
        if is_fraction && self.is_digit(before_index) && self.is_digit(*index) {
            return false;
        }
        // The mark itself: `Version 1` does not end before the point of `Version 1.5`.
        let is_mark = matches!(next, '.' | ',' | ':') && *index == before_index + 1;
        if is_mark && self.is_digit(before_index) && self.is_digit(index + 1) {
            return false;
        }
        let has_space = index - before_index > 1;
        let is_upper = |index: usize| {
            self.graphemes
                .get(index)
                .is_some_and(|grapheme| grapheme.chars().all(char::is_uppercase))
        };
        let is_lower = |index: usize| {
            self.graphemes
                .get(index)
                .is_some_and(|grapheme| grapheme.chars().all(char::is_lowercase))
        };
        // Recognition drops spaces between words that begin with a capital (`FileEdit`), and reads an empty radio
        // button as a letter (`OYes`).
        let is_camel = is_upper(*index) && (is_lower(before_index) || is_lower(index + 1));
        has_space
            || is_camel
            || !before.is_alphanumeric()
            || !next.is_alphanumeric()
            || is_unspaced(before)
            || is_unspaced(*next)
    }
}

/// Maps variants of punctuation to one character.
fn unify(character: char) -> char {
    match character {
        '‘' | '’' | '`' | '´' => '\'',
        '“' | '”' => '"',
        '–' | '—' | '−' => '-',
        '。' => '.',
        '、' => ',',
        other => other,
    }
}

/// Minimum length of a text to match as a prefix. Shorter prefixes match too many words.
const MIN_PREFIX: usize = 3;
/// Number of characters per tolerated edit. With 5, words of up to 4 letters must match exactly (`Undo` is not `Redo`).
const CHARACTERS_PER_ERROR: usize = 5;

/// Letters that differ by a stroke or a gap of a pixel. Vowels that make another name (`Maria`, `Marie`, `Mario`) are not here,
/// although their shapes are close.
const SIMILAR_SHAPES: [[char; 2]; 17] = [
    ['f', 't'],
    ['t', 'l'],
    ['f', 'l'],
    ['i', 't'],
    ['i', 'j'],
    ['j', 'l'],
    ['r', 't'],
    ['c', 'e'],
    ['c', 'o'],
    ['n', 'h'],
    ['n', 'r'],
    ['h', 'b'],
    ['u', 'v'],
    ['v', 'y'],
    ['g', 'q'],
    ['g', 'y'],
    ['k', 'x'],
];

/// Returns every equally good match of `wanted` in `line`; empty if there is none.
pub(super) fn compare(wanted: &FoldedText, line: &FoldedText) -> Vec<TextMatch> {
    if wanted.is_empty() || line.is_empty() {
        return Vec::new();
    }
    // A match of the whole line has the fixed score of its tier; see `MatchTier`.
    let whole = |tier, score| {
        vec![TextMatch {
            tier,
            score,
            range: 0..line.graphemes.len(),
        }]
    };
    if line.is_same(wanted) {
        return whole(MatchTier::Exact, 1.0);
    }
    let (bare_wanted, bare_line) = (wanted.alphanumeric_only(), line.alphanumeric_only());
    if bare_line.is_same(&bare_wanted) {
        return whole(MatchTier::AlphanumericOnly, 0.98);
    }
    if bare_line.skeleton().is_same(&bare_wanted.skeleton()) {
        return whole(MatchTier::LookAlike, 0.92);
    }
    // Strongest tier first: the first attempt with a match is taken, and the weaker ones are not compared with it.
    let attempts = [
        whole_words(wanted, line),
        whole_words(&bare_wanted, &bare_line),
        whole_words(&bare_wanted.skeleton(), &bare_line.skeleton()),
        prefix(&bare_wanted, &bare_line),
        ellipsis_prefix(wanted, line),
        fuzzy(&bare_wanted, &bare_line),
    ];
    attempts
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Returns the length of a part relative to the whole, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "lines are short")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn whole_words(wanted: &FoldedText, line: &FoldedText) -> Vec<TextMatch> {
    let is_words =
        |range: &Range<usize>| line.word_begins(range.start) && line.word_begins(range.end);
    // The score of the tier `WholeWords`; see `MatchTier`.
    let score = 0.80 + 0.08 * share(wanted.len(), line.len());
    let likeness = |range| TextMatch {
        tier: MatchTier::WholeWords,
        score,
        range: line.graphemes_of(range),
    };
    line.occurrences(wanted)
        .into_iter()
        .filter(is_words)
        .map(likeness)
        .collect()
}

/// Matches the text as a prefix of the line (`Save` in `Saved`).
fn prefix(wanted: &FoldedText, line: &FoldedText) -> Vec<TextMatch> {
    let begins = wanted.len() >= MIN_PREFIX
        && line
            .occurrences(wanted)
            .first()
            .is_some_and(|range| range.start == 0 && !line.is_number_at(range.end));
    // The score of the tier `Prefix`; see `MatchTier`.
    let score = 0.70 + 0.08 * share(wanted.len(), line.len());
    let range = line.graphemes_of(0..line.len());
    if begins {
        vec![TextMatch {
            tier: MatchTier::Prefix,
            score,
            range,
        }]
    } else {
        Vec::new()
    }
}

/// Matches a line that was truncated with an ellipsis (`Documents and Set…`).
fn ellipsis_prefix(wanted: &FoldedText, line: &FoldedText) -> Vec<TextMatch> {
    let (wanted, line_text) = (wanted.text(), line.text());
    let Some(kept) = line_text
        .strip_suffix("...")
        .or_else(|| line_text.strip_suffix(".."))
    else {
        return Vec::new();
    };
    let kept_length = kept.chars().count();
    let is_cut = kept_length > MIN_PREFIX && wanted.starts_with(kept);
    // The share is that of the text here, because the line is the shorter one.
    let score = 0.70 + 0.08 * share(kept_length, wanted.chars().count());
    if is_cut {
        vec![TextMatch {
            tier: MatchTier::Prefix,
            score,
            range: 0..line.graphemes.len(),
        }]
    } else {
        Vec::new()
    }
}

/// Matches with a few characters that text recognition confuses. Digits must match exactly: `Tab 2` is not `Tab 3`.
fn fuzzy(wanted: &FoldedText, line: &FoldedText) -> Vec<TextMatch> {
    let allowed = wanted.len() / CHARACTERS_PER_ERROR;
    if allowed == 0 {
        return Vec::new();
    }
    let whole = fuzzy_score(wanted, &line.text(), &line.digits(), allowed);
    if let Some(score) = whole {
        return vec![TextMatch {
            tier: MatchTier::Fuzzy,
            score,
            range: line.graphemes_of(0..line.len()),
        }];
    }
    // Windows of one character more or less: a recognition error often merges two characters or splits one.
    let lengths = wanted.len().saturating_sub(1).max(1)..=wanted.len() + 1;
    let windows = lengths.flat_map(|length| {
        (0..line.len().saturating_sub(length)).map(move |start| start..start + length)
    });
    let best = windows
        .filter(|range| line.word_begins(range.start) && line.word_begins(range.end))
        .filter_map(|range| {
            let part = FoldedText {
                graphemes: Vec::new(),
                characters: line.characters[range.clone()].to_vec(),
            };
            fuzzy_score(wanted, &part.text(), &part.digits(), allowed)
                // A part of a line ranks below a whole line, and does not fall below 0.64.
                .map(|score| (score - 0.02, range))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(score, range)| TextMatch {
        tier: MatchTier::Fuzzy,
        score,
        range: line.graphemes_of(range),
    })
    .into_iter()
    .collect()
}

fn fuzzy_score(wanted: &FoldedText, text: &str, digits: &str, allowed: usize) -> Option<f64> {
    let wanted_text = wanted.text();
    let close = text.chars().count().abs_diff(wanted.len()) <= allowed
        && wanted.digits() == digits
        && misread_characters(&wanted_text, text).is_some_and(|number| number <= allowed);
    // The score of the tier `Fuzzy`; see `MatchTier`.
    close.then(|| 0.60 + 0.08 * strsim::normalized_damerau_levenshtein(&wanted_text, text))
}

/// Returns the number of characters that must have been misread for one text to be the other: letters of a similar shape, and
/// doubled letters that were read once. `None` if other letters differ.
fn misread_characters(wanted: &str, text: &str) -> Option<usize> {
    let (wanted, text): (Vec<char>, Vec<char>) = (wanted.chars().collect(), text.chars().collect());
    let is_doubled = |of: &[char], at: usize| at > 0 && of[at] == of[at - 1];
    // The edit distance with these edits only, row by row: `before[j]` is that of the first `i` and `j` characters.
    let mut before: Vec<Option<usize>> = vec![Some(0)];
    for at in 0..text.len() {
        let last = before[at].filter(|_| is_doubled(&text, at));
        before.push(last.map(|number| number + 1));
    }
    for (row, from) in wanted.iter().enumerate() {
        let mut now = vec![
            before[0]
                .filter(|_| is_doubled(&wanted, row))
                .map(|number| number + 1),
        ];
        for (at, to) in text.iter().enumerate() {
            let replaced = match from == to {
                true => before[at],
                false => before[at]
                    .filter(|_| is_similar_shape(*from, *to))
                    .map(|number| number + 1),
            };
            let dropped = before[at + 1].filter(|_| is_doubled(&wanted, row));
            let added = now[at].filter(|_| is_doubled(&text, at));
            let doubled = [dropped, added].map(|number| number.map(|number| number + 1));
            now.push(
                [replaced, doubled[0], doubled[1]]
                    .into_iter()
                    .flatten()
                    .min(),
            );
        }
        before = now;
    }
    before.pop().flatten()
}

/// Returns whether text recognition confuses two letters at small sizes. Look-alikes of other scripts are folded before.
fn is_similar_shape(one: char, other: char) -> bool {
    SIMILAR_SHAPES
        .iter()
        .any(|pair| *pair == [one, other] || *pair == [other, one])
}

/// Returns whether the matched part of the line has the same case as `wanted`.
pub(super) fn is_same_case(wanted: &FoldedText, line: &FoldedText, range: Range<usize>) -> bool {
    let letters = |graphemes: &[String]| {
        graphemes
            .concat()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
    };
    letters(&wanted.graphemes) == letters(&line.graphemes[range])
}

/// Returns the similarity of two texts for suggestions, 0 to 1. Jaro-Winkler finds shared prefixes; it is weighted down,
/// because it rates unrelated short texts highly.
pub(super) fn resemblance(wanted: &FoldedText, line: &FoldedText) -> f64 {
    strsim::normalized_damerau_levenshtein(&wanted.text(), &line.text())
        .max(strsim::jaro_winkler(&wanted.text(), &line.text()) * 0.8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, line: &str, expected: Option<(MatchTier, &str)>) {
        let line_folded = FoldedText::new(line);
        let found = compare(&FoldedText::new(wanted), &line_folded);
        let shown = found.first().map(|likeness| {
            (
                likeness.tier,
                line_folded.graphemes[likeness.range.clone()].concat(),
            )
        });
        assert_eq!(
            shown.as_ref().map(|(tier, text)| (*tier, text.as_str())),
            expected,
            "{wanted} in {line}"
        );
    }

    #[test]
    fn text_match_tiers_are_tried_in_order() {
        check("Save", "Save", Some((MatchTier::Exact, "Save")));
        check("save as", "Save As", Some((MatchTier::Exact, "Save As")));
        check("Save As", "SaveAs", Some((MatchTier::Exact, "SaveAs")));
        check("ＯＫ", "ok", Some((MatchTier::Exact, "ok")));
        check(
            "Café",
            "CAFE\u{301}",
            Some((MatchTier::Exact, "CAFE\u{301}")),
        );
        check(
            "Name",
            "Name:",
            Some((MatchTier::AlphanumericOnly, "Name:")),
        );
        check(
            "Name",
            "Name *",
            Some((MatchTier::AlphanumericOnly, "Name *")),
        );
        check(
            "姓名",
            "姓名：",
            Some((MatchTier::AlphanumericOnly, "姓名：")),
        );
        check(
            "Save As…",
            "Save As...",
            Some((MatchTier::Exact, "Save As...")),
        );
        check(
            "Save As…",
            "Save As",
            Some((MatchTier::AlphanumericOnly, "Save As")),
        );
        check(
            "Install",
            "lnstaII",
            Some((MatchTier::LookAlike, "lnstaII")),
        );
        check("Modern", "Modem", Some((MatchTier::LookAlike, "Modem")));
        check("Tab 10", "Tab lO", Some((MatchTier::LookAlike, "Tab lO")));
        check(
            "Search",
            "File Edit Search View",
            Some((MatchTier::WholeWords, "Search")),
        );
        check(
            "Save As",
            "File Save As Quit",
            Some((MatchTier::WholeWords, "Save As")),
        );
        check(
            "Edit",
            "FileEditView",
            Some((MatchTier::WholeWords, "Edit")),
        );
        check("Yes", "OYes ONo", Some((MatchTier::WholeWords, "Yes")));
        check(
            "Cancel",
            "Cancel|Save changes",
            Some((MatchTier::WholeWords, "Cancel")),
        );
        check(
            "I agree",
            "l agree to the terms",
            Some((MatchTier::WholeWords, "l agree")),
        );
        check(
            "保存",
            "文件保存退出",
            Some((MatchTier::WholeWords, "保存")),
        );
        check("Save", "Saved", Some((MatchTier::Prefix, "Saved")));
        check(
            "Documents and Settings",
            "Documents and Set…",
            Some((MatchTier::Prefix, "Documents and Set…")),
        );
        check(
            "Preferences",
            "Preterences",
            Some((MatchTier::Fuzzy, "Preterences")),
        );
        check("Settings", "Setings", Some((MatchTier::Fuzzy, "Setings")));
        check(
            "Preferences",
            "Edit Preterences Help",
            Some((MatchTier::Fuzzy, "Preterences")),
        );
        check("+", "+", Some((MatchTier::Exact, "+")));
        check("C++", "C++", Some((MatchTier::Exact, "C++")));
    }

    #[test]
    fn different_words_do_not_match() {
        for (wanted, line) in [
            ("Tab 2", "Tab 3"),
            ("Step 1", "Step 12"),
            ("Version 1", "Version 1.5"),
            ("Section #12", "Section #13"),
            ("Undo", "Redo"),
            ("Next", "Text"),
            ("Sign in", "Sign up"),
            ("ave", "Save"),
            ("Alise", "Alice"),
            ("Maria", "Marie"),
            ("Maria", "Mario"),
            ("Brian", "Brain"),
            ("Jon Smith", "John Smith"),
            ("删除张三的记录", "删除张二的记录"),
            ("打开文件", "打印文件"),
            ("it", "Edit"),
            ("", "Save"),
            ("Save", ""),
            ("+", "-"),
        ] {
            check(wanted, line, None);
        }
    }

    #[test]
    fn every_occurrence_is_found() {
        let found = compare(
            &FoldedText::new("Delete"),
            &FoldedText::new("Delete Delete x Delete"),
        );
        let starts: Vec<usize> = found.iter().map(|likeness| likeness.range.start).collect();
        assert_eq!(starts, [0, 7, 16]);
    }
}
