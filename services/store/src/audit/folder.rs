//! The files of an audit log, and its head.
//!
//! A file is named after the number of its first record, so that their order is that of their names. The head is one line of
//! fixed length, which is overwritten in place.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use motorium_kit::private_file;

use super::entry::Checkpoint;

/// Name of the file with the head.
const HEAD: &str = "head";
/// Extension of the files with records.
const EXTENSION: &str = "jsonl";
/// Number of digits of a number in names and in the head: as many as any has.
const DIGITS: usize = 20;

/// Returns the file whose first record has this number.
pub(super) fn file_of(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:0DIGITS$}.{EXTENSION}"))
}

/// Returns the files with records, in the order of the records, each with the number of its first one.
pub(super) fn files(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_log = path
            .extension()
            .is_some_and(|extension| extension == EXTENSION);
        let first = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse().ok());
        if let (true, Some(first)) = (is_log, first) {
            files.push((first, path));
        }
    }
    files.sort();
    Ok(files)
}

/// Opens a file of this user alone for reading and writing. Creates it if it is missing.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = private_file::options();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// Returns the file of the head.
pub(super) fn head_of(folder: &Path) -> PathBuf {
    folder.join(HEAD)
}

/// Reads the head. `None` if it is empty or not a head.
pub(super) fn read_head(mut file: &File) -> io::Result<Option<Checkpoint>> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    match file.take(1024).read_to_string(&mut text) {
        Ok(_) => Ok(text.trim_end().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(error),
    }
}

/// Overwrites the head.
pub(super) fn write_head(mut file: &File, head: &Checkpoint) -> io::Result<()> {
    let line = format!("{:0DIGITS$}:{}\n", head.seq, head.hash);
    file.seek(SeekFrom::Start(0))?;
    file.write_all(line.as_bytes())
}

/// Returns whether an opened file is no longer in its folder.
#[cfg(unix)]
pub(super) fn is_removed(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    Ok(file.metadata()?.nlink() == 0)
}

/// Returns whether an opened file is no longer in its folder. Elsewhere an opened file cannot be removed.
#[cfg(not(unix))]
pub(super) fn is_removed(_: &File) -> io::Result<bool> {
    Ok(false)
}
