//! Has held input released if this process ends without doing so: when it is killed, aborts or crashes.
//!
//! No program can release keys after SIGKILL, so another process does it (`release_process`). What is held is written to
//! memory that both share, before it is sent to the display: one system call for each key, without a round trip and
//! without waking the other process. That one waits for the end of a pipe, of which this process has the only other
//! end. It is started at the first press: what only looks starts nothing.
//!
//! Invariant: what is pressed on the display by this process is a part of what the shared memory lists.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use tokio::time::Instant;

use super::held_input::HeldInput;

/// First argument of the process that releases; its second one is the display.
pub(super) const COMMAND: &str = "release-input";
/// Variables by which it finds what authenticates it to the display, and its libraries. It gets no others: secrets may
/// be among them.
const ENVIRONMENT: [&str; 3] = ["HOME", "LD_LIBRARY_PATH", "XAUTHORITY"];
/// This program, also after its file was replaced by an upgrade.
const THIS_PROGRAM: &str = "/proc/self/exe";
/// Minimum time between two starts, so that a process that cannot run is not started with every key.
const RESTART_INTERVAL: Duration = Duration::from_secs(10);

/// Set if this program can be started as the process that releases. Others, such as tests of the driver, must not be
/// started once more.
static IS_AVAILABLE: AtomicBool = AtomicBool::new(false);

/// Lets guards of this process start this program once more.
pub(super) fn make_available() {
    IS_AVAILABLE.store(true, Ordering::Relaxed);
}

/// Has the held input of one display released after a crash.
#[derive(Debug)]
pub(super) struct ReleaseGuard {
    /// `None` if nothing is to be started.
    state: Option<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    display: String,
    held: HeldInput,
    /// Shared memory with the bytes of `held`, from the first press on.
    shared: Option<File>,
    process: Option<Process>,
    last_start: Option<Instant>,
}

/// The process that releases.
#[derive(Debug)]
struct Process {
    /// The process ends when this is closed.
    _pipe: ChildStdin,
    has_ended: Arc<AtomicBool>,
}

impl ReleaseGuard {
    /// Creates a guard of a display, if this program can be started as the process that releases.
    pub(super) fn new(display: &str) -> Self {
        let state = State {
            display: display.to_owned(),
            held: HeldInput::default(),
            shared: None,
            process: None,
            last_start: None,
        };
        Self {
            state: IS_AVAILABLE
                .load(Ordering::Relaxed)
                .then(|| Mutex::new(state)),
        }
    }

    /// Creates a guard that does nothing.
    pub(super) fn none() -> Self {
        Self { state: None }
    }

    /// Adds to what is held, before it is sent to the display. Starts the process if necessary.
    pub(super) fn announce(&self, change: impl FnOnce(&mut HeldInput)) {
        self.with_state(|state| {
            state.change(change);
            state.ensure_process();
        });
    }

    /// Replaces what is held, after the display has confirmed it.
    pub(super) fn confirm(&self, change: impl FnOnce(&mut HeldInput)) {
        self.with_state(|state| state.change(change));
    }

    fn with_state(&self, act: impl FnOnce(&mut State)) {
        if let Some(state) = &self.state {
            act(&mut state.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

impl State {
    fn change(&mut self, change: impl FnOnce(&mut HeldInput)) {
        let before = self.held.to_bytes();
        change(&mut self.held);
        let bytes = self.held.to_bytes();
        let Some(shared) = self.shared.as_ref().filter(|_| bytes != before) else {
            return;
        };
        if let Err(error) = shared.write_all_at(&bytes, 0) {
            tracing::warn!(%error, "what is pressed cannot be shared with the process that releases it after a crash");
        }
    }

    fn ensure_process(&mut self) {
        let is_running = |process: &Process| !process.has_ended.load(Ordering::Relaxed);
        if self.process.as_ref().is_some_and(is_running) {
            return;
        }
        let now = Instant::now();
        if (self.last_start).is_some_and(|last| now.duration_since(last) < RESTART_INTERVAL) {
            return;
        }
        self.last_start = Some(now);
        if let Err(error) = self.start() {
            tracing::warn!(
                %error,
                "no process can be started that releases keys and buttons after a crash; the next start releases them"
            );
        }
    }

    fn start(&mut self) -> io::Result<()> {
        let shared = match self.shared.take() {
            Some(shared) => shared,
            None => File::from(memfd_create("motorium-held-input", MemfdFlags::CLOEXEC)?),
        };
        shared.write_all_at(&self.held.to_bytes(), 0)?;
        self.process = Some(start_process(&self.display, &shared)?);
        self.shared = Some(shared);
        Ok(())
    }
}

fn start_process(display: &str, shared: &File) -> io::Result<Process> {
    let environment = ENVIRONMENT
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)));
    let mut child = Command::new(THIS_PROGRAM)
        .arg0("motorium")
        .args([COMMAND, display])
        .env_clear()
        .envs(environment)
        .stdin(Stdio::piped())
        .stdout(shared.try_clone()?)
        .stderr(Stdio::piped())
        // The signals of a terminal go to the group of this process.
        .process_group(0)
        .spawn()?;
    let pipe = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    std::thread::Builder::new()
        .name("release-guard".to_owned())
        .spawn(move || {
            report_end(child.wait_with_output());
            ended.store(true, Ordering::Relaxed);
        })?;
    Ok(Process {
        _pipe: pipe,
        has_ended,
    })
}

/// Logs that the process has ended by itself. It does so without an error when its display has ended.
fn report_end(output: io::Result<Output>) {
    let cause = match output {
        Ok(output) if output.status.success() => return,
        Ok(output) => format!(
            "{}, {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        ),
        Err(error) => error.to_string(),
    };
    tracing::warn!(
        cause,
        "the process that releases keys and buttons after a crash has ended"
    );
}
