//! Backups are complete although the store is in use, and nothing but a whole backup is restored.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_store::{
    Append, BackupError, BackupLabel, BlobId, BlobStore, CreateTask, Durability, Manifest,
    NewEvent, SqliteStore, StoreFiles, StoreUpkeep as _, TaskStore as _, back_up, restore,
};
use tempfile::TempDir;

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
