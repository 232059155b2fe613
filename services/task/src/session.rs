//! Summaries of the earlier tasks of a session, for the tasks that follow them.
//!
//! Each task is summarised from its log, and the summaries are bounded in number and size: they are part of every prompt.
//!
//! No model is asked.

use motorium_messages::{Language, Message};
use motorium_proto::domain::action::ActionKind;
use motorium_proto::domain::effect::Verdict;
use motorium_proto::domain::session::{EarlierTask, TaskEnd};

use crate::fold::{Lifecycle, Task};
use crate::record::{ActionRecord, StepRecord};
use crate::shortened::shortened;

/// Maximum number of earlier tasks. A person rarely refers further back, and the transcript has all of them.
pub const MAX_EARLIER_TASKS: usize = 8;
/// Maximum size of all summaries together in characters: about 2,000 tokens, less than one screenshot costs with some models.
const MAX_TOTAL_CHARS: usize = 8_000;
/// Maximum length of a goal and of an answer in characters: several sentences.
const MAX_TEXT_CHARS: usize = 1_000;
/// Maximum length of a message and of extracted data in characters.
const MAX_DATA_CHARS: usize = 1_000;
/// Maximum length of the line of an action in characters: one sentence.
const MAX_LINE_CHARS: usize = 160;
/// Maximum number of messages. The last ones tell what the user wants now.
const MAX_MESSAGES: usize = 6;
/// Maximum number of lines of actions. The last ones tell how the task left the desktop.
const MAX_ACTIONS: usize = 12;

/// Summarises a task that has ended. `None` if it has not, or if it never started.
#[must_use]
pub fn summarise(task: &Task) -> Option<EarlierTask> {
    task.started_at?;
    let (outcome, answer) = match &task.lifecycle {
        Lifecycle::Succeeded { answer } => (TaskEnd::Succeeded, answer),
        Lifecycle::Failed(failure) => (TaskEnd::Failed, &failure.message),
        Lifecycle::Cancelled { reason } => (TaskEnd::Cancelled, reason),
        _ => return None,
    };
    let answer = task.summary.as_ref().unwrap_or(answer);
    let extracted = task.steps.iter().rev();
    let extracted = extracted
        .filter_map(|step| step.extracted.as_deref())
        .next();
    Some(EarlierTask {
        task: task.spec.name.to_string(),
        goal: shortened(&task.spec.goal, MAX_TEXT_CHARS),
        outcome,
        answer: shortened(answer, MAX_TEXT_CHARS),
        user_messages: last(messages(task), MAX_MESSAGES),
        actions: performed_lines(task),
        extracted_json: extracted.map(|json| shortened(json, MAX_DATA_CHARS)),
        files: task.context.files.clone(),
        written_by_model: task.spec.written_by_model
            || task
                .user_statements
                .iter()
                .any(|statement| statement.written_by_model),
    })
}

/// Keeps as many of the newest summaries, given oldest first, as fit into a prompt. A task that does not fit as a whole
/// keeps its goal and its answer.
#[must_use]
pub fn bounded(tasks: Vec<EarlierTask>) -> Vec<EarlierTask> {
    let mut left = MAX_TOTAL_CHARS;
    let mut kept: Vec<EarlierTask> = tasks
        .into_iter()
        .rev()
        .take(MAX_EARLIER_TASKS)
        .map_while(|task| {
            let task = if size(&task) <= left {
                task
            } else {
                without_details(task)
            };
            left = left.checked_sub(size(&task))?;
            Some(task)
        })
        .collect();
    kept.reverse();
    kept
}

fn without_details(task: EarlierTask) -> EarlierTask {
    EarlierTask {
        user_messages: Vec::new(),
        actions: Vec::new(),
        extracted_json: None,
        ..task
    }
}

fn size(task: &EarlierTask) -> usize {
    let files = task.files.iter().flat_map(|file| [&file.name, &file.path]);
    let texts = [&task.goal, &task.answer].into_iter();
    let texts = texts.chain(&task.user_messages).chain(&task.actions);
    let texts = texts.chain(&task.extracted_json).chain(files);
    texts.map(|text| text.chars().count()).sum()
}

fn messages(task: &Task) -> Vec<String> {
    let messages = task.user_statements.iter();
    let messages = messages.map(|statement| &statement.text);
    let messages = messages.filter(|message| !message.trim().is_empty());
    messages
        .map(|message| shortened(message, MAX_DATA_CHARS))
        .collect()
}

/// Returns the last performed actions and function calls as lines. A wait is not among them: nothing is done by it.
pub(crate) fn performed_lines(task: &Task) -> Vec<String> {
    last(actions(task), MAX_ACTIONS)
}

/// Returns the performed actions and function calls as lines. Consecutive equal lines become one with their number.
fn actions(task: &Task) -> Vec<String> {
    let language = task.spec.message_language();
    let mut lines: Vec<(String, usize)> = Vec::new();
    for line in task
        .steps
        .iter()
        .flat_map(|step| step_lines(step, language))
    {
        match lines.last_mut() {
            Some((before, times)) if *before == line => *times += 1,
            _ => lines.push((line, 1)),
        }
    }
    let lines = lines.into_iter();
    lines.map(|(line, times)| counted(line, times)).collect()
}

fn step_lines(step: &StepRecord, language: Language) -> Vec<String> {
    let performed = step.actions.iter().filter(|action| action.performed());
    let performed = performed.filter(|action| action.action.kind() != ActionKind::Wait);
    let performed = performed.map(|action| action_line(action, language));
    let calls = step.function_calls.iter().map(|call| {
        let name = &call.name;
        Message::CallFunction { name }.text(language)
    });
    performed
        .chain(calls)
        .filter(|line| !line.is_empty())
        .map(|line| shortened(&line, MAX_LINE_CHARS))
        .collect()
}

fn action_line(action: &ActionRecord, language: Language) -> String {
    let intent = action.planned.intent.trim();
    let verdict = action.effect.as_ref().map(|effect| effect.verdict);
    if verdict != Some(Verdict::NoEffect) || intent.is_empty() {
        return intent.to_owned();
    }
    let detail = &Message::EffectNone.text(language);
    let text = intent;
    Message::WithDetail { text, detail }.text(language)
}

/// Returns the performed actions of a step that had an effect, and its function calls, as lines.
pub(crate) fn effective_lines(step: &StepRecord, language: Language) -> Vec<String> {
    let is_in_vain = |action: &&ActionRecord| {
        let verdict = action.effect.as_ref().map(|effect| effect.verdict);
        matches!(verdict, Some(Verdict::NoEffect | Verdict::EndReached))
    };
    let performed = step.actions.iter().filter(|action| action.performed());
    let acting = performed.filter(|action| action.action.kind() != ActionKind::Wait);
    let effective = acting.filter(|action| !is_in_vain(action));
    let intents = effective.map(|action| action.planned.intent.trim().to_owned());
    let calls = step.function_calls.iter().map(|call| {
        let name = &call.name;
        Message::CallFunction { name }.text(language)
    });
    let lines = intents.chain(calls);
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns the last of these lines, shortened and with their numbers.
pub(crate) fn last_counted<'a>(lines: impl Iterator<Item = (&'a str, usize)>) -> Vec<String> {
    let lines = lines.map(|(line, times)| counted(shortened(line, MAX_LINE_CHARS), times));
    last(lines.collect(), MAX_ACTIONS)
}

fn counted(line: String, times: usize) -> String {
    match times {
        1 => line,
        times => format!("{line} ×{times}"),
    }
}

/// Returns the last entries; an ellipsis stands for those before.
fn last(mut lines: Vec<String>, max: usize) -> Vec<String> {
    if lines.len() > max {
        // One line more than the surplus, for the ellipsis.
        lines.drain(..=lines.len() - max);
        lines.insert(0, "…".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::decision::Next;
    use motorium_proto::domain::effect::ActionResult;
    use motorium_proto::domain::session::{FileOrigin, TaskFile};

    use super::*;
    use crate::event::{Event, Failure};
    use crate::samples::{
        decided, finished, intended, observed, performed, planned, started, with_limits,
    };
    use crate::spec::Limits;

    fn summary(events: Vec<Event>) -> Option<EarlierTask> {
        let events = [vec![started()], events].concat();
        summarise(&with_limits(Limits::default(), events))
    }

    fn step(number: u32) -> Vec<Event> {
        vec![
            observed(),
            decided(Next::Act(vec![planned()])),
            intended(number, 0),
            performed(number, 0, ActionResult::Performed),
            finished(),
        ]
    }

    fn succeeded(answer: &str) -> Event {
        Event::Succeeded {
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn ended_task_is_summarised_with_its_actions() {
        assert_eq!(summary(step(1)), None, "it has not ended");
        let put = Event::AttachmentPut {
            name: "a.txt".to_owned(),
            size_bytes: 1,
            path: "/files/a.txt".to_owned(),
            error: String::new(),
            image: None,
            image_error: String::new(),
        };
        let message = Event::MessageReceived {
            text: "the blue one".to_owned(),
            attachments: vec![],
            written_by_model: false,
        };
        let events = [vec![put, message], step(1), vec![succeeded("it is saved")]];
        let earlier = summary(events.concat()).unwrap();
        assert_eq!(
            (earlier.goal.as_str(), earlier.outcome),
            ("click \"a\"", TaskEnd::Succeeded)
        );
        assert_eq!(earlier.answer, "it is saved");
        assert_eq!(earlier.actions, ["click"]);
        assert_eq!(earlier.user_messages, ["the blue one"]);
        assert!(!earlier.written_by_model);
        let of_model = Event::MessageReceived {
            text: "the red one".to_owned(),
            attachments: vec![],
            written_by_model: true,
        };
        let events = [vec![of_model], step(1), vec![succeeded("it is saved")]];
        assert!(summary(events.concat()).unwrap().written_by_model);
        let file = TaskFile {
            name: "a.txt".to_owned(),
            path: "/files/a.txt".to_owned(),
            origin: FileOrigin::Attached,
        };
        assert_eq!(earlier.files, [file]);
        let failed = Event::Failed(Failure::new("STEP_LIMIT", "too many steps"));
        let earlier = summary(vec![failed]).unwrap();
        assert_eq!(
            (earlier.outcome, earlier.answer.as_str()),
            (TaskEnd::Failed, "too many steps")
        );
    }

    #[test]
    fn long_tasks_and_long_texts_are_shortened() {
        let steps: Vec<Event> = (1..40).flat_map(step).collect();
        let earlier = summary([steps, vec![succeeded(&"x".repeat(5_000))]].concat()).unwrap();
        assert_eq!(earlier.answer.chars().count(), MAX_TEXT_CHARS + 1);
        assert_eq!(earlier.actions, ["click ×39"]);
        let lines: Vec<String> = (0..30).map(|line| line.to_string()).collect();
        let lines = last(lines, MAX_ACTIONS);
        assert_eq!(lines.len(), MAX_ACTIONS);
        assert_eq!(
            (lines[0].as_str(), lines[1].as_str(), lines[11].as_str()),
            ("…", "19", "29")
        );
    }

    #[test]
    fn the_newest_tasks_are_kept_and_all_together_fit() {
        let earlier = summary(vec![succeeded("done")]).unwrap();
        let numbered = |number: usize| EarlierTask {
            task: number.to_string(),
            ..earlier.clone()
        };
        let kept = bounded((0..20).map(numbered).collect());
        let names: Vec<&str> = kept.iter().map(|task| task.task.as_str()).collect();
        assert_eq!(names, ["12", "13", "14", "15", "16", "17", "18", "19"]);
        let long = |number: usize| EarlierTask {
            answer: "x".repeat(MAX_TEXT_CHARS),
            actions: vec!["y".repeat(MAX_LINE_CHARS); MAX_ACTIONS],
            ..numbered(number)
        };
        let kept = bounded((0..8).map(long).collect());
        assert!(kept.iter().map(size).sum::<usize>() <= MAX_TOTAL_CHARS);
        let details: Vec<bool> = kept.iter().map(|task| !task.actions.is_empty()).collect();
        assert_eq!(
            details,
            [false, false, true, true],
            "the newest keep their details"
        );
    }
}
