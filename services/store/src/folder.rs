//! Preparation of a data folder: created if it is missing, private to this user, and checked to be writable. Also private files
//! and folders below it, and their durability.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use motorium_kit::private_file;

use crate::Error;

/// Durability of a confirmed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// Survives the end of the process, even if it is killed. A power failure may lose the latest writes, but causes no
    /// damage.
    #[default]
    Normal,
    /// Also survives a power failure. Each write waits for the disk.
    Full,
}

/// Number of bytes that are written to find out whether a disk has room.
// More than a page of a database and its log take, so that this fails before they do.
const PROBE_BYTES: usize = 64 * 1024;

/// Creates the folder if needed and checks that it is writable.
pub(crate) fn prepare(path: &Path) -> Result<(), Error> {
    create_private(path).map_err(|error| from_io_error(path, &error))?;
    write_probe(path, &[])
}

/// Checks that a folder can be written, and that its disk has room.
pub(crate) fn check_room(path: &Path) -> Result<(), Error> {
    write_probe(path, &[0; PROBE_BYTES])
}

fn write_probe(folder: &Path, content: &[u8]) -> Result<(), Error> {
    let unusable = |error: io::Error| from_io_error(folder, &error);
    let probe = folder.join(format!(".writable-{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&probe)
        .and_then(|mut file| io::Write::write_all(&mut file, content));
    // Also of a disk that became full midway.
    let removed = fs::remove_file(&probe);
    written.and(removed).map_err(unusable)
}

/// Creates a folder, and those above it, for this user alone: screenshots and typed text are private. One that is there is left
/// as it is.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    private_file::create_folder(path)
}

/// Creates a file for this user alone, also in a folder that others can read. Fails if there is one.
pub(crate) fn create_private_file(path: &Path) -> io::Result<File> {
    private_file::options()
        .write(true)
        .create_new(true)
        .open(path)
}

/// Waits until the names in a folder survive a power failure.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    private_file::sync_folder(path)
}

/// Checks that a file is there and can be written, as far as the system tells without a write. Does not open it: SQLite loses its
/// locks of a file that its process opens and closes elsewhere.
pub(crate) fn check_writable(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    rustix::fs::access(file, rustix::fs::Access::WRITE_OK)?;
    #[cfg(not(unix))]
    fs::metadata(file)?;
    Ok(())
}

/// Classifies an error of the file system at `path`.
pub(crate) fn from_io_error(path: &Path, error: &io::Error) -> Error {
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
    fn unusable_folder_error_names_its_cause() {
        let above = tempfile::tempdir().unwrap();
        let file = above.path().join("file");
        fs::write(&file, "").unwrap();
        let error = prepare(&file.join("below")).unwrap_err();
        assert!(
            matches!(&error, Error::Unwritable { path, .. } if path.ends_with("file/below")),
            "{error}"
        );
        let full = from_io_error(&file, &io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, Error::Full { .. }));
    }
}
