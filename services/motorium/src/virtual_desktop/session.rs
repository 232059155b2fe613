//! The process on a virtual desktop that starts its programs: in the sandbox where there is one.
//!
//! It is this program again, as `motorium desktop-session`. Its environment holds nothing of the service's, and its only
//! connection is an inherited socket.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use motorium_executor::drivers::launch::PROXY_VARIABLES;
use motorium_executor::drivers::launch::session::{self, LaunchSession};
use rustix::process::DumpableBehavior;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};

use super::sandbox::{self, Sandbox};
use super::{READY_TIMEOUT, browser_preferences, task_files, tied_command};

/// Name of the command.
const NAME: &str = "desktop-session";

/// Maximum bytes of the report of a sandbox that does not start.
const MAX_REPORT_BYTES: u64 = 4096;

/// The only variables of the service that the programs inherit, beside those of the proxy.
const INHERITED: [&str; 2] = ["PATH", "TZ"];

/// First line of the process.
#[derive(Debug, Serialize, Deserialize)]
struct Ready {
    /// True if browsers can isolate their pages here.
    isolates_pages: bool,
}

/// A running session. Dropping it ends every program in its sandbox.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) launches: Arc<LaunchSession>,
    /// True if browsers can isolate their pages.
    pub(super) isolates_pages: bool,
    _child: Child,
}

impl Session {
    /// Starts a session, in the sandbox or else with its environment only. `program` is this program.
    ///
    /// # Errors
    /// A description of the problem.
    pub(super) async fn start(
        sandbox: &Sandbox<'_>,
        program: &Path,
        is_isolated: bool,
    ) -> Result<Self, String> {
        let mut command = if is_isolated {
            let mut command = tied_command(sandbox::PROGRAM);
            command.args(sandbox.arguments()).arg(program);
            command
        } else {
            let mut command = tied_command(&program.to_string_lossy());
            command.current_dir(sandbox.home);
            command
        };
        // The first process of the sandbox shows its own environment to the others, so that it has no other than theirs.
        let variables = sandbox.environment.iter();
        command
            .env_clear()
            .envs(variables.map(|(name, value)| (name, value)));
        command.arg(NAME).arg(sandbox.home).arg(sandbox.files);
        Self::open(command).await
    }

    async fn open(mut command: Command) -> Result<Self, String> {
        let failed = |error: io::Error| error.to_string();
        let (owner, inner) = UnixStream::pair().map_err(failed)?;
        let output = inner.try_clone().map_err(failed)?;
        let mut child = command
            .stdin(Stdio::from(OwnedFd::from(inner)))
            .stdout(Stdio::from(OwnedFd::from(output)))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        // The command holds copies of the other end. With them, its early end would not be noticed.
        drop(command);
        let reading = tokio::task::spawn_blocking(move || first_line(owner));
        let (ready, socket) = match reading.await.map_err(|error| error.to_string())? {
            Ok(read) => read,
            Err(error) => return Err(report(&mut child, &error).await),
        };
        if let Some(mut stderr) = child.stderr.take() {
            // Drained, so that the program never blocks on a full pipe.
            tokio::spawn(async move { tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await });
        }
        Ok(Self {
            launches: Arc::new(LaunchSession::new(socket).map_err(failed)?),
            isolates_pages: ready.isolates_pages,
            _child: child,
        })
    }
}

/// Returns the environment of the session.
pub(super) fn environment() -> Vec<(OsString, OsString)> {
    let inherited = INHERITED.iter().chain(&PROXY_VARIABLES);
    inherited
        .filter_map(|name| Some(((*name).into(), std::env::var_os(name)?)))
        .collect()
}

fn first_line(socket: UnixStream) -> io::Result<(Ready, BufReader<UnixStream>)> {
    socket.set_read_timeout(Some(READY_TIMEOUT))?;
    let mut socket = BufReader::new(socket);
    let mut line = String::new();
    socket.read_line(&mut line)?;
    Ok((serde_json::from_str(&line)?, socket))
}

/// Returns what a program that did not become ready wrote, or else the error.
async fn report(child: &mut Child, error: &io::Error) -> String {
    let _ = child.start_kill();
    let mut written = Vec::new();
    if let Some(stderr) = child.stderr.take() {
        let mut stderr = stderr.take(MAX_REPORT_BYTES);
        let _ = tokio::time::timeout(READY_TIMEOUT, stderr.read_to_end(&mut written)).await;
    }
    let written = String::from_utf8_lossy(&written);
    match written.trim() {
        "" => error.to_string(),
        report => report.to_owned(),
    }
}

/// Starts the programs that the owner requests on standard input, until the owner closes it. `home` is the desktop's, `files`
/// the folder of its task files.
///
/// # Errors
/// If standard input or output fails.
pub(crate) async fn serve(home: &Path, files: &Path) -> io::Result<()> {
    // From here and not from outside: a program on the desktop may have left a link in its home, which leads nowhere in the sandbox.
    // Without the preferences the browser shows bubbles, and a desktop that does not start would be worse.
    if let Err(error) = browser_preferences::write(home, files) {
        tracing::warn!(%error, "the preferences of the browser were not written");
    }
    if let Err(error) = task_files::write(home, files) {
        tracing::warn!(%error, "file dialogs have no way to the task files");
    }
    // Programs in the sandbox are of the same user, and must not read this process or take it over.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let ready = Ready {
        isolates_pages: can_isolate_pages().await,
    };
    let serving = move || -> io::Result<()> {
        let mut output = io::stdout();
        writeln!(output, "{}", serde_json::to_string(&ready)?)?;
        output.flush()?;
        session::serve(io::stdin().lock(), output)
    };
    let served = tokio::task::spawn_blocking(serving).await;
    served.map_err(io::Error::other)?
}

/// Returns whether browsers can isolate their pages: they need namespaces of their own, and refuse to run as root.
async fn can_isolate_pages() -> bool {
    if rustix::process::getuid().is_root() {
        return false;
    }
    let mut command = Command::new("unshare");
    command
        .args([
            "--user",
            "--map-root-user",
            "--net",
            "--pid",
            "--fork",
            "true",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().await.is_ok_and(|status| status.success())
}
