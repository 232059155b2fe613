//! A private desktop for a test: a display server, a window manager, a session bus, a home folder.
//!
//! Invariant: programs on it reach no other display, bus or home folder.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use rustix::net::{AddressFamily, SocketAddrUnix, SocketType};
use tempfile::TempDir;
use tokio::sync::{Semaphore, SemaphorePermit};
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::ConnectionExt as _;

use crate::input::{InputListener, KeyListener, PointerDisturbance};
use crate::programs::{self, Process};
use crate::simulated_user::SimulatedUser;
use crate::until;

/// Width and height of the screen, in pixels.
pub const SIZE: (u32, u32) = (1280, 800);

/// No task bar (it would repeat window titles as text), no tips or logout prompts, and no forced window placement.
const ICEWM_PREFERENCES: &str = "\
ShowTaskBar=0
WorkspaceNames=\" 1 \"
ClickToFocus=1
FocusOnMap=1
RaiseOnFocus=1
ConfirmLogout=0
ShowWorkspaceStatus=0
";

/// Chromium flags against prompts, background downloads and telemetry.
pub const CHROMIUM: [&str; 9] = [
    "--no-sandbox",
    "--test-type",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--password-store=basic",
    "--force-device-scale-factor=1",
];

/// A private desktop. Dropping it ends everything on it.
#[derive(Debug)]
pub struct TestDesktop {
    // Dropped in this order: applications, window manager and bus, display server, files, slot.
    programs: Vec<Process>,
    _managers: Vec<Process>,
    server: Process,
    home: TempDir,
    /// Name of the display (`:7`).
    pub display: String,
    environment: BTreeMap<String, String>,
    /// Keeps the display's number from another test's server once this one's was killed.
    reserved_number: Option<OwnedFd>,
    _slot: Option<SemaphorePermit<'static>>,
}

impl TestDesktop {
    /// Starts a desktop for applications. Waits for a slot: there is one desktop per core at a time.
    ///
    /// # Panics
    /// If a program is not installed or does not become ready.
    pub async fn start() -> Self {
        let slot = desktop_slots()
            .acquire()
            .await
            .expect("the semaphore is never closed");
        let mut desktop = Self::bare().await;
        desktop._slot = Some(slot);
        let address = desktop.start_bus().await;
        desktop
            .environment
            .insert("DBUS_SESSION_BUS_ADDRESS".to_owned(), address);
        desktop.start_window_manager().await;
        desktop
    }

    /// Starts an empty screen without window manager and bus, which costs little.
    ///
    /// # Panics
    /// If no display server is installed or it does not become ready.
    pub async fn bare() -> Self {
        let home = tempfile::tempdir().expect("a temporary folder can be created");
        let mut command = programs::command("Xvfb", &BTreeMap::new());
        // The server chooses a free number and prints it once it is ready.
        command.args(["-displayfd", "1", "-noreset", "-nolisten", "tcp"]);
        let (width, height) = SIZE;
        command.args(["-screen", "0", &format!("{width}x{height}x24")]);
        let mut server = Process::start(command);
        let output = server.stdout.clone();
        let number = server
            .line("the display's number", &output, |line| {
                line.trim().parse::<u32>().ok()
            })
            .await;
        let display = format!(":{number}");
        let environment = environment(&display, home.path());
        Self {
            programs: Vec::new(),
            _managers: Vec::new(),
            server,
            home,
            display,
            environment,
            reserved_number: None,
            _slot: None,
        }
    }

    async fn start_bus(&mut self) -> String {
        let mut command = programs::command("dbus-daemon", &self.environment);
        command.args(["--session", "--nofork", "--nopidfile", "--print-address=1"]);
        let mut bus = Process::start(command);
        let output = bus.stdout.clone();
        let address = bus
            .line("the bus's address", &output, |line| Some(line.to_owned()))
            .await;
        self._managers.push(bus);
        address
    }

    async fn start_window_manager(&mut self) {
        let settings = self.home.path().join(".icewm");
        std::fs::create_dir_all(&settings).expect("the home folder is writable");
        std::fs::write(settings.join("preferences"), ICEWM_PREFERENCES)
            .expect("the home folder is writable");
        let command = programs::command("icewm", &self.environment);
        self._managers.insert(0, Process::start(command));
        until("the window manager", || async {
            let root = self.property(&["-root", "_NET_SUPPORTING_WM_CHECK"]);
            root.contains("window id").then_some(())
        })
        .await;
    }

    /// Returns the environment for programs on it.
    #[must_use]
    pub fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Returns the home folder of its programs.
    #[must_use]
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Starts a program on it.
    pub fn open(&mut self, program: &str, arguments: &[&str]) {
        let mut command = programs::command(program, &self.environment);
        command.args(arguments);
        self.programs.push(Process::start(command));
    }

    /// Opens a page in a full-screen browser window. The page itself reports when it is shown.
    pub fn open_page(&mut self, url: &str) {
        let profile = format!("--user-data-dir={}", self.path("browser").display());
        let size = format!("--window-size={},{}", SIZE.0, SIZE.1);
        let app = format!("--app={url}");
        let own = [&profile, "--window-position=0,0", &size, &app];
        let arguments: Vec<&str> = CHROMIUM.into_iter().chain(own).collect();
        self.open("chromium", &arguments);
    }

    /// Opens a browser window with tabs and an address bar.
    pub fn open_browser(&mut self, options: &[&str], url: &str) {
        let profile = format!("--user-data-dir={}", self.path("browser").display());
        let size = format!("--window-size={},{}", SIZE.0, SIZE.1);
        let own = [profile.as_str(), "--window-position=0,0", &size];
        let own = own.into_iter().chain(options.iter().copied());
        let arguments: Vec<&str> = CHROMIUM.into_iter().chain(own).chain([url]).collect();
        self.open("chromium", &arguments);
    }

    /// Returns a path in the home folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Returns the pressed keys and buttons: keys by code, buttons by number.
    ///
    /// # Panics
    /// If the display is not reachable.
    #[must_use]
    pub fn pressed(&self) -> Vec<String> {
        let (x, screen) = x11rb::connect(Some(&self.display)).expect("the display is reachable");
        let keys = x
            .query_keymap()
            .expect("the display is reachable")
            .reply()
            .expect("the display replies")
            .keys;
        let is_down = |key: &u8| keys[usize::from(key / 8)] & (1 << (key % 8)) != 0;
        let root = x.setup().roots[screen].root;
        let pointer = x.query_pointer(root).expect("the display is reachable");
        let mask = u16::from(pointer.reply().expect("the display replies").mask);
        // Buttons 1 to 5 are bits 8 to 12.
        let buttons = (1..=5).filter(|button| mask & (1 << (button + 7)) != 0);
        (0..=255u8)
            .filter(is_down)
            .map(|key| format!("key {key}"))
            .chain(buttons.map(|button| format!("button {button}")))
            .collect()
    }

    /// Starts listening for keys, independent of the focused application.
    ///
    /// # Panics
    /// If the display is not reachable or lacks raw events (XInput 2).
    #[must_use]
    pub fn listen_for_keys(&self) -> KeyListener {
        KeyListener::on(&self.display)
    }

    /// Starts listening for all mouse and keyboard input.
    ///
    /// # Panics
    /// If the display is not reachable.
    #[must_use]
    pub fn listen(&self) -> InputListener {
        InputListener::on(&self.display)
    }

    /// Returns a simulated user at its mouse and keyboard.
    ///
    /// # Panics
    /// If the display is not reachable.
    #[must_use]
    pub fn simulated_user(&self) -> SimulatedUser {
        SimulatedUser::at(&self.display)
    }

    /// Displaces the pointer after each of its moves, by the offset that `push` returns for the number of the move (from 0).
    ///
    /// # Panics
    /// If the display is not reachable.
    #[must_use]
    pub fn disturb_pointer(
        &self,
        push: impl Fn(usize) -> Option<(i16, i16)> + Send + 'static,
    ) -> PointerDisturbance {
        PointerDisturbance::on(&self.display, push)
    }

    /// Kills the display server, as a crash would. No other server takes its number while this desktop exists.
    ///
    /// # Panics
    /// If another server took the number at that moment.
    pub fn kill_server(&mut self) {
        self.server.kill();
        self.reserved_number = Some(reserve_number(&self.display));
    }

    fn property(&self, arguments: &[&str]) -> String {
        let output = Command::new("xprop")
            .args(["-display", &self.display])
            .args(arguments)
            .output()
            .expect("xprop is installed");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Takes the address of a display's server without listening, so that connections are refused and servers that choose a
/// free number take another one.
fn reserve_number(display: &str) -> OwnedFd {
    let number = display.trim_start_matches(':');
    let address = SocketAddrUnix::new_abstract_name(format!("/tmp/.X11-unix/X{number}").as_bytes())
        .expect("the name is short");
    let socket = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)
        .expect("a socket can be created");
    rustix::net::bind(&socket, &address).expect("the number is free");
    socket
}

/// Returns the slots for desktops: one per core. A browser and four services can keep two cores busy, but a test waits for
/// half of its time: for a screen to settle, or for a time limit.
fn desktop_slots() -> &'static Semaphore {
    static SLOTS: OnceLock<Semaphore> = OnceLock::new();

    SLOTS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Semaphore::new(cores)
    })
}

fn environment(display: &str, home: &Path) -> BTreeMap<String, String> {
    let home = home.to_string_lossy();
    let pairs = [
        ("DISPLAY", display.to_owned()),
        ("HOME", home.to_string()),
        ("XDG_CONFIG_HOME", format!("{home}/.config")),
        ("XDG_CACHE_HOME", format!("{home}/.cache")),
        ("XDG_DATA_HOME", format!("{home}/.local/share")),
        ("LANG", "C.UTF-8".to_owned()),
        ("GSETTINGS_BACKEND", "memory".to_owned()),
        ("NO_AT_BRIDGE", "1".to_owned()),
        ("GTK_A11Y", "none".to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}
