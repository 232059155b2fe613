//! Precision and recall of verdicts against labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use motorium_proto::v1::common::{Effect, EffectVerdict};
use serde_json::{Value, json};

use crate::recording::ClipLabel;

/// A clip with its judged effect; `None` if the loop never judged it.
#[derive(Debug, Clone)]
pub(crate) struct JudgedClip {
    pub(crate) label: ClipLabel,
    pub(crate) effect: Option<Effect>,
}

/// Confusion matrix.
#[derive(Debug, Clone, Copy, Default)]
struct ConfusionCounts {
    /// True positives: an effect, detected.
    true_positives: usize,
    /// False negatives: an effect, judged as none.
    false_negatives: usize,
    /// False positives: no effect, judged as one.
    false_positives: usize,
    /// True negatives: no effect, judged as none.
    true_negatives: usize,
    /// Unknown verdicts.
    unknown: usize,
}

impl ConfusionCounts {
    fn add(&mut self, had_effect: bool, predicted: Option<bool>) {
        *match (had_effect, predicted) {
            (_, None) => &mut self.unknown,
            (true, Some(true)) => &mut self.true_positives,
            (true, Some(false)) => &mut self.false_negatives,
            (false, Some(true)) => &mut self.false_positives,
            (false, Some(false)) => &mut self.true_negatives,
        } += 1;
    }

    fn plus(&mut self, other: Self) {
        self.true_positives += other.true_positives;
        self.false_negatives += other.false_negatives;
        self.false_positives += other.false_positives;
        self.true_negatives += other.true_negatives;
        self.unknown += other.unknown;
    }

    /// Returns the share of detected effects that are real.
    fn precision(&self) -> f64 {
        share(self.true_positives, self.false_positives)
    }

    /// Returns the share of real effects that were detected, without unknown verdicts.
    fn recall(&self) -> f64 {
        share(self.true_positives, self.false_negatives)
    }
}

fn share(right: usize, wrong: usize) -> f64 {
    right as f64 / ((right + wrong).max(1)) as f64
}

/// Score of many clips.
#[derive(Debug, Default)]
pub(crate) struct EffectScore {
    all: ConfusionCounts,
    /// Clips with background motion only.
    moving: ConfusionCounts,
    by_what: BTreeMap<String, ConfusionCounts>,
    /// One line per wrong or unknown verdict.
    mistakes: Vec<String>,
    /// Number of clips whose action is never judged.
    skipped: usize,
}

impl EffectScore {
    pub(crate) fn add(&mut self, label: &ClipLabel, judged: Option<JudgedClip>) {
        let Some(judged) = judged else {
            self.skipped += 1;
            return;
        };
        let verdict = judged.effect.as_ref().map(Effect::verdict);
        let predicted = verdict.and_then(says_effect);
        self.all.add(label.had_effect, predicted);
        if !label.moves_anyway.is_empty() {
            self.moving.add(label.had_effect, predicted);
        }
        let what = self.by_what.entry(label.what.clone()).or_default();
        what.add(label.had_effect, predicted);
        if predicted != Some(label.had_effect) {
            let verdict = verdict.map_or("none", |verdict| verdict.as_str_name());
            let words = judged.effect.map(|effect| effect.explanation);
            let moves = judged.label.moves_anyway.join(" ");
            self.mistakes.push(format!(
                "{:<24} {:<28} effect {:<5} {verdict} ({}) [{moves}]",
                label.id,
                label.what,
                label.had_effect,
                words.unwrap_or_default()
            ));
        }
    }

    pub(crate) fn plus(mut self, other: Self) -> Self {
        self.all.plus(other.all);
        self.moving.plus(other.moving);
        for (what, tally) in other.by_what {
            self.by_what.entry(what).or_default().plus(tally);
        }
        self.mistakes.extend(other.mistakes);
        self.skipped += other.skipped;
        self
    }

    pub(crate) fn is_at_least(&self, min_score: f64) -> bool {
        self.all.precision() >= min_score && self.all.recall() >= min_score
    }

    /// Formats the counts by category, and the wrong verdicts.
    pub(crate) fn table(&self) -> String {
        let mut table = format!(
            "{:<32} {:>5} {:>6} {:>8} {:>5} {:>7}\n",
            "", "seen", "missed", "invented", "still", "unknown"
        );
        for (what, tally) in &self.by_what {
            let ConfusionCounts {
                true_positives: seen,
                false_negatives: missed,
                false_positives: invented,
                true_negatives: still,
                unknown,
            } = tally;
            let _ = writeln!(
                table,
                "{what:<32} {seen:>5} {missed:>6} {invented:>8} {still:>5} {unknown:>7}"
            );
        }
        let mut mistakes = self.mistakes.clone();
        mistakes.sort();
        for mistake in mistakes {
            let _ = writeln!(table, "{mistake}");
        }
        table
    }

    pub(crate) fn json(&self) -> Value {
        let of = |tally: &ConfusionCounts| {
            let thousandths = |share: f64| (share * 1000.0).round() / 1000.0;
            json!({
                "seen": tally.true_positives,
                "missed": tally.false_negatives,
                "invented": tally.false_positives,
                "still": tally.true_negatives,
                "unknown": tally.unknown,
                "precision": thousandths(tally.precision()),
                "recall": thousandths(tally.recall()),
            })
        };
        json!({
            "all": of(&self.all),
            "while_something_moves": of(&self.moving),
            "never_judged": self.skipped,
        })
    }
}

/// Returns whether a verdict reports an effect; `None` if it is unknown.
fn says_effect(verdict: EffectVerdict) -> Option<bool> {
    match verdict {
        EffectVerdict::Confirmed | EffectVerdict::ChangedElsewhere => Some(true),
        EffectVerdict::NoEffect | EffectVerdict::EndReached => Some(false),
        EffectVerdict::TargetMoved
        | EffectVerdict::TextDiffers
        | EffectVerdict::Unknown
        | EffectVerdict::Unspecified => None,
    }
}
