//! A virtual desktop: its own X server, window manager and session bus.
//!
//! - [`access`]: the cookie that the X server demands
//! - [`data_lock`]: keeps two desktops on one data folder apart
//! - [`runtime`]: files that the programs on the desktop must not change
//! - [`server`]: the X server
//! - [`sandbox`]: what the programs on the desktop see
//! - [`session`]: the process in the sandbox that starts them
//! - [`window_manager`]: its configuration
//! - [`browser_preferences`]: preferences of its browser
//! - [`task_files`]: ways from its file dialogs to the files of tasks
//! - [`background`]: its colour
//! - [`settings`]: the section `[desktop]`
//!
//! It does not touch the user's session: its applications have their own home, configuration and bus in a separate
//! folder. Which applications may be opened is decided by the
//! Executor.
//!
//! Invariant: every started program ends with this process, however it ends (the kernel signals children when their
//! parent dies).

mod access;
mod background;
mod browser_preferences;
mod data_lock;
mod runtime;
mod sandbox;
mod server;
pub(crate) mod session;
mod settings;
mod task_files;
mod window_manager;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use motorium_executor::config::Settings as ExecutorSettings;
use motorium_executor::drivers::launch::{Launch, LaunchSite, Program};
use motorium_kit::private_file;
use motorium_messages::Message;
use motorium_proto::domain::id::DisplayId;
use tokio::process::{Child, Command};
use uuid::Uuid;

use crate::show::text;

use access::{Cookie, UserAccess};
use data_lock::DataLock;
use runtime::RuntimeFolder;
use sandbox::Sandbox;
use session::Session;
use settings::Isolation;

pub(crate) use access::{EDITOR as ACCESS_EDITOR, EDITOR_PACKAGE as ACCESS_EDITOR_PACKAGE};
pub(crate) use sandbox::{PACKAGE as SANDBOX_PACKAGE, PROGRAM as SANDBOX_PROGRAM};
pub(crate) use server::PROGRAMS as SERVERS;
pub(crate) use settings::Settings;

/// Timeout of the start of the X server and the session bus.
const READY_TIMEOUT: Duration = Duration::from_secs(20);

/// Poll interval for the session bus, which is ready after some 10 ms.
const BUS_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The reason a virtual desktop could not be started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}", text(Message::NoDisplayServer { first: server::PROGRAMS[0], second: server::PROGRAMS[1] }))]
    NoServer,
    #[error("{}", text(Message::ProgramNotStarted { program, problem: &source.to_string(), package }))]
    Start {
        program: &'static str,
        package: &'static str,
        source: io::Error,
    },
    #[error("{}", text(Message::ProgramNotReady { program, seconds: READY_TIMEOUT.as_secs() }))]
    NotReady { program: &'static str },
    #[error("{}", text(Message::DisplayAccessNotGranted { problem: &source.to_string(), package: access::EDITOR_PACKAGE }))]
    Access { source: io::Error },
    #[error("{}", text(Message::DesktopNotIsolated { problem }))]
    NotIsolated { problem: String },
    #[error("{}", text(Message::DesktopSessionNotStarted { problem }))]
    Session { problem: String },
    #[error("{}", text(Message::DataFolderInUse { path: &path.to_string_lossy(), process }))]
    InUse { path: PathBuf, process: String },
    #[error("{path}: {source}")]
    Folder { path: PathBuf, source: io::Error },
}

/// Size, folders and settings of a virtual desktop.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Size in pixels.
    pub(crate) size: (u16, u16),
    /// Folder of Motorium's state. The desktop's home is in it.
    pub(crate) data: &'a Path,
    pub(crate) settings: &'a Settings,
    /// Settings of the Executor that starts programs on it.
    pub(crate) executor: &'a ExecutorSettings,
}

/// A running virtual desktop. Dropping it stops everything on it.
#[derive(Debug)]
pub(crate) struct VirtualDesktop {
    display: String,
    environment: BTreeMap<String, String>,
    /// The reason why its programs are not isolated.
    not_isolated: Option<String>,
    // In shutdown order: the server last, so that no program loses its display.
    session: Session,
    _access: UserAccess,
    _server: Child,
    runtime: RuntimeFolder,
    _data_lock: DataLock,
}

impl VirtualDesktop {
    /// Starts a desktop.
    ///
    /// # Errors
    /// If a program is not installed or does not become ready, or the required isolation is not possible.
    pub(crate) async fn start(options: Options<'_>) -> Result<Self, Error> {
        // Files and folders that the shell had open would lead out of the sandbox. Rust's own are closed for children in any case.
        close_fds::set_fds_cloexec(3, &[]);
        let not_isolated = sandbox::obstacle(options.settings.isolation).await;
        if let Some(problem) = &not_isolated
            && options.settings.isolation == Isolation::Required
        {
            let problem = problem.clone();
            return Err(Error::NotIsolated { problem });
        }
        let is_isolated = not_isolated.is_none();
        let data_lock = DataLock::acquire(options.data)?;
        let home = prepare_home(&options.data.join("desktop"))?;
        let cookie = Cookie::random();
        let runtime = RuntimeFolder::create(&cookie);
        let runtime = runtime.map_err(in_folder(Path::new(runtime::PARENT)))?;
        let authority = runtime.authority();
        let (server, number) = server::start(options.size, &authority, is_isolated).await?;
        let display = format!(":{number}");
        let access = cookie.grant(&display).await;
        let access = access.map_err(|source| Error::Access { source })?;
        let files = options
            .executor
            .task_files(options.data, &DisplayId::new(display.clone()));
        let files = prepare_files(&files)?;
        let folders = Folders {
            home: &home,
            files: &files,
            runtime: &runtime,
        };
        let session = start_session(&options, folders, &number, is_isolated).await?;
        paint_background(&display).await;
        let desktop = Self {
            environment: environment(&display, folders),
            display,
            not_isolated,
            session,
            _access: access,
            _server: server,
            runtime,
            _data_lock: data_lock,
        };
        desktop.start_bus().await?;
        // The window manager only: a full session would add a wallpaper and a tray.
        desktop.start_program("icewm", &[], "icewm").await?;
        Ok(desktop)
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

    /// Returns where programs on it are started.
    #[must_use]
    pub(crate) fn launch_site(&self) -> LaunchSite {
        LaunchSite::Session(Arc::clone(&self.session.launches))
    }

    /// Returns whether browsers on it can isolate their pages.
    #[must_use]
    pub(crate) fn isolates_pages(&self) -> bool {
        self.session.isolates_pages
    }

    /// Returns the reason why its programs are not isolated from this user's files and processes.
    #[must_use]
    pub(crate) fn not_isolated(&self) -> Option<&str> {
        self.not_isolated.as_deref()
    }

    async fn start_bus(&self) -> Result<(), Error> {
        let configuration = self.runtime.bus_configuration();
        let configuration = format!("--config-file={}", configuration.display());
        // In the foreground, so that the process that is started is the bus itself and can be ended.
        let arguments = [&*configuration, "--nofork", "--nopidfile"];
        self.start_program("dbus-daemon", &arguments, "dbus")
            .await?;
        let socket = self.runtime.bus_socket();
        let listening = async {
            while UnixStream::connect(&socket).is_err() {
                tokio::time::sleep(BUS_POLL_INTERVAL).await;
            }
        };
        let waited = tokio::time::timeout(READY_TIMEOUT, listening).await;
        waited.map_err(|_| Error::NotReady {
            program: "dbus-daemon",
        })
    }

    /// Starts a program of the desktop itself.
    async fn start_program(
        &self,
        program: &'static str,
        arguments: &[&str],
        package: &'static str,
    ) -> Result<(), Error> {
        let failed = |cause: String| Error::Start {
            program,
            package,
            source: io::Error::other(cause),
        };
        if !is_installed(program) {
            return Err(failed(io::Error::from(io::ErrorKind::NotFound).to_string()));
        }
        // Without a sandbox nothing else would end it with this process.
        let tied = TIE.iter().copied().chain([program]);
        let mut words = tied.chain(arguments.iter().copied()).map(str::to_owned);
        let launch = Launch {
            program: Program {
                program: words.next().unwrap_or_default(),
                arguments: words.collect(),
                environment: self.environment.clone(),
            },
            last_argument: None,
            display: self.display.clone(),
        };
        let started = self.launch_site().start(launch).await;
        started.map_err(|error| failed(error.to_string()))
    }
}

/// Writes a new cookie and the configuration of the window manager into a folder, for a display in a container of its own.
///
/// # Errors
/// If the folder cannot be written.
pub(crate) fn write_display_files(folder: &Path) -> io::Result<()> {
    runtime::write_display_files(folder, &Cookie::random())
}

/// Paints the background. A black one is no reason not to start.
async fn paint_background(display: &str) {
    let display = display.to_owned();
    let painted = tokio::task::spawn_blocking(move || background::paint(&display)).await;
    if let Ok(Err(error)) = painted {
        tracing::warn!(%error, "the background of the virtual desktop was not painted");
    }
}

/// Folders of a desktop.
#[derive(Debug, Clone, Copy)]
struct Folders<'a> {
    home: &'a Path,
    /// The task files.
    files: &'a Path,
    runtime: &'a RuntimeFolder,
}

async fn start_session(
    options: &Options<'_>,
    folders: Folders<'_>,
    number: &str,
    is_isolated: bool,
) -> Result<Session, Error> {
    let Folders {
        home,
        files,
        runtime,
    } = folders;
    let settings = options.settings;
    let host = format!("desktop-{}", &Uuid::new_v4().simple().to_string()[..8]);
    let own_program = std::env::current_exe().map_err(|error| Error::Session {
        problem: error.to_string(),
    })?;
    let programs = options.executor.applications.values();
    let programs = programs.chain(&options.executor.browser);
    let named = programs.map(|program| PathBuf::from(&program.program));
    let named = named.filter(|path| path.is_absolute() && path.is_file());
    let readable = settings.readable.iter().cloned();
    let shown = [own_program.clone(), runtime.path().to_owned()];
    let readable: Vec<PathBuf> = readable.chain(named).chain(shown).collect();
    let writable = settings.writable.iter().cloned();
    let own_folders = [home.to_owned(), files.to_owned(), runtime.of_programs()];
    let writable: Vec<PathBuf> = writable.chain(own_folders).collect();
    let sandbox = Sandbox {
        home,
        files,
        display_number: number,
        host: &host,
        environment: &session::environment(),
        readable: &readable,
        writable: &writable,
    };
    let started = Session::start(&sandbox, &own_program, is_isolated).await;
    started.map_err(|problem| Error::Session { problem })
}

/// Creates the home, and returns its path without links.
fn prepare_home(folder: &Path) -> Result<PathBuf, Error> {
    create_private_folder(folder)?;
    let prepared = || -> io::Result<PathBuf> {
        // An earlier version let other users read it.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        folder.canonicalize()
    };
    prepared().map_err(in_folder(folder))
}

/// Creates the folder of the task files, and returns its path without links.
fn prepare_files(folder: &Path) -> Result<PathBuf, Error> {
    create_private_folder(folder)?;
    folder.canonicalize().map_err(in_folder(folder))
}

/// Creates a folder that only this user can open, unless it exists.
fn create_private_folder(folder: &Path) -> Result<(), Error> {
    private_file::create_folder(folder).map_err(in_folder(folder))
}

/// Returns a function that tells an error with a folder.
fn in_folder(folder: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = folder.to_owned();
    move |source| Error::Folder { path, source }
}

fn environment(display: &str, folders: Folders<'_>) -> BTreeMap<String, String> {
    let Folders {
        home,
        files,
        runtime,
    } = folders;
    let bus = format!("unix:path={}", runtime.bus_socket().display());
    let word = |path: PathBuf| path.to_string_lossy().into_owned();
    let home = home.to_string_lossy();
    let pairs = [
        ("DISPLAY", display.to_owned()),
        ("DBUS_SESSION_BUS_ADDRESS", bus),
        ("HOME", home.to_string()),
        // Where programs start, and therefore what file dialogs show first: what a task saves there can be fetched.
        ("PWD", files.to_string_lossy().into_owned()),
        ("XAUTHORITY", word(runtime.authority())),
        ("ICEWM_PRIVCFG", word(runtime.window_manager())),
        ("XDG_CONFIG_HOME", format!("{home}/.config")),
        ("XDG_CACHE_HOME", format!("{home}/.cache")),
        ("XDG_DATA_HOME", format!("{home}/.local/share")),
        ("XDG_RUNTIME_DIR", word(runtime.of_programs())),
        ("LANG", "C.UTF-8".to_owned()),
        // No accessibility bus: it is unused, and searching for one delays the start of applications.
        ("NO_AT_BRIDGE", "1".to_owned()),
        ("GTK_A11Y", "none".to_owned()),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value)).into()
}

/// Beginning of a command whose process is killed when its parent ends.
const TIE: [&str; 4] = ["setpriv", "--pdeathsig", "KILL", "--"];

/// Creates a command whose process is killed when this one ends.
fn tied_command(program: &str) -> Command {
    let mut command = Command::new(TIE[0]);
    // `kill_on_drop` alone does not help if this process is killed.
    command.args(&TIE[1..]).arg(program);
    command
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .process_group(0);
    command
}

/// Returns whether a program is found along the service's `PATH`.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
