//! What can be wrong with a call to the store or with the store itself, and how each of it travels.

use std::path::PathBuf;

use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::error::ErrorReport;
use tonic::Code;

use crate::blobs::BlobId;

/// Why the store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no task of this name.
    #[error("there is no {task}")]
    TaskNotFound {
        /// The name that was asked for.
        task: TaskName,
    },
    /// A task of this name was created before.
    #[error("{task} already exists; choose another id, or leave it out to be given one")]
    TaskExists {
        /// The name in question.
        task: TaskName,
    },
    /// The request id was used for something else.
    #[error("the request id {id} was already used for another request; use a new one")]
    RequestIdReused {
        /// The id in question.
        id: String,
    },
    /// Somebody else carries the task out by now.
    #[error("the lease of {task} is lost: another orchestrator carries the task out")]
    LeaseLost {
        /// The task in question.
        task: TaskName,
    },
    /// Somebody else has appended meanwhile.
    #[error("{task} has changed meanwhile: its last event is {}, not {}; read it again", last.0, expected.0)]
    Conflict {
        /// The task in question.
        task: TaskName,
        /// What the caller took for the last event.
        expected: EventSeq,
        /// The last event.
        last: EventSeq,
    },
    /// There is no session or desktop of this name.
    #[error("there is no {name}")]
    ResourceNotFound {
        /// The name that was asked for.
        name: String,
    },
    /// A session or desktop of this name was created before.
    #[error("{name} already exists; choose another id, or leave it out to be given one")]
    ResourceExists {
        /// The name in question.
        name: String,
    },
    /// The page token is damaged, or belongs to a list with other arguments.
    #[error(
        "the page token does not belong to this list; start again without one, and keep all other arguments equal"
    )]
    BadPageToken,
    /// The resume token is damaged.
    #[error(
        "the resume token is malformed; pass the last one that was received, or none to begin anew"
    )]
    BadResumeToken,
    /// The resume token is of another task or of a store that was restored since.
    #[error(
        "the resume token belongs to another task, or to the store before it was restored; watch again without one"
    )]
    ResumeTokenExpired,
    /// The resume token speaks of events that are not there.
    #[error("the resume token is ahead of {task}: it says {} and the last event is {}; watch again without one", seq.0, last.0)]
    ResumeTokenAhead {
        /// The task in question.
        task: TaskName,
        /// The number in the token.
        seq: EventSeq,
        /// The last event.
        last: EventSeq,
    },
    /// No such content was stored.
    #[error("there is no blob {id}")]
    BlobNotFound {
        /// The hash that was asked for.
        id: BlobId,
    },
    /// What is stored is not what its name says.
    #[error("the blob {id} is damaged: its content has another hash")]
    BlobCorrupt {
        /// The hash that was asked for.
        id: BlobId,
    },
    /// The address names no back end that this build has.
    #[error("`{uri}` is not a store; known are: {known}")]
    UnknownBackend {
        /// As it was given.
        uri: String,
        /// The forms that are understood.
        known: &'static str,
    },
    /// The folder or file cannot be written.
    #[error("{} cannot be written: {detail}; check that this user may write there", path.display())]
    Unwritable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        detail: String,
    },
    /// There is no space left.
    #[error("the disk that holds {} is full; make space, nothing was lost", path.display())]
    Full {
        /// The file or folder.
        path: PathBuf,
    },
    /// The file is not a database, or a damaged one.
    #[error("{} is damaged or no database of ours: {detail}; restore it from a backup or move it away", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        detail: String,
    },
    /// A newer build has written this database.
    #[error("{} was written by a newer version of Motorium (schema {found}); use that version, or another data folder", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The newest migration that this build does not know.
        found: i64,
    },
    /// There is no database server, or it does not let us in.
    #[error(
        "{place} cannot be reached: {detail}; check that the server runs and that the address, user and password are right"
    )]
    Unreachable {
        /// The server, without user and password.
        place: String,
        /// What was answered, or not.
        detail: String,
    },
    /// Another process holds the database for longer than we wait.
    #[error("{} is held by another process; try again", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// Anything else that the database or the blob store says.
    #[error("the store failed: {0}")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// The one place where an error of the store becomes what travels. Paths of this machine do not.
    #[must_use]
    pub fn report(self) -> ErrorReport {
        let message = self.to_string();
        let report = |code, reason| ErrorReport::new(code, reason, message.clone());
        let internal = |code, reason, text: &str| ErrorReport::new(code, reason, text);
        match self {
            Self::TaskNotFound { task } => {
                report(Code::NotFound, "TASK_NOT_FOUND").with("task", task)
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
            Self::ResourceNotFound { name } => {
                report(Code::NotFound, "RESOURCE_NOT_FOUND").with("name", name)
            }
            Self::ResourceExists { name } => {
                report(Code::AlreadyExists, "RESOURCE_EXISTS").with("name", name)
            }
            Self::BadPageToken => report(Code::InvalidArgument, "PAGE_TOKEN_INVALID"),
            Self::BadResumeToken => report(Code::InvalidArgument, "RESUME_TOKEN_INVALID"),
            // Both have the same remedy, so the client need not tell them apart.
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
                "the store is not configured; the log has more",
            ),
            Self::Unwritable { .. } => internal(
                Code::Internal,
                "STORE_UNWRITABLE",
                "the store cannot be written; the log has more",
            ),
            Self::Full { .. } => internal(
                Code::ResourceExhausted,
                "STORE_FULL",
                "the store's disk is full",
            ),
            Self::Corrupt { .. } => internal(
                Code::DataLoss,
                "STORE_CORRUPT",
                "the store is damaged; the log has more",
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
                "the store failed; the log has more",
            ),
        }
    }
}
