//! What can be wrong with an export, or with the folder of one.

use std::io;
use std::path::{Path, PathBuf};

/// Why a trajectory is not written or cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the archive has `{path}`, which does not belong into an export; it was not unpacked")]
    UnsafePath { path: String },
    #[error("the archive is damaged: {0}")]
    Archive(io::Error),
    #[error("{}: {reason}; was this folder written by `motorium tasks export`?", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("the page cannot be written: {0}")]
    Page(String),
    #[error("nobody takes the archive any more")]
    Abandoned,
    #[error(transparent)]
    Log(#[from] crate::Error),
}

impl Error {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
