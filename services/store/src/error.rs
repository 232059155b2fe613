//! Errors of the store, and their mapping to error reports.
//!
//! Errors of a database are not classified here: the module of the database does that.

use std::path::PathBuf;

use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::error::{ErrorReport, reason};
use tonic::Code;

use crate::blob_id::BlobId;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no task with this name.
    #[error("there is no {task}")]
    TaskNotFound {
        /// Requested name.
        task: TaskName,
    },
    /// A task with this name already exists.
    #[error("{task} already exists; choose another id, or omit it to have one assigned")]
    TaskExists {
        /// Name that already exists.
        task: TaskName,
    },
    /// The request id was used for another request.
    #[error("the request id {id} was already used for another request; use a new one")]
    RequestIdReused {
        /// Request id.
        id: String,
    },
    /// Another orchestrator has claimed the task.
    #[error("the lease of {task} is lost: another orchestrator runs the task")]
    LeaseLost {
        /// Task.
        task: TaskName,
    },
    /// Events were appended in the meantime.
    #[error("{task} has changed in the meantime: its last event is {}, not {}; read it again", last.0, expected.0)]
    Conflict {
        /// Task.
        task: TaskName,
        /// Last event expected by the caller.
        expected: EventSeq,
        /// Actual last event.
        last: EventSeq,
    },
    /// The task has not ended, so it cannot be deleted.
    #[error("{task} has not ended; cancel it first")]
    TaskNotEnded {
        /// Task.
        task: TaskName,
    },
    /// The session has tasks, which were not to be deleted with it.
    #[error(
        "{session} has {tasks} tasks; delete them first, or set `force` to delete them with it"
    )]
    SessionNotEmpty {
        /// Full name of the session.
        session: String,
        /// Number of its tasks.
        tasks: usize,
    },
    /// There is no session or desktop with this name.
    #[error("there is no {name}")]
    ResourceNotFound {
        /// Requested name.
        name: String,
    },
    /// A session or desktop with this name already exists.
    #[error("{name} already exists; choose another id, or omit it to have one assigned")]
    ResourceExists {
        /// Name that already exists.
        name: String,
    },
    /// The page token is malformed, or belongs to a list with other arguments.
    #[error(
        "the page token does not belong to this list; start again without one, and keep all other arguments unchanged"
    )]
    BadPageToken,
    /// The resume token is malformed.
    #[error(
        "the resume token is malformed; pass the last one received, or none to start from the beginning"
    )]
    BadResumeToken,
    /// The resume token belongs to another task or session, or to the store before a restore from a backup.
    #[error(
        "the resume token belongs to another task or session, or to the store before it was restored; watch again without one"
    )]
    ResumeTokenExpired,
    /// The resume token refers to events that do not exist.
    #[error("the resume token is ahead of {task}: its event is {}, but the last event is {}; watch again without one", seq.0, last.0)]
    ResumeTokenAhead {
        /// Task.
        task: TaskName,
        /// Sequence number in the token.
        seq: EventSeq,
        /// Actual last event.
        last: EventSeq,
    },
    /// There is no blob with this hash.
    #[error("there is no blob {id}")]
    BlobNotFound {
        /// Requested hash.
        id: BlobId,
    },
    /// The content of the blob does not match its hash.
    #[error("the blob {id} is damaged: its content does not match its hash")]
    BlobCorrupt {
        /// Requested hash.
        id: BlobId,
    },
    /// The address does not name a known backend.
    #[error("unknown store `{uri}`; use one of: {known}")]
    UnknownBackend {
        /// Address as it was given.
        uri: String,
        /// Supported forms of addresses.
        known: &'static str,
    },
    /// The folder or file cannot be written.
    #[error("{} cannot be written: {detail}; check that this user may write there", path.display())]
    Unwritable {
        /// File or folder.
        path: PathBuf,
        /// Error of the operating system.
        detail: String,
    },
    /// The disk is full.
    #[error("the disk of {} is full; free some space, nothing was lost", path.display())]
    Full {
        /// File or folder.
        path: PathBuf,
    },
    /// The file is damaged, or not a database.
    #[error("{} is damaged or not a Motorium database: {detail}; restore it from a backup or move it away", path.display())]
    Corrupt {
        /// File.
        path: PathBuf,
        /// Error of the database.
        detail: String,
    },
    /// A newer build has written this database.
    #[error("{} was written by a newer version of Motorium (schema {found}); use that version, or another data folder", path.display())]
    TooNew {
        /// File.
        path: PathBuf,
        /// Migration that this build does not know.
        found: i64,
    },
    /// The database server is not running, or rejects the connection.
    #[error(
        "{place} cannot be reached: {detail}; check that the server runs and that the address, user and password are right"
    )]
    Unreachable {
        /// Address of the server, without user and password.
        place: String,
        /// Error of the connection.
        detail: String,
    },
    /// Another process has locked the database for longer than the timeout.
    #[error("{} is locked by another process; try again", path.display())]
    Busy {
        /// File.
        path: PathBuf,
    },
    /// Any other error of the database or the blob store.
    #[error("the store failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Maps the error to a report for the caller. Reports never have paths of this machine.
    #[must_use]
    pub fn report(self) -> ErrorReport {
        let message = self.to_string();
        let report = |code, reason| ErrorReport::new(code, reason, message.clone());
        let internal = |code, reason, text: &str| ErrorReport::new(code, reason, text);
        match self {
            Self::TaskNotFound { task } => {
                report(Code::NotFound, reason::TASK_NOT_FOUND).with("task", task)
            }
            Self::TaskExists { task } => {
                report(Code::AlreadyExists, "TASK_EXISTS").with("task", task)
            }
            Self::RequestIdReused { id } => {
                report(Code::InvalidArgument, "REQUEST_ID_REUSED").with("request_id", id)
            }
            Self::LeaseLost { task } => report(Code::Aborted, "LEASE_LOST").with("task", task),
            Self::Conflict {
                task,
                expected,
                last,
            } => report(Code::Aborted, "TASK_CHANGED")
                .with("task", task)
                .with("expected", expected.0)
                .with("last", last.0),
            Self::TaskNotEnded { task } => {
                report(Code::FailedPrecondition, "TASK_NOT_ENDED").with("task", task)
            }
            Self::SessionNotEmpty { session, tasks } => {
                report(Code::FailedPrecondition, "SESSION_NOT_EMPTY")
                    .with("session", session)
                    .with("tasks", tasks)
            }
            Self::ResourceNotFound { name } => {
                report(Code::NotFound, reason::RESOURCE_NOT_FOUND).with("name", name)
            }
            Self::ResourceExists { name } => {
                report(Code::AlreadyExists, "RESOURCE_EXISTS").with("name", name)
            }
            Self::BadPageToken => report(Code::InvalidArgument, "PAGE_TOKEN_INVALID"),
            Self::BadResumeToken => report(Code::InvalidArgument, "RESUME_TOKEN_INVALID"),
            // Both have the same remedy, so they share a reason.
            Self::ResumeTokenExpired => report(Code::OutOfRange, "RESUME_TOKEN_EXPIRED"),
            Self::ResumeTokenAhead { task, seq, last } => {
                report(Code::OutOfRange, "RESUME_TOKEN_EXPIRED")
                    .with("task", task)
                    .with("sequence", seq.0)
                    .with("last", last.0)
            }
            Self::BlobNotFound { id } => {
                report(Code::NotFound, "BLOB_NOT_FOUND").with("sha256", id)
            }
            Self::BlobCorrupt { id } => report(Code::DataLoss, "BLOB_CORRUPT").with("sha256", id),
            Self::UnknownBackend { .. } => internal(
                Code::Internal,
                "STORE_FAILED",
                "the store is not configured; see the server's log",
            ),
            Self::Unwritable { .. } => internal(
                Code::Internal,
                "STORE_UNWRITABLE",
                "the store cannot be written; see the server's log",
            ),
            Self::Full { .. } => internal(
                Code::ResourceExhausted,
                "STORE_FULL",
                "the store's disk is full",
            ),
            Self::Corrupt { .. } => internal(
                Code::DataLoss,
                "STORE_CORRUPT",
                "the store is damaged; see the server's log",
            ),
            Self::TooNew { .. } => internal(
                Code::FailedPrecondition,
                "STORE_TOO_NEW",
                "the store was written by a newer version of Motorium",
            ),
            Self::Unreachable { .. } => internal(
                Code::Unavailable,
                "STORE_UNREACHABLE",
                "the store cannot be reached; try again",
            ),
            Self::Busy { .. } => internal(
                Code::Unavailable,
                "STORE_BUSY",
                "the store is busy; try again",
            ),
            Self::Failed(_) => internal(
                Code::Internal,
                "STORE_FAILED",
                "the store failed; see the server's log",
            ),
        }
    }
}
