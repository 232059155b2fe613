//! A folder to keep things in: made if it is missing, for this user alone, and known to be writable.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::path::Path;

use crate::Error;

/// How much a confirmed write survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, also by force. A power failure may take the last moments, but damages nothing.
    #[default]
    Normal,
    /// A power failure too. Each write waits for the disk.
    Full,
}

/// Makes the folder usable, or says why it is not.
pub(crate) fn prepare(path: &Path) -> Result<(), Error> {
    let unusable = |error: io::Error| of_io(path, &error);
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    // Screenshots and typed text are nobody else's business.
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(unusable)?;

    let probe = path.join(format!(".writable-{}", std::process::id()));
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&probe)
        .map_err(unusable)?;
    fs::remove_file(&probe).map_err(unusable)
}

/// What an error of the file system at `path` means to us.
pub(crate) fn of_io(path: &Path, error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::Full {
            path: path.to_owned(),
        },
        _ => Error::Unwritable {
            path: path.to_owned(),
            detail: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makes_folders_for_this_user_alone() {
        let above = tempfile::tempdir().unwrap();
        let path = above.path().join("a/b");
        prepare(&path).unwrap();
        prepare(&path).unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o700
            );
        }
    }

    #[test]
    fn says_why_it_cannot_be_used() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("file");
        fs::write(&file, "").unwrap();
        let error = prepare(&file.join("below")).unwrap_err();
        assert!(
            matches!(&error, Error::Unwritable { path, .. } if path.ends_with("file/below")),
            "{error}"
        );
        let full = of_io(&file, &io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, Error::Full { .. }));
    }
}
