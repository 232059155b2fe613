//! Persistent state of a desktop's guard: a locked folder with atomic file replacement. Only this user has access: the files
//! tell what was done on a desktop.
//!
//! A folder that was copied or restored from a copy is recognised by its lock file, which the folder names and whose copy is
//! another file. Not recognised is a copy of the whole disk, such as a snapshot of a virtual machine. It does not know what the
//! files mean.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use motorium_kit::{file_identity, private_file};
use rustix::fs::{FlockOperation, flock};

/// Name of the file that names the lock file.
const IDENTITY_FILE: &str = "identity";

/// Time for which a lock is waited for, and interval of the attempts. A killed Executor leaves its lock to a process that it was
/// starting, which drops it when it begins: within a few milliseconds, and later on a busy machine.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
const LOCK_INTERVAL: Duration = Duration::from_millis(10);

/// An error of the folder or a file in it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// An I/O error of the operating system.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// Another process has locked the folder.
    #[error("{} is locked by another executor on this desktop; stop that one first", path.display())]
    Locked { path: PathBuf },
    /// A file's content is damaged.
    #[error("{} is damaged ({what}); move it away to start over, which loses the record of performed actions", path.display())]
    Damaged { path: PathBuf, what: String },
}

/// A folder that is locked for this process.
#[derive(Debug)]
pub struct StateFolder {
    path: PathBuf,
    /// Holds the lock until the folder is dropped.
    lock: File,
}

impl StateFolder {
    /// Creates the folder if necessary, and locks it.
    ///
    /// # Errors
    /// If the folder cannot be created, or another process has locked it.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, StorageError> {
        let path = path.into();
        private_file::create_folder(&path).map_err(|source| at(&path, source))?;
        let lock_path = path.join("lock");
        let lock = options()
            .append(true)
            .open(&lock_path)
            .map_err(|source| at(&lock_path, source))?;
        match lock_soon(&lock) {
            Ok(()) => Ok(Self { path, lock }),
            Err(rustix::io::Errno::AGAIN) => Err(StorageError::Locked { path: lock_path }),
            Err(errno) => Err(at(&lock_path, errno.into())),
        }
    }

    /// Returns whether the folder is a copy of another one, or of itself at an earlier time. [`StateFolder::confirm`] ends it.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn is_copy(&self) -> Result<bool, StorageError> {
        let named = self.read(IDENTITY_FILE)?;
        // A new folder, or one of an earlier version, names none.
        Ok(named.is_some_and(|named| self.identity().is_ok_and(|own| named != own.into_bytes())))
    }

    /// Makes the folder an original, once what a copy must not have is gone.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn confirm(&self) -> Result<(), StorageError> {
        let identity = self.identity()?.into_bytes();
        if self.read(IDENTITY_FILE)?.as_ref() == Some(&identity) {
            return Ok(());
        }
        self.replace(IDENTITY_FILE, &identity)
    }

    /// Returns what tells the lock file from its copies: its number and the time of its creation, since which it is not changed.
    fn identity(&self) -> Result<String, StorageError> {
        file_identity::of(&self.lock).map_err(|source| at(&self.path("lock"), source))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads a file; `None` if it does not exist.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StorageError> {
        let path = self.path(name);
        match fs::read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(at(&path, source)),
        }
    }

    /// Opens a file for appending.
    pub(super) fn append(&self, name: &str) -> Result<File, StorageError> {
        let path = self.path(name);
        options()
            .append(true)
            .open(&path)
            .map_err(|source| at(&path, source))
    }

    /// Replaces a file atomically: after a crash it has its old or its new content.
    pub(super) fn replace(&self, name: &str, content: &[u8]) -> Result<(), StorageError> {
        let path = self.path(name);
        private_file::replace(&path, content).map_err(|source| at(&path, source))
    }
}

/// Locks a file that no other process has locked for long.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "waits at the start, before anything is served, and only for a process that ends"
)]
fn lock_soon(file: &File) -> Result<(), rustix::io::Errno> {
    let begun = std::time::Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::AGAIN) if begun.elapsed() < LOCK_TIMEOUT => {
                std::thread::sleep(LOCK_INTERVAL);
            }
            locked => return locked,
        }
    }
}

fn options() -> OpenOptions {
    let mut options = private_file::options();
    options.create(true);
    options
}

pub(super) fn at(path: &Path, source: io::Error) -> StorageError {
    StorageError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_owner() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(parent.path().join("a/b")).unwrap();
        assert!(matches!(
            StateFolder::open(parent.path().join("a/b")),
            Err(StorageError::Locked { .. })
        ));
        drop(folder);
        StateFolder::open(parent.path().join("a/b")).unwrap();
    }

    #[test]
    fn a_copy_of_a_folder_is_recognised_until_it_is_confirmed() {
        let (parent, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let original = StateFolder::open(parent.path()).unwrap();
        assert!(!original.is_copy().unwrap(), "it is new");
        original.confirm().unwrap();
        drop(original);
        assert!(!StateFolder::open(parent.path()).unwrap().is_copy().unwrap());
        for name in ["lock", IDENTITY_FILE] {
            fs::copy(parent.path().join(name), other.path().join(name)).unwrap();
        }
        for _ in 0..2 {
            assert!(StateFolder::open(other.path()).unwrap().is_copy().unwrap());
        }
        StateFolder::open(other.path()).unwrap().confirm().unwrap();
        assert!(!StateFolder::open(other.path()).unwrap().is_copy().unwrap());
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let parent = tempfile::tempdir().unwrap();
        let folder = StateFolder::open(parent.path()).unwrap();
        assert_eq!(folder.read("x").unwrap(), None);
        folder.replace("x", b"one").unwrap();
        folder.replace("x", b"2").unwrap();
        assert_eq!(folder.read("x").unwrap().unwrap(), b"2");
    }
}
