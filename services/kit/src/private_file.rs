//! Files and folders that only this user can open.
//!
//! It gives no meaning to their content, and leaves what is there as it is: the [`loopback_token`](crate::loopback_token) checks
//! the file that it finds. Elsewhere than on Unix the folders of a user are private by default, and files have no such
//! permissions.
//! Invariant: no other user can open a file between its creation and its first byte, and a file with a name is whole.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Permissions of folders and of files: this user alone.
#[cfg(unix)]
const FOLDER_MODE: u32 = 0o700;
#[cfg(unix)]
const FILE_MODE: u32 = 0o600;

/// Creates a folder, and those above it.
///
/// # Errors
/// If the folder cannot be created.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, FOLDER_MODE);
    builder.create(folder)
}

/// Returns options with which a file that is created belongs to this user alone, also in a folder that others can read.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, FILE_MODE);
    options
}

/// Creates a file with this content, whole and on disk. Fails with [`io::ErrorKind::AlreadyExists`] if there is one.
///
/// # Errors
/// If there is a file, or it cannot be written.
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    written(folder, content)?.persist_noclobber(path)?;
    sync_folder(folder)
}

/// Replaces a file atomically: after a crash it has its old or its new content.
///
/// # Errors
/// If the file cannot be written. The old content is still there then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    written(folder, content)?.persist(path)?;
    sync_folder(folder)
}

/// Reads a file, without white space around its text. `None` if it does not exist.
///
/// # Errors
/// If there is a file that cannot be read, or that is no text.
pub fn read_text(path: &Path) -> io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Waits until the names in a folder survive a power failure. Elsewhere than on Unix folders cannot be written to disk.
///
/// # Errors
/// If the folder cannot be opened or written.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Writes a file without a lasting name, which goes away unless it gets one.
fn written(folder: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    // The library creates files for this user alone.
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(content)?;
    // Otherwise the name could survive a power failure without the content.
    file.as_file().sync_all()?;
    Ok(file)
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_whole_and_of_this_user_alone() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("a/b");
        create_folder(&folder).unwrap();
        create_folder(&folder).unwrap();
        assert_eq!(
            (mode(&above.path().join("a")), mode(&folder)),
            (0o700, 0o700)
        );
        let path = folder.join("file");
        create(&path, b"one").unwrap();
        let again = create(&path, b"two").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        replace(&path, b"three").unwrap();
        assert_eq!(
            (fs::read(&path).unwrap(), mode(&path)),
            (b"three".to_vec(), 0o600)
        );
        let opened = folder.join("opened");
        options().append(true).create(true).open(&opened).unwrap();
        assert_eq!(mode(&opened), 0o600);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "drafts are left");
    }

    #[test]
    fn a_file_of_others_gets_the_permissions_of_its_successor() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "open to all").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"mine").unwrap();
        assert_eq!(mode(&path), 0o600);
    }
}
