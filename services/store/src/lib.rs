//! Tasks, events and blobs that survive a crash.
//!
//! - [`TaskStore`]: tasks, their gapless events, leases with fencing, request ids, sessions and desktops
//! - [`BlobStore`]: pictures and files by the hash of their content
//! - [`Doorbell`]: wakes whoever watches a task, and carries no data
//!
//! Bodies are opaque bytes: what a task or an event means is the Orchestrator's business, which alone writes here.
//! Invariant: an event once appended is never changed, and a task's sequence numbers have no gaps.

#![expect(
    clippy::duplicate_mod,
    reason = "the queries of `sql/` are compiled once for each database, against its own types (docs/adr/0007)"
)]

mod blobs;
#[cfg(feature = "conformance")]
pub mod conformance;
mod disk;
mod doorbell;
mod error;
mod fault;
mod folder;
mod intact;
pub mod invariants;
#[cfg(feature = "conformance")]
pub mod local_postgres;
mod postgres;
mod sqlite;
mod tasks;
mod tokens;

use std::path::Path;
use std::sync::Arc;

pub use blobs::{BlobId, BlobStore};
pub use doorbell::{Bell, Doorbell};
pub use error::Error;
pub use folder::Durability;
pub use postgres::PostgresStore;
pub use sqlite::SqliteStore;
pub use tasks::{
    Append, Appended, Claim, Collection, CreateTask, Created, EventRow, ListResources, ListTasks,
    NewEvent, Page, PutResource, RequestId, ResourceRow, TaskRow, TaskStore,
};
pub use tokens::ResumeToken;

/// A task store, and the doorbell of everybody who uses it.
#[derive(Clone)]
pub struct Opened {
    pub tasks: Arc<dyn TaskStore>,
    pub doorbell: Doorbell,
}

impl std::fmt::Debug for Opened {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opened").finish_non_exhaustive()
    }
}

/// The address without user and password, as it may be shown.
fn without_user(uri: &str) -> String {
    let uri = uri.split_once('?').map_or(uri, |(address, _)| address);
    let place = uri.split_once("://").and_then(|(scheme, rest)| {
        let (_, place) = rest.rsplit_once('@')?;
        Some(format!("{scheme}://{place}"))
    });
    place.unwrap_or_else(|| uri.to_owned())
}

/// The task store at an address: `sqlite:///folder/file`, which is made if it is missing, or
/// `postgres://user:password@host/database`, whose durability is the server's.
///
/// # Errors
/// `UnknownBackend`, or as for [`SqliteStore::open`] and [`PostgresStore::open`].
pub async fn open(uri: &str, durability: Durability) -> Result<Opened, Error> {
    match uri.split_once("://") {
        Some(("sqlite", path)) if path.starts_with('/') => {
            let store = SqliteStore::open(Path::new(path), durability).await?;
            Ok(Opened {
                tasks: Arc::new(store),
                doorbell: Doorbell::new(),
            })
        }
        Some(("postgres" | "postgresql", _)) => {
            let store = PostgresStore::open(uri).await?;
            Ok(Opened {
                doorbell: store.doorbell().await?,
                tasks: Arc::new(store),
            })
        }
        _ => Err(Error::UnknownBackend {
            uri: without_user(uri),
            known: "sqlite:///folder/file, postgres://user:password@host/database",
        }),
    }
}
