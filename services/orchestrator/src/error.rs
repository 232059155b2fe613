//! Errors of the Orchestrator and their mapping to gRPC statuses.

use motorium_proto::domain::id::{DesktopName, TaskName};
use motorium_proto::error::{ErrorReport, FieldError};
use tonic::{Code, Status};

/// Error reasons of the Orchestrator, each with a page in `docs/errors/`.
pub mod reason {
    pub use motorium_proto::error::reason::AUDIT_UNWRITABLE;
    pub use motorium_task::reason::*;

    pub const DESKTOP_CONFIGURED: &str = "DESKTOP_CONFIGURED";
    pub const DESKTOP_BUSY: &str = "DESKTOP_BUSY";
    pub const DESKTOP_ADDRESS_DENIED: &str = "DESKTOP_ADDRESS_DENIED";
    pub const RUNS_ELSEWHERE: &str = "RUNS_ELSEWHERE";
    pub const NOT_DEPLOYMENT_ADMIN: &str = "NOT_DEPLOYMENT_ADMIN";
    pub const TOO_MANY_EXPORTS: &str = "TOO_MANY_EXPORTS";
    pub const EXPORT_STALLED: &str = "EXPORT_STALLED";
    pub const TOO_MANY_UPLOADS: &str = "TOO_MANY_UPLOADS";
    pub const TOO_MANY_WATCHES: &str = "TOO_MANY_WATCHES";
    pub const UPLOAD_STALLED: &str = "UPLOAD_STALLED";
    pub const SECOND_PERSON_REQUIRED: &str = "SECOND_PERSON_REQUIRED";
}

/// Error of a call to the Orchestrator.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server has authenticated the caller: the code has left the task of its call.
    #[error("the call has no authenticated caller; make it through the server")]
    NoCaller,
    #[error("{0}")]
    Field(#[from] FieldError),
    #[error("{task} has ended ({state}); it accepts no more commands")]
    TaskEnded { task: TaskName, state: &'static str },
    #[error("{task} is {state}; {needed}")]
    WrongState {
        task: TaskName,
        state: &'static str,
        needed: &'static str,
    },
    #[error("{operator} has the desktop of {task}; it can be taken over once it is handed back")]
    TakenOver { task: TaskName, operator: String },
    #[error(
        "{operator} has the desktop of {task}; that person hands it back, or an administrator for them"
    )]
    OperatedByAnother { task: TaskName, operator: String },
    #[error(
        "{task} is carried out by the orchestrator `{orchestrator}`, which alone has its desktop; make the call there, with \
         the address of that orchestrator"
    )]
    RunsElsewhere {
        task: TaskName,
        orchestrator: String,
    },
    #[error("there is no desktop {name}; known desktops: {known}")]
    DesktopNotFound { name: String, known: String },
    #[error(
        "{name} is a desktop of the configuration, which registrations do not replace; choose another name"
    )]
    DesktopConfigured { name: DesktopName },
    #[error(
        "{name} is a desktop of the configuration; remove it there, or drain it to give it no more tasks"
    )]
    DesktopNotRegistered { name: DesktopName },
    #[error("a task runs on {name}; drain it, and remove it when the task has ended")]
    DesktopBusy { name: DesktopName },
    #[error(
        "{field}: desktops may not be registered at {address}; the operator can add its host to \
         orchestrator.allowed_desktop_addresses"
    )]
    DesktopAddressDenied {
        field: &'static str,
        address: String,
    },
    #[error(
        "{principal} may not change desktops, which all tenants share; ask a principal with the role `admin` in the \
         tenant `default`"
    )]
    NotDeploymentAdmin { principal: String },
    #[error(
        "{name} needs a second person: {principal} created the task and may only deny it; ask another approver"
    )]
    SecondPersonRequired { name: String, principal: String },
    #[error("there is no {name}; create the session, or leave it empty")]
    SessionNotFound { name: String },
    #[error("there is no {name}; ListSteps and the events of the task name its artifacts")]
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
    #[error("too many exports are being made; repeat the call when others have ended")]
    TooManyExports,
    #[error("the export has stalled: nothing of it was received for 30 s; export again")]
    ExportStalled,
    #[error("too many files are being uploaded; repeat the call when others have ended")]
    TooManyUploads,
    #[error(
        "too many watches are open; close some, or watch a session instead of each of its tasks"
    )]
    TooManyWatches,
    #[error("the upload has stalled: no chunk came for 30 s; upload the file again")]
    UploadStalled,
    #[error("the audit log cannot be written")]
    AuditFailed(#[source] motorium_store::Error),
    #[error(transparent)]
    Store(#[from] motorium_store::Error),
}

impl From<motorium_recording::trajectory::Error> for Error {
    fn from(error: motorium_recording::trajectory::Error) -> Self {
        match error {
            motorium_recording::trajectory::Error::Log(error) => error.into(),
            error => Self::ExportFailed {
                detail: error.to_string(),
            },
        }
    }
}

impl From<motorium_recording::log::Error> for Error {
    fn from(error: motorium_recording::log::Error) -> Self {
        use motorium_recording::log::Error as Log;
        match error {
            Log::Corrupt { detail } => Self::CorruptLog { detail },
            Log::Store(error) => Self::Store(error),
        }
    }
}

impl Error {
    /// Converts the error into a report for the caller. Every status of this service is created here.
    #[must_use]
    pub fn report(self) -> ErrorReport {
        let message = self.to_string();
        match self {
            Error::NoCaller => ErrorReport::new(
                Code::Unauthenticated,
                motorium_proto::error::reason::UNAUTHENTICATED,
                message,
            ),
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
            Error::TakenOver { task, operator } | Error::OperatedByAnother { task, operator } => {
                ErrorReport::new(Code::FailedPrecondition, reason::WRONG_STATE, message)
                    .with("task", task)
                    .with("operator", operator)
            }
            Error::RunsElsewhere { task, orchestrator } => {
                ErrorReport::new(Code::FailedPrecondition, reason::RUNS_ELSEWHERE, message)
                    .with("task", task)
                    .with("orchestrator", orchestrator)
            }
            Error::DesktopNotFound { name, .. } => {
                ErrorReport::new(Code::NotFound, reason::DESKTOP_NOT_FOUND, message)
                    .with("desktop", name)
            }
            Error::DesktopConfigured { name } => {
                ErrorReport::new(Code::AlreadyExists, reason::DESKTOP_CONFIGURED, message)
                    .with("desktop", name)
            }
            Error::DesktopNotRegistered { name } => ErrorReport::new(
                Code::FailedPrecondition,
                reason::DESKTOP_CONFIGURED,
                message,
            )
            .with("desktop", name),
            Error::DesktopBusy { name } => {
                ErrorReport::new(Code::FailedPrecondition, reason::DESKTOP_BUSY, message)
                    .with("desktop", name)
            }
            Error::DesktopAddressDenied { field, address } => ErrorReport::new(
                Code::PermissionDenied,
                reason::DESKTOP_ADDRESS_DENIED,
                message,
            )
            .with("field", field)
            .with("address", address),
            Error::NotDeploymentAdmin { principal } => ErrorReport::new(
                Code::PermissionDenied,
                reason::NOT_DEPLOYMENT_ADMIN,
                message,
            )
            .with("principal", principal),
            Error::SecondPersonRequired { name, principal } => ErrorReport::new(
                Code::PermissionDenied,
                reason::SECOND_PERSON_REQUIRED,
                message,
            )
            .with("approval", name)
            .with("principal", principal),
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
                ErrorReport::new(Code::DataLoss, reason::EVENT_LOG_CORRUPT, message)
            }
            Error::ExportFailed { .. } => {
                ErrorReport::new(Code::Internal, reason::EXPORT_FAILED, message)
            }
            Error::TooManyExports => {
                ErrorReport::new(Code::ResourceExhausted, reason::TOO_MANY_EXPORTS, message)
            }
            Error::ExportStalled => {
                ErrorReport::new(Code::DeadlineExceeded, reason::EXPORT_STALLED, message)
            }
            Error::TooManyUploads => {
                ErrorReport::new(Code::ResourceExhausted, reason::TOO_MANY_UPLOADS, message)
            }
            Error::TooManyWatches => {
                ErrorReport::new(Code::ResourceExhausted, reason::TOO_MANY_WATCHES, message)
            }
            Error::UploadStalled => {
                ErrorReport::new(Code::DeadlineExceeded, reason::UPLOAD_STALLED, message)
            }
            Error::AuditFailed(error) => {
                // The caller learns no path of this machine.
                tracing::error!(%error, "the audit log cannot be written; calls that change something fail");
                ErrorReport::new(error.report().code, reason::AUDIT_UNWRITABLE, message)
            }
            Error::Store(error) => {
                let cause = error.to_string();
                let report = error.report();
                // The caller learns only the kind of it, and is sent here.
                if matches!(report.code, Code::Internal | Code::DataLoss) {
                    tracing::error!(cause, "the store failed");
                }
                report
            }
        }
    }
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        error.report().into_status()
    }
}

/// Returns whether a retry may help. A connection that breaks during a call is reported under several codes.
pub(crate) fn is_transient(report: &ErrorReport) -> bool {
    let broken_off = matches!(
        report.code,
        Code::Unknown | Code::Cancelled | Code::Internal
    );
    let unavailable = matches!(
        report.code,
        Code::Unavailable | Code::ResourceExhausted | Code::Aborted
    ) && report.reason != motorium_proto::error::reason::MESSAGE_TOO_LARGE;
    unavailable || (broken_off && report.reason == motorium_proto::error::reason::TRANSPORT)
}
