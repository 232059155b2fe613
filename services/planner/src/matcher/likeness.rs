//! How alike a text that is looked for and a line that was read are. Differences that people and text recognition
//! make are forgiven in this order: case, width and spaces; punctuation; look-alike characters; more words on the
//! same line; a cut-off end; single wrong characters.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// How a text matches, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tier {
    Fuzzy,
    Prefix,
    WholeWords,
    LookAlike,
    Bare,
    Exact,
}

/// A match of a text in a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Likeness {
    pub(super) tier: Tier,
    /// 0 to 1.
    pub(super) score: f64,
    /// The graphemes of the line that match.
    pub(super) range: Range<usize>,
}

/// A text with all that is forgiven taken out, and the grapheme each of its characters came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folded {
    graphemes: Vec<String>,
    characters: Vec<(char, usize)>,
}

impl Folded {
    /// Folds case, width, compatibility forms and spaces.
    pub(super) fn new(text: &str) -> Self {
        let graphemes: Vec<String> = text.graphemes(true).map(str::to_owned).collect();
        let folded = |(index, grapheme): (usize, &String)| {
            let characters: Vec<char> = grapheme
                .nfkc()
                .flat_map(char::to_lowercase)
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

    /// What it was made of.
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

    /// Without anything but letters and digits; as it is if there are none.
    fn bare(&self) -> Self {
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

    /// With characters that are easily taken for one another made the same.
    fn skeleton(&self) -> Self {
        let mut characters: Vec<(char, usize)> = Vec::with_capacity(self.len());
        for &(character, index) in &self.characters {
            let alike = match character {
                '0' => 'o',
                '1' | 'i' | '|' | '!' => 'l',
                other => other,
            };
            match (characters.last().map(|(last, _)| *last), alike) {
                (Some('r'), 'n') => characters.last_mut().expect("there is a last one").0 = 'm',
                (Some('v'), 'v') => characters.last_mut().expect("there is a last one").0 = 'w',
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

    /// The graphemes behind the characters of `range`.
    fn graphemes_of(&self, range: Range<usize>) -> Range<usize> {
        match (
            self.characters.get(range.start),
            self.characters.get(range.end.saturating_sub(1)),
        ) {
            (Some((_, first)), Some((_, last))) if !range.is_empty() => *first..*last + 1,
            _ => 0..self.graphemes.len(),
        }
    }

    /// Where `needle` stands in it, by characters.
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
            .collect()
    }

    /// Whether a word begins at the character `at`.
    fn word_begins(&self, at: usize) -> bool {
        let (Some((next, index)), Some((before, before_index))) = (
            self.characters.get(at),
            at.checked_sub(1).map(|at| self.characters[at]),
        ) else {
            return true;
        };
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

/// Variants of punctuation that mean the same.
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

/// Whether words of the character's script stand without spaces.
fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{2E80}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{323AF}')
}

/// Shorter texts are not looked for by their beginning alone.
const MIN_PREFIX: usize = 3;
/// One wrong character is forgiven for so many right ones.
const CHARACTERS_PER_ERROR: usize = 5;

/// How `wanted` matches in `line`: every place where it does equally well. Empty if it does not.
pub(super) fn compare(wanted: &Folded, line: &Folded) -> Vec<Likeness> {
    if wanted.is_empty() || line.is_empty() {
        return Vec::new();
    }
    let whole = |tier, score| {
        vec![Likeness {
            tier,
            score,
            range: 0..line.graphemes.len(),
        }]
    };
    if wanted.text() == line.text() {
        return whole(Tier::Exact, 1.0);
    }
    let (bare_wanted, bare_line) = (wanted.bare(), line.bare());
    if bare_wanted.text() == bare_line.text() {
        return whole(Tier::Bare, 0.98);
    }
    if bare_wanted.skeleton().text() == bare_line.skeleton().text() {
        return whole(Tier::LookAlike, 0.92);
    }
    let attempts = [
        whole_words(wanted, line),
        whole_words(&bare_wanted, &bare_line),
        whole_words(&bare_wanted.skeleton(), &bare_line.skeleton()),
        beginning(&bare_wanted, &bare_line),
        elided(wanted, line),
        fuzzy(&bare_wanted, &bare_line),
    ];
    attempts
        .into_iter()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// The share that one text takes of another, 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "lines are short")]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn whole_words(wanted: &Folded, line: &Folded) -> Vec<Likeness> {
    let is_words =
        |range: &Range<usize>| line.word_begins(range.start) && line.word_begins(range.end);
    let score = 0.80 + 0.08 * share(wanted.len(), line.len());
    let likeness = |range| Likeness {
        tier: Tier::WholeWords,
        score,
        range: line.graphemes_of(range),
    };
    line.occurrences(wanted)
        .into_iter()
        .filter(is_words)
        .map(likeness)
        .collect()
}

/// The line goes on where the text ends (`Save` in `Saved`).
fn beginning(wanted: &Folded, line: &Folded) -> Vec<Likeness> {
    let begins = wanted.len() >= MIN_PREFIX
        && line
            .occurrences(wanted)
            .first()
            .is_some_and(|range| range.start == 0);
    let score = 0.70 + 0.08 * share(wanted.len(), line.len());
    let range = line.graphemes_of(0..line.len());
    if begins {
        vec![Likeness {
            tier: Tier::Prefix,
            score,
            range,
        }]
    } else {
        Vec::new()
    }
}

/// The line was cut off with an ellipsis (`Documents and Set…`).
fn elided(wanted: &Folded, line: &Folded) -> Vec<Likeness> {
    let (wanted, line_text) = (wanted.text(), line.text());
    let Some(kept) = line_text
        .strip_suffix("...")
        .or_else(|| line_text.strip_suffix(".."))
    else {
        return Vec::new();
    };
    let kept_length = kept.chars().count();
    let is_cut = kept_length > MIN_PREFIX && wanted.starts_with(kept);
    let score = 0.70 + 0.08 * share(kept_length, wanted.chars().count());
    if is_cut {
        vec![Likeness {
            tier: Tier::Prefix,
            score,
            range: 0..line.graphemes.len(),
        }]
    } else {
        Vec::new()
    }
}

/// A few characters are wrong. Digits never are: `Tab 2` is not `Tab 3`.
fn fuzzy(wanted: &Folded, line: &Folded) -> Vec<Likeness> {
    let allowed = wanted.len() / CHARACTERS_PER_ERROR;
    if allowed == 0 {
        return Vec::new();
    }
    let whole = fuzzy_score(wanted, &line.text(), &line.digits(), allowed);
    if let Some(score) = whole {
        return vec![Likeness {
            tier: Tier::Fuzzy,
            score,
            range: line.graphemes_of(0..line.len()),
        }];
    }
    let lengths = wanted.len().saturating_sub(1).max(1)..=wanted.len() + 1;
    let windows = lengths.flat_map(|length| {
        (0..line.len().saturating_sub(length)).map(move |start| start..start + length)
    });
    let best = windows
        .filter(|range| line.word_begins(range.start) && line.word_begins(range.end))
        .filter_map(|range| {
            let part = Folded {
                graphemes: Vec::new(),
                characters: line.characters[range.clone()].to_vec(),
            };
            fuzzy_score(wanted, &part.text(), &part.digits(), allowed)
                .map(|score| (score - 0.02, range))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(score, range)| Likeness {
        tier: Tier::Fuzzy,
        score,
        range: line.graphemes_of(range),
    })
    .into_iter()
    .collect()
}

fn fuzzy_score(wanted: &Folded, text: &str, digits: &str, allowed: usize) -> Option<f64> {
    let wanted_text = wanted.text();
    let close = text.chars().count().abs_diff(wanted.len()) <= allowed
        && wanted.digits() == digits
        && strsim::damerau_levenshtein(&wanted_text, text) <= allowed;
    close.then(|| 0.60 + 0.08 * strsim::normalized_damerau_levenshtein(&wanted_text, text))
}

/// Whether the matched part of the line has the letters of `wanted` in the same upper and lower case.
pub(super) fn same_case(wanted: &Folded, line: &Folded, range: Range<usize>) -> bool {
    let letters = |graphemes: &[String]| {
        graphemes
            .concat()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
    };
    letters(&wanted.graphemes) == letters(&line.graphemes[range])
}

/// How much of one text is in another, for naming what comes nearest: 0 to 1.
pub(super) fn resemblance(wanted: &Folded, line: &Folded) -> f64 {
    strsim::normalized_damerau_levenshtein(&wanted.text(), &line.text())
        .max(strsim::jaro_winkler(&wanted.text(), &line.text()) * 0.8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, line: &str, expected: Option<(Tier, &str)>) {
        let line_folded = Folded::new(line);
        let found = compare(&Folded::new(wanted), &line_folded);
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
    fn differences_are_forgiven_in_order() {
        check("Save", "Save", Some((Tier::Exact, "Save")));
        check("save as", "Save As", Some((Tier::Exact, "Save As")));
        check("Save As", "SaveAs", Some((Tier::Exact, "SaveAs")));
        check("ＯＫ", "ok", Some((Tier::Exact, "ok")));
        check("Café", "CAFE\u{301}", Some((Tier::Exact, "CAFE\u{301}")));
        check("Name", "Name:", Some((Tier::Bare, "Name:")));
        check("Name", "Name *", Some((Tier::Bare, "Name *")));
        check("姓名", "姓名：", Some((Tier::Bare, "姓名：")));
        check("Save As…", "Save As...", Some((Tier::Exact, "Save As...")));
        check("Save As…", "Save As", Some((Tier::Bare, "Save As")));
        check("Install", "lnstaII", Some((Tier::LookAlike, "lnstaII")));
        check("Modern", "Modem", Some((Tier::LookAlike, "Modem")));
        check("Tab 10", "Tab lO", Some((Tier::LookAlike, "Tab lO")));
        check(
            "Search",
            "File Edit Search View",
            Some((Tier::WholeWords, "Search")),
        );
        check(
            "Save As",
            "File Save As Quit",
            Some((Tier::WholeWords, "Save As")),
        );
        check("Edit", "FileEditView", Some((Tier::WholeWords, "Edit")));
        check("Yes", "OYes ONo", Some((Tier::WholeWords, "Yes")));
        check(
            "Cancel",
            "Cancel|Save changes",
            Some((Tier::WholeWords, "Cancel")),
        );
        check(
            "I agree",
            "l agree to the terms",
            Some((Tier::WholeWords, "l agree")),
        );
        check("保存", "文件保存退出", Some((Tier::WholeWords, "保存")));
        check("Save", "Saved", Some((Tier::Prefix, "Saved")));
        check(
            "Documents and Settings",
            "Documents and Set…",
            Some((Tier::Prefix, "Documents and Set…")),
        );
        check(
            "Preferences",
            "Preterences",
            Some((Tier::Fuzzy, "Preterences")),
        );
        check(
            "Preferences",
            "Edit Preterences Help",
            Some((Tier::Fuzzy, "Preterences")),
        );
        check("+", "+", Some((Tier::Exact, "+")));
        check("C++", "C++", Some((Tier::Exact, "C++")));
    }

    #[test]
    fn what_means_something_else_does_not_match() {
        for (wanted, line) in [
            ("Tab 2", "Tab 3"),
            ("Section #12", "Section #13"),
            ("Undo", "Redo"),
            ("Next", "Text"),
            ("Sign in", "Sign up"),
            ("ave", "Save"),
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
            &Folded::new("Delete"),
            &Folded::new("Delete Delete x Delete"),
        );
        let starts: Vec<usize> = found.iter().map(|likeness| likeness.range.start).collect();
        assert_eq!(starts, [0, 7, 16]);
    }
}
