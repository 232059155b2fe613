//! Errors of this service's calls, and the single mapping from them to an [`ErrorReport`].
//!
//! A refusal by the rules and a failed input are outcomes of an action, not errors of the call.

use motorium_proto::domain::id::ActionId;
use motorium_proto::error::{ErrorReport, FieldError, reason as common};
use tonic::Code;

use crate::guard::{StorageError, lease};
use crate::{drivers, files, secrets};

/// The reason a call failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server has authenticated the caller, and the code does not act for this process.
    #[error("the call has no authenticated caller; make it through the server")]
    NoCaller,
    /// A field of the request is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The Executor was started without a display.
    #[error(
        "this executor has no display; start one with `motorium up`, or set DISPLAY or executor.displays and restart"
    )]
    NoDisplay,
    /// The Executor does not control the requested display.
    #[error("the display `{display}` is not controlled by this executor; available: {known}")]
    DesktopNotFound { display: String, known: String },
    /// The lease was not granted, or the epoch was rejected.
    #[error(transparent)]
    Lease(#[from] lease::Error),
    /// The action id was used for a different action before.
    #[error(
        "the action id `{id}` was used for a different action before; use a new id for each attempt"
    )]
    ActionIdReused { id: ActionId },
    /// The action was fenced before this call arrived.
    #[error(
        "the action `{id}` was fenced before it started and is not performed; use a new id for each attempt"
    )]
    ActionFenced { id: ActionId },
    /// The call was stopped before its action started.
    #[error("stopped before the action started; nothing was sent")]
    Stopped,
    /// A secret is missing or unusable.
    #[error(transparent)]
    Secret(#[from] secrets::Error),
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] files::Error),
    /// The driver cannot reach its display, or failed outside an action.
    #[error(transparent)]
    Driver(#[from] drivers::Error),
    /// The persistent state cannot be written or read.
    #[error("the persistent state cannot be read or written: {0}")]
    Storage(#[from] StorageError),
    /// A call that changes something cannot be recorded.
    #[error("the audit log cannot be written")]
    AuditFailed(#[source] motorium_store::Error),
    /// The driver does not implement the call.
    #[error("the driver `{driver}` does not support {call}")]
    NotServed {
        driver: &'static str,
        call: &'static str,
    },
    /// An internal task panicked.
    #[error("internal error in the executor; see its log")]
    Internal,
}

/// Error reasons specific to this service, each with a page in `docs/errors/`.
pub mod reason {
    pub use motorium_proto::error::reason::{
        AUDIT_UNWRITABLE, DESKTOP_LEASED, LEASE_EXPIRED, LEASE_SUPERSEDED, LEASE_UNKNOWN,
    };

    pub const DESKTOP_NOT_FOUND: &str = "DESKTOP_NOT_FOUND";
    pub const ACTION_ID_REUSED: &str = "ACTION_ID_REUSED";
    pub const ACTION_FENCED: &str = "ACTION_FENCED";
    pub const ACTION_STOPPED: &str = "ACTION_STOPPED";
    pub const SECRET_NOT_FOUND: &str = "SECRET_NOT_FOUND";
    pub const SECRET_UNUSABLE: &str = "SECRET_UNUSABLE";
    pub const FILE_NOT_FOUND: &str = "FILE_NOT_FOUND";
    pub const FILE_EXISTS: &str = "FILE_EXISTS";
    pub const FILE_TOO_LARGE: &str = "FILE_TOO_LARGE";
    pub const FILE_FAILED: &str = "FILE_FAILED";
    pub const NO_DISPLAY: &str = "NO_DISPLAY";
    pub const DISPLAY_LOST: &str = "DISPLAY_LOST";
    pub const DISPLAY_TIMED_OUT: &str = "DISPLAY_TIMED_OUT";
    pub const INPUT_FAILED: &str = "INPUT_FAILED";
    pub const TOO_MANY_WATCHERS: &str = "TOO_MANY_WATCHERS";
    pub const BROWSER_UNREACHABLE: &str = "BROWSER_UNREACHABLE";
    pub const NO_PAGE: &str = "NO_PAGE";
    pub const PAGE_NOT_RESPONDING: &str = "PAGE_NOT_RESPONDING";
    pub const PAGE_UNSTABLE: &str = "PAGE_UNSTABLE";
    pub const STORAGE_FAILED: &str = "STORAGE_FAILED";

    /// Every reason of this module.
    pub const ALL: &[&str] = &[
        DESKTOP_NOT_FOUND,
        DESKTOP_LEASED,
        LEASE_SUPERSEDED,
        LEASE_EXPIRED,
        LEASE_UNKNOWN,
        ACTION_ID_REUSED,
        ACTION_FENCED,
        ACTION_STOPPED,
        SECRET_NOT_FOUND,
        SECRET_UNUSABLE,
        FILE_NOT_FOUND,
        FILE_EXISTS,
        FILE_TOO_LARGE,
        FILE_FAILED,
        NO_DISPLAY,
        DISPLAY_LOST,
        DISPLAY_TIMED_OUT,
        INPUT_FAILED,
        TOO_MANY_WATCHERS,
        BROWSER_UNREACHABLE,
        NO_PAGE,
        PAGE_NOT_RESPONDING,
        PAGE_UNSTABLE,
        STORAGE_FAILED,
        AUDIT_UNWRITABLE,
    ];
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Field(field) => ErrorReport::invalid(field),
            Error::NoDisplay => ErrorReport::new(Code::Unavailable, reason::NO_DISPLAY, message),
            Error::DesktopNotFound { display, .. } => {
                ErrorReport::new(Code::NotFound, reason::DESKTOP_NOT_FOUND, message)
                    .with("display", display)
            }
            Error::Lease(error) => lease_report(&error, message),
            Error::ActionIdReused { id } => {
                ErrorReport::new(Code::InvalidArgument, reason::ACTION_ID_REUSED, message)
                    .with("action_id", id)
            }
            Error::ActionFenced { id } => {
                ErrorReport::new(Code::FailedPrecondition, reason::ACTION_FENCED, message)
                    .with("action_id", id)
            }
            Error::Stopped => ErrorReport::new(Code::Aborted, reason::ACTION_STOPPED, message),
            Error::Secret(error) => secret_report(&error, message),
            Error::File(error) => file_report(error, message),
            Error::Driver(error) => driver_report(&error, message),
            Error::Storage(_) => ErrorReport::new(Code::Internal, reason::STORAGE_FAILED, message),
            Error::NoCaller => {
                ErrorReport::new(Code::Unauthenticated, common::UNAUTHENTICATED, message)
            }
            Error::AuditFailed(error) => {
                // The caller learns no path of this machine.
                tracing::error!(%error, "the audit log cannot be written; calls that change something fail");
                ErrorReport::new(error.report().code, reason::AUDIT_UNWRITABLE, message)
            }
            Error::NotServed { driver, call } => {
                ErrorReport::new(Code::Unimplemented, common::NOT_SERVED, message)
                    .with("driver", driver)
                    .with("call", call)
            }
            Error::Internal => ErrorReport::new(Code::Internal, common::INTERNAL, message),
        }
    }
}

fn lease_report(error: &lease::Error, message: String) -> ErrorReport {
    let report = |reason| ErrorReport::new(Code::FailedPrecondition, reason, message.clone());
    match error {
        lease::Error::Leased { holder, remaining } => report(reason::DESKTOP_LEASED)
            .with("holder", holder)
            .retry_after(*remaining),
        lease::Error::Superseded { given, highest } => report(reason::LEASE_SUPERSEDED)
            .with("epoch", given)
            .with("highest", highest),
        lease::Error::Expired { given } => report(reason::LEASE_EXPIRED).with("epoch", given),
        lease::Error::UnknownEpoch { given, highest } => report(reason::LEASE_UNKNOWN)
            .with("epoch", given)
            .with("highest", highest),
    }
}

fn secret_report(error: &secrets::Error, message: String) -> ErrorReport {
    let (reason, name) = match error {
        secrets::Error::NotFound { name, .. } => (reason::SECRET_NOT_FOUND, name),
        secrets::Error::Unusable { name, .. } => (reason::SECRET_UNUSABLE, name),
    };
    ErrorReport::new(Code::FailedPrecondition, reason, message).with("secret", name)
}

fn file_report(error: files::Error, message: String) -> ErrorReport {
    match error {
        files::Error::InvalidName { .. } => ErrorReport::invalid(FieldError::new("name", message)),
        files::Error::NotFound { name, .. } => {
            ErrorReport::new(Code::NotFound, reason::FILE_NOT_FOUND, message).with("name", name)
        }
        files::Error::Exists { name } => {
            ErrorReport::new(Code::AlreadyExists, reason::FILE_EXISTS, message).with("name", name)
        }
        files::Error::TooLarge { name, size, limit } => {
            ErrorReport::new(Code::InvalidArgument, reason::FILE_TOO_LARGE, message)
                .with("name", name)
                .with("size", size)
                .with("limit", limit)
        }
        files::Error::Io { .. } => ErrorReport::new(Code::Internal, reason::FILE_FAILED, message),
    }
}

fn driver_report(error: &drivers::Error, message: String) -> ErrorReport {
    let display = |reason, display: &str| {
        ErrorReport::new(Code::Unavailable, reason, message.clone()).with("display", display)
    };
    match error {
        drivers::Error::NoDisplay { display: name, .. } => display(reason::NO_DISPLAY, name),
        drivers::Error::DisplayLost { display: name, .. } => display(reason::DISPLAY_LOST, name),
        drivers::Error::DisplayTimedOut { display: name, .. } => {
            display(reason::DISPLAY_TIMED_OUT, name)
        }
        drivers::Error::TooManyWatchers { max } => {
            ErrorReport::new(Code::ResourceExhausted, reason::TOO_MANY_WATCHERS, message)
                .with("limit", max)
        }
        drivers::Error::BrowserUnreachable { .. } | drivers::Error::BrowserDisconnected => {
            ErrorReport::new(Code::Unavailable, reason::BROWSER_UNREACHABLE, message)
        }
        drivers::Error::NoPage => {
            ErrorReport::new(Code::FailedPrecondition, reason::NO_PAGE, message)
        }
        drivers::Error::PageNotResponding { .. } => {
            ErrorReport::new(Code::Unavailable, reason::PAGE_NOT_RESPONDING, message)
        }
        drivers::Error::PageUnstable { .. } => {
            ErrorReport::new(Code::Unavailable, reason::PAGE_UNSTABLE, message)
        }
        _ => ErrorReport::new(Code::Internal, reason::INPUT_FAILED, message),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;
    use std::time::Duration;

    use super::*;

    /// One example of each variant, with the code and the reason that callers see.
    fn every_variant() -> Vec<(Error, Code, &'static str)> {
        let (name, display) = ("n".to_owned(), ":1".to_owned());
        let io = || std::io::Error::other("disk");
        let lease = |error, reason| (Error::Lease(error), Code::FailedPrecondition, reason);
        let screen = |error, reason| (Error::Driver(error), Code::Unavailable, reason);
        vec![
            (
                Error::Field(FieldError::missing("display")),
                Code::InvalidArgument,
                common::INVALID_FIELD,
            ),
            (
                Error::DesktopNotFound {
                    display: display.clone(),
                    known: ":2".to_owned(),
                },
                Code::NotFound,
                reason::DESKTOP_NOT_FOUND,
            ),
            lease(
                lease::Error::Leased {
                    holder: name.clone(),
                    remaining: Duration::from_secs(9),
                },
                reason::DESKTOP_LEASED,
            ),
            lease(
                lease::Error::Superseded {
                    given: 1,
                    highest: 2,
                },
                reason::LEASE_SUPERSEDED,
            ),
            lease(lease::Error::Expired { given: 1 }, reason::LEASE_EXPIRED),
            lease(
                lease::Error::UnknownEpoch {
                    given: 3,
                    highest: 2,
                },
                reason::LEASE_UNKNOWN,
            ),
            (
                Error::ActionIdReused {
                    id: ActionId::new("a"),
                },
                Code::InvalidArgument,
                reason::ACTION_ID_REUSED,
            ),
            (
                Error::ActionFenced {
                    id: ActionId::new("a"),
                },
                Code::FailedPrecondition,
                reason::ACTION_FENCED,
            ),
            (Error::Stopped, Code::Aborted, reason::ACTION_STOPPED),
            (
                Error::Secret(secrets::Error::NotFound {
                    name: name.clone(),
                    variable: "V".to_owned(),
                }),
                Code::FailedPrecondition,
                reason::SECRET_NOT_FOUND,
            ),
            (
                Error::Secret(secrets::Error::Unusable {
                    name: name.clone(),
                    why: "mode".to_owned(),
                }),
                Code::FailedPrecondition,
                reason::SECRET_UNUSABLE,
            ),
            (
                Error::File(files::Error::InvalidName {
                    name: name.clone(),
                    why: "it is empty",
                }),
                Code::InvalidArgument,
                common::INVALID_FIELD,
            ),
            (
                Error::File(files::Error::NotFound {
                    name: name.clone(),
                    folder: "/d/files/_0".into(),
                }),
                Code::NotFound,
                reason::FILE_NOT_FOUND,
            ),
            (
                Error::File(files::Error::Exists { name: name.clone() }),
                Code::AlreadyExists,
                reason::FILE_EXISTS,
            ),
            (
                Error::File(files::Error::TooLarge {
                    name,
                    size: 2,
                    limit: 1,
                }),
                Code::InvalidArgument,
                reason::FILE_TOO_LARGE,
            ),
            (
                Error::File(files::Error::Io {
                    folder: PathBuf::from("/f"),
                    source: io(),
                }),
                Code::Internal,
                reason::FILE_FAILED,
            ),
            (Error::NoDisplay, Code::Unavailable, reason::NO_DISPLAY),
            screen(
                drivers::Error::NoDisplay {
                    display: display.clone(),
                    cause: "c".to_owned(),
                },
                reason::NO_DISPLAY,
            ),
            screen(
                drivers::Error::DisplayLost {
                    display: display.clone(),
                    cause: "c".to_owned(),
                },
                reason::DISPLAY_LOST,
            ),
            screen(
                drivers::Error::DisplayTimedOut {
                    display,
                    timeout: Duration::from_secs(2),
                },
                reason::DISPLAY_TIMED_OUT,
            ),
            (
                Error::Driver(drivers::Error::TooManyWatchers { max: 16 }),
                Code::ResourceExhausted,
                reason::TOO_MANY_WATCHERS,
            ),
            screen(
                drivers::Error::BrowserUnreachable {
                    endpoint: "http://127.0.0.1:9".to_owned(),
                    cause: "c".to_owned(),
                },
                reason::BROWSER_UNREACHABLE,
            ),
            screen(
                drivers::Error::BrowserDisconnected,
                reason::BROWSER_UNREACHABLE,
            ),
            (
                Error::Driver(drivers::Error::NoPage),
                Code::FailedPrecondition,
                reason::NO_PAGE,
            ),
            screen(
                drivers::Error::PageNotResponding {
                    waited: Duration::from_secs(1),
                },
                reason::PAGE_NOT_RESPONDING,
            ),
            screen(
                drivers::Error::PageUnstable {
                    waited: Duration::from_secs(1),
                    cause: "c".to_owned(),
                },
                reason::PAGE_UNSTABLE,
            ),
            (
                Error::Driver(drivers::Error::ModifierHeld),
                Code::Internal,
                reason::INPUT_FAILED,
            ),
            (
                Error::Storage(StorageError::Io {
                    path: PathBuf::from("/p"),
                    source: io(),
                }),
                Code::Internal,
                reason::STORAGE_FAILED,
            ),
            (
                Error::NoCaller,
                Code::Unauthenticated,
                common::UNAUTHENTICATED,
            ),
            (
                Error::AuditFailed(motorium_store::Error::Failed(Box::new(io()))),
                Code::Internal,
                reason::AUDIT_UNWRITABLE,
            ),
            (
                Error::NotServed {
                    driver: "x11",
                    call: "ReadPage",
                },
                Code::Unimplemented,
                common::NOT_SERVED,
            ),
            (Error::Internal, Code::Internal, common::INTERNAL),
        ]
    }

    #[test]
    fn every_error_travels_with_its_code_and_reason() {
        for (error, code, reason) in every_variant() {
            let text = format!("{error:?}");
            let report = ErrorReport::from(error);
            assert_eq!(
                (report.code, report.reason.as_str()),
                (code, reason),
                "{text}"
            );
            assert_eq!(
                ErrorReport::from_status(&report.clone().into_status()),
                report,
                "{text}"
            );
            let first = report.message.chars().next().unwrap();
            assert!(
                !report.message.ends_with('.') && !first.is_uppercase(),
                "{}",
                report.message
            );
        }
    }

    #[test]
    fn every_key_of_the_metadata_is_on_the_page() {
        let pages = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for (error, _, reason) in every_variant() {
            let page = std::fs::read_to_string(pages.join(format!("{reason}.md"))).unwrap();
            for key in ErrorReport::from(error).metadata.keys() {
                assert!(page.contains(&format!("`{key}`")), "{reason}: {key}");
            }
        }
    }

    #[test]
    fn every_reason_is_given_and_has_its_page() {
        let given: BTreeSet<&str> = every_variant()
            .into_iter()
            .map(|(_, _, reason)| reason)
            .collect();
        let pages = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for reason in reason::ALL {
            assert!(given.contains(reason), "{reason} is never given");
            assert!(
                pages.join(format!("{reason}.md")).exists(),
                "docs/errors/{reason}.md is missing"
            );
        }
    }
}
