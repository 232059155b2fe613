//! A process is killed repeatedly while it appends. Acknowledged events survive, and sequence numbers have no gaps.
//! This covers the end of a process, not a power failure.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_store::invariants::is_gapless;
use motorium_store::{Append, BlobStore, CreateTask, Durability, NewEvent, SqliteStore, TaskStore};

const TASKS: usize = 4;
const KILLS: usize = 20;
/// Environment variable with the child's store folder.
const FOLDER: &str = "STORE_TEST_FOLDER";
/// Environment variable with the number of earlier children.
const CLOCK_LEAPS: &str = "STORE_TEST_LEAPS";

fn name(number: usize) -> TaskName {
    TaskName::from_segment(&format!("t{number}")).unwrap()
}

async fn open(folder: &Path) -> Arc<dyn TaskStore> {
    let store = SqliteStore::open(&folder.join("motorium.db"), Durability::Normal).await;
    Arc::new(store.expect("a store that was killed opens again"))
}

fn event(body: impl Into<Bytes>) -> NewEvent {
    NewEvent {
        at: SystemTime::now(),
        kind: "happened",
        body: body.into(),
    }
}

/// Claims a task and appends to it until the process is killed. Prints each acknowledged event.
async fn write_for_ever(store: Arc<dyn TaskStore>, blobs: BlobStore, task: TaskName) {
    let owner = format!("process {}", std::process::id());
    // The lease of a killed child has not expired, so each child's clock is an hour ahead of the former one's.
    let leaps = std::env::var(CLOCK_LEAPS).expect("how many leaps");
    let leaps: u32 = leaps.parse().expect("a number of leaps");
    let now = SystemTime::now() + Duration::from_secs(3600) * leaps;
    let claim = store
        .claim(&task, &owner, Duration::ZERO, now)
        .await
        .unwrap()
        .unwrap();
    let mut last = claim.task.last_seq;
    for round in 0.. {
        // A blob is stored before it is referred to.
        let blob = blobs
            .put(Bytes::from(
                format!("{task} {last:?}").repeat(1 + round % 500),
            ))
            .await
            .unwrap();
        let mut events = vec![event(blob.to_string())];
        events.extend((0..round % 4).map(|extra| event(format!("extra {extra}"))));
        let append = Append {
            name: task.clone(),
            epoch: Some(claim.epoch),
            expected_seq: Some(last),
            events,
            notes: None,
            view: Some((2, Bytes::from(round.to_string()))),
            request: None,
            lease: None,
            now: SystemTime::now(),
        };
        last = store.append(append).await.unwrap().last_seq;
        let mut out = std::io::stdout().lock();
        writeln!(out, "stored {task} {}", last.0)
            .and_then(|()| out.flush())
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by acknowledged_appends_survive_a_kill, which kills it"]
async fn child() {
    let folder = std::env::var_os(FOLDER).expect("a folder");
    let store = open(Path::new(&folder)).await;
    let blobs = BlobStore::folder(&Path::new(&folder).join("blobs"), Durability::Normal).unwrap();
    let writers = (0..TASKS)
        .map(|number| tokio::spawn(write_for_ever(store.clone(), blobs.clone(), name(number))));
    futures::future::join_all(writers).await;
}

/// Runs the child until it has printed `lines` lines, kills it, and returns its last printed number of each task.
fn run_and_kill(folder: &Path, lines: usize) -> BTreeMap<String, i64> {
    static CHILDREN: AtomicU32 = AtomicU32::new(0);

    let leaps = CHILDREN.fetch_add(1, Ordering::Relaxed);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(CLOCK_LEAPS, leaps.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut stored_seqs = BTreeMap::new();
    let mut count = 0;
    for line in out.lines().map_while(Result::ok) {
        // The test harness prints the name of the test before the first line.
        let Some((_, stored)) = line.split_once("stored ") else {
            continue;
        };
        // The last line may be truncated; then its number is too small, which is safe here.
        if let Some((task, seq)) = stored.split_once(' ')
            && let Ok(seq) = seq.parse::<i64>()
        {
            stored_seqs.insert(task.to_owned(), seq);
        }
        count += 1;
        if count == lines {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(
        count >= lines,
        "the child ended by itself after {count} lines"
    );
    stored_seqs
}

#[tokio::test]
async fn acknowledged_appends_survive_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path()).await;
    for number in 0..TASKS {
        let task = CreateTask {
            name: name(number),
            uid: number.to_string(),
            tenant: "default".to_owned(),
            session: None,
            state: 1,
            priority: 0,
            run_after: None,
            labels: BTreeMap::new(),
            snapshot: Bytes::new(),
            first_event: event("created"),
            request: None,
            now: SystemTime::now(),
        };
        store.create_task(task).await.unwrap();
    }
    drop(store);

    for kill in 0..KILLS {
        let folder_path = folder.path().to_owned();
        let lines = 20 + kill * 7;
        let stored_seqs = tokio::task::spawn_blocking(move || run_and_kill(&folder_path, lines))
            .await
            .unwrap();
        let store = open(folder.path()).await;
        let blobs = BlobStore::folder(&folder.path().join("blobs"), Durability::Normal).unwrap();
        for number in 0..TASKS {
            let task = store.get_task(&name(number)).await.unwrap();
            let events = store
                .events(&name(number), EventSeq(0), u32::MAX)
                .await
                .unwrap();
            assert!(
                is_gapless(EventSeq(0), events.iter().map(|event| event.seq)),
                "after kill {kill}"
            );
            assert_eq!(
                events.last().map(|event| event.seq),
                Some(task.last_seq),
                "after kill {kill}"
            );
            let acknowledged = stored_seqs
                .get(&task.name.to_string())
                .copied()
                .unwrap_or(0);
            assert!(
                task.last_seq.0 >= acknowledged,
                "after kill {kill}: {acknowledged} was acknowledged, {:?} is there",
                task.last_seq
            );
            let named = events
                .iter()
                .skip(1)
                .filter(|event| !event.body.starts_with(b"extra"));
            for event in named.rev().take(5) {
                let hex = std::str::from_utf8(&event.body).unwrap();
                let bytes: Vec<u8> = (0..64)
                    .step_by(2)
                    .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
                    .collect();
                blobs
                    .get(<[u8; 32]>::try_from(bytes).unwrap())
                    .await
                    .unwrap();
            }
        }
    }
}
