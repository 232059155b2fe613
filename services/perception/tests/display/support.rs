//! X servers and clients for tests: each test starts its own server on a display number that the server picks.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use image::RgbaImage;
use motorium_perception::capture::x11::X11Screen;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::DisplayId;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use x11rb::COPY_DEPTH_FROM_PARENT;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    AtomEnum, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, ImageFormat, PropMode,
    Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

/// Timeout of any wait in these tests.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(90);

/// Timeout of one call on a screen.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(2);

/// Running X server with its programs; dropping it ends everything.
pub(crate) struct Desktop {
    server: Child,
    programs: Vec<Child>,
    pub(crate) display: String,
    home: TempDir,
}

impl Desktop {
    /// Starts a server of 800×600 without a window manager.
    pub(crate) fn start() -> Self {
        Self::start_on("Xvfb", &["-screen", "0", "800x600x24"])
    }

    /// Starts a server of 1920×1080 with a window manager.
    pub(crate) async fn start_large() -> Self {
        Self::start_managed("1920x1080x24").await
    }

    /// Starts a server with a screen of this size and depth, and a window manager.
    pub(crate) async fn start_managed(screen: &str) -> Self {
        let mut desktop = Self::start_on("Xvfb", &["-screen", "0", screen]);
        desktop.start_window_manager().await;
        desktop
    }

    /// Starts a server that can be resized.
    pub(crate) fn start_resizable() -> Self {
        Self::start_on(
            "Xtigervnc",
            &[
                "-geometry",
                "800x600",
                "-depth",
                "24",
                "-rfbport",
                "-1",
                "-SecurityTypes",
                "None",
            ],
        )
    }

    pub(crate) fn start_on(server: &str, arguments: &[&str]) -> Self {
        Self::launch(server, arguments, &["-displayfd", "1"])
    }

    /// Restarts the server on the same display.
    pub(crate) fn restart(&mut self) {
        let display = self.display.clone();
        self.server = launch_server(
            "Xvfb",
            &["-screen", "0", "800x600x24"],
            &[&display, "-displayfd", "1"],
        )
        .0;
    }

    fn launch(server: &str, arguments: &[&str], number: &[&str]) -> Self {
        let (server, display) = launch_server(server, arguments, number);
        let home = tempfile::tempdir().unwrap();
        Self {
            server,
            programs: Vec::new(),
            display,
            home,
        }
    }

    /// Starts a window manager and waits for it.
    pub(crate) async fn start_window_manager(&mut self) {
        self.run("icewm", &["--no-configure"]);
        let client = Client::connect(&self.display);
        wait_for("a window manager", || client.has_window_manager()).await;
    }

    /// Starts a program on this display with its own home folder.
    pub(crate) fn run(&mut self, program: &str, arguments: &[&str]) -> u32 {
        let home = self.home.path();
        let child = Command::new(program)
            .args(arguments)
            .env("DISPLAY", &self.display)
            .env("HOME", home)
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_RUNTIME_DIR", home)
            .env("NO_AT_BRIDGE", "1")
            .env("LANG", "C.UTF-8")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let process = child.id();
        self.programs.push(child);
        process
    }

    /// Runs a program and waits for it.
    pub(crate) fn run_to_end(&mut self, program: &str, arguments: &[&str]) {
        self.run(program, arguments);
        let mut child = self.programs.pop().unwrap();
        let status = child.wait().unwrap();
        assert!(status.success(), "{program} {arguments:?}: {status}");
    }

    /// Opens a page in a browser with minimal features.
    pub(crate) fn open_browser(&mut self, page: &Path, geometry: [i32; 4]) {
        let [x, y, width, height] = geometry;
        let profile = self.path("browser");
        self.run(
            "chromium",
            &[
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--test-type",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                &format!("--user-data-dir={}", profile.display()),
                &format!("--window-position={x},{y}"),
                &format!("--window-size={width},{height}"),
                &format!("--app=file://{}", page.display()),
            ],
        );
    }

    /// Returns a path in a folder that is removed with this desktop.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    pub(crate) fn id(&self) -> DisplayId {
        DisplayId::new(self.display.clone())
    }

    pub(crate) fn screen(&self) -> X11Screen {
        X11Screen::new(self.id(), CALL_TIMEOUT, None).unwrap()
    }

    /// Suspends the server: it exists but does not respond.
    pub(crate) fn suspend(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes the server.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.server);
        kill_process(process, signal).unwrap();
    }
}

impl Drop for Desktop {
    fn drop(&mut self) {
        for child in self.programs.iter_mut().chain([&mut self.server]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn launch_server(server: &str, arguments: &[&str], number: &[&str]) -> (Child, String) {
    let mut child = Command::new(server)
        .args(number)
        .args(arguments)
        .args(["-noreset", "-nolisten", "tcp"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{server}: {error}"));
    let mut number = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut number)
        .unwrap();
    assert!(!number.trim().is_empty(), "{server} did not start");
    (child, format!(":{}", number.trim()))
}

/// Waits until `condition` holds.
pub(crate) async fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TEST_TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "timed out waiting for {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// X client that opens windows and draws.
pub(crate) struct Client {
    x: RustConnection,
    root: Window,
}

/// Attributes of a new window.
#[derive(Default)]
pub(crate) struct NewWindow<'a> {
    pub(crate) bounds: (i16, i16, u16, u16),
    pub(crate) title: &'a str,
    pub(crate) class: &'a str,
    pub(crate) popup: bool,
    pub(crate) modal_for: Option<Window>,
}

impl Client {
    pub(crate) fn connect(display: &str) -> Self {
        let (x, screen) = RustConnection::connect(Some(display)).unwrap();
        let root = x.setup().roots[screen].root;
        Self { x, root }
    }

    fn has_window_manager(&self) -> bool {
        let check = self.atom("_NET_SUPPORTING_WM_CHECK");
        let property = self
            .x
            .get_property(false, self.root, check, AtomEnum::WINDOW, 0, 1)
            .unwrap();
        !property.reply().unwrap().value.is_empty()
    }

    fn atom(&self, name: &str) -> u32 {
        self.x
            .intern_atom(false, name.as_bytes())
            .unwrap()
            .reply()
            .unwrap()
            .atom
    }

    /// Opens a window.
    pub(crate) fn open(&self, new: &NewWindow<'_>) -> Window {
        let x = &self.x;
        let id = x.generate_id().unwrap();
        let (left, top, width, height) = new.bounds;
        let screen = &x.setup().roots[0];
        let attributes = CreateWindowAux::new()
            .background_pixel(screen.white_pixel)
            .override_redirect(u32::from(new.popup))
            .event_mask(EventMask::EXPOSURE);
        let kind = WindowClass::INPUT_OUTPUT;
        x.create_window(
            COPY_DEPTH_FROM_PARENT,
            id,
            self.root,
            left,
            top,
            width,
            height,
            0,
            kind,
            0,
            &attributes,
        )
        .unwrap();
        let name = self.atom("_NET_WM_NAME");
        let utf8 = self.atom("UTF8_STRING");
        x.change_property8(PropMode::REPLACE, id, name, utf8, new.title.as_bytes())
            .unwrap();
        let class = format!("instance\0{}\0", new.class);
        x.change_property8(
            PropMode::REPLACE,
            id,
            AtomEnum::WM_CLASS,
            AtomEnum::STRING,
            class.as_bytes(),
        )
        .unwrap();
        let process = self.atom("_NET_WM_PID");
        x.change_property32(
            PropMode::REPLACE,
            id,
            process,
            AtomEnum::CARDINAL,
            &[std::process::id()],
        )
        .unwrap();
        // The position is requested explicitly, so that the window manager does not choose one (ICCCM WM_NORMAL_HINTS,
        // USPosition).
        let hints = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        x.change_property32(
            PropMode::REPLACE,
            id,
            AtomEnum::WM_NORMAL_HINTS,
            AtomEnum::WM_SIZE_HINTS,
            &hints,
        )
        .unwrap();
        if let Some(parent) = new.modal_for {
            let state = self.atom("_NET_WM_STATE");
            let modal = self.atom("_NET_WM_STATE_MODAL");
            x.change_property32(
                PropMode::REPLACE,
                id,
                AtomEnum::WM_TRANSIENT_FOR,
                AtomEnum::WINDOW,
                &[parent],
            )
            .unwrap();
            x.change_property32(PropMode::REPLACE, id, state, AtomEnum::ATOM, &[modal])
                .unwrap();
        }
        x.map_window(id).unwrap();
        x.sync().unwrap();
        id
    }

    pub(crate) fn close(&self, window: Window) {
        self.x.destroy_window(window).unwrap();
        self.x.sync().unwrap();
    }

    pub(crate) fn raise(&self, window: Window) {
        let stack = x11rb::protocol::xproto::ConfigureWindowAux::new()
            .stack_mode(x11rb::protocol::xproto::StackMode::ABOVE);
        self.x.configure_window(window, &stack).unwrap();
        self.x.sync().unwrap();
    }

    /// Minimises a window (ICCCM 4.1.4).
    pub(crate) fn minimise(&self, window: Window) {
        const ICONIC: u32 = 3;
        let kind = self.atom("WM_CHANGE_STATE");
        let event = x11rb::protocol::xproto::ClientMessageEvent::new(
            32,
            window,
            kind,
            [ICONIC, 0, 0, 0, 0],
        );
        let mask = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
        self.x.send_event(false, self.root, mask, event).unwrap();
        self.x.sync().unwrap();
    }

    /// Opens a pop-up window that shows exactly this image.
    pub(crate) fn show(&self, image: &RgbaImage, left: i16, top: i16) -> Window {
        let (width, height) = image.dimensions();
        let bounds = (
            left,
            top,
            width.try_into().unwrap(),
            height.try_into().unwrap(),
        );
        let window = self.open(&NewWindow {
            bounds,
            popup: true,
            ..NewWindow::default()
        });
        self.draw(window, image, 0, 0);
        window
    }

    /// Draws an image into a window and waits until it is drawn.
    pub(crate) fn draw(&self, window: Window, image: &RgbaImage, left: i16, top: i16) {
        let x = &self.x;
        let context = x.generate_id().unwrap();
        x.create_gc(context, window, &CreateGCAux::new()).unwrap();
        let bgrx: Vec<u8> = image
            .pixels()
            .flat_map(|pixel| [pixel[2], pixel[1], pixel[0], 0])
            .collect();
        let (width, height) = image.dimensions();
        // X requests have a maximum length, so rows are sent in bands.
        let row = width as usize * 4;
        let band = (200_000 / row).max(1);
        for (index, rows) in bgrx.chunks(band * row).enumerate() {
            let top = top + i16::try_from(index * band).unwrap();
            let lines = u16::try_from(rows.len() / row).unwrap();
            let columns = u16::try_from(width).unwrap();
            assert!(usize::from(lines) <= height as usize);
            x.put_image(
                ImageFormat::Z_PIXMAP,
                window,
                context,
                columns,
                lines,
                left,
                top,
                0,
                24,
                rows,
            )
            .unwrap();
        }
        x.free_gc(context).unwrap();
        x.sync().unwrap();
    }

    /// Sets the display's resource database.
    pub(crate) fn set_resources(&self, text: &str) {
        let property = AtomEnum::RESOURCE_MANAGER;
        self.x
            .change_property8(
                PropMode::REPLACE,
                self.root,
                property,
                AtomEnum::STRING,
                text.as_bytes(),
            )
            .unwrap();
        self.x.sync().unwrap();
    }

    pub(crate) fn move_pointer(&self, x: i16, y: i16) {
        self.x
            .warp_pointer(x11rb::NONE, self.root, 0, 0, 0, 0, x, y)
            .unwrap();
        self.x.sync().unwrap();
    }

    /// Clicks button 1 at the pointer.
    pub(crate) fn click(&self) {
        use x11rb::protocol::xtest::ConnectionExt as _;
        for kind in [
            x11rb::protocol::xproto::BUTTON_PRESS_EVENT,
            x11rb::protocol::xproto::BUTTON_RELEASE_EVENT,
        ] {
            self.x
                .xtest_fake_input(kind, 1, 0, self.root, 0, 0, 0)
                .unwrap();
        }
        self.x.sync().unwrap();
    }

    /// Presses and releases a key.
    pub(crate) fn tap(&self, keycode: u8) {
        use x11rb::protocol::xtest::ConnectionExt as _;
        for kind in [
            x11rb::protocol::xproto::KEY_PRESS_EVENT,
            x11rb::protocol::xproto::KEY_RELEASE_EVENT,
        ] {
            self.x
                .xtest_fake_input(kind, keycode, 0, self.root, 0, 0, 0)
                .unwrap();
        }
        self.x.sync().unwrap();
    }
}

/// Test image in which every pixel differs from its neighbours and colours use all bits.
pub(crate) fn pattern(width: u32, height: u32, seed: u32) -> RgbaImage {
    RgbaImage::from_fn(width, height, |x, y| {
        let mixed = (x.wrapping_mul(2_654_435_761) ^ y.wrapping_mul(40_503))
            .wrapping_add(seed.wrapping_mul(97));
        let [red, green, blue, _] = mixed.to_le_bytes();
        image::Rgba([red, green, blue, u8::MAX])
    })
}

pub(crate) fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
    CaptureRect::from_origin_and_size(CapturePoint::new(x, y), CaptureSize::new(width, height))
}
