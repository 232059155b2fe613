//! The final answer of a task that ends without one: written by a model in a short time, or computed from the events.

use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::domain::decision::Next;
use motorium_proto::v1::orchestrator::event::Kind;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, click, done, give_up, one_step};
use crate::support::task_events::TaskEvents;

/// Returns the written answers, and whether a model wrote them.
fn summaries(story: &TaskEvents) -> Vec<(String, bool)> {
    story.all(|kind| match kind {
        Kind::Summarized(summary) => Some((summary.text.clone(), summary.by_model)),
        _ => None,
    })
}

fn clicks() -> Vec<Next> {
    vec![act([click(1)]), act([click(2)])]
}

#[tokio::test]
async fn success_without_a_message_summarises_the_actions() {
    let cluster = Cluster::start(vec![act([click(1)]), done("  ")]).await;
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "Done: click \"Button 1\".");
    assert_eq!(cluster.get(&name).await.answer, story.answer());
    replay::check(&cluster, &name).await;
    // A message of the planner is the answer as it is.
    let cluster = Cluster::start(vec![done("it is done")]).await;
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "it is done");
    assert_eq!(story.count("summarized"), 0);
    assert!(cluster.world.summarised().is_empty());
}

#[tokio::test]
async fn exceeded_limit_leaves_a_summary_of_progress() {
    let cluster = Cluster::start(clicks()).await;
    let name = cluster.create_with(one_step()).await;
    let story = cluster.follow(&name).await;
    story.check_failure("STEP_LIMIT", "the limit of 1 steps is used up");
    let answer = cluster.get(&name).await.answer;
    assert!(
        answer.contains("Done so far: click \"Button 1\"."),
        "{answer}"
    );
    assert!(answer.contains("The task was: do it."), "{answer}");
    assert_eq!(summaries(&story), [(answer, false)]);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn model_written_summary_counts_towards_usage() {
    let cluster = Cluster::start(clicks()).await;
    cluster
        .world
        .summarise("One button was clicked; the other one remains.");
    let name = cluster.create_with(one_step()).await;
    let story = cluster.follow(&name).await;
    let task = cluster.get(&name).await;
    assert_eq!(
        task.answer,
        "One button was clicked; the other one remains."
    );
    assert_eq!(summaries(&story), [(task.answer.clone(), true)]);
    assert_eq!(task.usage.unwrap().input_tokens, Some(300));
    let [request] = cluster.world.summarised().try_into().unwrap();
    assert!(!request.succeeded);
    assert!(
        request.answer.contains("the limit of 1 steps"),
        "{}",
        request.answer
    );
    assert_eq!(request.history.len(), 1);
    assert_eq!(request.remaining.time, None, "its own time limit holds");
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn a_model_that_takes_too_long_is_not_waited_for() {
    let cluster = Cluster::start_with(clicks(), |settings| {
        settings.summary_timeout = HumanDuration(Duration::from_millis(200));
    })
    .await;
    cluster.world.hold("summarize");
    let name = cluster.create_with(one_step()).await;
    let story = cluster.follow(&name).await;
    let [(text, by_model)] = summaries(&story).try_into().unwrap();
    assert!(text.contains("Done so far"), "{text}");
    assert!(!by_model);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn give_up_reason_becomes_the_answer() {
    let cluster = Cluster::start(vec![act([click(1)]), give_up("there is no such file")]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let answer = cluster.get(&name).await.answer;
    assert!(
        answer.starts_with("Not done: there is no such file."),
        "{answer}"
    );
    assert!(cluster.world.summarised().is_empty());
}

#[tokio::test]
async fn cancelled_task_summarises_its_progress() {
    let cluster = Cluster::start(vec![act([click(1)]), ask("which one?")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let cancelled = cluster.cancel(&name).await;
    assert!(
        cancelled
            .answer
            .starts_with("Stopped: enough. Done so far: click \"Button 1\"."),
        "{}",
        cancelled.answer
    );
    replay::check(&cluster, &name).await;
    // Also one that never started.
    cluster.world.hold("acquire_desktop");
    let name = cluster.create().await;
    let answer = cluster.cancel(&name).await.answer;
    assert!(answer.contains("Nothing was done."), "{answer}");
}

#[tokio::test]
async fn step_reports_its_outcome_and_corrects_interrupted_progress() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2), click(3)])]).await;
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.world.release("wait_for_idle");
    cluster.happened_times(&name, "action_performed", 1).await;
    cluster.follow(&name).await;
    let steps = cluster.client().list_steps(&name).await.unwrap();
    assert!(steps[0].outcome.contains("changed"), "{}", steps[0].outcome);

    let cluster = Cluster::start(vec![act([click(1), click(2)])]).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    cluster.cancel(&name).await;
    let steps = cluster.client().list_steps(&name).await.unwrap();
    assert!(
        steps[0].progress.starts_with("progress 0: "),
        "{}",
        steps[0].progress
    );
}
