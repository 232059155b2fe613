//! The task store on SQLite: one file, one connection for writes, several for reads.
//!
//! Writers queue for the one connection instead of failing at a lock. The queries are shared by all databases
//! ([`../sql`](tasks)); this module has only the parts specific to SQLite.
//!
//! Durability: with [`Durability::Normal`], a confirmed write survives the process, even if it is killed; a power failure
//! may lose the latest writes, but leaves a consistent store. With [`Durability::Full`], each write waits for the disk.

mod append;
mod checkpoint;
mod copy;
#[path = "../sql/deletion.rs"]
mod deletion;
#[path = "../sql/generation.rs"]
mod generation;
#[path = "../sql/requests.rs"]
mod requests;
#[path = "../sql/resources.rs"]
mod resources;
#[path = "../sql/rows.rs"]
mod rows;
#[path = "../sql/store.rs"]
mod store;
#[path = "../sql/tasks.rs"]
mod tasks;
#[path = "../sql/upkeep.rs"]
mod upkeep;
#[path = "../sql/upkeep_store.rs"]
mod upkeep_store;
mod writer;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sqlx::ConnectOptions as _;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

pub(crate) use self::copy::{lock_alone, settle, snapshot};
use self::rows::millis;
use self::writer::Writer;
use crate::folder::{self, Durability};
use crate::migrations::migrator;
use crate::statement_error::StatementError;
use crate::{Append, Appended, Error};

// Names that the shared queries use for the types of each database.
use SqlitePool as Pool;
use SqliteStore as Store;
use sqlx::Sqlite as Database;
use sqlx::SqliteConnection as Connection;
use sqlx::sqlite::SqliteRow as DatabaseRow;

/// Returns the migrations of the schema, in the order of their versions.
pub(crate) fn migrations() -> Migrator {
    migrator(&[
        (
            "0001_tasks.sql",
            include_str!("../../migrations/sqlite/0001_tasks.sql"),
        ),
        (
            "0002_notes.sql",
            include_str!("../../migrations/sqlite/0002_notes.sql"),
        ),
        (
            "0003_tenants.sql",
            include_str!("../../migrations/sqlite/0003_tenants.sql"),
        ),
        (
            "0004_upkeep.sql",
            include_str!("../../migrations/sqlite/0004_upkeep.sql"),
        ),
    ])
}

/// Maximum number of connections for reads.
// Reads are short and CPU-bound, so more connections than typical cores would not help.
const MAX_READERS: u32 = 4;

/// Timeout for the lock of another process, for example a backup.
// docs/errors/STORE_BUSY.md documents this value.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of a blocking checkpoint for readers of the log.
// Bounds the pause of writes; a checkpoint that times out is retried when the next one is due.
const CHECKPOINT_BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// A write transaction.
type WriteTransaction = sqlx::Transaction<'static, Database>;

/// A task store on SQLite.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    file: PathBuf,
    writer: SqlitePool,
    /// Pool with one connection for checkpoints.
    checkpoints: SqlitePool,
    write_thread: Writer,
    readers: SqlitePool,
    generation: String,
    /// Keeps others from replacing the file.
    _in_use: Arc<File>,
}

impl SqliteStore {
    /// Opens the database in this file, creates it and its folder if they are missing, and runs pending migrations.
    ///
    /// # Errors
    /// `Unwritable` or `Full` for the folder; `Corrupt` if the file is damaged or not a database; `TooNew` if a newer
    /// build has written it.
    pub async fn open(file: &Path, durability: Durability) -> Result<Self, Error> {
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        folder::prepare(parent)?;
        let in_use = copy::lock_shared(file)?;
        create_for_this_user(file)?;
        let failure = |error| failure(file, error);

        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(match durability {
                Durability::Normal => SqliteSynchronous::Normal,
                Durability::Full => SqliteSynchronous::Full,
            })
            .busy_timeout(BUSY_TIMEOUT)
            .disable_statement_logging();
        let alone = SqlitePoolOptions::new()
            .max_connections(1)
            // Not needed for a file: unlike a server, it does not close connections.
            .test_before_acquire(false);
        let never = options.clone().pragma("wal_autocheckpoint", "0");
        let writer = alone.clone().connect_with(never).await.map_err(failure)?;
        migrations()
            .run(&writer)
            .await
            .map_err(|error| migration_failure(file, error))?;
        let generation = generation::current(&writer, None).await.map_err(failure)?;
        let checkpoints =
            alone.connect_lazy_with(options.clone().busy_timeout(CHECKPOINT_BUSY_TIMEOUT));
        let readers = SqlitePoolOptions::new()
            .max_connections(MAX_READERS)
            .test_before_acquire(false)
            .connect_with(options.read_only(true))
            .await
            .map_err(failure)?;
        Ok(Self {
            file: file.to_owned(),
            write_thread: Writer::start(writer.clone(), checkpoints.clone(), file)?,
            writer,
            checkpoints,
            readers,
            generation,
            _in_use: Arc::new(in_use),
        })
    }

    /// Renews the generation of the store, so that watchers start again. For use after a restore from a backup.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn renew_generation(&mut self) -> Result<(), Error> {
        let renewed = generation::renew(&self.writer).await;
        let generation = renewed.map_err(|error| failure(&self.file, error))?;
        self.generation = generation;
        Ok(())
    }

    /// Closes all connections and removes the auxiliary files of the database.
    pub async fn close(&self) {
        self.readers.close().await;
        self.checkpoints.close().await;
        self.writer.close().await;
    }

    /// Starts a write transaction.
    async fn write(&self) -> sqlx::Result<WriteTransaction> {
        writer::begin(&self.writer).await
    }

    /// Runs a write of a small row on the write thread.
    async fn writing<T, W>(&self, write: impl FnOnce(Self) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StatementError>> + Send + 'static,
    {
        self.writing_content(0, write).await
    }

    /// Runs a write of this size in the log, in bytes, on the write thread.
    async fn writing_content<T, W>(
        &self,
        bytes: usize,
        write: impl FnOnce(Self) -> W,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, StatementError>> + Send + 'static,
    {
        let (store, write) = (self.clone(), write(self.clone()));
        let written = async move { write.await.map_err(|fault| store.error(fault)) };
        self.write_thread.run(bytes, written).await
    }

    async fn add(&self, append: Append) -> Result<Appended, Error> {
        self.write_thread.append(append).await
    }

    /// Checks that the database file is there, because what is written to a removed file is lost, and that its disk has not become
    /// read-only.
    fn check_place(&self) -> Result<(), Error> {
        let usable = folder::check_writable(&self.file);
        usable.map_err(|error| folder::from_io_error(&self.file, &error))
    }

    fn error(&self, fault: StatementError) -> Error {
        match fault {
            StatementError::Rejected(error) => error,
            StatementError::Database(error) => failure(&self.file, error),
        }
    }
}

/// Creates the file of a database, if it is missing. SQLite would let others read it, and gives its auxiliary files the same
/// permissions.
fn create_for_this_user(file: &Path) -> Result<(), Error> {
    match folder::create_private_file(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(folder::from_io_error(file, &error))
        }
        _ => Ok(()),
    }
}

/// Locks the request id until the end of the transaction. Nothing to do here, because there is only one writer.
async fn lock_request(_: &mut Connection, _id: &str) -> sqlx::Result<()> {
    Ok(())
}

/// Deletes the records of expired requests.
async fn forget_expired(connection: &mut Connection, now: SystemTime) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM request WHERE expire_time <= $1")
        .bind(millis(now))
        .execute(connection)
        .await?;
    Ok(())
}

/// Primary result codes of SQLite.
mod code {
    /// `SQLITE_BUSY`: another connection held the lock for longer than the busy timeout.
    pub(super) const BUSY: i32 = 5;
    /// `SQLITE_LOCKED`: another statement holds the table.
    pub(super) const LOCKED: i32 = 6;
    /// `SQLITE_READONLY`: the file or its folder cannot be written.
    pub(super) const READONLY: i32 = 8;
    /// `SQLITE_CORRUPT`: the file is damaged.
    pub(super) const CORRUPT: i32 = 11;
    /// `SQLITE_FULL`: no space is left on the disk.
    pub(super) const FULL: i32 = 13;
    /// `SQLITE_CANTOPEN`: the file cannot be opened.
    pub(super) const CANTOPEN: i32 = 14;
    /// `SQLITE_NOTADB`: the file is no database.
    pub(super) const NOTADB: i32 = 26;
}

/// Classifies an error of SQLite.
fn failure(file: &Path, error: sqlx::Error) -> Error {
    let database = error.as_database_error();
    let code = database
        .and_then(|error| error.code()?.parse::<i32>().ok())
        .map(|extended| extended & 0xff);
    let detail = database.map_or_else(|| error.to_string(), |error| error.message().to_owned());
    let path = file.to_owned();
    match code {
        Some(code::BUSY | code::LOCKED) => Error::Busy { path },
        Some(code::FULL) => Error::Full { path },
        Some(code::READONLY | code::CANTOPEN) => Error::Unwritable { path, detail },
        Some(code::CORRUPT | code::NOTADB) => Error::Corrupt { path, detail },
        _ => Error::Failed(Box::new(error)),
    }
}

fn migration_failure(file: &Path, error: MigrateError) -> Error {
    match error {
        MigrateError::VersionMissing(found) | MigrateError::VersionTooNew(found, _) => {
            Error::TooNew {
                path: file.to_owned(),
                found,
            }
        }
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            failure(file, error)
        }
        error => Error::Corrupt {
            path: file.to_owned(),
            detail: error.to_string(),
        },
    }
}
