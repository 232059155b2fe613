//! The live screen of a task: with the rights of the task, while it has its desktop, and never unredacted secrets.

use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use tonic::{Code, Status, Streaming};

use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, click, done, typing_secret};

/// The author of a task, a colleague who only looks, and one with every role in another tenant.
const ANN: &str = "ann/acme/author";
const BOB: &str = "bob/acme/viewer";
const MALLORY: &str = "mallory/globex/viewer+operator+approver+author+admin+service";

type Updates = Streaming<wire::WatchScreenResponse>;

async fn watch(cluster: &Cluster, caller: &str, task: &str) -> Result<Updates, Status> {
    let request = wire::WatchScreenRequest {
        name: task.to_owned(),
        max_frames_per_second: 30,
    };
    let watched = cluster.client_as(caller).watch_screen(request).await;
    watched.map(tonic::Response::into_inner)
}

async fn create(cluster: &Cluster, goal: &str) -> String {
    let task = wire::Task {
        goal: goal.to_owned(),
        ..wire::Task::default()
    };
    let request = wire::CreateTaskRequest {
        task: Some(task),
        ..wire::CreateTaskRequest::default()
    };
    let created = cluster.client_as(ANN).create_task(request).await.unwrap();
    created.into_inner().task.unwrap().name
}

/// Reads until the stream ends.
async fn ended(mut updates: Updates) {
    let end = async { while let Ok(Some(_)) = updates.message().await {} };
    in_time("the stream to end", end).await;
}

#[tokio::test]
async fn those_who_see_a_task_see_its_screen_until_it_gives_the_desktop_back() {
    let cluster = Cluster::start(vec![act([click(1)]), done("done")]).await;
    cluster.world.hold("plan");
    let name = create(&cluster, "do it").await;
    cluster.world.called("plan", 1).await;
    let mut of_author = watch(&cluster, ANN, &name).await.unwrap();
    let first = in_time("a frame", of_author.message()).await.unwrap();
    let update = first.unwrap().update.unwrap();
    assert!(update.frame.is_some() && update.tiles.len() == 1);
    let of_viewer = watch(&cluster, BOB, &name).await.unwrap();
    let refused = watch(&cluster, MALLORY, &name).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);

    cluster.world.release("plan");
    cluster.happened(&name, "succeeded").await;
    ended(of_author).await;
    ended(of_viewer).await;
    let refused = watch(&cluster, ANN, &name).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn no_viewer_of_one_tenants_task_sees_the_next_one_on_its_desktop() {
    let script = vec![act([click(1)]), done("done"), act([click(2)]), done("done")];
    let cluster = Cluster::start(script).await;
    cluster.world.hold("plan");
    let name = create(&cluster, "do it").await;
    cluster.world.called("plan", 1).await;
    let of_author = watch(&cluster, ANN, &name).await.unwrap();
    cluster.world.release("plan");
    cluster.happened(&name, "succeeded").await;
    ended(of_author).await;

    cluster.world.hold("plan");
    let request = wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "read the canary".to_owned(),
            ..wire::Task::default()
        }),
        ..wire::CreateTaskRequest::default()
    };
    let mut mallory = cluster.client_as(MALLORY);
    let other = mallory.create_task(request).await.unwrap().into_inner();
    let other = other.task.unwrap().name;
    cluster.happened(&other, "desktop_acquired").await;
    let shown = watch(&cluster, MALLORY, &other).await;
    assert!(shown.is_ok(), "the new task shows its own screen");
    let refused = watch(&cluster, ANN, &name).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    let refused = watch(&cluster, ANN, &other).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    cluster.world.release("plan");
}

#[tokio::test]
async fn a_screen_is_hidden_before_a_secret_is_entered() {
    let cluster = Cluster::start(vec![act([typing_secret("bank")]), done("done")]).await;
    cluster.world.hold("plan");
    cluster.world.hold("perform");
    let name = create(&cluster, "log in").await;
    cluster.world.called("plan", 1).await;
    let updates = watch(&cluster, ANN, &name).await.unwrap();
    cluster.world.release("plan");
    cluster.world.called("perform", 1).await;
    // No key has been pressed yet.
    ended(updates).await;
    let refused = watch(&cluster, ANN, &name).await.unwrap_err();
    let report = ErrorReport::from_status(&refused);
    assert_eq!(report.reason, "WRONG_STATE");
    assert!(report.message.contains("secret"), "{report:?}");
    cluster.world.release("perform");
    cluster.happened(&name, "succeeded").await;
}

#[tokio::test]
async fn a_screen_stays_hidden_after_a_crash_while_a_secret_was_entered() {
    let script = vec![act([typing_secret("bank")]), done("done")];
    let mut cluster = Cluster::start(script).await;
    cluster.world.hold("perform");
    let name = create(&cluster, "log in").await;
    cluster.world.called("perform", 1).await;
    cluster.kill().await;
    cluster.world.release("perform");
    cluster.world.hold("observe");
    let looks = cluster.world.count("observe");
    cluster.start_again().await;
    // Another run goes on: where the secret went is not known.
    cluster.world.called("observe", looks + 1).await;
    let refused = watch(&cluster, ANN, &name).await.unwrap_err();
    let report = ErrorReport::from_status(&refused);
    assert!(report.message.contains("secret"), "{report:?}");
    cluster.world.release("observe");
}
