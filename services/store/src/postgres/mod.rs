//! The store on PostgreSQL: for several orchestrators, and for more than one machine.
//!
//! The queries are those of every database ([`../sql`](tasks)); here is what PostgreSQL alone needs. Whoever appends to a
//! task holds its row until the commit, so that numbers are taken and become visible in the same order. Rings go from
//! process to process by `NOTIFY`, after the commit and gathered: within it they would make all commits wait for each
//! other.
//!
//! Durability is the server's: a commit is confirmed when it is on the server's disk, unless the server is configured
//! otherwise (`synchronous_commit`), which costs the last commits when the server dies.
//!
//! Clocks: leases are compared by the clocks of the orchestrators, which should agree within a second or two. Where they
//! do not, a task may change hands early; the epoch still lets only one of them write.

mod append;
mod bells;
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

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::{Duration, SystemTime};

use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};

use self::rows::millis;
use crate::fault::Fault;
use crate::{Doorbell, Error};

// What the queries call by the same names in every database.
use PgConnection as Connection;
use PgPool as Pool;
use PostgresStore as Store;
use sqlx::Postgres as Database;
use sqlx::postgres::PgRow as DatabaseRow;

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

/// Connections of one orchestrator. Commits wait for the disk together, so more than there are cores are of use.
const CONNECTIONS: u32 = 16;
/// A connection that was used a moment ago is there; one that rested for longer is tried before it is used. Two answers to
/// the question whether it is there would cost as much as most statements.
const RESTED: Duration = Duration::from_secs(1);
/// How long a call waits for one of them.
const PATIENCE: Duration = Duration::from_secs(5);

/// The statements in a transaction that are seen by others at once or not at all.
type Writing = sqlx::Transaction<'static, Database>;

/// The store on PostgreSQL.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    /// Where it is, without user and password.
    place: String,
    writer: PgPool,
    readers: PgPool,
    generation: String,
}

impl PostgresStore {
    /// Connects to the database at an address such as `postgres://user:password@host/database`, and brings it up to
    /// date. Several orchestrators may do so at once.
    ///
    /// # Errors
    /// `UnknownBackend` if the address is malformed; `Unreachable` if there is no server or it refuses; `TooNew` if a
    /// newer build has written it.
    pub async fn open(uri: &str) -> Result<Self, Error> {
        let options = PgConnectOptions::from_str(uri).map_err(|_| Error::UnknownBackend {
            // The address may hold a password.
            uri: "postgres://…".to_owned(),
            known: "postgres://user:password@host:port/database",
        })?;
        let place = format!(
            "postgres://{}:{}/{}",
            options.get_host(),
            options.get_port(),
            options.get_database().unwrap_or_default()
        );
        let failure = |error| failure(&place, error);
        let options = options
            .application_name("motorium")
            .disable_statement_logging();
        // A pool tries again and again; the first connection says at once what is wrong.
        let first = PgConnection::connect_with(&options)
            .await
            .map_err(failure)?;
        first.close().await.map_err(failure)?;
        let pool = PgPoolOptions::new()
            .max_connections(CONNECTIONS)
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    let is_there = meta.idle_for < RESTED || connection.ping().await.is_ok();
                    Ok(is_there)
                })
            })
            .acquire_timeout(PATIENCE)
            .connect_with(options)
            .await
            .map_err(failure)?;
        MIGRATIONS
            .run(&pool)
            .await
            .map_err(|error| migration_failure(&place, error))?;
        let generation = generation::current(&pool).await.map_err(failure)?;
        Ok(Self {
            writer: pool.clone(),
            readers: pool,
            generation,
            place,
        })
    }

    /// A doorbell whose rings are heard in all processes on this database.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub async fn doorbell(&self) -> Result<Doorbell, Error> {
        let connected = bells::connect(self.writer.clone()).await;
        connected.map_err(|error| failure(&self.place, error))
    }

    /// Gives the store's content a new name, so that watchers start anew: after a backup was restored.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn renew_generation(&mut self) -> Result<(), Error> {
        let renewed = generation::renew(&self.writer).await;
        self.generation = renewed.map_err(|error| failure(&self.place, error))?;
        Ok(())
    }

    /// Ends all connections.
    pub async fn close(&self) {
        self.writer.close().await;
    }

    async fn write(&self) -> sqlx::Result<Writing> {
        self.writer.begin().await
    }

    async fn writing<T, W>(&self, write: impl FnOnce(Self) -> W) -> Result<T, Error>
    where
        W: Future<Output = Result<T, Fault>> + Send,
    {
        let written = write(self.clone()).await;
        written.map_err(|fault| self.error(fault))
    }

    fn error(&self, fault: Fault) -> Error {
        match fault {
            Fault::Refused(error) => error,
            Fault::Database(error) => failure(&self.place, error),
        }
    }
}

/// Sees to it that nobody else carries out the request of this id until the end of the transaction.
async fn alone_with(connection: &mut Connection, id: &str) -> sqlx::Result<()> {
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Forgets requests that are long past. Those that somebody else is about to forget are left to them: two that wait for
/// each other would be a deadlock.
async fn forget_expired(connection: &mut Connection, now: SystemTime) -> sqlx::Result<()> {
    sqlx::query(
        "DELETE FROM request WHERE id IN (SELECT id FROM request WHERE expire_time <= $1 FOR UPDATE SKIP LOCKED)",
    )
    .bind(millis(now))
    .execute(connection)
    .await?;
    Ok(())
}

/// PostgreSQL's error codes, as far as they mean something to us.
mod code {
    /// Two transactions cannot both be carried out; one of them again.
    pub(super) const CONFLICTS: [&str; 2] = ["40001", "40P01"];
    pub(super) const DISK_FULL: &str = "53100";
    pub(super) const TOO_MANY_CONNECTIONS: &str = "53300";
    pub(super) const READ_ONLY: &str = "25006";
    pub(super) const DATA_CORRUPTED: [&str; 2] = ["XX001", "XX002"];
    /// Classes of codes: no connection, no right to connect, no such database, the server ends or starts.
    pub(super) const UNREACHABLE: [&str; 4] = ["08", "28", "3D", "57"];
}

/// What an error of PostgreSQL's means to us.
fn failure(place: &str, error: sqlx::Error) -> Error {
    let path = PathBuf::from(place);
    let unreachable = |detail: String| Error::Unreachable {
        place: place.to_owned(),
        detail,
    };
    let Some(database) = error.as_database_error() else {
        return match error {
            sqlx::Error::PoolTimedOut => {
                unreachable(format!("no connection within {} s", PATIENCE.as_secs()))
            }
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
