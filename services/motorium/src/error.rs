//! Errors of commands, as shown to the user.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::error::{ErrorReport, reason as common};
use motorium_task::reason;
use tonic::Code;

use crate::show::{in_flags, text};

/// The reason a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{}", text(Message::Unwritable { path: &path.to_string_lossy(), problem: &source.to_string() }))]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("{}", service_text(.0))]
    Service(ErrorReport),
    #[error("{}", unreachable_text(server, report))]
    Unreachable {
        server: String,
        report: Box<ErrorReport>,
    },
    /// The desktop is leased by another.
    #[error("{}", leased_text(holder, *remaining))]
    Leased { holder: String, remaining: Duration },
    /// The Orchestrator ended while it was watched.
    #[error("{}", text(Message::ServerEnded { server, task, report: cause(report) }))]
    Ended {
        server: String,
        task: String,
        report: Box<ErrorReport>,
    },
    #[error(transparent)]
    Config(#[from] motorium_kit::config::Error),
    #[error(transparent)]
    Kit(#[from] motorium_kit::Error),
    #[error(transparent)]
    Server(#[from] motorium_kit::server::Error),
    #[error("{}", text(Message::VirtualDesktopFailed { problem: &.0.to_string() }))]
    Desktop(#[from] crate::virtual_desktop::Error),
    #[error(transparent)]
    Trajectory(#[from] motorium_recording::trajectory::Error),
    #[error(transparent)]
    Backup(#[from] motorium_store::BackupError),
    #[error("{0}")]
    Start(String),
}

/// Returns the message of a service. If it does not know a name, the command follows that lists the known ones.
fn service_text(report: &ErrorReport) -> String {
    // Other messages may begin with a word that is also a field.
    let problem = &match report.code {
        Code::InvalidArgument => in_flags(&report.message),
        _ => report.message.clone(),
    };
    match listing_command(report) {
        Some(command) => text(Message::NotFoundHint { problem, command }),
        None => problem.clone(),
    }
}

/// Returns the command that lists the resources of the kind that was not found. Unknown desktops are reported with a list of
/// the known ones.
fn listing_command(report: &ErrorReport) -> Option<&'static str> {
    let name = report.metadata.get("name").map_or("", String::as_str);
    match report.reason.as_str() {
        common::TASK_NOT_FOUND => Some("motorium tasks list"),
        reason::SESSION_NOT_FOUND => Some("motorium sessions list"),
        reason::APPROVAL_NOT_FOUND => Some("motorium tasks approvals"),
        common::RESOURCE_NOT_FOUND if name.starts_with("sessions/") => {
            Some("motorium sessions list")
        }
        common::RESOURCE_NOT_FOUND if name.starts_with("desktops/") => Some("motorium desktops"),
        _ => None,
    }
}

/// Returns the advice for an Orchestrator that does not respond.
fn unreachable_text(server: &str, report: &ErrorReport) -> String {
    let report = cause(report);
    text(Message::OrchestratorUnreachable { server, report })
}

/// Returns the advice for a desktop that is leased by a task or another command.
fn leased_text(holder: &str, remaining: Duration) -> String {
    match holder.starts_with("tasks/") {
        true => text(Message::ActDesktopOfTask { task: holder }),
        false => text(Message::ActDesktopUsed {
            holder,
            seconds: remaining.as_secs() + 1,
        }),
    }
}

/// Returns the cause of a call that did not arrive. The message repeats the address, and asks what the advice answers.
fn cause(report: &ErrorReport) -> &str {
    report.metadata.get("cause").unwrap_or(&report.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unreachable_server_is_named_once() {
        let problem = "calling http://a:1: refused; is the service running there?";
        let report = ErrorReport::new(Code::Unavailable, "TRANSPORT", problem);
        let shown = Error::Unreachable {
            server: "http://a:1".to_owned(),
            report: Box::new(report.with("cause", "refused")),
        };
        let shown = shown.to_string();
        assert_eq!(shown.matches("http://a:1").count(), 1, "{shown}");
        assert!(
            shown.contains("refused") && shown.contains("`motorium up`"),
            "{shown}"
        );
        assert!(!shown.contains('?'), "{shown}");
    }

    #[test]
    fn a_refused_field_is_named_as_the_flag_that_it_was_given_with() {
        let field = motorium_proto::error::FieldError::new("task.results[0]", "is empty");
        let shown = Error::Service(ErrorReport::invalid(field)).to_string();
        assert_eq!(shown, "`--fetch`: is empty");
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_command_that_lists_the_known_ones() {
        let check = |reason: &str, name: &str, expected: Option<&str>| {
            let message = format!("there is no {name}");
            let report = ErrorReport::new(Code::NotFound, reason, message).with("name", name);
            assert_eq!(listing_command(&report), expected, "{reason}");
            let shown = Error::Service(report).to_string();
            assert!(shown.contains(expected.unwrap_or(name)), "{shown}");
        };
        check("TASK_NOT_FOUND", "tasks/one", Some("motorium tasks list"));
        check(
            "SESSION_NOT_FOUND",
            "sessions/one",
            Some("motorium sessions list"),
        );
        check(
            "RESOURCE_NOT_FOUND",
            "sessions/one",
            Some("motorium sessions list"),
        );
        check(
            "RESOURCE_NOT_FOUND",
            "desktops/one",
            Some("motorium desktops"),
        );
        check(
            "APPROVAL_NOT_FOUND",
            "tasks/one/approvals/1",
            Some("motorium tasks approvals"),
        );
        check("ARTIFACT_NOT_FOUND", "artifacts/one", None);
    }
}
