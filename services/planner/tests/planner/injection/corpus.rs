//! Precision and recall of the detection, on a corpus of attacks and harmless texts in English and Chinese.
//!
//! The word lists are tuned on one half. The other half measures them: a measurement that fails does not print the lines that
//! are missed, which keeps them out of the tuning.

use std::collections::BTreeSet;
use std::fmt;

use super::{quotes, reading};

const TUNING: &str = include_str!("../../fixtures/injection/tuning.tsv");
const HELD_OUT: &str = include_str!("../../fixtures/injection/held_out.tsv");
const POLICY_DOCUMENT: &str = include_str!("../../../../../docs/policy.md");

/// Minimum number of lines per language and label in each half.
const MIN_LINES: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    English,
    Chinese,
}

/// A line of the corpus: label, language, category and text.
#[derive(Debug, Clone, Copy)]
struct Sample {
    is_attack: bool,
    language: Language,
    text: &'static str,
}

impl Sample {
    fn parse(line: &'static str) -> Self {
        let [label, language, _category, text] = line
            .split('\t')
            .collect::<Vec<_>>()
            .try_into()
            .unwrap_or_else(|columns| panic!("not four columns: {columns:?}"));
        Self {
            is_attack: match label {
                "attack" => true,
                "harmless" => false,
                _ => panic!("unknown label {label:?}"),
            },
            language: match language {
                "en" => Language::English,
                "zh" => Language::Chinese,
                _ => panic!("unknown language {language:?}"),
            },
            text,
        }
    }

    fn is_found(&self) -> bool {
        !quotes(&reading(&[self.text])).is_empty()
    }
}

fn samples(half: &'static str) -> Vec<Sample> {
    half.lines().map(Sample::parse).collect()
}

/// Returns the attacks of both halves.
pub(super) fn attacks() -> Vec<&'static str> {
    let samples = [samples(TUNING), samples(HELD_OUT)].concat();
    let attacks = samples.iter().filter(|sample| sample.is_attack);
    attacks.map(|sample| sample.text).collect()
}

/// Numbers of lines by label and outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Score {
    found: usize,
    missed: usize,
    false_positives: usize,
    true_negatives: usize,
}

impl Score {
    fn of(half: &'static str, language: Language) -> Self {
        let mut score = Self::default();
        let samples = samples(half).into_iter();
        for sample in samples.filter(|sample| sample.language == language) {
            *match (sample.is_attack, sample.is_found()) {
                (true, true) => &mut score.found,
                (true, false) => &mut score.missed,
                (false, true) => &mut score.false_positives,
                (false, false) => &mut score.true_negatives,
            } += 1;
        }
        score
    }

    fn precision(self) -> f64 {
        share(self.found, self.found + self.false_positives)
    }

    fn recall(self) -> f64 {
        share(self.found, self.found + self.missed)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a corpus has some hundred lines"
)]
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// A row of the table in `docs/policy.md`, without the name of the half and the language.
impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} | {} | {:.2} | {:.2} |",
            self.found + self.missed,
            self.false_positives + self.true_negatives,
            self.precision(),
            self.recall()
        )
    }
}

const MEASURED: [(&str, &str, Language); 4] = [
    ("held out, English", HELD_OUT, Language::English),
    ("held out, Chinese", HELD_OUT, Language::Chinese),
    ("tuning, English", TUNING, Language::English),
    ("tuning, Chinese", TUNING, Language::Chinese),
];

#[test]
fn both_halves_have_enough_lines_and_share_none() {
    for (name, half, language) in MEASURED {
        let samples = samples(half).into_iter();
        let samples = samples.filter(|sample| sample.language == language);
        let (attacks, harmless): (Vec<_>, Vec<_>) = samples.partition(|sample| sample.is_attack);
        assert!(
            attacks.len() >= MIN_LINES,
            "{name}: {} attacks",
            attacks.len()
        );
        assert!(
            harmless.len() >= MIN_LINES,
            "{name}: {} harmless",
            harmless.len()
        );
    }
    let all = [samples(TUNING), samples(HELD_OUT)].concat();
    let different: BTreeSet<&str> = all.iter().map(|sample| sample.text).collect();
    assert_eq!(different.len(), all.len());
}

/// Asserts minimum precision and recall.
#[track_caller]
fn check(half: &'static str, language: Language, min_precision: f64, min_recall: f64) {
    let score = Score::of(half, language);
    assert!(score.precision() >= min_precision, "precision of {score:?}");
    assert!(score.recall() >= min_recall, "recall of {score:?}");
}

#[test]
fn precision_and_recall_do_not_fall_below_their_floors() {
    // The held-out attacks avoid the stock phrases of the lists. They measure how far the lists generalise.
    check(HELD_OUT, Language::English, 0.85, 0.15);
    check(HELD_OUT, Language::Chinese, 0.75, 0.10);
    check(TUNING, Language::English, 0.90, 0.85);
    check(TUNING, Language::Chinese, 0.90, 0.85);
}

#[test]
fn the_published_figures_are_those_of_the_corpus() {
    let rows =
        MEASURED.map(|(name, half, language)| format!("| {name} | {}", Score::of(half, language)));
    for row in rows {
        assert!(
            POLICY_DOCUMENT.contains(&row),
            "docs/policy.md lacks: {row}"
        );
    }
}
