//! The task store on PostgreSQL, for several orchestrators on one or more machines.
//!
//! The queries are shared by all databases ([`../sql`](tasks)); this module has only the parts specific to PostgreSQL. An
//! append locks the task's row until the commit, so that sequence numbers are taken and become visible in the same order.
//! Notifications go to other processes by `NOTIFY`, coalesced and after the commit: within it they would serialise all
//! commits.
//!
//! Durability: the server confirms a commit once it is on its disk, unless it is configured otherwise
//! (`synchronous_commit`); then a crash of the server may lose the latest commits.
//!
//! Clocks: leases are compared with the clocks of the orchestrators, which should agree within one or two seconds.
//! Otherwise a task may be claimed too early; the epoch still lets only one orchestrator write.

mod append;
#[path = "../sql/deletion.rs"]
mod deletion;
#[path = "../sql/generation.rs"]
mod generation;
mod notify;
#[path = "../sql/requests.rs"]
mod requests;
#[path = "../sql/resources.rs"]
mod resources;
#[path = "../sql/rows.rs"]
mod rows;
mod servers;
#[path = "../sql/store.rs"]
mod store;
#[path = "../sql/tasks.rs"]
mod tasks;
#[path = "../sql/upkeep.rs"]
mod upkeep;
#[path = "../sql/upkeep_store.rs"]
mod upkeep_store;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sqlx::PgConnection;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgPool, PgPoolOptions};
use tokio_util::task::AbortOnDropHandle;

use self::rows::millis;
use self::servers::Servers;
use crate::migrations::migrator;
use crate::statement_error::StatementError;
use crate::{Error, TaskNotifier};

// Names that the shared queries use for the types of each database.
use PgConnection as Connection;
use PgPool as Pool;
use PostgresStore as Store;
use sqlx::Postgres as Database;
use sqlx::postgres::PgRow as DatabaseRow;

/// Returns the migrations of the schema, in the order of their versions.
pub(crate) fn migrations() -> Migrator {
    migrator(&[
        (
            "0001_tasks.sql",
            include_str!("../../migrations/postgres/0001_tasks.sql"),
        ),
        (
            "0002_notes.sql",
            include_str!("../../migrations/postgres/0002_notes.sql"),
        ),
        (
            "0003_tenants.sql",
            include_str!("../../migrations/postgres/0003_tenants.sql"),
        ),
        (
            "0004_upkeep.sql",
            include_str!("../../migrations/postgres/0004_upkeep.sql"),
        ),
    ])
}

/// Maximum number of connections of one orchestrator.
// The server groups commits that wait for the disk, so more connections than cores are useful.
const MAX_CONNECTIONS: u32 = 16;
/// Timeout for acquiring a connection.
// Bounds the wait when all connections are in use; the same as the lock timeout of the SQLite store.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);

/// A write transaction.
type WriteTransaction = sqlx::Transaction<'static, Database>;

/// A task store on PostgreSQL.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    /// Address of the servers, without user and password.
    place: String,
    writer: PgPool,
    readers: PgPool,
    generation: String,
    /// Follows the primary, until the last clone of the store is gone.
    _follower: Option<Arc<AbortOnDropHandle<()>>>,
}

/// Returns what tells this database from one that its content is restored to: the server, the database, and the table, which is
/// created anew. `None`, with a warning, if the server does not say.
async fn identity(pool: &Pool) -> sqlx::Result<Option<String>> {
    let found = sqlx::query_scalar(
        "SELECT system_identifier || '/' || pg_database.oid || '/' || 'meta'::regclass::oid
         FROM pg_control_system(), pg_database WHERE datname = current_database()",
    );
    match found.fetch_one(pool).await {
        Ok(identity) => Ok(Some(identity)),
        Err(error @ sqlx::Error::Database(_)) => {
            tracing::warn!(
                %error,
                "the database does not tell its identity; mark it as a copy after a restore, as docs/operations.md says"
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

impl PostgresStore {
    /// Connects to the database at an address such as `postgres://user:password@host/database`, and runs pending
    /// migrations. Several orchestrators may do so at once. Of several hosts, separated by commas, the primary is used, also
    /// when another one becomes it.
    ///
    /// # Errors
    /// `UnknownBackend` if the address is malformed; `Unreachable` if the server is not running or rejects the connection;
    /// `TooNew` if a newer build has written the database.
    pub async fn open(uri: &str) -> Result<Self, Error> {
        let servers = Servers::parse(uri).ok_or_else(|| Error::UnknownBackend {
            // The given address may have a password.
            uri: "postgres://…".to_owned(),
            known: "postgres://user:password@host:port/database, with hosts separated by commas",
        })?;
        let place = servers.place();
        let failure = |error| failure(&place, error);
        let options = PgPoolOptions::new()
            .max_connections(MAX_CONNECTIONS)
            .test_before_acquire(false)
            .acquire_timeout(ACQUIRE_TIMEOUT);
        let (pool, follower) = servers.connect(options).await.map_err(failure)?;
        migrations()
            .run(&pool)
            .await
            .map_err(|error| migration_failure(&place, error))?;
        let identity = identity(&pool).await.map_err(failure)?;
        let generation = generation::current(&pool, identity.as_deref());
        let generation = generation.await.map_err(failure)?;
        Ok(Self {
            writer: pool.clone(),
            readers: pool,
            generation,
            place,
            _follower: follower.map(Arc::new),
        })
    }

    /// Creates a notifier that reaches all processes on this database.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub async fn notifier(&self) -> Result<TaskNotifier, Error> {
        let connected = notify::connect(self.writer.clone()).await;
        connected.map_err(|error| failure(&self.place, error))
    }

    /// Renews the generation of the store, so that watchers start again. For use after a restore from a backup.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn renew_generation(&mut self) -> Result<(), Error> {
        let renewed = generation::renew(&self.writer).await;
        self.generation = renewed.map_err(|error| failure(&self.place, error))?;
        Ok(())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.writer.close().await;
    }

    async fn write(&self) -> sqlx::Result<WriteTransaction> {
        self.writer.begin().await
    }

    async fn writing<T, W>(&self, write: impl FnOnce(Self) -> W) -> Result<T, Error>
    where
        W: Future<Output = Result<T, StatementError>> + Send,
    {
        let written = write(self.clone()).await;
        written.map_err(|fault| self.error(fault))
    }

    /// Runs a write. Its size does not matter here: the server bounds its own log.
    async fn writing_content<T, W>(
        &self,
        _bytes: usize,
        write: impl FnOnce(Self) -> W,
    ) -> Result<T, Error>
    where
        W: Future<Output = Result<T, StatementError>> + Send,
    {
        self.writing(write).await
    }

    /// Does nothing: a query shows whether the server is there.
    #[expect(
        clippy::unused_self,
        clippy::unnecessary_wraps,
        reason = "the shared code calls it for both databases"
    )]
    fn check_place(&self) -> Result<(), Error> {
        Ok(())
    }

    fn error(&self, fault: StatementError) -> Error {
        match fault {
            StatementError::Rejected(error) => error,
            StatementError::Database(error) => failure(&self.place, error),
        }
    }
}

/// Locks the request id until the end of the transaction.
async fn lock_request(connection: &mut Connection, id: &str) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Deletes the records of expired requests. Skips rows locked by another transaction, to avoid deadlocks.
async fn forget_expired(connection: &mut Connection, now: SystemTime) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM request WHERE id IN (SELECT id FROM request WHERE expire_time <= $1 FOR UPDATE SKIP LOCKED)",
    )
    .bind(millis(now))
    .execute(connection)
    .await?;
    Ok(())
}

/// Relevant error codes of PostgreSQL.
mod code {
    /// Serialisation failure and deadlock: the transaction can be retried.
    pub(super) const CONFLICTS: [&str; 2] = ["40001", "40P01"];
    pub(super) const DISK_FULL: &str = "53100";
    pub(super) const TOO_MANY_CONNECTIONS: &str = "53300";
    pub(super) const READ_ONLY: &str = "25006";
    pub(super) const DATA_CORRUPTED: [&str; 2] = ["XX001", "XX002"];
    /// Classes of codes: connection exception, authorisation, unknown database, server shutting down or starting.
    pub(super) const UNREACHABLE: [&str; 4] = ["08", "28", "3D", "57"];
}

/// Classifies an error of PostgreSQL.
fn failure(place: &str, error: sqlx::Error) -> Error {
    let path = PathBuf::from(place);
    let unreachable = |detail: String| Error::Unreachable {
        place: place.to_owned(),
        detail,
    };
    let Some(database) = error.as_database_error() else {
        return match error {
            sqlx::Error::PoolTimedOut => unreachable(format!(
                "no connection within {} s",
                ACQUIRE_TIMEOUT.as_secs()
            )),
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::Protocol(_)
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed => unreachable(error.to_string()),
            error => Error::Failed(Box::new(error)),
        };
    };
    let detail = database.message().to_owned();
    let code = database.code().unwrap_or_default().into_owned();
    match code.as_str() {
        code::DISK_FULL => Error::Full { path },
        code::TOO_MANY_CONNECTIONS => Error::Busy { path },
        code::READ_ONLY => Error::Unwritable { path, detail },
        code if code::CONFLICTS.contains(&code) => Error::Busy { path },
        code if code::DATA_CORRUPTED.contains(&code) => Error::Corrupt { path, detail },
        code if code::UNREACHABLE
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            unreachable(detail)
        }
        _ => Error::Failed(Box::new(error)),
    }
}

fn migration_failure(place: &str, error: MigrateError) -> Error {
    match error {
        MigrateError::VersionMissing(found) | MigrateError::VersionTooNew(found, _) => {
            Error::TooNew {
                path: PathBuf::from(place),
                found,
            }
        }
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            failure(place, error)
        }
        error => Error::Corrupt {
            path: PathBuf::from(place),
            detail: error.to_string(),
        },
    }
}
