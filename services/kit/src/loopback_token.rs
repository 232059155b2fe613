//! The token that the programs of one user share: servers on the loopback address demand it, clients find it by themselves.
//!
//! Every user of a machine can connect to its loopback address. The token lies in a file that only its owner can read, so other
//! users cannot call the servers. It does not protect from programs of the same user, and it is never sent to another machine
//! (`client` sees to that).
//! Invariant: a token is taken only from a file of this user that other users can neither read nor replace, and two processes
//! that create it at the same time get the same one.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::private_file;
use crate::secret::{RANDOM_BYTES, Secret};

/// Name of the folder of the token, and of the file in it.
const FOLDER: &str = "motorium";
const FILE: &str = "token";
/// Environment variables that name folders of the user.
const VARIABLES: [&str; 3] = ["XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME"];
/// Maximum number of bytes that are read from a file. A larger one is no token.
const MAX_BYTES: u64 = 4096;

/// An error that keeps the token from being used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no folder of the user.
    #[error("no folder for the token of this user: set XDG_RUNTIME_DIR or HOME")]
    NoFolder,
    /// Other users could know or choose the token.
    #[error(
        "the token in {path} is not used, because {problem}; remove {path} and start the servers again"
    )]
    Unsafe {
        /// The file or its folder.
        path: PathBuf,
        /// The reason, as the middle of a sentence.
        problem: &'static str,
    },
    /// The file cannot be read or written.
    #[error("the token file {path} cannot be used: {source}")]
    Io {
        /// The file or its folder.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

/// The place of the token. Cheap to create: files are only opened when the token is needed.
#[derive(Debug, Clone)]
pub struct LoopbackToken {
    /// Folders that may have the token, the preferred one first.
    folders: Vec<PathBuf>,
}

impl LoopbackToken {
    /// Returns the token of the user with these environment variables: in `$XDG_RUNTIME_DIR/motorium`, or else in
    /// `$XDG_STATE_HOME/motorium` or `~/.local/state/motorium`.
    #[must_use]
    pub fn of_user<'a>(variable: impl Fn(&str) -> Option<&'a str>) -> Self {
        let absolute = |name: &str| {
            let path = variable(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        // The folder of another login or of another user's session may be named, but not exist here.
        let runtime = absolute("XDG_RUNTIME_DIR").filter(|folder| folder.is_dir());
        let home = || Some(absolute("HOME")?.join(".local/state"));
        let state = absolute("XDG_STATE_HOME").or_else(home);
        let folders = runtime.into_iter().chain(state);
        Self {
            folders: folders.map(|folder| folder.join(FOLDER)).collect(),
        }
    }

    /// Returns the token of the user who runs this process.
    #[must_use]
    pub fn of_this_user() -> Self {
        let environment = VARIABLES.map(|name| (name, std::env::var(name).unwrap_or_default()));
        Self::of_user(|wanted| {
            let mut variables = environment.iter();
            let (_, value) = variables.find(|(name, _)| *name == wanted)?;
            Some(value.as_str()).filter(|value| !value.is_empty())
        })
    }

    /// Returns the token, or `None` if no server has created it yet.
    ///
    /// # Errors
    /// If there is a file that cannot be read, or that other users could have read or written.
    pub fn find(&self) -> Result<Option<Secret>, Error> {
        // Also the folder that is not preferred: a server that was started without a session has created it there.
        for folder in &self.folders {
            if let Some(token) = read(folder)? {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// Returns the token, after creating it if there is none.
    ///
    /// # Errors
    /// As [`LoopbackToken::find`], or if the file cannot be created.
    pub fn find_or_create(&self) -> Result<Secret, Error> {
        if let Some(token) = self.find()? {
            return Ok(token);
        }
        create(self.folders.first().ok_or(Error::NoFolder)?)
    }
}

/// Reads the token in a folder, after checking that only this user can have put it there.
fn read(folder: &Path) -> Result<Option<Secret>, Error> {
    let of_folder = match fs::symlink_metadata(folder) {
        Ok(metadata) => metadata,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(folder, source)),
    };
    check_folder(folder, &of_folder)?;
    let path = folder.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(&path, source)),
    };
    let of_file = file.metadata().map_err(|source| failed(&path, source))?;
    check_file(&path, &of_file)?;
    let mut text = String::new();
    let reading = file.take(MAX_BYTES).read_to_string(&mut text);
    reading.map_err(|source| failed(&path, source))?;
    let token = text.trim();
    // As long as the tokens that are created: a shorter one was cut off, or chosen by a person.
    if token.len() < RANDOM_BYTES || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let problem = "it is not a token that Motorium has created";
        return Err(Error::Unsafe { path, problem });
    }
    Ok(Some(Secret::new(token)))
}

/// Creates the token in a folder, or returns the one that another process has created meanwhile.
fn create(folder: &Path) -> Result<Secret, Error> {
    private_file::create_folder(folder).map_err(|source| failed(folder, source))?;
    let path = folder.join(FILE);
    let token = Secret::random().map_err(|source| failed(&path, source))?;
    match private_file::create(&path, token.expose().as_bytes()) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        created => created.map_err(|source| failed(&path, source))?,
    }
    let created = read(folder)?;
    created.ok_or_else(|| failed(&path, io::ErrorKind::NotFound.into()))
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::Io {
        path: path.to_owned(),
        source,
    }
}

/// Refuses a folder in which other users could place a file.
fn check_folder(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    let problem = if !metadata.is_dir() {
        Some("its place is not a folder")
    } else if !is_own(metadata) {
        Some("its folder belongs to another user")
    } else if permissions(metadata) & 0o022 != 0 {
        Some("other users can write to its folder")
    } else {
        None
    };
    refuse(path, problem)
}

/// Refuses a file of another user, or one that others can read.
fn check_file(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    let problem = if !metadata.is_file() {
        Some("it is not a file")
    } else if !is_own(metadata) {
        Some("the file belongs to another user")
    } else if permissions(metadata) & 0o077 != 0 {
        Some("other users can read the file")
    } else {
        None
    };
    refuse(path, problem)
}

fn refuse(path: &Path, problem: Option<&'static str>) -> Result<(), Error> {
    problem.map_or(Ok(()), |problem| {
        Err(Error::Unsafe {
            path: path.to_owned(),
            problem,
        })
    })
}

#[cfg(unix)]
fn is_own(metadata: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(unix)]
fn permissions(metadata: &Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o777
}

/// Elsewhere the folders of a user are private to that user by default, and files have no such permissions.
#[cfg(not(unix))]
fn is_own(_: &Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn permissions(_: &Metadata) -> u32 {
    0
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    use std::sync::Barrier;

    use tempfile::TempDir;

    use super::*;

    fn in_folder(folder: &TempDir) -> LoopbackToken {
        let path = folder.path().to_str().unwrap();
        LoopbackToken::of_user(|name| (name == "XDG_RUNTIME_DIR").then_some(path))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn it_is_created_once_and_only_its_owner_can_read_it() {
        let folder = tempfile::tempdir().unwrap();
        let token = in_folder(&folder);
        assert!(token.find().unwrap().is_none());
        let created = token.find_or_create().unwrap();
        let again = token.find().unwrap().unwrap();
        assert_eq!(created.expose(), again.expose());
        let own = folder.path().join("motorium");
        assert_eq!((mode(&own), mode(&own.join("token"))), (0o700, 0o600));
        let files = fs::read_dir(&own).unwrap().count();
        assert_eq!(files, 1, "drafts are left");
    }

    #[test]
    fn processes_that_start_together_get_one_token() {
        for _ in 0..20 {
            let folder = tempfile::tempdir().unwrap();
            let token = in_folder(&folder);
            let barrier = Barrier::new(8);
            let mut found: Vec<String> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8)
                    .map(|_| {
                        scope.spawn(|| {
                            barrier.wait();
                            token.find_or_create().unwrap().expose().to_owned()
                        })
                    })
                    .collect();
                threads.into_iter().map(|one| one.join().unwrap()).collect()
            });
            found.dedup();
            assert_eq!(found.len(), 1, "{found:?}");
        }
    }

    #[test]
    fn files_that_others_may_know_are_refused() {
        let check = |spoil: &dyn Fn(&Path), expected: &str| {
            let folder = tempfile::tempdir().unwrap();
            let token = in_folder(&folder);
            token.find_or_create().unwrap();
            spoil(&folder.path().join("motorium"));
            for found in [token.find().map(drop), token.find_or_create().map(drop)] {
                let error = found.unwrap_err().to_string();
                assert!(error.contains(expected), "{error}");
            }
        };
        let permit = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        check(
            &|own| permit(&own.join("token"), 0o640),
            "other users can read",
        );
        check(&|own| permit(own, 0o770), "other users can write");
        check(
            &|own| fs::write(own.join("token"), "guessable").unwrap(),
            "not a token",
        );
        check(
            &|own| {
                let elsewhere = own.with_file_name("elsewhere");
                fs::rename(own, &elsewhere).unwrap();
                symlink(&elsewhere, own).unwrap();
            },
            "not a folder",
        );
    }

    #[test]
    fn the_home_folder_is_used_without_a_runtime_folder() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().to_str().unwrap();
        let of_home = |name: &str| match name {
            "HOME" => Some(path),
            "XDG_RUNTIME_DIR" => Some("/nowhere/run"),
            _ => None,
        };
        let token = LoopbackToken::of_user(of_home).find_or_create().unwrap();
        let file = home.path().join(".local/state/motorium/token");
        assert_eq!(fs::read_to_string(file).unwrap(), token.expose());
        // A program with a session of its own finds it as well.
        let runtime = tempfile::tempdir().unwrap();
        let session = runtime.path().to_str().unwrap();
        let in_session = |name: &str| match name {
            "HOME" => Some(path),
            "XDG_RUNTIME_DIR" => Some(session),
            _ => None,
        };
        let found = LoopbackToken::of_user(in_session).find().unwrap();
        assert_eq!(found.unwrap().expose(), token.expose());
        let homeless = LoopbackToken::of_user(|_| None).find_or_create();
        assert!(matches!(homeless, Err(Error::NoFolder)));
    }
}
