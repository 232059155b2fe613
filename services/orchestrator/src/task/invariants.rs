//! What must be true of every task's log, as a pure function: for debug builds, for the model checker, for chaos.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::effect::{ActionResult, Verdict};
use motorium_proto::domain::id::ActionId;

use super::approval::ApprovalState;
use super::event::{ActionIntended, Event, Recorded};

/// What is known of an action so far.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    result: Option<ActionResult>,
    /// It was performed and had no effect, so that it may be repeated.
    in_vain: bool,
    /// That it is tried again was written down.
    due_again: bool,
}

/// What a log breaks; `None` if it keeps everything.
#[must_use]
pub fn broken(log: &[Recorded]) -> Option<String> {
    let mut actions: BTreeMap<&ActionId, Known> = BTreeMap::new();
    let mut retried: BTreeSet<&ActionId> = BTreeSet::new();
    // By step and place in it: the state of the approval that was asked for last.
    let mut approvals: BTreeMap<String, ApprovalState> = BTreeMap::new();
    let mut ended = false;
    for (recorded, number) in log.iter().zip(1..) {
        let at = |what: &str| Some(format!("event {number}: {what}"));
        if recorded.seq.0 != number {
            return at("has another number");
        }
        if matches!(recorded.event, Event::Created(_)) != (number == 1) {
            return at("a log begins with its creation, and only there");
        }
        if ended && !matches!(recorded.event, Event::ResultFetched { .. }) {
            return at("the task had ended");
        }
        match &recorded.event {
            Event::ActionIntended(intended) => {
                if let Some(what) = wrong_intent(intended, &actions, &retried) {
                    return at(what);
                }
                let approval = approvals.get(&place_of_action(&intended.action_id));
                if approval.is_some_and(|state| *state != ApprovalState::Approved) {
                    return at("it was not approved");
                }
                retried.extend(&intended.retry_of);
                actions.insert(&intended.action_id, Known::default());
            }
            Event::ActionPerformed { action_id, outcome } => match actions.get_mut(action_id) {
                None => return at("an outcome without an intent"),
                Some(known) if known.result.is_some() => return at("a second outcome"),
                Some(known) => {
                    known.result = Some(outcome.result);
                    known.in_vain = outcome.never_happened();
                }
            },
            Event::EffectJudged { action_id, effect } => {
                if let Some(known) = actions.get_mut(action_id) {
                    known.in_vain =
                        matches!(effect.verdict, Verdict::NoEffect | Verdict::EndReached);
                }
            }
            Event::ActionRetried { action_id, way, .. } => {
                if let Some(known) = actions.get_mut(action_id) {
                    known.due_again = way.acts();
                }
            }
            Event::ApprovalRequested(approval) | Event::ApprovalResolved(approval) => {
                approvals.insert(place_of_approval(&approval.id), approval.state);
            }
            Event::Succeeded { .. } | Event::Failed(_) | Event::Cancelled { .. } => ended = true,
            _ => {}
        }
    }
    None
}

/// Step and index of `{task}/{step}/{index}/{attempt}`.
fn place_of_action(id: &ActionId) -> String {
    let id = id.to_string();
    let parts: Vec<&str> = id.rsplit('/').skip(1).take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("-")
}

/// Step and index of `{step}-{index}-{number}`.
fn place_of_approval(id: &str) -> String {
    id.rsplit_once('-')
        .map_or(id, |(place, _)| place)
        .to_owned()
}

fn wrong_intent(
    intended: &ActionIntended,
    actions: &BTreeMap<&ActionId, Known>,
    retried: &BTreeSet<&ActionId>,
) -> Option<&'static str> {
    if actions.contains_key(&intended.action_id) {
        return Some("an action id is used a second time");
    }
    let before = intended.retry_of.as_ref()?;
    match actions.get(before) {
        None => Some("it repeats what was never intended"),
        Some(_) if retried.contains(before) => Some("it repeats what was repeated already"),
        Some(known) if !known.due_again => Some("it repeats what was not due again"),
        Some(known) if !known.in_vain => Some("it repeats what may have had an effect"),
        Some(_) => None,
    }
}
