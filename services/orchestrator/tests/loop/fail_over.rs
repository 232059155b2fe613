//! Tasks in flight while a PostgreSQL server is lost and its standby is promoted.

use futures::StreamExt as _;
use futures::stream::BoxStream;
use motorium_client::Update;
use motorium_proto::domain::id::TaskName;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::watch_task_response::Content;
use motorium_store::local_postgres::LocalPostgres;
use motorium_store::{Error, PostgresStore, TaskStore as _};

use crate::health::becomes;
use crate::support::cluster::Cluster;
use crate::support::in_time;
use crate::support::script::{act, click};
use crate::support::task_events::TaskEvents;

/// A task during one of its calls, with a client that watches it.
struct InFlight {
    call: &'static str,
    cluster: Cluster,
    name: String,
    updates: BoxStream<'static, motorium_client::Result<Update>>,
    /// Number of an event and the token that goes on behind it.
    seen: (i64, String),
}

impl InFlight {
    /// Starts a task that is held in its first call of this name.
    async fn start(call: &'static str, database: String) -> Self {
        let script = vec![act([click(1), click(2)])];
        let cluster = Cluster::start_two(script, database).await;
        cluster.world.hold(call);
        let name = cluster.create().await;
        let updates = cluster.client().watch(&name);
        cluster.world.called(call, 1).await;
        let seen = in_time("an event", first_event(&cluster, &name)).await;
        Self {
            call,
            cluster,
            name,
            updates,
            seen,
        }
    }

    /// Checks that the task went on, that each click was made once, and that no watcher has missed an event.
    async fn check(self) -> Cluster {
        let call = self.call;
        let story = self.cluster.follow(&self.name).await;
        let text = story.text();
        assert_eq!(story.answer(), "it is done", "{call}: {text}");
        assert_eq!(self.cluster.world.done().len(), 2, "{call}: {text}");
        let events = self.updates.filter_map(async |update| match update {
            Ok(Update::Event { event, .. }) => Some(*event),
            Ok(_) => None,
            Err(status) => panic!("{call}: the watch has ended: {status}"),
        });
        let watched = in_time("the end of a watch", events.collect::<Vec<_>>()).await;
        TaskEvents(watched).check();
        let (seen, token) = self.seen;
        let rest = sequences_after(&self.cluster, &self.name, token).await;
        let all = seen + 1..=story.0.len() as i64;
        assert_eq!(rest, all.collect::<Vec<_>>(), "{call}");
        self.cluster
    }
}

fn watch_request(name: &str, resume_token: String) -> wire::WatchTaskRequest {
    wire::WatchTaskRequest {
        name: name.to_owned(),
        resume_token,
    }
}

/// Returns the number of the first event of a task, and the token that came with it.
async fn first_event(cluster: &Cluster, name: &str) -> (i64, String) {
    let request = watch_request(name, String::new());
    let client = cluster.client();
    let mut messages = client.raw().watch_task(request).await.unwrap().into_inner();
    loop {
        let message = messages.message().await.unwrap().expect("it goes on");
        if let Some(Content::Event(event)) = message.content {
            return (event.sequence, message.resume_token);
        }
    }
}

/// Returns the numbers of the events after those of this token, until the end of the task.
async fn sequences_after(cluster: &Cluster, name: &str, token: String) -> Vec<i64> {
    let request = watch_request(name, token);
    let messages = cluster.client().raw().watch_task(request).await.unwrap();
    let events = messages
        .into_inner()
        .filter_map(async |message| match message.unwrap().content {
            Some(Content::Event(event)) => Some(event.sequence),
            _ => None,
        });
    in_time("the end of a watch", events.collect()).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_go_on_at_a_promoted_standby_and_nothing_is_lost_or_repeated() {
    let mut primary = LocalPostgres::start();
    let standby = primary.standby().await;
    let mut tasks = Vec::new();
    let mut former_addresses = Vec::new();
    // Before a decision is stored, between an intent and its outcome, and after the outcome.
    for call in ["plan", "perform", "wait_for_idle"] {
        let database = primary.database().await;
        tasks.push(InFlight::start(call, standby.added_to(&database)).await);
        former_addresses.push(database);
    }

    primary.kill();
    for task in &tasks {
        task.cluster.world.release(task.call);
    }
    becomes(&tasks[0].cluster, false).await;
    standby.promote().await;
    becomes(&tasks[0].cluster, true).await;
    let mut clusters = Vec::new();
    for task in tasks {
        clusters.push(task.check().await);
    }

    // A former primary that is back gets none of the tasks.
    primary.restart();
    primary.recovered().await;
    let name = clusters[0].create().await;
    assert_eq!(clusters[0].follow(&name).await.answer(), "it is done");
    let former = PostgresStore::open(&former_addresses[0]).await.unwrap();
    let unknown = former
        .get_task(&TaskName::parse("name", &name).unwrap())
        .await
        .unwrap_err();
    assert!(matches!(unknown, Error::TaskNotFound { .. }), "{unknown:?}");
}
