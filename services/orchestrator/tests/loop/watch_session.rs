//! Watching a session: tasks from before and during the watch, any token, heartbeats, and invalid tokens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use motorium_client::SessionUpdate;
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::principal::Principal;
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::config::{LocalServices, channel, connector};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::edge::Edge;
use motorium_orchestrator::storage::Settings as StoreSettings;
use motorium_orchestrator::{Orchestrator, Settings};
use motorium_proto::domain::id::EventSeq;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::PlannerClient;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_server::OrchestratorService as _;
use motorium_proto::v1::orchestrator::task::State;
use motorium_proto::v1::orchestrator::watch_session_response::Content;
use motorium_store::SessionToken;
use motorium_store::audit::AuditLog;
use tempfile::TempDir;
use tonic::{Code, Request, Status, Streaming};

use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, click};
use crate::support::task_events::{TaskEvents, is_end};

const SESSION: &str = "sessions/trip";

async fn create_session(cluster: &Cluster, id: &str) {
    let request = wire::CreateSessionRequest {
        session_id: id.to_owned(),
        ..wire::CreateSessionRequest::default()
    };
    cluster
        .client()
        .raw()
        .create_session(request)
        .await
        .unwrap();
}

async fn create_in(cluster: &Cluster, session: &str) -> String {
    let task = wire::Task {
        session: session.to_owned(),
        ..wire::Task::default()
    };
    cluster.create_with(task).await
}

/// Returns a cluster with a session that has this number of tasks, all ended.
async fn ended_tasks(count: usize) -> (Cluster, Vec<String>) {
    let cluster = Cluster::start(vec![act([click(1)])]).await;
    create_session(&cluster, "trip").await;
    let mut names = Vec::new();
    for _ in 0..count {
        let name = create_in(&cluster, SESSION).await;
        cluster.follow(&name).await;
        names.push(name);
    }
    (cluster, names)
}

type Messages = Streaming<wire::WatchSessionResponse>;

async fn start_watch(cluster: &Cluster, session: &str, token: &str) -> Result<Messages, Status> {
    let request = wire::WatchSessionRequest {
        name: session.to_owned(),
        resume_token: token.to_owned(),
    };
    let messages = cluster.client().raw().watch_session(request).await;
    messages.map(tonic::Response::into_inner)
}

/// Returns the remaining messages of a watch that its server ends.
async fn rest(messages: Messages) -> Vec<wire::WatchSessionResponse> {
    let messages = in_time("the end of a watch", messages.collect::<Vec<_>>()).await;
    messages.into_iter().map(Result::unwrap).collect()
}

/// Returns the task and the sequence number of each event.
fn events(messages: &[wire::WatchSessionResponse]) -> Vec<(String, i64)> {
    let events = messages
        .iter()
        .filter_map(|message| match &message.content {
            Some(Content::Event(event)) => Some((event.task.clone(), event.sequence)),
            _ => None,
        });
    events.collect()
}

#[tokio::test]
async fn tasks_from_before_and_during_the_watch_are_delivered() {
    let (cluster, mut names) = ended_tasks(1).await;
    cluster.world.hold("plan");
    names.push(create_in(&cluster, SESSION).await);
    cluster.world.called("plan", 1).await;
    let mut updates = cluster.client().watch_session(SESSION);
    let first = in_time("the session", updates.next()).await;
    let Some(Ok(SessionUpdate::Snapshot(session))) = first else {
        panic!("{first:?}");
    };
    assert_eq!(session.name, SESSION);
    let mut stories: BTreeMap<String, TaskEvents> = BTreeMap::new();
    let mut ended = 0;
    while ended < 3 {
        let update = in_time("the next event", updates.next()).await;
        let Some(Ok(SessionUpdate::Event { event, .. })) = update else {
            panic!("{update:?}");
        };
        // The second task is running now, and the watch has sent its last event so far.
        if event.task == names[1] && event.state() == State::Running && names.len() == 2 {
            create_in(&cluster, "").await;
            names.push(create_in(&cluster, SESSION).await);
            cluster.world.release("plan");
        }
        ended += u32::from(is_end(&event));
        stories
            .entry(event.task.clone())
            .or_default()
            .0
            .push(*event);
    }
    names.sort();
    assert!(stories.keys().eq(&names), "only the tasks of the session");
    stories.values().for_each(TaskEvents::check);
}

#[tokio::test]
async fn watch_resumes_after_any_token_without_duplicates() {
    let (cluster, names) = ended_tasks(2).await;
    let all = start_watch(&cluster, SESSION, "").await.unwrap();
    let count: i64 = {
        let (one, other) = (cluster.get(&names[0]).await, cluster.get(&names[1]).await);
        one.last_sequence + other.last_sequence
    };
    let all: Vec<_> = in_time(
        "all events",
        all.take(count as usize + 1).collect::<Vec<_>>(),
    )
    .await;
    let all: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    let expected = events(&all);
    assert_eq!(expected.len() as i64, count);
    assert!(matches!(all[0].content, Some(Content::Snapshot(_))));
    let mut watches = Vec::new();
    for message in &all {
        let watch = start_watch(&cluster, SESSION, &message.resume_token).await;
        watches.push(watch.unwrap());
    }
    // A server that shuts down ends its watches after their last event.
    cluster.drain();
    for (seen, watch) in watches.into_iter().enumerate() {
        assert_eq!(events(&rest(watch).await), expected[seen..], "after {seen}");
    }
}

#[tokio::test]
async fn the_client_s_watch_survives_a_dead_orchestrator() {
    let mut cluster = Cluster::start(vec![act([click(1)])]).await;
    create_session(&cluster, "trip").await;
    cluster.world.hold("plan");
    let name = create_in(&cluster, SESSION).await;
    let mut updates = cluster.client().watch_session(SESSION);
    let (mut seen, mut token) = (Vec::new(), String::new());
    while seen.len() < 5 {
        let update = in_time("the first step", updates.next()).await;
        if let Some(Ok(SessionUpdate::Event {
            event,
            resume_token,
        })) = update
        {
            seen.push(event.sequence);
            token = resume_token;
        }
    }
    cluster.crash().await;
    cluster.world.release("plan");
    let mut updates = cluster.client().watch_session_from(SESSION, &token);
    loop {
        let update = in_time("the end", updates.next()).await;
        let Some(Ok(SessionUpdate::Event { event, .. })) = update else {
            panic!("{update:?}");
        };
        assert_eq!(event.task, name);
        seen.push(event.sequence);
        if is_end(&event) {
            break;
        }
    }
    assert!(seen.iter().copied().eq(1..=seen.len() as i64), "{seen:?}");
}

/// Returns the error of a refused watch.
async fn refusal(cluster: &Cluster, session: &str, token: &str) -> (Code, String) {
    let refused = start_watch(cluster, session, token).await;
    let report = ErrorReport::from_status(&refused.map(drop).unwrap_err());
    (report.code, report.reason)
}

#[tokio::test]
async fn invalid_names_and_tokens_are_refused() {
    let (cluster, names) = ended_tasks(1).await;
    create_session(&cluster, "other").await;
    let watch = start_watch(&cluster, SESSION, "").await.unwrap();
    let first: Vec<_> = in_time("two messages", watch.take(2).collect::<Vec<_>>()).await;
    let token = first[1].as_ref().unwrap().resume_token.clone();

    let invalid = (Code::InvalidArgument, "RESUME_TOKEN_INVALID".to_owned());
    for token in ["garbage", "AAAA", "!!", "djF8eA"] {
        assert_eq!(refusal(&cluster, SESSION, token).await, invalid, "{token}");
    }
    let expired = (Code::OutOfRange, "RESUME_TOKEN_EXPIRED".to_owned());
    assert_eq!(refusal(&cluster, "sessions/other", &token).await, expired);
    let token = SessionToken::parse(&token).unwrap();
    let mut ahead = token.clone();
    ahead.advance(&cluster.get(&names[0]).await.uid, EventSeq(1000));
    assert_eq!(refusal(&cluster, SESSION, &ahead.format()).await, expired);
    let missing = (Code::NotFound, "SESSION_NOT_FOUND".to_owned());
    assert_eq!(refusal(&cluster, "sessions/nowhere", "").await, missing);
    let misnamed = refusal(&cluster, "tasks/one", "").await;
    assert_eq!(misnamed.0, Code::InvalidArgument);
}

/// Returns the service of an orchestrator that runs no tasks, with short intervals between heartbeats.
pub(crate) async fn edge(folder: &TempDir) -> Edge {
    let config = Settings::default().resolve().unwrap();
    let storage = StoreSettings::default().open(folder.path(), AuditLog::off());
    let storage = storage.await.unwrap();
    let base = ClientConfig::new("");
    let planner = channel(&base, "http://127.0.0.1:1").unwrap();
    let nearby = LocalServices {
        planner: Arc::new(PlannerClient::new(planner)),
        perception: None,
        executor: None,
    };
    let desktops = DesktopPool::new(connector(base, nearby));
    let orchestrator = Orchestrator::new(&config, storage, desktops, &Shutdown::new());
    Edge {
        heartbeat: Duration::from_millis(20),
        ..orchestrator.edge()
    }
}

#[tokio::test]
async fn an_idle_watch_has_heartbeats_with_the_token_of_the_last_event() {
    let calls = async {
        let folder = tempfile::tempdir().unwrap();
        let edge = edge(&folder).await;
        let session = wire::CreateSessionRequest {
            session_id: "trip".to_owned(),
            ..wire::CreateSessionRequest::default()
        };
        edge.create_session(Request::new(session)).await.unwrap();
        let task = wire::Task {
            goal: "do it".to_owned(),
            session: SESSION.to_owned(),
            ..wire::Task::default()
        };
        let task = wire::CreateTaskRequest {
            task: Some(task),
            ..wire::CreateTaskRequest::default()
        };
        edge.create_task(Request::new(task)).await.unwrap();
        let request = wire::WatchSessionRequest {
            name: SESSION.to_owned(),
            ..wire::WatchSessionRequest::default()
        };
        let watch = edge.watch_session(Request::new(request)).await.unwrap();
        let messages = watch.into_inner().take(4).collect::<Vec<_>>();
        let messages: Vec<_> = in_time("two heartbeats", messages).await;
        let messages: Vec<_> = messages.into_iter().map(Result::unwrap).collect();
        let [snapshot, event, heartbeats @ ..] = messages.as_slice() else {
            panic!("{messages:?}");
        };
        assert!(matches!(snapshot.content, Some(Content::Snapshot(_))));
        assert!(matches!(event.content, Some(Content::Event(_))));
        for heartbeat in heartbeats {
            assert!(matches!(heartbeat.content, Some(Content::Heartbeat(_))));
            assert_eq!(heartbeat.resume_token, event.resume_token);
        }
    };
    Principal::local().scope(calls).await;
}
