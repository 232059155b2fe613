//! Calls that a proxy delivers after their caller has given them up, and Executors that have lost their journal: no
//! action is performed twice, and none is said not to have started while it may have been performed.

use motorium_proto::domain::decision::Next;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult as Left};
use motorium_proto::error::ErrorReport;
use motorium_proto::error::reason::TRANSPORT;
use motorium_proto::service::Result;
use motorium_proto::v1::common::ActionResult;
use tonic::Code;

use crate::replay;
use crate::support::cluster::Cluster;
use crate::support::script::{act, click};

fn two_clicks() -> Vec<Next> {
    vec![act([click(1)]), act([click(2)])]
}

fn broken_off() -> ErrorReport {
    ErrorReport::new(Code::Unavailable, TRANSPORT, "the connection broke")
}

/// Returns the ids of the actions that reached the application, within their task.
fn performed(cluster: &Cluster) -> Vec<String> {
    let id = |id: &str| id.split_once('/').unwrap().1.to_owned();
    let done = cluster.world.done();
    done.iter().map(|done| id(done.id.as_str())).collect()
}

fn check_fenced(delivered: Result<ActionOutcome>) {
    assert_eq!(delivered.unwrap_err().reason, "ACTION_FENCED");
}

#[tokio::test]
async fn call_that_is_delivered_after_its_retry_does_nothing() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.keep_next_action(Some(broken_off()));
    let name = cluster.create().await;
    // The retry has reached the application.
    cluster.world.called("answer", 1).await;
    check_fenced(cluster.world.deliver_kept_action().await);
    let story = cluster.follow(&name).await;
    assert_eq!(performed(&cluster), ["1/0/1", "2/0/0"]);
    assert_eq!(
        story.results(),
        [
            ActionResult::Cancelled,
            ActionResult::Performed,
            ActionResult::Performed
        ]
    );
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn call_that_is_delivered_before_the_fence_is_not_repeated() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("fence_action");
    cluster.world.keep_next_action(Some(broken_off()));
    let name = cluster.create().await;
    cluster.world.called("fence_action", 1).await;
    let delivered = cluster.world.deliver_kept_action().await;
    assert_eq!(delivered.unwrap().result, Left::Performed);
    cluster.world.release("fence_action");
    let story = cluster.follow(&name).await;
    assert_eq!(performed(&cluster), ["1/0/0", "2/0/0"]);
    assert_eq!(story.results(), [ActionResult::Performed; 2]);
}

#[tokio::test]
async fn call_that_is_delivered_while_the_task_is_paused_does_nothing() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.keep_next_action(None);
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    cluster.pause(&name).await;
    cluster.happened(&name, "action_performed").await;
    check_fenced(cluster.world.deliver_kept_action().await);
    assert_eq!(cluster.world.done(), []);
    cluster.resume(&name).await;
    cluster.follow(&name).await;
    assert_eq!(performed(&cluster), ["1/0/1", "2/0/0"]);
}

#[tokio::test]
async fn call_of_an_orchestrator_that_died_does_nothing() {
    for executor_is_reset in [false, true] {
        let mut cluster = Cluster::start(two_clicks()).await;
        cluster.world.keep_next_action(None);
        let name = cluster.create().await;
        cluster.world.called("perform", 1).await;
        cluster.kill().await;
        if executor_is_reset {
            // The epoch of the next lease is the one that the call has.
            cluster.world.lose_journal(true);
        }
        cluster.start_again().await;
        cluster.happened(&name, "recovered").await;
        let refused = cluster.world.deliver_kept_action().await.unwrap_err();
        let (reason, first) = match executor_is_reset {
            false => ("LEASE_SUPERSEDED", "1/0/1"),
            true => ("ACTION_FENCED", "2/0/0"),
        };
        assert_eq!(refused.reason, reason);
        cluster.follow(&name).await;
        assert_eq!(performed(&cluster)[0], first);
    }
}

#[tokio::test]
async fn executor_without_fences_leaves_the_outcome_unknown() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.cannot_fence();
    cluster.world.keep_next_action(Some(broken_off()));
    let story = cluster.carry_out().await;
    assert_eq!(
        story.results(),
        [ActionResult::Unknown, ActionResult::Performed]
    );
    assert_eq!(performed(&cluster), ["2/0/0"]);
    let past = cluster.world.plans()[1].history[0].actions[0].clone();
    assert_eq!(past.outcome.result, Left::Unknown);
}

#[tokio::test]
async fn error_that_an_executor_without_fences_answered_is_retried() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.cannot_fence();
    let answered = ErrorReport::new(Code::Unavailable, "DISPLAY_LOST", "the display is away");
    cluster.world.fail("perform", 1, &answered);
    let story = cluster.carry_out().await;
    assert_eq!(story.results()[0], ActionResult::Cancelled);
    assert_eq!(performed(&cluster), ["1/0/1", "2/0/0"]);
}

#[tokio::test]
async fn action_is_not_repeated_after_the_executor_lost_its_journal() {
    for with_lease in [false, true] {
        let mut cluster = Cluster::start(two_clicks()).await;
        cluster.world.hold("answer");
        let name = cluster.create().await;
        cluster.world.called("answer", 1).await;
        cluster.kill().await;
        cluster.world.lose_journal(with_lease);
        cluster.world.release("answer");
        cluster.start_again().await;
        let story = cluster.follow(&name).await;
        assert_eq!(
            story.results(),
            [ActionResult::Unknown, ActionResult::Performed],
            "with the lease: {with_lease}"
        );
        assert_eq!(performed(&cluster), ["1/0/0", "2/0/0"]);
        replay::check(&cluster, &name).await;
    }
}

#[tokio::test]
async fn epoch_that_went_backwards_tells_of_a_lost_journal_without_fences() {
    let mut cluster = Cluster::start(two_clicks()).await;
    cluster.world.cannot_fence();
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.kill().await;
    cluster.world.lose_journal(true);
    cluster.world.release("answer");
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.results()[0], ActionResult::Unknown);
    assert_eq!(performed(&cluster), ["1/0/0", "2/0/0"]);
}

#[tokio::test]
async fn action_is_not_repeated_after_a_copy_of_the_journal_from_the_same_lease_was_restored() {
    let mut cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.world.hold("perform");
    cluster.world.release("answer");
    cluster.world.called("perform", 2).await;
    cluster.world.hold("answer");
    cluster.world.release("perform");
    cluster.world.called("answer", 2).await;
    cluster.services.go_away().await;
    cluster.world.restore_journal_of_lease();
    cluster.world.release("answer");
    cluster.services.come_back().await;
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.results(),
        [ActionResult::Performed, ActionResult::Unknown]
    );
    assert_eq!(performed(&cluster), ["1/0/0", "2/0/0"]);
    replay::check(&cluster, &name).await;
}

#[tokio::test]
async fn journal_that_is_lost_during_a_call_leaves_its_outcome_unknown() {
    let mut cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.services.go_away().await;
    cluster.world.lose_journal(false);
    cluster.world.release("answer");
    cluster.services.come_back().await;
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.results(),
        [ActionResult::Unknown, ActionResult::Performed]
    );
    assert_eq!(performed(&cluster), ["1/0/0", "2/0/0"]);
}
