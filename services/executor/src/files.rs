//! Files of a task, in one folder per desktop.
//!
//! A file is addressed by its plain name. Names outside the folder are rejected, symbolic links are not followed, and
//! anything but a regular file counts as missing. A file is written under a temporary name and then renamed, so that
//! no application reads half of it. All functions block on disk I/O.
//!
//! - `ledger`: whose files they are, and those of other tenants, which are aside

mod ledger;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use motorium_kit::private_file;
use motorium_proto::service::FileInfo;
use rand::TryRngCore as _;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

use ledger::Ledger;

/// Maximum length of a name in bytes: the limit of common file systems.
const MAX_NAME_BYTES: usize = 255;

/// The reason a file operation failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is empty or could refer to something outside the folder.
    #[error("`{name}` is not a plain file name: {why}")]
    InvalidName { name: String, why: &'static str },
    /// No regular file has this name.
    #[error("there is no file `{name}` in the desktop's folder, {}", folder.display())]
    NotFound { name: String, folder: PathBuf },
    /// The file exists, and overwriting was not requested.
    #[error("the file `{name}` exists already; set `overwrite`, or choose another name")]
    Exists { name: String },
    /// The file is larger than allowed.
    #[error("the file `{name}` has {size} bytes; the limit is {limit} (executor.max_file_bytes)")]
    TooLarge { name: String, size: u64, limit: u64 },
    /// An I/O error of the operating system.
    #[error("the desktop's folder {}: {source}", folder.display())]
    Io {
        folder: PathBuf,
        source: std::io::Error,
    },
}

/// The file folder of one desktop.
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    ledger: Mutex<Ledger>,
    folder: OwnedFd,
    max_bytes: u64,
}

impl Files {
    /// Opens the folder, creating it if necessary. A file has at most `max_bytes`.
    ///
    /// # Errors
    /// If the folder cannot be created or opened.
    pub fn open(path: &Path, max_bytes: u64) -> Result<Self, Error> {
        let io = |source| Error::Io {
            folder: path.to_owned(),
            source,
        };
        private_file::create_folder(path).map_err(io)?;
        let path = path.canonicalize().map_err(io)?;
        let ledger = Ledger::open(&path).map_err(io)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            rustix::fs::open(&path, flags, Mode::empty()).map_err(|errno| io(errno.into()))?;
        Ok(Self {
            path,
            ledger: Mutex::new(ledger),
            folder,
            max_bytes,
        })
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If the name is invalid, the content is too large, or the file exists and must not be overwritten.
    pub fn put(&self, name: &str, content: &[u8], overwrite: bool) -> Result<FileInfo, Error> {
        check_name(name)?;
        self.check_size(name, content.len() as u64)?;
        let fresh = self.temporary_name()?;
        let placed = self
            .write(&fresh, content)
            .and_then(|()| self.rename_into_place(&fresh, name, overwrite));
        if placed.is_err() {
            // The temporary file is removed. Its own error is dropped: the first error is the one that matters.
            let _ = unlinkat(&self.folder, &fresh, AtFlags::empty());
        }
        placed?;
        self.stat(name)?.ok_or_else(|| self.not_found(name))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// If the name is invalid, no regular file has it, or the file is too large.
    pub fn get(&self, name: &str) -> Result<(FileInfo, Vec<u8>), Error> {
        let file = self.open_regular(name)?;
        let file = file.ok_or_else(|| self.not_found(name))?;
        let content = self.read(name, &file)?;
        Ok((self.describe(name, &file, &content)?, content))
    }

    fn not_found(&self, name: &str) -> Error {
        Error::NotFound {
            name: name.to_owned(),
            folder: self.path.clone(),
        }
    }

    /// Returns the metadata of a file; `None` if no regular file has this name.
    ///
    /// # Errors
    /// If the name is invalid, or the file is too large to be hashed.
    pub fn stat(&self, name: &str) -> Result<Option<FileInfo>, Error> {
        let Some(file) = self.open_regular(name)? else {
            return Ok(None);
        };
        let content = self.read(name, &file)?;
        self.describe(name, &file, &content).map(Some)
    }

    /// Begins a lease: ends the one before, and has the folder show the files of this tenant, if one is named.
    ///
    /// # Errors
    /// If a file cannot be moved, or what is known of the files cannot be written.
    pub fn begin_lease(&self, holder: &str, tenant: Option<&str>) -> Result<(), Error> {
        let begun = self.ledger().begin_lease(holder, tenant);
        begun.map_err(|error| self.io(error))
    }

    /// Ends the current lease: the files that came or changed in it are its holder's.
    ///
    /// # Errors
    /// If what is known of the files cannot be written.
    pub fn end_lease(&self) -> Result<(), Error> {
        let ended = self.ledger().end_lease();
        ended.map_err(|error| self.io(error))
    }

    /// Deletes the files of a tenant that came or changed last in leases of this holder and were not changed since.
    ///
    /// # Errors
    /// If a file cannot be deleted.
    pub fn delete_of(&self, holder: &str, tenant: &str) -> Result<(), Error> {
        let deleted = self.ledger().delete_of(holder, tenant);
        deleted.map_err(|error| self.io(error))
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn io(&self, source: impl Into<std::io::Error>) -> Error {
        Error::Io {
            folder: self.path.clone(),
            source: source.into(),
        }
    }

    fn check_size(&self, name: &str, size: u64) -> Result<(), Error> {
        if size > self.max_bytes {
            Err(Error::TooLarge {
                name: name.to_owned(),
                size,
                limit: self.max_bytes,
            })
        } else {
            Ok(())
        }
    }

    /// Returns an unused hidden name. Callers cannot address hidden names.
    fn temporary_name(&self) -> Result<String, Error> {
        let random = rand::rngs::OsRng
            .try_next_u64()
            .map_err(|error| self.io(std::io::Error::other(error)))?;
        Ok(format!(".motorium-{random:016x}"))
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)
            .map_err(|errno| self.io(errno))?;
        File::from(file)
            .write_all(content)
            .map_err(|error| self.io(error))
    }

    fn rename_into_place(&self, fresh: &str, name: &str, overwrite: bool) -> Result<(), Error> {
        let moved = if overwrite {
            renameat(&self.folder, fresh, &self.folder, name)
        } else {
            renameat_with(
                &self.folder,
                fresh,
                &self.folder,
                name,
                RenameFlags::NOREPLACE,
            )
        };
        moved.map_err(|errno| match errno {
            Errno::EXIST | Errno::ISDIR | Errno::NOTDIR => Error::Exists {
                name: name.to_owned(),
            },
            other => self.io(other),
        })
    }

    fn open_regular(&self, name: &str) -> Result<Option<File>, Error> {
        check_name(name)?;
        // Without NONBLOCK, opening a named pipe would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(errno) => return Err(self.io(errno)),
        };
        let is_plain = file.metadata().map_err(|error| self.io(error))?.is_file();
        Ok(is_plain.then_some(file))
    }

    fn read(&self, name: &str, file: &File) -> Result<Vec<u8>, Error> {
        let size = file.metadata().map_err(|error| self.io(error))?.size();
        self.check_size(name, size)?;
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // The file may grow while it is read.
        file.take(self.max_bytes + 1)
            .read_to_end(&mut content)
            .map_err(|error| self.io(error))?;
        self.check_size(name, content.len() as u64)?;
        Ok(content)
    }

    /// Returns the folder, as applications see it.
    #[must_use]
    pub fn folder(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Returns the time of the last change of a file or of its name, which no program can set.
    fn changed_at(&self, name: &str, metadata: &fs::Metadata) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_nanos(self.ledger().changed_at(name, metadata))
    }

    fn describe(&self, name: &str, file: &File, content: &[u8]) -> Result<FileInfo, Error> {
        let metadata = file.metadata().map_err(|error| self.io(error))?;
        let written_at = metadata.modified().map_err(|error| self.io(error))?;
        Ok(FileInfo {
            name: name.to_owned(),
            size_bytes: content.len() as u64,
            // A file that is renamed, copied with its times or unpacked keeps the time at which it was written elsewhere.
            modified_at: written_at.max(self.changed_at(name, &metadata)),
            sha256: Sha256::digest(content).into(),
            path: self.path.join(name).to_string_lossy().into_owned(),
        })
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "it is longer than 255 bytes"
    } else if name.starts_with('.') {
        "it starts with a dot"
    } else if name.contains(['/', '\\']) {
        "it contains a separator"
    } else if name.contains(char::is_control) {
        "it contains a control character"
    } else {
        return Ok(());
    };
    Err(Error::InvalidName {
        name: name.to_owned(),
        why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(parent: &tempfile::TempDir) -> Files {
        Files::open(&parent.path().join("desktop"), 10).unwrap()
    }

    #[test]
    fn stored_files_are_read_back_and_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        assert!(files.stat("a.txt").unwrap().is_none());
        let info = files.put("a.txt", b"hello", false).unwrap();
        assert_eq!((info.size_bytes, info.name.as_str()), (5, "a.txt"));
        assert_eq!(fs::read(&info.path).unwrap(), b"hello");
        assert_eq!(info.sha256, <[u8; 32]>::from(Sha256::digest(b"hello")));
        assert_eq!(
            files.get("a.txt").unwrap(),
            (info.clone(), b"hello".to_vec())
        );
        assert_eq!(files.stat("a.txt").unwrap(), Some(info));
        assert!(matches!(
            files.put("a.txt", b"again", false),
            Err(Error::Exists { .. })
        ));
        files.put("a.txt", b"again", true).unwrap();
        assert_eq!(files.get("a.txt").unwrap().1, b"again");
        let names: Vec<_> = fs::read_dir(&files.path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["a.txt"], "no temporary file is left");
    }

    #[test]
    fn a_renamed_old_file_has_the_time_of_its_renaming() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        let download = parent.path().join("download");
        fs::write(&download, "x").unwrap();
        let old = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let file = File::options().write(true).open(&download).unwrap();
        file.set_modified(old).unwrap();
        let before = SystemTime::now();
        let report = files.path.join("report");
        fs::rename(&download, &report).unwrap();
        assert_eq!(fs::metadata(&report).unwrap().modified().unwrap(), old);
        let info = files.stat("report").unwrap().unwrap();
        // File systems round times down, some to whole seconds.
        assert!(info.modified_at + Duration::from_secs(1) > before);
        assert_eq!(files.get("report").unwrap().0, info);
    }

    #[test]
    fn file_names_cannot_escape_the_folder() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        fs::write(parent.path().join("outside"), "x").unwrap();
        for name in [
            "../outside",
            "/etc/passwd",
            "..",
            ".",
            "",
            "a/b",
            "a\\b",
            ".hidden",
            "a\0b",
            &"x".repeat(256),
        ] {
            assert!(
                matches!(files.get(name), Err(Error::InvalidName { .. })),
                "{name:?}"
            );
            assert!(
                matches!(files.put(name, b"x", true), Err(Error::InvalidName { .. })),
                "{name:?}"
            );
        }
    }

    #[test]
    fn only_regular_files_are_accessible() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        fs::write(parent.path().join("outside"), "x").unwrap();
        std::os::unix::fs::symlink(parent.path().join("outside"), files.path.join("link")).unwrap();
        fs::create_dir(files.path.join("folder")).unwrap();
        rustix::fs::mknodat(
            &files.folder,
            "pipe",
            rustix::fs::FileType::Fifo,
            Mode::RWXU,
            0,
        )
        .unwrap();
        for name in ["link", "folder", "pipe"] {
            assert!(
                matches!(files.get(name), Err(Error::NotFound { .. })),
                "{name}"
            );
            assert!(files.stat(name).unwrap().is_none(), "{name}");
        }
        files.put("link", b"mine", true).unwrap();
        assert_eq!(
            fs::read_to_string(parent.path().join("outside")).unwrap(),
            "x",
            "a link is replaced, not followed"
        );
    }

    fn shown(files: &Files) -> Vec<String> {
        let names = fs::read_dir(&files.path).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    fn begin(files: &Files, holder: &str, tenant: &str) {
        files.begin_lease(holder, Some(tenant)).unwrap();
    }

    #[test]
    fn tenants_see_their_own_files_only_and_find_them_again() {
        let parent = tempfile::tempdir().unwrap();
        let before = files(&parent);
        before.put("old", b"1", false).unwrap();
        begin(&before, "a", "default");
        assert_eq!(shown(&before), ["old"], "from before there were tenants");
        begin(&before, "b", "acme/../globex");
        assert_eq!(shown(&before), Vec::<String>::new());
        before.put("plan", b"a", false).unwrap();
        fs::create_dir(before.path.join("folder")).unwrap();
        fs::write(before.path.join("folder/part"), "x").unwrap();
        std::os::unix::fs::symlink(parent.path(), before.path.join("link")).unwrap();
        let planned = before.stat("plan").unwrap();
        begin(&before, "c", "globex");
        assert_eq!(shown(&before), Vec::<String>::new());
        before.put("plan", b"g", false).unwrap();
        drop(before);
        // The next process goes on with the same tenant.
        let after = files(&parent);
        begin(&after, "d", "globex");
        assert_eq!(after.get("plan").unwrap().1, b"g");
        begin(&after, "e", "acme/../globex");
        assert_eq!(shown(&after), ["folder", "link", "plan"]);
        assert_eq!(after.get("plan").unwrap().1, b"a");
        assert_eq!(
            after.stat("plan").unwrap(),
            planned,
            "being put aside is no change"
        );
        let part = fs::read_to_string(after.path.join("folder/part")).unwrap();
        assert_eq!(part, "x");
        begin(&after, "f", "default");
        assert_eq!(shown(&after), ["old"]);
        // A lease without a tenant leaves the files as they are.
        after.begin_lease("by hand", None).unwrap();
        assert_eq!(shown(&after), ["old"]);
    }

    #[test]
    fn a_crash_between_two_tenants_mixes_no_files() {
        let parent = tempfile::tempdir().unwrap();
        let before = files(&parent);
        begin(&before, "a", "acme");
        before.put("a", b"a", false).unwrap();
        before.put("b", b"b", false).unwrap();
        begin(&before, "b", "globex");
        let hashed = fs::read_dir(parent.path().join(".tenants/desktop")).unwrap();
        let folders = hashed.map(|entry| entry.unwrap().path());
        let aside = folders.into_iter().find(|path| path.join("a").exists());
        let aside = aside.unwrap();
        begin(&before, "c", "acme");
        // A part of them is aside.
        fs::rename(before.path.join("a"), aside.join("a")).unwrap();
        drop(before);
        let after = files(&parent);
        begin(&after, "d", "acme");
        assert_eq!(shown(&after), ["a", "b"]);
        fs::rename(after.path.join("a"), aside.join("a")).unwrap();
        begin(&after, "e", "globex");
        assert_eq!(shown(&after), Vec::<String>::new());
        begin(&after, "f", "acme");
        assert_eq!(shown(&after), ["a", "b"]);
    }

    #[test]
    fn a_damaged_record_mixes_no_files() {
        let parent = tempfile::tempdir().unwrap();
        begin(&files(&parent), "a", "acme");
        let record = parent.path().join(".tenants/desktop/record.json");
        fs::write(&record, "{").unwrap();
        let refused = Files::open(&parent.path().join("desktop"), 10).unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains("record.json is damaged"), "{refused}");
    }

    #[test]
    fn the_files_of_a_holder_are_deleted_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        files.put("of-user", b"u", false).unwrap();
        begin(&files, "tasks/a", "acme");
        files.put("attached", b"1", false).unwrap();
        files.put("handed-on", b"1", false).unwrap();
        fs::create_dir(files.path.join("folder")).unwrap();
        fs::write(files.path.join("folder/part"), "x").unwrap();
        fs::write(files.path.join("edited-later"), "x").unwrap();
        files.end_lease().unwrap();
        files.put("of-user-2", b"u", false).unwrap();
        fs::write(files.path.join("edited-later"), "by a person").unwrap();
        begin(&files, "tasks/b", "acme");
        files.put("handed-on", b"2", true).unwrap();
        files.put("of-b", b"2", true).unwrap();
        // They are aside now, and the desktop is leased to another tenant.
        begin(&files, "tasks/c", "globex");
        files.put("attached", b"g", false).unwrap();
        files.delete_of("tasks/a", "globex").unwrap();
        files.delete_of("tasks/a", "acme").unwrap();
        assert_eq!(shown(&files), ["attached"]);
        begin(&files, "tasks/d", "acme");
        assert_eq!(
            shown(&files),
            ["edited-later", "handed-on", "of-b", "of-user-2"]
        );
        files.delete_of("tasks/b", "acme").unwrap();
        assert_eq!(shown(&files), ["edited-later", "of-user-2"]);
        // A task whose lease did not end before it is deleted.
        files.put("of-d", b"4", false).unwrap();
        files.delete_of("tasks/d", "acme").unwrap();
        files.delete_of("tasks/d", "acme").unwrap();
        assert_eq!(shown(&files), ["edited-later", "of-user-2"]);
        begin(&files, "tasks/e", "default");
        assert_eq!(shown(&files), ["of-user"]);
    }

    #[test]
    fn size_is_limited_both_ways() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        assert!(matches!(
            files.put("big", &[0; 11], false),
            Err(Error::TooLarge {
                size: 11,
                limit: 10,
                ..
            })
        ));
        fs::write(files.path.join("big"), [0; 11]).unwrap();
        assert!(matches!(files.get("big"), Err(Error::TooLarge { .. })));
    }
}
