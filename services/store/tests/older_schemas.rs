//! A store of every earlier version is opened with all that it has, and goes on.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_store::conformance::new_task;
use motorium_store::local_postgres::LocalPostgres;
use motorium_store::older_schema::{rewrite_postgres, rewrite_sqlite};
use motorium_store::{
    Append, Collection, CreateTask, Durability, EventRow, ListTasks, NewEvent, PostgresStore,
    PutResource, RequestId, SqliteStore, TaskRow, TaskStore,
};

/// Forms that earlier versions gave a store: the numbers of the last migrations.
const EARLIER: [i64; 3] = [1, 2, 3];
/// Owner of the leases.
const OWNER: &str = "orchestrator";

fn name() -> TaskName {
    TaskName::from_segment("in-flight").unwrap()
}

fn request() -> RequestId {
    RequestId {
        id: "r".to_owned(),
        fingerprint: [7; 32],
    }
}

fn event(body: &'static [u8]) -> NewEvent {
    NewEvent {
        at: SystemTime::UNIX_EPOCH + Duration::from_secs(7),
        kind: "action_intended",
        body: Bytes::from_static(body),
    }
}

fn append(epoch: TaskEpoch, body: &'static [u8]) -> Append {
    Append {
        name: name(),
        epoch: Some(epoch),
        expected_seq: None,
        events: vec![event(body)],
        notes: None,
        view: None,
        request: None,
        lease: None,
        now: SystemTime::now(),
    }
}

fn creation() -> CreateTask {
    CreateTask {
        tenant: "default".to_owned(),
        session: Some("sessions/s".to_owned()),
        labels: [("team".to_owned(), "blue".to_owned())].into(),
        snapshot: Bytes::from_static(b"a snapshot"),
        request: Some(request()),
        now: SystemTime::now(),
        ..new_task("in-flight")
    }
}

/// Fills a store with a task that runs, in a session.
async fn fill(store: &dyn TaskStore) -> (TaskRow, Vec<EventRow>) {
    let session = PutResource {
        collection: Collection::Sessions,
        name: "sessions/s".to_owned(),
        tenant: "default".to_owned(),
        body: Bytes::from_static(b"a session"),
        labels: [].into(),
        replace: false,
        request: None,
        now: SystemTime::now(),
    };
    store.put_resource(session).await.unwrap();
    store.create_task(creation()).await.unwrap();
    let minute = Duration::from_secs(60);
    let claim = store.claim(&name(), OWNER, minute, SystemTime::now()).await;
    let epoch = claim.unwrap().expect("the task is unleased").epoch;
    store.append(append(epoch, b"click")).await.unwrap();
    let events = store.events(&name(), EventSeq(0), 9).await.unwrap();
    (store.get_task(&name()).await.unwrap(), events)
}

/// Checks that a store has everything, and that its task goes on.
async fn check(store: &dyn TaskStore, (task, events): (TaskRow, Vec<EventRow>), schema: i64) {
    assert_eq!(store.get_task(&name()).await.unwrap(), task, "{schema}");
    let read = store.events(&name(), EventSeq(0), 9).await.unwrap();
    assert_eq!(read, events, "{schema}");
    let repeated = store.create_task(creation()).await.unwrap();
    assert!(repeated.repeated, "{schema}: the request is known");
    let list = ListTasks {
        page_size: 9,
        session: Some("sessions/s".to_owned()),
        // What is older than tenants belongs to the first one.
        tenant: Some("default".to_owned()),
        labels: [("team".to_owned(), "blue".to_owned())].into(),
        ..ListTasks::default()
    };
    let listed = store.list_tasks(list).await.unwrap().items;
    assert_eq!(listed, std::slice::from_ref(&task), "{schema}");

    let minute = Duration::from_secs(60);
    let now = SystemTime::now();
    let stranger = store.claim(&name(), "stranger", minute, now).await.unwrap();
    assert_eq!(stranger, None, "{schema}: the lease lasts");
    let claim = store.claim(&name(), OWNER, minute, SystemTime::now()).await;
    let epoch = claim.unwrap().expect("it is the owner's").epoch;
    assert!(epoch > task.epoch, "{schema}");
    let late = store.append(append(task.epoch, b"late")).await;
    assert!(late.is_err(), "{schema}: the former run is fenced off");
    let with_notes = Append {
        notes: Some(Bytes::from_static(b"notes")),
        ..append(epoch, b"more")
    };
    let appended = store.append(with_notes).await.unwrap();
    assert_eq!(appended.first_seq.0, task.last_seq.0 + 1, "{schema}");
    assert_eq!(store.notes(&name()).await.unwrap().len(), 1, "{schema}");
    store.create_task(new_task("new")).await.unwrap();
}

async fn open(file: &Path) -> SqliteStore {
    SqliteStore::open(file, Durability::Normal).await.unwrap()
}

#[tokio::test]
async fn an_sqlite_store_of_an_earlier_version_goes_on() {
    for schema in EARLIER {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tasks.db");
        let store = open(&file).await;
        let filled = fill(&store).await;
        let generation = store.generation().to_owned();
        store.close().await;
        rewrite_sqlite(&file, schema).await;
        let store = open(&file).await;
        assert_eq!(store.generation(), generation, "{schema}: it is no copy");
        check(&store, filled, schema).await;
    }
}

#[tokio::test]
async fn a_postgresql_store_of_an_earlier_version_goes_on() {
    let server = LocalPostgres::start();
    for schema in EARLIER {
        let database = server.database().await;
        let store = PostgresStore::open(&database).await.unwrap();
        let filled = fill(&store).await;
        drop(store);
        rewrite_postgres(&database, schema).await;
        let store = PostgresStore::open(&database).await.unwrap();
        check(&store, filled, schema).await;
    }
}
