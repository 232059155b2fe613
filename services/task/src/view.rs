//! Conversion of a task to the API messages `Task` and `Step`.
//!
//! Pure: it does not read the store.

use motorium_proto::convert::wire_time;
use motorium_proto::domain::decision::Next;
use motorium_proto::domain::id::TaskName;
use motorium_proto::v1::orchestrator as wire;
use motorium_text::hex;

use super::artifact::{Artifact, wire_artifact};
use super::event::{wire_failure, wire_request, wire_timing};
use super::fold::{Lifecycle, Task};
use super::record::{ActionRecord, StepRecord};

/// Returns the task's API message. Attachments are listed without their content.
#[must_use]
pub fn task(task: &Task) -> wire::Task {
    let mut message = task.spec.to_wire(true);
    message.state = state(&task.lifecycle).into();
    message.desktop = task
        .desktop
        .as_ref()
        .map(|(desktop, _)| desktop.to_string())
        .unwrap_or_default();
    match &task.lifecycle {
        Lifecycle::AwaitingUser(request) => {
            message.user_request = Some(wire_request(&task.spec.name, request.clone()));
        }
        Lifecycle::Succeeded { answer } => message.answer.clone_from(answer),
        Lifecycle::Failed(failure) => message.failure = Some(wire_failure(failure.clone())),
        _ => {}
    }
    if task.lifecycle.is_terminal() && message.answer.is_empty() {
        message.answer = task.summary.clone().unwrap_or_default();
    }
    message.result_files = task
        .results
        .iter()
        .map(|file| wire::ResultFile {
            name: file.name.clone(),
            path: file.path.clone(),
            artifact: file
                .artifact
                .clone()
                .map(|it| wire_artifact(&task.spec.name, it)),
            error: file.error.clone(),
        })
        .collect();
    message.desktop_released = task.desktop_released;
    message.step_count = u32::try_from(task.steps.len()).unwrap_or(u32::MAX);
    message.usage = Some(task.usage.into());
    message.last_sequence = task.last_seq.0;
    message.create_time = Some(wire_time(task.created_at));
    message.update_time = Some(wire_time(task.updated_at));
    message.start_time = task.started_at.map(wire_time);
    message.end_time = task.ended_at.map(wire_time);
    message.etag = task.last_seq.0.to_string();
    message
}

/// States in which a task has ended.
pub const ENDED_STATES: [i32; 3] = {
    use wire::task::State;

    [
        State::Succeeded as i32,
        State::Failed as i32,
        State::Cancelled as i32,
    ]
};

/// States in which a task may go on.
pub const UNFINISHED_STATES: [i32; 4] = {
    use wire::task::State;

    [
        State::Pending as i32,
        State::Running as i32,
        State::Paused as i32,
        State::AwaitingUser as i32,
    ]
};

/// Returns the API state of a lifecycle.
#[must_use]
pub fn state(lifecycle: &Lifecycle) -> wire::task::State {
    use wire::task::State;

    match lifecycle {
        Lifecycle::Pending => State::Pending,
        Lifecycle::Running => State::Running,
        Lifecycle::Paused => State::Paused,
        Lifecycle::AwaitingUser(_) => State::AwaitingUser,
        Lifecycle::Succeeded { .. } => State::Succeeded,
        Lifecycle::Failed(_) => State::Failed,
        Lifecycle::Cancelled { .. } => State::Cancelled,
    }
}

/// Returns the API messages of all steps, oldest first.
#[must_use]
pub fn steps(task: &Task) -> Vec<wire::Step> {
    let after = task
        .steps
        .iter()
        .skip(1)
        .map(|step| step.image.as_ref())
        .chain([None]);
    task.steps
        .iter()
        .zip(after)
        .map(|(record, after)| step(&task.spec.name, record, after))
        .collect()
}

fn step(task: &TaskName, step: &StepRecord, after: Option<&Artifact>) -> wire::Step {
    let name = |artifact: Option<&Artifact>| {
        artifact
            .map(|artifact| artifact_name(task, artifact))
            .unwrap_or_default()
    };
    let decision = step.decision.as_ref();
    wire::Step {
        name: format!("{task}/steps/{}", step.number),
        number: step.number,
        thought: decision
            .map(|decision| decision.thought.clone())
            .unwrap_or_default(),
        progress: progress(step).to_owned(),
        actions: step.actions.iter().map(action).collect(),
        frame_before: name(step.image.as_ref()),
        // The screen after a step is the one the next step begins with, or the last one of the task. A step without
        // actions ends on its own screen.
        frame_after: name(
            after
                .or(step.image_after.as_ref())
                .or_else(|| ends_here(step).then_some(step.image.as_ref()).flatten()),
        ),
        annotated_frame: name(step.annotated_image.as_ref()),
        start_time: Some(wire_time(step.started_at)),
        end_time: step.ended_at.map(wire_time),
        timings: step.timings.iter().cloned().map(wire_timing).collect(),
        usage: decision.map(|_| step.usage.into()),
        current_url: step.current_url.clone().unwrap_or_default(),
        responses: name(step.exchange.responses.as_ref()),
        requests: name(step.exchange.requests.as_ref()),
        outcome: step.outcome.clone(),
    }
}

/// Returns the step's line of progress. Hooks may have changed the decided one.
fn progress(step: &StepRecord) -> &str {
    let decided = || step.decision.as_ref().map(|it| it.progress.as_str());
    let line = step.progress.as_ref().map(|(_, line)| line.as_str());
    line.or_else(decided).unwrap_or_default()
}

fn ends_here(step: &StepRecord) -> bool {
    step.decision
        .as_ref()
        .is_some_and(|decision| !matches!(decision.next, Next::Act(_)))
}

fn artifact_name(task: &TaskName, artifact: &Artifact) -> String {
    format!("{task}/artifacts/{}", hex::encode(&artifact.sha256))
}

fn action(action: &ActionRecord) -> wire::StepAction {
    wire::StepAction {
        action_id: action.action_id.to_string(),
        planned: Some(action.planned.clone().into()),
        outcome: action.outcome.clone().map(Into::into),
        effect: action.effect.clone().map(Into::into),
        retries: action.retries,
        point: action.point().map(Into::into),
    }
}
