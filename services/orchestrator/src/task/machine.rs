//! What is to be done next.
//!
//! [`directive`] is a function of the task and the time. It never acts, and asking twice gives the same answer.

use std::time::SystemTime;

use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::decision::{Next, RemainingLimits, Usage};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::{ActionId, TaskName};

use super::event::{Failure, UserRequest, UserRequestKind};
use super::fold::{Lifecycle, StepRecord, Task};
use super::loops::{self, Notice};
use super::risk;
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

fn time_used_up(task: &Task, now: SystemTime) -> Option<Failure> {
    let limit = task.spec.limits.max_duration;
    if task.active_time(now) < limit {
        return None;
    }
    let seconds = limit.as_secs_f64();
    let message = format!(
        "the time limit of {seconds:.0} s is used up; raise limits.max_duration if the task needs longer"
    );
    Some(Failure::new(reason::TIME_LIMIT, message))
}

/// The failure of the first limit that what comes next would exceed. What is under way may end, and a success that
/// was just claimed may be checked; but nobody is asked for an answer that could not be used.
fn exceeded(task: &Task, next: &Directive) -> Option<Failure> {
    match next {
        Directive::Observe | Directive::Ask(_) => {
            steps_used_up(task).or_else(|| model_calls_used_up(task))
        }
        Directive::Decide | Directive::Extract { .. } => model_calls_used_up(task),
        Directive::Act { index } => risk_used_up(task, *index),
        Directive::CallFunction { index } => risk_of_calls_used_up(task, *index),
        _ => None,
    }
}

fn steps_used_up(task: &Task) -> Option<Failure> {
    let max = task.spec.limits.max_steps;
    if (task.steps.len() as u64) < u64::from(max) {
        return None;
    }
    let message = format!(
        "the limit of {max} steps is used up; raise limits.max_steps if the task needs more"
    );
    Some(Failure::new(reason::STEP_LIMIT, message))
}

/// The failure of a limit on what models use, if it is used up.
#[must_use]
pub fn model_calls_used_up(task: &Task) -> Option<Failure> {
    let limits = &task.spec.limits;
    if let Some(max) = limits.max_tokens
        && tokens(task.usage) >= max
    {
        let message = format!(
            "the limit of {max} tokens is used up; raise limits.max_tokens if the task needs more"
        );
        return Some(Failure::new(reason::TOKEN_LIMIT, message));
    }
    if let (Some(max), Some(cost)) = (limits.max_cost_micros_usd, task.usage.cost_micros_usd)
        && cost >= max
    {
        let message = format!(
            "the limit of {:.2} USD is used up; raise limits.max_cost_micros_usd if the task needs more",
            max as f64 / 1e6
        );
        return Some(Failure::new(reason::COST_LIMIT, message));
    }
    None
}

/// A risky action more than the limit allows; a repetition of one counts no second time.
fn risk_used_up(task: &Task, index: usize) -> Option<Failure> {
    let max = task.spec.limits.max_risky_actions?;
    let step = task.open_step()?;
    let is_new = index == step.actions.len();
    let rule = risk::assess(step.planned().get(index)?)?;
    if !is_new || task.risky_actions < max {
        return None;
    }
    Some(too_risky(max, rule))
}

/// A risky function call more than the limit allows. One that is under way has been counted, and one that is not made
/// any more only gets its result.
fn risk_of_calls_used_up(task: &Task, index: usize) -> Option<Failure> {
    let max = task.spec.limits.max_risky_actions?;
    let step = task.open_step()?;
    let is_new = step.missed.is_none() && step.open_call().is_none();
    let rule = risk::assess_call(step.decided_call(index)?, &task.spec.tool_endpoints)?;
    if !is_new || task.risky_actions < max {
        return None;
    }
    Some(too_risky(max, rule))
}

fn too_risky(max: u32, rule: &str) -> Failure {
    let message = format!(
        "the limit of {max} risky actions is used up, and the next one is risky ({rule}); \
         raise limits.max_risky_actions if the task needs more"
    );
    Failure::new(reason::RISK_LIMIT, message)
}

/// The tokens that count towards the limit.
#[must_use]
pub fn tokens(usage: Usage) -> u64 {
    usage.input_tokens.unwrap_or_default() + usage.output_tokens.unwrap_or_default()
}

/// What is left of a task's limits.
#[must_use]
pub fn remaining(task: &Task, now: SystemTime) -> RemainingLimits {
    let limits = &task.spec.limits;
    let steps = u32::try_from(task.steps.len()).unwrap_or(u32::MAX);
    RemainingLimits {
        steps: Some(limits.max_steps.saturating_sub(steps)),
        time: Some(limits.max_duration.saturating_sub(task.active_time(now))),
        tokens: limits
            .max_tokens
            .map(|max| max.saturating_sub(tokens(task.usage))),
        cost_micros_usd: limits
            .max_cost_micros_usd
            .map(|max| max.saturating_sub(task.usage.cost_micros_usd.unwrap_or_default())),
    }
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

    use bytes::Bytes;
    use motorium_proto::domain::action::{Button, Target};
    use motorium_proto::domain::decision::{
        Decision, FunctionCall, FunctionResult, PlannedAction, Usage,
    };
    use motorium_proto::domain::effect::ActionOutcome;
    use motorium_proto::domain::frame::Frame;
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
    use motorium_proto::domain::id::{DisplayId, EventSeq, FrameId};
    use motorium_proto::service::BackendAttempt;
    use proptest::prelude::*;

    use super::*;
    use crate::effect;
    use crate::task::approval::{Approval, ApprovalState, Subject};
    use crate::task::event::{ActionIntended, Event, Observed, Recorded};
    use crate::task::invariants;
    use crate::task::retry::Way;
    use crate::task::screen::Fingerprint;
    use crate::task::spec::{Limits, TaskSpec};

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn spec(limits: Limits) -> TaskSpec {
        let task = motorium_proto::v1::orchestrator::Task {
            goal: "click \"a\"".into(),
            ..Default::default()
        };
        TaskSpec::from_wire(
            TaskName::from_segment("t").unwrap(),
            "u".into(),
            task,
            limits,
        )
        .unwrap()
    }

    fn planned() -> PlannedAction {
        let at = Some(Target::Point(CapturePoint::new(5, 5)));
        let action = Action::Click {
            at,
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        };
        PlannedAction {
            action,
            intent: "click".into(),
            verify_pointer: false,
            repeatable: true,
        }
    }

    fn decided(next: Next) -> Event {
        let decision = Decision {
            thought: String::new(),
            progress: String::new(),
            next,
            safety_checks: vec![],
            conversation: Bytes::new(),
            backend: "b".into(),
            model: String::new(),
            usage: Usage::default(),
            suspected_injections: vec![],
        };
        Event::Decided {
            decision: Box::new(decision),
            elapsed: Duration::ZERO,
        }
    }

    fn observed() -> Event {
        let frame = Frame {
            id: FrameId::new("f"),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(10, 10),
            scale: 1.0,
            captured_at: at(0),
            cursor: None,
            monitors: vec![],
            windows: vec![],
        };
        Event::Observed(Box::new(Observed {
            frame,
            image: None,
            marked_image: None,
            element_count: 0,
            elapsed: Duration::ZERO,
            fingerprint: Fingerprint::default(),
            scene: None,
        }))
    }

    fn intended(step: u32, attempt: u32) -> Event {
        let name = TaskName::from_segment("t").unwrap();
        let retry_of = attempt
            .checked_sub(1)
            .map(|before| action_id(&name, step, 0, before));
        let at = Some(CapturePoint::new(5, 5));
        Event::ActionIntended(Box::new(ActionIntended {
            action_id: action_id(&name, step, 0, attempt),
            retry_of,
            planned: planned(),
            action: Action::Click {
                at,
                button: Button::Left,
                count: 1,
                modifiers: vec![],
            },
            target: None,
        }))
    }

    fn performed(step: u32, attempt: u32, result: ActionResult) -> Event {
        let action_id = action_id(&TaskName::from_segment("t").unwrap(), step, 0, attempt);
        Event::ActionPerformed {
            action_id,
            outcome: ActionOutcome::new(result, ""),
        }
    }

    fn judged(step: u32, attempt: u32) -> Event {
        Event::EffectJudged {
            action_id: action_id(&TaskName::from_segment("t").unwrap(), step, 0, attempt),
            effect: Box::new(effect::unknown(String::new())),
        }
    }

    fn retried(step: u32, attempt: u32) -> Event {
        let action_id = action_id(&TaskName::from_segment("t").unwrap(), step, 0, attempt);
        Event::ActionRetried {
            action_id,
            attempts: attempt + 1,
            reason: String::new(),
            way: Way::Moved,
        }
    }

    fn started() -> Event {
        Event::Started {
            orchestrator: "o".into(),
        }
    }

    fn finished() -> Event {
        Event::StepFinished {
            timings: vec![],
            recording: None,
        }
    }

    fn with_limits(limits: Limits, events: Vec<Event>) -> Task {
        let mut task = Task::new(spec(limits), EventSeq(1), at(0));
        for (index, event) in events.into_iter().enumerate() {
            let step = match &event {
                Event::Observed(_) => task.next_step(),
                _ => task.steps.last().map_or(0, |step| step.number),
            };
            let seq = EventSeq(index as i64 + 2);
            task.apply(&Recorded {
                seq,
                at: at(0),
                step,
                event,
            });
        }
        task
    }

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

    #[test]
    fn limits_end_in_a_clear_state() {
        let reason = |limits: Limits, events: Vec<Event>, now: u64| match directive(
            &with_limits(limits, events),
            at(now),
        ) {
            Directive::Fail(failure) => failure.reason,
            other => format!("{other:?}"),
        };
        let one_step = Limits {
            max_steps: 1,
            ..Limits::default()
        };
        let step = || {
            vec![
                started(),
                observed(),
                decided(Next::Act(vec![planned()])),
                finished(),
            ]
        };
        assert_eq!(reason(one_step, step(), 1), "STEP_LIMIT");
        let brief = Limits {
            max_duration: Duration::from_secs(10),
            ..Limits::default()
        };
        assert_eq!(reason(brief, vec![started()], 9), "Observe");
        assert_eq!(reason(brief, vec![started()], 10), "TIME_LIMIT");
        let paused = vec![
            started(),
            Event::Paused {
                reason: String::new(),
            },
        ];
        assert_eq!(reason(brief, paused, 1000), "AwaitUser");
        let done = decided(Next::Done {
            answer: "ok".into(),
            evidence: vec![],
        });
        let claim = vec![started(), observed(), done, finished()];
        assert_eq!(
            reason(one_step, claim.clone(), 1),
            "Conclude { answer: \"ok\" }"
        );
        let question = decided(Next::Ask {
            question: "which?".into(),
            needs_hands: false,
        });
        let asks = vec![started(), observed(), question, finished()];
        assert_eq!(reason(one_step, asks, 1), "STEP_LIMIT");

        let few_tokens = Limits {
            max_tokens: Some(100),
            ..Limits::default()
        };
        let cheap = Limits {
            max_cost_micros_usd: Some(1000),
            ..Limits::default()
        };
        for (limits, expected) in [(few_tokens, "TOKEN_LIMIT"), (cheap, "COST_LIMIT")] {
            assert_eq!(reason(limits, vec![started()], 1), "Observe");
            let paid = vec![started(), skipped(), observed()];
            assert_eq!(reason(limits, paid, 1), expected, "before the next call");
            let act = decided(Next::Act(vec![planned()]));
            let paid = vec![started(), observed(), skipped(), act];
            assert_eq!(
                reason(limits, paid, 1),
                "Act { index: 0 }",
                "what was paid for is done"
            );
            let paid = [claim.clone(), vec![skipped()]].concat();
            assert_eq!(reason(limits, paid, 1), "Conclude { answer: \"ok\" }");
        }
    }

    /// A backend that used a hundred tokens in vain.
    fn skipped() -> Event {
        Event::BackendSkipped(BackendAttempt {
            backend: "b".into(),
            reason: "TRANSIENT".into(),
            message: String::new(),
            usage: Usage {
                input_tokens: Some(60),
                output_tokens: Some(40),
                cost_micros_usd: Some(1000),
                calls: 1,
                ..Usage::default()
            },
        })
    }

    #[test]
    fn no_risky_action_beyond_the_limit_is_performed() {
        let limits = Limits {
            max_risky_actions: Some(1),
            ..Limits::default()
        };
        let risky = PlannedAction {
            intent: "click \"Send\"".into(),
            ..planned()
        };
        let first = vec![
            started(),
            observed(),
            decided(Next::Act(vec![risky.clone(), planned(), risky.clone()])),
        ];
        let directive_of = |events: Vec<Event>| directive(&with_limits(limits, events), at(1));
        assert_eq!(directive_of(first.clone()), Directive::Act { index: 0 });
        let second = PlannedAction {
            intent: "click \"Pay\"".into(),
            ..planned()
        };
        let sent = |planned: PlannedAction, attempt| {
            let mut event = intended(1, attempt);
            if let Event::ActionIntended(intended) = &mut event {
                intended.planned = planned;
            }
            [
                event,
                performed(1, attempt, ActionResult::Performed),
                judged(1, attempt),
            ]
        };
        let mut log = first;
        log.extend(sent(risky, 0));
        assert_eq!(
            directive_of(log.clone()),
            Directive::Act { index: 1 },
            "an ordinary one"
        );
        let mut again = log.clone();
        again.push(retried(1, 0));
        assert_eq!(
            directive_of(again),
            Directive::Act { index: 0 },
            "a repetition is no second one"
        );
        let next = decided(Next::Act(vec![second]));
        log.extend([finished(), observed(), next]);
        let Directive::Fail(failure) = directive_of(log) else {
            panic!("it would have been performed");
        };
        assert_eq!(failure.reason, "RISK_LIMIT");
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
