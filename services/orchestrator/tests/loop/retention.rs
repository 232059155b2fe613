//! Retention: what is too old is deleted, nothing that is in use is, and one orchestrator sweeps at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_kit::client::Config as ClientConfig;
use motorium_orchestrator::config::{LocalServices, connector};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::retention::{KeepTimes, RetentionPolicy, RetentionSettings, Sweeper};
use motorium_orchestrator::storage::{Settings as StoreSettings, Storage};
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::DesktopName;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::audit::AuditLog;
use motorium_store::{Collection, ListResources};
use tonic::Code;

use crate::support::cluster::Cluster;
use crate::support::script::{act, click, done};
use crate::support::simulated_desktop::{FakeServices, SimulatedDesktop};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Keeps everything.
fn policy() -> RetentionPolicy {
    RetentionSettings::default().resolve().unwrap()
}

/// Returns the pool with one desktop.
fn pool(world: &Arc<SimulatedDesktop>) -> DesktopPool {
    let services = Arc::new(FakeServices(world.clone()));
    let nearby = LocalServices {
        planner: services.clone(),
        perception: Some(services.clone()),
        executor: Some(services),
    };
    let pool = DesktopPool::new(connector(ClientConfig::new(""), nearby));
    let desktop = Desktop {
        name: DesktopName::from_segment("local").unwrap(),
        perception_endpoint: None,
        executor_endpoint: None,
        display: None,
        platform: Platform::Linux,
        labels: BTreeMap::new(),
        tenants: [].into(),
    };
    pool.register(desktop).unwrap();
    pool
}

async fn sweeper(data: &Path, policy: RetentionPolicy) -> Sweeper {
    let Storage {
        tasks,
        blobs,
        notifier,
        ..
    } = StoreSettings::default()
        .open(data, AuditLog::off())
        .await
        .unwrap();
    Sweeper {
        store: tasks,
        blobs,
        notifier,
        desktops: pool(&SimulatedDesktop::new(Vec::new())),
        policy,
        audit: AuditLog::off(),
    }
}

/// Returns the files of all blobs.
fn blob_files(data: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in fs::read_dir(data.join("blobs/sha256")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.file_name().unwrap() != ".lock" {
                files.push(path);
            }
        }
    }
    files
}

/// Makes all blobs look as if they had been stored long ago.
fn age(data: &Path) {
    for file in blob_files(data) {
        let file = File::options().write(true).open(file).unwrap();
        file.set_modified(SystemTime::now() - 30 * DAY).unwrap();
    }
}

async fn upload(cluster: &Cluster, content: &str) -> String {
    let chunk = wire::UploadFileRequest {
        chunk: content.to_owned().into(),
    };
    let stream = futures::stream::iter([chunk]);
    let uploaded = cluster.client().raw().upload_file(stream).await.unwrap();
    uploaded.into_inner().upload
}

async fn artifact(cluster: &Cluster, name: &str) -> Result<usize, Code> {
    let request = wire::GetArtifactRequest {
        name: name.to_owned(),
        read_offset: 0,
    };
    let parts = cluster.client().raw().get_artifact(request).await;
    let mut parts = parts.map_err(|status| status.code())?.into_inner();
    let mut count = 0;
    while let Some(_part) = parts.message().await.map_err(|status| status.code())? {
        count += 1;
    }
    Ok(count)
}

/// Runs a task with an uploaded attachment and a result file. Returns its name and the names of its artifacts.
async fn task_with_files(cluster: &Cluster, content: &str) -> (String, BTreeSet<String>) {
    let upload = upload(cluster, content).await;
    let task = wire::Task {
        attachments: vec![wire::Attachment {
            name: "in.txt".to_owned(),
            upload,
            ..wire::Attachment::default()
        }],
        results: vec!["in.txt".to_owned()],
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task).await;
    assert_eq!(story.answer(), "ok");
    let text = format!("{:?}", story.0);
    let name = story.0[0].task.clone();
    // Every hash that its events show, as a person who copies it from them would find it.
    let prefix = format!("{name}/artifacts/");
    let named = text.match_indices(&prefix).filter_map(|(at, _)| {
        let digits = text.get(at + prefix.len()..at + prefix.len() + 64)?;
        Some(format!("{prefix}{digits}"))
    });
    let named: BTreeSet<String> = named.collect();
    let mut artifacts = BTreeSet::new();
    for name in named {
        // Scenes are stored, too, but not served.
        if artifact(cluster, &name).await.is_ok() {
            artifacts.insert(name);
        }
    }
    assert!(artifacts.len() >= 3, "{artifacts:?}");
    (name, artifacts)
}

async fn delete(cluster: &Cluster, name: &str) {
    let request = wire::DeleteTaskRequest {
        name: name.to_owned(),
        allow_missing: false,
    };
    cluster.client().raw().delete_task(request).await.unwrap();
}

#[tokio::test]
async fn files_go_with_the_last_task_that_uses_them() {
    let script = || vec![act([click(1)]), done("ok")];
    let cluster = Cluster::start([script(), script()].concat()).await;
    let (first, of_first) = task_with_files(&cluster, "shared content").await;
    let (second, of_second) = task_with_files(&cluster, "shared content").await;
    upload(&cluster, "never named").await;
    age(cluster.data());
    // A new upload is kept, although nothing names it yet.
    let fresh = upload(&cluster, "named later").await;
    let sweeper = sweeper(cluster.data(), policy()).await;
    let now = SystemTime::now();
    let swept = sweeper.sweep_if_due(now).await.unwrap().unwrap();
    assert_eq!((swept.tasks, swept.files.count), (0, 1), "{swept}");
    for artifact_name in of_first.iter().chain(&of_second) {
        artifact(&cluster, artifact_name).await.unwrap();
    }

    delete(&cluster, &first).await;
    age(cluster.data());
    // Naming an upload keeps it, however old it is.
    let task = wire::Task {
        run_after_time: Some((now + DAY).into()),
        attachments: vec![wire::Attachment {
            name: "late.txt".to_owned(),
            upload: fresh,
            ..wire::Attachment::default()
        }],
        ..wire::Task::default()
    };
    let later = cluster.create_with(task).await;
    assert_eq!(uploads(&sweeper).await, 3);
    let swept = sweeper.sweep_if_due(now + DAY).await.unwrap().unwrap();
    assert_eq!(swept.uploads, 1, "that of the upload that was never named");
    assert_eq!(uploads(&sweeper).await, 2);
    for artifact_name in &of_second {
        artifact(&cluster, artifact_name).await.unwrap();
    }

    delete(&cluster, &second).await;
    cluster.cancel(&later).await;
    delete(&cluster, &later).await;
    age(cluster.data());
    sweeper.sweep_if_due(now + 2 * DAY).await.unwrap().unwrap();
    assert_eq!(blob_files(cluster.data()), Vec::<PathBuf>::new());
    assert_eq!(uploads(&sweeper).await, 0);
}

#[tokio::test]
async fn an_upload_that_was_removed_cannot_be_named_until_it_is_uploaded_again() {
    let cluster = Cluster::start(vec![done("ok")]).await;
    let name = upload(&cluster, "secret plan").await;
    let sweeper = sweeper(cluster.data(), policy()).await;
    let later = SystemTime::now() + 2 * DAY;
    sweeper.sweep_if_due(later).await.unwrap().unwrap();
    let task = |name: &str| wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "read it".to_owned(),
            attachments: vec![wire::Attachment {
                name: "in.txt".to_owned(),
                upload: name.to_owned(),
                ..wire::Attachment::default()
            }],
            ..wire::Task::default()
        }),
        ..wire::CreateTaskRequest::default()
    };
    let refused = cluster.client().raw().create_task(task(&name)).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    let again = upload(&cluster, "secret plan").await;
    assert_eq!(again, name, "it is named after its content");
    cluster
        .client()
        .raw()
        .create_task(task(&again))
        .await
        .unwrap();
}

/// Returns the number of notes of uploads.
async fn uploads(sweeper: &Sweeper) -> usize {
    let list = ListResources {
        collection: Collection::Uploads,
        tenant: None,
        page_size: 100,
        page_token: None,
        labels: BTreeMap::new(),
    };
    sweeper
        .store
        .list_resources(list)
        .await
        .unwrap()
        .items
        .len()
}

#[tokio::test]
async fn parts_of_old_tasks_are_deleted_by_their_own_age() {
    let cluster = Cluster::start(vec![act([click(1)]), done("ok")]).await;
    let (name, artifacts) = task_with_files(&cluster, "kept content").await;
    age(cluster.data());
    let times = KeepTimes {
        tasks: Some(90 * DAY),
        recordings: Some(30 * DAY),
        screenshots: Some(14 * DAY),
        sessions: None,
    };
    let policy = RetentionPolicy { times, ..policy() };
    let sweeper = Sweeper {
        desktops: pool(&cluster.world),
        ..sweeper(cluster.data(), policy).await
    };
    let at = |days: u32| SystemTime::now() + days * DAY;
    let sweep = async |days| {
        let swept = sweeper.sweep_if_due(at(days)).await.unwrap().unwrap();
        let files = swept.files.count > 0;
        (swept.tasks, swept.recordings, swept.screenshots, files)
    };
    assert_eq!(sweep(10).await, (0, 0, 0, false));
    assert_eq!(sweep(15).await, (0, 0, 1, true));
    assert_eq!(sweep(16).await, (0, 0, 0, false), "once only");
    let mut gone = 0;
    for name in &artifacts {
        match artifact(&cluster, name).await {
            Err(code) => {
                assert_eq!(code, Code::NotFound);
                gone += 1;
            }
            Ok(parts) => assert!(parts > 0),
        }
    }
    assert_eq!(gone + 1, artifacts.len(), "the result file is left");
    // It can still be exported, without what is gone.
    let export = wire::ExportTrajectoryRequest { name: name.clone() };
    let pieces = cluster.client().raw().export_trajectory(export).await;
    let mut pieces = pieces.unwrap().into_inner();
    while pieces.message().await.unwrap().is_some() {}

    assert_eq!(sweep(31).await, (0, 1, 0, false));
    assert_eq!(cluster.get(&name).await.name, name);
    assert_eq!(sweep(91).await, (1, 0, 0, true));
    let missing = cluster.client().get_task(&name).await.unwrap_err();
    assert_eq!(missing.reason, "TASK_NOT_FOUND");
    assert_eq!(blob_files(cluster.data()), Vec::<PathBuf>::new());
    let on_desktop = (name, "default".to_owned());
    assert_eq!(cluster.world.deleted_files(), [on_desktop]);
}

#[tokio::test]
async fn tenants_keep_what_they_have_for_times_of_their_own() {
    let cluster = Cluster::start(vec![done("ok"), done("ok")]).await;
    let name = cluster.create().await;
    cluster.follow(&name).await;
    let days = |days: u32| KeepTimes {
        tasks: Some(days * DAY),
        ..KeepTimes::default()
    };
    let with = |times: KeepTimes, tenant: &str, own: KeepTimes| RetentionPolicy {
        times,
        tenants: [(tenant.to_owned(), own)].into(),
        ..policy()
    };
    // The task belongs to the tenant `default`, which has times of its own, or not.
    let mut day = 0;
    for (policy, is_deleted) in [
        (with(days(1), "default", KeepTimes::default()), false),
        (with(days(1), "default", days(30)), false),
        (with(KeepTimes::default(), "acme", days(1)), false),
        (with(days(30), "acme", days(1)), false),
        (with(days(30), "default", days(1)), true),
    ] {
        let sweeper = sweeper(cluster.data(), policy.clone()).await;
        // Another day each time, so that a sweep is due.
        day += 2;
        let now = SystemTime::now() + day * DAY;
        let swept = sweeper.sweep_if_due(now).await.unwrap().unwrap();
        assert_eq!(swept.tasks, u64::from(is_deleted), "{policy:?}");
    }
    cluster.client().get_task(&name).await.unwrap_err();
}

#[tokio::test]
async fn an_unfinished_task_is_kept_however_old_it_is() {
    let cluster = Cluster::start(Vec::new()).await;
    let task = wire::Task {
        run_after_time: Some((SystemTime::now() + 1000 * DAY).into()),
        attachments: vec![wire::Attachment {
            name: "in.txt".to_owned(),
            upload: upload(&cluster, "content").await,
            ..wire::Attachment::default()
        }],
        ..wire::Task::default()
    };
    let name = cluster.create_with(task).await;
    age(cluster.data());
    let times = KeepTimes {
        tasks: Some(DAY),
        recordings: Some(DAY),
        screenshots: Some(DAY),
        sessions: Some(DAY),
    };
    let policy = RetentionPolicy { times, ..policy() };
    let sweeper = sweeper(cluster.data(), policy).await;
    let now = SystemTime::now() + 900 * DAY;
    let swept = sweeper.sweep_if_due(now).await.unwrap().unwrap();
    assert_eq!((swept.tasks, swept.files.count), (0, 0), "{swept}");
    assert_eq!(cluster.get(&name).await.name, name);
}

#[tokio::test]
async fn one_of_several_orchestrators_sweeps_once_per_interval() {
    let folder = tempfile::tempdir().unwrap();
    let sweepers = [
        sweeper(folder.path(), policy()).await,
        sweeper(folder.path(), policy()).await,
    ];
    let now = SystemTime::now();
    let mut swept = 0;
    for _ in 0..3 {
        for sweeper in &sweepers {
            swept += u32::from(sweeper.sweep_if_due(now).await.unwrap().is_some());
        }
    }
    assert_eq!(swept, 1);
    let later = now + policy().interval;
    let both = futures::future::join_all(sweepers.iter().map(|one| one.sweep_if_due(later))).await;
    let swept = both
        .into_iter()
        .filter(|swept| swept.as_ref().unwrap().is_some());
    assert_eq!(swept.count(), 1);
}
