//! Noticing that a task goes round in circles, and what is done about it.
//!
//! Pure, from the record alone. Three patterns: the same action or function call on the same screen that does not change
//! it; the same screens and actions in turn; nothing that was tried changing anything. A function need change nothing on
//! the screen: a result that it has not given before is something new as well, but not for ever. Three measures, one after the other while it
//! goes on: the planner is told, then what did not help is not performed on that screen any more, then the user is
//! asked. Whatever the user says begins a new count.

use std::collections::BTreeSet;

use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::decision::{FunctionCall, Next, PlannedAction};
use motorium_proto::domain::effect::Verdict;
use serde_json::Value;

use super::fold::Task;
use super::record::StepRecord;
use super::screen::Fingerprint;

/// The same action on the same unchanged screen so often is a repetition.
const REPETITION: usize = 3;
/// Screens and actions that come back in the same order so often are a cycle.
const CYCLE_TURNS: usize = 3;
/// The longest cycle that is looked for, in steps.
const LONGEST_CYCLE: usize = 4;
/// Results of the same calls on the same screen are news so often, each unlike the ones before: somebody may walk through a
/// list, but a clock that is asked again and again says something else each time, too.
const NEWS_OF_THE_SAME_CALLS: usize = 8;
/// So many steps in a row that changed nothing are a stagnation.
const STAGNATION: usize = 6;
/// Steps that a measure is given to help before the next one.
const PATIENCE: usize = 2;

/// What was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    Repetition,
    Cycle,
    Stagnation,
}

/// What is done about it, from mild to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// The planner is told.
    Tell,
    /// What did not help is not performed on its screen any more.
    Forbid,
    /// The user is asked.
    Ask,
}

/// A pattern and its measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub pattern: Pattern,
    pub measure: Measure,
    /// For the planner, the user and whoever watches.
    pub message: String,
}

/// One notice of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noticed {
    pub measure: Measure,
    /// The last step that had begun then.
    pub step: u32,
}

/// A step as far as going round in circles goes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Round {
    step: u32,
    screen: Fingerprint,
    /// What was decided.
    acts: String,
    intents: String,
    changed: bool,
}

/// What is to be said now, between two steps; `None` if nothing is the matter or the last measure may still help.
#[must_use]
pub fn notice(task: &Task) -> Option<Notice> {
    let rounds = rounds(task);
    let (pattern, intents) = pattern(&rounds)?;
    let earlier = in_force(task, &rounds);
    let waits = earlier.last().is_some_and(|last| {
        rounds.iter().filter(|round| round.step > last.step).count() < PATIENCE
    });
    if waits {
        return None;
    }
    let measure = match earlier.last().map(|last| last.measure) {
        None => Measure::Tell,
        Some(Measure::Tell) => Measure::Forbid,
        Some(Measure::Forbid | Measure::Ask) => Measure::Ask,
    };
    Some(Notice {
        pattern,
        measure,
        message: message(pattern, measure, &intents),
    })
}

/// Why these actions are not performed on the open step's screen; `None` if they may be.
#[must_use]
pub fn refusal(task: &Task) -> Option<String> {
    let step = task.open_step()?;
    let has_begun = !step.actions.is_empty() || !step.function_calls.is_empty();
    if has_begun || step.missed.is_some() {
        return None;
    }
    let rounds = rounds(task);
    let measure = in_force(task, &rounds).last()?.measure;
    if measure < Measure::Forbid {
        return None;
    }
    let acts = signature(step)?;
    let tried = rounds
        .iter()
        .filter(|round| round.screen == step.screen && round.acts == acts && !round.changed)
        .count();
    (tried >= 2).then(|| {
        format!(
            "{} was not performed: it has been tried {tried} times on this screen and did not help; \
             choose another way",
            intents(step)
        )
    })
}

/// The steps that count, since the user last said something.
fn rounds(task: &Task) -> Vec<Round> {
    let counted = task
        .steps
        .iter()
        .filter(|step| step.number >= task.heard_from_step);
    let mut rounds: Vec<Round> = Vec::new();
    let mut results = BTreeSet::new();
    for step in counted {
        let Some(mut round) = round(step) else {
            continue;
        };
        let is_news = has_new_results(step, &mut results);
        let before = rounds.iter().filter(|before| is_same(before, &round));
        round.changed |= is_news && before.count() < NEWS_OF_THE_SAME_CALLS;
        rounds.push(round);
    }
    rounds
}

/// Whether one of its calls gave a result that it had not given before. That a call failed is none.
fn has_new_results(step: &StepRecord, known: &mut BTreeSet<String>) -> bool {
    let answered = step.function_calls.iter().zip(&step.function_results);
    let given = answered.filter_map(|(call, result)| {
        let json = result.outcome.as_ref().ok()?;
        Some(format!("{} {json}", call_signature(call)))
    });
    // All of them are taken in, not only those up to the first new one.
    let mut is_news = false;
    for result in given {
        is_news |= known.insert(result);
    }
    is_news
}

fn round(step: &StepRecord) -> Option<Round> {
    step.ended_at?;
    let acts = signature(step)?;
    let changed = step.actions.iter().any(|action| {
        let verdict = action.effect.as_ref().map(|effect| effect.verdict);
        matches!(
            verdict,
            Some(Verdict::Confirmed | Verdict::ChangedElsewhere)
        )
    });
    Some(Round {
        step: step.number,
        screen: step.screen,
        acts,
        intents: intents(step),
        changed,
    })
}

/// Names what was decided; `None` if it was nothing that could go round in circles. Waiting is not: some things take
/// their time, and the limits hold.
fn signature(step: &StepRecord) -> Option<String> {
    match calls(step) {
        [] => signature_of_actions(step.planned()),
        calls => Some(
            calls
                .iter()
                .map(call_signature)
                .collect::<Vec<_>>()
                .join("\n"),
        ),
    }
}

/// The function calls that were decided.
fn calls(step: &StepRecord) -> &[FunctionCall] {
    match step.decision.as_ref().map(|decision| &decision.next) {
        Some(Next::CallFunctions(calls)) => calls,
        _ => &[],
    }
}

/// Function and arguments, however the arguments are set out. The model's id of the call is another each time.
fn call_signature(call: &FunctionCall) -> String {
    let arguments = serde_json::from_str::<Value>(&call.arguments_json);
    let arguments = arguments.map(|arguments| arguments.to_string());
    let arguments = arguments.unwrap_or_else(|_| call.arguments_json.trim().to_owned());
    format!("call {} {arguments}", call.name)
}

fn signature_of_actions(planned: &[PlannedAction]) -> Option<String> {
    let acts = planned
        .iter()
        .any(|planned| planned.action.kind() != ActionKind::Wait);
    let actions: Vec<_> = planned.iter().map(|planned| &planned.action).collect();
    acts.then(|| format!("{actions:?}"))
}

fn intents(step: &StepRecord) -> String {
    let actions = step.planned().iter().map(|planned| planned.intent.clone());
    let calls = calls(step).iter().map(|call| format!("call {}", call.name));
    actions.chain(calls).collect::<Vec<_>>().join(", ")
}

/// The notices after which nothing new has happened: a screen that had not been seen before undoes them.
fn in_force(task: &Task, rounds: &[Round]) -> Vec<Noticed> {
    let news = |noticed: &Noticed| {
        let (before, after): (Vec<_>, Vec<_>) =
            rounds.iter().partition(|round| round.step <= noticed.step);
        let known: BTreeSet<Fingerprint> = before.iter().map(|round| round.screen).collect();
        after
            .iter()
            .any(|round| round.changed && !known.contains(&round.screen))
    };
    let counted = task
        .loops_noticed
        .iter()
        .filter(|noticed| noticed.step >= task.heard_from_step);
    counted.filter(|noticed| !news(noticed)).copied().collect()
}

/// The pattern that the last rounds show, and what was done in it.
fn pattern(rounds: &[Round]) -> Option<(Pattern, String)> {
    let last = rounds.last()?;
    let in_vain = |round: &&Round| is_same(round, last) && !round.changed;
    let same = rounds.iter().rev().take_while(in_vain).count();
    if same >= REPETITION {
        return Some((Pattern::Repetition, last.intents.clone()));
    }
    if let Some(period) = (2..=LONGEST_CYCLE).find(|period| is_cycle(rounds, *period)) {
        let turn: Vec<&str> = rounds[rounds.len() - period..]
            .iter()
            .map(|round| round.intents.as_str())
            .collect();
        return Some((Pattern::Cycle, turn.join(", ")));
    }
    let idle = rounds
        .iter()
        .rev()
        .take_while(|round| !round.changed)
        .count();
    (idle >= STAGNATION).then(|| (Pattern::Stagnation, last.intents.clone()))
}

fn is_same(one: &Round, other: &Round) -> bool {
    one.screen == other.screen && one.acts == other.acts
}

fn is_cycle(rounds: &[Round], period: usize) -> bool {
    let length = period * CYCLE_TURNS;
    let Some(start) = rounds.len().checked_sub(length) else {
        return false;
    };
    let turns = &rounds[start..];
    // Keys that go down a list on one screen are work; screens that come back are a cycle.
    let varied = turns[1..period]
        .iter()
        .any(|round| round.screen != turns[0].screen);
    let mut pairs = turns.iter().zip(&turns[period..]);
    varied && pairs.all(|(one, other)| is_same(one, other))
}

fn message(pattern: Pattern, measure: Measure, intents: &str) -> String {
    let what = match pattern {
        Pattern::Repetition => {
            format!("{intents} has been tried again and again and changes nothing")
        }
        Pattern::Cycle => format!("the same comes again and again ({intents})"),
        Pattern::Stagnation => {
            format!(
                "nothing of the last {STAGNATION} steps has changed anything (the last: {intents})"
            )
        }
    };
    match measure {
        Measure::Tell => format!("{what}; consider another way"),
        Measure::Forbid => {
            format!("{what}; it is not performed on this screen any more: choose another way")
        }
        Measure::Ask => format!("{what}. How shall I go on?"),
    }
}
