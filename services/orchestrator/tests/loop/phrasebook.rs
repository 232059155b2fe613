//! Goals that the phrasebook carries out: what was not performed is never taken for done.

use std::time::Duration;

use motorium_proto::v1::orchestrator as wire;

use crate::approvals::{resolve_saying, shop_with, waiting};
use crate::support::cluster::Cluster;
use crate::support::task_events::TaskEvents;

/// Pays, which needs approval, and then clicks another button.
const PAY_THEN_LEAVE: &str = r#"click "Pay now" then click "Button 2""#;

async fn begun(goal: &str, approval_timeout: Duration) -> (Cluster, String) {
    let cluster = shop_with(Vec::new(), approval_timeout).await;
    cluster.world.use_phrasebook();
    let task = wire::Task {
        goal: goal.to_owned(),
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.happened(&name, "user_asked").await;
    (cluster, name)
}

/// Starts the goal and answers its approval.
async fn answered(approve: bool, message: &str, redraws: bool) -> (Cluster, TaskEvents) {
    let (cluster, name) = begun(PAY_THEN_LEAVE, Duration::from_secs(60)).await;
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    if redraws {
        cluster.world.redraw();
    }
    resolve_saying(&cluster, &approval.name, approve, message)
        .await
        .unwrap();
    let story = cluster.follow(&name).await;
    (cluster, story)
}

/// Asserts that the first clause was refused for this reason, and that nothing was done.
#[track_caller]
fn check_refused(cluster: &Cluster, story: &TaskEvents, reason: &str) {
    story.check_failure("PLANNER_GAVE_UP", "`click \"Pay now\"` is not allowed");
    let (_, message) = story.failure();
    assert!(message.contains(reason), "{message}");
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn denied_clause_stops_the_following_clauses() {
    let (cluster, story) = answered(false, "not today", false).await;
    check_refused(&cluster, &story, "not today");
}

#[tokio::test]
async fn expired_clause_approval_stops_the_following_clauses() {
    let (cluster, name) = begun(PAY_THEN_LEAVE, Duration::from_millis(300)).await;
    let story = cluster.follow(&name).await;
    check_refused(&cluster, &story, "no person approved this action in time");
}

#[tokio::test]
async fn stale_clause_approval_stops_the_following_clauses() {
    let (cluster, story) = answered(true, "", true).await;
    check_refused(&cluster, &story, "has changed since approval was requested");
}

#[tokio::test]
async fn user_can_skip_a_denied_clause() {
    let (cluster, story) = answered(false, "skip", false).await;
    let answer = story.answer();
    assert!(
        answer.contains("Left out: \"click \"Pay now\"\""),
        "{answer}"
    );
    assert_eq!(cluster.world.clicks().len(), 1, "the other button alone");
}

/// The click was never sent, so nothing about it is unknown after a take-over.
#[tokio::test]
async fn an_approval_is_asked_for_again_after_a_take_over() {
    let (cluster, name) = begun(PAY_THEN_LEAVE, Duration::from_secs(60)).await;
    cluster.take_over(&name).await;
    cluster.hand_back(&name).await;
    cluster.happened_times(&name, "approval_requested", 2).await;
    assert_eq!(cluster.world.done(), []);
    let [approval] = waiting(&cluster, &name).await.try_into().unwrap();
    resolve_saying(&cluster, &approval.name, true, "")
        .await
        .unwrap();
    let story = cluster.follow(&name).await;
    assert!(story.answer().starts_with("Done: "), "{}", story.answer());
    assert_eq!(cluster.world.clicks().len(), 2);
}

#[tokio::test]
async fn a_wait_is_one_step_however_often_it_looks() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.use_phrasebook();
    let goal = r#"click "Button 2" then wait until "Ready" appears for up to 30 seconds"#;
    let limits = wire::Limits {
        max_steps: 4,
        ..wire::Limits::default()
    };
    let task = wire::Task {
        goal: goal.to_owned(),
        limits: Some(limits),
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    story.check_failure(
        "PLANNER_GAVE_UP",
        "\"Ready\" did not appear within 30 seconds",
    );
    // The click, the wait, and the end.
    assert_eq!(story.count("progress_added"), 3, "{}", story.text());
    assert!(story.count("observed") > 20, "{}", story.text());
}
