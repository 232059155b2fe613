//! Tables for terminals.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{ColumnConstraint, ContentArrangement, Table};
use motorium_proto::v1::common::{EffectVerdict, Platform};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;

use super::shortened;

/// Width of tables that are not printed to a terminal, in columns. Longer cells are wrapped.
const DEFAULT_WIDTH: u16 = 100;

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    if !table.is_tty() {
        table.set_width(DEFAULT_WIDTH);
    }
    table
        .load_style(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    // Names are not wrapped, so that they can be copied.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    table
}

/// Returns the name of a task's state.
#[must_use]
pub(crate) fn state(state: State) -> &'static str {
    match state {
        State::Unspecified => "unknown",
        State::Pending => "pending",
        State::Running => "running",
        State::Paused => "paused",
        State::AwaitingUser => "awaiting user",
        State::Succeeded => "succeeded",
        State::Failed => "failed",
        State::Cancelled => "cancelled",
    }
}

/// Returns the name of a platform, as options and settings have it.
fn platform(platform: Platform) -> &'static str {
    match platform {
        Platform::Unspecified => "unknown",
        Platform::Linux => "linux",
        Platform::Windows => "windows",
        Platform::Macos => "macos",
        Platform::Browser => "browser",
    }
}

/// Formats tasks, one per row.
#[must_use]
pub(crate) fn tasks(tasks: &[wire::Task]) -> String {
    let mut table = table(&["task", "state", "steps", "goal", "answer"]);
    for task in tasks {
        let answer = match &task.failure {
            Some(failure) => failure.message.clone(),
            None => task.answer.clone(),
        };
        table.add_row([
            task.name.clone(),
            state(task.state()).to_owned(),
            task.step_count.to_string(),
            task.goal.clone(),
            answer,
        ]);
    }
    table.to_string()
}

/// Formats approvals, one per row.
#[must_use]
pub(crate) fn approvals(approvals: &[wire::Approval]) -> String {
    let mut table = table(&["approval", "action", "reason"]);
    for approval in approvals {
        let action = approval.action.as_ref();
        table.add_row([
            approval.name.clone(),
            action
                .map(|planned| planned.intent.clone())
                .unwrap_or_default(),
            approval.reason.clone(),
        ]);
    }
    table.to_string()
}

/// Returns the name of an effect's verdict.
#[must_use]
pub(crate) fn verdict(verdict: EffectVerdict) -> &'static str {
    match verdict {
        EffectVerdict::Unspecified => "",
        EffectVerdict::Confirmed => "confirmed",
        EffectVerdict::ChangedElsewhere => "changed elsewhere",
        EffectVerdict::NoEffect => "no effect",
        EffectVerdict::Unknown => "unknown",
        EffectVerdict::EndReached => "end reached",
        EffectVerdict::TargetMoved => "target moved",
        EffectVerdict::TextDiffers => "text differs",
    }
}

/// Formats steps with their actions: step, action, effect, milliseconds.
#[must_use]
pub(crate) fn steps(steps: &[wire::Step]) -> String {
    let mut table = table(&["step", "action", "effect", "ms"]);
    for step in steps {
        let milliseconds = elapsed(step).map(|ms| ms.to_string()).unwrap_or_default();
        if step.actions.is_empty() {
            table.add_row([
                step.number.to_string(),
                shortened(&step.progress),
                String::new(),
                milliseconds,
            ]);
            continue;
        }
        for (index, action) in step.actions.iter().enumerate() {
            let intent = action
                .planned
                .as_ref()
                .map(|planned| shortened(&planned.intent))
                .unwrap_or_default();
            let first = index == 0;
            table.add_row([
                if first {
                    step.number.to_string()
                } else {
                    String::new()
                },
                intent,
                effect(action),
                if first {
                    milliseconds.clone()
                } else {
                    String::new()
                },
            ]);
        }
    }
    table.to_string()
}

fn effect(action: &wire::StepAction) -> String {
    if let Some(effect) = &action.effect {
        return format!("{}: {}", verdict(effect.verdict()), effect.explanation);
    }
    action
        .outcome
        .as_ref()
        .map(|outcome| outcome.detail.clone())
        .unwrap_or_default()
}

fn elapsed(step: &wire::Step) -> Option<i64> {
    let (start, end) = (step.start_time?, step.end_time?);
    let milliseconds =
        |time: prost_types::Timestamp| time.seconds * 1000 + i64::from(time.nanos) / 1_000_000;
    Some(milliseconds(end) - milliseconds(start))
}

/// Formats desktops, one per row.
#[must_use]
pub(crate) fn desktops(desktops: &[motorium_proto::v1::common::Desktop]) -> String {
    use motorium_proto::v1::common::desktop::State;

    let mut table = table(&["desktop", "state", "platform", "display", "task", "labels"]);
    for desktop in desktops {
        let state = match desktop.state() {
            State::Unspecified => "unknown",
            State::Available => "available",
            State::Leased => "leased",
            State::Draining => "draining",
            State::Unreachable => "unreachable",
        };
        let mut labels: Vec<String> = desktop
            .labels
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        labels.sort();
        table.add_row([
            desktop.name.clone(),
            state.to_owned(),
            platform(desktop.platform()).to_owned(),
            desktop.display.clone(),
            desktop.task.clone(),
            labels.join(" "),
        ]);
    }
    table.to_string()
}
