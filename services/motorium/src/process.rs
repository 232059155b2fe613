//! Runs all services in one process.
//!
//! Each is the same object that its own binary serves. The Orchestrator calls the others directly, and each is also
//! served on its own port, so that clients see no difference.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_client::Client;
use motorium_executor::config::{Config as ExecutorConfig, Settings as ExecutorSettings};
#[cfg(target_os = "linux")]
use motorium_executor::drivers::launch::hide_from_programs;
use motorium_executor::drivers::launch::{LaunchSite, Program};
use motorium_executor::start::RunningExecutor;
use motorium_executor::{ExecutorService, InProcessExecutor};
use motorium_gateway::{
    Gateway, LocalAccess, Services as GatewayServices, Settings as GatewaySettings,
    StartError as GatewayStartError, folder as gateway_folder,
};
use motorium_kit::client::{Channel, Config as ClientConfig};
use motorium_kit::config::{Common, LayeredConfig, ListenAddress};
use motorium_kit::server::{
    Builder, Config as ServerConfig, MemoryConnector, RefusalObserver, RunningServer,
};
use motorium_kit::shutdown::Shutdown;
use motorium_messages::Message;
use motorium_orchestrator::config::{Config as OrchestratorConfig, LocalServices, connector};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::edge::Edge;
use motorium_orchestrator::{Orchestrator, Settings as OrchestratorSettings, storage};
use motorium_perception::PerceptionService;
use motorium_perception::config::{Config as PerceptionConfig, Settings as PerceptionSettings};
use motorium_planner::{PlannerService, Settings as PlannerSettings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::desktop::{Desktop, Platform};
use motorium_proto::domain::id::{DesktopName, DisplayId, TaskName};
use motorium_proto::service::{ExecutorServer, Perception, PerceptionServer, PlannerServer};
use motorium_proto::v1::executor::executor_service_server;
use motorium_proto::v1::perception::perception_service_server;
use motorium_proto::v1::planner::planner_service_server;
use motorium_store::audit::{AuditLog, RefusalRecorder};
use tokio::task::JoinHandle;

use crate::cli::PlatformKind;
use crate::error::Error;
use crate::show::text;
use crate::virtual_desktop::{self, VirtualDesktop};

/// Name of the process's only desktop.
const DESKTOP: &str = "local";

/// Names the Orchestrator of this process in messages; nothing connects to it.
const IN_PROCESS_URI: &str = "http://in-process";

/// The desktop to use.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DesktopChoice {
    /// The current session's display. An error if there is none.
    Current,
    /// The current session's display, or a virtual desktop if there is none.
    CurrentOrVirtual {
        size: (u16, u16),
    },
    Virtual {
        size: (u16, u16),
    },
}

/// Options of a process.
#[derive(Debug)]
pub(crate) struct ProcessOptions {
    desktop: DesktopChoice,
    platform: Platform,
    scope: Scope,
}

/// The callers and the tasks of a process.
#[derive(Debug)]
enum Scope {
    /// Every service is served on its configured address, and every task is run.
    Served,
    /// Only the Orchestrator is served, only within this process, and it runs only this task.
    OneTask(TaskName),
}

impl ProcessOptions {
    /// Returns options for one task on the current display. Unfinished tasks of earlier processes are left alone.
    #[must_use]
    pub(crate) fn in_process(task: TaskName) -> Self {
        Self {
            desktop: DesktopChoice::Current,
            platform: PlatformKind::of_this_machine().into(),
            scope: Scope::OneTask(task),
        }
    }

    /// Returns options for serving everything on the configured addresses.
    #[must_use]
    pub(crate) fn served(desktop: DesktopChoice, platform: Platform) -> Self {
        Self {
            desktop,
            platform,
            scope: Scope::Served,
        }
    }
}

/// A process with all services running.
#[derive(Debug)]
pub(crate) struct Process {
    servers: Vec<(&'static str, RunningServer)>,
    gateway: PageServer,
    run_loop: JoinHandle<()>,
    edge: Edge,
    executor: Arc<ExecutorService>,
    shutdown: Shutdown,
    display: String,
    /// The requests of the browser's pages are judged by the rules of addresses.
    filters_pages: bool,
    /// Reaches the Orchestrator where it is served within this process only.
    in_process: Option<MemoryConnector>,
    // Dropped last, after everything that uses it.
    virtual_desktop: Option<VirtualDesktop>,
}

impl Process {
    /// Starts every service.
    ///
    /// # Errors
    /// If a requirement is missing, such as a display, a model, a folder or a port.
    pub(crate) async fn start(
        loaded: &LayeredConfig,
        options: ProcessOptions,
    ) -> Result<Self, Error> {
        let common = loaded.common()?;
        let served = matches!(options.scope, Scope::Served);
        let data = state_folder(common.data()?, served);
        let virtual_desktop = start_desktop(loaded, options.desktop, &data).await?;
        let display = virtual_desktop
            .as_ref()
            .map(|desktop| desktop.display().to_owned());

        let perception = perception(loaded, display.clone()).await?;
        let planner = planner(loaded)?;
        let audit = open_audit(loaded, &data)?;
        let refusals = RefusalRecorder::start(audit.clone());
        let started = executor(loaded, &data, virtual_desktop.as_ref(), audit.clone()).await?;
        let executor = Arc::clone(&started.service);
        if options.platform == Platform::Browser && virtual_desktop.is_some() {
            started.open_browser().await.map_err(start_error)?;
        }
        follow(loaded, started, data.clone(), virtual_desktop.as_ref());
        let display = known_display(perception.as_ref(), display).await?;
        let local_services = LocalServices {
            planner: planner.clone(),
            perception: Some(Arc::clone(&perception) as Arc<dyn Perception>),
            executor: Some(Arc::new(InProcessExecutor::new(Arc::clone(&executor)))),
        };

        let shutdown = shutdown(&options.scope)?;
        let settings: OrchestratorSettings = loaded.section()?;
        let config = settings.resolve().map_err(start_error)?;
        let stores: storage::Settings = loaded.section()?;
        let client = config.with_audiences(common.client(""));
        let desktops = DesktopPool::new(connector(client, local_services));
        desktops
            .register(desktop(&display, options.platform))
            .map_err(start_error)?;
        let opened = Orchestrator::open(&config, stores, &data, audit, desktops, &shutdown).await;
        let mut orchestrator = opened.map_err(start_error)?;
        if let Scope::OneTask(task) = options.scope {
            orchestrator = orchestrator.only(task);
        }

        let mut servers = Vec::new();
        let mut in_process = None;
        let server = if served {
            let builder = builder(&common, config.listen, &refusals)?;
            let server = orchestrator.mount(builder);
            server.start(&shutdown).await?
        } else {
            let server = orchestrator.mount(Builder::new(ServerConfig::loopback()));
            let (running, connector) = server.start_in_memory(&shutdown).await?;
            in_process = Some(connector);
            running
        };
        servers.push(("orchestrator", server));
        if served {
            let others = ServedNearby {
                perception,
                planner,
                executor: executor.clone(),
            };
            servers.extend(others.serve(loaded, &refusals, &shutdown).await?);
        }
        let gateway = match served {
            true => {
                let refusals = Arc::clone(&refusals);
                gateway(loaded, &config, &servers, &data, refusals, &shutdown).await?
            }
            false => PageServer::Disabled,
        };
        // Last, when every service answers: an unfinished task of an earlier process continues at once.
        let edge = orchestrator.edge();
        let run_loop = orchestrator.start();
        Ok(Self {
            servers,
            gateway,
            run_loop,
            edge,
            executor,
            shutdown,
            display,
            filters_pages: loaded.section::<ExecutorSettings>()?.devtools.is_some(),
            in_process,
            virtual_desktop,
        })
    }

    /// Creates a client for the Orchestrator of a process that serves nothing to others.
    ///
    /// # Errors
    /// If the process serves on addresses: clients connect to these.
    pub(crate) fn client(&self) -> Result<Client<Channel>, Error> {
        let connector = self.in_process.clone().ok_or_else(|| {
            Error::Start("the orchestrator of this process is served on its address".to_owned())
        })?;
        let config = ClientConfig::new(IN_PROCESS_URI);
        let channel = Channel::in_memory(connector, &config).map_err(start_error)?;
        Ok(Client::new(channel))
    }

    /// Returns the shutdown signal of the process.
    #[must_use]
    pub(crate) fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// Describes the services and their addresses, for people.
    #[must_use]
    pub(crate) fn description(&self) -> String {
        let display = &self.display;
        let desktop = if self.virtual_desktop.is_some() {
            Message::UpVirtualDesktop { display }
        } else {
            Message::UpDesktop { display }
        };
        let mut lines = vec![text(desktop)];
        lines.extend(self.virtual_desktop.iter().flat_map(isolation));
        let is_open = self.virtual_desktop.is_some() && !self.filters_pages;
        lines.extend(is_open.then(|| text(Message::UpPagesNotFiltered)));
        lines.extend(
            self.servers
                .iter()
                .map(|(name, running)| format!("{name:<13} {}", running.local_address())),
        );
        lines.extend(self.gateway.description());
        lines.join("\n")
    }

    /// Creates a link that logs a browser in; `None` if the gateway is not enabled.
    #[must_use]
    pub(crate) fn login_link(&self) -> Option<String> {
        self.gateway.running().and_then(Gateway::login_link)
    }

    /// Waits for the shutdown signal and shuts down in order: tasks release their desktops, calls finish, the desktop
    /// ends last. Returns the names of the tasks that are unfinished, which go on at the next start.
    ///
    /// # Errors
    /// If a server ended on its own.
    pub(crate) async fn until_shutdown(self) -> Result<Vec<String>, Error> {
        self.shutdown.draining().await;
        // Tasks first: they release their desktops through services that still run.
        let _ = self.run_loop.await;
        let unfinished = self.edge.unfinished_tasks().await;
        let unfinished = unfinished.unwrap_or_else(|error| {
            tracing::warn!(%error, "the unfinished tasks cannot be listed");
            Vec::new()
        });
        let mut ended = Ok(());
        if let PageServer::Running { gateway, .. } = self.gateway {
            let served = gateway.join().await;
            served.unwrap_or_else(|error| tracing::warn!(%error, "the gateway failed"));
        }
        for (_, running) in self.servers {
            ended = ended.and(running.join().await);
        }
        // No more actions can arrive: release all keys, and restore the keymap and the clipboard.
        self.executor.close().await;
        drop(self.virtual_desktop);
        ended?;
        Ok(unfinished)
    }

    /// Shuts down now.
    pub(crate) async fn shut_down(self) {
        self.shutdown.drain();
        if let Err(error) = self.until_shutdown().await {
            tracing::warn!(%error, "a server failed during shutdown");
        }
    }
}

/// Perception, Planner and Executor.
struct ServedNearby {
    perception: Arc<PerceptionService>,
    planner: Arc<PlannerService>,
    executor: Arc<ExecutorService>,
}

impl ServedNearby {
    /// Serves each on its configured address.
    async fn serve(
        self,
        loaded: &LayeredConfig,
        refusals: &Arc<RefusalRecorder>,
        shutdown: &Shutdown,
    ) -> Result<Vec<(&'static str, RunningServer)>, Error> {
        let Self {
            perception,
            planner,
            executor,
        } = self;
        let common = loaded.common()?;
        let listen = loaded.section::<PerceptionSettings>()?.listen;
        let ready = perception.ready();
        let service = PerceptionServer::tonic(perception.clone());
        let server = builder(&common, listen, refusals)?
            .service_with_readiness(service, FILE_DESCRIPTOR_SET, ready)
            .check(perception_service_server::SERVICE_NAME, perception);
        let perception = server.start(shutdown).await?;
        let listen = loaded.section::<PlannerSettings>()?.listen;
        let server = builder(&common, listen, refusals)?
            .service(PlannerServer::tonic(planner.clone()), FILE_DESCRIPTOR_SET)
            .check(planner_service_server::SERVICE_NAME, planner);
        let planner = server.start(shutdown).await?;
        let listen = loaded.section::<ExecutorSettings>()?.listen;
        let server = builder(&common, listen, refusals)?
            .service(ExecutorServer::tonic(executor.clone()), FILE_DESCRIPTOR_SET)
            .check(executor_service_server::SERVICE_NAME, executor);
        let executor = server.start(shutdown).await?;
        Ok(vec![
            ("perception", perception),
            ("planner", planner),
            ("executor", executor),
        ])
    }
}

/// The gateway of a process. Its tasks run also where the page cannot be served.
#[derive(Debug)]
enum PageServer {
    Disabled,
    Running {
        gateway: Gateway,
        /// The configured address.
        wanted: SocketAddr,
    },
    /// This address and those after it are taken.
    Taken(SocketAddr),
}

impl PageServer {
    fn running(&self) -> Option<&Gateway> {
        match self {
            Self::Running { gateway, .. } => Some(gateway),
            Self::Disabled | Self::Taken(_) => None,
        }
    }

    /// Describes the gateway in lines for people.
    fn description(&self) -> Vec<String> {
        let (gateway, wanted) = match self {
            Self::Disabled => return Vec::new(),
            Self::Taken(address) => {
                let taken = &address.to_string();
                return vec![text(Message::UpWithoutPage { taken })];
            }
            Self::Running { gateway, wanted } => (gateway, wanted),
        };
        let address = gateway.local_address();
        let mut lines = vec![format!("{:<13} {address}", "gateway")];
        if wanted.port() != 0 && wanted.port() != address.port() {
            let (taken, address) = (&wanted.to_string(), &address.to_string());
            lines.push(text(Message::UpPageElsewhere { taken, address }));
        }
        lines
    }
}

/// Starts the gateway in front of the servers of this process, if it is enabled.
async fn gateway(
    loaded: &LayeredConfig,
    orchestrator: &OrchestratorConfig,
    servers: &[(&'static str, RunningServer)],
    data: &Path,
    refusals: Arc<RefusalRecorder>,
    shutdown: &Shutdown,
) -> Result<PageServer, Error> {
    let settings: GatewaySettings = loaded.section()?;
    if !settings.enabled {
        return Ok(PageServer::Disabled);
    }
    let common = loaded.common()?;
    let server = common.server(orchestrator.listen)?;
    let scheme = if loaded.is_set("server.tls_certificate") {
        "https"
    } else {
        "http"
    };
    let url = |wanted: &str| {
        let mut named = servers.iter().filter(|(name, _)| *name == wanted);
        let address = named.next().map(|(_, server)| server.local_address());
        address.map_or_else(String::new, |address| format!("{scheme}://{address}"))
    };
    let services = GatewayServices {
        orchestrator: url("orchestrator"),
        perception: url("perception"),
        executor: url("executor"),
        client: ClientConfig {
            token: None,
            loopback_token: None,
            ..orchestrator.with_audiences(common.client(""))
        },
        // They are of this process.
        are_own: true,
        refusals: Some(refusals),
    };
    let access = match server.demands_token() {
        true => LocalAccess::OfServices(server.token_of_user().map_err(start_error)?),
        false => LocalAccess::Own,
    };
    let folder = gateway_folder(data);
    let config = settings.resolve().map_err(start_error)?;
    match Gateway::start_nearby(&config, services, access, folder, shutdown).await {
        Ok(gateway) => Ok(PageServer::Running {
            gateway,
            wanted: settings.listen.0,
        }),
        Err(GatewayStartError::AddressInUse { address }) => Ok(PageServer::Taken(address)),
        Err(error) => Err(start_error(error)),
    }
}

/// Returns the shutdown signal. A process for one task ends when its command has ended the task, not by a signal: the
/// task would be released instead of cancelled.
fn shutdown(scope: &Scope) -> Result<Shutdown, Error> {
    match scope {
        Scope::Served => Ok(Shutdown::on_signals().map_err(motorium_kit::Error::from)?),
        Scope::OneTask(_) => Ok(Shutdown::new()),
    }
}

fn builder(
    common: &Common,
    listen: ListenAddress,
    refusals: &Arc<RefusalRecorder>,
) -> Result<Builder, Error> {
    let builder = Builder::new(common.server(listen)?);
    Ok(builder.on_refusal(Arc::clone(refusals) as Arc<dyn RefusalObserver>))
}

fn start_error(error: impl std::fmt::Display) -> Error {
    Error::Start(error.to_string())
}

/// Returns the folder for persistent state. A single task has its own folder, so that it never shares state with a
/// running server.
fn state_folder(data: &Path, served: bool) -> PathBuf {
    if served {
        data.to_owned()
    } else {
        data.join("in-process")
    }
}

/// Describes the isolation of a virtual desktop, for people.
fn isolation(desktop: &VirtualDesktop) -> Vec<String> {
    let programs = match desktop.not_isolated() {
        None => Message::UpIsolated,
        Some(reason) => Message::UpNotIsolated { reason },
    };
    let pages = (!desktop.isolates_pages()).then_some(Message::UpPagesNotIsolated);
    let lines = [Some(programs), pages].into_iter().flatten();
    lines.map(text).collect()
}

async fn start_desktop(
    loaded: &LayeredConfig,
    choice: DesktopChoice,
    data: &Path,
) -> Result<Option<VirtualDesktop>, Error> {
    let has_display = std::env::var_os("DISPLAY").is_some_and(|display| !display.is_empty());
    let size = match choice {
        DesktopChoice::Current => return Ok(None),
        DesktopChoice::CurrentOrVirtual { .. } if has_display => return Ok(None),
        DesktopChoice::CurrentOrVirtual { size } | DesktopChoice::Virtual { size } => size,
    };
    let options = virtual_desktop::Options {
        size,
        data,
        settings: &loaded.section()?,
        executor: &loaded.section()?,
    };
    let desktop = VirtualDesktop::start(options).await?;
    // Before any program is started: outside of a sandbox, it could read the keys from the environment of this process.
    #[cfg(target_os = "linux")]
    if desktop.not_isolated().is_some() {
        hide_from_programs().map_err(start_error)?;
    }
    Ok(Some(desktop))
}

/// Starts Perception with the configured models on this display.
pub(crate) async fn perception(
    loaded: &LayeredConfig,
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
    let config = config.with_client_config(&common.client(""));
    Ok(Arc::new(config.start().await.map_err(start_error)?))
}

fn planner(loaded: &LayeredConfig) -> Result<Arc<PlannerService>, Error> {
    let settings: PlannerSettings = loaded.section()?;
    Ok(Arc::new(settings.resolve().map_err(start_error)?))
}

/// Starts an Executor for one action on the current display. It shares its folder, and so its lock, with `run
/// --in-process`: the two cannot act at the same time.
pub(crate) async fn local_executor(loaded: &LayeredConfig) -> Result<Arc<ExecutorService>, Error> {
    let data = state_folder(loaded.common()?.data()?, false);
    let audit = open_audit(loaded, &data)?;
    Ok(executor(loaded, &data, None, audit).await?.service)
}

async fn executor(
    loaded: &LayeredConfig,
    data: &Path,
    desktop: Option<&VirtualDesktop>,
    audit: AuditLog,
) -> Result<RunningExecutor, Error> {
    let surroundings = desktop.map(DesktopSurroundings::of);
    let site = desktop.map_or(LaunchSite::Here, VirtualDesktop::launch_site);
    let config = executor_config(loaded, data, surroundings.as_ref())?;
    let config = config.launching_at(site).audited(audit);
    config.start().await.map_err(start_error)
}

/// Opens the audit log, which the Orchestrator and the Executor of this process share.
fn open_audit(loaded: &LayeredConfig, data: &Path) -> Result<AuditLog, Error> {
    let settings: OrchestratorSettings = loaded.section()?;
    let stores: storage::Settings = loaded.section()?;
    let audit = stores.open_audit(settings.audit.as_deref(), data);
    audit.map_err(start_error)
}

/// Reloads the Executor's settings when the configuration file changes.
fn follow(
    loaded: &LayeredConfig,
    started: RunningExecutor,
    data: PathBuf,
    desktop: Option<&VirtualDesktop>,
) {
    let surroundings = desktop.map(DesktopSurroundings::of);
    loaded.watch_file(move |loaded| {
        let config = executor_config(loaded, &data, surroundings.as_ref());
        let config = config.map_err(|error| error.to_string())?;
        started.reload(config).map_err(|error| error.to_string())
    });
}

/// Properties of a running virtual desktop that settings of the Executor depend on.
#[derive(Debug, Clone)]
struct DesktopSurroundings {
    display: String,
    environment: BTreeMap<String, String>,
    isolates_pages: bool,
}

impl DesktopSurroundings {
    fn of(desktop: &VirtualDesktop) -> Self {
        Self {
            display: desktop.display().to_owned(),
            environment: desktop.environment().clone(),
            isolates_pages: desktop.isolates_pages(),
        }
    }
}

fn executor_config(
    loaded: &LayeredConfig,
    data: &Path,
    surroundings: Option<&DesktopSurroundings>,
) -> Result<ExecutorConfig, Error> {
    let mut settings: ExecutorSettings = loaded.section()?;
    if let Some(surroundings) = surroundings {
        settings.displays = vec![surroundings.display.clone()];
        add_default_applications(&mut settings, surroundings);
    }
    let environment = motorium_executor::config::process_environment();
    let config = ExecutorConfig::resolve(settings, data, environment).map_err(start_error)?;
    Ok(config.for_named_callers(loaded.common()?.names_callers()))
}

/// Adds default applications to a virtual desktop, unless the configuration has its own. A terminal is not among them,
/// because text typed into it can run any program.
fn add_default_applications(settings: &mut ExecutorSettings, surroundings: &DesktopSurroundings) {
    let environment = &surroundings.environment;
    if settings.applications.is_empty() {
        settings.applications.insert(
            "editor".to_owned(),
            program("mousepad", &["--disable-server"]),
        );
    }
    let browser = settings
        .browser
        .get_or_insert_with(|| program("chromium", &chromium(surroundings.isolates_pages)));
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

/// Arguments that disable prompts, updates and telemetry of a browser on a virtual desktop.
const CHROMIUM: &[&str] = &[
    "--test-type",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-search-engine-choice-screen",
    "--hide-crash-restore-bubble",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=Translate",
    "--password-store=basic",
    "--force-device-scale-factor=1",
    "--start-maximized",
];

/// Returns the arguments of a browser. Its pages are isolated from it, unless the system does not allow that: then the
/// browser would not start.
fn chromium(isolates_pages: bool) -> Vec<&'static str> {
    let unisolated = (!isolates_pages).then_some("--no-sandbox");
    unisolated
        .into_iter()
        .chain(CHROMIUM.iter().copied())
        .collect()
}

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

/// Returns the display that Perception captures.
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
    first.ok_or_else(|| Error::Start(text(Message::NoDisplay)))
}

fn desktop(display: &str, platform: Platform) -> Desktop {
    Desktop {
        name: DesktopName::from_segment(DESKTOP).expect("the name is well formed"),
        perception_endpoint: None,
        executor_endpoint: None,
        display: Some(DisplayId::new(display)),
        platform,
        labels: BTreeMap::new(),
        tenants: BTreeSet::new(),
    }
}
