//! Deletion of tasks and sessions, and what keeps a store from growing for ever.
//!
//! A store does not know when a task has ended or which blobs its events name: its caller tells both. The use of a blob is
//! indexed after the events are stored and not with them, so that appends stay as cheap as they are. A sweep of blobs brings
//! the index up to date first, and spares blobs that were written or found again lately ([`BlobStore::remove_unused`]).
//!
//! [`BlobStore::remove_unused`]: crate::BlobStore::remove_unused

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use motorium_proto::domain::id::{EventSeq, TaskName};

use crate::{BlobId, Error};

/// Deletes tasks and sessions, and tells which blobs are used. Every method is one transaction.
#[async_trait]
pub trait StoreUpkeep: Send + Sync + 'static {
    /// Deletes a task with all that belongs to it: events, recording, labels, request ids and uses of blobs. Only in one of
    /// the states `ended`. A run that still holds its lease can no longer write.
    ///
    /// # Errors
    /// `TaskNotFound`; `TaskNotEnded` in any other state.
    async fn delete_task(&self, name: &TaskName, ended: &[i32]) -> Result<(), Error>;

    /// Deletes a session, and its tasks if `with_tasks`. Returns the names of the deleted tasks.
    ///
    /// # Errors
    /// `ResourceNotFound`; `SessionNotEmpty` if it has tasks that are not to be deleted; `TaskNotEnded` if one of its tasks is
    /// in none of the states `ended`. Then nothing is deleted.
    async fn delete_session(
        &self,
        name: &str,
        ended: &[i32],
        with_tasks: bool,
    ) -> Result<Vec<TaskName>, Error>;

    /// Lists tasks that were last changed before a time, the oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn old_tasks(&self, query: OldTasks) -> Result<Vec<TaskName>, Error>;

    /// Lists the names of sessions without tasks that were last changed before a time, the oldest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn old_sessions(&self, query: OldSessions) -> Result<Vec<String>, Error>;

    /// Lists the names of uploads that were last put before a time, after the name `after`, in the order of their names.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn old_uploads(
        &self,
        before: SystemTime,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, Error>;

    /// Deletes an upload, unless it was put again since this time or a task of its tenant uses its content, by the index. Returns
    /// whether it was deleted.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn delete_unused_upload(&self, name: &str, before: SystemTime) -> Result<bool, Error>;

    /// Deletes the notes of all events of a task.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn delete_notes(&self, name: &TaskName) -> Result<(), Error>;

    /// Lists tasks with events whose blobs are not indexed, in the order of creation.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn unindexed(&self, after: TaskCursor, limit: u32) -> Result<Vec<UnindexedTask>, Error>;

    /// Adds the blobs that the events of a task name to the index. Does nothing if the task was deleted meanwhile.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn index_blobs(&self, task: &UnindexedTask, blobs: &[BlobId]) -> Result<(), Error>;

    /// Removes a task from the users of all blobs but these.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn release_blobs(&self, name: &TaskName, kept: &[BlobId]) -> Result<(), Error>;

    /// Returns those of these blobs that a task uses, by the index.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn used_blobs(&self, ids: &[BlobId]) -> Result<HashSet<BlobId>, Error>;

    /// Takes or renews a duty, which one owner has at a time, until `now + ttl`. Returns false if another owner has it.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn take_duty(
        &self,
        duty: &str,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<bool, Error>;

    /// Gives a duty back. One that another owner has stays as it is.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn release_duty(&self, duty: &str, owner: &str) -> Result<(), Error>;

    /// Returns whether the store is a copy that was restored from a backup, and what its tasks may have done since the copy
    /// was made is not settled.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn is_copy(&self) -> Result<bool, Error>;

    /// Records that the store is no longer to be treated as a copy.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn copy_settled(&self) -> Result<(), Error>;
}

/// Position in the tasks by the order of their creation. The default is before the first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskCursor(pub(crate) i64);

/// Arguments of [`StoreUpkeep::old_tasks`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldTasks {
    pub states: Vec<i32>,
    pub tenants: Tenants,
    /// The last change was before this time.
    pub before: SystemTime,
    /// List only tasks of which this part is still there.
    pub with: Option<TaskPart>,
    pub limit: u32,
}

/// Arguments of [`StoreUpkeep::old_sessions`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldSessions {
    pub tenants: Tenants,
    /// The last change was before this time.
    pub before: SystemTime,
    pub limit: u32,
}

/// Tenants whose tasks and sessions are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tenants {
    One(String),
    AllBut(Vec<String>),
}

/// A part of a task that can be deleted before the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskPart {
    /// [`StoreUpkeep::delete_notes`] deletes it.
    Notes,
    /// [`StoreUpkeep::release_blobs`] releases them.
    Blobs,
}

/// A task with events whose blobs are not indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnindexedTask {
    pub cursor: TaskCursor,
    pub name: TaskName,
    pub uid: String,
    /// Events up to this one are indexed.
    pub indexed_seq: EventSeq,
    /// Last event.
    pub last_seq: EventSeq,
}
