//! Running a task and reading its events.

use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::{Channel, Client, Update};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;

/// Timeout of a task. The longest tests, with crashes, take about a minute on a busy machine.
pub const TASK_TIMEOUT: Duration = Duration::from_secs(180);

/// Returns the name of an event's kind, as in the proto messages (`ActionIntended`, `TaskSucceeded`).
#[must_use]
pub fn kind(event: &wire::Event) -> String {
    let words = format!("{:?}", event.kind.as_ref());
    let name = words.trim_start_matches("Some(");
    name.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// Returns whether it is the last event of a task.
#[must_use]
pub fn is_end(event: &wire::Event) -> bool {
    use Kind::{Cancelled, Failed, Succeeded};

    matches!(event.kind, Some(Succeeded(_) | Failed(_) | Cancelled(_)))
}

/// Formats one line per event, for failing tests.
#[must_use]
pub fn describe(events: &[wire::Event]) -> String {
    let line = |event: &wire::Event| {
        let words: String = format!("{:?}", event.kind).chars().take(300).collect();
        format!("{:>4} step {:>2}  {words}", event.sequence, event.step)
    };
    events.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Watches a task to its end and returns all its events.
///
/// # Panics
/// If the watch breaks, or the task does not end within [`TASK_TIMEOUT`].
pub async fn follow(client: &Client<Channel>, task: &str) -> Vec<wire::Event> {
    let mut events = Vec::new();
    let followed = tokio::time::timeout(TASK_TIMEOUT, async {
        let mut updates = client.watch(task);
        while let Some(update) = updates.next().await {
            if let Update::Event { event, .. } = update.expect("the watch continues") {
                events.push(*event);
            }
        }
    });
    let in_time = followed.await;
    assert!(
        in_time.is_ok() && events.last().is_some_and(is_end),
        "{task} did not end:\n{}",
        describe(&events)
    );
    events
}

/// Creates a task and watches it to its end.
///
/// # Panics
/// Panics under the conditions of [`follow`], and if the task is refused.
pub async fn run_task(client: &Client<Channel>, goal: &str) -> Vec<wire::Event> {
    let task = client
        .create_task(goal)
        .await
        .expect("the goal is accepted");
    follow(client, &task.name).await
}

/// Asserts that a task succeeded and returns its answer.
///
/// # Panics
/// If it did not succeed.
pub fn answer(events: &[wire::Event]) -> String {
    match events.last().and_then(|event| event.kind.clone()) {
        Some(Kind::Succeeded(end)) => end.answer,
        _ => panic!("the task did not succeed:\n{}", describe(events)),
    }
}

/// Asserts that a task failed and returns the failure.
///
/// # Panics
/// If it did not fail.
pub fn failure(events: &[wire::Event]) -> wire::Failure {
    match events.last().and_then(|event| event.kind.clone()) {
        Some(Kind::Failed(end)) => end.failure.expect("a failure has a reason"),
        _ => panic!("the task did not fail:\n{}", describe(events)),
    }
}
