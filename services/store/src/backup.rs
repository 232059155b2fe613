//! Backups of a SQLite store with its blobs, and their restoration.
//!
//! A backup is a folder: a snapshot of the database, the blobs, a list of the blobs, and a manifest with checksums, which is
//! written last. It is made while tasks run: the snapshot is one transaction, blobs never change, and none is removed
//! meanwhile. Blobs that are newer than the snapshot are harmless.
//!
//! The snapshot is marked as a copy. Whatever opens it gives it a new generation and finds out what the tasks in it may have
//! done since ([`StoreUpkeep::is_copy`](crate::StoreUpkeep::is_copy)), however the file came to its place.
//!
//! Not for PostgreSQL, which has tools of its own. Not encrypted: a backup has what the store has.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::{BlobId, Error, blob_sweep, folder, sqlite};

/// Version of the format of backups.
const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";
const DATABASE: &str = "tasks.db";
const BLOBS: &str = "blobs";
/// One line for each blob: its hash and its size.
const BLOB_LIST: &str = "blobs.txt";
/// Size of the pieces in which files are read. Large enough that the number of calls does not matter.
const PIECE_BYTES: usize = 1 << 18;

/// The reason why a backup or a restoration failed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} is not empty; give a new folder", path.display())]
    FolderNotEmpty { path: PathBuf },
    #[error("{} is no backup, or one that was interrupted: {MANIFEST} is missing", path.display())]
    NoBackup { path: PathBuf },
    #[error("the backup is damaged: {} {problem}; nothing was restored", path.display())]
    Damaged { path: PathBuf, problem: String },
    #[error(
        "the backup has the format {found}, and this version of Motorium reads {FORMAT}; use a newer version"
    )]
    UnknownFormat { found: u32 },
    #[error("{} is in use; stop the services that use it first", path.display())]
    InUse { path: PathBuf },
    #[error("{} has tasks already; restore into a new data folder, or add --force to move them aside", path.display())]
    TargetNotEmpty { path: PathBuf },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] Error),
}

/// The files of a SQLite store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFiles {
    pub database: PathBuf,
    /// Folder of the blobs.
    pub blobs: PathBuf,
}

/// Describes a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// Version of Motorium that made the backup.
    pub version: String,
    /// Time at which the backup began, for people.
    pub created: String,
    database: FileSum,
    blob_list: FileSum,
    /// Number of blobs.
    pub blobs: u64,
    /// Size of all blobs together.
    pub blob_bytes: u64,
    /// Number of blobs that were left out, because they were damaged in the store.
    pub damaged_blobs: u64,
    /// SHA-256 of the manifest with an empty checksum.
    checksum: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileSum {
    sha256: String,
    bytes: u64,
}

impl Manifest {
    fn sum(&self) -> String {
        let unsigned = Self {
            checksum: String::new(),
            ..self.clone()
        };
        let text = serde_json::to_vec(&unsigned).unwrap_or_default();
        BlobId::of(&text).to_string()
    }
}

/// A version and a time that a backup names.
#[derive(Debug, Clone)]
pub struct BackupLabel {
    pub version: String,
    pub created: String,
}

/// Makes a backup of a store, which may be in use, in a new or empty folder.
///
/// # Errors
/// `FolderNotEmpty`, or if a file cannot be read or written. What was written so far is left and is no backup.
pub async fn back_up(
    store: StoreFiles,
    target: &Path,
    label: BackupLabel,
) -> Result<Manifest, BackupError> {
    if is_occupied(target)? {
        return Err(BackupError::FolderNotEmpty {
            path: target.to_owned(),
        });
    }
    folder::prepare(target)?;
    let sweeps = blob_sweep::pause(&store.blobs).map_err(at(&store.blobs))?;
    sqlite::snapshot(&store.database, &target.join(DATABASE)).await?;
    let target = target.to_owned();
    let copied = tokio::task::spawn_blocking(move || {
        let _sweeps = sweeps;
        copy_blobs_and_describe(&store.blobs, &target, label)
    });
    copied
        .await
        .unwrap_or_else(|error| Err(Error::Failed(Box::new(error)).into()))
}

fn copy_blobs_and_describe(
    blobs: &Path,
    target: &Path,
    label: BackupLabel,
) -> Result<Manifest, BackupError> {
    let mut manifest = Manifest {
        format: FORMAT,
        version: label.version,
        created: label.created,
        database: sum_of(&target.join(DATABASE))?,
        blob_list: FileSum {
            sha256: String::new(),
            bytes: 0,
        },
        blobs: 0,
        blob_bytes: 0,
        damaged_blobs: 0,
        checksum: String::new(),
    };
    let mut list = String::new();
    for id in all_blobs(blobs)? {
        let copy = blob_sweep::path_of(&target.join(BLOBS), id);
        let sum = copy_file(&blob_sweep::path_of(blobs, id), &copy)?;
        if sum.sha256 != id.to_string() {
            fs::remove_file(&copy).map_err(at(&copy))?;
            manifest.damaged_blobs += 1;
            continue;
        }
        manifest.blobs += 1;
        manifest.blob_bytes += sum.bytes;
        list += &format!("{id} {}\n", sum.bytes);
    }
    write_synced(&target.join(BLOB_LIST), list.as_bytes())?;
    manifest.blob_list = sum_of(&target.join(BLOB_LIST))?;
    manifest.checksum = manifest.sum();
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| Error::Failed(error.into()))?;
    write_synced(&target.join(MANIFEST), &text)?;
    Ok(manifest)
}

/// Outcome of a restoration.
#[derive(Debug, Clone)]
pub struct Restored {
    pub manifest: Manifest,
    /// Folder to which the store was moved that was there before.
    pub replaced: Option<PathBuf>,
}

/// Restores a backup to the places of a store. A store that is there is moved aside if `replace`. The whole backup is checked
/// before anything is changed.
///
/// # Errors
/// `NoBackup`, `Damaged` or `UnknownFormat` for the backup; `InUse` or `TargetNotEmpty` for the places; or if a file cannot be
/// read or written.
pub async fn restore(
    backup: &Path,
    store: StoreFiles,
    replace: bool,
) -> Result<Restored, BackupError> {
    let backup = backup.to_owned();
    let restored = tokio::task::spawn_blocking(move || restore_now(&backup, &store, replace));
    restored
        .await
        .unwrap_or_else(|error| Err(Error::Failed(Box::new(error)).into()))
}

fn restore_now(backup: &Path, store: &StoreFiles, replace: bool) -> Result<Restored, BackupError> {
    let (manifest, blobs) = check(backup)?;
    let parent = store.database.parent().unwrap_or(Path::new("/"));
    folder::prepare(parent)?;
    let _lock = sqlite::lock_alone(&store.database)
        .map_err(at(&store.database))?
        .ok_or_else(|| BackupError::InUse {
            path: store.database.clone(),
        })?;
    let is_empty = !store.database.exists() && !is_occupied(&store.blobs)?;
    let replaced = match (is_empty, replace) {
        (true, _) => None,
        (false, false) => {
            return Err(BackupError::TargetNotEmpty {
                path: parent.to_owned(),
            });
        }
        (false, true) => Some(move_aside(store, parent)?),
    };
    for id in blobs {
        let from = blob_sweep::path_of(&backup.join(BLOBS), id);
        checked(&from, &id.to_string(), |sum| {
            copy_file(&from, &blob_sweep::path_of(&store.blobs, id)).map(|copied| *sum = copied)
        })?;
    }
    // Last, and under its name only when it is complete: without a database there is no store.
    let from = backup.join(DATABASE);
    let incomplete = parent.join(format!("{DATABASE}.incomplete"));
    checked(&from, &manifest.database.sha256, |sum| {
        copy_file(&from, &incomplete).map(|copied| *sum = copied)
    })?;
    fs::rename(&incomplete, &store.database).map_err(at(&store.database))?;
    Ok(Restored { manifest, replaced })
}

/// Reads the whole backup and compares it with its manifest. Returns its blobs.
fn check(backup: &Path) -> Result<(Manifest, Vec<BlobId>), BackupError> {
    let path = backup.join(MANIFEST);
    let text = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::NoBackup {
                path: backup.to_owned(),
            });
        }
        text => text.map_err(at(&path))?,
    };
    let manifest = parse_manifest(&path, &text)?;
    for (file, sum) in [
        (DATABASE, &manifest.database),
        (BLOB_LIST, &manifest.blob_list),
    ] {
        let path = backup.join(file);
        checked(&path, &sum.sha256, |found| {
            sum_of(&path).map(|sum| *found = sum)
        })?;
    }
    let path = backup.join(BLOB_LIST);
    let list = fs::read_to_string(&path).map_err(at(&path))?;
    let mut blobs = Vec::new();
    for line in list.lines() {
        let id = line.split_once(' ').and_then(|(id, _)| BlobId::parse(id));
        let id = id.ok_or_else(|| damaged(&path, "has a line that is not understood"))?;
        let path = blob_sweep::path_of(&backup.join(BLOBS), id);
        checked(&path, &id.to_string(), |found| {
            sum_of(&path).map(|sum| *found = sum)
        })?;
        blobs.push(id);
    }
    Ok((manifest, blobs))
}

fn parse_manifest(path: &Path, text: &[u8]) -> Result<Manifest, BackupError> {
    /// Read first, because a later format may have other fields.
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }

    let not_understood =
        |error: serde_json::Error| damaged(path, &format!("is not understood: {error}"));
    let Format { format } = serde_json::from_slice(text).map_err(not_understood)?;
    if format > FORMAT {
        return Err(BackupError::UnknownFormat { found: format });
    }
    let manifest: Manifest = serde_json::from_slice(text).map_err(not_understood)?;
    if manifest.sum() != manifest.checksum {
        return Err(damaged(path, "does not have its checksum"));
    }
    Ok(manifest)
}

/// Reads a file of the backup by `read`, and compares its hash.
fn checked(
    path: &Path,
    sha256: &str,
    read: impl FnOnce(&mut FileSum) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let mut found = FileSum {
        sha256: String::new(),
        bytes: 0,
    };
    match read(&mut found) {
        Err(BackupError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            Err(damaged(path, "is missing"))
        }
        Err(error) => Err(error),
        Ok(()) if found.sha256 == sha256 => Ok(()),
        Ok(()) => Err(damaged(path, "does not have its checksum")),
    }
}

fn damaged(path: &Path, problem: &str) -> BackupError {
    BackupError::Damaged {
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}

/// Moves a store to a new folder beside it and returns that.
fn move_aside(store: &StoreFiles, parent: &Path) -> Result<PathBuf, BackupError> {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs();
    let aside = parent.join(format!("replaced-{seconds}"));
    folder::prepare(&aside)?;
    let name = store
        .database
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    for ending in ["", "-wal", "-shm"] {
        let (from, to) = (
            store.database.with_file_name(format!("{name}{ending}")),
            aside.join(format!("{DATABASE}{ending}")),
        );
        if from.exists() {
            fs::rename(&from, &to).map_err(at(&from))?;
        }
    }
    if store.blobs.exists() {
        fs::rename(&store.blobs, aside.join(BLOBS)).map_err(at(&store.blobs))?;
    }
    Ok(aside)
}

fn all_blobs(place: &Path) -> Result<Vec<BlobId>, BackupError> {
    let mut all = Vec::new();
    for shard in 0..=u8::MAX {
        all.extend(blob_sweep::blobs(place, shard).map_err(at(place))?);
    }
    all.sort();
    Ok(all)
}

/// Returns whether a folder is there and has anything in it.
fn is_occupied(path: &Path) -> Result<bool, BackupError> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        entries => Ok(entries.map_err(at(path))?.next().is_some()),
    }
}

fn sum_of(path: &Path) -> Result<FileSum, BackupError> {
    read(path, |_| Ok(()))
}

/// Copies a file, whose folder is created if it is missing, and returns what was copied.
fn copy_file(from: &Path, to: &Path) -> Result<FileSum, BackupError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(at(parent))?;
    }
    let mut copy = File::create(to).map_err(at(to))?;
    let sum = read(from, |piece| copy.write_all(piece).map_err(at(to)))?;
    copy.sync_all().map_err(at(to))?;
    Ok(sum)
}

fn read(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), BackupError>,
) -> Result<FileSum, BackupError> {
    let mut file = File::open(path).map_err(at(path))?;
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let count = file.read(&mut piece).map_err(at(path))?;
        if count == 0 {
            let sha256 = BlobId::from(<[u8; 32]>::from(hash.finalize())).to_string();
            return Ok(FileSum { sha256, bytes });
        }
        hash.update(&piece[..count]);
        bytes += count as u64;
        take(&piece[..count])?;
    }
}

fn write_synced(path: &Path, content: &[u8]) -> Result<(), BackupError> {
    let mut file = File::create(path).map_err(at(path))?;
    file.write_all(content).map_err(at(path))?;
    file.sync_all().map_err(at(path))
}

fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io {
        path: path.clone(),
        source,
    }
}
