//! The task store interface, independent of the database.
//!
//! A store does not interpret the bodies of events: the crate `motorium_recording` encodes and decodes them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};

use crate::{Error, StoreUpkeep};

/// A store of tasks and their events. Every method is one transaction.
///
/// Times are injected, so that tests need not wait. They are stored in whole milliseconds.
#[async_trait]
pub trait TaskStore: StoreUpkeep {
    /// Creates a task together with its first event (sequence 1).
    ///
    /// The same request id with the same fingerprint returns the first task again.
    ///
    /// # Errors
    /// `RequestIdReused` for another fingerprint, `TaskExists` if the name is taken, `ResourceNotFound` if there is no such
    /// session.
    async fn create_task(&self, task: CreateTask) -> Result<Created, Error>;

    /// Gets a task.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn get_task(&self, name: &TaskName) -> Result<TaskRow, Error>;

    /// Lists tasks, the newest first.
    ///
    /// # Errors
    /// `BadPageToken` if the token is malformed or belongs to other arguments.
    async fn list_tasks(&self, list: ListTasks) -> Result<Page<TaskRow>, Error>;

    /// Lists tasks that `owner` can claim: in one of the given states, with `run_after` in the past, and unleased, leased
    /// by `owner` itself, or with an expired lease. Ordered by priority, then by age.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn claimable(
        &self,
        states: &[i32],
        owner: &str,
        now: SystemTime,
        limit: u32,
    ) -> Result<Vec<TaskRow>, Error>;

    /// Returns the task that comes before a task in its session, the oldest first: one that has started and not ended, or
    /// one that waits, is due, and is older or about to start. `None` if the task may start.
    ///
    /// # Errors
    /// If the store cannot be read.
    async fn session_predecessor(&self, query: SessionQuery) -> Result<Option<TaskRow>, Error>;

    /// Claims a task: sets its owner and lease, and issues a new epoch. `None` if another owner has a valid lease.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn claim(
        &self,
        name: &TaskName,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<Option<Claim>, Error>;

    /// Renews a lease until `now + ttl`.
    ///
    /// # Errors
    /// `LeaseLost` if the epoch is no longer the task's.
    async fn renew(
        &self,
        name: &TaskName,
        epoch: TaskEpoch,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<(), Error>;

    /// Releases a task, so that any owner can claim it at once. A lost lease is not an error.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn release(&self, name: &TaskName, epoch: TaskEpoch) -> Result<(), Error>;

    /// Appends events and updates the task's row, atomically.
    ///
    /// # Errors
    /// `LeaseLost` if `epoch` is given and no longer the task's; `RequestIdReused` as for `create_task`;
    /// `TaskNotFound`; `Conflict` if `expected_seq` is given and not the task's last one.
    async fn append(&self, append: Append) -> Result<Appended, Error>;

    /// Reads at most `limit` events after `after`, in order.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn events(
        &self,
        name: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> Result<Vec<EventRow>, Error>;

    /// Reads the notes of all appends in order, each with the number of the last event of its append.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn notes(&self, name: &TaskName) -> Result<Vec<(EventSeq, Bytes)>, Error>;

    /// Returns the generation of the store, which changes after a restore from a backup. Part of resume tokens.
    fn generation(&self) -> &str;

    /// Creates or replaces a session, a desktop or an upload.
    ///
    /// # Errors
    /// `ResourceExists` if it exists and must not be replaced; `RequestIdReused` as for `create_task`.
    async fn put_resource(&self, put: PutResource) -> Result<ResourceRow, Error>;

    /// Gets a session or a desktop by its full name.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    async fn get_resource(&self, name: &str) -> Result<ResourceRow, Error>;

    /// Removes a desktop or an upload, with its labels. The same request may be repeated.
    ///
    /// # Errors
    /// `ResourceNotFound`; `RequestIdReused` as for `create_task`.
    async fn remove_resource(
        &self,
        name: &str,
        request: Option<RequestId>,
        now: SystemTime,
    ) -> Result<(), Error>;

    /// Lists sessions or desktops, the newest first.
    ///
    /// # Errors
    /// `BadPageToken` if the token is malformed or belongs to other arguments.
    async fn list_resources(&self, list: ListResources) -> Result<Page<ResourceRow>, Error>;

    /// Checks that the store can be read.
    ///
    /// # Errors
    /// If it cannot.
    async fn check(&self) -> Result<(), Error>;
}

/// A task to create.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTask {
    pub name: TaskName,
    pub uid: String,
    pub tenant: String,
    pub session: Option<String>,
    /// Initial state, by its number in the contract.
    pub state: i32,
    pub priority: i32,
    pub run_after: Option<SystemTime>,
    pub labels: BTreeMap<String, String>,
    /// Encoded task for lists.
    pub snapshot: Bytes,
    pub first_event: NewEvent,
    pub request: Option<RequestId>,
    pub now: SystemTime,
}

/// Request id that makes a call idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    pub id: String,
    /// Hash of the request's body.
    pub fingerprint: [u8; 32],
}

/// A created task, or the one that the same request has created before.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    pub task: TaskRow,
    pub repeated: bool,
}

/// Row of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    pub name: TaskName,
    pub uid: String,
    pub tenant: String,
    pub state: i32,
    pub snapshot: Bytes,
    pub last_seq: EventSeq,
    pub epoch: TaskEpoch,
    pub owner: Option<String>,
    pub lease_until: Option<SystemTime>,
    pub create_time: SystemTime,
    pub update_time: SystemTime,
}

/// A claimed task with its new epoch.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub epoch: TaskEpoch,
    pub task: TaskRow,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub at: SystemTime,
    /// Kind of the event, for people who inspect the database.
    pub kind: &'static str,
    /// Encoded event without its sequence number, which the reader sets from the row.
    pub body: Bytes,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    pub seq: EventSeq,
    pub at: SystemTime,
    pub kind: String,
    pub body: Bytes,
}

/// Events to append, with the update of the task's row.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    pub name: TaskName,
    /// Epoch that the task must still have. `None` for a user's command, which requires no lease.
    pub epoch: Option<TaskEpoch>,
    /// Last sequence number that the task must still have, if any.
    pub expected_seq: Option<EventSeq>,
    pub events: Vec<NewEvent>,
    /// Opaque data stored with the events (the recording). Not read with events.
    pub notes: Option<Bytes>,
    /// State and snapshot after the events; `None` for no change.
    pub view: Option<(i32, Bytes)>,
    pub request: Option<RequestId>,
    /// Duration by which to renew the lease, like [`TaskStore::renew`]. Only with an epoch.
    pub lease: Option<Duration>,
    pub now: SystemTime,
}

impl CreateTask {
    /// Returns about the size that it has in the log of a database, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        bytes_of(&self.labels) + self.snapshot.len() + self.first_event.body.len()
    }
}

impl PutResource {
    /// Returns about the size that it has in the log of a database, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        bytes_of(&self.labels) + self.body.len()
    }
}

impl Append {
    /// Returns about the size that it has in the log of a database, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let events: usize = self.events.iter().map(|event| event.body.len()).sum();
        let view = self.view.as_ref().map_or(0, |(_, view)| view.len());
        let notes = self.notes.as_ref().map_or(0, |notes| notes.len());
        events + view + notes
    }

    /// Returns the new expiry of the lease.
    pub(crate) fn lease_until(&self) -> Option<SystemTime> {
        self.epoch.and(self.lease).map(|lease| self.now + lease)
    }
}

/// Size that a label has in the log of a database, in bytes.
// Each is a row with an index, and changes pages of 4 KiB: 2000 tasks with 100 labels of 512 bytes made 2.8 GB of log.
const LABEL_BYTES: usize = 4 * 4096;

/// Returns the size of labels in the log of a database, in bytes.
fn bytes_of(labels: &BTreeMap<String, String>) -> usize {
    labels.len() * LABEL_BYTES
}

/// Result of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Sequence number of the first appended event.
    pub first_seq: EventSeq,
    pub last_seq: EventSeq,
    /// True if the same request was completed before; nothing was appended this time.
    pub repeated: bool,
}

/// Filter and page of a task list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListTasks {
    /// At least 1.
    pub page_size: u32,
    pub page_token: Option<String>,
    /// States to list. Empty for all.
    pub states: Vec<i32>,
    pub session: Option<String>,
    /// Tenant whose tasks are listed. `None` for those of all.
    pub tenant: Option<String>,
    pub labels: BTreeMap<String, String>,
}

/// Arguments of [`TaskStore::session_predecessor`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    pub session: String,
    /// Task that wants to start.
    pub task: TaskName,
    /// States of a task that has started and not ended.
    pub started: Vec<i32>,
    /// State of a task that waits to start.
    pub waiting: i32,
    /// Consider only tasks with a valid lease, which an orchestrator carries out now.
    pub leased_only: bool,
    pub now: SystemTime,
}

/// A session, a desktop or an upload to write.
#[derive(Debug, Clone, PartialEq)]
pub struct PutResource {
    pub collection: Collection,
    /// The full name, such as `sessions/…` or `desktops/…`.
    pub name: String,
    /// Tenant that a new one belongs to. One that is replaced keeps its own.
    pub tenant: String,
    pub body: Bytes,
    pub labels: BTreeMap<String, String>,
    /// True to replace one with the same name; otherwise that is an error.
    pub replace: bool,
    pub request: Option<RequestId>,
    pub now: SystemTime,
}

/// Collection of resources that are stored by name, as in `sessions/one`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    Sessions,
    Desktops,
    /// Uploads by tenant and content.
    Uploads,
    /// Files that deleted tasks have left on desktops, by the tasks.
    FileDeletions,
}

impl Collection {
    /// Returns the collection's identifier: the first segment of its resources' names, such as `sessions`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Desktops => "desktops",
            Self::Uploads => "uploads",
            Self::FileDeletions => "file-deletions",
        }
    }
}

/// A stored session, desktop or upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRow {
    pub name: String,
    pub tenant: String,
    pub body: Bytes,
    pub create_time: SystemTime,
    pub update_time: SystemTime,
}

/// Filter and page of a list of sessions or desktops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListResources {
    pub collection: Collection,
    /// Tenant whose resources are listed. `None` for those of all.
    pub tenant: Option<String>,
    /// At least 1.
    pub page_size: u32,
    pub page_token: Option<String>,
    /// Labels that a resource must have, all of them.
    pub labels: BTreeMap<String, String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<String>,
}
