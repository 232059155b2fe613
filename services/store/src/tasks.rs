//! What a store of tasks does, whichever database it is.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};

use crate::Error;

/// Tasks and their events. Every method is one transaction.
///
/// Times are passed in, so that tests need no waiting; they are kept in whole milliseconds.
#[async_trait]
pub trait TaskStore: Send + Sync + 'static {
    /// Creates a task together with its first event (sequence 1).
    ///
    /// The same `request_id` with the same `fingerprint` gives the first task again.
    ///
    /// # Errors
    /// `RequestIdReused` for another fingerprint, `TaskExists` if the name is taken.
    async fn create_task(&self, task: CreateTask) -> Result<Created, Error>;

    /// A task's row.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn get_task(&self, name: &TaskName) -> Result<TaskRow, Error>;

    /// Tasks, the newest first.
    ///
    /// # Errors
    /// `BadPageToken` if the token is malformed or belongs to other arguments.
    async fn list_tasks(&self, list: ListTasks) -> Result<Page<TaskRow>, Error>;

    /// Tasks that nobody carries out and that are due: in one of the given states, with `run_after` past, and not
    /// leased, or leased by `owner` itself, or with a lease that has ended. By priority, then by age.
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

    /// Takes a task: sets its owner and its lease and mints a new epoch. `None` if somebody else was first.
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

    /// Keeps a lease until `now + ttl`.
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

    /// Gives a task back, so that anybody may claim it at once. A lost lease is no error.
    ///
    /// # Errors
    /// If the store cannot be written.
    async fn release(&self, name: &TaskName, epoch: TaskEpoch) -> Result<(), Error>;

    /// Appends events and updates the task's row, all or nothing.
    ///
    /// # Errors
    /// `LeaseLost` if `epoch` is given and no longer the task's; `RequestIdReused` as for `create_task`;
    /// `TaskNotFound`; `Conflict` if `expected_seq` is given and not the task's last one.
    async fn append(&self, append: Append) -> Result<Appended, Error>;

    /// Events after `after`, at most `limit`, in order.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn events(
        &self,
        name: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> Result<Vec<EventRow>, Error>;

    /// The notes of all appends, each with the number of the last event that it was appended with, in order.
    ///
    /// # Errors
    /// `TaskNotFound`.
    async fn notes(&self, name: &TaskName) -> Result<Vec<(EventSeq, Bytes)>, Error>;

    /// Names the store's content; another after a restore from a backup. Part of resume tokens.
    fn generation(&self) -> &str;

    /// Writes a session or a desktop: a new one, or in place of the one of the same name.
    ///
    /// # Errors
    /// `ResourceExists` if it is to be new and is not; `RequestIdReused` as for `create_task`.
    async fn put_resource(&self, put: PutResource) -> Result<ResourceRow, Error>;

    /// A session or a desktop by its full name.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    async fn get_resource(&self, name: &str) -> Result<ResourceRow, Error>;

    /// Sessions or desktops, the newest first.
    ///
    /// # Errors
    /// `BadPageToken` if the token is malformed or belongs to other arguments.
    async fn list_resources(&self, list: ListResources) -> Result<Page<ResourceRow>, Error>;
}

/// A task to create.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTask {
    pub name: TaskName,
    pub uid: String,
    pub session: Option<String>,
    /// The contract's number of the state it begins in.
    pub state: i32,
    pub priority: i32,
    pub run_after: Option<SystemTime>,
    pub labels: BTreeMap<String, String>,
    /// The task as lists show it.
    pub snapshot: Bytes,
    pub first_event: NewEvent,
    pub request: Option<RequestId>,
    pub now: SystemTime,
}

/// What makes a call repeatable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    pub id: String,
    /// Hash of the request's body.
    pub fingerprint: [u8; 32],
}

/// A created task, or the one that the same request created before.
#[derive(Debug, Clone, PartialEq)]
pub struct Created {
    pub task: TaskRow,
    pub repeated: bool,
}

/// A task's row.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRow {
    pub name: TaskName,
    pub uid: String,
    pub state: i32,
    pub snapshot: Bytes,
    pub last_seq: EventSeq,
    pub epoch: TaskEpoch,
    pub owner: Option<String>,
    pub lease_until: Option<SystemTime>,
    pub create_time: SystemTime,
    pub update_time: SystemTime,
}

/// A lease that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    pub epoch: TaskEpoch,
    pub task: TaskRow,
}

/// An event to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    pub at: SystemTime,
    /// For people who look into the database.
    pub kind: &'static str,
    /// Encoded without its sequence number, which the reader sets from the row.
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

/// Events to append, and what changes with them.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    pub name: TaskName,
    /// `Some`: only if this is still the task's epoch. `None`: a user's command, which needs no lease.
    pub epoch: Option<TaskEpoch>,
    /// `Some`: only if this is still the task's last sequence number.
    pub expected_seq: Option<EventSeq>,
    pub events: Vec<NewEvent>,
    /// What led to the events: nothing that the store or a reader of events looks at.
    pub notes: Option<Bytes>,
    /// The state and the snapshot after the events; `None` leaves them.
    pub view: Option<(i32, Bytes)>,
    pub request: Option<RequestId>,
    /// `Some`: keeps the lease until `now` and so long, as [`TaskStore::renew`] does. Only with an epoch.
    pub lease: Option<Duration>,
    pub now: SystemTime,
}

impl Append {
    /// Until when the lease is kept.
    pub(crate) fn lease_until(&self) -> Option<SystemTime> {
        self.epoch.and(self.lease).map(|lease| self.now + lease)
    }
}

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// Sequence number of the first of the appended events.
    pub first_seq: EventSeq,
    pub last_seq: EventSeq,
    /// The same request was made before: nothing was appended this time.
    pub repeated: bool,
}

/// Which tasks to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListTasks {
    /// At least 1.
    pub page_size: u32,
    pub page_token: Option<String>,
    /// Empty: all.
    pub states: Vec<i32>,
    pub session: Option<String>,
    pub labels: BTreeMap<String, String>,
}

/// A session or a desktop to write.
#[derive(Debug, Clone, PartialEq)]
pub struct PutResource {
    pub collection: Collection,
    /// The full name, `sessions/…` or `desktops/…`.
    pub name: String,
    pub body: Bytes,
    pub labels: BTreeMap<String, String>,
    /// Whether one of the same name is replaced, or is an error.
    pub replace: bool,
    pub request: Option<RequestId>,
    pub now: SystemTime,
}

/// What a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collection {
    Sessions,
    Desktops,
}

impl Collection {
    /// The first part of its names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Desktops => "desktops",
        }
    }
}

/// A stored session or desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRow {
    pub name: String,
    pub body: Bytes,
    pub create_time: SystemTime,
    pub update_time: SystemTime,
}

/// Which sessions or desktops to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListResources {
    pub collection: Collection,
    /// At least 1.
    pub page_size: u32,
    pub page_token: Option<String>,
    /// All of these; empty: whatever labels there are.
    pub labels: BTreeMap<String, String>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// `None` on the last page.
    pub next: Option<String>,
}
