//! Summary of a task and its outcome, as Markdown, in the task's language.

use std::time::Duration;

use motorium_messages::{Language, Message};

use motorium_task::{Lifecycle, Task, view, words};
use motorium_text::rfc3339;

/// Returns the content of `answer.md`.
pub(super) fn text(task: &Task) -> String {
    let mut text = format!("# {}\n\n", one_line(&task.spec.goal));
    text += &format!("{}\n\n", outcome(task));
    let message = final_message(task);
    if !message.is_empty() {
        text += &format!("{}\n\n", message.trim());
    }
    if let (Some(summary), false) = (&task.summary, is_succeeded(task)) {
        text += &format!("{}\n\n", summary.trim());
    }
    text += "| | |\n|---|---|\n";
    for (name, value) in facts(task) {
        text += &format!("| {name} | {value} |\n");
    }
    text
}

fn is_succeeded(task: &Task) -> bool {
    matches!(task.lifecycle, Lifecycle::Succeeded { .. })
}

/// Describes the state of a task in a sentence.
pub(super) fn outcome(task: &Task) -> String {
    words::state_sentence(view::state(&task.lifecycle), task.spec.message_language())
}

/// Returns the final answer, failure or pending request of a task.
pub(super) fn final_message(task: &Task) -> String {
    match &task.lifecycle {
        Lifecycle::Succeeded { answer } => answer.clone(),
        Lifecycle::Failed(failure) => task.text(Message::FailureWithReason {
            message: &failure.message,
            reason: &failure.reason,
        }),
        Lifecycle::Cancelled { reason } => reason.clone(),
        Lifecycle::AwaitingUser(request) => request.message.clone(),
        _ => String::new(),
    }
}

/// Returns facts about the whole task, with their labels.
pub(super) fn facts(task: &Task) -> Vec<(String, String)> {
    let label = |fact: &str| task.text(Message::FactLabel { fact });
    let mut facts = vec![
        (label("task"), task.spec.name.to_string()),
        (label("steps"), task.steps.len().to_string()),
    ];
    if let Some((desktop, _)) = &task.desktop {
        facts.push((label("desktop"), desktop.to_string()));
    }
    if let Some(started) = task.started_at {
        facts.push((label("started"), rfc3339::format(started)));
        let ended = task.ended_at.unwrap_or(task.updated_at);
        let time = ended.duration_since(started).unwrap_or_default();
        let time = duration(time, task.spec.message_language());
        facts.push((label("time"), time));
    }
    let usage = task.usage;
    if usage.calls > 0 {
        facts.push((label("model-calls"), usage.calls.to_string()));
    }
    if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
        let tokens = task.text(Message::FactTokens { input, output });
        facts.push((label("tokens"), tokens));
    }
    if let Some(cost) = usage.cost_micros_usd {
        let amount = &format!("{:.4}", cost as f64 / 1e6);
        facts.push((label("cost"), task.text(Message::FactCost { amount })));
    }
    facts
}

/// Formats a duration for people.
pub(super) fn duration(duration: Duration, language: Language) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => {
            let milliseconds = &duration.as_millis().to_string();
            Message::DurationMilliseconds { milliseconds }.text(language)
        }
        1..60 => {
            let seconds = &format!("{:.1}", duration.as_secs_f64());
            Message::DurationSeconds { seconds }.text(language)
        }
        60..3600 => {
            let (minutes, seconds) = (seconds / 60, seconds % 60);
            Message::DurationMinutes { minutes, seconds }.text(language)
        }
        _ => {
            let (hours, minutes) = (seconds / 3600, seconds % 3600 / 60);
            Message::DurationHours { hours, minutes }.text(language)
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_the_units_of_the_language() {
        let check = |milliseconds: u64, english: &str, chinese: &str| {
            let long = Duration::from_millis(milliseconds);
            assert_eq!(duration(long, Language::English), english);
            assert_eq!(duration(long, Language::Chinese), chinese);
        };
        check(41, "41 ms", "41 毫秒");
        check(2_300, "2.3 s", "2.3 秒");
        check(185_000, "3 min 5 s", "3 分 5 秒");
        check(7_260_000, "2 h 1 min", "2 小时 1 分");
    }
}
