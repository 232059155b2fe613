//! A test desktop: a display server, a window manager, and programs that report what they received.

pub(crate) mod corpus;
pub(crate) mod page;
pub(crate) mod served;
pub(crate) mod server;
pub(crate) mod web;

use std::io::{BufRead as _, BufReader};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// Timeout of all waits, sufficient on a busy machine.
pub(crate) const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A process that is killed with the test.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(
            command
                .stdin(Stdio::null())
                .spawn()
                .unwrap_or_else(|error| panic!("{command:?}: {error}")),
        )
    }

    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    pub(crate) fn stderr(&mut self) -> std::process::ChildStderr {
        self.0.stderr.take().unwrap()
    }

    /// Waits until the process has ended.
    pub(crate) fn wait_gone(&self) {
        // It remains a zombie until it is dropped.
        let stat = format!("/proc/{}/stat", self.id());
        let gone = || std::fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
        let end = Instant::now() + WAIT_TIMEOUT;
        while !gone() {
            assert!(Instant::now() < end, "the process does not end");
            std::thread::yield_now();
        }
    }

    /// Sends a signal by name (`STOP`, `CONT`, `KILL`).
    pub(crate) fn signal(&self, name: &str) {
        send_signal(self.id(), name);
    }
}

/// Sends a signal by name to any process.
pub(crate) fn send_signal(process: i32, name: &str) {
    let status = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status()
        .unwrap();
    assert!(status.success());
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A display with a window manager and its own home.
#[derive(Debug)]
pub(crate) struct Desktop {
    // Dropped in this order: programs, window manager, server, files, slot.
    programs: Vec<Process>,
    _window_manager: Process,
    pub(crate) server: Process,
    pub(crate) display: String,
    pub(crate) home: tempfile::TempDir,
    /// Keeps the display's number from another test's server once this one's was killed.
    reserved_number: Option<OwnedFd>,
    _slot: SemaphorePermit<'static>,
}

/// Limits concurrent desktops to one per core: a test waits for half of its time.
fn desktop_slots() -> &'static Semaphore {
    static SLOTS: OnceLock<Semaphore> = OnceLock::new();

    SLOTS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Semaphore::new(cores)
    })
}

impl Desktop {
    /// Kills the display server. No other server takes its number while this desktop exists: servers that choose a free one find
    /// its address taken, and connections to it are refused.
    pub(crate) fn kill_server(&mut self) {
        self.server.signal("KILL");
        self.server.wait_gone();
        let number = self.display.trim_start_matches(':');
        let path = format!("/tmp/.X11-unix/X{number}");
        let address = SocketAddrUnix::new_abstract_name(path.as_bytes()).unwrap();
        let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
        rustix::net::bind(&socket, &address).unwrap();
        self.reserved_number = Some(socket);
    }

    /// Starts a desktop with the given keyboard layout, once the machine has room for one more.
    pub(crate) async fn start(layout: &str) -> Self {
        let slot = desktop_slots().acquire().await.unwrap();
        let (server, display) = start_server(1280, 800);
        let home = tempfile::tempdir().unwrap();
        let set = Command::new("setxkbmap")
            .args(["-display", &display, layout])
            .status()
            .unwrap();
        assert!(set.success(), "setxkbmap {layout}");
        let mut window_manager = Command::new("icewm");
        in_home(&mut window_manager, &display, home.path());
        window_manager.args(["--display", &display]);
        let window_manager =
            Process::start(window_manager.stdout(Stdio::null()).stderr(Stdio::null()));
        let desktop = Self {
            programs: Vec::new(),
            _window_manager: window_manager,
            server,
            display,
            home,
            reserved_number: None,
            _slot: slot,
        };
        wait_for("the window manager", || {
            let root = desktop.xprop(&["-root", "_NET_SUPPORTING_WM_CHECK"]);
            root.contains("window id").then_some(())
        })
        .await;
        desktop
    }

    /// Returns a command that runs on this desktop.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        in_home(&mut command, &self.display, self.home.path());
        command
    }

    /// Starts a program and waits until its window is active.
    pub(crate) async fn open(&mut self, command: &mut Command, class: &str) {
        self.programs.push(Process::start(
            command.stdout(Stdio::null()).stderr(Stdio::null()),
        ));
        self.wait_active(class).await;
    }

    /// Waits until a window of this class is active.
    pub(crate) async fn wait_active(&self, class: &str) {
        wait_for(&format!("an active window of {class}"), || {
            let active = self.xprop(&["-root", "_NET_ACTIVE_WINDOW"]);
            let window = active.split("# ").nth(1)?.trim().to_owned();
            let classes = self.xprop(&["-id", &window, "WM_CLASS"]);
            classes
                .to_lowercase()
                .contains(&class.to_lowercase())
                .then_some(())
        })
        .await;
    }

    /// Returns the active window's id, as printed by the X tools.
    pub(crate) fn active_window(&self) -> String {
        let active = self.xprop(&["-root", "_NET_ACTIVE_WINDOW"]);
        active.split("# ").nth(1).unwrap().trim().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn xprop(&self, arguments: &[&str]) -> String {
        let output = Command::new("xprop")
            .args(["-display", &self.display])
            .args(arguments)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

fn in_home(command: &mut Command, display: &str, home: &Path) {
    command
        .env("DISPLAY", display)
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_CACHE_HOME", home.join("cache"))
        .env("XDG_DATA_HOME", home.join("data"))
        .env("GSETTINGS_BACKEND", "memory")
        .env("NO_AT_BRIDGE", "1")
        .env("LC_ALL", "C.UTF-8")
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .env_remove("XAUTHORITY");
}

/// Starts a display server that chooses a free number, so that tests can run in parallel.
pub(crate) fn start_server(width: u32, height: u32) -> (Process, String) {
    let mut command = Command::new("Xvfb");
    command.args(["-displayfd", "1", "-noreset", "-nolisten", "tcp"]);
    started(command.args(["-screen", "0", &format!("{width}x{height}x24")]))
}

/// Starts a display server on a known free number.
pub(crate) fn start_server_at(display: &str, width: u32, height: u32) -> Process {
    let mut command = Command::new("Xvfb");
    command.args([display, "-displayfd", "1", "-noreset", "-nolisten", "tcp"]);
    command.args(["-screen", "0", &format!("{width}x{height}x24")]);
    started(&mut command).0
}

/// Starts a server and waits until it prints its number.
fn started(command: &mut Command) -> (Process, String) {
    let mut server = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut number = String::new();
    BufReader::new(server.0.stdout.take().unwrap())
        .read_line(&mut number)
        .unwrap();
    assert!(
        !number.trim().is_empty(),
        "the display server did not start"
    );
    (server, format!(":{}", number.trim()))
}

/// Polls `look` until it returns a value.
pub(crate) async fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + WAIT_TIMEOUT;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "timed out waiting for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
