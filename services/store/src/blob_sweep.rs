//! Removal of blobs that nothing uses, beside processes that write blobs.
//!
//! Every write of a content, also of one that is stored already, makes its file new again: its time of modification tells when
//! it was last wanted. Only files that are old are removed, so that a blob is spared until the events that name it are stored.
//!
//! A writer and a sweep could still cross: one finds the file, the other removes it. Writers therefore hold a shared lock of
//! the blob's folder while they look for a file and renew it, and a sweep holds it alone while it looks at the time again and
//! removes the file. The locks work across processes.

use std::fs::{self, DirEntry, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::BlobId;

/// Age from which a file is renewed when its content is written again.
// A write to the file system once a minute for a content that comes with every step, such as a screen that does not change.
pub(crate) const RENEWAL_AGE: Duration = Duration::from_secs(60);

/// File that is locked in each folder of blobs.
const LOCK_FILE: &str = ".lock";
/// File that is locked while no blob may be removed.
const SWEEP_LOCK_FILE: &str = ".sweep.lock";

/// Numbers of files that a sweep has removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovedBlobs {
    pub count: u64,
    pub bytes: u64,
}

impl RemovedBlobs {
    /// Adds what another part of the sweep has removed.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes += other.bytes;
    }
}

/// Returns the folder of the blobs with hashes that begin with this byte.
fn shard_folder(place: &Path, shard: u8) -> PathBuf {
    place.join("sha256").join(format!("{shard:02x}"))
}

pub(crate) fn path_of(place: &Path, id: BlobId) -> PathBuf {
    shard_folder(place, id.sha256()[0]).join(id.to_string())
}

/// Opens the lock of a blob's folder.
fn lock_file(place: &Path, shard: u8) -> io::Result<File> {
    open_lock(&shard_folder(place, shard), LOCK_FILE)
}

/// Opens a file to be locked. It and its folder are created if they are missing.
fn open_lock(folder: &Path, name: &str) -> io::Result<File> {
    let path = folder.join(name);
    let open = || {
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
    };
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(folder)?;
            open()
        }
        opened => opened,
    }
}

/// Keeps sweeps of this and other processes from removing any blob until the returned file is dropped. Waits for the batch of
/// a sweep that is going on.
pub(crate) fn pause(place: &Path) -> io::Result<File> {
    let file = open_lock(place, SWEEP_LOCK_FILE)?;
    file.lock_shared()?;
    Ok(file)
}

/// Keeps sweeps from removing this blob until the returned file is dropped.
pub(crate) fn hold(place: &Path, id: BlobId) -> io::Result<File> {
    let file = lock_file(place, id.sha256()[0])?;
    file.lock_shared()?;
    Ok(file)
}

/// Sets the file's time of modification to now.
pub(crate) fn renew(place: &Path, id: BlobId) -> io::Result<()> {
    File::open(path_of(place, id))?.set_modified(SystemTime::now())
}

/// Lists all blobs whose hashes begin with this byte.
pub(crate) fn blobs(place: &Path, shard: u8) -> io::Result<Vec<BlobId>> {
    let entries = match fs::read_dir(shard_folder(place, shard)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut blobs = Vec::new();
    for entry in entries {
        blobs.extend(BlobId::parse(&entry?.file_name().to_string_lossy()));
    }
    Ok(blobs)
}

/// Lists the blobs whose hashes begin with this byte and that are older than `before`. Removes what an interrupted write has
/// left behind, if it is that old.
pub(crate) fn old_blobs(place: &Path, shard: u8, before: SystemTime) -> io::Result<Vec<BlobId>> {
    let entries = match fs::read_dir(shard_folder(place, shard)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut old = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name == LOCK_FILE || !is_older(&entry, before) {
            continue;
        }
        match BlobId::parse(&name) {
            Some(id) => old.push(id),
            // The store writes a content beside its final name, as `{hash}#{number}`.
            None if name.contains('#') => fs::remove_file(entry.path())?,
            None => {}
        }
    }
    Ok(old)
}

/// A file that is gone meanwhile is not old.
fn is_older(entry: &DirEntry, before: SystemTime) -> bool {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|modified| modified < before)
}

/// Removes those of these blobs that are still older than `before`. Blobs of a folder that is written right now are left for
/// the next sweep.
pub(crate) fn remove(place: &Path, ids: &[BlobId], before: SystemTime) -> io::Result<RemovedBlobs> {
    let mut removed = RemovedBlobs::default();
    let sweeping = open_lock(place, SWEEP_LOCK_FILE)?;
    match sweeping.try_lock() {
        Ok(()) => {}
        // A backup copies the blobs.
        Err(TryLockError::WouldBlock) => return Ok(removed),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    for id in ids {
        let lock = lock_file(place, id.sha256()[0])?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => continue,
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let path = path_of(place, *id);
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        if metadata.modified()? < before {
            fs::remove_file(&path)?;
            removed.count += 1;
            removed.bytes += metadata.len();
        }
    }
    Ok(removed)
}
