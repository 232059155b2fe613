//! Summary of a task and its outcome, as Markdown.

use std::time::Duration;

use motorium_task::{Lifecycle, Task};

/// Returns the content of `answer.md`.
pub(super) fn text(task: &Task) -> String {
    let mut text = format!("# {}\n\n", one_line(&task.spec.goal));
    text += &format!("{}\n\n", outcome(task));
    match &task.lifecycle {
        Lifecycle::Succeeded { answer } => text += &format!("{}\n\n", answer.trim()),
        Lifecycle::Failed(failure) => {
            text += &format!("{} ({})\n\n", failure.message, failure.reason);
        }
        Lifecycle::Cancelled { reason } if !reason.is_empty() => text += &format!("{reason}\n\n"),
        Lifecycle::AwaitingUser(request) => text += &format!("{}\n\n", request.message),
        _ => {}
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

/// Describes the state of a task.
pub(super) fn outcome(task: &Task) -> &'static str {
    match &task.lifecycle {
        Lifecycle::Pending => "Not started.",
        Lifecycle::Running => "Still running.",
        Lifecycle::Paused => "Paused.",
        Lifecycle::AwaitingUser(_) => "Waiting for the user.",
        Lifecycle::Succeeded { .. } => "Done.",
        Lifecycle::Failed(_) => "Failed.",
        Lifecycle::Cancelled { .. } => "Cancelled.",
    }
}

/// Returns facts about the whole task, with their labels.
pub(super) fn facts(task: &Task) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("Task", task.spec.name.to_string()),
        ("Steps", task.steps.len().to_string()),
    ];
    if let Some((desktop, _)) = &task.desktop {
        facts.push(("Desktop", desktop.to_string()));
    }
    if let Some(started) = task.started_at {
        facts.push(("Started", super::steps::time(started)));
        let ended = task.ended_at.unwrap_or(task.updated_at);
        facts.push((
            "Time",
            duration(ended.duration_since(started).unwrap_or_default()),
        ));
    }
    let usage = task.usage;
    if usage.calls > 0 {
        facts.push(("Model calls", usage.calls.to_string()));
    }
    if let (Some(input), Some(output)) = (usage.input_tokens, usage.output_tokens) {
        facts.push(("Tokens", format!("{input} in, {output} out")));
    }
    if let Some(cost) = usage.cost_micros_usd {
        facts.push(("Cost", format!("{:.4} USD", cost as f64 / 1e6)));
    }
    facts
}

/// Formats a duration for people.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0 => format!("{} ms", duration.as_millis()),
        1..60 => format!("{:.1} s", duration.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
