//! A virtual desktop: its own X server, window manager and session bus.
//!
//! It does not touch the user's session: its applications have their own home, configuration and bus in a separate
//! folder. Applications are started by the Executor.
//!
//! Invariant: every started program ends with this process, however it ends (the kernel signals children when their
//! parent dies).

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use motorium_messages::Message;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use crate::browser_preferences;
use crate::show::text;

/// Timeout of the start of the X server and the session bus.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// Supported X servers in order of preference. Both support shared memory; TigerVNC can also be resized and viewed.
const SERVERS: [&str; 2] = ["Xtigervnc", "Xvfb"];

/// Preferences of icewm: no task bar that repeats window titles, one workspace, nothing that starts by itself.
const ICEWM_PREFERENCES: &str = "\
ShowTaskBar=0
WorkspaceNames=\" 1 \"
ClickToFocus=1
FocusOnMap=1
RaiseOnFocus=1
ShowPopupsAbovePointer=0
ConfirmLogout=0
";

/// The reason a virtual desktop could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}", text(Message::NoDisplayServer { first: SERVERS[0], second: SERVERS[1] }))]
    NoServer,
    #[error("{}", text(Message::ProgramNotStarted { program, problem: &source.to_string(), package }))]
    Start {
        program: &'static str,
        package: &'static str,
        source: io::Error,
    },
    #[error("{}", text(Message::ProgramNotReady { program, seconds: READY_TIMEOUT.as_secs() }))]
    NotReady { program: &'static str },
    #[error("{path}: {source}")]
    Folder { path: PathBuf, source: io::Error },
}

/// A running virtual desktop. Dropping it stops everything on it.
#[derive(Debug)]
pub(crate) struct VirtualDesktop {
    display: String,
    environment: BTreeMap<String, String>,
    // In shutdown order: the server last, so that no program loses its display.
    _children: Vec<Child>,
}

impl VirtualDesktop {
    /// Starts a desktop of this size. `folder` becomes its home directory.
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

    /// Returns its display (`:7`).
    #[must_use]
    pub(crate) fn display(&self) -> &str {
        &self.display
    }

    /// Returns the environment for programs on it.
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
    browser_preferences::write(folder).map_err(failed)?;
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
        // No accessibility bus: it is unused, and searching for one delays the start of applications.
        ("NO_AT_BRIDGE", "1".to_owned()),
        ("GTK_A11Y", "none".to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Creates a command whose process is killed when this one ends.
fn tied_command(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    // `kill_on_drop` alone does not help if this process is killed.
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
    let mut command = tied_command(program);
    // The server chooses a free display number and writes it to its standard output. Without -noreset it would reset
    // its keymap when the last client disconnects.
    command.args(["-displayfd", "1", "-noreset", "-nolisten", "tcp", "-ac"]);
    match program {
        "Xvfb" => command.args(["-screen", "0", &format!("{width}x{height}x24")]),
        _ => command
            .args(["-geometry", &format!("{width}x{height}"), "-depth", "24"])
            // No port for viewers: nothing outside of this process connects to the desktop.
            .args(["-SecurityTypes", "None", "-rfbport", "-1"]),
    };
    let (child, number) = first_line(command, program).await?;
    Ok((child, format!(":{number}")))
}

async fn start_bus() -> Result<(Child, String), Error> {
    let mut command = tied_command("dbus-daemon");
    // In the foreground, so that the process that is started is the bus itself and can be ended.
    command.args(["--session", "--nofork", "--nopidfile", "--print-address=1"]);
    first_line(command, "dbus-daemon").await
}

/// Starts a program and returns its first line of output.
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
    let line = tokio::time::timeout(READY_TIMEOUT, lines.next_line()).await;
    match line {
        Ok(Ok(Some(line))) if !line.trim().is_empty() => {
            // Drain later output, so that the program never blocks on a full pipe.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            Ok((child, line.trim().to_owned()))
        }
        _ => Err(Error::NotReady { program }),
    }
}

fn start_window_manager(environment: &BTreeMap<String, String>) -> Result<Child, Error> {
    // The window manager only: a full session would add a wallpaper and a tray.
    let mut command = tied_command("icewm");
    command.envs(environment).stdout(Stdio::null());
    command.spawn().map_err(|source| Error::Start {
        program: "icewm",
        package: "icewm",
        source,
    })
}
