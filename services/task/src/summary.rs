//! Final answer of a task that ends without one, computed without a model: how far it came, and what remains.

use motorium_messages::{Message, join_clauses, join_sentences};
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::effect::Verdict;

use crate::completion::last_acting;
use crate::event::{Event, StoredExchange};
use crate::fold::Task;
use crate::record::ActionRecord;
use crate::session::{effective_lines, last_counted, performed_lines};

/// Returns the events that end a task outside of a run: the summary, and the end.
#[must_use]
pub fn closing_events(task: &Task, end: Event) -> Vec<Event> {
    let summary = summarise(task, &end).map(|text| Event::Summarized {
        text,
        usage: Usage::default(),
        by_model: false,
        exchange: StoredExchange::default(),
    });
    summary.into_iter().chain([end]).collect()
}

/// Summarises a task that ends with this event; `None` if the event ends nothing or has an answer itself.
#[must_use]
pub fn summarise(task: &Task, end: &Event) -> Option<String> {
    let language = task.spec.message_language();
    let reason = match end {
        Event::Succeeded { answer } if answer.trim().is_empty() => {
            let done = performed_lines(task);
            let joined = join_clauses(&done, language);
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
    let failed = match end {
        Event::Failed(failure) => failed_words(&failure.message),
        _ => None,
    };
    let pending = pending_intents(task);
    let (mut done, has_failed_in_part) = done_before(task, failed);
    // A field was clicked, but the text for it was not typed: the clause is begun. Or nothing told whether the last action hit.
    let last = task.steps.last();
    let is_open = |action: &&ActionRecord| {
        let verdict = action.effect.as_ref().map(|effect| effect.verdict);
        matches!(verdict, Some(Verdict::Unknown | Verdict::TargetMoved))
    };
    let open = last_acting(task).filter(is_open);
    let is_begun = |line: &DoneLine<'_>| {
        let is_its =
            |action: &ActionRecord| action.performed() && action.planned.intent.trim() == line.text;
        let mut actions = last.into_iter().flat_map(|step| &step.actions);
        open.is_some_and(is_its) || pending.contains(&line.text.as_str()) && actions.any(is_its)
    };
    let begun = done.last_mut().filter(|line| is_begun(line));
    let is_begun = begun.is_some() || has_failed_in_part;
    if let Some(line) = begun {
        line.times -= 1;
    }
    done.retain(|line| line.times > 0);
    let lines = last_counted(done.iter().map(|line| (line.text.as_str(), line.times)));
    let joined = join_clauses(&lines, language);
    let done_message = match done.is_empty() {
        // Neither done, nor nothing.
        true if is_begun => None,
        true => Some(Message::SummaryNothingDone),
        false => Some(Message::SummaryDone { done: &joined }),
    };
    let pending = join_clauses(&pending, language);
    let remaining = match remainder(&task.spec.goal, &done, failed) {
        Some("") => None,
        Some(remaining) => Some(Message::SummaryRemaining { remaining }),
        None if pending.is_empty() => Some(Message::SummaryGoal {
            goal: without_stop(&task.spec.goal),
        }),
        None => Some(Message::SummaryRemaining {
            remaining: &pending,
        }),
    };
    let sentences: Vec<String> = [Some(reason), done_message, remaining]
        .into_iter()
        .flatten()
        .map(|message| message.text(language))
        .collect();
    Some(join_sentences(&sentences, language))
}

/// Actions with the same words, announced in one line of progress or in several.
struct DoneLine<'a> {
    text: String,
    announced: &'a str,
    /// Number of different lines of progress that announced it.
    times: usize,
}

/// Returns what had an effect, without what failed in the end, and whether that had one as well. The actions of one announcement are one line: a field is clicked,
/// typed into and perhaps corrected for one entry.
fn done_before<'a>(task: &'a Task, failed: Option<&str>) -> (Vec<DoneLine<'a>>, bool) {
    let language = task.spec.message_language();
    let mut lines: Vec<DoneLine<'a>> = Vec::new();
    for step in &task.steps {
        let announced = step
            .decision
            .as_ref()
            .map_or("", |decision| decision.progress.as_str());
        for text in effective_lines(step, language) {
            match lines.last_mut() {
                Some(before) if before.text == text => {
                    before.times += usize::from(before.announced != announced);
                    before.announced = announced;
                }
                _ => lines.push(DoneLine {
                    text,
                    announced,
                    times: 1,
                }),
            }
        }
    }
    let mut acting = task.steps.iter().rev();
    let acting = acting.find(|step| !step.planned().is_empty());
    let last_announced = acting.and_then(|step| step.decision.as_ref());
    let is_failed = |last: &DoneLine<'_>| {
        failed == Some(last.text.as_str())
            && last_announced.is_some_and(|decision| decision.progress == last.announced)
    };
    let failed = lines.pop_if(|last| is_failed(last));
    (lines, failed.is_some())
}

/// Returns the words of the user that a failure begins with, in quotation marks, if it does.
fn failed_words(message: &str) -> Option<&str> {
    let quoted = |opening: char, closing: &str| {
        let (words, _) = message.strip_prefix(opening)?.split_once(closing)?;
        Some(words)
    };
    quoted('`', "`").or_else(|| quoted('“', "”："))
}

/// Words between the clauses of a goal.
const CONNECTIVES: [&str; 7] = ["and then", "then", "and", "然后", "接着", "并", "再"];

/// Returns the part of a goal that was not reached. `None` if the goal does not contain the words of what was done and of what failed:
/// a model has words of its own.
fn remainder<'a>(goal: &'a str, done: &[DoneLine<'_>], failed: Option<&str>) -> Option<&'a str> {
    let mut rest = goal;
    let words = done
        .iter()
        .flat_map(|line| std::iter::repeat_n(line.text.as_str(), line.times));
    for words in words {
        let (_, after) = rest.split_once(words)?;
        rest = Some(after).filter(|after| is_end_of_clause(after))?;
    }
    match failed.map(|words| rest.find(words)) {
        Some(at) => rest = &rest[at?..],
        None if done.is_empty() => return None,
        None => {}
    }
    let mut rest = rest.trim_matches(is_separator);
    while let Some(after) = without_connective(rest) {
        rest = after;
    }
    Some(rest)
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || ",;.，；。、".contains(c)
}

/// Returns whether a clause may end before this text. The intent `click` of a model is no clause of `click "Save"`.
fn is_end_of_clause(after: &str) -> bool {
    let text = after.trim_start();
    text.is_empty() || text.starts_with(is_separator) || without_connective(text).is_some()
}

fn without_connective(text: &str) -> Option<&str> {
    CONNECTIVES.iter().find_map(|word| {
        let after = text.strip_prefix(word)?;
        let is_whole = !word.is_ascii() || after.starts_with(is_separator) || after.is_empty();
        is_whole.then(|| after.trim_start_matches(is_separator))
    })
}

/// Returns what the last step decided and did not perform, each once. A wait is nothing that remains.
fn pending_intents(task: &Task) -> Vec<&str> {
    let Some(step) = task.steps.last() else {
        return Vec::new();
    };
    let performed = step.actions.iter().filter(|action| action.performed());
    let pending = step.planned().iter().skip(performed.count());
    let pending = pending.filter(|planned| planned.action.kind() != ActionKind::Wait);
    let mut intents: Vec<&str> = pending
        .map(|planned| planned.intent.trim())
        .filter(|intent| !intent.is_empty())
        .collect();
    intents.dedup();
    intents
}

/// Returns a text without the mark at its end: the sentence that it becomes a part of has its own.
fn without_stop(text: &str) -> &str {
    text.trim()
        .trim_end_matches(['.', '。', '?', '？', '!', '！'])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::decision::{Next, PlannedAction};
    use motorium_proto::domain::effect::{ActionResult, Verdict};
    use motorium_proto::domain::id::TaskName;

    use super::*;
    use crate::event::Failure;
    use crate::machine::action_id;
    use crate::samples::{
        decided, finished, intended, judged, observed, performed, planned, started, waited,
        with_limits,
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
            Some("Not done: too many steps. What remains: click."),
        );
        let unanswered = Event::Cancelled {
            reason: "no person is available to answer: which one do you mean?".to_owned(),
        };
        check(
            vec![],
            unanswered,
            Some(
                "Stopped: no person is available to answer: which one do you mean. Nothing was done. The task was: click \"a\".",
            ),
        );
        check(
            clicked(1),
            failed(),
            Some("Not done: too many steps. Done so far: click. The task was: click \"a\"."),
        );
        let stopped = Event::Cancelled {
            reason: String::new(),
        };
        check(
            vec![],
            stopped,
            Some("Stopped. Nothing was done. The task was: click \"a\"."),
        );
    }

    /// One decision of the phrasebook, whose actions all have the words of their clause.
    fn clause(step: u32, words: &str, actions: usize, verdict: Verdict) -> Vec<Event> {
        let action = PlannedAction {
            intent: words.to_owned(),
            ..planned()
        };
        let mut events = vec![observed()];
        let Event::Decided { mut decision, .. } = decided(Next::Act(vec![action; actions])) else {
            panic!("it is a decision");
        };
        decision.progress = words.to_owned();
        events.push(Event::Decided {
            decision,
            annotated_image: None,
            exchange: StoredExchange::default(),
            elapsed: Duration::ZERO,
        });
        for index in 0..actions {
            let name = TaskName::from_segment("t").unwrap();
            let action_id = action_id(&name, step, index, 0);
            let Event::ActionIntended(mut intended) = intended(step, 0) else {
                panic!("it is an intent");
            };
            intended.action_id = action_id.clone();
            intended.planned.intent = words.to_owned();
            let Event::ActionPerformed { outcome, .. } =
                performed(step, 0, ActionResult::Performed)
            else {
                panic!("it is an outcome");
            };
            let Event::EffectJudged { mut effect, .. } = judged(step, 0) else {
                panic!("it is a judgement");
            };
            effect.verdict = verdict;
            events.extend([
                Event::ActionIntended(intended),
                Event::ActionPerformed {
                    action_id: action_id.clone(),
                    outcome,
                },
                Event::EffectJudged {
                    action_id,
                    effect,
                    screenshot: None,
                },
            ]);
        }
        events.push(finished());
        events
    }

    #[test]
    fn the_rest_of_the_goal_remains() {
        let goal = r#"open http://a.example, type "Ada" into "Name", and then click "Save""#;
        let ended = |events: Vec<Event>, message: &str| {
            let mut task = with_limits(Limits::default(), [vec![started()], events].concat());
            task.spec.goal = goal.to_owned();
            let failure = Failure::new("PLANNER_GAVE_UP", message);
            summarise(&task, &Event::Failed(failure)).unwrap()
        };
        let open = || clause(1, "open http://a.example", 1, Verdict::Confirmed);
        let entry = r#"type "Ada" into "Name""#;
        // Clicked, typed, and corrected once.
        let typed = |verdict| {
            [
                clause(2, entry, 2, Verdict::Confirmed),
                clause(3, entry, 3, verdict),
            ]
            .concat()
        };
        // Nothing told whether the last action hit.
        for verdict in [Verdict::Unknown, Verdict::TargetMoved] {
            let events = [open(), clause(2, entry, 1, verdict)].concat();
            let rest = r#"type "Ada" into "Name", and then click "Save""#;
            assert_eq!(
                ended(events, "no person is available."),
                format!(
                    "Not done: no person is available. Done so far: open http://a.example. What remains: {rest}."
                )
            );
        }
        assert_eq!(
            ended(
                [open(), typed(Verdict::Confirmed)].concat(),
                r#"`click "Save"`: "Save" is not on the screen."#
            ),
            r#"Not done: `click "Save"`: "Save" is not on the screen. Done so far: open http://a.example; type "Ada" into "Name". What remains: click "Save"."#
        );
        assert_eq!(
            ended(
                [open(), typed(Verdict::NoEffect)].concat(),
                r#"`type "Ada" into "Name"`: the field did not take the text."#
            ),
            r#"Not done: `type "Ada" into "Name"`: the field did not take the text. Done so far: open http://a.example. What remains: type "Ada" into "Name", and then click "Save"."#
        );
        // A clause that is there twice, of which the second one failed.
        let twice = |step, number: &str, verdict| {
            let mut events = clause(step, "press Tab", 1, verdict);
            for event in &mut events {
                if let Event::Decided { decision, .. } = event {
                    decision.progress += number;
                }
            }
            events
        };
        let mut task = with_limits(
            Limits::default(),
            [
                vec![started()],
                twice(1, " (1/2)", Verdict::Confirmed),
                twice(2, " (2/2)", Verdict::NoEffect),
            ]
            .concat(),
        );
        task.spec.goal = "press Tab, press Tab".to_owned();
        let failure = Failure::new("PLANNER_GAVE_UP", "`press Tab` changed nothing");
        assert_eq!(
            summarise(&task, &Event::Failed(failure)).unwrap(),
            "Not done: `press Tab` changed nothing. Done so far: press Tab. What remains: press Tab."
        );
        // A limit ends a task after a clause.
        assert_eq!(
            ended(
                [open(), typed(Verdict::Confirmed)].concat(),
                "too many steps"
            ),
            r#"Not done: too many steps. Done so far: open http://a.example; type "Ada" into "Name". What remains: click "Save"."#
        );
    }

    #[test]
    fn a_step_that_only_waited_is_nothing_done() {
        let failed = || Event::Failed(Failure::new("PLANNER_GAVE_UP", "\"X\" did not appear"));
        check(
            waited(1),
            failed(),
            Some("Not done: \"X\" did not appear. Nothing was done. The task was: click \"a\"."),
        );
        let then_waited = [clicked(1), waited(2)].concat();
        check(
            then_waited,
            failed(),
            Some("Not done: \"X\" did not appear. Done so far: click. The task was: click \"a\"."),
        );
        let succeeded = Event::Succeeded {
            answer: String::new(),
        };
        check(waited(1), succeeded, Some("Done; no action was needed."));
    }
}
