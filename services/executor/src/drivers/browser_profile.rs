//! Locks of browser profiles that a browser on another host has left behind.
//!
//! Chromium locks its profile with a symbolic link that names its host and process. It removes the lock of a dead
//! process of the same host by itself, but refuses a profile that another host has locked. A container that got a new
//! name is such another host. The lock is removed only if nothing holds the profile: neither the browser's socket nor
//! one of its databases.

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, fcntl_lock};

use super::Error;
use super::program::Program;

/// The lock, and what a browser creates beside it.
const LOCK: &str = "SingletonLock";
const SOCKET: &str = "SingletonSocket";
const COOKIE: &str = "SingletonCookie";

/// Databases that a running browser keeps locked, below the folder of a person in the profile (`Default`).
const DATABASES: [&str; 3] = [
    "Local Storage/leveldb",
    "Session Storage",
    "Site Characteristics Database",
];

/// Programs that keep their profile below the configuration folder if none is named, with its name there.
const DEFAULT_PROFILES: [(&str, &str); 6] = [
    ("chromium", "chromium"),
    ("chromium-browser", "chromium"),
    ("google-chrome", "google-chrome"),
    ("google-chrome-stable", "google-chrome"),
    ("microsoft-edge", "microsoft-edge"),
    ("microsoft-edge-stable", "microsoft-edge"),
];

/// Removes the stale lock of a program's profile, if it is a browser and has one.
///
/// # Errors
/// [`Error::ProfileInUse`] if a browser of another host holds the profile.
pub(super) fn clear_stale_lock(program: &Program) -> Result<(), Error> {
    let Some(profile) = profile_folder(program) else {
        return Ok(());
    };
    let Ok(host) = fs::read_to_string("/proc/sys/kernel/hostname") else {
        return Ok(());
    };
    clear(&profile, host.trim())
}

fn clear(profile: &Path, this_host: &str) -> Result<(), Error> {
    let Ok(holder) = fs::read_link(profile.join(LOCK)) else {
        return Ok(());
    };
    let holder = holder.to_string_lossy().into_owned();
    // Hosts may have hyphens in their names; the process is behind the last one.
    let host = holder.rsplit_once('-').map_or(&*holder, |(host, _)| host);
    if host == this_host {
        return Ok(());
    }
    let profile_name = || profile.display().to_string();
    if is_held(profile) {
        return Err(Error::ProfileInUse {
            profile: profile_name(),
            host: host.to_owned(),
        });
    }
    tracing::info!(
        profile = profile_name(),
        host,
        "removed the stale lock of a browser profile"
    );
    for name in [LOCK, SOCKET, COOKIE] {
        match fs::remove_file(profile.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(profile = profile_name(), name, %error, "cannot remove a stale lock");
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns whether a browser has this profile open, also one in another container on this machine.
fn is_held(profile: &Path) -> bool {
    if UnixStream::connect(profile.join(SOCKET)).is_ok() {
        return true;
    }
    let persons = fs::read_dir(profile).into_iter().flatten().flatten();
    let locks = persons.flat_map(|person| {
        let locks = DATABASES.map(|database| person.path().join(database).join("LOCK"));
        locks.into_iter()
    });
    locks
        .filter_map(|lock| OpenOptions::new().write(true).open(lock).ok())
        .any(|lock| is_locked(&lock))
}

/// Returns whether another process has locked a file, with the locks that the browser's databases use.
fn is_locked(file: &File) -> bool {
    // The lock that this takes ends with the file.
    fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).is_err()
}

/// Returns the profile that a browser would use; `None` for any other program.
fn profile_folder(program: &Program) -> Option<PathBuf> {
    if let Some(named) = named_profile(&program.arguments) {
        return Some(named.into());
    }
    let name = Path::new(&program.program).file_name()?.to_str()?;
    let (_, folder) = DEFAULT_PROFILES.iter().find(|(known, _)| *known == name)?;
    let variable = |name: &str| {
        let own = program.environment.get(name).cloned();
        own.or_else(|| std::env::var(name).ok())
            .filter(|value| !value.is_empty())
    };
    let configuration = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let configuration =
        configuration.or_else(|| Some(Path::new(&variable("HOME")?).join(".config")))?;
    Some(configuration.join(folder))
}

fn named_profile(arguments: &[String]) -> Option<&str> {
    const OPTION: &str = "--user-data-dir";
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let rest = argument.strip_prefix(OPTION);
        match rest.map(|rest| rest.strip_prefix('=')) {
            Some(Some(folder)) => return Some(folder),
            Some(None) if argument == OPTION => return arguments.next().map(String::as_str),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    fn program(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Program {
        let own = |text: &&str| (*text).to_owned();
        Program {
            program: name.to_owned(),
            arguments: arguments.iter().map(own).collect(),
            environment: environment
                .iter()
                .map(|(name, value)| (own(name), own(value)))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn the_profile_is_the_named_one_or_the_default_of_the_browser() {
        let check = |program: Program, expected: Option<&str>| {
            assert_eq!(profile_folder(&program), expected.map(PathBuf::from));
        };
        let home = [("XDG_CONFIG_HOME", ""), ("HOME", "/home/me")];
        check(
            program("/usr/bin/chromium", &["--user-data-dir=/p"], &[]),
            Some("/p"),
        );
        check(
            program("wrapper", &["--user-data-dir", "/p"], &[]),
            Some("/p"),
        );
        check(
            program("/usr/bin/mousepad", &["--disable-server"], &home),
            None,
        );
        let configured = [("XDG_CONFIG_HOME", "/etc/me")];
        check(
            program("google-chrome", &[], &configured),
            Some("/etc/me/google-chrome"),
        );
    }

    fn locked_by(holder: &str) -> tempfile::TempDir {
        let profile = tempfile::tempdir().unwrap();
        symlink(holder, profile.path().join(LOCK)).unwrap();
        symlink("12345", profile.path().join(COOKIE)).unwrap();
        profile
    }

    fn is_there(profile: &tempfile::TempDir, name: &str) -> bool {
        fs::symlink_metadata(profile.path().join(name)).is_ok()
    }

    #[test]
    fn a_lock_of_another_host_goes_unless_something_holds_the_profile() {
        let own = locked_by("this-host-17");
        clear(own.path(), "this-host").unwrap();
        assert!(
            is_there(&own, LOCK),
            "the browser decides about its own host"
        );

        let stale = locked_by("old-container-17");
        let databases = stale.path().join("Default/Session Storage");
        fs::create_dir_all(&databases).unwrap();
        fs::write(databases.join("LOCK"), "").unwrap();
        clear(stale.path(), "this-host").unwrap();
        assert!(!is_there(&stale, LOCK) && !is_there(&stale, COOKIE));

        let held = locked_by("old-container-17");
        let _socket = UnixListener::bind(held.path().join(SOCKET)).unwrap();
        let error = clear(held.path(), "this-host").unwrap_err();
        assert!(error.to_string().contains("old-container"), "{error}");
        assert!(is_there(&held, LOCK));
    }
}
