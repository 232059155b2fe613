//! Files of a task: put into and fetched from one folder per desktop.
//!
//! A file is known by its plain name. Nothing outside of the folder can be named, no link is followed, and what is not
//! a plain file is not there. A file is written beside its place and moved in, so that an application never finds
//! half of one. All functions block on the disk.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use motorium_proto::service::FileInfo;
use rand::TryRngCore as _;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;
use sha2::{Digest as _, Sha256};

/// Longest name that file systems take, in bytes.
const LONGEST_NAME: usize = 255;
/// For the user of the desktop alone.
const FOLDER_MODE: u32 = 0o700;

/// Why a file cannot be put, fetched or described.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name could mean something outside of the folder, or is none.
    #[error("`{name}` is not a plain file name: {why}")]
    BadName { name: String, why: &'static str },
    /// There is no plain file of that name.
    #[error("there is no file `{name}` in the desktop's folder")]
    NotFound { name: String },
    /// There is one already, and it is not to be replaced.
    #[error(
        "there is a file `{name}` already; ask for it to be overwritten, or choose another name"
    )]
    Exists { name: String },
    /// It is larger than allowed.
    #[error("the file has {size} bytes, more than the {limit} that are allowed")]
    TooLarge { size: u64, limit: u64 },
    /// The operating system refused.
    #[error("the desktop's folder {}: {source}", folder.display())]
    Io {
        folder: PathBuf,
        source: std::io::Error,
    },
}

/// The folder of one desktop.
#[derive(Debug)]
pub struct Files {
    path: PathBuf,
    folder: OwnedFd,
    largest: u64,
}

impl Files {
    /// Opens the folder, making it if it is not there. `largest` is in bytes.
    ///
    /// # Errors
    /// If it cannot be made or opened.
    pub fn open(path: &Path, largest: u64) -> Result<Self, Error> {
        let io = |source| Error::Io {
            folder: path.to_owned(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(path)
            .map_err(io)?;
        let path = path.canonicalize().map_err(io)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder =
            rustix::fs::open(&path, flags, Mode::empty()).map_err(|errno| io(errno.into()))?;
        Ok(Self {
            path,
            folder,
            largest,
        })
    }

    /// Puts a file.
    ///
    /// # Errors
    /// If the name is not plain, the content too large, or the file there and not to be replaced.
    pub fn put(&self, name: &str, content: &[u8], overwrite: bool) -> Result<FileInfo, Error> {
        check_name(name)?;
        self.check_size(content.len() as u64)?;
        let fresh = self.fresh_name()?;
        let placed = self
            .write(&fresh, content)
            .and_then(|()| self.place(&fresh, name, overwrite));
        if placed.is_err() {
            // What could not be placed is not left lying about; the error that matters is the first one.
            let _ = unlinkat(&self.folder, &fresh, AtFlags::empty());
        }
        placed?;
        self.stat(name)?.ok_or_else(|| Error::NotFound {
            name: name.to_owned(),
        })
    }

    /// Fetches a file.
    ///
    /// # Errors
    /// If the name is not plain, or if there is no plain file of that name or it is too large.
    pub fn get(&self, name: &str) -> Result<(FileInfo, Vec<u8>), Error> {
        let file = self.open_plain(name)?.ok_or_else(|| Error::NotFound {
            name: name.to_owned(),
        })?;
        let content = self.read(&file)?;
        Ok((self.describe(name, &file, &content)?, content))
    }

    /// Describes a file; `None` if there is no plain file of that name.
    ///
    /// # Errors
    /// If the name is not plain or the file is too large to be looked through.
    pub fn stat(&self, name: &str) -> Result<Option<FileInfo>, Error> {
        let Some(file) = self.open_plain(name)? else {
            return Ok(None);
        };
        let content = self.read(&file)?;
        self.describe(name, &file, &content).map(Some)
    }

    fn io(&self, source: impl Into<std::io::Error>) -> Error {
        Error::Io {
            folder: self.path.clone(),
            source: source.into(),
        }
    }

    fn check_size(&self, size: u64) -> Result<(), Error> {
        if size > self.largest {
            Err(Error::TooLarge {
                size,
                limit: self.largest,
            })
        } else {
            Ok(())
        }
    }

    /// A hidden name that nobody uses. Hidden names cannot be asked for from outside.
    fn fresh_name(&self) -> Result<String, Error> {
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

    fn place(&self, fresh: &str, name: &str, overwrite: bool) -> Result<(), Error> {
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

    fn open_plain(&self, name: &str) -> Result<Option<File>, Error> {
        check_name(name)?;
        // Without NONBLOCK, opening a pipe that somebody has put here would wait for a writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Ok(None),
            Err(errno) => return Err(self.io(errno)),
        };
        let is_plain = file.metadata().map_err(|error| self.io(error))?.is_file();
        Ok(is_plain.then_some(file))
    }

    fn read(&self, file: &File) -> Result<Vec<u8>, Error> {
        let size = file.metadata().map_err(|error| self.io(error))?.size();
        self.check_size(size)?;
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // It may grow while it is read.
        file.take(self.largest + 1)
            .read_to_end(&mut content)
            .map_err(|error| self.io(error))?;
        self.check_size(content.len() as u64)?;
        Ok(content)
    }

    fn describe(&self, name: &str, file: &File, content: &[u8]) -> Result<FileInfo, Error> {
        let modified: SystemTime = file
            .metadata()
            .and_then(|data| data.modified())
            .map_err(|error| self.io(error))?;
        Ok(FileInfo {
            name: name.to_owned(),
            size_bytes: content.len() as u64,
            modified_at: modified,
            sha256: Sha256::digest(content).into(),
            path: self.path.join(name).to_string_lossy().into_owned(),
        })
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > LONGEST_NAME {
        "it is longer than 255 bytes"
    } else if name.starts_with('.') {
        "it begins with a dot"
    } else if name.contains(['/', '\\']) {
        "it contains a separator"
    } else if name.contains(char::is_control) {
        "it contains a control character"
    } else {
        return Ok(());
    };
    Err(Error::BadName {
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
    fn what_is_put_is_fetched() {
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
        assert_eq!(names, ["a.txt"], "nothing is left lying about");
    }

    #[test]
    fn nothing_outside_can_be_named() {
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
                matches!(files.get(name), Err(Error::BadName { .. })),
                "{name:?}"
            );
            assert!(
                matches!(files.put(name, b"x", true), Err(Error::BadName { .. })),
                "{name:?}"
            );
        }
    }

    #[test]
    fn only_plain_files_are_there() {
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

    #[test]
    fn size_is_limited_both_ways() {
        let parent = tempfile::tempdir().unwrap();
        let files = files(&parent);
        assert!(matches!(
            files.put("big", &[0; 11], false),
            Err(Error::TooLarge {
                size: 11,
                limit: 10
            })
        ));
        fs::write(files.path.join("big"), [0; 11]).unwrap();
        assert!(matches!(files.get("big"), Err(Error::TooLarge { .. })));
    }
}
