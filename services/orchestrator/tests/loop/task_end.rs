//! Decisions other than actions, and user messages in the meantime.

use motorium_proto::domain::decision::Next;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::user_request::Kind;
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, call, click, done, give_up};

#[tokio::test]
async fn a_question_is_answered_in_words() {
    let cluster = Cluster::start(vec![ask("which one?"), done("the left one")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let task = cluster.get(&name).await;
    assert_eq!(task.state(), State::AwaitingUser);
    let request = task.user_request.unwrap();
    assert_eq!(
        (request.kind(), request.message.as_str()),
        (Kind::Question, "which one?")
    );

    let answered = cluster.acknowledge(&name, "the left one").await;
    assert_eq!(answered.state(), State::Running);
    assert_eq!(answered.user_request, None);
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "the left one");
    assert_eq!(cluster.world.plans()[1].user_messages, ["the left one"]);
}

#[tokio::test]
async fn manual_action_request_is_answered_by_acknowledgement() {
    let manual_action = Next::Ask {
        question: "put your finger on the reader".to_owned(),
        requires_manual_action: true,
    };
    let cluster = Cluster::start(vec![manual_action]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let request = cluster.get(&name).await.user_request.unwrap();
    assert_eq!(request.kind(), Kind::ManualAction);
    cluster.acknowledge(&name, "").await;
    cluster.follow(&name).await;
    assert_eq!(cluster.world.plans()[1].user_messages, ["I have done it"]);
}

#[tokio::test]
async fn give_up_fails_the_task_with_its_reason() {
    let cluster = Cluster::start(vec![act([click(1)]), give_up("there is no such file")]).await;
    let story = cluster.carry_out().await;
    story.check_failure("PLANNER_GAVE_UP", "there is no such file");
    cluster.world.called("release_all", 1).await;
}

#[tokio::test]
async fn unknown_function_call_returns_an_error_result() {
    let cluster = Cluster::start(vec![call([("look_up", "{}")]), done("without it")]).await;
    let story = cluster.carry_out().await;
    assert_eq!(story.answer(), "without it");
    let past = cluster.world.plans()[1].history[0].clone();
    let error = past.function_results[0].outcome.clone().unwrap_err();
    assert!(error.contains("this task has no functions"), "{error}");
    assert_eq!(past.function_calls.len(), 1);
}

#[tokio::test]
async fn unknown_backend_error_lists_the_known_ones() {
    let cluster = Cluster::start(Vec::new()).await;
    // The planner could not be asked when the task was created.
    let report = ErrorReport::new(Code::Unavailable, "TRANSPORT", "a moment");
    cluster.world.fail("list_backends", 1, &report);
    let task = wire::Task {
        backends: vec!["oracle".to_owned()],
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    story.check_failure("BACKEND_NOT_FOUND", "`oracle`; known backends: scripted");
}

#[tokio::test]
async fn paused_task_performs_nothing_until_resumed() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let pause = wire::PauseTaskRequest {
        name: name.clone(),
        ..wire::PauseTaskRequest::default()
    };
    let client = cluster.client().raw();
    let paused = client.clone().pause_task(pause).await.unwrap().into_inner();
    assert_eq!(paused.task.unwrap().state(), State::Paused);
    cluster.world.release("plan");
    // The decision that was in flight is stored, and waits.
    assert_eq!(cluster.world.done(), []);
    let resume = wire::ResumeTaskRequest {
        name: name.clone(),
        ..wire::ResumeTaskRequest::default()
    };
    let resumed = client.clone().resume_task(resume).await.unwrap();
    assert_eq!(resumed.into_inner().task.unwrap().state(), State::Running);
    assert_eq!(cluster.follow(&name).await.answer(), "it is done");
    assert_eq!(cluster.world.done().len(), 1);
}

#[tokio::test]
async fn message_during_planning_reaches_the_next_decision() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let request = wire::SendMessageRequest {
        name: name.clone(),
        text: "the blue one".to_owned(),
        ..wire::SendMessageRequest::default()
    };
    cluster.client().raw().send_message(request).await.unwrap();
    cluster.world.release("plan");
    cluster.follow(&name).await;
    let plans = cluster.world.plans();
    assert_eq!(plans[1].user_messages, ["the blue one"]);
    assert_eq!(cluster.world.done().len(), 1);
}

#[tokio::test]
async fn message_before_the_start_reaches_the_first_decision() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.hold("acquire_desktop");
    let name = cluster.create().await;
    let request = wire::SendMessageRequest {
        name: name.clone(),
        text: "the blue one".to_owned(),
        ..wire::SendMessageRequest::default()
    };
    cluster.client().raw().send_message(request).await.unwrap();
    cluster.world.release("acquire_desktop");
    cluster.follow(&name).await;
    assert_eq!(cluster.world.plans()[0].user_messages, ["the blue one"]);
}

#[tokio::test]
async fn a_task_for_later_waits_and_lets_others_go_first() {
    let cluster = Cluster::start(Vec::new()).await;
    let time = |seconds| Some(prost_types::Timestamp { seconds, nanos: 0 });
    let later = cluster
        .create_with(wire::Task {
            run_after_time: time(4_000_000_000),
            priority: 9,
            ..wire::Task::default()
        })
        .await;
    let overdue = wire::Task {
        run_after_time: time(1_000_000_000),
        ..wire::Task::default()
    };
    assert_eq!(cluster.carry_out_with(overdue).await.answer(), "it is done");
    let task = cluster.get(&later).await;
    assert_eq!((task.state(), task.last_sequence), (State::Pending, 1));
    assert_eq!(cluster.cancel(&later).await.state(), State::Cancelled);
}
