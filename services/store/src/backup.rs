//! Backups of a SQLite store with its blobs. [`restore()`] puts them back.
//!
//! A backup is a folder: a snapshot of the database, the blobs, a list of the blobs, and a manifest with checksums, which is
//! written last. It is made while tasks run: the snapshot is one transaction, blobs never change, and none is removed
//! meanwhile. Blobs that are newer than the snapshot are harmless.
//!
//! The snapshot is marked as a copy. Whatever opens it gives it a new generation and finds out what the tasks in it may have
//! done since ([`StoreUpkeep::is_copy`](crate::StoreUpkeep::is_copy)), however the file came to its place.
//!
//! Not for PostgreSQL, which has tools of its own. Not encrypted: a backup has what the store has, so that its files are for
//! this user alone, also in a folder that others can read.

mod files;
mod restore;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::files::{FileSum, at, copy_file, is_occupied, sum_of, write_synced};
pub use self::restore::{Restored, restore};
use crate::{BlobId, Error, blob_sweep, folder, sqlite};

/// Version of the format of backups.
const FORMAT: u32 = 1;
const MANIFEST: &str = "manifest.json";
const DATABASE: &str = "tasks.db";
const BLOBS: &str = "blobs";
/// One line for each blob: its hash and its size.
const BLOB_LIST: &str = "blobs.txt";

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
    folder::create_private(&target.join(BLOBS)).map_err(at(target))?;
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
    files::sync_folders(&target.join(BLOBS))?;
    write_synced(&target.join(BLOB_LIST), list.as_bytes())?;
    manifest.blob_list = sum_of(&target.join(BLOB_LIST))?;
    manifest.checksum = manifest.sum();
    let text = serde_json::to_vec_pretty(&manifest).map_err(|error| Error::Failed(error.into()))?;
    write_synced(&target.join(MANIFEST), &text)?;
    folder::sync(target).map_err(at(target))?;
    Ok(manifest)
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

fn all_blobs(place: &Path) -> Result<Vec<BlobId>, BackupError> {
    let mut all = Vec::new();
    for shard in 0..=u8::MAX {
        all.extend(blob_sweep::blobs(place, shard).map_err(at(place))?);
    }
    all.sort();
    Ok(all)
}
