//! A pause stops input at once and loses nothing.

use std::time::Duration;

use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::event::Kind;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done};

#[tokio::test]
async fn an_action_that_has_not_been_sent_yet_is_stopped_and_done_later() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    cluster.pause(&name).await;
    // The Executor is told to release its inputs; the action, still held, is never sent.
    cluster.world.called("release_all", 1).await;
    cluster.world.release("perform");
    cluster.happened(&name, "action_performed").await;
    assert_eq!(cluster.world.done(), []);

    cluster.resume(&name).await;
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
        cluster.pause(&name).await;
        cluster.resume(&name).await;
    }
    cluster.world.release("plan");
    cluster.follow(&name).await;
    assert_eq!(cluster.world.done().len(), 3);
}

#[tokio::test]
async fn nothing_is_repeated_while_it_is_paused() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.ignore_actions(1);
    cluster.world.hold("wait_for_idle");
    let name = cluster.create().await;
    cluster.world.called("wait_for_idle", 1).await;
    cluster.pause(&name).await;
    cluster.world.release("wait_for_idle");
    cluster.happened(&name, "action_retried").await;
    assert_eq!(cluster.world.done().len(), 1);
    cluster.resume(&name).await;
    let story = cluster.follow(&name).await;
    // The screen was not watched meanwhile: the click may have had an effect, or a person may have clicked.
    assert_eq!(cluster.world.done().len(), 1);
    assert_eq!(story.count("target_not_resolved"), 1);
    let notices = &cluster.world.plans()[1].notices;
    assert!(notices[0].contains("not repeated"), "{notices:?}");
}

#[tokio::test]
async fn planner_receives_user_actions_after_a_take_over() {
    let cluster = Cluster::start(vec![act([click(1), click(2)]), act([click(3)])]).await;
    cluster.world.hold("perform");
    let name = cluster.create().await;
    cluster.world.called("perform", 1).await;
    let taken = cluster.take_over(&name).await;
    assert_eq!(taken.state(), State::AwaitingUser);
    assert!(
        taken
            .user_request
            .unwrap()
            .message
            .contains("the night shift")
    );
    // Inputs are released; a decision made on the old screen is no longer carried out.
    cluster.world.called("release_all", 1).await;
    cluster.world.release("perform");
    cluster.world.person_types(12);
    cluster.happened(&name, "human_acted").await;
    assert_eq!(cluster.world.done(), []);
    cluster.hand_back(&name).await;

    let story = cluster.follow(&name).await;
    story.answer();
    assert_eq!(
        cluster.world.done().len(),
        1,
        "only what was decided afterwards"
    );
    let messages = &cluster.world.plans()[1].user_messages;
    assert!(messages[0].contains("typed 12 characters"), "{messages:?}");
    assert!(messages[0].contains("the dialog is gone"), "{messages:?}");
}

#[tokio::test]
async fn user_clicks_are_described_by_their_label() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.label(3, "Log in");
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.take_over(&name).await;
    // The first click may come before the screen was observed at its position.
    let mut are_labelled = Vec::new();
    while !are_labelled.contains(&true) {
        assert!(
            are_labelled.len() < 200,
            "clicks are told by their places alone"
        );
        cluster.world.person_clicks(3);
        let clicks = are_labelled.len() + 1;
        let story = cluster.happened_times(&name, "human_acted", clicks).await;
        are_labelled = story.all(|kind| match kind {
            Kind::HumanActed(acted) => {
                Some(acted.description.starts_with("clicked \"Log in\" at ("))
            }
            _ => None,
        });
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    cluster.world.release("plan");
    cluster.cancel(&name).await;
}

#[tokio::test]
async fn a_desktop_that_another_person_has_is_not_taken_over() {
    let cluster = Cluster::start(vec![act([click(3)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let take = |user: &str| {
        let request = wire::TakeOverRequest {
            name: name.clone(),
            user: user.to_owned(),
            ..wire::TakeOverRequest::default()
        };
        let mut client = cluster.client().raw();
        async move { client.take_over(request).await }
    };
    take("ann").await.unwrap();
    // A repeated call changes nothing.
    take("ann").await.unwrap();
    let refused = take("bob").await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(
        refused
            .message()
            .starts_with("ann has the desktop of tasks/"),
        "{refused:?}"
    );
    let task = cluster.get(&name).await;
    assert_eq!(task.state(), wire::task::State::AwaitingUser);
}

#[tokio::test]
async fn hand_back_requires_a_take_over() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let status = cluster.try_to_hand_back(&name).await.unwrap_err();
    assert_eq!(status.code(), Code::FailedPrecondition);
    assert!(
        status.message().contains("its desktop is not taken over"),
        "{status}"
    );
    // Taking over is idempotent.
    for _ in 0..2 {
        cluster.take_over(&name).await;
    }
    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    let story = cluster.follow(&name).await;
    assert_eq!(
        (story.count("taken_over"), story.count("handed_back")),
        (1, 1)
    );
}

#[tokio::test]
async fn take_over_cancels_the_pending_planner_call() {
    let cluster = Cluster::start(vec![act([click(1)]), act([click(3)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    cluster.take_over(&name).await;
    // The planner call is cancelled: human input is recorded while the model would still be thinking.
    cluster.world.person_types(12);
    cluster.happened(&name, "human_acted").await;
    cluster.world.release("plan");
    cluster.hand_back(&name).await;
    cluster.follow(&name).await.answer();
    let plans = cluster.world.plans();
    let messages: Vec<&String> = plans.iter().flat_map(|plan| &plan.user_messages).collect();
    assert!(
        messages
            .iter()
            .any(|words| words.contains("typed 12 characters")),
        "{messages:?}"
    );
}

#[tokio::test]
async fn task_does_not_end_during_a_take_over() {
    let cluster = Cluster::start(vec![act([click(1)]), done("saved"), done("saved")]).await;
    cluster.world.add_file("result.txt", b"x");
    cluster.world.hold("get_file");
    let task = wire::Task {
        goal: "save".to_owned(),
        results: vec!["result.txt".to_owned()],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    // The planner claims success, and the task fetches its results.
    cluster.world.called("get_file", 1).await;
    cluster.take_over(&name).await;
    cluster.world.release("get_file");
    cluster.world.person_types(3);
    cluster.happened(&name, "human_acted").await;
    assert_eq!(cluster.get(&name).await.state(), State::AwaitingUser);
    cluster.hand_back(&name).await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "saved");
    assert_eq!(story.count("succeeded"), 1);
}
