//! Restoration of a backup to the places of a store.
//!
//! The copy is made complete beside the store first. Then the blobs join those of the store, which harms neither: a blob is found
//! by its hash, and unused ones are swept later. The database is renamed into its place last. Up to that moment the former store
//! is whole; from then on the restored one is. It does not start anything, and does not open the restored store.
//!
//! Invariant: wherever a restoration ends, by an error, a kill or a power failure, the store opens with everything that it had, or
//! with everything that the backup has.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;

use super::files::{at, copy_file, is_occupied, link_or_copy, remove_all, rename, sync_folders};
use super::{BLOBS, BackupError, DATABASE, Manifest, StoreFiles, all_blobs, check, checked};
use crate::{BlobId, Error, blob_sweep, folder, sqlite};

/// Endings of the files that belong to a database of this name. SQLite applies them to whatever database it finds beside them.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Ending of names of what is not complete yet. A later restoration removes what an interrupted one has left under it.
const INCOMPLETE: &str = ".incomplete";

/// Outcome of a restoration.
#[derive(Debug, Clone)]
pub struct Restored {
    pub manifest: Manifest,
    /// Folder with a copy of the store that was there before.
    pub replaced: Option<PathBuf>,
}

/// Restores a backup to the places of a store. A store that is there is set aside if `replace`. The whole backup is checked
/// before anything is changed.
///
/// # Errors
/// `NoBackup`, `Damaged` or `UnknownFormat` for the backup; `InUse` or `TargetNotEmpty` for the places; or if a file cannot be
/// read or written. The store that is there can be used as before.
pub async fn restore(
    backup: &Path,
    store: StoreFiles,
    replace: bool,
) -> Result<Restored, BackupError> {
    let backup = backup.to_owned();
    let runtime = Handle::current();
    let restored =
        tokio::task::spawn_blocking(move || restore_now(&backup, &store, replace, &runtime));
    restored
        .await
        .unwrap_or_else(|error| Err(Error::Failed(Box::new(error)).into()))
}

fn restore_now(
    backup: &Path,
    store: &StoreFiles,
    replace: bool,
    runtime: &Handle,
) -> Result<Restored, BackupError> {
    let (manifest, blobs) = check(backup)?;
    let parent = parent_of(&store.database);
    folder::prepare(parent)?;
    let _lock = sqlite::lock_alone(&store.database)
        .map_err(at(&store.database))?
        .ok_or_else(|| BackupError::InUse {
            path: store.database.clone(),
        })?;
    let is_empty = !store.database.exists() && !is_occupied(&store.blobs)?;
    if !is_empty && !replace {
        return Err(BackupError::TargetNotEmpty {
            path: parent.to_owned(),
        });
    }
    let staging = Staging::of(store);
    staging.remove()?;
    let replaced = staging
        .copy(backup, &manifest, &blobs)
        .and_then(|()| put_in_place(&staging, store, &blobs, runtime));
    // Also after a failure: the store that is still there needs the space.
    let removed = staging.remove();
    let replaced = replaced?;
    removed?;
    Ok(Restored { manifest, replaced })
}

/// Replaces a store by the complete copy beside it. Returns the folder with the store that was there.
fn put_in_place(
    staging: &Staging,
    store: &StoreFiles,
    blobs: &[BlobId],
    runtime: &Handle,
) -> Result<Option<PathBuf>, BackupError> {
    let has_database = store.database.exists();
    if has_database {
        settle(&store.database, runtime)?;
    }
    let companions = COMPANIONS.map(|ending| with_ending(&store.database, ending));
    let has_more = companions.iter().any(|path| path.exists()) || is_occupied(&store.blobs)?;
    let replaced = match has_database || has_more {
        true => Some(staging.set_aside(store)?),
        false => None,
    };
    for id in blobs {
        let place = blob_sweep::path_of(&store.blobs, *id);
        rename(&blob_sweep::path_of(&staging.blobs, *id), &place)?;
    }
    if store.blobs.exists() {
        sync_folders(&store.blobs)?;
    }
    // Before the database comes. The former one has taken in what they had.
    for companion in &companions {
        remove_all(companion)?;
    }
    let parent = parent_of(&store.database);
    folder::sync(parent).map_err(at(parent))?;
    rename(&staging.database, &store.database)?;
    folder::sync(parent).map_err(at(parent))?;
    Ok(replaced)
}

/// Writes the log of a database into its file, so that the file alone is complete.
fn settle(database: &Path, runtime: &Handle) -> Result<(), BackupError> {
    match runtime.block_on(sqlite::settle(database)) {
        // A damaged store is what many restore for. It is set aside with all of its files, as it is.
        Err(error @ Error::Corrupt { .. }) => {
            tracing::warn!(%error, "the store that is replaced is damaged");
            Ok(())
        }
        settled => Ok(settled?),
    }
}

/// Places beside those of a store, for what is not complete yet.
#[derive(Debug)]
struct Staging {
    database: PathBuf,
    blobs: PathBuf,
    /// Folder for the store that was there.
    aside: PathBuf,
}

impl Staging {
    fn of(store: &StoreFiles) -> Self {
        let parent = parent_of(&store.database);
        Self {
            database: with_ending(&store.database, INCOMPLETE),
            blobs: with_ending(&store.blobs, INCOMPLETE),
            aside: parent.join(format!("replaced{INCOMPLETE}")),
        }
    }

    fn remove(&self) -> Result<(), BackupError> {
        remove_all(&self.database)?;
        remove_all(&self.blobs)?;
        remove_all(&self.aside)
    }

    /// Copies the backup, and compares it with its manifest again.
    fn copy(
        &self,
        backup: &Path,
        manifest: &Manifest,
        blobs: &[BlobId],
    ) -> Result<(), BackupError> {
        for id in blobs {
            let from = blob_sweep::path_of(&backup.join(BLOBS), *id);
            let to = blob_sweep::path_of(&self.blobs, *id);
            checked(&from, &id.to_string(), |sum| {
                copy_file(&from, &to).map(|copied| *sum = copied)
            })?;
        }
        let from = backup.join(DATABASE);
        checked(&from, &manifest.database.sha256, |sum| {
            copy_file(&from, &self.database).map(|copied| *sum = copied)
        })
    }

    /// Copies the files of a store to a new folder beside it and returns that. The store stays where it is.
    fn set_aside(&self, store: &StoreFiles) -> Result<PathBuf, BackupError> {
        folder::create_private(&self.aside).map_err(at(&self.aside))?;
        for ending in [""].into_iter().chain(COMPANIONS) {
            let from = with_ending(&store.database, ending);
            // Not a link: a database with two names is damaged by its second user.
            if from.exists() {
                copy_file(&from, &self.aside.join(format!("{DATABASE}{ending}")))?;
            }
        }
        let blobs = self.aside.join(BLOBS);
        folder::create_private(&blobs).map_err(at(&blobs))?;
        for id in all_blobs(&store.blobs)? {
            link_or_copy(
                &blob_sweep::path_of(&store.blobs, id),
                &blob_sweep::path_of(&blobs, id),
            )?;
        }
        sync_folders(&self.aside)?;
        let parent = parent_of(&store.database);
        let aside = unused_name(parent);
        fs::rename(&self.aside, &aside).map_err(at(&aside))?;
        folder::sync(parent).map_err(at(parent))?;
        Ok(aside)
    }
}

/// Returns a name for a store that was replaced now.
fn unused_name(parent: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.unwrap_or_default().as_secs();
    let mut number = seconds;
    loop {
        let name = parent.join(format!("replaced-{number}"));
        if !name.exists() {
            return name;
        }
        number += 1;
    }
}

fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
