//! Errors of commands, as shown to the user.

use std::io;
use std::path::PathBuf;

use motorium_messages::Message;
use motorium_proto::error::{ErrorReport, reason as common};
use motorium_task::reason;

use crate::show::text;

/// The reason a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{}", service_text(.0))]
    Service(ErrorReport),
    #[error("{}", unreachable_text(server, report))]
    Unreachable {
        server: String,
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
    let problem = &report.message;
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

/// Returns the advice for an Orchestrator that does not respond. Of the report only the cause: its message repeats the
/// address, and asks what the advice answers.
fn unreachable_text(server: &str, report: &ErrorReport) -> String {
    let report = report.metadata.get("cause").unwrap_or(&report.message);
    text(Message::OrchestratorUnreachable { server, report })
}

#[cfg(test)]
mod tests {
    use tonic::Code;

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
