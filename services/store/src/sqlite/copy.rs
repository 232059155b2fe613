//! Snapshots of a database, and what its replacement needs: the lock of a database that is in use, and the end of its log.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode};
use sqlx::{ConnectOptions as _, Connection as _};

use super::{BUSY_TIMEOUT, failure};
use crate::{Error, folder};

/// Writes a consistent copy of a database that may be in use, in one transaction, and marks it as a copy.
///
/// # Errors
/// `Unwritable` if there is no such database or the copy cannot be written; `Full`; `Corrupt`.
pub(crate) async fn snapshot(file: &Path, copy: &Path) -> Result<(), Error> {
    // Not by `SqliteStore::open`, which would migrate the database of a server of an earlier version.
    let options = || {
        SqliteConnectOptions::new()
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging()
    };
    let failed = |error| failure(file, error);
    let mut source = options().filename(file).connect().await.map_err(failed)?;
    // The copy may be written to an empty file, and so to one that only this user can read.
    folder::create_private_file(copy).map_err(|error| folder::from_io_error(copy, &error))?;
    sqlx::query("VACUUM INTO $1")
        .bind(copy.to_string_lossy().into_owned())
        .execute(&mut source)
        .await
        .map_err(failed)?;
    source.close().await.map_err(failed)?;

    let failed = |error| failure(copy, error);
    let options = options()
        .filename(copy)
        .journal_mode(SqliteJournalMode::Delete);
    let mut target: SqliteConnection = options.connect().await.map_err(failed)?;
    sqlx::query(
        "INSERT INTO meta (key, value) VALUES ('copy', 'backup')
         ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    )
    .execute(&mut target)
    .await
    .map_err(failed)?;
    target.close().await.map_err(failed)
}

/// Moves everything in the log of a database into its file, and removes the log. For a database that nothing else has open.
///
/// # Errors
/// `Corrupt` if the database or its log is damaged; `Unwritable` or `Full`.
pub(crate) async fn settle(file: &Path) -> Result<(), Error> {
    let failed = |error| failure(file, error);
    let options = SqliteConnectOptions::new()
        .filename(file)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = options.connect().await.map_err(failed)?;
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
        .execute(&mut connection)
        .await
        .map_err(failed)?;
    // The last connection removes the log.
    connection.close().await.map_err(failed)
}

/// Marks a database as being in use until the returned file is dropped.
///
/// # Errors
/// `Busy` while it is being replaced; `Unwritable` or `Full`.
pub(super) fn lock_shared(file: &Path) -> Result<File, Error> {
    let lock = open_lock(file).map_err(|error| folder::from_io_error(file, &error))?;
    match lock.try_lock_shared() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(Error::Busy {
            path: file.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(folder::from_io_error(file, &error)),
    }
}

/// Locks a database for its replacement until the returned file is dropped. `None` if it is in use.
pub(crate) fn lock_alone(file: &Path) -> io::Result<Option<File>> {
    let lock = open_lock(file)?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn open_lock(file: &Path) -> io::Result<File> {
    let mut name = file.as_os_str().to_owned();
    name.push(".lock");
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(PathBuf::from(name))
}
