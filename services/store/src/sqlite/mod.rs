//! The store on SQLite: one file, one connection that writes, a few that read.
//!
//! Writers queue at the one connection instead of failing at a lock. Statements use `$n` placeholders and nothing
//! that PostgreSQL does not understand as well, but for the types in the migrations.
//!
//! Durability: with [`Durability::Normal`] a confirmed write survives the process, also killed; a power failure may
//! take the last ones, but leaves a consistent store. With [`Durability::Full`] each write waits for the disk.

mod requests;
mod resources;
mod rows;
mod tasks;

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use sqlx::ConnectOptions as _;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};
use std::time::SystemTime;
use uuid::Uuid;

use crate::folder::{self, Durability};
use crate::{
    Append, Appended, Claim, CreateTask, Created, Error, EventRow, ListResources, ListTasks, Page,
    PutResource, ResourceRow, TaskRow, TaskStore,
};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/sqlite");

/// Connections that read. Reads are short, and there are few cores to do them at once.
const READERS: u32 = 4;

/// How long a write waits for another process that writes, for example a backup.
const BUSY: Duration = Duration::from_secs(5);

/// The statements in a transaction that are seen by others at once or not at all.
type Writing = Transaction<'static, Sqlite>;

/// The store on SQLite.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    file: PathBuf,
    writer: SqlitePool,
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
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .connect_with(options.clone())
            .await
            .map_err(failure)?;
        MIGRATIONS
            .run(&writer)
            .await
            .map_err(|error| migration_failure(file, error))?;
        let generation = generation(&writer).await.map_err(failure)?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .connect_with(options.read_only(true))
            .await
            .map_err(failure)?;
        Ok(Self {
            file: file.to_owned(),
            writer,
            readers,
            generation,
        })
    }

    /// Gives the store's content a new name, so that watchers start anew: after a backup was restored.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn renew_generation(&mut self) -> Result<(), Error> {
        let generation = Uuid::new_v4().simple().to_string();
        let update =
            sqlx::query("UPDATE meta SET value = $1 WHERE key = 'generation'").bind(&generation);
        update
            .execute(&self.writer)
            .await
            .map_err(|error| failure(&self.file, error))?;
        self.generation = generation;
        Ok(())
    }

    /// Ends all connections and tidies up the files beside the database.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Begins to write. The lock is taken at once: one that is upgraded later could fail without waiting.
    async fn write(&self) -> sqlx::Result<Writing> {
        self.writer.begin_with("BEGIN IMMEDIATE").await
    }

    fn error(&self, fault: Fault) -> Error {
        match fault {
            Fault::Refused(error) => error,
            Fault::Database(error) => failure(&self.file, error),
        }
    }
}

/// Why a statement was not carried out, before the database's part of it is understood.
#[derive(Debug)]
enum Fault {
    Refused(Error),
    Database(sqlx::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// The name of the store's content, given when it is first opened.
async fn generation(writer: &SqlitePool) -> Result<String, sqlx::Error> {
    let fresh = Uuid::new_v4().simple().to_string();
    sqlx::query(
        "INSERT INTO meta (key, value) VALUES ('generation', $1) ON CONFLICT (key) DO NOTHING",
    )
    .bind(fresh)
    .execute(writer)
    .await?;
    sqlx::query_scalar("SELECT value FROM meta WHERE key = 'generation'")
        .fetch_one(writer)
        .await
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

#[async_trait]
impl TaskStore for SqliteStore {
    async fn create_task(&self, task: CreateTask) -> Result<Created, Error> {
        self.create(task).await.map_err(|fault| self.error(fault))
    }

    async fn get_task(&self, name: &TaskName) -> Result<TaskRow, Error> {
        self.task(name).await.map_err(|fault| self.error(fault))
    }

    async fn list_tasks(&self, list: ListTasks) -> Result<Page<TaskRow>, Error> {
        self.list(list).await.map_err(|fault| self.error(fault))
    }

    async fn claimable(
        &self,
        states: &[i32],
        owner: &str,
        now: SystemTime,
        limit: u32,
    ) -> Result<Vec<TaskRow>, Error> {
        self.due(states, owner, now, limit)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn claim(
        &self,
        name: &TaskName,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<Option<Claim>, Error> {
        self.take(name, owner, ttl, now)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn renew(
        &self,
        name: &TaskName,
        epoch: TaskEpoch,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<(), Error> {
        self.keep(name, epoch, ttl, now)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn release(&self, name: &TaskName, epoch: TaskEpoch) -> Result<(), Error> {
        self.give_back(name, epoch)
            .await
            .map_err(|fault| self.error(fault))
    }

    async fn append(&self, append: Append) -> Result<Appended, Error> {
        self.add(append).await.map_err(|fault| self.error(fault))
    }

    async fn events(
        &self,
        name: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> Result<Vec<EventRow>, Error> {
        self.read(name, after, limit)
            .await
            .map_err(|fault| self.error(fault))
    }

    fn generation(&self) -> &str {
        &self.generation
    }

    async fn put_resource(&self, put: PutResource) -> Result<ResourceRow, Error> {
        self.put(put).await.map_err(|fault| self.error(fault))
    }

    async fn get_resource(&self, name: &str) -> Result<ResourceRow, Error> {
        self.resource(name).await.map_err(|fault| self.error(fault))
    }

    async fn list_resources(&self, list: ListResources) -> Result<Page<ResourceRow>, Error> {
        self.resources(list)
            .await
            .map_err(|fault| self.error(fault))
    }
}
