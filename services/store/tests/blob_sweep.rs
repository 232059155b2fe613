//! Blobs are removed beside writers of the same content, in this process and in others.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_store::{BlobId, BlobStore, Durability};

const HOUR: Duration = Duration::from_secs(3600);

fn open(folder: &Path) -> BlobStore {
    BlobStore::folder(folder, Durability::Normal).unwrap()
}

fn set_age(folder: &Path, id: BlobId, age: Duration) {
    let hex = id.to_string();
    let path = folder.join("sha256").join(&hex[..2]).join(&hex);
    let file = File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

/// Removes every blob that is older than an hour and not in use: none is.
async fn sweep(store: &BlobStore) -> u64 {
    let before = SystemTime::now() - HOUR;
    let mut removed = 0;
    for shard in 0..=u8::MAX {
        let old = store.old_blobs(shard, before).await.unwrap();
        removed += store.remove_unused(old, before).await.unwrap().count;
    }
    removed
}

#[tokio::test]
async fn only_old_blobs_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let old = store.put(Bytes::from_static(b"old")).await.unwrap();
    let renewed = store.put(Bytes::from_static(b"renewed")).await.unwrap();
    let stored_again = store.put(Bytes::from_static(b"again")).await.unwrap();
    let new = store.put(Bytes::from_static(b"new")).await.unwrap();
    for id in [old, renewed, stored_again] {
        set_age(folder.path(), id, 2 * HOUR);
    }
    store.renew(renewed).await.unwrap();
    store.put(Bytes::from_static(b"again")).await.unwrap();
    assert_eq!(sweep(&store).await, 1);
    assert!(store.get(old).await.is_err());
    for id in [renewed, stored_again, new] {
        store.get(id).await.unwrap();
    }
    assert!(store.renew(old).await.is_err());
    let again = store.put(Bytes::from_static(b"old")).await.unwrap();
    assert_eq!(store.get(again).await.unwrap(), "old");
}

#[tokio::test]
async fn a_file_of_an_interrupted_write_is_removed_once_it_is_old() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let id = store.put(Bytes::from_static(b"x")).await.unwrap();
    let hex = id.to_string();
    let shard = folder.path().join("sha256").join(&hex[..2]);
    let left = |number: u32| shard.join(format!("{hex}#{number}"));
    for (number, age) in [(1, Duration::ZERO), (2, 2 * HOUR)] {
        std::fs::write(left(number), "half").unwrap();
        let file = File::options().write(true).open(left(number)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    sweep(&store).await;
    assert!(left(1).exists() && !left(2).exists());
    store.get(id).await.unwrap();
}

/// Writers store contents that are all there and old, while another process sweeps. Whatever a writer was told is stored is
/// there afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_content_that_is_stored_while_its_blob_is_swept_is_there() {
    const CONTENTS: u32 = 150;
    let folder = tempfile::tempdir().unwrap();
    let content = |number: u32| Bytes::from(format!("content {number}"));
    let (writing, sweeping) = (open(folder.path()), open(folder.path()));
    let mut removed = 0;
    for round in 0..8 {
        for number in 0..CONTENTS {
            let id = writing.put(content(number)).await.unwrap();
            set_age(folder.path(), id, 2 * HOUR);
        }
        let done = Arc::new(AtomicBool::new(false));
        let sweeps = tokio::spawn({
            let (store, done) = (sweeping.clone(), Arc::clone(&done));
            async move {
                let mut removed = 0;
                while !done.load(Ordering::SeqCst) {
                    removed += sweep(&store).await;
                }
                removed
            }
        });
        let writers = (0..3).map(|writer| {
            let store = writing.clone();
            tokio::spawn(async move {
                for number in (writer..CONTENTS).step_by(3) {
                    let id = store.put(content(number)).await.unwrap();
                    let there = store.get(id).await.unwrap();
                    assert_eq!(there, content(number), "round {round}");
                }
            })
        });
        for writer in writers.collect::<Vec<_>>() {
            writer.await.unwrap();
        }
        done.store(true, Ordering::SeqCst);
        removed += sweeps.await.unwrap();
        for number in 0..CONTENTS {
            writing.get(BlobId::of(&content(number))).await.unwrap();
        }
    }
    // Otherwise the two have not met.
    assert!(removed > 0);
}
