//! Start and shutdown of the process: graceful shutdown, and unusable data folders.

use futures::StreamExt as _;
use motorium_client::Update;
use motorium_orchestrator::storage;
use motorium_proto::v1::orchestrator::task::State;
use motorium_store::audit::AuditLog;

use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, click, typing};

/// Shuts the process down gracefully while a call is held; the next process continues the task.
async fn check_drain(held: &'static str) {
    let mut cluster = Cluster::start(vec![act([typing("a"), click(2)])]).await;
    cluster.world.hold(held);
    let name = cluster.create().await;
    cluster.world.called(held, 1).await;
    cluster.end().await;
    cluster.world.called("released", 1).await;
    if held == "perform" {
        cluster.world.called("stopped", 1).await;
    }
    cluster.world.release(held);
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.answer(), "it is done", "drained at {held}");
    assert_eq!(story.count("recovered"), 1, "drained at {held}");
    assert_eq!(cluster.world.done().len(), 2, "drained at {held}");
}

#[tokio::test]
async fn draining_passes_a_running_task_to_the_next_process() {
    for held in ["observe", "plan", "perform", "answer", "wait_for_idle"] {
        check_drain(held).await;
    }
}

#[tokio::test]
async fn pending_task_is_not_started_during_shutdown() {
    let mut cluster = Cluster::start(Vec::new()).await;
    cluster.world.hold("acquire_desktop");
    let name = cluster.create().await;
    cluster.world.called("acquire_desktop", 1).await;
    cluster.end().await;
    cluster.world.release("acquire_desktop");
    cluster.start_again().await;
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("recovered"), 0);
    assert_eq!(story.answer(), "it is done");
}

#[tokio::test]
async fn watches_end_on_drain_and_resume_after_restart() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    cluster.world.hold("plan");
    let name = cluster.create().await;
    cluster.world.called("plan", 1).await;
    let request = motorium_proto::v1::orchestrator::WatchTaskRequest {
        name: name.clone(),
        ..Default::default()
    };
    let watch = cluster.client().raw().watch_task(request).await.unwrap();
    let mut watch = watch.into_inner();
    let mut token = in_time("a snapshot", watch.message())
        .await
        .unwrap()
        .unwrap()
        .resume_token;
    cluster.drain();
    let mut seen = 0;
    while let Some(message) = in_time("the end of the watch", watch.message())
        .await
        .unwrap()
    {
        token = message.resume_token;
        seen += 1;
    }
    cluster.end().await;
    cluster.world.release("plan");
    cluster.start_again().await;
    let rest = cluster.client().watch_from(&name, &token);
    let rest: Vec<_> = in_time("the end of the task", rest.collect()).await;
    let Some(Ok(Update::Event { event, .. })) = rest.first() else {
        panic!("{rest:?}");
    };
    assert_eq!(event.sequence, seen + 1, "nothing is lost");
    assert_eq!(cluster.get(&name).await.state(), State::Succeeded);
}

#[tokio::test]
async fn unwritable_data_folder_error_suggests_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").unwrap();
    let error = storage::Settings::default()
        .open(&file.join("data"), AuditLog::off())
        .await;
    let message = error.unwrap_err().to_string();
    assert!(message.contains(&*file.to_string_lossy()), "{message}");
    assert!(message.contains("cannot be written"), "{message}");
    assert!(
        message.contains("check that this user may write there"),
        "{message}"
    );
}

#[tokio::test]
async fn a_data_folder_with_something_else_in_it_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("tasks.db");
    std::fs::write(&database, "this is a diary, and no database at all").unwrap();
    let error = storage::Settings::default()
        .open(folder.path(), AuditLog::off())
        .await;
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("tasks.db is damaged or not a Motorium database"),
        "{message}"
    );
    assert!(
        message.contains("restore it from a backup or move it away"),
        "{message}"
    );
    let diary = std::fs::read_to_string(&database).unwrap();
    assert!(diary.starts_with("this is a diary"), "it was not touched");
}

#[tokio::test]
async fn unknown_store_error_lists_the_known_ones() {
    let folder = tempfile::tempdir().unwrap();
    let settings = storage::Settings {
        tasks: Some("mongodb://somewhere".to_owned().into()),
        ..storage::Settings::default()
    };
    let message = settings.open(folder.path(), AuditLog::off()).await;
    let message = message.unwrap_err().to_string();
    assert_eq!(
        message,
        "unknown store `mongodb://somewhere`; use one of: sqlite:///folder/file, postgres://user:password@host/database"
    );
}
