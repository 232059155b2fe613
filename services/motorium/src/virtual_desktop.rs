//! A desktop where there is no display: an X server, a window manager, and a session bus, all our own.
//!
//! Nothing of the person's own session is touched: home, configuration and bus of the applications on it are in a
//! folder of its own. It does not start applications; that is the Executor's.
//!
//! Invariant: everything that was started here ends with this process, however it ends (the kernel tells the
//! children when their parent dies).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// How long the server may take to be ready.
const READY: Duration = Duration::from_secs(20);

/// X servers that will do, the better one first: both share memory, TigerVNC can also be resized and watched.
const SERVERS: [&str; 2] = ["Xtigervnc", "Xvfb"];

/// What icewm needs to know: no task bar that repeats window titles, no second desktop, nothing that starts by itself.
const ICEWM_PREFERENCES: &str = "\
ShowTaskBar=0
WorkspaceNames=\" 1 \"
ClickToFocus=1
FocusOnMap=1
RaiseOnFocus=1
ShowPopupsAbovePointer=0
ConfirmLogout=0
";

/// Why there is no virtual desktop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("neither {} is installed; install tigervnc-standalone-server or xvfb", SERVERS.join(" nor "))]
    NoServer,
    #[error("{program} cannot be started: {source}; install the package {package}")]
    Start {
        program: &'static str,
        package: &'static str,
        source: io::Error,
    },
    #[error("{program} did not say within {} s that it is ready", READY.as_secs())]
    NotReady { program: &'static str },
    #[error("{path}: {source}")]
    Folder { path: PathBuf, source: io::Error },
}

/// A running virtual desktop. Dropping it ends everything on it.
#[derive(Debug)]
pub(crate) struct VirtualDesktop {
    display: String,
    environment: BTreeMap<String, String>,
    // In the order in which they end: the server last, so that nothing complains.
    _children: Vec<Child>,
}

impl VirtualDesktop {
    /// Starts a desktop of this size. `folder` becomes the home of everything on it.
    ///
    /// # Errors
    /// If a program is not installed or does not become ready.
    pub(crate) async fn start(size: (u16, u16), folder: &Path) -> Result<Self, Error> {
        let home = prepare_home(folder)?;
        let (server, display) = start_server(size).await?;
        let (bus, address) = start_bus().await?;
        let environment = environment(&display, &address, &home);
        let manager = start_window_manager(&environment)?;
        Ok(Self {
            display,
            environment,
            _children: vec![manager, bus, server],
        })
    }

    /// Its display (`:7`).
    #[must_use]
    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    /// What programs on it need in their environment.
    #[must_use]
    pub(crate) fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }
}

fn prepare_home(folder: &Path) -> Result<PathBuf, Error> {
    let failed = |source| Error::Folder {
        path: folder.to_owned(),
        source,
    };
    let icewm = folder.join(".icewm");
    fs::create_dir_all(&icewm).map_err(failed)?;
    fs::write(icewm.join("preferences"), ICEWM_PREFERENCES).map_err(failed)?;
    fs::create_dir_all(folder.join("run")).map_err(failed)?;
    Ok(folder.to_owned())
}

fn environment(display: &str, bus: &str, home: &Path) -> BTreeMap<String, String> {
    let home = home.to_string_lossy();
    let pairs = [
        ("DISPLAY", display.to_owned()),
        ("DBUS_SESSION_BUS_ADDRESS", bus.to_owned()),
        ("HOME", home.to_string()),
        ("XDG_CONFIG_HOME", format!("{home}/.config")),
        ("XDG_CACHE_HOME", format!("{home}/.cache")),
        ("XDG_DATA_HOME", format!("{home}/.local/share")),
        ("XDG_RUNTIME_DIR", format!("{home}/run")),
        ("LANG", "C.UTF-8".to_owned()),
        // No accessibility bus: nothing here uses it, and looking for one delays the start of applications.
        ("NO_AT_BRIDGE", "1".to_owned()),
        ("GTK_A11Y", "none".to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// A command whose process ends when this one does.
fn tied(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", program]);
    command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .process_group(0);
    command
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

async fn start_server((width, height): (u16, u16)) -> Result<(Child, String), Error> {
    let program = SERVERS
        .into_iter()
        .find(|program| is_installed(program))
        .ok_or(Error::NoServer)?;
    let mut command = tied(program);
    // The server chooses a free display number and writes it to its standard output. Without -noreset it would
    // forget its keymap whenever the last client leaves.
    command.args(["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-ac"]);
    match program {
        "Xvfb" => command.args(["-screen", "0", &format!("{width}x{height}x24")]),
        _ => command
            .args(["-geometry", &format!("{width}x{height}"), "-depth", "24"])
            .args(["-SecurityTypes", "None", "-rfbport", "-1"]),
    };
    let (child, number) = first_line(command, program).await?;
    Ok((child, format!(":{number}")))
}

async fn start_bus() -> Result<(Child, String), Error> {
    let mut command = tied("dbus-daemon");
    command.args(["--session", "--nofork", "--nopidfile", "--print-address=1"]);
    first_line(command, "dbus-daemon").await
}

/// Starts a program and gives the first line that it writes.
async fn first_line(mut command: Command, program: &'static str) -> Result<(Child, String), Error> {
    let package = if program == "dbus-daemon" {
        "dbus"
    } else {
        "xvfb"
    };
    let failed = |source| Error::Start {
        program,
        package,
        source,
    };
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
    let output = child.stdout.take().ok_or(Error::NotReady { program })?;
    let mut lines = BufReader::new(output).lines();
    let line = tokio::time::timeout(READY, lines.next_line()).await;
    match line {
        Ok(Ok(Some(line))) if !line.trim().is_empty() => {
            // Whatever it writes later is read, so that it never stands still on a full pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            Ok((child, line.trim().to_owned()))
        }
        _ => Err(Error::NotReady { program }),
    }
}

fn start_window_manager(environment: &BTreeMap<String, String>) -> Result<Child, Error> {
    // The manager alone: a session would bring a wallpaper and a tray.
    let mut command = tied("icewm");
    command.envs(environment).stdout(Stdio::null());
    command.spawn().map_err(|source| Error::Start {
        program: "icewm",
        package: "icewm",
        source,
    })
}
