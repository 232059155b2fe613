//! Keeps two virtual desktops on one data folder apart: they would share a home, and each would end the browser of the other.
//!
//! It does not keep other services apart: those lock their own files.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::{Error, create_private_folder, in_folder};

/// Name of the file in the data folder. It holds the number of the process that has locked it, for people.
const FILE: &str = "desktop.lock";

/// The lock. It ends with this value or the process.
#[derive(Debug)]
pub(super) struct DataLock {
    _file: File,
}

impl DataLock {
    /// Locks a data folder.
    ///
    /// # Errors
    /// [`Error::InUse`] if another desktop uses it, or if it cannot be written.
    pub(super) fn acquire(data: &Path) -> Result<Self, Error> {
        create_private_folder(data)?;
        let path = data.join(FILE);
        let mut options = File::options();
        let opened = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path);
        let mut file = opened.map_err(in_folder(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut process = String::new();
                // Without its number the error still names the folder.
                let _ = file.read_to_string(&mut process);
                return Err(Error::InUse {
                    path: data.to_owned(),
                    process: process.trim().to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(in_folder(&path)(source)),
        }
        write_process(&mut file).map_err(in_folder(&path))?;
        Ok(Self { _file: file })
    }
}

fn write_process(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_desktop_on_a_data_folder_is_refused_and_told_of_the_first() {
        let data = tempfile::tempdir().unwrap();
        let first = DataLock::acquire(data.path()).unwrap();
        let error = DataLock::acquire(data.path()).unwrap_err().to_string();
        assert!(error.contains(&std::process::id().to_string()), "{error}");
        assert!(error.contains(&*data.path().to_string_lossy()), "{error}");
        drop(first);
        DataLock::acquire(data.path()).unwrap();
    }
}
