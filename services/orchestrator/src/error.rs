//! Everything that can be wrong with a call to the Orchestrator, and how it travels.

use motorium_proto::domain::id::TaskName;
use motorium_proto::error::{ErrorReport, FieldError};
use tonic::{Code, Status};

/// Why a call cannot be answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}")]
    Field(#[from] FieldError),
    #[error("{task} has ended ({state}); nothing can be done with it any more")]
    TaskEnded { task: TaskName, state: &'static str },
    #[error("{task} is {state}; {needed}")]
    WrongState {
        task: TaskName,
        state: &'static str,
        needed: &'static str,
    },
    #[error("there is no desktop {name}; there are: {known}")]
    DesktopNotFound { name: String, known: String },
    #[error("there is no {name}; create it with CreateSession, or leave the session empty")]
    SessionNotFound { name: String },
    #[error("there is no {name}")]
    ArtifactNotFound { name: String },
    #[error("there is no {name}")]
    ApprovalNotFound { name: String },
    #[error("{name} {state}")]
    ApprovalEnded { name: String, state: &'static str },
    #[error(
        "the stored log cannot be read: {detail}; it was written by another version or damaged"
    )]
    CorruptLog { detail: String },
    #[error("the trajectory cannot be exported: {detail}")]
    ExportFailed { detail: String },
    #[error(transparent)]
    Store(#[from] motorium_store::Error),
}

impl From<crate::trajectory::Error> for Error {
    fn from(error: crate::trajectory::Error) -> Self {
        match error {
            crate::trajectory::Error::Log(error) => error,
            error => Self::ExportFailed {
                detail: error.to_string(),
            },
        }
    }
}

/// Reasons of this service alone, each with a page in `docs/errors/`: of calls that are refused, and of tasks that
/// fail.
pub mod reason {
    pub const TASK_ENDED: &str = "TASK_ENDED";
    pub const WRONG_STATE: &str = "WRONG_STATE";
    pub const DESKTOP_NOT_FOUND: &str = "DESKTOP_NOT_FOUND";
    pub const SESSION_NOT_FOUND: &str = "SESSION_NOT_FOUND";
    pub const ARTIFACT_NOT_FOUND: &str = "ARTIFACT_NOT_FOUND";
    pub const APPROVAL_NOT_FOUND: &str = "APPROVAL_NOT_FOUND";
    pub const APPROVAL_ENDED: &str = "APPROVAL_ENDED";
    pub const CORRUPT_LOG: &str = "CORRUPT_LOG";
    pub const EXPORT_FAILED: &str = "EXPORT_FAILED";
    pub const RECORD_UNREADABLE: &str = "RECORD_UNREADABLE";

    pub const TIME_LIMIT: &str = "TIME_LIMIT";
    pub const STEP_LIMIT: &str = "STEP_LIMIT";
    pub const TOKEN_LIMIT: &str = "TOKEN_LIMIT";
    pub const COST_LIMIT: &str = "COST_LIMIT";
    pub const RISK_LIMIT: &str = "RISK_LIMIT";
    pub const PLANNER_GAVE_UP: &str = "PLANNER_GAVE_UP";
    pub const EXPECTATION_NOT_MET: &str = "EXPECTATION_NOT_MET";
    pub const BACKEND_NOT_FOUND: &str = "BACKEND_NOT_FOUND";
    pub const TOOL_NOT_FOUND: &str = "TOOL_NOT_FOUND";
    pub const TOOL_UNREACHABLE: &str = "TOOL_UNREACHABLE";
    pub const TOOL_UNUSABLE: &str = "TOOL_UNUSABLE";
    pub const HOOK_DENIED: &str = "HOOK_DENIED";
    pub const HOOK_FAILED: &str = "HOOK_FAILED";

    /// All of them.
    pub const ALL: &[&str] = &[
        TASK_ENDED,
        WRONG_STATE,
        DESKTOP_NOT_FOUND,
        SESSION_NOT_FOUND,
        ARTIFACT_NOT_FOUND,
        APPROVAL_NOT_FOUND,
        APPROVAL_ENDED,
        CORRUPT_LOG,
        EXPORT_FAILED,
        RECORD_UNREADABLE,
        TIME_LIMIT,
        STEP_LIMIT,
        TOKEN_LIMIT,
        COST_LIMIT,
        RISK_LIMIT,
        PLANNER_GAVE_UP,
        EXPECTATION_NOT_MET,
        BACKEND_NOT_FOUND,
        TOOL_NOT_FOUND,
        TOOL_UNREACHABLE,
        TOOL_UNUSABLE,
        HOOK_DENIED,
        HOOK_FAILED,
    ];
}

impl Error {
    /// The one place where an error becomes what travels.
    #[must_use]
    pub fn report(self) -> ErrorReport {
        let message = self.to_string();
        match self {
            Error::Field(error) => ErrorReport::invalid(error),
            Error::TaskEnded { task, state } => {
                ErrorReport::new(Code::FailedPrecondition, reason::TASK_ENDED, message)
                    .with("task", task)
                    .with("state", state)
            }
            Error::WrongState { task, state, .. } => {
                ErrorReport::new(Code::FailedPrecondition, reason::WRONG_STATE, message)
                    .with("task", task)
                    .with("state", state)
            }
            Error::DesktopNotFound { name, .. } => {
                ErrorReport::new(Code::NotFound, reason::DESKTOP_NOT_FOUND, message)
                    .with("desktop", name)
            }
            Error::SessionNotFound { name } => {
                ErrorReport::new(Code::NotFound, reason::SESSION_NOT_FOUND, message)
                    .with("session", name)
            }
            Error::ArtifactNotFound { name } => {
                ErrorReport::new(Code::NotFound, reason::ARTIFACT_NOT_FOUND, message)
                    .with("artifact", name)
            }
            Error::ApprovalNotFound { name } => {
                ErrorReport::new(Code::NotFound, reason::APPROVAL_NOT_FOUND, message)
                    .with("approval", name)
            }
            Error::ApprovalEnded { name, state } => {
                ErrorReport::new(Code::FailedPrecondition, reason::APPROVAL_ENDED, message)
                    .with("approval", name)
                    .with("state", state)
            }
            Error::CorruptLog { .. } => {
                ErrorReport::new(Code::DataLoss, reason::CORRUPT_LOG, message)
            }
            Error::ExportFailed { .. } => {
                ErrorReport::new(Code::Internal, reason::EXPORT_FAILED, message)
            }
            Error::Store(error) => error.report(),
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        error.report().into_status()
    }
}
