//! A store is restored from a backup that was made while a task ran or waited: nothing is done twice.

use std::time::Duration;

use motorium_proto::domain::decision::Next;
use motorium_proto::v1::common::ActionResult;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use motorium_store::{BackupLabel, StoreFiles, back_up, restore};
use tempfile::TempDir;

use crate::approvals::{resolve_saying, shop_with, waiting};
use crate::support::cluster::Cluster;
use crate::support::faulty_store::CrashPoint;
use crate::support::in_time;
use crate::support::script::{act, click_once, done};

fn script() -> Vec<Next> {
    vec![act([click_once(1), click_once(2)]), done("ok")]
}

fn files(cluster: &Cluster) -> StoreFiles {
    StoreFiles {
        database: cluster.data().join("tasks.db"),
        blobs: cluster.data().join("blobs"),
    }
}

async fn backed_up(cluster: &Cluster) -> TempDir {
    let backup = tempfile::tempdir().unwrap();
    let label = BackupLabel {
        version: String::new(),
        created: String::new(),
    };
    back_up(files(cluster), backup.path(), label).await.unwrap();
    backup
}

async fn restored(cluster: &mut Cluster, backup: &TempDir) {
    cluster.kill().await;
    restore(backup.path(), files(cluster), true).await.unwrap();
    cluster.start_again().await;
}

/// Lets the orchestrator look for work a few times.
async fn some_rounds() {
    tokio::time::sleep(Duration::from_millis(1500)).await;
}

#[tokio::test]
async fn nothing_of_a_running_task_is_repeated_wherever_the_backup_was_made() {
    let writes = {
        let cluster = Cluster::start(script()).await;
        cluster.carry_out().await;
        cluster.writes()
    };
    for number in 1..writes {
        let point = CrashPoint::After(number);
        let mut cluster = Cluster::start_until(script(), Some(point)).await;
        let name = cluster.create().await;
        cluster.crash_point_reached().await;
        let backup = backed_up(&cluster).await;
        // It goes on after the backup, to its end.
        cluster.crash().await;
        let story = cluster.follow(&name).await;
        assert_eq!(story.answer(), "ok", "{point:?}");
        let clicks = cluster.world.done().len();
        restored(&mut cluster, &backup).await;
        let task = cluster.get(&name).await;
        if task.end_time.is_some() {
            // The backup was made after the last event.
            continue;
        }
        assert_eq!(task.state(), State::Paused, "{point:?}");
        some_rounds().await;
        assert_eq!(cluster.world.done().len(), clicks, "{point:?}");
        cluster.cancel(&name).await;
        let story = cluster.follow(&name).await;
        let unknown = |result: &ActionResult| *result != ActionResult::Cancelled;
        assert!(
            story.results().iter().all(unknown),
            "{point:?}: nothing is taken for not sent"
        );
        assert_eq!(cluster.world.done().len(), clicks, "{point:?}");
    }
}

#[tokio::test]
async fn a_task_that_waited_is_started_only_by_a_person() {
    let mut cluster = Cluster::start([script(), script()].concat()).await;
    let template = wire::Task {
        run_after_time: Some((std::time::SystemTime::now() + Duration::from_secs(2)).into()),
        ..wire::Task::default()
    };
    let name = cluster.create_with(template).await;
    let backup = backed_up(&cluster).await;
    cluster.follow(&name).await;
    let clicks = cluster.world.done().len();
    restored(&mut cluster, &backup).await;
    // Another task finds the desktop free, although the restored one waits.
    some_rounds().await;
    assert_eq!(cluster.world.done().len(), clicks);
    let task = cluster.get(&name).await;
    assert_eq!(task.state(), State::Paused);
    let other = cluster.create().await;
    let story = in_time("another task", cluster.follow(&other)).await;
    assert_eq!(story.answer(), "ok");

    let resume = wire::ResumeTaskRequest {
        name: name.clone(),
        ..wire::ResumeTaskRequest::default()
    };
    cluster.client().raw().resume_task(resume).await.unwrap();
    let story = cluster.follow(&name).await;
    assert_eq!(story.count("started"), 1);
}

#[tokio::test]
async fn an_approval_that_was_asked_for_before_the_backup_approves_nothing() {
    let script = vec![act([click_once(1)]), done("ok")];
    let mut cluster = shop_with(script, Duration::from_secs(60)).await;
    let name = cluster.create().await;
    cluster.happened(&name, "approval_requested").await;
    let backup = backed_up(&cluster).await;
    let asked = waiting(&cluster, &name).await.remove(0).name;
    resolve_saying(&cluster, &asked, true, "").await.unwrap();
    cluster.follow(&name).await;
    let clicks = cluster.world.done().len();
    restored(&mut cluster, &backup).await;
    assert_eq!(cluster.get(&name).await.state(), State::Paused);
    assert!(waiting(&cluster, &name).await.is_empty());
    let again = resolve_saying(&cluster, &asked, true, "").await;
    assert!(again.is_err());
    some_rounds().await;
    assert_eq!(cluster.world.done().len(), clicks);
}
