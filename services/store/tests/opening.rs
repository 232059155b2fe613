//! Opening a database either succeeds or returns a specific error.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_store::{
    BlobStore, CreateTask, Durability, Error, NewEvent, SqliteStore, TaskStore as _,
};
use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

async fn open(file: &Path) -> Result<SqliteStore, Error> {
    SqliteStore::open(file, Durability::Normal).await
}

/// Runs a statement on the file, bypassing the store.
async fn tamper(file: &Path, statement: &'static str) {
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query(statement)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
}

fn task(segment: &str, size: usize) -> CreateTask {
    let now = SystemTime::UNIX_EPOCH;
    CreateTask {
        name: TaskName::from_segment(segment).unwrap(),
        uid: segment.to_owned(),
        tenant: "default".to_owned(),
        session: None,
        state: 1,
        priority: 0,
        run_after: None,
        labels: [].into(),
        snapshot: Bytes::from(vec![1; size]),
        first_event: NewEvent {
            at: now,
            kind: "created",
            body: Bytes::new(),
        },
        request: None,
        now,
    }
}

#[tokio::test]
async fn stored_tasks_survive_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new/folder/motorium.db");
    let store = open(&file).await.unwrap();
    let created = store.create_task(task("a", 10)).await.unwrap().task;
    let generation = store.generation().to_owned();
    store.close().await;

    let store = open(&file).await.unwrap();
    assert_eq!(store.get_task(&created.name).await.unwrap(), created);
    assert_eq!(
        store
            .events(&created.name, EventSeq(0), 9)
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(store.generation(), generation);
}

/// Creates tasks, which are fewer than the writes between two checkpoints, and waits until the log is moved into the database.
async fn check_log_is_moved(tasks: impl Iterator<Item = CreateTask>) {
    const MOVED_BYTES: u64 = 8 << 20;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let store = open(&file).await.unwrap();
    for task in tasks {
        store.create_task(task).await.unwrap();
    }
    let is_moved = async {
        while fs::metadata(&file).unwrap().len() < MOVED_BYTES {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let moved = tokio::time::timeout(Duration::from_secs(30), is_moved).await;
    moved.expect("the log grows with the creations of tasks");
    store.close().await;
}

#[tokio::test]
async fn the_log_of_large_creations_is_moved_into_the_database() {
    check_log_is_moved((0..33).map(|number| task(&format!("t{number}"), 8 << 20))).await;
}

#[tokio::test]
async fn the_log_of_many_labels_is_moved_into_the_database() {
    let label = |number: usize| (format!("{number:0256}"), "v".repeat(256));
    let labelled = |number: usize| CreateTask {
        labels: (0..100).map(label).collect(),
        ..task(&format!("t{number}"), 0)
    };
    check_log_is_moved((0..170).map(labelled)).await;
}

fn log_of(database: &Path) -> u64 {
    let log = database.with_extension("db-wal");
    fs::metadata(log).map_or(0, |log| log.len())
}

/// Bytes of a task of the tests of the log's limit, and the limit with one such write.
const TASK_BYTES: usize = 8 << 20;
const MAX_LOG: u64 = (256 << 20) + 2 * TASK_BYTES as u64;

#[tokio::test]
async fn the_log_of_writes_without_a_pause_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let store = open(&file).await.unwrap();
    let mut longest = 0;
    // Eight callers, so that the next write waits already when one ends.
    for round in 0..8 {
        let creations =
            (0..8).map(|number| store.create_task(task(&format!("t{round}-{number}"), TASK_BYTES)));
        for created in futures::future::join_all(creations).await {
            created.unwrap();
        }
        longest = longest.max(log_of(&file));
    }
    assert!(longest <= MAX_LOG, "the log has {} MiB", longest >> 20);
    store.close().await;
}

#[tokio::test]
async fn a_reader_that_keeps_the_log_does_not_let_it_grow_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let store = open(&file).await.unwrap();
    let options = SqliteConnectOptions::new().filename(&file);
    let mut reader = SqliteConnection::connect_with(&options).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("SELECT count(*) FROM task")
        .fetch_one(&mut *reading)
        .await
        .unwrap();
    // Twice what the log may have.
    let mut refused = None;
    for number in 0..128 {
        let created = store
            .create_task(task(&format!("t{number}"), TASK_BYTES))
            .await;
        if let Err(error) = created {
            refused = Some((number, error));
            break;
        }
    }
    let (number, refused) = refused.expect("a write beyond the limit");
    assert!(matches!(refused, Error::Busy { .. }), "{refused}");
    assert!(log_of(&file) <= 2 * MAX_LOG, "{number} tasks");
    reading.rollback().await.unwrap();
    store.create_task(task("again", TASK_BYTES)).await.unwrap();
    assert!(log_of(&file) <= MAX_LOG, "the log is emptied");
    store.close().await;
}

#[tokio::test]
async fn two_stores_can_share_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let (one, two) = (open(&file).await.unwrap(), open(&file).await.unwrap());
    for number in 0..20 {
        let (one, two) = tokio::join!(
            one.create_task(task(&format!("one-{number}"), 10)),
            two.create_task(task(&format!("two-{number}"), 10)),
        );
        one.unwrap();
        two.unwrap();
    }
    assert!(
        two.get_task(&TaskName::from_segment("one-19").unwrap())
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn a_restored_store_gets_another_generation() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let mut store = open(&file).await.unwrap();
    let before = store.generation().to_owned();
    store.renew_generation().await.unwrap();
    assert_ne!(store.generation(), before);
    let renewed = store.generation().to_owned();
    store.close().await;
    assert_eq!(open(&file).await.unwrap().generation(), renewed);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = open(&file.join("motorium.db")).await.unwrap_err();
    assert!(matches!(error, Error::Unwritable { .. }), "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("cannot be written") && text.contains(file.to_str().unwrap()),
        "{text}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let error = open(folder.path()).await.unwrap_err();
    assert!(matches!(error, Error::Unwritable { .. }), "{error:?}");
}

#[tokio::test]
async fn non_database_file_is_reported_as_corrupt() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    fs::write(
        &file,
        "This is a letter to my aunt, not a database. ".repeat(100),
    )
    .unwrap();
    let error = open(&file).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert!(
        error.to_string().contains("restore it from a backup"),
        "{error}"
    );
}

#[tokio::test]
async fn a_damaged_database() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let store = open(&file).await.unwrap();
    for number in 0..50 {
        store
            .create_task(task(&format!("t{number}"), 2000))
            .await
            .unwrap();
    }
    store.close().await;
    let mut content = fs::read(&file).unwrap();
    let length = content.len();
    // The first page is kept, so that the file is still recognised as a database.
    content[4096..length].fill(0xA5);
    fs::write(&file, content).unwrap();
    let error = match open(&file).await {
        Err(error) => error,
        Ok(store) => store
            .get_task(&TaskName::from_segment("t7").unwrap())
            .await
            .unwrap_err(),
    };
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
}

#[tokio::test]
async fn newer_database_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    open(&file).await.unwrap().close().await;
    tamper(
        &file,
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'from the future', TRUE, x'00', 0)",
    )
    .await;
    let error = open(&file).await.unwrap_err();
    assert!(
        matches!(error, Error::TooNew { found: 9999, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("newer version"), "{error}");
}

/// Environment variable with the small disk of [`on_a_full_disk`].
const DISK: &str = "STORE_TEST_DISK";

/// Mounts a small file system in memory that only a child process sees, so that nothing is left behind.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mounted =
        "mount -t tmpfs -o size=4m tmpfs \"$STORE_TEST_DISK\" || exit 77; exec \"$0\" \"$@\"";
    let child = std::process::Command::new("unshare")
        .args(["--mount", "sh", "-c", mounted])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "on_a_full_disk", "--ignored", "--nocapture"])
        .env(DISK, folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&child.stderr);
    if child.status.code() == Some(77) || stderr.contains("Operation not permitted") {
        eprintln!("skipped: this user may not mount a file system");
        return;
    }
    assert!(
        child.status.success(),
        "{stderr}{}",
        String::from_utf8_lossy(&child.stdout)
    );
}

#[tokio::test]
#[ignore = "run by a_full_disk, which gives it a small disk"]
async fn on_a_full_disk() {
    let disk = std::env::var_os(DISK).expect("a small disk");
    let disk = Path::new(&disk);
    let store = open(&disk.join("motorium.db")).await.unwrap();
    let mut kept = 0;
    let error = loop {
        match store.create_task(task(&format!("t{kept}"), 100_000)).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
    assert!(kept > 0);
    for number in 0..kept {
        store
            .get_task(&TaskName::from_segment(&format!("t{number}")).unwrap())
            .await
            .unwrap();
    }
    let error = match BlobStore::folder(&disk.join("blobs"), Durability::Normal) {
        Ok(blobs) => blobs.put(Bytes::from(vec![7; 8 << 20])).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Full { .. }), "{error:?}");
}

#[tokio::test]
async fn addresses() {
    let folder = tempfile::tempdir().unwrap();
    let uri = format!("sqlite://{}/motorium.db", folder.path().display());
    motorium_store::open(&uri, Durability::Full).await.unwrap();
    for uri in [
        "",
        "motorium.db",
        "mongodb://me:p@localhost/motorium",
        "sqlite:relative",
    ] {
        let Err(error) = motorium_store::open(uri, Durability::Normal).await else {
            panic!("{uri} was opened")
        };
        assert!(
            error.to_string().contains("sqlite:///folder/file"),
            "{error}"
        );
    }
}

/// A folder that is read-only until this is dropped: by a mount as root, whom permissions do not stop, or else by permissions.
#[cfg(target_os = "linux")]
struct ReadOnly<'a>(&'a Path);

#[cfg(target_os = "linux")]
impl<'a> ReadOnly<'a> {
    fn new(folder: &'a Path) -> Self {
        match rustix::process::geteuid().is_root() {
            true => {
                run("mount", &["--bind".as_ref(), folder, folder]);
                run(
                    "mount",
                    &["-o".as_ref(), "remount,bind,ro".as_ref(), folder],
                );
            }
            false => permit(folder, 0o555),
        }
        Self(folder)
    }
}

#[cfg(target_os = "linux")]
impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        match rustix::process::geteuid().is_root() {
            true => run("umount", &["--lazy".as_ref(), self.0]),
            false => permit(self.0, 0o755),
        }
    }
}

#[cfg(target_os = "linux")]
fn run(program: &str, arguments: &[&Path]) {
    let status = std::process::Command::new(program).args(arguments).status();
    assert!(status.unwrap().success(), "{program} {arguments:?}");
}

#[cfg(target_os = "linux")]
fn permit(folder: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;

    let file = folder.join("motorium.db");
    for path in [folder, &file] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_disk_that_becomes_read_only_is_noticed_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("motorium.db");
    let store = open(&file).await.unwrap();
    let created = store.create_task(task("a", 10)).await.unwrap().task;
    store.check().await.unwrap();
    {
        let _read_only = ReadOnly::new(folder.path());
        let error = store.check().await.unwrap_err();
        assert!(matches!(error, Error::Unwritable { .. }), "{error:?}");
        assert!(error.to_string().contains("motorium.db"), "{error}");
        assert!(matches!(open(&file).await, Err(Error::Unwritable { .. })));
        // What was stored can still be read.
        assert_eq!(store.get_task(&created.name).await.unwrap(), created);
    }
    store.check().await.unwrap();
    store.create_task(task("b", 10)).await.unwrap();
    assert_eq!(store.get_task(&created.name).await.unwrap(), created);
}
