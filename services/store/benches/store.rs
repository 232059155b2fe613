//! Throughput of the store for the operations of running tasks: `cargo bench -p motorium-store`.
//!
//! Each result is the median of five rounds, each in a new database in the folder `BENCH_FOLDER` (a temporary one if it is
//! not set; the disk matters with full durability).

#![expect(clippy::print_stdout, reason = "the results are the output")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::future::try_join_all;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_store::{Append, BlobStore, CreateTask, Durability, NewEvent, SqliteStore, TaskStore};
use tokio::time::Instant;

const ROUNDS: usize = 5;
const TASKS: usize = 1000;
const TTL: Duration = Duration::from_secs(15);

// The events of one step, and a snapshot of typical size.
const EVENTS: usize = 4;
const BODY: usize = 500;
const SNAPSHOT: usize = 2000;

type Store = Arc<dyn TaskStore>;

fn name(number: usize) -> TaskName {
    TaskName::from_segment(&format!("t{number}")).expect("letters and digits")
}

fn event() -> NewEvent {
    NewEvent {
        at: SystemTime::now(),
        kind: "happened",
        body: Bytes::from(vec![7; BODY]),
    }
}

fn task(number: usize) -> CreateTask {
    CreateTask {
        name: name(number),
        uid: number.to_string(),
        tenant: "default".to_owned(),
        session: None,
        state: 1,
        priority: 0,
        run_after: None,
        labels: [].into(),
        snapshot: Bytes::from(vec![1; SNAPSHOT]),
        first_event: event(),
        request: None,
        now: SystemTime::now(),
    }
}

fn step(number: usize, epoch: TaskEpoch) -> Append {
    Append {
        name: name(number),
        epoch: Some(epoch),
        expected_seq: None,
        events: (0..EVENTS).map(|_| event()).collect(),
        notes: None,
        view: Some((2, Bytes::from(vec![2; SNAPSHOT]))),
        request: None,
        lease: None,
        now: SystemTime::now(),
    }
}

/// Runs an operation once per task with this many concurrent clients. Returns the operations per second.
async fn rate<F, Fut, T, E>(store: &Store, clients: usize, operation: F) -> f64
where
    F: Fn(Store, usize) -> Fut + Copy + Send + 'static,
    Fut: Future<Output = Result<T, E>> + Send,
    T: Send,
    E: std::fmt::Debug + Send,
{
    let started = Instant::now();
    let work = (0..clients).map(|client| {
        let store = store.clone();
        tokio::spawn(async move {
            for number in (client..TASKS).step_by(clients) {
                drop(
                    operation(store.clone(), number)
                        .await
                        .expect("nothing is in the way"),
                );
            }
        })
    });
    try_join_all(work).await.expect("no client panics");
    TASKS as f64 / started.elapsed().as_secs_f64()
}

/// Runs one round. Returns the rate of each operation, in the order of [`NAMES`].
async fn round(store: Store, clients: usize) -> [f64; 6] {
    let ours = TaskEpoch(1);
    let now = SystemTime::now;
    [
        rate(&store, clients, |store, number| async move {
            store.create_task(task(number)).await
        })
        .await,
        rate(&store, clients, move |store, number| async move {
            store.claim(&name(number), "bench", TTL, now()).await
        })
        .await,
        rate(&store, clients, move |store, number| async move {
            store.append(step(number, ours)).await
        })
        .await,
        rate(&store, clients, move |store, number| async move {
            store.renew(&name(number), ours, TTL, now()).await
        })
        .await,
        rate(&store, clients, |store, number| async move {
            store.events(&name(number), EventSeq(0), 500).await
        })
        .await,
        rate(&store, clients, move |store, _| async move {
            store.claimable(&[1, 2], "other", now(), 100).await
        })
        .await,
    ]
}

const NAMES: [&str; 6] = [
    "create a task",
    "claim a task",
    "append a step (4 events, snapshot)",
    "renew a lease",
    "read a task's 5 events",
    "look for work among 1000 leased tasks",
];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn folder() -> (PathBuf, Option<tempfile::TempDir>) {
    match std::env::var_os("BENCH_FOLDER") {
        Some(folder) => (folder.into(), None),
        None => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            (folder.path().to_owned(), Some(folder))
        }
    }
}

async fn tasks(durability: Durability, clients: usize) {
    let (folder, _alive) = folder();
    let mut rounds = Vec::new();
    for number in 0..ROUNDS {
        let file = folder.join(format!("bench-{number}-{clients}-{durability:?}.db"));
        let store = SqliteStore::open(&file, durability)
            .await
            .expect("a new database");
        rounds.push(round(Arc::new(store.clone()), clients).await);
        store.close().await;
        std::fs::remove_file(file).expect("the database is there");
    }
    println!("SQLite, durability {durability:?}, {clients} clients:");
    for (index, name) in NAMES.iter().enumerate() {
        println!(
            "  {name:<40} {:>8.0}/s",
            median(rounds.iter().map(|round| round[index]).collect())
        );
    }
}

async fn blobs() {
    const SIZE: usize = 1 << 20;
    const COUNT: u32 = 50;
    let (folder, _alive) = folder();
    for durability in [Durability::Normal, Durability::Full] {
        let store = BlobStore::folder(&folder.join(format!("blobs-{durability:?}")), durability)
            .expect("a new folder");
        let contents: Vec<Bytes> = (0..COUNT)
            .map(|number| Bytes::from(number.to_be_bytes().repeat(SIZE / 4)))
            .collect();
        let started = Instant::now();
        let mut ids = Vec::new();
        for content in &contents {
            ids.push(store.put(content.clone()).await.expect("there is space"));
        }
        let put = started.elapsed() / COUNT;
        let started = Instant::now();
        for id in ids {
            store.get(id).await.expect("it was put");
        }
        let got = started.elapsed() / COUNT;
        println!(
            "blobs of 1 MiB in a folder, durability {durability:?}: put {put:.2?}, get {got:.2?}"
        );
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    for clients in [1, 4, 32] {
        tasks(Durability::Normal, clients).await;
    }
    tasks(Durability::Full, 4).await;
    blobs().await;
}
