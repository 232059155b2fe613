//! Errors of commands, as shown to the user.

use std::io;
use std::path::PathBuf;

use motorium_messages::Message;
use motorium_proto::error::ErrorReport;

use crate::show::text;

/// The reason a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{0}")]
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
    #[error("{0}")]
    Start(String),
}

fn unreachable_text(server: &str, report: &ErrorReport) -> String {
    text(Message::OrchestratorUnreachable {
        server,
        report: &report.to_string(),
    })
}
