//! Verdicts against labels.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use motorium_proto::v1::common::{Effect, EffectVerdict};
use serde_json::{Value, json};

use crate::film::Label;

/// A clip and what was said of it; nothing if the loop never came to it.
#[derive(Debug, Clone)]
pub(crate) struct Judged {
    pub(crate) label: Label,
    pub(crate) effect: Option<Effect>,
}

/// How often the verdict was what.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    /// An effect, and said so.
    seen: usize,
    /// An effect, and said that there was none.
    missed: usize,
    /// None, and said that there was one.
    invented: usize,
    /// None, and said so.
    still: usize,
    /// Nothing was said.
    unknown: usize,
}

impl Tally {
    fn add(&mut self, had_effect: bool, said: Option<bool>) {
        *match (had_effect, said) {
            (_, None) => &mut self.unknown,
            (true, Some(true)) => &mut self.seen,
            (true, Some(false)) => &mut self.missed,
            (false, Some(true)) => &mut self.invented,
            (false, Some(false)) => &mut self.still,
        } += 1;
    }

    fn plus(&mut self, other: Self) {
        self.seen += other.seen;
        self.missed += other.missed;
        self.invented += other.invented;
        self.still += other.still;
        self.unknown += other.unknown;
    }

    /// Of what was said to have had an effect, so much had.
    fn precision(&self) -> f64 {
        share(self.seen, self.invented)
    }

    /// Of what had an effect, so much was said to have had one, where anything was said.
    fn recall(&self) -> f64 {
        share(self.seen, self.missed)
    }
}

fn share(right: usize, wrong: usize) -> f64 {
    right as f64 / ((right + wrong).max(1)) as f64
}

/// The score of many clips.
#[derive(Debug, Default)]
pub(crate) struct Score {
    all: Tally,
    /// Of those in which something moves anyway.
    moving: Tally,
    by_what: BTreeMap<String, Tally>,
    /// A line for each wrong verdict, and for each that says nothing.
    mistakes: Vec<String>,
    /// Clips of actions that are never judged.
    skipped: usize,
}

impl Score {
    pub(crate) fn add(&mut self, label: &Label, judged: Option<Judged>) {
        let Some(judged) = judged else {
            self.skipped += 1;
            return;
        };
        let verdict = judged.effect.as_ref().map(Effect::verdict);
        let said = verdict.and_then(says_effect);
        self.all.add(label.had_effect, said);
        if !label.moves_anyway.is_empty() {
            self.moving.add(label.had_effect, said);
        }
        let what = self.by_what.entry(label.what.clone()).or_default();
        what.add(label.had_effect, said);
        if said != Some(label.had_effect) {
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

    pub(crate) fn is_at_least(&self, least: f64) -> bool {
        self.all.precision() >= least && self.all.recall() >= least
    }

    /// What was done, and how it was judged.
    pub(crate) fn table(&self) -> String {
        let mut table = format!(
            "{:<32} {:>5} {:>6} {:>8} {:>5} {:>7}\n",
            "", "seen", "missed", "invented", "still", "unknown"
        );
        for (what, tally) in &self.by_what {
            let Tally {
                seen,
                missed,
                invented,
                still,
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
        let of = |tally: &Tally| {
            let thousandths = |share: f64| (share * 1000.0).round() / 1000.0;
            json!({
                "seen": tally.seen,
                "missed": tally.missed,
                "invented": tally.invented,
                "still": tally.still,
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

/// Whether a verdict says that there was an effect; nothing if it does not say.
fn says_effect(verdict: EffectVerdict) -> Option<bool> {
    match verdict {
        EffectVerdict::Confirmed | EffectVerdict::ChangedElsewhere => Some(true),
        EffectVerdict::NoEffect | EffectVerdict::EndReached => Some(false),
        EffectVerdict::Unknown | EffectVerdict::Unspecified => None,
    }
}
