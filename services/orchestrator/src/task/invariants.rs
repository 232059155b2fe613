//! What must be true of every task's log, as a pure function: for debug builds, for the model checker, for chaos.

use std::collections::{BTreeMap, BTreeSet};

use motorium_proto::domain::decision::Next;
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

/// The function calls of the last decision.
#[derive(Debug, Default)]
struct Calls {
    decided: usize,
    returned: usize,
    /// One was called, and nothing has come of it yet.
    is_open: bool,
}

impl Calls {
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

    /// Also of a call that was not made.
    fn returned(&mut self) -> Option<&'static str> {
        self.is_open = false;
        self.returned += 1;
        (self.returned > self.decided).then_some("a result that no function call waits for")
    }
}

/// What a log breaks; `None` if it keeps everything.
#[must_use]
pub fn broken(log: &[Recorded]) -> Option<String> {
    let mut actions: BTreeMap<&ActionId, Known> = BTreeMap::new();
    let mut retried: BTreeSet<&ActionId> = BTreeSet::new();
    // By step and place in it: the state of the approval that was asked for last.
    let mut approvals: BTreeMap<String, ApprovalState> = BTreeMap::new();
    let mut calls = Calls::default();
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
            Event::Decided { decision, .. } => calls = Calls::of(&decision.next),
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
