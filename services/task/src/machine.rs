//! The task state machine: chooses the next directive.
//!
//! [`directive`] is a pure function of the task and the time. It never acts, and calling it twice gives the same result.

use std::time::SystemTime;

use motorium_proto::domain::decision::Next;
use motorium_proto::domain::id::{ActionId, TaskName};

use super::event::{Failure, UserRequest, UserRequestKind};
use super::limits::{exceeded, time_limit_exceeded};
use super::loop_detection;
use super::{Lifecycle, StepRecord, Task};
use crate::reason;

pub use super::directive::Directive;
pub use super::record::expects_effect;

/// Number of unverified success claims that are rejected before the task fails. One gives the planner a chance to correct
/// itself; more would let it repeat the claim until the limits are reached.
pub const MAX_REFUSED_CLAIMS: u32 = 1;

/// Returns the next directive for a task.
#[must_use]
pub fn directive(task: &Task, now: SystemTime) -> Directive {
    if task.lifecycle.is_terminal() {
        return Directive::Ended;
    }
    if let Some(reason) = &task.cancel_requested {
        return Directive::Cancel {
            reason: reason.clone(),
        };
    }
    if task.lifecycle == Lifecycle::Paused || task.is_taken_over() {
        return Directive::AwaitUser;
    }
    if let Some(failure) = time_limit_exceeded(task, now) {
        return Directive::Fail(failure);
    }
    if task.awaited_answer().is_some() {
        return Directive::AwaitUser;
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
        // If a person took over meanwhile, the screen of this step no longer applies.
        return match step.abandonment {
            Some(_) => Directive::FinishStep,
            None => Directive::Decide,
        };
    };
    match &decision.next {
        Next::Act(_) if is_unjudged(step) => Directive::Judge,
        Next::Act(planned) => match next_action(step) {
            Some(index) if index < planned.len() => match loop_detection::refusal(task) {
                Some(message) => Directive::Refuse { message },
                None => Directive::Act { index },
            },
            _ => Directive::FinishStep,
        },
        Next::Extract {
            json_schema,
            instruction,
        } if step.extracted.is_none() && step.abandonment.is_none() => Directive::Extract {
            json_schema: json_schema.clone(),
            instruction: instruction.clone(),
        },
        // Every call gets exactly one result, also if it is no longer made: providers reject a conversation with open calls.
        Next::CallFunctions(calls) if step.function_results.len() < calls.len() => {
            match loop_detection::refusal(task) {
                Some(message) => Directive::Refuse { message },
                None => Directive::CallFunction {
                    index: step.function_results.len(),
                },
            }
        }
        _ => Directive::FinishStep,
    }
}

/// Returns true if the last action was performed and its effect has not been judged.
fn is_unjudged(step: &StepRecord) -> bool {
    // After a take-over, changes on the screen are the person's.
    step.abandonment.is_none()
        && step.actions.last().is_some_and(|last| {
            last.performed()
                && last.effect.is_none()
                && last.retry_due.is_none()
                && expects_effect(&last.action)
        })
}

/// Returns the index of the action to perform next, or `None` if the rest of the step is dropped.
fn next_action(step: &StepRecord) -> Option<usize> {
    if step.abandonment.is_some() {
        return None;
    }
    match step.actions.last() {
        None => Some(0),
        // A retry comes before the next action, which was planned on its success.
        Some(last) if last.retry_due.is_some() => Some(step.actions.len() - 1),
        Some(last) if last.performed() => Some(step.actions.len()),
        // The last action was not performed. The actions after it were planned on its success.
        Some(_) => None,
    }
}

/// Returns the directive after a finished step, from its decision if that was not to act.
fn between_steps(task: &Task) -> Directive {
    // A decision from before a take-over was made on another screen.
    let last = task.steps.last().filter(|step| step.abandonment.is_none());
    let decision = last.and_then(|step| step.decision.as_ref());
    let answered = !task.pending_messages.is_empty();
    match decision.map(|decision| &decision.next) {
        Some(Next::Done { answer, .. }) if !claim_refused(task) => Directive::Conclude {
            answer: answer.clone(),
        },
        Some(Next::Fail { reason: why }) => {
            Directive::Fail(Failure::new(reason::PLANNER_GAVE_UP, why.clone()))
        }
        Some(Next::Ask {
            question,
            requires_manual_action,
        }) if !answered => {
            let kind = if *requires_manual_action {
                UserRequestKind::ManualAction
            } else {
                UserRequestKind::Question
            };
            Directive::Ask(UserRequest::new(kind, question.clone()))
        }
        _ => loop_detection::notice(task).map_or(Directive::Observe, Directive::Notice),
    }
}

/// Returns true if the last success claim was rejected and the planner has not been told yet.
fn claim_refused(task: &Task) -> bool {
    task.refused_claims + task.second_looks > 0 && !task.notices.is_empty()
}

/// Returns the id of an attempt. Deterministic, so that an orchestrator that recovers the task uses the same id for it.
#[must_use]
pub fn action_id(task: &TaskName, step: u32, index: usize, attempt: u32) -> ActionId {
    ActionId::new(format!("{}/{step}/{index}/{attempt}", task.segment()))
}

/// Returns the id of a function call that is sent to its tool. Deterministic across recoveries. The model's own ids are not
/// used because they need not be unique.
#[must_use]
pub fn call_id(task: &TaskName, step: u32, index: usize) -> String {
    format!("{}/{step}/{index}", task.segment())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::decision::{FunctionCall, FunctionResult};
    use motorium_proto::domain::effect::ActionResult;
    use motorium_proto::domain::id::EventSeq;
    use proptest::prelude::*;

    use super::*;
    use crate::approval::{Approval, ApprovalState, ApprovalSubject};
    use crate::event::{Event, RecordedEvent};
    use crate::invariants;
    use crate::samples::*;
    use crate::spec::Limits;

    fn check(events: Vec<Event>, expected: Directive) {
        assert_eq!(
            directive(&with_limits(Limits::default(), events), at(1)),
            expected
        );
    }

    #[test]
    fn step_proceeds_from_observation_to_its_end() {
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
    fn unperformed_action_ends_the_step() {
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
        let missed = Event::TargetNotResolved {
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
            second_look: false,
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
                requires_manual_action: false,
            })
        };
        check(asks(), Directive::Ask(question.clone()));
        let asked = || [asks(), vec![Event::UserAsked(question.clone())]].concat();
        check(asked(), Directive::AwaitUser);
        let answer = Event::UserAcknowledged {
            message: "that".into(),
            attachments: vec![],
            written_by_model: false,
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
            subject: ApprovalSubject::Action(planned()),
            rules: vec!["pay".to_owned()],
            reason: "it pays".to_owned(),
            safety_checks: vec![],
            evidence: None,
            fingerprint: [7; 32],
            context: None,
            created_at: at(3),
            expires_at: at(603),
            resolved_by: String::new(),
            message: String::new(),
            stated_user: String::new(),
            written_by_model: false,
            second_person: false,
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
        // An approval that was invalidated after it was given.
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
    fn unapproved_action_violates_the_log_invariants() {
        let broken = |events: Vec<Event>| {
            let task = with_limits(Limits::default(), vec![]);
            let created = Event::Created(Box::new(task.spec));
            let events = std::iter::once(created).chain(events).zip(1..);
            let log = events.map(|(event, seq)| RecordedEvent {
                seq: EventSeq(seq),
                at: at(0),
                step: 1,
                event,
            });
            invariants::violation(&log.collect::<Vec<_>>())
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

    /// A step that calls two functions, followed by these events.
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
        // Neither a failure nor a call that is not made drops the rest.
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
    fn function_call_without_a_result_is_open() {
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
            subject: ApprovalSubject::Call {
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
            let log = events.map(|(event, seq)| RecordedEvent {
                seq: EventSeq(seq),
                at: at(0),
                step: 1,
                event,
            });
            invariants::violation(&log.collect::<Vec<_>>()).unwrap_or_default()
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
                message: String::new(),
                attachments: vec![],
                written_by_model: false,
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
        /// No log causes a panic, and a terminal state is never left.
        #[test]
        fn arbitrary_logs_fold_without_panic(events in proptest::collection::vec(any_event(), 0..40)) {
            let mut ended = None;
            for length in 0..=events.len() {
                let task = with_limits(Limits::default(), events[..length].to_vec());
                let _ = directive(&task, at(1));
                if let Some(ended) = &ended {
                    prop_assert_eq!(ended, &task.lifecycle);
                } else if task.lifecycle.is_terminal() {
                    prop_assert_eq!(directive(&task, at(1)), Directive::Ended);
                    ended = Some(task.lifecycle);
                }
            }
        }
    }
}
