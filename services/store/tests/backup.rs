//! Backups are complete although the store is in use, and nothing but a whole backup is restored.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_store::{
    Append, BackupError, BackupLabel, BlobId, BlobStore, CreateTask, Durability, Manifest,
    NewEvent, SqliteStore, StoreFiles, StoreUpkeep as _, TaskStore as _, back_up, restore,
};
use tempfile::TempDir;
use tokio::time::Instant;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn files(data: &Path) -> StoreFiles {
    StoreFiles {
        database: data.join("tasks.db"),
        blobs: data.join("blobs"),
    }
}

fn name() -> TaskName {
    TaskName::from_segment("a").unwrap()
}

fn event(body: &BlobId) -> NewEvent {
    NewEvent {
        at: SystemTime::now(),
        kind: "happened",
        body: body.to_string().into(),
    }
}

fn append(blob: &BlobId) -> Append {
    Append {
        name: name(),
        epoch: None,
        expected_seq: None,
        events: vec![event(blob)],
        notes: None,
        view: None,
        request: None,
        lease: None,
        now: SystemTime::now(),
    }
}

async fn open(data: &Path) -> (SqliteStore, BlobStore) {
    let StoreFiles { database, blobs } = files(data);
    let store = SqliteStore::open(&database, Durability::Normal)
        .await
        .unwrap();
    (
        store,
        BlobStore::folder(&blobs, Durability::Normal).unwrap(),
    )
}

/// Opens a new store with a task whose events name blobs.
async fn filled(data: &Path) -> (SqliteStore, BlobStore) {
    let (store, blobs) = open(data).await;
    let first = blobs.put(Bytes::from_static(b"first")).await.unwrap();
    let task = CreateTask {
        name: name(),
        uid: "u".to_owned(),
        session: None,
        state: 1,
        priority: 0,
        run_after: None,
        labels: Default::default(),
        tenant: "default".to_owned(),
        snapshot: Bytes::new(),
        first_event: event(&first),
        request: None,
        now: SystemTime::now(),
    };
    store.create_task(task).await.unwrap();
    let second = blobs.put(Bytes::from_static(b"second")).await.unwrap();
    store.append(append(&second)).await.unwrap();
    (store, blobs)
}

async fn backed_up(data: &Path, target: &Path) -> Result<Manifest, BackupError> {
    let label = BackupLabel {
        version: "1.2.3".to_owned(),
        created: "now".to_owned(),
    };
    back_up(files(data), target, label).await
}

/// Returns every file below a folder.
fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(all_files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

/// Asserts that every blob that the events of the task name is there, and returns the number of events.
async fn check_complete(data: &Path) -> usize {
    let (store, blobs) = open(data).await;
    let events = store.events(&name(), EventSeq(0), 100_000).await.unwrap();
    for event in &events {
        let id = BlobId::parse(std::str::from_utf8(&event.body).unwrap()).unwrap();
        blobs.get(id).await.unwrap();
    }
    events.len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_writers_has_every_blob_that_its_events_name() {
    let (data, target, other) = (folder(), folder(), folder());
    let (store, blobs) = filled(data.path()).await;
    let done = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (done, store) = (Arc::clone(&done), store.clone());
        async move {
            let mut number = 0;
            while !done.load(Ordering::SeqCst) {
                number += 1;
                let blob = blobs.put(Bytes::from(format!("content {number}"))).await;
                store.append(append(&blob.unwrap())).await.unwrap();
            }
            number
        }
    });
    while store.get_task(&name()).await.unwrap().last_seq < EventSeq(50) {
        tokio::task::yield_now().await;
    }
    let manifest = backed_up(data.path(), target.path()).await.unwrap();
    done.store(true, Ordering::SeqCst);
    let written = writer.await.unwrap();
    assert!(
        manifest.blobs >= 50 && manifest.damaged_blobs == 0,
        "{manifest:?}"
    );
    restore(target.path(), files(other.path()), false)
        .await
        .unwrap();
    let restored = check_complete(other.path()).await;
    assert!(
        (50..=written + 2).contains(&restored),
        "{restored} of {written}"
    );
}

#[tokio::test]
async fn a_restored_store_is_a_copy_with_a_new_generation_until_it_is_settled() {
    let (data, target, other) = (folder(), folder(), folder());
    let (store, _blobs) = filled(data.path()).await;
    backed_up(data.path(), target.path()).await.unwrap();
    assert!(!store.is_copy().await.unwrap(), "the original is none");
    restore(target.path(), files(other.path()), false)
        .await
        .unwrap();
    let (copy, _) = open(other.path()).await;
    assert!(copy.is_copy().await.unwrap());
    assert_ne!(copy.generation(), store.generation());
    let (again, _) = open(other.path()).await;
    assert_eq!(again.generation(), copy.generation(), "once only");
    copy.copy_settled().await.unwrap();
    assert!(!again.is_copy().await.unwrap());

    // The file alone, copied by hand, is one as well.
    let by_hand = folder();
    fs::copy(
        target.path().join("tasks.db"),
        by_hand.path().join("tasks.db"),
    )
    .unwrap();
    let (copy, _) = open(by_hand.path()).await;
    assert!(copy.is_copy().await.unwrap());
}

#[tokio::test]
async fn one_wrong_byte_anywhere_is_noticed_before_anything_is_changed() {
    let (data, target) = (folder(), folder());
    let _store = filled(data.path()).await;
    backed_up(data.path(), target.path()).await.unwrap();
    let backup = all_files(target.path());
    assert!(backup.len() >= 5, "{backup:?}");
    for file in backup {
        let intact = fs::read(&file).unwrap();
        let mut damaged = intact.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 1;
        for content in [Some(damaged), Some(intact[..middle].to_vec()), None] {
            match content {
                Some(content) => fs::write(&file, content).unwrap(),
                None => fs::remove_file(&file).unwrap(),
            }
            let other = folder();
            let refused = restore(target.path(), files(other.path()), false).await;
            assert!(
                matches!(
                    &refused,
                    Err(BackupError::Damaged { .. } | BackupError::NoBackup { .. })
                ),
                "{}: {refused:?}",
                file.display()
            );
            assert!(!other.path().join("tasks.db").exists());
            assert!(!other.path().join("blobs").exists());
        }
        fs::write(&file, intact).unwrap();
    }
    let other = folder();
    restore(target.path(), files(other.path()), false)
        .await
        .unwrap();
    assert_eq!(check_complete(other.path()).await, 2);
}

#[tokio::test]
async fn a_store_is_replaced_only_on_request_and_never_while_it_is_in_use() {
    let (data, target, other) = (folder(), folder(), folder());
    let store = filled(data.path()).await;
    backed_up(data.path(), target.path()).await.unwrap();
    let refused = restore(target.path(), files(data.path()), true).await;
    assert!(
        matches!(&refused, Err(BackupError::InUse { .. })),
        "{refused:?}"
    );
    assert_eq!(check_complete(data.path()).await, 2);
    drop(store);

    let _ = filled(other.path()).await;
    let refused = restore(target.path(), files(other.path()), false).await;
    assert!(
        matches!(&refused, Err(BackupError::TargetNotEmpty { .. })),
        "{refused:?}"
    );
    let restored = restore(target.path(), files(other.path()), true)
        .await
        .unwrap();
    assert_eq!(check_complete(other.path()).await, 2);
    let replaced = restored.replaced.unwrap();
    assert!(replaced.join("tasks.db").is_file() && replaced.join("blobs").is_dir());
}

#[tokio::test]
async fn a_backup_needs_an_empty_folder_and_a_store() {
    let (data, target) = (folder(), folder());
    let _store = filled(data.path()).await;
    fs::write(target.path().join("letter.txt"), "mine").unwrap();
    let refused = backed_up(data.path(), target.path()).await;
    assert!(
        matches!(&refused, Err(BackupError::FolderNotEmpty { .. })),
        "{refused:?}"
    );
    let (nothing, target) = (folder(), folder());
    assert!(backed_up(nothing.path(), target.path()).await.is_err());
    assert!(!nothing.path().join("tasks.db").exists(), "none is created");
}

#[tokio::test]
async fn no_blob_is_removed_while_a_backup_is_made_and_a_damaged_one_is_left_out() {
    let (data, target) = (folder(), folder());
    let (_store, blobs) = filled(data.path()).await;
    let id = BlobId::of(b"first").to_string();
    let path = data.path().join("blobs/sha256").join(&id[..2]).join(&id);
    fs::write(&path, "wrong").unwrap();
    let manifest = backed_up(data.path(), target.path()).await.unwrap();
    assert_eq!((manifest.blobs, manifest.damaged_blobs), (1, 1));
    // What the lock is for: as long as any process has it, a sweep removes nothing.
    let lock = fs::File::create(data.path().join("blobs/.sweep.lock")).unwrap();
    lock.lock_shared().unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let all = vec![BlobId::of(b"first")];
    let sweep = || blobs.remove_unused(all.clone(), SystemTime::now());
    assert_eq!(sweep().await.unwrap().count, 0);
    drop(lock);
    assert_eq!(sweep().await.unwrap().count, 1);
}

/// Environment variables of the child process: a backup, and the data folder to which it restores it.
const BACKUP: &str = "STORE_TEST_BACKUP";
const DATA: &str = "STORE_TEST_DATA";
const EVENTS_OF_OLD: usize = 7;

#[tokio::test]
#[ignore = "run by tests that interrupt it"]
#[expect(clippy::print_stdout, reason = "tells the test that it has begun")]
async fn child_that_replaces_a_store() {
    let of = |name| PathBuf::from(std::env::var_os(name).expect("a folder"));
    println!("begun");
    restore(&of(BACKUP), files(&of(DATA)), true).await.unwrap();
}

/// Returns the child process, started by a shell after these commands.
fn restoring(backup: &Path, data: &Path, before: &str) -> Command {
    let program = std::env::current_exe().unwrap();
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{before}\nexec \"$0\" \"$@\"")])
        .arg(program)
        .args([
            "--exact",
            "child_that_replaces_a_store",
            "--ignored",
            "--nocapture",
        ])
        .env(BACKUP, backup)
        .env(DATA, data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    shell
}

/// Makes a backup of a store with many blobs.
async fn large_backup() -> TempDir {
    let (data, target) = (folder(), folder());
    let (store, blobs) = filled(data.path()).await;
    for number in 0..40_u32 {
        let blob = blobs
            .put(Bytes::from(number.to_string().repeat(2000)))
            .await;
        store.append(append(&blob.unwrap())).await.unwrap();
    }
    backed_up(data.path(), target.path()).await.unwrap();
    target
}

/// Makes a store that was ended without being closed, so that its last events are in its log only.
async fn store_with_a_log() -> TempDir {
    let (data, copy) = (folder(), folder());
    let (store, blobs) = filled(data.path()).await;
    for number in 2..EVENTS_OF_OLD {
        let blob = blobs.put(Bytes::from(format!("old {number}"))).await;
        store.append(append(&blob.unwrap())).await.unwrap();
    }
    copy_all(data.path(), copy.path());
    assert!(copy.path().join("tasks.db-wal").metadata().unwrap().len() > 0);
    copy
}

fn copy_all(from: &Path, to: &Path) {
    for file in all_files(from) {
        let place = to.join(file.strip_prefix(from).unwrap());
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(&file, place).unwrap();
    }
}

#[tokio::test]
async fn a_disk_that_fills_up_at_any_moment_leaves_the_store_as_it_was() {
    let (backup, old) = (large_backup().await, store_with_a_log().await);
    let mut failed = 0;
    // Limits of the size of a file, in blocks of 512 bytes: the blobs are larger than the first ones, the database than the
    // others.
    for blocks in [1, 4, 8, 16, 64, 128, 1 << 20] {
        let data = folder();
        copy_all(old.path(), data.path());
        let limit = format!("trap '' XFSZ\nulimit -f {blocks}");
        let status = restoring(backup.path(), data.path(), &limit).status();
        let expected = match status.unwrap().success() {
            true => 42,
            false => EVENTS_OF_OLD,
        };
        failed += usize::from(expected == EVENTS_OF_OLD);
        assert_eq!(check_complete(data.path()).await, expected, "{blocks}");
        let left = fs::read_dir(data.path()).unwrap();
        let left = left.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".incomplete")
        });
        assert_eq!(left.count(), 0, "what takes up space is removed");
    }
    assert!((4..7).contains(&failed), "{failed} of 7 failed");
}

#[tokio::test]
async fn a_restoration_that_is_killed_at_any_moment_leaves_one_whole_store() {
    // Parts of a whole restoration between two moments, and moments at most: how long one takes differs from time to time.
    const PARTS: u32 = 12;
    const MAX_KILLS: u32 = 10 * PARTS;

    let (backup, old) = (large_backup().await, store_with_a_log().await);
    let replaced_within = async |time: Option<Duration>| {
        let data = folder();
        copy_all(old.path(), data.path());
        let mut child = restoring(backup.path(), data.path(), ":").spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(lines.any(|line| line.contains("begun")));
        let begun = Instant::now();
        if let Some(time) = time {
            tokio::time::sleep(time).await;
            child.kill().unwrap();
        }
        child.wait().unwrap();
        (data, begun.elapsed())
    };
    let (_, first) = replaced_within(None).await;
    let (_, second) = replaced_within(None).await;
    let step = first.min(second) / PARTS;
    let (mut kept, mut restored, mut kill) = (0, 0, 0);
    while restored < 2 && kill < MAX_KILLS {
        let (data, _) = replaced_within(Some(step * kill)).await;
        match check_complete(data.path()).await {
            EVENTS_OF_OLD => kept += 1,
            42 => restored += 1,
            found => panic!("{found} events after kill {kill}"),
        }
        // What was interrupted is no obstacle.
        let again = restore(backup.path(), files(data.path()), true).await;
        again.unwrap();
        assert_eq!(check_complete(data.path()).await, 42, "after kill {kill}");
        kill += 1;
    }
    assert!(kept > 3 && restored > 1, "{kept} kept, {restored} restored");
}

#[tokio::test]
async fn the_log_of_another_database_is_not_applied_to_the_restored_one() {
    let (backup, old) = (large_backup().await, store_with_a_log().await);
    for ending in ["-wal", "-shm", "-journal"] {
        let data = folder();
        let stale = data.path().join(format!("tasks.db{ending}"));
        fs::copy(old.path().join("tasks.db-wal"), stale).unwrap();
        restore(backup.path(), files(data.path()), false)
            .await
            .unwrap();
        assert_eq!(check_complete(data.path()).await, 42, "{ending}");
    }
}

#[tokio::test]
async fn the_replaced_store_has_what_was_in_its_log() {
    let (backup, old) = (large_backup().await, store_with_a_log().await);
    let restored = restore(backup.path(), files(old.path()), true).await;
    let replaced = restored.unwrap().replaced.unwrap();
    assert_eq!(check_complete(old.path()).await, 42);
    assert_eq!(check_complete(&replaced).await, EVENTS_OF_OLD);
}

#[tokio::test]
async fn a_damaged_store_is_replaced_and_kept_as_it_was() {
    let (backup, old) = (large_backup().await, store_with_a_log().await);
    fs::write(old.path().join("tasks.db"), "no database").unwrap();
    // Otherwise its pages would be restored from its log.
    fs::remove_file(old.path().join("tasks.db-wal")).unwrap();
    let restored = restore(backup.path(), files(old.path()), true).await;
    let replaced = restored.unwrap().replaced.unwrap();
    assert_eq!(check_complete(old.path()).await, 42);
    let kept = fs::read(replaced.join("tasks.db")).unwrap();
    assert_eq!(kept, b"no database");
}

#[cfg(unix)]
#[tokio::test]
async fn a_backup_in_a_folder_that_others_can_read_is_for_this_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let (data, target, other) = (folder(), folder(), folder());
    let _store = filled(data.path()).await;
    for open in [target.path(), other.path()] {
        fs::set_permissions(open, fs::Permissions::from_mode(0o755)).unwrap();
    }
    backed_up(data.path(), target.path()).await.unwrap();
    restore(target.path(), files(other.path()), false)
        .await
        .unwrap();
    let (_copy, _) = open(other.path()).await;
    for folder in [target.path(), other.path()] {
        for file in all_files(folder) {
            let others = fs::metadata(&file).unwrap().permissions().mode() & 0o077;
            // Locks have no content.
            let is_lock = file.to_string_lossy().ends_with(".lock");
            assert!(others == 0 || is_lock, "{}: {others:o}", file.display());
        }
        let blobs = fs::metadata(folder.join("blobs")).unwrap();
        assert_eq!(blobs.permissions().mode() & 0o777, 0o700);
    }
}
