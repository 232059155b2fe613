//! Deletion of tasks and sessions by users, also while they are watched and while others create.

use futures::StreamExt as _;
use motorium_kit::config::HumanDuration;
use motorium_kit::principal::Principal;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::common::desktop::State;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_server::OrchestratorService as _;
use motorium_proto::v1::orchestrator::watch_session_response::Content;
use tonic::{Code, Request, Status};
use uuid::Uuid;

use crate::desktops::is_in;
use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, ask, click, done};
use crate::watch_session::edge;

fn reason(status: &Status) -> (Code, String) {
    (status.code(), ErrorReport::from_status(status).reason)
}

fn not_found() -> (Code, String) {
    (Code::NotFound, "TASK_NOT_FOUND".to_owned())
}

async fn delete(cluster: &Cluster, name: &str, allow_missing: bool) -> Result<(), (Code, String)> {
    let request = wire::DeleteTaskRequest {
        name: name.to_owned(),
        allow_missing,
    };
    let deleted = cluster.client().raw().delete_task(request).await;
    deleted.map(drop).map_err(|status| reason(&status))
}

async fn delete_session(cluster: &Cluster, name: &str, force: bool) -> Result<(), (Code, String)> {
    let request = wire::DeleteSessionRequest {
        name: name.to_owned(),
        force,
        allow_missing: false,
    };
    let deleted = cluster.client().raw().delete_session(request).await;
    deleted.map(drop).map_err(|status| reason(&status))
}

async fn create_session(cluster: &Cluster, id: &str) {
    let request = wire::CreateSessionRequest {
        session_id: id.to_owned(),
        ..wire::CreateSessionRequest::default()
    };
    let created = cluster.client().raw().create_session(request).await;
    created.unwrap();
}

#[tokio::test]
async fn nothing_of_a_deleted_task_can_be_read() {
    let cluster = Cluster::start(vec![act([click(1)]), done("ok")]).await;
    let story = cluster.carry_out().await;
    let name = story.0[0].task.clone();
    let steps = cluster.client().list_steps(&name).await.unwrap();
    let image = steps[0].frame_before.clone();
    assert_eq!(cluster.world.deleted_files(), []);
    delete(&cluster, &name, false).await.unwrap();
    let of_task = (name.clone(), "default".to_owned());
    assert_eq!(cluster.world.deleted_files(), [of_task], "on the desktop");

    let mut raw = cluster.client().raw();
    let get = wire::GetTaskRequest { name: name.clone() };
    assert_eq!(reason(&raw.get_task(get).await.unwrap_err()), not_found());
    let list = wire::ListTasksRequest::default();
    assert!(
        raw.list_tasks(list)
            .await
            .unwrap()
            .into_inner()
            .tasks
            .is_empty()
    );
    let list = wire::ListStepsRequest {
        parent: name.clone(),
        ..wire::ListStepsRequest::default()
    };
    assert_eq!(
        reason(&raw.list_steps(list).await.unwrap_err()),
        not_found()
    );
    let get = wire::GetArtifactRequest {
        name: image,
        read_offset: 0,
    };
    assert_eq!(
        reason(&raw.get_artifact(get).await.unwrap_err()),
        not_found()
    );
    let export = wire::ExportTrajectoryRequest { name: name.clone() };
    assert_eq!(
        reason(&raw.export_trajectory(export).await.unwrap_err()),
        not_found()
    );
    let watch = wire::WatchTaskRequest {
        name: name.clone(),
        ..wire::WatchTaskRequest::default()
    };
    assert_eq!(
        reason(&raw.watch_task(watch).await.unwrap_err()),
        not_found()
    );
    let cancel = wire::CancelTaskRequest {
        name: name.clone(),
        ..wire::CancelTaskRequest::default()
    };
    assert_eq!(
        reason(&raw.cancel_task(cancel).await.unwrap_err()),
        not_found()
    );

    assert_eq!(delete(&cluster, &name, false).await, Err(not_found()));
    delete(&cluster, &name, true).await.unwrap();
}

/// Waits until the desktop was asked to delete files of this many tasks.
async fn deleted_files(cluster: &Cluster, count: usize) -> Vec<(String, String)> {
    in_time("the deletion of files", async {
        while cluster.world.deleted_files().len() < count {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
    cluster.world.deleted_files()
}

#[tokio::test]
async fn files_on_a_desktop_that_is_away_are_deleted_when_it_is_back() {
    for restarts in [false, true] {
        let mut cluster = Cluster::start_with(vec![done("ok")], |settings| {
            let often = std::time::Duration::from_millis(100);
            settings.desktop_probe_interval = HumanDuration(often);
        })
        .await;
        let name = cluster.carry_out().await.0[0].task.clone();
        cluster.services.go_away().await;
        delete(&cluster, &name, false).await.unwrap();
        assert_eq!(delete(&cluster, &name, false).await, Err(not_found()));
        if restarts {
            // What is still to be deleted is in the store.
            cluster.kill().await;
            cluster.start_again().await;
        }
        // Seen as unreachable before it is back.
        is_in(&cluster, State::Unreachable).await;
        assert_eq!(cluster.world.deleted_files(), []);
        cluster.services.come_back().await;
        let of_task = (name, "default".to_owned());
        assert_eq!(deleted_files(&cluster, 1).await, [of_task]);
    }
}

#[tokio::test]
async fn files_of_a_new_task_with_the_name_of_a_deleted_one_are_kept() {
    let script = vec![ask("which?"), ask("which?")];
    let mut cluster = Cluster::start_with(script, |settings| {
        let often = std::time::Duration::from_millis(100);
        settings.desktop_probe_interval = HumanDuration(often);
    })
    .await;
    let request = wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "do it".to_owned(),
            ..wire::Task::default()
        }),
        task_id: "invoice".to_owned(),
        ..wire::CreateTaskRequest::default()
    };
    let first = cluster.client().create(request.clone()).await.unwrap();
    cluster.happened(&first.name, "user_asked").await;
    cluster.cancel(&first.name).await;
    cluster.services.go_away().await;
    delete(&cluster, &first.name, false).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let second = cluster.client().create(request).await.unwrap();
    assert_eq!(second.name, first.name);
    cluster.services.come_back().await;
    cluster.happened(&second.name, "user_asked").await;
    assert_eq!(cluster.world.deleted_files(), [], "it may have files there");
    cluster.cancel(&second.name).await;
    delete(&cluster, &second.name, false).await.unwrap();
    assert_eq!(deleted_files(&cluster, 1).await.len(), 1);
}

#[tokio::test]
async fn a_task_that_has_not_ended_is_kept() {
    let cluster = Cluster::start(vec![ask("which?")]).await;
    let name = cluster.create().await;
    cluster.happened(&name, "user_asked").await;
    let refused = (Code::FailedPrecondition, "TASK_NOT_ENDED".to_owned());
    assert_eq!(delete(&cluster, &name, true).await, Err(refused));
    assert_eq!(cluster.get(&name).await.name, name);
    cluster.cancel(&name).await;
    delete(&cluster, &name, false).await.unwrap();
}

#[tokio::test]
async fn name_and_request_id_of_a_deleted_task_are_free() {
    let cluster = Cluster::start(vec![done("ok")]).await;
    let request = wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "do it".to_owned(),
            ..wire::Task::default()
        }),
        task_id: "invoice".to_owned(),
        request_id: Uuid::nil().to_string(),
    };
    let first = cluster.client().create(request.clone()).await.unwrap();
    cluster.follow(&first.name).await;
    delete(&cluster, &first.name, false).await.unwrap();
    let second = cluster.client().create(request).await.unwrap();
    assert_eq!(second.name, first.name);
    assert_ne!(second.uid, first.uid);
}

#[tokio::test]
async fn a_session_is_deleted_with_its_tasks_if_forced() {
    let cluster = Cluster::start(vec![done("ok")]).await;
    create_session(&cluster, "trip").await;
    let task = wire::Task {
        session: "sessions/trip".to_owned(),
        ..wire::Task::default()
    };
    let story = cluster.carry_out_with(task.clone()).await;
    let refused = (Code::FailedPrecondition, "SESSION_NOT_EMPTY".to_owned());
    assert_eq!(
        delete_session(&cluster, "sessions/trip", false).await,
        Err(refused)
    );
    delete_session(&cluster, "sessions/trip", true)
        .await
        .unwrap();
    assert_eq!(
        delete(&cluster, &story.0[0].task, false).await,
        Err(not_found())
    );
    let missing = (Code::NotFound, "SESSION_NOT_FOUND".to_owned());
    assert_eq!(
        delete_session(&cluster, "sessions/trip", true).await,
        Err(missing.clone())
    );
    let mut raw = cluster.client().raw();
    let created = raw.create_task(wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "do it".to_owned(),
            ..task
        }),
        ..wire::CreateTaskRequest::default()
    });
    assert_eq!(reason(&created.await.unwrap_err()), missing);
}

fn in_session(session: &str) -> wire::CreateTaskRequest {
    wire::CreateTaskRequest {
        task: Some(wire::Task {
            goal: "do it".to_owned(),
            session: session.to_owned(),
            ..wire::Task::default()
        }),
        ..wire::CreateTaskRequest::default()
    }
}

/// The watch has not read the last events when its task is deleted, as that of a slow client.
#[tokio::test]
async fn a_watch_of_a_deleted_task_ends_with_not_found() {
    let calls = async {
        let folder = tempfile::tempdir().unwrap();
        let edge = edge(&folder).await;
        let created = edge
            .create_task(Request::new(in_session("")))
            .await
            .unwrap();
        let name = created.into_inner().task.unwrap().name;
        let request = wire::WatchTaskRequest {
            name: name.clone(),
            ..wire::WatchTaskRequest::default()
        };
        let watch = edge.watch_task(Request::new(request)).await.unwrap();
        let mut watch = watch.into_inner();
        watch.next().await.unwrap().unwrap();
        let cancel = wire::CancelTaskRequest {
            name: name.clone(),
            ..wire::CancelTaskRequest::default()
        };
        edge.cancel_task(Request::new(cancel)).await.unwrap();
        let delete = wire::DeleteTaskRequest {
            name,
            ..wire::DeleteTaskRequest::default()
        };
        edge.delete_task(Request::new(delete)).await.unwrap();
        let rest = in_time("the end of a watch", watch.collect::<Vec<_>>()).await;
        let [Err(status)] = rest.as_slice() else {
            panic!("{rest:?}");
        };
        assert_eq!(reason(status), not_found());
    };
    Principal::local().scope(calls).await;
}

#[tokio::test]
async fn a_watch_of_a_session_outlives_its_tasks_and_ends_with_the_session() {
    let calls = async {
        const SESSION: &str = "sessions/trip";
        let folder = tempfile::tempdir().unwrap();
        let edge = edge(&folder).await;
        let session = wire::CreateSessionRequest {
            session_id: "trip".to_owned(),
            ..wire::CreateSessionRequest::default()
        };
        edge.create_session(Request::new(session)).await.unwrap();
        let create = async || {
            let created = edge.create_task(Request::new(in_session(SESSION))).await;
            created.unwrap().into_inner().task.unwrap().name
        };
        let cancel = async |name: &str| {
            let cancel = wire::CancelTaskRequest {
                name: name.to_owned(),
                ..wire::CancelTaskRequest::default()
            };
            edge.cancel_task(Request::new(cancel)).await.unwrap();
        };
        let watch = async |resume_token: String| {
            let request = wire::WatchSessionRequest {
                name: SESSION.to_owned(),
                resume_token,
            };
            let watch = edge.watch_session(Request::new(request)).await.unwrap();
            // Heartbeats tell nothing here.
            watch.into_inner().filter(|message| {
            let is_heartbeat = matches!(message, Ok(message) if matches!(message.content, Some(Content::Heartbeat(_))));
            futures::future::ready(!is_heartbeat)
        })
        };
        let first = create().await;
        let mut watching = Box::pin(watch(String::new()).await);
        let seen = watching.by_ref().take(2).collect::<Vec<_>>();
        let seen = in_time("the first event", seen).await;
        let token = seen[1].as_ref().unwrap().resume_token.clone();

        cancel(&first).await;
        let delete = wire::DeleteTaskRequest {
            name: first,
            ..wire::DeleteTaskRequest::default()
        };
        edge.delete_task(Request::new(delete)).await.unwrap();
        let second = create().await;
        let event_of =
            |message: Result<wire::WatchSessionResponse, Status>| match message.unwrap().content {
                Some(Content::Event(event)) => event.task,
                other => panic!("{other:?}"),
            };
        let next = in_time("an event of the second task", watching.next()).await;
        assert_eq!(event_of(next.unwrap()), second);
        // A token from before the deletion still resumes.
        let mut resumed = Box::pin(watch(token).await);
        let next = in_time("an event after a resumption", resumed.next()).await;
        assert_eq!(event_of(next.unwrap()), second);

        cancel(&second).await;
        let delete = wire::DeleteSessionRequest {
            name: SESSION.to_owned(),
            force: true,
            allow_missing: false,
        };
        edge.delete_session(Request::new(delete)).await.unwrap();
        let rest = in_time("the end of the watch", watching.collect::<Vec<_>>()).await;
        let Some(Err(status)) = rest.last() else {
            panic!("{rest:?}");
        };
        let ended = (Code::NotFound, "SESSION_NOT_FOUND".to_owned());
        assert_eq!(reason(status), ended);
    };
    Principal::local().scope(calls).await;
}

/// Clients create tasks in sessions that another one purges. Each task is created or refused, and none is lost.
#[tokio::test]
async fn a_purge_beside_creators_loses_no_task() {
    let calls = async {
        let folder = tempfile::tempdir().unwrap();
        let edge = edge(&folder).await;
        for round in 0..10 {
            let session = wire::CreateSessionRequest {
                session_id: format!("s{round}"),
                ..wire::CreateSessionRequest::default()
            };
            edge.create_session(Request::new(session)).await.unwrap();
            let session = format!("sessions/s{round}");
            let creations = (0..4).map(|_| {
                let (edge, session) = (edge.clone(), session.clone());
                let created =
                    async move { edge.create_task(Request::new(in_session(&session))).await };
                tokio::spawn(Principal::local().scope(created))
            });
            let creations: Vec<_> = creations.collect();
            let delete = wire::DeleteSessionRequest {
                name: session.clone(),
                ..wire::DeleteSessionRequest::default()
            };
            let deleted = edge.delete_session(Request::new(delete)).await;
            let mut created = 0;
            for creation in creations {
                match creation.await.unwrap() {
                    Ok(_) => created += 1,
                    Err(status) => assert_eq!(
                        reason(&status),
                        (Code::NotFound, "SESSION_NOT_FOUND".to_owned())
                    ),
                }
            }
            let list = wire::ListTasksRequest {
                session: session.clone(),
                ..wire::ListTasksRequest::default()
            };
            let listed = edge.list_tasks(Request::new(list)).await.unwrap();
            assert_eq!(listed.into_inner().tasks.len(), created);
            assert_eq!(deleted.is_ok(), created == 0, "{deleted:?}");
        }
    };
    Box::pin(Principal::local().scope(calls)).await;
}
