//! Final answer of a task that ends without one, computed without a model: how far it came, and what remains.

use motorium_messages::{Message, join_clauses, join_sentences};
use motorium_proto::domain::decision::Usage;

use crate::event::Event;
use crate::fold::Task;
use crate::session::performed_lines;

/// Returns the events that end a task outside of a run: the summary, and the end.
#[must_use]
pub fn closing_events(task: &Task, end: Event) -> Vec<Event> {
    let summary = summarise(task, &end).map(|text| Event::Summarized {
        text,
        usage: Usage::default(),
        by_model: false,
        responses: None,
    });
    summary.into_iter().chain([end]).collect()
}

/// Summarises a task that ends with this event; `None` if the event ends nothing or has an answer itself.
#[must_use]
pub fn summarise(task: &Task, end: &Event) -> Option<String> {
    let language = task.spec.message_language();
    let done = performed_lines(task);
    let joined = join_clauses(&done, language);
    let done_message = match done.is_empty() {
        true => Message::SummaryNothingDone,
        false => Message::SummaryDone { done: &joined },
    };
    let reason = match end {
        Event::Succeeded { answer } if answer.trim().is_empty() => {
            let message = match done.is_empty() {
                true => Message::SummaryNothingNeeded,
                false => Message::SummarySucceeded { done: &joined },
            };
            return Some(message.text(language));
        }
        Event::Failed(failure) => Message::SummaryFailed {
            reason: without_stop(&failure.message),
        },
        Event::Cancelled { reason } if reason.trim().is_empty() => Message::SummaryStopped,
        Event::Cancelled { reason } => Message::SummaryStoppedBecause {
            reason: without_stop(reason),
        },
        _ => return None,
    };
    let pending = pending_intents(task);
    let pending = join_clauses(&pending, language);
    let remaining = match pending.is_empty() {
        true => Message::SummaryGoalRemains {
            goal: without_stop(&task.spec.goal),
        },
        false => Message::SummaryRemaining {
            remaining: &pending,
        },
    };
    let sentences = [reason, done_message, remaining].map(|message| message.text(language));
    Some(join_sentences(&sentences, language))
}

/// Returns what the last step decided and did not perform.
fn pending_intents(task: &Task) -> Vec<&str> {
    let Some(step) = task.steps.last() else {
        return Vec::new();
    };
    let performed = step.actions.iter().filter(|action| action.performed());
    let pending = step.planned().iter().skip(performed.count());
    let intents = pending.map(|planned| planned.intent.trim());
    intents.filter(|intent| !intent.is_empty()).collect()
}

/// Returns a text without the mark at its end: the sentence that it becomes a part of has its own.
fn without_stop(text: &str) -> &str {
    text.trim()
        .trim_end_matches(['.', '。', '?', '？', '!', '！'])
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::decision::Next;
    use motorium_proto::domain::effect::ActionResult;

    use super::*;
    use crate::event::Failure;
    use crate::samples::{
        decided, finished, intended, observed, performed, planned, started, waited, with_limits,
    };
    use crate::spec::Limits;

    fn check(events: Vec<Event>, end: Event, expected: Option<&str>) {
        let task = with_limits(Limits::default(), [vec![started()], events].concat());
        assert_eq!(summarise(&task, &end).as_deref(), expected);
    }

    fn clicked(decided_actions: usize) -> Vec<Event> {
        vec![
            observed(),
            decided(Next::Act(vec![planned(); decided_actions])),
            intended(1, 0),
            performed(1, 0, ActionResult::Performed),
            finished(),
        ]
    }

    #[test]
    fn every_ending_without_an_answer_gets_a_summary() {
        let answered = |answer: &str| Event::Succeeded {
            answer: answer.to_owned(),
        };
        check(clicked(1), answered("it is done"), None);
        check(clicked(1), answered(" "), Some("Done: click."));
        check(vec![], answered(""), Some("Done; no action was needed."));
        let failed = || Event::Failed(Failure::new("STEP_LIMIT", "too many steps."));
        check(
            clicked(2),
            failed(),
            Some("Not done: too many steps. Done so far: click. What remains: click."),
        );
        let unanswered = Event::Cancelled {
            reason: "no person is available to answer: which one do you mean?".to_owned(),
        };
        check(
            vec![],
            unanswered,
            Some(
                "Stopped: no person is available to answer: which one do you mean. Nothing was done. The rest of the task remains: click \"a\".",
            ),
        );
        check(
            clicked(1),
            failed(),
            Some(
                "Not done: too many steps. Done so far: click. The rest of the task remains: click \"a\".",
            ),
        );
        let stopped = Event::Cancelled {
            reason: String::new(),
        };
        check(
            vec![],
            stopped,
            Some("Stopped. Nothing was done. The rest of the task remains: click \"a\"."),
        );
    }

    #[test]
    fn a_step_that_only_waited_is_nothing_done() {
        let failed = || Event::Failed(Failure::new("PLANNER_GAVE_UP", "\"X\" did not appear"));
        check(
            waited(1),
            failed(),
            Some(
                "Not done: \"X\" did not appear. Nothing was done. The rest of the task remains: click \"a\".",
            ),
        );
        let then_waited = [clicked(1), waited(2)].concat();
        check(
            then_waited,
            failed(),
            Some(
                "Not done: \"X\" did not appear. Done so far: click. The rest of the task remains: click \"a\".",
            ),
        );
        let succeeded = Event::Succeeded {
            answer: String::new(),
        };
        check(waited(1), succeeded, Some("Done; no action was needed."));
    }
}
