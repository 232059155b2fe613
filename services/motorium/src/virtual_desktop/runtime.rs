//! Files of a running desktop that its programs must not change: the cookie, and the configurations of its window manager and
//! session bus.
//!
//! They lie in a new folder for each start, outside the desktop's home. In the home a program could replace them, or leave a link
//! that leads the next start to a file of the user. Only the folder for the programs' own sockets is writable in the sandbox.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::access::Cookie;
use super::window_manager;

/// Parent of the folder. The path of a socket has at most 107 bytes, and it stands in addresses and in XML unquoted.
pub(super) const PARENT: &str = "/tmp";

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
pub(super) struct RuntimeFolder(TempDir);

impl RuntimeFolder {
    /// Writes the files. Only this user can read them.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub(super) fn create(cookie: &Cookie) -> io::Result<Self> {
        let created = tempfile::Builder::new()
            .prefix("motorium-desktop-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir_in(PARENT)?;
        let folder = Self(created);
        fs::create_dir(folder.of_programs())?;
        fs::set_permissions(folder.of_programs(), fs::Permissions::from_mode(0o700))?;
        fs::write(folder.authority(), cookie.authority_file())?;
        window_manager::write(&folder.window_manager())?;
        let socket = folder.bus_socket();
        let bus = BUS_CONFIGURATION.replace("SOCKET", &socket.to_string_lossy());
        fs::write(folder.bus_configuration(), bus)?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the authority file with the cookie.
    pub(super) fn authority(&self) -> PathBuf {
        self.path().join("authority")
    }

    /// Returns the folder of the window manager's configuration.
    pub(super) fn window_manager(&self) -> PathBuf {
        self.path().join("icewm")
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
