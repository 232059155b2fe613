//! The sandbox of a virtual desktop: its programs in their own user, mount, process, IPC and host-name namespaces, by
//! bubblewrap.
//!
//! They see the system's programs, the parts of its configuration that programs with windows need, their own home, the
//! task files, and what the settings add. They do not see other processes, the user's home, Motorium's data, its
//! configuration, or any other file. The network is the machine's: a browser needs it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use motorium_messages::Message;

use crate::show::text;

use super::settings::Isolation;
use super::{READY_TIMEOUT, is_installed, tied_command};

/// Program that builds the sandbox.
pub(crate) const PROGRAM: &str = "bwrap";
/// Package that has the sandbox program.
pub(crate) const PACKAGE: &str = "bubblewrap";

/// Folders below the root that are either folders or, on a merged system, links to folders in `/usr`.
const SYSTEM_FOLDERS: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];

/// Parts of `/etc` that programs with windows need: names, time, fonts, certificates, libraries, and defaults of toolkits
/// and browsers. The rest may hold secrets, such as Motorium's.
const CONFIGURATION: [&str; 31] = [
    "alternatives",
    "ca-certificates",
    "chromium",
    "chromium.d",
    "default/locale",
    "dconf",
    "firefox",
    "fonts",
    "group",
    "gtk-2.0",
    "gtk-3.0",
    "gtk-4.0",
    "host.conf",
    "hosts",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "libreoffice",
    "locale.conf",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "opt",
    "passwd",
    "pki",
    "resolv.conf",
    "ssl/certs",
    "xdg",
];

/// Lists of applications of the system. Without them no program finds another one to open a file or a link with.
const APPLICATION_LISTS: [&str; 2] = ["/usr/share/applications", "/usr/local/share/applications"];

/// Programs that open a file or a link with another program, and are replaced by one that does nothing.
const OPENERS: [&str; 3] = [
    "/usr/bin/xdg-open",
    "/usr/bin/exo-open",
    "/usr/bin/sensible-browser",
];

/// Program that does nothing.
const NOTHING: &str = "/usr/bin/false";

/// User of the programs if the service's is root: browsers refuse to isolate their pages as root.
const PLAIN_USER: u32 = 1000;

/// Arguments for the X server. It attaches shared memory of the IPC namespace that it is in for any client that names it, so that it
/// needs one in which there is nothing of the user's.
pub(super) const SERVER_ARGUMENTS: [&str; 7] = [
    "--unshare-user",
    "--unshare-ipc",
    "--die-with-parent",
    "--dev-bind",
    "/",
    "/",
    "--",
];

/// Namespaces of the sandbox.
const NAMESPACES: [&str; 4] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
];

/// Further arguments of the smallest sandbox that needs all that this one needs of the system.
const PROBE_ARGUMENTS: [&str; 10] = [
    "--ro-bind",
    "/",
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--die-with-parent",
    "--",
    "true",
];

/// Returns the reason why there is no sandbox: the settings, or the system.
pub(super) async fn obstacle(isolation: Isolation) -> Option<String> {
    if isolation == Isolation::Off {
        return Some(text(Message::IsolationIsOff));
    }
    if !is_installed(PROGRAM) {
        return Some(text(Message::SandboxNotInstalled {
            program: PROGRAM,
            package: PACKAGE,
        }));
    }
    let mut probe = tied_command(PROGRAM);
    probe
        .args(NAMESPACES)
        .args(PROBE_ARGUMENTS)
        .stdout(Stdio::null());
    probe.stderr(Stdio::piped());
    let ended = tokio::time::timeout(READY_TIMEOUT, probe.output()).await;
    match ended {
        Ok(Ok(output)) if output.status.success() => None,
        Ok(Ok(output)) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some(std::io::Error::from(std::io::ErrorKind::TimedOut).to_string()),
    }
}

/// Surroundings of the programs in the sandbox.
#[derive(Debug)]
pub(super) struct Sandbox<'a> {
    /// Home folder of the programs.
    pub(super) home: &'a Path,
    /// Folder of the task files.
    pub(super) files: &'a Path,
    /// Number of the display that the programs use.
    pub(super) display_number: &'a str,
    /// Host name in the sandbox. Another one for each desktop, so that locks of an earlier one are known to be stale.
    pub(super) host: &'a str,
    /// Environment variables of the programs.
    pub(super) environment: &'a [(OsString, OsString)],
    /// Paths that the programs can read.
    pub(super) readable: &'a [PathBuf],
    /// Paths that the programs can write. Mounted after the readable ones, of which they may be parts.
    pub(super) writable: &'a [PathBuf],
}

impl Sandbox<'_> {
    /// Returns the arguments of bubblewrap, up to the program to start. Every user of the machine can read them, so the environment,
    /// which may have the password of a proxy, is not among them.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut arguments = Arguments::default();
        arguments.add(NAMESPACES);
        arguments.add(["--unshare-cgroup-try", "--die-with-parent", "--new-session"]);
        arguments.add(["--hostname", self.host]);
        let user = rustix::process::getuid().as_raw();
        if user == 0 {
            let user = PLAIN_USER.to_string();
            arguments.add(["--uid", &user, "--gid", &user]);
        }
        arguments.system();
        arguments.add([
            "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/run",
        ]);
        let socket = format!("/tmp/.X11-unix/X{}", self.display_number);
        arguments.bind("--ro-bind-try", Path::new(&socket));
        for path in self.readable {
            arguments.bind("--ro-bind", path);
        }
        for path in self.writable {
            arguments.bind("--bind", path);
        }
        arguments.add([
            OsStr::new("--chdir"),
            self.home.as_os_str(),
            OsStr::new("--"),
        ]);
        arguments.0
    }
}

#[derive(Debug, Default)]
struct Arguments(Vec<OsString>);

impl Arguments {
    fn add(&mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) {
        let arguments = arguments.into_iter();
        self.0
            .extend(arguments.map(|argument| argument.as_ref().to_owned()));
    }

    /// Shows a file or folder at its own path.
    fn bind(&mut self, kind: &str, path: &Path) {
        self.add([OsStr::new(kind), path.as_os_str(), path.as_os_str()]);
    }

    /// Shows the system's programs and the needed parts of its configuration.
    fn system(&mut self) {
        self.add(["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt"]);
        for name in SYSTEM_FOLDERS {
            let path = Path::new("/").join(name);
            match fs::read_link(&path) {
                Ok(target) => self.add([
                    OsStr::new("--symlink"),
                    target.as_os_str(),
                    path.as_os_str(),
                ]),
                Err(_) => self.bind("--ro-bind-try", &path),
            }
        }
        for name in CONFIGURATION {
            let path = Path::new("/etc").join(name);
            // A link may lead out of what is shown, as `resolv.conf` does on some systems.
            if let Ok(target) = path.canonicalize() {
                self.add([
                    OsStr::new("--ro-bind"),
                    target.as_os_str(),
                    path.as_os_str(),
                ]);
            }
        }
        self.add([
            "--ro-bind-try",
            "/var/cache/fontconfig",
            "/var/cache/fontconfig",
        ]);
        for list in APPLICATION_LISTS
            .into_iter()
            .filter(|list| Path::new(list).is_dir())
        {
            self.add(["--tmpfs", list]);
        }
        for opener in OPENERS
            .into_iter()
            .filter(|opener| Path::new(opener).is_file())
        {
            self.add(["--ro-bind", NOTHING, opener]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openers_are_replaced_in_images_as_well() {
        let image = include_str!("../../../../deploy/images/Containerfile");
        for opener in OPENERS {
            let name = opener.trim_start_matches("/usr/bin/");
            assert!(image.contains(name), "{name}");
        }
    }
}
