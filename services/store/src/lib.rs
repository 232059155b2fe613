//! Tasks, events and blobs that survive a crash.
//!
//! - [`TaskStore`]: tasks, their gapless events, leases with fencing, request ids, sessions and desktops
//! - [`BlobStore`]: pictures and files by the hash of their content
//! - [`Doorbell`]: wakes whoever watches a task, and carries no data
//!
//! Bodies are opaque bytes: what a task or an event means is the Orchestrator's business, which alone writes here.
//! Invariant: an event once appended is never changed, and a task's sequence numbers have no gaps.

mod blobs;
#[cfg(feature = "conformance")]
pub mod conformance;
mod doorbell;
mod error;
mod folder;
pub mod invariants;
mod sqlite;
mod tasks;
mod tokens;

use std::path::Path;
use std::sync::Arc;

pub use blobs::{BlobId, BlobStore};
pub use doorbell::{Bell, Doorbell};
pub use error::Error;
pub use folder::Durability;
pub use sqlite::SqliteStore;
pub use tasks::{
    Append, Appended, Claim, Collection, CreateTask, Created, EventRow, ListResources, ListTasks,
    NewEvent, Page, PutResource, RequestId, ResourceRow, TaskRow, TaskStore,
};
pub use tokens::ResumeToken;

/// The task store at an address: `sqlite:///folder/file`. The file and its folder are made if they are missing.
///
/// # Errors
/// `UnknownBackend`, or as for [`SqliteStore::open`].
pub async fn open(uri: &str, durability: Durability) -> Result<Arc<dyn TaskStore>, Error> {
    match uri.split_once("://") {
        Some(("sqlite", path)) if path.starts_with('/') => Ok(Arc::new(
            SqliteStore::open(Path::new(path), durability).await?,
        )),
        _ => Err(Error::UnknownBackend {
            uri: uri.to_owned(),
            known: "sqlite:///folder/file",
        }),
    }
}
