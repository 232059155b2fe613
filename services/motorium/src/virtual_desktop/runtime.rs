//! Files of a running desktop that its programs must not change: the cookie, and the configurations of its window manager and
//! session bus.
//!
//! They lie in a new folder for each start, outside the desktop's home. In the home a program could replace them, or leave a link
//! that leads the next start to a file of the user. Only the folder for the programs' own sockets is writable in the sandbox.
//!
//! A folder that a killed process left is removed at the next start. A lock tells that one is in use.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use motorium_kit::private_file;
use tempfile::TempDir;

use super::access::Cookie;
use super::window_manager;

/// Parent of the folder. The path of a socket has at most 107 bytes, and it stands in addresses and in XML unquoted.
pub(super) const PARENT: &str = "/tmp";

/// Beginning of the folder's name.
const PREFIX: &str = "motorium-desktop-";
/// File that is locked while the folder is in use.
const LOCK: &str = "lock";

/// Authority file with the cookie.
const AUTHORITY: &str = "authority";
/// Folder of the window manager's configuration.
const WINDOW_MANAGER: &str = "icewm";

/// Configuration of the session bus. It starts no services: what they would start is not on the list of applications.
const BUS_CONFIGURATION: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path=SOCKET</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
"#;

/// The folder. It is removed when this is dropped.
#[derive(Debug)]
pub(super) struct RuntimeFolder {
    folder: TempDir,
    _lock: File,
}

impl RuntimeFolder {
    /// Writes the files. Only this user can read them.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(super) fn create(cookie: &Cookie) -> io::Result<Self> {
        remove_abandoned(Path::new(PARENT));
        let created = tempfile::Builder::new()
            .prefix(PREFIX)
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(PARENT)?;
        let lock = locked(created.path())?;
        let folder = Self {
            folder: created,
            _lock: lock,
        };
        fs::create_dir(folder.of_programs())?;
        fs::set_permissions(folder.of_programs(), fs::Permissions::from_mode(0o700))?;
        write_display_files(folder.path(), cookie)?;
        let socket = folder.bus_socket();
        let bus = BUS_CONFIGURATION.replace("SOCKET", &socket.to_string_lossy());
        fs::write(folder.bus_configuration(), bus)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the authority file with the cookie.
    pub(super) fn authority(&self) -> PathBuf {
        self.path().join(AUTHORITY)
    }

    /// Returns the folder of the window manager's configuration.
    pub(super) fn window_manager(&self) -> PathBuf {
        self.path().join(WINDOW_MANAGER)
    }

    pub(super) fn bus_configuration(&self) -> PathBuf {
        self.path().join("bus.conf")
    }

    /// Returns the folder for sockets of the programs (`XDG_RUNTIME_DIR`).
    pub(super) fn of_programs(&self) -> PathBuf {
        self.path().join("run")
    }

    pub(super) fn bus_socket(&self) -> PathBuf {
        self.of_programs().join("bus")
    }
}

/// Writes what an X server and a window manager need into a folder: an authority file and a configuration.
///
/// # Errors
/// If the folder cannot be written.
pub(super) fn write_display_files(folder: &Path, cookie: &Cookie) -> io::Result<()> {
    let authority = folder.join(AUTHORITY);
    // Only this user can read the cookie, also in a folder of others.
    private_file::replace(&authority, &cookie.authority_file())?;
    window_manager::write(&folder.join(WINDOW_MANAGER))
}

/// Creates the lock of a folder. It gets its name once it is locked, so that no other process finds it unlocked.
fn locked(folder: &Path) -> io::Result<File> {
    let unnamed = folder.join("lock.new");
    let lock = File::create_new(&unnamed)?;
    lock.lock()?;
    fs::rename(unnamed, folder.join(LOCK))?;
    Ok(lock)
}

/// Removes the folders of this user that no process has locked. Failures are only logged: they take nothing but space.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    let user = rustix::process::getuid().as_raw();
    for entry in entries.flatten() {
        let is_named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Not followed: a link of another user leads elsewhere.
        let is_own = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_named || !is_own {
            continue;
        }
        // A folder without a lock is being created.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else {
            continue;
        };
        if lock.try_lock().is_ok()
            && let Err(error) = fs::remove_dir_all(entry.path())
        {
            tracing::warn!(folder = %entry.path().display(), %error, "an old folder of a desktop was not removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_abandoned_folders_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let folder = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (used, abandoned) = (folder("motorium-desktop-a"), folder("motorium-desktop-b"));
        let (starting, other) = (folder("motorium-desktop-c"), folder("something-else"));
        let _lock = locked(&used).unwrap();
        drop(locked(&abandoned).unwrap());
        drop(locked(&other).unwrap());
        remove_abandoned(parent.path());
        assert!(used.is_dir() && starting.is_dir() && other.is_dir());
        assert!(!abandoned.exists());
    }
}
