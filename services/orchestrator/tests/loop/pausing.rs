//! A pause stops the hands at once, and nothing is lost by it.

use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;

use crate::support::cluster::Cluster;
use crate::support::script::{act, click};

async fn pause(cluster: &Cluster, name: &str) {
    let pause = wire::PauseTaskRequest {
        name: name.to_owned(),
        ..wire::PauseTaskRequest::default()
    };
    let paused = cluster.client().raw().pause_task(pause).await.unwrap();
    assert_eq!(paused.into_inner().task.unwrap().state(), State::Paused);
}

async fn resume(cluster: &Cluster, name: &str) {
    let resume = wire::ResumeTaskRequest {
        name: name.to_owned(),
        ..wire::ResumeTaskRequest::default()
    };
    cluster.client().raw().resume_task(resume).await.unwrap();
}

#[tokio::test]
async fn an_action_that_has_not_been_sent_yet_is_stopped_and_done_later() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    pause(&cluster, &name).await;
    // The Executor is told to let go; the action, still held, is never sent.
    cluster.world.called("release_all", 1).await;
    cluster.world.release("perform");
    cluster.happened(&name, "action_performed").await;
    assert_eq!(cluster.world.done(), []);

    resume(&cluster, &name).await;
    let story = cluster.follow(&name).await;
    assert_eq!(
        story.results(),
        [ActionResult::Cancelled, ActionResult::Performed]
    );
    assert_eq!(cluster.world.done().len(), 1);
}

#[tokio::test]
async fn a_task_can_be_paused_again_and_again() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(2)]), act([click(3)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    for _ in 0..3 {
        pause(&cluster, &name).await;
        resume(&cluster, &name).await;
    }
    cluster.world.release("plan");
    cluster.follow(&name).await;
    assert_eq!(cluster.world.done().len(), 3);
}

#[tokio::test]
async fn nothing_is_repeated_while_it_is_paused() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.act_in_vain(1);
    cluster.world.hold("await_quiet");
    let name = cluster.create().await;
    cluster.world.called("await_quiet", 1).await;
    pause(&cluster, &name).await;
    cluster.world.release("await_quiet");
    cluster.happened(&name, "action_retried").await;
    assert_eq!(cluster.world.done().len(), 1);
    resume(&cluster, &name).await;
    let story = cluster.follow(&name).await;
    // Nobody has watched meanwhile: the click may have come to something, or a person may have done it.
    assert_eq!(cluster.world.done().len(), 1);
    assert_eq!(story.count("target_missed"), 1);
    let notices = &cluster.world.plans()[1].notices;
    assert!(notices[0].contains("not repeated"), "{notices:?}");
}
