//! Enforcement of a task's limits, and the limits that remain.
//!
//! The limits themselves are part of the specification ([`crate::spec`]).
//!
//! Pure: it does not stop anything, the run does.

use std::time::SystemTime;

use motorium_messages::Message;
use motorium_proto::domain::decision::RemainingLimits;

use super::Task;
use super::directive::Directive;
use super::event::Failure;
use super::risk;
use crate::reason;

pub(super) fn time_limit_exceeded(task: &Task, now: SystemTime) -> Option<Failure> {
    let limit = task.spec.limits.max_duration;
    if task.active_time(now) < limit {
        return None;
    }
    let seconds = limit.as_secs_f64().round() as u64;
    let message = match task.awaited_answer() {
        Some(request) => Message::TimeLimitWhileWaiting {
            seconds,
            request: &request.message,
        },
        None => Message::TimeLimit { seconds },
    };
    Some(failure(task, reason::TIME_LIMIT, message))
}

/// Returns the failure of the first limit that the next directive would exceed. Started work may finish and a success claim
/// may be verified. The user is not asked a question whose answer could no longer be used.
pub(super) fn exceeded(task: &Task, next: &Directive) -> Option<Failure> {
    match next {
        Directive::Observe | Directive::Ask(_) => {
            step_limit_exceeded(task).or_else(|| model_budget_exceeded(task))
        }
        Directive::Decide | Directive::Extract { .. } => model_budget_exceeded(task),
        Directive::Act { index } => risk_limit_exceeded(task, *index),
        Directive::CallFunction { index } => call_risk_limit_exceeded(task, *index),
        _ => None,
    }
}

fn step_limit_exceeded(task: &Task) -> Option<Failure> {
    let max = task.spec.limits.max_steps;
    if (task.counted_steps() as u64) < u64::from(max) {
        return None;
    }
    let message = Message::StepLimit { max: max.into() };
    Some(failure(task, reason::STEP_LIMIT, message))
}

/// Returns the failure of an exhausted token or cost limit.
#[must_use]
pub fn model_budget_exceeded(task: &Task) -> Option<Failure> {
    let limits = &task.spec.limits;
    if let Some(max) = limits.max_tokens
        && counted(task).tokens >= max
    {
        return Some(failure(
            task,
            reason::TOKEN_LIMIT,
            Message::TokenLimit { max },
        ));
    }
    if let (Some(max), Some(cost)) = (limits.max_cost_micros_usd, counted(task).cost_micros_usd)
        && cost >= max
    {
        let amount = format!("{:.2}", max as f64 / 1e6);
        let message = Message::CostLimit { amount: &amount };
        return Some(failure(task, reason::COST_LIMIT, message));
    }
    None
}

/// Returns the failure if the next action is risky and exceeds the limit. A retry is not counted again.
fn risk_limit_exceeded(task: &Task, index: usize) -> Option<Failure> {
    let max = task.spec.limits.max_risky_actions?;
    let step = task.open_step()?;
    let is_new = index == step.actions.len();
    let rule = risk::assess(step.planned().get(index)?)?;
    if !is_new || task.risky_actions < max {
        return None;
    }
    Some(risk_limit_failure(task, max, rule))
}

/// Returns the failure if the next function call is risky and exceeds the limit. A started call has already been counted, and
/// a call that is no longer made only gets its result.
fn call_risk_limit_exceeded(task: &Task, index: usize) -> Option<Failure> {
    let max = task.spec.limits.max_risky_actions?;
    let step = task.open_step()?;
    let is_new = step.abandonment.is_none() && step.open_call().is_none();
    let rule = risk::assess_call(step.decided_call(index)?, &task.spec.tool_endpoints)?;
    if !is_new || task.risky_actions < max {
        return None;
    }
    Some(risk_limit_failure(task, max, rule))
}

fn risk_limit_failure(task: &Task, max: u32, risk: &str) -> Failure {
    let message = Message::RiskLimit {
        max: max.into(),
        risk,
    };
    failure(task, reason::RISK_LIMIT, message)
}

fn failure(task: &Task, reason: &'static str, message: Message<'_>) -> Failure {
    Failure::new(reason, task.text(message))
}

/// Usage of models that counts towards the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedUsage {
    pub tokens: u64,
    /// `None` if no cost is known.
    pub cost_micros_usd: Option<u64>,
}

/// Returns what counts towards the limits: what is known, and estimates of calls that did not report their usage.
#[must_use]
pub fn counted(task: &Task) -> CountedUsage {
    if !task.estimates_usage {
        return CountedUsage {
            tokens: task.usage.known_tokens(),
            cost_micros_usd: task.usage.cost_micros_usd,
        };
    }
    CountedUsage {
        tokens: task.usage_tally.tokens(),
        cost_micros_usd: task.usage_tally.cost_micros_usd(),
    }
}

/// Returns the remaining limits of a task.
#[must_use]
pub fn remaining(task: &Task, now: SystemTime) -> RemainingLimits {
    let limits = &task.spec.limits;
    let counted = counted(task);
    let steps = u32::try_from(task.counted_steps()).unwrap_or(u32::MAX);
    RemainingLimits {
        steps: Some(limits.max_steps.saturating_sub(steps)),
        time: Some(limits.max_duration.saturating_sub(task.active_time(now))),
        tokens: limits
            .max_tokens
            .map(|max| max.saturating_sub(counted.tokens)),
        cost_micros_usd: limits
            .max_cost_micros_usd
            .map(|max| max.saturating_sub(counted.cost_micros_usd.unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::decision::{Next, PlannedAction, Usage};
    use motorium_proto::domain::effect::ActionResult;
    use motorium_proto::service::BackendAttempt;

    use super::remaining;
    use crate::Task;
    use crate::event::{Event, StoredExchange, UserRequest, UserRequestKind};
    use crate::machine::{Directive, directive};
    use crate::samples::*;
    use crate::spec::Limits;

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
        let asked = |kind| {
            vec![
                started(),
                Event::UserAsked(UserRequest::new(kind, "which?")),
            ]
        };
        let question = || asked(UserRequestKind::Question);
        assert_eq!(reason(brief, question(), 9), "AwaitUser");
        for kind in [
            UserRequestKind::Question,
            UserRequestKind::ManualAction,
            UserRequestKind::Approval,
        ] {
            assert_eq!(reason(brief, asked(kind), 10), "TIME_LIMIT", "{kind:?}");
        }
        let taken = Event::TakenOver { user: "u".into() };
        let taken = [question(), vec![taken]].concat();
        assert_eq!(reason(brief, taken, 1000), "AwaitUser");
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
            requires_manual_action: false,
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

    /// A skipped backend that used a hundred tokens.
    fn skipped() -> Event {
        skipped_after(Usage {
            input_tokens: Some(60),
            output_tokens: Some(40),
            cost_micros_usd: Some(1000),
            calls: 1,
            ..Usage::default()
        })
    }

    fn skipped_after(usage: Usage) -> Event {
        Event::BackendSkipped {
            attempt: BackendAttempt {
                backend: "b".into(),
                reason: "TRANSIENT".into(),
                message: String::new(),
                usage,
            },
            exchange: StoredExchange::default(),
        }
    }

    #[test]
    fn a_call_of_unknown_usage_does_not_reset_a_budget() {
        let unknown = Usage {
            calls: 1,
            ..Usage::default()
        };
        let limits = Limits {
            max_tokens: Some(250),
            max_cost_micros_usd: Some(2500),
            ..Limits::default()
        };
        let calls = [skipped(), skipped_after(unknown)];
        let task = with_limits(limits, [vec![started()], calls.to_vec()].concat());
        let left = remaining(&task, at(1));
        assert_eq!((left.tokens, left.cost_micros_usd), (Some(50), Some(500)));
        assert_eq!(
            task.usage.input_tokens, None,
            "people see that it is unknown"
        );
        let spent = [calls.to_vec(), vec![skipped()]].concat();
        let mut task = with_limits(limits, [vec![started()], spent].concat());
        let reason = |task: &Task| match directive(task, at(1)) {
            Directive::Fail(failure) => failure.reason,
            other => format!("{other:?}"),
        };
        assert_eq!(reason(&task), "TOKEN_LIMIT");
        // As recordings of earlier versions have it.
        task.estimates_usage = false;
        assert_eq!(reason(&task), "Observe");
    }

    #[test]
    fn a_server_that_never_reports_its_usage_is_limited_all_the_same() {
        let unknown = || {
            skipped_after(Usage {
                calls: 1,
                ..Usage::default()
            })
        };
        let limits = Limits {
            max_tokens: Some(10_000),
            ..Limits::default()
        };
        let calls = |count| std::iter::repeat_with(unknown).take(count);
        let after = |count| {
            let events = [started(), observed()].into_iter().chain(calls(count));
            directive(&with_limits(limits, events.collect()), at(1))
        };
        assert_eq!(after(2), Directive::Decide);
        let Directive::Fail(failure) = after(3) else {
            panic!("it would have gone on for ever");
        };
        assert_eq!(failure.reason, "TOKEN_LIMIT");
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
}
