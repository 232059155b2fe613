//! Invariants of every task log, as a pure function. Used by debug assertions, the model checker and the chaos tests.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::decision::Next;
use motorium_proto::domain::effect::{ActionResult, Verdict};
use motorium_proto::domain::id::ActionId;

use super::approval::ApprovalState;
use super::event::{ActionIntended, Event, RecordedEvent};

/// State of an action at this point of the log.
#[derive(Debug, Clone, Copy, Default)]
struct TrackedAction {
    result: Option<ActionResult>,
    /// True if the action had no effect, so that it may be repeated.
    had_no_effect: bool,
    /// True if the retry that was recorded for it performs an action.
    retry_due: bool,
}

/// The function calls of the last decision.
#[derive(Debug, Default)]
struct CallTracker {
    decided: usize,
    returned: usize,
    /// True if a call was made and has no result yet.
    is_open: bool,
}

impl CallTracker {
    fn of(next: &Next) -> Self {
        let decided = match next {
            Next::CallFunctions(calls) => calls.len(),
            _ => 0,
        };
        Self {
            decided,
            ..Self::default()
        }
    }

    fn called(&mut self, approval: Option<&ApprovalState>) -> Option<&'static str> {
        if std::mem::replace(&mut self.is_open, true) {
            return Some("a function is called while another one is");
        }
        if self.returned >= self.decided {
            return Some("a function is called that was not decided");
        }
        let is_approved = approval.is_none_or(|state| *state == ApprovalState::Approved);
        (!is_approved).then_some("it was not approved")
    }

    /// Counts a result. Calls that are not made get one, too.
    fn returned(&mut self) -> Option<&'static str> {
        self.is_open = false;
        self.returned += 1;
        (self.returned > self.decided).then_some("a result that no function call waits for")
    }
}

/// Returns the first invariant that a log violates, or `None`.
#[must_use]
pub fn violation(log: &[RecordedEvent]) -> Option<String> {
    let mut actions: BTreeMap<&ActionId, TrackedAction> = BTreeMap::new();
    let mut retried: BTreeSet<&ActionId> = BTreeSet::new();
    // State of the latest approval for each step and index.
    let mut approvals: BTreeMap<String, ApprovalState> = BTreeMap::new();
    let mut calls = CallTracker::default();
    let mut ended = false;
    for (recorded, number) in log.iter().zip(1..) {
        let at = |what: &str| Some(format!("event {number}: {what}"));
        if recorded.seq.0 != number {
            return at("has the wrong sequence number");
        }
        if matches!(recorded.event, Event::Created(_)) != (number == 1) {
            return at("the creation must be the first event and the only one of its kind");
        }
        if ended && !matches!(recorded.event, Event::ResultFetched(_) | Event::Unknown) {
            return at("the task had already ended");
        }
        match &recorded.event {
            Event::ActionIntended(intended) => {
                if let Some(what) = wrong_intent(intended, &actions, &retried) {
                    return at(what);
                }
                let approval = approvals.get(&step_and_index_of_action(&intended.action_id));
                if approval.is_some_and(|state| *state != ApprovalState::Approved) {
                    return at("it was not approved");
                }
                retried.extend(&intended.retry_of);
                actions.insert(&intended.action_id, TrackedAction::default());
            }
            Event::ActionPerformed { action_id, outcome } => match actions.get_mut(action_id) {
                None => return at("an outcome without an intent"),
                Some(known) if known.result.is_some() => return at("a second outcome"),
                Some(known) => {
                    known.result = Some(outcome.result);
                    known.had_no_effect = outcome.sent_nothing;
                }
            },
            Event::EffectJudged {
                action_id, effect, ..
            } => {
                if let Some(known) = actions.get_mut(action_id) {
                    known.had_no_effect =
                        matches!(effect.verdict, Verdict::NoEffect | Verdict::EndReached);
                }
            }
            Event::ActionRetried {
                action_id,
                strategy,
                ..
            } => {
                if let Some(known) = actions.get_mut(action_id) {
                    known.retry_due = strategy.performs_action();
                }
            }
            Event::Decided { decision, .. } => calls = CallTracker::of(&decision.next),
            Event::FunctionCalled(_) => {
                let place = format!("{}-{}", recorded.step, calls.returned);
                if let Some(what) = calls.called(approvals.get(&place)) {
                    return at(what);
                }
            }
            Event::FunctionReturned { .. } => {
                if let Some(what) = calls.returned() {
                    return at(what);
                }
            }
            Event::ApprovalRequested(approval) | Event::ApprovalResolved(approval) => {
                approvals.insert(step_and_index_of_approval(&approval.id), approval.state);
            }
            Event::Succeeded { .. } | Event::Failed(_) | Event::Cancelled { .. } => ended = true,
            _ => {}
        }
    }
    None
}

/// Returns `{step}-{index}` of the action id `{task}/{step}/{index}/{attempt}`.
fn step_and_index_of_action(id: &ActionId) -> String {
    let id = id.to_string();
    let parts: Vec<&str> = id.rsplit('/').skip(1).take(2).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("-")
}

/// Returns `{step}-{index}` of the approval id `{step}-{index}-{number}`.
fn step_and_index_of_approval(id: &str) -> String {
    id.rsplit_once('-')
        .map_or(id, |(place, _)| place)
        .to_owned()
}

fn wrong_intent(
    intended: &ActionIntended,
    actions: &BTreeMap<&ActionId, TrackedAction>,
    retried: &BTreeSet<&ActionId>,
) -> Option<&'static str> {
    if actions.contains_key(&intended.action_id) {
        return Some("an action id is used a second time");
    }
    let before = intended.retry_of.as_ref()?;
    match actions.get(before) {
        None => Some("it retries an action that was never intended"),
        Some(_) if retried.contains(before) => {
            Some("it retries an attempt that was already retried")
        }
        Some(known) if !known.retry_due => Some("it retries an action without a recorded retry"),
        Some(known) if !known.had_no_effect => {
            Some("it retries an action that may have had an effect")
        }
        Some(_) => None,
    }
}
