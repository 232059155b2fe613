//! Motorium's programs as processes.
//!
//! They are built once per test process, with the cargo that runs it; `MOTORIUM_PROGRAMS` names a folder of prebuilt
//! programs instead. Programs inherit only the variables in [`INHERITED`] from the environment of the tests.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::{WAIT_TIMEOUT, until_within};

/// Environment variables that programs inherit from the tests.
const INHERITED: [&str; 5] = ["PATH", "LANG", "TZ", "TMPDIR", "RUST_BACKTRACE"];

/// Returns the path of a built program (`motorium`, `motorium-executor` …).
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();

    let path = FOLDER.get_or_init(built).join(name);
    assert!(
        path.is_file(),
        "no program {}; run `cargo programs`",
        path.display()
    );
    path
}

fn built() -> PathBuf {
    if let Some(folder) = std::env::var_os("MOTORIUM_PROGRAMS") {
        return PathBuf::from(folder);
    }
    let this = std::env::current_exe().expect("the path of this program is known");
    // `target/debug/deps/e2e-…`, `target/debug/soak`.
    let folder = this.parent().expect("a program is in a folder");
    let folder = if folder.ends_with("deps") {
        folder.parent().expect("`deps` is in a folder")
    } else {
        folder
    };
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        None | Some("debug") => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut building = Command::new(cargo);
    // The variables that cargo sets for the tested package make build scripts that read them (ring's) run again, which
    // recompiles everything that depends on them.
    let of_this_package = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_this_package(name)) {
        building.env_remove(name);
    }
    let status = building
        // An alias in `.cargo/config.toml`, with the features of the tests: with others, cargo would compile most of the
        // workspace once more.
        .args(["programs", "--quiet", "--profile", profile])
        .current_dir(crate::root())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the programs do not build");
    folder.to_owned()
}

/// Returns a command with a minimal environment. The process ends with the thread that starts it.
#[must_use]
pub fn command(program: impl AsRef<OsStr>, environment: &BTreeMap<String, String>) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--"])
        .arg(program)
        .env_clear()
        .envs(
            INHERITED
                .into_iter()
                .filter_map(|name| Some((name, std::env::var_os(name)?))),
        )
        .envs(environment)
        .stdin(Stdio::null());
    command
}

/// A user without rights.
pub const NOBODY: u32 = 65534;

/// Returns a command as one of a user without rights. Only root can change to it; others run it as they are.
#[must_use]
pub fn as_nobody(command: &Command) -> Command {
    let mut other = Command::new(command.get_program());
    if rustix::process::geteuid().is_root() {
        let user = NOBODY.to_string();
        other.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    }
    // Begins with arguments of `setpriv`, too.
    other
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null());
    other
}

/// Output of a process so far.
#[derive(Debug, Clone, Default)]
pub struct Output(Arc<Mutex<Vec<String>>>);

impl Output {
    /// Returns the lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Collects output as it comes, without waiting for the ends of lines.
    pub fn read_bytes(&self, mut stream: impl Read + Send + 'static) {
        let pieces = self.0.clone();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = stream.read(&mut piece) {
                let text = String::from_utf8_lossy(&piece[..length]).into_owned();
                pieces
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(text);
            }
        });
    }

    fn read(&self, stream: impl Read + Send + 'static) {
        let lines = self.0.clone();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stream);
            let mut line = Vec::new();
            while reader
                .read_until(b'\n', &mut line)
                .is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line).trim_end().to_owned();
                lines
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(text);
                line.clear();
            }
        });
    }
}

/// A child process that is killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    /// Standard output so far.
    pub stdout: Output,
    /// Standard error so far.
    pub stderr: Output,
}

impl Process {
    /// Starts the process and collects its output.
    ///
    /// # Panics
    /// If the program does not exist.
    #[must_use]
    pub fn start(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let (stdout, stderr) = (Output::default(), Output::default());
        stdout.read(child.stdout.take().expect("it is piped"));
        stderr.read(child.stderr.take().expect("it is piped"));
        // What comes after `setpriv --pdeathsig KILL --`.
        let name = command.get_args().nth(3).map(Path::new);
        let name = name
            .and_then(Path::file_name)
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Self {
            child,
            name,
            stdout,
            stderr,
        }
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        let raw = i32::try_from(self.child.id()).expect("process numbers are small");
        let pid = Pid::from_raw(raw).expect("a process number is not 0");
        rustix::process::kill_process(pid, signal)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Returns the exit status if the process has ended.
    ///
    /// # Panics
    /// Never for a child process.
    #[must_use]
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is a child process")
    }

    /// Waits for the process to end.
    ///
    /// # Panics
    /// If it does not end within [`WAIT_TIMEOUT`].
    pub async fn ended(&mut self) -> ExitStatus {
        let name = self.name.clone();
        let this = std::cell::RefCell::new(self);
        until_within(WAIT_TIMEOUT, &format!("the end of {name}"), || async {
            this.borrow_mut().status()
        })
        .await
    }

    /// Waits for a line for which `find` returns a value.
    ///
    /// # Panics
    /// If the process ends first, or there is no such line within [`WAIT_TIMEOUT`].
    pub async fn line<T>(
        &mut self,
        what: &str,
        output: &Output,
        find: impl Fn(&str) -> Option<T>,
    ) -> T {
        let name = self.name.clone();
        let (stdout, stderr) = (self.stdout.clone(), self.stderr.clone());
        let this = std::cell::RefCell::new(self);
        until_within(WAIT_TIMEOUT, &format!("{what} of {name}"), || async {
            // Read before the output, so that the last lines of an ended process are included.
            let ended = this.borrow_mut().status();
            let found = output.lines().iter().find_map(|line| find(line));
            assert!(
                found.is_some() || ended.is_none(),
                "{name} ended ({ended:?}) before {what}:\n{}\n{}",
                stdout.lines().join("\n"),
                stderr.lines().join("\n")
            );
            found
        })
        .await
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let lines = self.stderr.lines();
            let last = lines.len().saturating_sub(40);
            if !lines.is_empty() {
                eprintln!(
                    "--- last lines of {}:\n{}",
                    self.name,
                    lines[last..].join("\n")
                );
            }
        }
    }
}

/// Returns the names of the processes that a process has started, and of those that they have started, by their ids.
///
/// # Panics
/// If `/proc` cannot be read.
#[must_use]
pub fn descendants(process: u32) -> BTreeMap<u32, String> {
    let status = |folder: &Path| {
        let status = std::fs::read_to_string(folder.join("status")).ok()?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.map(|value| value.trim().to_owned())
        };
        let number = |name: &str| field(name)?.parse::<u32>().ok();
        Some((number("Pid:")?, number("PPid:")?, field("Name:")?))
    };
    let folders = std::fs::read_dir("/proc")
        .expect("there is /proc")
        .flatten();
    let all: Vec<_> = folders
        .filter_map(|folder| status(&folder.path()))
        .collect();
    let mut found = BTreeMap::new();
    loop {
        let before = found.len();
        for (child, parent, name) in &all {
            if *parent == process || found.contains_key(parent) {
                found.insert(*child, name.clone());
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Result of a program that was run to its end.
#[derive(Debug)]
pub struct ProgramResult {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Elapsed time.
    pub elapsed: Duration,
}

/// Runs a program to its end.
///
/// # Panics
/// If it does not end within twice [`WAIT_TIMEOUT`].
pub async fn run(mut command: Command) -> ProgramResult {
    let words = format!("{command:?}");
    let began = tokio::time::Instant::now();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    let output = tokio::time::timeout(2 * WAIT_TIMEOUT, command.output())
        .await
        .unwrap_or_else(|_| panic!("timed out: {words}"))
        .unwrap_or_else(|error| panic!("{words}: {error}"));
    ProgramResult {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        elapsed: began.elapsed(),
    }
}
