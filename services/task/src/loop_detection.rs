//! Loop detection: recognises that a task makes no progress, and chooses a mitigation.
//!
//! Pure, from the step records alone. Three patterns are detected: the same action or function call on the same unchanged
//! screen (repetition), the same sequence of screens and actions (cycle), and a series of steps without any change
//! (stagnation). A function need not change the screen: a result that it has not returned before counts as progress, up to a
//! limit. Mitigations escalate while the pattern persists: the planner is told, then the actions are blocked on that screen,
//! then the user is asked. User input restarts the count.

use std::collections::BTreeSet;

use motorium_messages::{Language, Message, join_list};
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::decision::{FunctionCall, Next, PlannedAction};
use motorium_proto::domain::effect::Verdict;
use serde_json::Value;

use super::fold::Task;
use super::record::StepRecord;
use super::screen::Fingerprint;

pub use super::loop_notice::{IssuedNotice, LoopNotice, LoopPattern, Mitigation};

/// Number of times the same action on the same unchanged screen counts as a repetition. Two may be a deliberate retry.
const MIN_REPETITIONS: usize = 3;
/// Number of times the same sequence of screens and actions counts as a cycle.
// As for repetitions: two turns may be deliberate.
const MIN_CYCLE_TURNS: usize = 3;
/// Maximum length of a detected cycle, in steps. Longer sequences are often real work over a list.
const MAX_CYCLE_LENGTH: usize = 4;
/// Maximum number of times that a new result of the same calls on the same screen counts as progress. Paging through a list
/// returns new results, but so does polling a clock.
const MAX_NEW_RESULTS_OF_SAME_CALLS: usize = 8;
/// Number of consecutive steps without a change that counts as stagnation. Twice the repetition limit, because the steps differ.
const STAGNATION_STEPS: usize = 6;
/// Number of steps after a mitigation before the next one is chosen.
// The planner needs a step to read the notice and one to try something else.
const STEPS_PER_MITIGATION: usize = 2;

/// The parts of a step that matter for loop detection.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Round {
    step: u32,
    screen: Fingerprint,
    /// Normalised form of the decided actions or calls.
    signature: String,
    intents: String,
    changed: bool,
}

/// Returns the notice to issue between two steps, or `None` if there is no loop or the last mitigation may still help.
#[must_use]
pub fn notice(task: &Task) -> Option<LoopNotice> {
    let rounds = rounds(task);
    let (pattern, intents) = pattern(&rounds)?;
    let earlier = active_notices(task, &rounds);
    let waits = earlier.last().is_some_and(|last| {
        rounds.iter().filter(|round| round.step > last.step).count() < STEPS_PER_MITIGATION
    });
    if waits {
        return None;
    }
    // Each measure is tried once, the least intrusive first. A person is asked last.
    let measure = match earlier.last().map(|last| last.measure) {
        None => Mitigation::NotifyPlanner,
        Some(Mitigation::NotifyPlanner) => Mitigation::BlockActions,
        Some(Mitigation::BlockActions | Mitigation::AskUser) => Mitigation::AskUser,
    };
    Some(LoopNotice {
        pattern,
        mitigation: measure,
        message: message(pattern, measure, &intents, task.spec.message_language()),
    })
}

/// Returns the reason why the open step's actions are blocked on its screen, or `None` if they are allowed.
#[must_use]
pub fn refusal(task: &Task) -> Option<String> {
    let step = task.open_step()?;
    let has_begun = !step.actions.is_empty() || !step.function_calls.is_empty();
    if has_begun || step.abandonment.is_some() {
        return None;
    }
    let rounds = rounds(task);
    let measure = active_notices(task, &rounds).last()?.measure;
    if measure < Mitigation::BlockActions {
        return None;
    }
    let acts = signature(step)?;
    let tried = rounds
        .iter()
        .filter(|round| round.screen == step.screen && round.signature == acts && !round.changed)
        .count();
    // Blocked from the third attempt on: after a mitigation, one more attempt may be the planner's correction.
    let language = task.spec.message_language();
    (tried >= 2).then(|| {
        let message = Message::LoopRefusal {
            intents: &intents(step, language),
            times: tried,
        };
        message.text(language)
    })
}

/// Returns the counted steps since the user's last input.
fn rounds(task: &Task) -> Vec<Round> {
    let counted = task
        .steps
        .iter()
        .filter(|step| step.number >= task.first_step_after_user_input);
    let mut rounds: Vec<Round> = Vec::new();
    let mut results = BTreeSet::new();
    for step in counted {
        let Some(mut round) = round(step, task.spec.message_language()) else {
            continue;
        };
        let has_new_result = has_new_results(step, &mut results);
        let before = rounds.iter().filter(|before| is_same(before, &round));
        round.changed |= has_new_result && before.count() < MAX_NEW_RESULTS_OF_SAME_CALLS;
        rounds.push(round);
    }
    rounds
}

/// Returns true if one of its calls returned a result for the first time. Failures do not count.
fn has_new_results(step: &StepRecord, known: &mut BTreeSet<String>) -> bool {
    let answered = step.function_calls.iter().zip(&step.function_results);
    let given = answered.filter_map(|(call, result)| {
        let json = result.outcome.as_ref().ok()?;
        Some(format!("{} {json}", call_signature(call)))
    });
    // No short circuit: all results have to be recorded, not only those up to the first new one.
    let mut has_new_result = false;
    for result in given {
        has_new_result |= known.insert(result);
    }
    has_new_result
}

fn round(step: &StepRecord, language: Language) -> Option<Round> {
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
        signature: acts,
        intents: intents(step, language),
        changed,
    })
}

/// Returns the normalised form of a decision, or `None` if it cannot be part of a loop. Waiting is not: it may take long, and
/// the time limit bounds it.
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

/// Returns the decided function calls.
fn calls(step: &StepRecord) -> &[FunctionCall] {
    match step.decision.as_ref().map(|decision| &decision.next) {
        Some(Next::CallFunctions(calls)) => calls,
        _ => &[],
    }
}

/// Returns the function and its arguments as normalised JSON. The model's call id is left out, because it differs every time.
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

fn intents(step: &StepRecord, language: Language) -> String {
    let actions = step.planned().iter().map(|planned| planned.intent.clone());
    let calls = calls(step)
        .iter()
        .map(|call| Message::CallFunction { name: &call.name }.text(language));
    join_list(&actions.chain(calls).collect::<Vec<_>>(), language)
}

/// Returns the notices that still apply. A change to a screen that is new since a notice cancels it.
fn active_notices(task: &Task, rounds: &[Round]) -> Vec<IssuedNotice> {
    let is_cancelled = |noticed: &IssuedNotice| {
        let (before, after): (Vec<_>, Vec<_>) =
            rounds.iter().partition(|round| round.step <= noticed.step);
        let known: BTreeSet<Fingerprint> = before.iter().map(|round| round.screen).collect();
        after
            .iter()
            .any(|round| round.changed && !known.contains(&round.screen))
    };
    let counted = task
        .loop_notices
        .iter()
        .filter(|noticed| noticed.step >= task.first_step_after_user_input);
    counted
        .filter(|noticed| !is_cancelled(noticed))
        .copied()
        .collect()
}

/// Returns the pattern of the last steps and the intents in it.
fn pattern(rounds: &[Round]) -> Option<(LoopPattern, String)> {
    let last = rounds.last()?;
    let in_vain = |round: &&Round| is_same(round, last) && !round.changed;
    let same = rounds.iter().rev().take_while(in_vain).count();
    if same >= MIN_REPETITIONS {
        return Some((LoopPattern::Repetition, last.intents.clone()));
    }
    // Shortest period first: two turns of a sequence of two are a sequence of four as well. Period 1 is a repetition,
    // found above.
    if let Some(period) = (2..=MAX_CYCLE_LENGTH).find(|period| is_cycle(rounds, *period)) {
        let turn: Vec<&str> = rounds[rounds.len() - period..]
            .iter()
            .map(|round| round.intents.as_str())
            .collect();
        return Some((LoopPattern::Cycle, turn.join(", ")));
    }
    let idle = rounds
        .iter()
        .rev()
        .take_while(|round| !round.changed)
        .count();
    (idle >= STAGNATION_STEPS).then(|| (LoopPattern::Stagnation, last.intents.clone()))
}

fn is_same(one: &Round, other: &Round) -> bool {
    one.screen == other.screen && one.signature == other.signature
}

fn is_cycle(rounds: &[Round], period: usize) -> bool {
    let length = period * MIN_CYCLE_TURNS;
    let Some(start) = rounds.len().checked_sub(length) else {
        return false;
    };
    let turns = &rounds[start..];
    // Repeated keys on one screen, such as moving down a list, are work. Only changing screens form a cycle.
    let varied = turns[1..period]
        .iter()
        .any(|round| round.screen != turns[0].screen);
    let mut pairs = turns.iter().zip(&turns[period..]);
    varied && pairs.all(|(one, other)| is_same(one, other))
}

fn message(pattern: LoopPattern, measure: Mitigation, intents: &str, language: Language) -> String {
    let pattern = match pattern {
        LoopPattern::Repetition => Message::LoopRepetition { intents },
        LoopPattern::Cycle => Message::LoopCycle { intents },
        LoopPattern::Stagnation => Message::LoopStagnation {
            steps: STAGNATION_STEPS,
            intents,
        },
    };
    let pattern = &pattern.text(language);
    let message = match measure {
        Mitigation::NotifyPlanner => Message::LoopAdvice { pattern },
        Mitigation::BlockActions => Message::LoopBlocked { pattern },
        Mitigation::AskUser => Message::LoopQuestion { pattern },
    };
    message.text(language)
}
