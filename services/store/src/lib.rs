//! Durable storage of tasks, events and blobs.
//!
//! - [`TaskStore`]: tasks, their gapless events, leases with fencing, request ids, sessions and desktops
//! - [`StoreUpkeep`]: deletion, and what keeps the store from growing for ever
//! - [`BlobStore`]: images and files by the hash of their content
//! - [`audit`]: who did what, in files that show a later change
//! - [`TaskNotifier`]: wakes the watchers of a task or a session, without data
//!
//! Bodies are opaque bytes. Only the Orchestrator writes to the store and interprets them.
//! Invariant: appended events are never changed, and a task's sequence numbers have no gaps.

#![expect(
    clippy::duplicate_mod,
    reason = "the queries of `sql/` are compiled once for each database, against its own types (docs/adr/0007)"
)]

pub mod audit;
mod backup;
mod blob_id;
mod blob_sweep;
mod blobs;
#[cfg(feature = "conformance")]
pub mod conformance;
mod disk_pool;
mod error;
mod folder;
pub mod invariants;
#[cfg(feature = "conformance")]
pub mod local_postgres;
mod migrations;
mod notifier;
#[cfg(feature = "conformance")]
pub mod older_schema;
mod postgres;
mod sqlite;
mod statement_error;
mod tasks;
mod tokens;
mod upkeep;
mod verified;

use std::path::Path;
use std::sync::Arc;

pub use backup::{BackupError, BackupLabel, Manifest, Restored, StoreFiles, back_up, restore};
pub use blob_id::BlobId;
pub use blob_sweep::RemovedBlobs;
pub use blobs::BlobStore;
pub use error::Error;
pub use folder::Durability;
pub use notifier::{TaskNotifier, TaskSubscription};
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;
pub use tasks::{
    Append, Appended, Claim, Collection, CreateTask, Created, EventRow, ListResources, ListTasks,
    NewEvent, Page, PutResource, RequestId, ResourceRow, SessionQuery, TaskRow, TaskStore,
};
pub use tokens::{ResumeToken, SessionToken};
pub use upkeep::{
    OldSessions, OldTasks, StoreUpkeep, TaskCursor, TaskPart, Tenants, UnindexedTask,
};

/// An opened task store, with the notifier shared by all its users.
#[derive(Clone)]
pub struct OpenedStore {
    pub tasks: Arc<dyn TaskStore>,
    pub notifier: TaskNotifier,
}

impl std::fmt::Debug for OpenedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

/// Removes the user and the password from an address, for display.
fn without_credentials(uri: &str) -> String {
    let uri = uri.split_once('?').map_or(uri, |(address, _)| address);
    let place = uri.split_once("://").and_then(|(scheme, rest)| {
        let (_, place) = rest.rsplit_once('@')?;
        Some(format!("{scheme}://{place}"))
    });
    place.unwrap_or_else(|| uri.to_owned())
}

/// Opens the task store at an address: `sqlite:///folder/file`, which is created if it is missing, or
/// `postgres://user:password@host/database`, for which the server determines the durability.
///
/// # Errors
/// `UnknownBackend`, or like [`SqliteStore::open`] and [`PostgresStore::open`].
pub async fn open(uri: &str, durability: Durability) -> Result<OpenedStore, Error> {
    match uri.split_once("://") {
        Some(("sqlite", path)) if path.starts_with('/') => {
            let store = SqliteStore::open(Path::new(path), durability).await?;
            Ok(OpenedStore {
                tasks: Arc::new(store),
                notifier: TaskNotifier::new(),
            })
        }
        Some(("postgres" | "postgresql", _)) => {
            let store = PostgresStore::open(uri).await?;
            Ok(OpenedStore {
                notifier: store.notifier().await?,
                tasks: Arc::new(store),
            })
        }
        _ => Err(Error::UnknownBackend {
            uri: without_credentials(uri),
            known: "sqlite:///folder/file, postgres://user:password@host/database",
        }),
    }
}
