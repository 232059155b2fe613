//! The store on SQLite: one file, one connection that writes, a few that read.
//!
//! Writers queue at the one connection instead of failing at a lock. The queries are those of every database
//! ([`../sql`](tasks)); here is what SQLite alone needs.
//!
//! Durability: with [`Durability::Normal`] a confirmed write survives the process, also killed; a power failure may
//! take the last ones, but leaves a consistent store. With [`Durability::Full`] each write waits for the disk.

mod append;
mod checkpoint;
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
mod writer;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sqlx::ConnectOptions as _;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use self::rows::millis;
use self::writer::Writer;
use crate::fault::Fault;
use crate::folder::{self, Durability};
use crate::{Append, Appended, Error};

// What the queries call by the same names in every database.
use SqlitePool as Pool;
use SqliteStore as Store;
use sqlx::Sqlite as Database;
use sqlx::SqliteConnection as Connection;
use sqlx::sqlite::SqliteRow as DatabaseRow;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// Connections that read. Reads are short, and there are few cores to do them at once.
const READERS: u32 = 4;

/// How long a write waits for another process that writes, for example a backup.
const BUSY: Duration = Duration::from_secs(5);

/// How long writes pause at most for readers of the log, before it begins anew another time.
const PAUSE: Duration = Duration::from_millis(100);

/// The statements in a transaction that are seen by others at once or not at all.
type Writing = sqlx::Transaction<'static, Database>;

/// The store on SQLite.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    file: PathBuf,
    writer: SqlitePool,
    /// Of one connection too.
    checkpoints: SqlitePool,
    thread: Writer,
    readers: SqlitePool,
    generation: String,
}

impl SqliteStore {
    /// Opens the database in this file; makes it, and its folder, if they are missing; brings it up to date.
    ///
    /// # Errors
    /// `Unwritable` or `Full` for the folder; `Corrupt` if the file is something else or damaged; `TooNew` if a newer
    /// build has written it.
    pub async fn open(file: &Path, durability: Durability) -> Result<Self, Error> {
        let parent = file
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        folder::prepare(parent)?;
        let failure = |error| failure(file, error);

        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(match durability {
                Durability::Normal => SqliteSynchronous::Normal,
                Durability::Full => SqliteSynchronous::Full,
            })
            .busy_timeout(BUSY)
            .disable_statement_logging();
        let alone = SqlitePoolOptions::new()
            .max_connections(1)
            // A file does not go away like a server.
            .test_before_acquire(false);
        let never = options.clone().pragma("wal_autocheckpoint", "0");
        let writer = alone.clone().connect_with(never).await.map_err(failure)?;
        MIGRATIONS
            .run(&writer)
            .await
            .map_err(|error| migration_failure(file, error))?;
        let generation = generation::current(&writer).await.map_err(failure)?;
        let checkpoints = alone.connect_lazy_with(options.clone().busy_timeout(PAUSE));
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .test_before_acquire(false)
            .connect_with(options.read_only(true))
            .await
            .map_err(failure)?;
        Ok(Self {
            file: file.to_owned(),
            thread: Writer::start(writer.clone(), checkpoints.clone(), file)?,
            writer,
            checkpoints,
            readers,
            generation,
        })
    }

    /// Gives the store's content a new name, so that watchers start anew: after a backup was restored.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn renew_generation(&mut self) -> Result<(), Error> {
        let renewed = generation::renew(&self.writer).await;
        let generation = renewed.map_err(|error| failure(&self.file, error))?;
        self.generation = generation;
        Ok(())
    }

    /// Ends all connections and tidies up the files beside the database.
    pub async fn close(&self) {
        self.readers.close().await;
        self.checkpoints.close().await;
        self.writer.close().await;
    }

    /// Begins to write. The lock is taken at once: one that is upgraded later could fail without waiting.
    async fn write(&self) -> sqlx::Result<Writing> {
        self.writer.begin_with("BEGIN IMMEDIATE").await
    }

    /// Writes where everything is written.
    async fn writing<T, W>(&self, write: impl FnOnce(Self) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, Fault>> + Send + 'static,
    {
        let (store, write) = (self.clone(), write(self.clone()));
        let written = async move { write.await.map_err(|fault| store.error(fault)) };
        self.thread.run(written).await
    }

    async fn add(&self, append: Append) -> Result<Appended, Error> {
        self.thread.append(append).await
    }

    fn error(&self, fault: Fault) -> Error {
        match fault {
            Fault::Refused(error) => error,
            Fault::Database(error) => failure(&self.file, error),
        }
    }
}

/// Sees to it that nobody else carries out the request of this id: here nobody else writes at all.
async fn alone_with(_: &mut Connection, _id: &str) -> sqlx::Result<()> {
    Ok(())
}

/// Forgets requests that are long past.
async fn forget_expired(connection: &mut Connection, now: SystemTime) -> sqlx::Result<()> {
    sqlx::query("DELETE FROM request WHERE expire_time <= $1")
        .bind(millis(now))
        .execute(connection)
        .await?;
    Ok(())
}

/// SQLite's primary result codes; the rest of a code says more than we need.
mod code {
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const NOTADB: i32 = 26;
}

/// What an error of SQLite's means to us.
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
