//! The backup of a PostgreSQL store as docs/operations.md describes it: with `pg_dump`, and its restoration.

use std::process::Command;
use std::time::SystemTime;

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_store::conformance::new_task;
use motorium_store::local_postgres::LocalPostgres;
use motorium_store::{CreateTask, NewEvent, PostgresStore, StoreUpkeep as _, TaskStore as _};

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {messages}");
}

fn restore(dump: &str, database: &str, more: &[&str]) {
    let arguments = ["--no-owner", "--exit-on-error", "--dbname", database, dump];
    run("pg_restore", &[&arguments[..], more].concat());
}

#[tokio::test]
async fn a_dump_is_restored_as_a_copy() {
    let server = LocalPostgres::start();
    let (database, new_database) = (server.database().await, server.database().await);
    let store = PostgresStore::open(&database).await.unwrap();
    let name = TaskName::from_segment("a").unwrap();
    let task = CreateTask {
        first_event: NewEvent {
            at: SystemTime::now(),
            kind: "created",
            body: Bytes::from_static(b"\x00\xff body"),
        },
        ..new_task("a")
    };
    store.create_task(task).await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("tasks.dump");
    let dump = dump.to_str().unwrap();
    run("pg_dump", &["--format=custom", "--file", dump, &database]);
    restore(dump, &new_database, &[]);

    let copy = PostgresStore::open(&new_database).await.unwrap();
    assert!(copy.is_copy().await.unwrap());
    assert_ne!(copy.generation(), store.generation());
    let again = PostgresStore::open(&new_database).await.unwrap();
    assert_eq!(again.generation(), copy.generation());
    let events = copy.events(&name, EventSeq(0), 10).await.unwrap();
    assert_eq!(events, store.events(&name, EventSeq(0), 10).await.unwrap());
    assert!(!store.is_copy().await.unwrap());
    copy.copy_settled().await.unwrap();
    assert!(!copy.is_copy().await.unwrap());

    // Into the same database, in place of what it has.
    restore(dump, &database, &["--clean"]);
    let set_back = PostgresStore::open(&database).await.unwrap();
    assert!(set_back.is_copy().await.unwrap());
    // A store that is opened again is none.
    let settled = PostgresStore::open(&new_database).await.unwrap();
    assert!(!settled.is_copy().await.unwrap());
}
