//! Motorium's programs as processes.
//!
//! They are built once by each test process, with the cargo that runs it; `MOTORIUM_PROGRAMS` names a folder of built
//! ones instead. A program sees nothing of the environment of whoever runs the tests but what every program needs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::{PATIENCE, until_within};

/// Variables that programs get from whoever runs the tests.
const INHERITED: [&str; 5] = ["PATH", "LANG", "TZ", "TMPDIR", "RUST_BACKTRACE"];

/// The program of that name (`motorium`, `motorium-executor` …), built.
#[must_use]
pub fn binary(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();

    let path = FOLDER.get_or_init(built).join(name);
    assert!(
        path.is_file(),
        "there is no program {}; run `cargo build --workspace --bins`",
        path.display()
    );
    path
}

fn built() -> PathBuf {
    if let Some(folder) = std::env::var_os("MOTORIUM_PROGRAMS") {
        return PathBuf::from(folder);
    }
    let this = std::env::current_exe().expect("a program knows its own path");
    // `target/debug/deps/e2e-…`, `target/debug/soak`.
    let folder = this.parent().expect("a program lies in a folder");
    let folder = if folder.ends_with("deps") {
        folder.parent().expect("`deps` lies in a folder")
    } else {
        folder
    };
    let profile = match folder.file_name().and_then(OsStr::to_str) {
        None | Some("debug") => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut building = Command::new(cargo);
    // What cargo says of the package that is tested makes build scripts that read it (ring's) run again, and everything
    // above them is then compiled anew.
    let of_this_package = |name: &OsStr| {
        let name = name.to_string_lossy();
        name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_this_package(name)) {
        building.env_remove(name);
    }
    let status = building
        .args([
            "build",
            "--quiet",
            "--workspace",
            "--bins",
            "--profile",
            profile,
        ])
        .current_dir(crate::root())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the programs do not build");
    folder.to_owned()
}

/// A command with nothing of the caller's environment but what every program needs. The process ends when the thread
/// that starts it does.
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

/// What a process has written so far.
#[derive(Debug, Clone, Default)]
pub struct Output(Arc<Mutex<Vec<String>>>);

impl Output {
    /// The lines so far.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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

/// A process that ends with the test.
#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    /// What it has written to standard output.
    pub stdout: Output,
    /// What it has written to standard error.
    pub stderr: Output,
}

impl Process {
    /// Starts it. What it writes is kept.
    ///
    /// # Panics
    /// If the program is not there.
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

    /// Its number.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it has ended.
    pub fn signal(&self, signal: Signal) {
        let raw = i32::try_from(self.child.id()).expect("process numbers are small");
        let pid = Pid::from_raw(raw).expect("a process number is not 0");
        rustix::process::kill_process(pid, signal)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// Ends it without giving it a chance to do anything (SIGKILL), and waits until it is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Whether it has ended, and how.
    ///
    /// # Panics
    /// Never for a process of our own.
    #[must_use]
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("it is a child of ours")
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// If it does not within [`PATIENCE`].
    pub async fn ended(&mut self) -> ExitStatus {
        let name = self.name.clone();
        let this = std::cell::RefCell::new(self);
        until_within(PATIENCE, &format!("the end of {name}"), || async {
            this.borrow_mut().status()
        })
        .await
    }

    /// Waits for a line that `find` finds something in.
    ///
    /// # Panics
    /// If the process ends before, or there is none within [`PATIENCE`].
    pub async fn line<T>(
        &mut self,
        what: &str,
        output: &Output,
        find: impl Fn(&str) -> Option<T>,
    ) -> T {
        let name = self.name.clone();
        let (stdout, stderr) = (self.stdout.clone(), self.stderr.clone());
        let this = std::cell::RefCell::new(self);
        until_within(PATIENCE, &format!("{what} of {name}"), || async {
            // Before looking, so that the last words of a process that has ended are seen.
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
                eprintln!("--- {} said last:\n{}", self.name, lines[last..].join("\n"));
            }
        }
    }
}

/// A program that was run to its end.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
    /// How long it took.
    pub elapsed: Duration,
}

/// Runs a program to its end.
///
/// # Panics
/// If it does not end within twice [`PATIENCE`].
pub async fn run(mut command: Command) -> Finished {
    let words = format!("{command:?}");
    let began = tokio::time::Instant::now();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    let output = tokio::time::timeout(2 * PATIENCE, command.output())
        .await
        .unwrap_or_else(|_| panic!("it does not end: {words}"))
        .unwrap_or_else(|error| panic!("{words}: {error}"));
    Finished {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        elapsed: began.elapsed(),
    }
}
