//! What is to be done next.
//!
//! [`directive`] is a function of the task and the time. It never acts, and asking twice gives the same answer.

use std::time::SystemTime;

use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, TaskName};

use super::event::{Failure, UserRequest, UserRequestKind};
use super::limits::{exceeded, time_used_up};
use super::loops::{self, Notice};
use super::{Lifecycle, StepRecord, Task};
use crate::error::reason;

/// Claims of success that are refused before the task fails.
pub const MAX_REFUSED_CLAIMS: u32 = 1;

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Directive {
    /// Nothing: it has ended.
    Rest,
    /// Wait until the user says something.
    AwaitUser,
    Cancel {
        reason: String,
    },
    Fail(Failure),
    /// Begin a step: look at the screen.
    Observe,
    /// Ask the planner about the open step.
    Decide,
    /// Perform this action of the open step (again, if it is due to be retried).
    Act {
        index: usize,
    },
    /// Look what the last action of the open step did: it was performed, and whoever performed it went away before.
    Judge,
    /// Do not perform what was decided, and tell the planner why.
    Refuse {
        message: String,
    },
    /// Take data from the screen.
    Extract {
        json_schema: String,
        instruction: String,
    },
    /// Have this function call of the open step made, or say why it is not.
    CallFunction {
        index: usize,
    },
    FinishStep,
    /// Say that the task goes round in circles.
    Notice(Notice),
    /// The planner says it is done: check it, then succeed.
    Conclude {
        answer: String,
    },
    Ask(UserRequest),
}

/// What is to be done next with a task.
#[must_use]
pub fn directive(task: &Task, now: SystemTime) -> Directive {
    if task.lifecycle.is_terminal() {
        return Directive::Rest;
    }
    if let Some(reason) = &task.cancel_requested {
        return Directive::Cancel {
            reason: reason.clone(),
        };
    }
    match &task.lifecycle {
        Lifecycle::Paused | Lifecycle::AwaitingUser(_) => return Directive::AwaitUser,
        _ => {}
    }
    if let Some(failure) = time_used_up(task, now) {
        return Directive::Fail(failure);
    }
    let next = match task.open_step() {
        Some(step) => within_step(task, step),
        None => between_steps(task),
    };
    match exceeded(task, &next) {
        Some(failure) => Directive::Fail(failure),
        None => next,
    }
}

fn within_step(task: &Task, step: &StepRecord) -> Directive {
    let Some(decision) = &step.decision else {
        // Where a person took over meanwhile, the screen of this step is gone.
        return match step.missed {
            Some(_) => Directive::FinishStep,
            None => Directive::Decide,
        };
    };
    match &decision.next {
        Next::Act(_) if is_unjudged(step) => Directive::Judge,
        Next::Act(planned) => match next_action(step) {
            Some(index) if index < planned.len() => match loops::refusal(task) {
                Some(message) => Directive::Refuse { message },
                None => Directive::Act { index },
            },
            _ => Directive::FinishStep,
        },
        Next::Extract {
            json_schema,
            instruction,
        } if step.extracted.is_none() && step.missed.is_none() => Directive::Extract {
            json_schema: json_schema.clone(),
            instruction: instruction.clone(),
        },
        // Each call gets one result, also where it is not made any more.
        Next::CallFunctions(calls) if step.function_results.len() < calls.len() => {
            match loops::refusal(task) {
                Some(message) => Directive::Refuse { message },
                None => Directive::CallFunction {
                    index: step.function_results.len(),
                },
            }
        }
        _ => Directive::FinishStep,
    }
}

/// Whether nobody has seen what the last action did.
fn is_unjudged(step: &StepRecord) -> bool {
    // Where a person took over, what the screen shows is theirs.
    step.missed.is_none()
        && step.actions.last().is_some_and(|last| {
            last.performed()
                && last.effect.is_none()
                && last.retry_due.is_none()
                && has_effect(&last.action)
        })
}

/// Index of the action that is due; `None` if the rest of the step is dropped.
fn next_action(step: &StepRecord) -> Option<usize> {
    if step.missed.is_some() {
        return None;
    }
    match step.actions.last() {
        None => Some(0),
        Some(last) if last.retry_due.is_some() => Some(step.actions.len() - 1),
        Some(last) if last.performed() => Some(step.actions.len()),
        Some(_) => None,
    }
}

/// A finished step's decision, where it was not to act, says what follows.
fn between_steps(task: &Task) -> Directive {
    // What was decided while a person took over was decided on another screen.
    let last = task.steps.last().filter(|step| step.missed.is_none());
    let decision = last.and_then(|step| step.decision.as_ref());
    let answered = !task.messages.is_empty();
    match decision.map(|decision| &decision.next) {
        Some(Next::Done { answer, .. }) if !claim_refused(task) => Directive::Conclude {
            answer: answer.clone(),
        },
        Some(Next::Fail { reason: why }) => {
            Directive::Fail(Failure::new(reason::PLANNER_GAVE_UP, why.clone()))
        }
        Some(Next::Ask {
            question,
            needs_hands,
        }) if !answered => {
            let kind = if *needs_hands {
                UserRequestKind::Hands
            } else {
                UserRequestKind::Question
            };
            Directive::Ask(UserRequest::new(kind, question.clone()))
        }
        _ => loops::notice(task).map_or(Directive::Observe, Directive::Notice),
    }
}

/// Whether the last claim of success has been checked and refused: a notice for the planner is waiting.
fn claim_refused(task: &Task) -> bool {
    task.refused_claims > 0 && !task.notices.is_empty()
}

/// Names an attempt. Deterministic, so that whoever takes the task over uses the same name for the same attempt.
#[must_use]
pub fn action_id(task: &TaskName, step: u32, index: usize, attempt: u32) -> ActionId {
    ActionId::new(format!("{}/{step}/{index}/{attempt}", task.segment()))
}

/// Names a function call for the one who carries it out: the same for the same call, whoever makes it. A model's own ids
/// need not be unique.
#[must_use]
pub fn call_id(task: &TaskName, step: u32, index: usize) -> String {
    format!("{}/{step}/{index}", task.segment())
}

/// Whether the effect of an action is worth looking for on the screen.
#[must_use]
pub fn has_effect(action: &Action<CapturePoint>) -> bool {
    !matches!(
        action.kind(),
        ActionKind::Wait | ActionKind::Move | ActionKind::SetClipboard | ActionKind::MouseDown
    )
}

/// What an outcome other than "performed" means for people; `None` for a performed one.
#[must_use]
pub fn outcome_words(result: ActionResult) -> Option<&'static str> {
    match result {
        ActionResult::Performed => None,
        ActionResult::Refused => Some("refused"),
        ActionResult::Failed => Some("failed"),
        ActionResult::Unknown => Some("outcome unknown"),
        ActionResult::Cancelled => Some("not performed"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::decision::{FunctionCall, FunctionResult};
    use motorium_proto::domain::id::EventSeq;
    use proptest::prelude::*;

    use super::*;
    use crate::task::approval::{Approval, ApprovalState, Subject};
    use crate::task::event::{Event, Recorded};
    use crate::task::invariants;
    use crate::task::samples::*;
    use crate::task::spec::Limits;

    fn check(events: Vec<Event>, expected: Directive) {
        assert_eq!(
            directive(&with_limits(Limits::default(), events), at(1)),
            expected
        );
    }

    #[test]
    fn a_step_goes_from_looking_to_its_end() {
        let act = || decided(Next::Act(vec![planned()]));
        check(vec![started()], Directive::Observe);
        check(vec![started(), observed()], Directive::Decide);
        check(
            vec![started(), observed(), act()],
            Directive::Act { index: 0 },
        );
        let acted = vec![
            started(),
            observed(),
            act(),
            intended(1, 0),
            performed(1, 0, ActionResult::Performed),
        ];
        check(acted.clone(), Directive::Judge);
        let acted = [acted, vec![judged(1, 0)]].concat();
        check(acted.clone(), Directive::FinishStep);
        check(
            [acted.clone(), vec![retried(1, 0)]].concat(),
            Directive::Act { index: 0 },
        );
        check([acted, vec![finished()]].concat(), Directive::Observe);
    }

    #[test]
    fn what_was_not_performed_drops_the_rest_of_the_step() {
        for result in [
            ActionResult::Refused,
            ActionResult::Failed,
            ActionResult::Unknown,
            ActionResult::Cancelled,
        ] {
            let two = decided(Next::Act(vec![planned(), planned()]));
            check(
                vec![
                    started(),
                    observed(),
                    two,
                    intended(1, 0),
                    performed(1, 0, result),
                ],
                Directive::FinishStep,
            );
        }
        let missed = Event::TargetMissed {
            message: "no Save".into(),
        };
        check(
            vec![
                started(),
                observed(),
                decided(Next::Act(vec![planned()])),
                missed,
            ],
            Directive::FinishStep,
        );
    }

    #[test]
    fn endings_and_questions() {
        let concluded = |next: Next| vec![started(), observed(), decided(next), finished()];
        let done = || Next::Done {
            answer: "ok".into(),
            evidence: vec![],
        };
        check(
            concluded(done()),
            Directive::Conclude {
                answer: "ok".into(),
            },
        );
        let refused = Event::CompletionChecked {
            passed: false,
            missing: vec!["x".into()],
        };
        check(
            [concluded(done()), vec![refused]].concat(),
            Directive::Observe,
        );
        check(
            concluded(Next::Fail {
                reason: "no".into(),
            }),
            Directive::Fail(Failure::new("PLANNER_GAVE_UP", "no")),
        );
        let question = UserRequest::new(UserRequestKind::Question, "which?");
        let asks = || {
            concluded(Next::Ask {
                question: "which?".into(),
                needs_hands: false,
            })
        };
        check(asks(), Directive::Ask(question.clone()));
        let asked = || [asks(), vec![Event::UserAsked(question.clone())]].concat();
        check(asked(), Directive::AwaitUser);
        let answer = Event::UserAcknowledged {
            message: "that".into(),
        };
        check([asked(), vec![answer]].concat(), Directive::Observe);
        let cancel = Event::CancelRequested {
            reason: "enough".into(),
        };
        check(
            [asked(), vec![cancel]].concat(),
            Directive::Cancel {
                reason: "enough".into(),
            },
        );
    }

    fn approval(id: &str, state: ApprovalState) -> Box<Approval> {
        Box::new(Approval {
            id: id.to_owned(),
            state,
            subject: Subject::Action(planned()),
            rules: vec!["pay".to_owned()],
            reason: "it pays".to_owned(),
            safety_checks: vec![],
            evidence: None,
            fingerprint: [7; 32],
            created_at: at(3),
            expires_at: at(603),
            resolved_by: String::new(),
            message: String::new(),
        })
    }

    /// A step whose action waits for this approval.
    fn waiting() -> Vec<Event> {
        let asked = UserRequest {
            kind: UserRequestKind::Approval,
            message: "pay?".to_owned(),
            approval: Some("1-0-1".to_owned()),
        };
        vec![
            started(),
            observed(),
            decided(Next::Act(vec![planned()])),
            Event::ApprovalRequested(approval("1-0-1", ApprovalState::Pending)),
            Event::UserAsked(asked),
        ]
    }

    #[test]
    fn an_action_goes_on_only_with_an_approval() {
        let resolved = |state| Event::ApprovalResolved(approval("1-0-1", state));
        let then = |events: Vec<Event>| [waiting(), events].concat();
        check(waiting(), Directive::AwaitUser);
        let given = then(vec![resolved(ApprovalState::Approved)]);
        check(given, Directive::Act { index: 0 });
        for state in [
            ApprovalState::Denied,
            ApprovalState::Expired,
            ApprovalState::Invalidated,
        ] {
            check(then(vec![resolved(state)]), Directive::FinishStep);
        }
        // One that stopped holding after it was given.
        let given_and_stale = vec![
            resolved(ApprovalState::Approved),
            resolved(ApprovalState::Invalidated),
        ];
        check(then(given_and_stale), Directive::FinishStep);
        let taken = Event::TakenOver { user: "u".into() };
        let back = Event::HandedBack { message: "".into() };
        check(then(vec![taken, back]), Directive::FinishStep);
    }

    #[test]
    fn a_log_in_which_something_was_done_unapproved_is_broken() {
        let broken = |events: Vec<Event>| {
            let task = with_limits(Limits::default(), vec![]);
            let created = Event::Created(Box::new(task.spec));
            let events = std::iter::once(created).chain(events).zip(1..);
            let log = events.map(|(event, seq)| Recorded {
                seq: EventSeq(seq),
                at: at(0),
                step: 1,
                event,
            });
            invariants::broken(&log.collect::<Vec<_>>())
        };
        let resolved = |state| Event::ApprovalResolved(approval("1-0-1", state));
        let done = |events: Vec<Event>| [waiting(), events, vec![intended(1, 0)]].concat();
        assert!(broken(done(vec![])).unwrap().contains("not approved"));
        assert!(broken(done(vec![resolved(ApprovalState::Denied)])).is_some());
        assert_eq!(broken(done(vec![resolved(ApprovalState::Approved)])), None);
    }

    fn function(name: &str) -> FunctionCall {
        FunctionCall {
            call_id: "1".into(),
            name: name.into(),
            arguments_json: "{}".into(),
        }
    }

    fn returned(outcome: Result<&str, &str>) -> Event {
        let result = FunctionResult {
            call_id: "1".into(),
            outcome: outcome.map(str::to_owned).map_err(str::to_owned),
        };
        Event::FunctionReturned {
            result,
            elapsed: Duration::ZERO,
        }
    }

    /// A step that calls two functions, and what became of them so far.
    fn calling(events: Vec<Event>) -> Vec<Event> {
        let calls = Next::CallFunctions(vec![function("a"), function("b")]);
        [vec![started(), observed(), decided(calls)], events].concat()
    }

    #[test]
    fn every_function_call_gets_one_result_and_then_the_screen_is_looked_at() {
        let called = || Event::FunctionCalled(function("a"));
        let next = |index| Directive::CallFunction { index };
        check(calling(vec![]), next(0));
        check(calling(vec![called()]), next(0));
        check(calling(vec![called(), returned(Ok("1"))]), next(1));
        // A failure does not drop the rest, and neither does a call that is not made.
        check(calling(vec![called(), returned(Err("no"))]), next(1));
        check(calling(vec![returned(Err("not called"))]), next(1));
        let both = vec![called(), returned(Ok("1")), returned(Err("no"))];
        check(calling(both.clone()), Directive::FinishStep);
        let over = [both, vec![finished()]].concat();
        check(calling(over), Directive::Observe);
        // Also after a person took over: the results say that nothing was called.
        let taken = Event::TakenOver { user: "u".into() };
        let back = Event::HandedBack { message: "".into() };
        check(calling(vec![called(), taken, back]), next(0));
    }

    #[test]
    fn a_call_of_which_nothing_came_is_open() {
        let open = |events| {
            let task = with_limits(Limits::default(), calling(events));
            let step = task.open_step().unwrap();
            (step.open_call().is_some(), step.function_calls.len())
        };
        let called = || Event::FunctionCalled(function("a"));
        assert_eq!(open(vec![]), (false, 0));
        assert_eq!(open(vec![called()]), (true, 1));
        assert_eq!(open(vec![called(), returned(Ok("1"))]), (false, 1));
        assert_eq!(open(vec![returned(Err("not called"))]), (false, 1));
    }

    #[test]
    fn an_approval_that_is_refused_drops_no_other_call() {
        let approval = Approval {
            subject: Subject::Call {
                intent: "call b".into(),
            },
            ..*approval("1-0-1", ApprovalState::Denied)
        };
        let refused = Event::ApprovalResolved(Box::new(approval.clone()));
        let asked = Event::ApprovalRequested(Box::new(approval));
        check(
            calling(vec![asked, refused]),
            Directive::CallFunction { index: 0 },
        );
    }

    #[test]
    fn a_log_with_calls_that_do_not_fit_is_broken() {
        let broken = |events: Vec<Event>| {
            let task = with_limits(Limits::default(), vec![]);
            let created = Event::Created(Box::new(task.spec));
            let events = std::iter::once(created).chain(calling(events)).zip(1..);
            let log = events.map(|(event, seq)| Recorded {
                seq: EventSeq(seq),
                at: at(0),
                step: 1,
                event,
            });
            invariants::broken(&log.collect::<Vec<_>>()).unwrap_or_default()
        };
        let called = || Event::FunctionCalled(function("a"));
        assert_eq!(
            broken(vec![called(), returned(Ok("1")), returned(Err("no"))]),
            ""
        );
        assert!(broken(vec![called(), called()]).contains("while another one is"));
        let three = vec![returned(Ok("1")), returned(Ok("1")), returned(Ok("1"))];
        assert!(broken(three).contains("no function call waits for"));
        let twice = vec![returned(Ok("1")), returned(Ok("1")), called()];
        assert!(broken(twice).contains("not decided"));
        let denied = Event::ApprovalResolved(approval("1-0-1", ApprovalState::Denied));
        assert!(broken(vec![denied, called()]).contains("not approved"));
    }

    #[test]
    fn attempts_have_names_of_their_own() {
        let task = with_limits(
            Limits::default(),
            vec![
                started(),
                observed(),
                decided(Next::Act(vec![planned()])),
                intended(1, 0),
                performed(1, 0, ActionResult::Performed),
                retried(1, 0),
                intended(1, 1),
            ],
        );
        let step = task.open_step().unwrap();
        assert_eq!(step.actions.len(), 1);
        assert_eq!(step.actions[0].retries, 1);
        assert_eq!(
            task.unfinished_actions()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["t/1/0/1"]
        );
    }

    fn any_event() -> impl Strategy<Value = Event> {
        prop_oneof![
            Just(started()),
            Just(observed()),
            Just(decided(Next::Act(vec![planned()]))),
            Just(decided(Next::Done {
                answer: "ok".into(),
                evidence: vec![]
            })),
            (1..4u32, 0..3u32).prop_map(|(step, attempt)| intended(step, attempt)),
            (1..4u32, 0..3u32).prop_map(|(step, attempt)| performed(
                step,
                attempt,
                ActionResult::Performed
            )),
            (1..4u32, 0..3u32).prop_map(|(step, attempt)| retried(step, attempt)),
            Just(finished()),
            Just(decided(Next::CallFunctions(vec![function("a")]))),
            Just(Event::FunctionCalled(function("a"))),
            Just(returned(Ok("1"))),
            Just(Event::Paused {
                reason: String::new()
            }),
            Just(Event::Resumed),
            Just(Event::UserAcknowledged {
                message: String::new()
            }),
            Just(Event::Cancelled {
                reason: String::new()
            }),
            Just(Event::Succeeded {
                answer: "ok".into()
            }),
        ]
    }

    proptest! {
        /// Whatever the log holds: no panic, and what has ended stays ended.
        #[test]
        fn any_log_makes_a_task(events in proptest::collection::vec(any_event(), 0..40)) {
            let mut ended = None;
            for length in 0..=events.len() {
                let task = with_limits(Limits::default(), events[..length].to_vec());
                let _ = directive(&task, at(1));
                if let Some(ended) = &ended {
                    prop_assert_eq!(ended, &task.lifecycle);
                } else if task.lifecycle.is_terminal() {
                    prop_assert_eq!(directive(&task, at(1)), Directive::Rest);
                    ended = Some(task.lifecycle);
                }
            }
        }
    }
}
