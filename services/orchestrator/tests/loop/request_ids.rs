//! A call with a request id is carried out once, even if it is repeated.

use futures::future::join_all;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use tonic::Code;
use uuid::Uuid;

use crate::support::cluster::Cluster;
use crate::support::script::{act, ask, click};

fn creation(goal: &str, id: &str) -> wire::CreateTaskRequest {
    wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: goal.to_owned(),
            ..wire::Task::default()
        }),
        request_id: id.to_owned(),
        ..wire::CreateTaskRequest::default()
    }
}

fn new_id() -> String {
    Uuid::new_v4().to_string()
}

async fn count_tasks(cluster: &Cluster) -> usize {
    let list = wire::ListTasksRequest::default();
    let page = cluster.client().raw().list_tasks(list).await.unwrap();
    page.into_inner().tasks.len()
}

fn check_reused(report: &ErrorReport, id: &str) {
    assert_eq!(
        (report.code, report.reason.as_str()),
        (Code::InvalidArgument, "REQUEST_ID_REUSED")
    );
    assert_eq!(report.metadata["request_id"], id);
    assert!(report.message.contains("use a new one"), "{report}");
}

#[tokio::test]
async fn the_same_creation_gives_the_same_task() {
    let mut cluster = Cluster::start(Vec::new()).await;
    let request = creation("do it", &new_id());
    let first = cluster.client().create(request.clone()).await.unwrap();
    cluster.follow(&first.name).await;
    let again = cluster.client().create(request.clone()).await.unwrap();
    assert_eq!((&again.name, &again.uid), (&first.name, &first.uid));
    assert_eq!(again.state(), State::Succeeded, "it is shown as it is now");
    cluster.crash().await;
    let after_a_crash = cluster.client().create(request).await.unwrap();
    assert_eq!(after_a_crash.name, first.name);
    assert_eq!(count_tasks(&cluster).await, 1);
}

#[tokio::test]
async fn creations_at_the_same_time_make_one_task() {
    let cluster = Cluster::start(Vec::new()).await;
    let request = creation("do it", &new_id());
    let clients: Vec<_> = (0..8).map(|_| cluster.client()).collect();
    let calls = clients.iter().map(|client| client.create(request.clone()));
    let tasks = join_all(calls).await;
    let names: Vec<String> = tasks.into_iter().map(|task| task.unwrap().name).collect();
    assert!(names.iter().all(|name| *name == names[0]), "{names:?}");
    assert_eq!(count_tasks(&cluster).await, 1);
}

#[tokio::test]
async fn another_creation_under_the_same_id_is_refused() {
    let cluster = Cluster::start(Vec::new()).await;
    let id = new_id();
    cluster
        .client()
        .create(creation("do it", &id))
        .await
        .unwrap();
    for other in [
        creation("do something else", &id),
        wire::CreateTaskRequest {
            task_id: "another".to_owned(),
            ..creation("do it", &id)
        },
    ] {
        check_reused(&cluster.client().create(other).await.unwrap_err(), &id);
    }
    assert_eq!(count_tasks(&cluster).await, 1);
}

#[tokio::test]
async fn without_an_id_every_creation_is_a_new_task() {
    let cluster = Cluster::start(Vec::new()).await;
    for _ in 0..2 {
        cluster
            .client()
            .create(creation("do it", ""))
            .await
            .unwrap();
    }
    assert_eq!(count_tasks(&cluster).await, 2);
}

#[tokio::test]
async fn repeated_message_with_one_request_id_is_delivered_once() {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let request = wire::SendMessageRequest {
        name: name.clone(),
        text: "the blue one".to_owned(),
        request_id: new_id(),
        ..wire::SendMessageRequest::default()
    };
    let mut client = cluster.client().raw();
    for _ in 0..2 {
        client.send_message(request.clone()).await.unwrap();
    }
    let other = wire::SendMessageRequest {
        text: "the red one".to_owned(),
        ..request.clone()
    };
    let refused = client.send_message(other).await.unwrap_err();
    check_reused(&ErrorReport::from_status(&refused), &request.request_id);
    cluster.world.release("plan");
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("message_received"), 1);
    let again = client.send_message(request).await.unwrap().into_inner();
    assert_eq!(
        again.task.unwrap().state(),
        State::Succeeded,
        "what was heard is not refused because the task has ended since"
    );
}

#[tokio::test]
async fn an_answer_under_one_id_answers_one_question() {
    let cluster = Cluster::start(vec![ask("which one?"), ask("really?")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let request = wire::AcknowledgeUserActionRequest {
        name: name.clone(),
        message: "the left one".to_owned(),
        request_id: new_id(),
    };
    let mut client = cluster.client().raw();
    client
        .acknowledge_user_action(request.clone())
        .await
        .unwrap();
    cluster.world.called("plan", 2).await;
    // A repeated call does not answer the next question.
    client.acknowledge_user_action(request).await.unwrap();
    cluster.acknowledge_once_asked(&name, 2, "yes").await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("user_acknowledged"), 2);
}

#[tokio::test]
async fn an_id_belongs_to_one_kind_of_call() {
    let cluster = Cluster::start(Vec::new()).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let id = new_id();
    let mut client = cluster.client().raw();
    let pause = wire::PauseTaskRequest {
        name: name.clone(),
        request_id: id.clone(),
    };
    client.pause_task(pause).await.unwrap();
    let resume = wire::ResumeTaskRequest {
        name,
        request_id: id.clone(),
    };
    let refused = client.resume_task(resume).await.unwrap_err();
    check_reused(&ErrorReport::from_status(&refused), &id);
}
