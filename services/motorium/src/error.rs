//! Errors of commands, as shown to the user.

use std::io;
use std::path::PathBuf;

use motorium_proto::error::ErrorReport;

/// The reason a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(String),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Service(ErrorReport),
    #[error(
        "cannot reach the Orchestrator at {server} ({report}); start one with `motorium up`, or add --in-process to `motorium run`"
    )]
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
    #[error("the virtual desktop did not start: {0}")]
    Desktop(#[from] crate::virtual_desktop::Error),
    #[error(transparent)]
    Trajectory(#[from] motorium_recording::trajectory::Error),
    #[error("{0}")]
    Start(String),
}
