//! The owner id of an orchestrator: its name in the leases of tasks, unique among all processes.
//!
//! The id is kept in the data folder, so that an orchestrator takes its own tasks back at once after a restart. While one
//! process has the id, which a lock on its file shows, another one on the same folder gets an id of its own. Without that,
//! two processes of the same name would take each other's running tasks for their own. A folder that was copied, also within the
//! image of a machine, gets a new id as well: the file names itself, and its copy is another file.
//!
//! It claims no tasks: the dispatcher does.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use motorium_kit::file_identity;
use uuid::Uuid;

/// File with the id in the data folder.
const FILE: &str = "orchestrator-id";
/// File that tells the file with the id from its copies.
const IDENTITY_FILE: &str = "orchestrator-id.identity";

/// The id of this process. Others cannot have it until this value is dropped.
#[derive(Debug)]
pub struct Instance {
    owner: String,
    /// Locked while the id is in use; `None` for an id that no other process can know.
    _lock: Option<File>,
}

impl Instance {
    /// Takes the id of the data folder, or a new one if another process has it. `name` is a part of it, for people.
    ///
    /// # Errors
    /// If the file with the id cannot be read or written.
    pub fn take(data: &Path, name: &str) -> io::Result<Self> {
        fs::create_dir_all(data)?;
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(data.join(FILE))?;
        let (id, lock) = match file.try_lock() {
            Ok(()) => (stored_id(data, &mut file)?, Some(file)),
            Err(TryLockError::WouldBlock) => (Uuid::now_v7(), None),
            Err(TryLockError::Error(error)) => return Err(error),
        };
        // The end of the id is random; its beginning is a time.
        let id = id.simple().to_string();
        let unique = id.get(20..).unwrap_or(&id);
        Ok(Self {
            owner: format!("{name}#{unique}"),
            _lock: lock,
        })
    }

    /// Returns the owner id.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }
}

/// Returns the id in the file, or writes a new one, also if the file is a copy.
fn stored_id(data: &Path, file: &mut File) -> io::Result<Uuid> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let named = data.join(IDENTITY_FILE);
    let id = match Uuid::parse_str(text.trim()) {
        Ok(id) if !is_copy(&named, file)? => id,
        _ => {
            let id = Uuid::now_v7();
            file.set_len(0)?;
            io::Seek::rewind(file)?;
            file.write_all(id.to_string().as_bytes())?;
            file.sync_all()?;
            id
        }
    };
    // Last: after a crash before it, the file has its new id already.
    fs::write(named, file_identity::of(file)?)?;
    Ok(id)
}

/// Returns true if the file is another one than its folder names. A new folder, or one of an earlier version, names none.
fn is_copy(named: &Path, file: &File) -> io::Result<bool> {
    match fs::read_to_string(named) {
        Ok(named) => Ok(named != file_identity::of(file)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_outlives_its_process_and_is_no_other_processs() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let first = Instance::take(&data, "desk").unwrap();
        let second = Instance::take(&data, "desk").unwrap();
        assert!(first.owner().starts_with("desk#"));
        assert_ne!(first.owner(), second.owner());
        let owner = first.owner().to_owned();
        drop((first, second));
        assert_eq!(Instance::take(&data, "desk").unwrap().owner(), owner);
        let elsewhere = tempfile::tempdir().unwrap();
        let other = Instance::take(elsewhere.path(), "desk").unwrap();
        assert_ne!(other.owner(), owner);
    }

    #[test]
    fn copied_folder_has_an_id_of_its_own() {
        let (original, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let owner = |folder: &tempfile::TempDir| {
            let instance = Instance::take(folder.path(), "desk").unwrap();
            instance.owner().to_owned()
        };
        let first = owner(&original);
        for entry in fs::read_dir(original.path()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
        }
        let copied = owner(&copy);
        assert_ne!(copied, first, "the two would take each other's tasks");
        assert_eq!(owner(&copy), copied, "the copy keeps its new id");
        assert_eq!(owner(&original), first, "and the original its own");
    }
}
