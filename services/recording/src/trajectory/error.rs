//! Errors of exporting a task and of reading an export.

use std::io;
use std::path::{Path, PathBuf};

/// An error of exporting a task or of reading an export.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "the archive contains `{path}`, which is not allowed in an export; it was not unpacked"
    )]
    UnsafePath { path: String },
    #[error("the archive is damaged: {0}")]
    Archive(io::Error),
    #[error("{}: {reason}; was this folder written by `motorium tasks export`?", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error(
        "{} is no exported task: {reason}; give a folder that `motorium tasks export` has written",
        path.display()
    )]
    NotAnExport { path: PathBuf, reason: &'static str },
    #[error(
        "{} has {content}, which an export of {task} might overwrite; choose another folder with `--to`",
        path.display()
    )]
    ForeignTarget {
        path: PathBuf,
        content: String,
        task: String,
    },
    #[error("the page cannot be written: {0}")]
    Page(String),
    #[error("the receiver of the archive has gone away")]
    ReceiverDropped,
    #[error(transparent)]
    Log(#[from] crate::log::Error),
}

impl Error {
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
