//! Files of backups: private copies that are on the disk when a call returns, and their hashes.
//!
//! It does not know which files belong to a backup.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::BackupError;
use crate::{BlobId, folder};

/// Size of the pieces in which files are read. Large enough that the number of calls does not matter.
const PIECE_BYTES: usize = 1 << 18;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileSum {
    pub(super) sha256: String,
    pub(super) bytes: u64,
}

/// Returns whether a folder is there and has anything in it.
pub(super) fn is_occupied(path: &Path) -> Result<bool, BackupError> {
    match fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        entries => Ok(entries.map_err(at(path))?.next().is_some()),
    }
}

pub(super) fn sum_of(path: &Path) -> Result<FileSum, BackupError> {
    read(path, |_| Ok(()))
}

/// Copies a file to a new one, whose folder is created if it is missing, and returns what was copied.
pub(super) fn copy_file(from: &Path, to: &Path) -> Result<FileSum, BackupError> {
    create_folder_of(to)?;
    let mut copy = folder::create_private_file(to).map_err(at(to))?;
    let sum = read(from, |piece| copy.write_all(piece).map_err(at(to)))?;
    copy.sync_all().map_err(at(to))?;
    Ok(sum)
}

/// Gives a file that never changes a second name, or copies it where the file system has no links between the two places.
pub(super) fn link_or_copy(from: &Path, to: &Path) -> Result<(), BackupError> {
    create_folder_of(to)?;
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    copy_file(from, to).map(drop)
}

/// Moves a file to a place on the same file system, whose folder is created if it is missing. A file that is there is replaced.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), BackupError> {
    create_folder_of(to)?;
    fs::rename(from, to).map_err(at(to))
}

fn create_folder_of(path: &Path) -> Result<(), BackupError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    folder::create_private(parent).map_err(at(parent))
}

/// Removes a file or a folder with everything in it, if it is there.
pub(super) fn remove_all(path: &Path) -> Result<(), BackupError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(at(path)),
    }
}

/// Waits until the names in a folder and in all folders below it survive a power failure.
pub(super) fn sync_folders(path: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(path).map_err(at(path))? {
        let entry = entry.map_err(at(path))?;
        if entry.file_type().map_err(at(path))?.is_dir() {
            sync_folders(&entry.path())?;
        }
    }
    folder::sync(path).map_err(at(path))
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

/// Writes a new file.
pub(super) fn write_synced(path: &Path, content: &[u8]) -> Result<(), BackupError> {
    let mut file = folder::create_private_file(path).map_err(at(path))?;
    file.write_all(content).map_err(at(path))?;
    file.sync_all().map_err(at(path))
}

pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::Io {
        path: path.clone(),
        source,
    }
}
