//! Numbers that tell a file from its copies, so that a folder that was copied is recognised at its next start.
//!
//! A file that names its own identity beside it is an original; a copy names that of another file. It does not recognise what
//! keeps these numbers: a snapshot of a file system or of a whole machine.

use std::fs::File;
use std::io;

/// Returns the number of a file and the time of its last change. Both are the same for as long as the file is not changed.
///
/// # Errors
/// If the file's metadata cannot be read.
#[cfg(unix)]
pub fn of(file: &File) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;

    let of = file.metadata()?;
    Ok(format!("{} {}.{}", of.ino(), of.ctime(), of.ctime_nsec()))
}

/// Returns the same for every file: other systems have no such numbers, and there a copy is not recognised.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn of(_: &File) -> io::Result<String> {
    Ok(String::new())
}
