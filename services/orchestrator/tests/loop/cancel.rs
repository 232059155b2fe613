//! Cancelling takes effect in every phase of a task, stops the running action, and nothing is sent afterwards.

use motorium_proto::domain::decision::{Next, PlannedAction};
use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use uuid::Uuid;

use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, click, click_text};
use crate::support::task_events::TaskEvents;

fn two_clicks() -> Vec<Next> {
    vec![act([click(1), click(2)])]
}

/// Cancels a task while this call is held, and asserts how many of its actions had reached the application.
async fn check(held: &'static str, reached: usize) -> TaskEvents {
    check_script(two_clicks(), held, reached).await
}

async fn check_script(script: Vec<Next>, held: &'static str, reached: usize) -> TaskEvents {
    let cluster = Cluster::start(script).await;
    cluster.world.hold(held);
    let name = cluster.create().await;
    cluster.world.called(held, 1).await;
    let cancelled = cluster.cancel(&name).await;
    assert_eq!(cancelled.state(), State::Cancelled, "held at {held}");
    let story = cluster.follow(&name).await;
    let reasons = story.all(|kind| match kind {
        Kind::Cancelled(end) => Some(end.reason.clone()),
        _ => None,
    });
    assert_eq!(reasons, ["enough"]);

    // The desktop is free for the next task, and later actions belong to that task.
    cluster.world.release(held);
    let next = cluster.create().await;
    cluster.follow(&next).await;
    let done = cluster.world.done();
    let id = name.strip_prefix("tasks/").unwrap();
    let of_the_first = done.iter().filter(|done| done.id.as_str().starts_with(id));
    assert_eq!(of_the_first.count(), reached, "held at {held}: {done:?}");
    assert_eq!(done.len(), reached + 2);
    story
}

#[tokio::test]
async fn while_it_waits_for_a_desktop() {
    let story = check("acquire_desktop", 0).await;
    let kinds = ["created", "cancel_requested", "summarized", "cancelled"];
    assert_eq!(story.kinds(), kinds);
}

/// The abandoned lease is released, so the next task does not wait for its expiry.
#[tokio::test]
async fn a_desktop_that_is_leased_too_late_is_given_back() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("acquire_desktop");
    let name = cluster.create().await;
    cluster.world.called("acquire_desktop", 1).await;
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    cluster.follow(&name).await;
    cluster.world.release("acquire_desktop");
    cluster.world.called("released", 1).await;
}

#[tokio::test]
async fn while_the_screen_is_looked_at() {
    let story = check("observe", 0).await;
    assert_eq!(story.count("observed"), 0);
}

#[tokio::test]
async fn while_the_planner_thinks() {
    let story = check("plan", 0).await;
    assert_eq!(story.count("decided"), 0);
    assert_eq!(
        story.count("step_finished"),
        1,
        "the step it was in is closed"
    );
}

#[tokio::test]
async fn while_a_target_is_looked_for() {
    let in_words = vec![act([click_text("Button 1"), click(2)])];
    let story = check_script(in_words, "resolve_target", 0).await;
    assert_eq!(story.count("action_intended"), 0);
}

#[tokio::test]
async fn while_an_action_is_performed() {
    let story = check("perform", 0).await;
    assert_eq!(story.results(), [ActionResult::Cancelled]);
    assert_eq!(story.count("action_retried"), 0, "it is not due again");
}

#[tokio::test]
async fn when_an_action_was_sent_and_not_answered() {
    let story = check("answer", 1).await;
    assert_eq!(story.results(), [ActionResult::Performed]);
}

#[tokio::test]
async fn while_the_screen_settles() {
    let story = check("wait_for_idle", 1).await;
    assert_eq!(story.results(), [ActionResult::Performed]);
    assert_eq!(story.count("effect_judged"), 0);
}

#[tokio::test]
async fn while_an_effect_is_judged() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("answer");
    let name = cluster.create().await;
    cluster.world.called("answer", 1).await;
    cluster.world.hold("compare");
    cluster.world.release("answer");
    // The first comparison was made by the motion monitor.
    cluster.world.called("compare", 2).await;
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    cluster.world.release("compare");
    cluster.follow(&name).await;
    assert_eq!(cluster.world.done().len(), 1);
}

#[tokio::test]
async fn while_the_pointer_is_brought_to_its_target() {
    let verified = PlannedAction {
        verify_pointer: true,
        ..click(1)
    };
    let cluster = Cluster::start(vec![act([verified])]).await;
    cluster.world.locate([(true, 0, 0)]);
    cluster.world.hold("locate_pointer");
    let name = cluster.create().await;
    cluster.world.called("locate_pointer", 1).await;
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    cluster.follow(&name).await;
    cluster.world.release("locate_pointer");
    assert_eq!(cluster.world.done(), []);
}

#[tokio::test]
async fn while_the_user_is_asked() {
    let cluster = Cluster::start(vec![ask("which one?")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    cluster.follow(&name).await;
}

#[tokio::test]
async fn while_it_is_paused() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let request = wire::PauseTaskRequest {
        name: name.clone(),
        ..wire::PauseTaskRequest::default()
    };
    cluster.client().raw().pause_task(request).await.unwrap();
    cluster.world.release("plan");
    assert_eq!(cluster.get(&name).await.state(), State::Paused);
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    assert_eq!(cluster.follow(&name).await.count("action_intended"), 0);
    assert_eq!(cluster.world.done(), []);
}

/// Its orchestrator was shut down gracefully, and the next one does not have this desktop.
#[tokio::test]
async fn when_the_desktop_that_it_began_on_is_gone() {
    let mut cluster = Cluster::start(vec![ask("which one?")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    cluster.end().await;
    cluster.start_without_desktop().await;
    assert_eq!(cluster.get(&name).await.state(), State::AwaitingUser);
    assert_eq!(cluster.cancel(&name).await.state(), State::Cancelled);
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("cancel_requested"), 1);
    assert_eq!(story.count("recovered"), 0);
}

#[tokio::test]
async fn cancellation_releases_input_and_the_desktop() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    cluster.cancel(&name).await;
    cluster.world.called("release_all", 1).await;
    cluster.world.called("released", 1).await;
}

#[tokio::test]
async fn while_results_are_fetched() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.add_file("out.pdf", b"a result");
    cluster.world.hold("get_file");
    let task = wire::Task {
        results: vec!["out.pdf".to_owned()],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    cluster.world.called("get_file", 1).await;
    let ended = cluster.cancel(&name).await;
    assert!(
        ended.end_time.is_some(),
        "the user does not wait for the file"
    );
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("result_fetched"), 1);
}

#[tokio::test]
async fn cancelling_again_changes_nothing() {
    let cluster = Cluster::start(two_clicks()).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    let request = wire::CancelTaskRequest {
        name: name.clone(),
        reason: "enough".to_owned(),
        request_id: Uuid::new_v4().to_string(),
    };
    let mut client = cluster.client().raw();
    client.cancel_task(request.clone()).await.unwrap();
    cluster.follow(&name).await;
    let under_no_id = wire::CancelTaskRequest {
        request_id: String::new(),
        ..request.clone()
    };
    for request in [request, under_no_id] {
        let answer = client.cancel_task(request).await.unwrap().into_inner();
        assert_eq!(answer.task.unwrap().state(), State::Cancelled);
    }
    assert_eq!(cluster.follow(&name).await.count("cancel_requested"), 1);
}

#[tokio::test]
async fn cancelling_an_ended_task_changes_nothing() {
    let cluster = Cluster::start(Vec::new()).await;
    let name = cluster.create().await;
    let story = cluster.follow(&name).await;
    assert_eq!(cluster.cancel(&name).await.state(), State::Succeeded);
    assert_eq!(cluster.follow(&name).await.0, story.0);
}
