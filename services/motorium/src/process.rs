//! The services, composed in one process.
//!
//! Each is the same object that its own binary serves; here the Orchestrator holds them directly, and each is served
//! on its own port besides, so that nothing outside can tell the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_executor::ExecutorService;
use motorium_executor::config::{Config as ExecutorConfig, Settings as ExecutorSettings, Started};
use motorium_executor::drivers::launch::Program;
use motorium_kit::config::{Common, Listen, Loaded};
use motorium_kit::server::{Builder, Running};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::config::{Nearby, connector};
use motorium_orchestrator::desktops::Desktops;
use motorium_orchestrator::{Orchestrator, Settings as OrchestratorSettings, storage};
use motorium_perception::PerceptionService;
use motorium_perception::config::{Config as PerceptionConfig, Settings as PerceptionSettings};
use motorium_planner::Settings as PlannerSettings;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId};
use motorium_proto::service::{
    Executor, ExecutorServer, Perception, PerceptionServer, Planner, PlannerServer,
};
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::virtual_desktop::VirtualDesktop;

/// Name of the one desktop of a process.
const DESKTOP: &str = "local";

/// Which desktop to work on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DesktopChoice {
    /// The one of this session; an error if there is none.
    Current,
    /// The one of this session, or a virtual one.
    CurrentOrVirtual {
        size: (u16, u16),
    },
    Virtual {
        size: (u16, u16),
    },
}

/// How a process is to be composed.
#[derive(Debug)]
pub(crate) struct ProcessOptions {
    desktop: DesktopChoice,
    /// Serve every service on its configured address; otherwise only the Orchestrator, on a free port.
    served: bool,
}

impl ProcessOptions {
    /// Everything on the current display, for one task.
    #[must_use]
    pub(crate) fn in_process() -> Self {
        Self {
            desktop: DesktopChoice::Current,
            served: false,
        }
    }

    /// Everything, served on the configured addresses.
    #[must_use]
    pub(crate) fn served(desktop: DesktopChoice) -> Self {
        Self {
            desktop,
            served: true,
        }
    }
}

/// Every service, running.
#[derive(Debug)]
pub(crate) struct Process {
    servers: Vec<(&'static str, Running)>,
    working: JoinHandle<()>,
    executor: Arc<ExecutorService>,
    shutdown: Shutdown,
    display: String,
    // Ends with the process, after everything that acts on it.
    virtual_desktop: Option<VirtualDesktop>,
}

impl Process {
    /// Starts every service.
    ///
    /// # Errors
    /// If something is missing: a display, a model, a folder, a port.
    pub(crate) async fn start(loaded: &Loaded, options: ProcessOptions) -> Result<Self, Error> {
        let common = loaded.common()?;
        let data = state_folder(common.data()?, options.served);
        let virtual_desktop = start_desktop(options.desktop, &data).await?;
        let display = virtual_desktop
            .as_ref()
            .map(|desktop| desktop.display().to_owned());

        let perception = perception(loaded, display.clone()).await?;
        let planner = planner(loaded)?;
        let started = executor(loaded, &data, virtual_desktop.as_ref()).await?;
        let executor = Arc::clone(&started.service);
        follow(loaded, started, data.clone(), virtual_desktop.as_ref());
        let display = known_display(perception.as_ref(), display).await?;
        let nearby = Nearby {
            planner: planner.clone(),
            perception: Some(Arc::clone(&perception) as Arc<dyn Perception>),
            executor: Some(Arc::clone(&executor) as Arc<dyn Executor>),
        };

        let shutdown = Shutdown::on_signals().map_err(motorium_kit::Error::from)?;
        let settings: OrchestratorSettings = loaded.section()?;
        let config = settings.resolve().map_err(start_error)?;
        let storage = loaded
            .section::<storage::Settings>()?
            .open(&data)
            .await
            .map_err(start_error)?;
        let desktops = Desktops::new(connector(common.client(""), nearby));
        desktops.register(desktop(&display)).map_err(start_error)?;
        let restored = desktops.restore(storage.tasks.as_ref()).await;
        restored.map_err(start_error)?;
        let orchestrator = Orchestrator::new(&config, storage, desktops, &shutdown);

        let mut servers = Vec::new();
        let listen = if options.served {
            config.listen
        } else {
            Listen::default()
        };
        let server =
            builder(&common, listen)?.service(orchestrator.edge().tonic(), FILE_DESCRIPTOR_SET);
        servers.push(("orchestrator", server.start(&shutdown).await?));
        if options.served {
            let listen = loaded.section::<PerceptionSettings>()?.listen;
            let ready = perception.ready();
            let service = PerceptionServer::tonic(perception);
            let server = builder(&common, listen)?.service_with_readiness(
                service,
                FILE_DESCRIPTOR_SET,
                ready,
            );
            servers.push(("perception", server.start(&shutdown).await?));
            let listen = loaded.section::<PlannerSettings>()?.listen;
            let service = PlannerServer::tonic(planner);
            let server = builder(&common, listen)?.service(service, FILE_DESCRIPTOR_SET);
            servers.push(("planner", server.start(&shutdown).await?));
            let listen = loaded.section::<ExecutorSettings>()?.listen;
            let service = ExecutorServer::tonic(executor.clone());
            let server = builder(&common, listen)?.service(service, FILE_DESCRIPTOR_SET);
            servers.push(("executor", server.start(&shutdown).await?));
        }
        let working = orchestrator.start();
        Ok(Self {
            servers,
            working,
            executor,
            shutdown,
            display,
            virtual_desktop,
        })
    }

    /// Where the Orchestrator answers.
    #[must_use]
    pub(crate) fn orchestrator_url(&self) -> String {
        let address = self
            .servers
            .first()
            .map(|(_, running)| running.local_address());
        address
            .map(|address| format!("http://{address}"))
            .unwrap_or_default()
    }

    /// What runs where, for people.
    #[must_use]
    pub(crate) fn description(&self) -> String {
        let kind = if self.virtual_desktop.is_some() {
            "virtual desktop"
        } else {
            "desktop"
        };
        let mut lines = vec![format!("{kind} {}", self.display)];
        lines.extend(
            self.servers
                .iter()
                .map(|(name, running)| format!("{name:<13} {}", running.local_address())),
        );
        lines.join("\n")
    }

    /// Waits until the process is told to end, and ends in order: tasks let go, calls finish, the desktop goes last.
    ///
    /// # Errors
    /// If a server ended by itself.
    pub(crate) async fn until_shutdown(self) -> Result<(), Error> {
        self.shutdown.draining().await;
        let _ = self.working.await;
        let mut ended = Ok(());
        for (_, running) in self.servers {
            ended = ended.and(running.join().await);
        }
        // Nothing asks for input any more: nothing stays pressed, lent or on the clipboard.
        self.executor.close().await;
        drop(self.virtual_desktop);
        Ok(ended?)
    }

    /// Ends now.
    pub(crate) async fn end(self) {
        self.shutdown.drain();
        if let Err(error) = self.until_shutdown().await {
            tracing::warn!(%error, "a server did not end well");
        }
    }
}

fn builder(common: &Common, listen: Listen) -> Result<Builder, Error> {
    Ok(Builder::new(common.server(listen)?))
}

fn start_error(error: impl std::fmt::Display) -> Error {
    Error::Start(error.to_string())
}

/// Where this process keeps what must survive. A single task has a folder of its own, so that it never meets the
/// state of a server that runs beside it.
fn state_folder(data: &Path, served: bool) -> PathBuf {
    if served {
        data.to_owned()
    } else {
        data.join("in-process")
    }
}

async fn start_desktop(
    choice: DesktopChoice,
    data: &Path,
) -> Result<Option<VirtualDesktop>, Error> {
    let has_display = std::env::var_os("DISPLAY").is_some_and(|display| !display.is_empty());
    let size = match choice {
        DesktopChoice::Current => return Ok(None),
        DesktopChoice::CurrentOrVirtual { .. } if has_display => return Ok(None),
        DesktopChoice::CurrentOrVirtual { size } | DesktopChoice::Virtual { size } => size,
    };
    Ok(Some(
        VirtualDesktop::start(size, &data.join("desktop")).await?,
    ))
}

/// A Perception with the configured models, on this display.
pub(crate) async fn perception(
    loaded: &Loaded,
    display: Option<String>,
) -> Result<Arc<PerceptionService>, Error> {
    let mut settings: PerceptionSettings = loaded.section()?;
    if let Some(display) = display {
        settings.displays = vec![display];
    }
    let common = loaded.common()?;
    let environment = motorium_executor::config::process_environment();
    let config =
        PerceptionConfig::resolve(settings, common.data()?, environment).map_err(start_error)?;
    let config = config.calling_with(&common.client(""));
    Ok(Arc::new(config.start().await.map_err(start_error)?))
}

fn planner(loaded: &Loaded) -> Result<Arc<dyn Planner>, Error> {
    let settings: PlannerSettings = loaded.section()?;
    Ok(Arc::new(settings.resolve().map_err(start_error)?))
}

/// An Executor for one action on the current display. It shares its folder with `run --in-process`, whose lock keeps the
/// two from acting at the same time.
pub(crate) async fn executor_here(loaded: &Loaded) -> Result<Arc<ExecutorService>, Error> {
    let data = state_folder(loaded.common()?.data()?, false);
    Ok(executor(loaded, &data, None).await?.service)
}

async fn executor(
    loaded: &Loaded,
    data: &Path,
    desktop: Option<&VirtualDesktop>,
) -> Result<Started, Error> {
    let furniture = desktop.map(Furniture::of);
    let config = executor_config(loaded, data, furniture.as_ref())?;
    config.start().await.map_err(start_error)
}

/// Lets the Executor follow the configuration file.
fn follow(loaded: &Loaded, started: Started, data: PathBuf, desktop: Option<&VirtualDesktop>) {
    let furniture = desktop.map(Furniture::of);
    loaded.follow(move |loaded| {
        let config = executor_config(loaded, &data, furniture.as_ref());
        let config = config.map_err(|error| error.to_string())?;
        started
            .put_in_force(config)
            .map_err(|error| error.to_string())
    });
}

/// What a virtual desktop brings to the settings.
#[derive(Debug, Clone)]
struct Furniture {
    display: String,
    environment: BTreeMap<String, String>,
}

impl Furniture {
    fn of(desktop: &VirtualDesktop) -> Self {
        Self {
            display: desktop.display().to_owned(),
            environment: desktop.environment().clone(),
        }
    }
}

fn executor_config(
    loaded: &Loaded,
    data: &Path,
    furniture: Option<&Furniture>,
) -> Result<ExecutorConfig, Error> {
    let mut settings: ExecutorSettings = loaded.section()?;
    if let Some(furniture) = furniture {
        settings.displays = vec![furniture.display.clone()];
        furnish(&mut settings, &furniture.environment);
    }
    let environment = motorium_executor::config::process_environment();
    ExecutorConfig::resolve(settings, data, environment).map_err(start_error)
}

/// Gives a virtual desktop the applications that one expects, unless the configuration names its own. A terminal is
/// not among them: whoever can type into one can run anything.
fn furnish(settings: &mut ExecutorSettings, environment: &BTreeMap<String, String>) {
    if settings.applications.is_empty() {
        settings.applications.insert(
            "editor".to_owned(),
            program("mousepad", &["--disable-server"]),
        );
    }
    let browser = settings
        .browser
        .get_or_insert_with(|| program("chromium", CHROMIUM));
    browser.environment.extend(environment.clone());
    if !settings.applications.contains_key("browser") {
        settings
            .applications
            .insert("browser".to_owned(), browser.clone());
    }
    for application in settings.applications.values_mut() {
        application.environment.extend(environment.clone());
    }
}

/// What keeps a browser on a virtual desktop from asking, fetching and phoning home.
const CHROMIUM: &[&str] = &[
    "--no-sandbox",
    "--test-type",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=Translate",
    "--password-store=basic",
    "--force-device-scale-factor=1",
    "--start-maximized",
];

fn program(name: &str, arguments: &[&str]) -> Program {
    Program {
        program: name.to_owned(),
        arguments: arguments
            .iter()
            .map(|&argument| argument.to_owned())
            .collect(),
        environment: BTreeMap::new(),
    }
}

/// The display that Perception sees; an error that helps if there is none.
async fn known_display(
    perception: &dyn Perception,
    display: Option<String>,
) -> Result<String, Error> {
    if let Some(display) = display {
        return Ok(display);
    }
    let displays = perception.list_displays().await.map_err(Error::Service)?;
    let first = displays
        .first()
        .map(|display| display.id.as_str().to_owned());
    first.ok_or_else(|| {
        Error::Start("there is no display; `motorium up` starts a virtual one".to_owned())
    })
}

fn desktop(display: &str) -> Desktop {
    Desktop {
        name: DesktopName::from_segment(DESKTOP).expect("the name is well formed"),
        perception_endpoint: None,
        executor_endpoint: None,
        display: Some(DisplayId::new(display)),
        platform: Platform::Linux,
        labels: BTreeMap::new(),
    }
}
