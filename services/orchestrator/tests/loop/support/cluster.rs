//! The orchestrator with a real store and the services that it calls, all on sockets of the loopback interface.
//!
//! The orchestrator has a runtime of its own. Killing it drops that runtime: its work stops midway, its connections
//! break, and only the store remains.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use motorium_client::{Client, Update};
use motorium_kit::client::Config as ClientConfig;
use motorium_kit::config::{HumanDuration, ListenAddress};
use motorium_kit::server::{Builder, Config as ServerConfig, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::config::{DesktopSettings, LocalServices, channel};
use motorium_orchestrator::desktops::DesktopPool;
use motorium_orchestrator::hooks::Hook;
use motorium_orchestrator::storage::{Settings as StoreSettings, Storage};
use motorium_orchestrator::{Orchestrator, Settings};
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::decision::Next;
use motorium_proto::service::{ExecutorServer, PerceptionServer, PlannerClient, PlannerServer};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_server::SERVICE_NAME;
use motorium_store::Durability;
use motorium_store::audit::AuditLog;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::task::JoinHandle;
use tonic::transport::{Channel, Endpoint};

use super::faulty_store::{CrashPoint, FaultyStore};
use super::in_time;
use super::principals::NamedCallers;
use super::simulated_desktop::{FakeServices, SimulatedDesktop};
use super::task_events::{TaskEvents, is_end, kind};

/// Name of the configured desktop.
pub(crate) const DESKTOP: &str = "desktops/local";

/// Folder of the audit log in the data folder.
const AUDIT: &str = "audit";

/// A server of the fake services. It can stop and restart.
pub(crate) struct ServedDesktop {
    world: Arc<SimulatedDesktop>,
    address: SocketAddr,
    running: Option<RunningServer>,
}

impl ServedDesktop {
    /// Serves all three services on one port.
    pub(crate) async fn start(world: &Arc<SimulatedDesktop>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut served = Self {
            world: world.clone(),
            address: listener.local_addr().unwrap(),
            running: None,
        };
        served.serve(listener).await;
        served
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops it: connections break, and new ones are refused.
    pub(crate) async fn go_away(&mut self) {
        let running = self.running.take().expect("it is there");
        in_time("a server to end", running.stop()).await.unwrap();
    }

    /// Restarts it at the same address.
    pub(crate) async fn come_back(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.serve(listener).await;
    }

    async fn serve(&mut self, listener: TcpListener) {
        let stand_in = Arc::new(FakeServices(self.world.clone()));
        let config = ServerConfig {
            grace_period: Duration::ZERO,
            ..ServerConfig::loopback()
        };
        let server = Builder::new(config)
            .service(
                PerceptionServer::tonic(stand_in.clone()),
                FILE_DESCRIPTOR_SET,
            )
            .service(PlannerServer::tonic(stand_in.clone()), FILE_DESCRIPTOR_SET)
            .service(ExecutorServer::tonic(stand_in), FILE_DESCRIPTOR_SET);
        let running = server.start_on(listener, &Shutdown::new()).await;
        self.running = Some(running.unwrap());
    }
}

/// A running orchestrator.
struct OrchestratorProcess {
    runtime: Option<Runtime>,
    shutdown: Shutdown,
    store: Arc<FaultyStore>,
    address: SocketAddr,
    ended: JoinHandle<()>,
}

impl OrchestratorProcess {
    async fn start(
        settings: Settings,
        stores: StoreSettings,
        data: &Path,
        client: ClientConfig,
        point: Option<CrashPoint>,
        hooks: Vec<Arc<dyn Hook>>,
    ) -> Self {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let shutdown = Shutdown::new();
        let start = start(
            settings,
            stores,
            data.to_owned(),
            client,
            point,
            hooks,
            shutdown.clone(),
        );
        let started = in_time("the orchestrator to start", runtime.spawn(start)).await;
        let (store, running, working) = started.unwrap();
        let address = running.local_address();
        let ended = runtime.spawn(async move {
            running.join().await.unwrap();
            working.await.unwrap();
        });
        Self {
            runtime: Some(runtime),
            shutdown,
            store,
            address,
            ended,
        }
    }

    async fn kill(mut self) {
        let runtime = self.runtime.take().expect("it runs");
        // Waits until all of its tasks are gone.
        let gone = tokio::task::spawn_blocking(move || runtime.shutdown_timeout(super::TIMEOUT));
        gone.await.unwrap();
    }
}

impl Drop for OrchestratorProcess {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Does what `main` does, without a configuration file and signals. The address of `client` is that of the Planner.
async fn start(
    settings: Settings,
    stores: StoreSettings,
    data: PathBuf,
    client: ClientConfig,
    point: Option<CrashPoint>,
    hooks: Vec<Arc<dyn Hook>>,
    shutdown: Shutdown,
) -> (Arc<FaultyStore>, RunningServer, JoinHandle<()>) {
    let config = settings.resolve().unwrap();
    let audit = AuditLog::open(&data.join(AUDIT), Durability::Normal).unwrap();
    let opened = stores.open(&data, audit).await.unwrap();
    let store = FaultyStore::new(opened.tasks.clone(), point);
    let base = config.with_audiences(client);
    let planner = channel(&base, &base.uri).unwrap();
    let nearby = LocalServices {
        planner: Arc::new(PlannerClient::new(planner)),
        perception: None,
        executor: None,
    };
    let desktops = DesktopPool::new(config.connector(base, nearby));
    for desktop in config.desktops.clone() {
        desktops.register(desktop).unwrap();
    }
    let storage = Storage {
        tasks: store.clone(),
        ..opened
    };
    let resumed = Orchestrator::resume(&config, storage, desktops, &shutdown).await;
    let orchestrator = hooks
        .into_iter()
        .fold(resumed.unwrap(), Orchestrator::with_hook);
    let server = Builder::new(ServerConfig {
        listen: ListenAddress::default(),
        ..ServerConfig::loopback()
    });
    let edge = orchestrator.edge();
    let server = server
        .service(NamedCallers(edge.clone().tonic()), FILE_DESCRIPTOR_SET)
        .check(SERVICE_NAME, Arc::new(edge));
    let running = server.start(&shutdown).await.unwrap();
    (store, running, orchestrator.start())
}

fn client_of(process: &OrchestratorProcess) -> Client<Channel> {
    let url = format!("http://{}", process.address);
    Client::new(Endpoint::from_shared(url).unwrap().connect_lazy())
}

/// An orchestrator, its simulated desktop, and a user's connection.
pub(crate) struct Cluster {
    pub(crate) world: Arc<SimulatedDesktop>,
    pub(crate) services: ServedDesktop,
    folder: TempDir,
    settings: Settings,
    stores: StoreSettings,
    /// Token and certificates that the orchestrator has for other services.
    client: ClientConfig,
    /// Hooks added by the binary.
    hooks: Vec<Arc<dyn Hook>>,
    process: Option<OrchestratorProcess>,
    /// A second orchestrator on the same store.
    other: Option<OrchestratorProcess>,
}

impl Cluster {
    /// Starts a cluster with one desktop and a planner that returns these decisions.
    pub(crate) async fn start(script: Vec<Next>) -> Self {
        Self::start_until(script, None).await
    }

    /// Starts a cluster whose orchestrator stops at this crash point.
    pub(crate) async fn start_until(script: Vec<Next>, point: Option<CrashPoint>) -> Self {
        Self::start_until_with(script, point, |_| {}).await
    }

    /// Starts a cluster with changed settings, whose orchestrator stops at this crash point.
    pub(crate) async fn start_until_with(
        script: Vec<Next>,
        point: Option<CrashPoint>,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut cluster = Self::prepare(script).await;
        change(&mut cluster.settings);
        cluster.start_process("local", point).await;
        cluster
    }

    /// Starts a cluster with changed settings.
    pub(crate) async fn start_with(script: Vec<Next>, change: impl FnOnce(&mut Settings)) -> Self {
        Self::start_until_with(script, None, change).await
    }

    /// Starts a cluster with these hooks.
    pub(crate) async fn start_hooked<const N: usize>(
        script: Vec<Next>,
        hooks: [Arc<dyn Hook>; N],
    ) -> Self {
        Self::start_hooked_with(script, hooks, |_| {}).await
    }

    /// Starts a cluster with these hooks and changed settings.
    pub(crate) async fn start_hooked_with<const N: usize>(
        script: Vec<Next>,
        hooks: [Arc<dyn Hook>; N],
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut cluster = Self::prepare(script).await;
        cluster.hooks = hooks.into();
        change(&mut cluster.settings);
        cluster.start_process("local", None).await;
        cluster
    }

    /// Starts a cluster whose orchestrator has this configuration for its calls to other services, and changed settings.
    pub(crate) async fn start_with_client(
        script: Vec<Next>,
        client: ClientConfig,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut cluster = Self::prepare(script).await;
        cluster.client = client;
        change(&mut cluster.settings);
        cluster.start_process("local", None).await;
        cluster
    }

    async fn prepare(script: Vec<Next>) -> Self {
        let world = SimulatedDesktop::new(script);
        Self {
            services: ServedDesktop::start(&world).await,
            world,
            folder: tempfile::tempdir().unwrap(),
            settings: Settings {
                // Most tests are not about approvals.
                policy: "free".to_owned(),
                allowed_desktop_addresses: vec!["127.0.0.1".parse().unwrap()],
                ..Settings::default()
            },
            stores: StoreSettings::default(),
            client: ClientConfig::new(""),
            hooks: Vec::new(),
            process: None,
            other: None,
        }
    }

    /// Starts two orchestrators, `one` and `other`, on this database, with short leases.
    pub(crate) async fn start_two(script: Vec<Next>, database: String) -> Self {
        let mut cluster = Self::prepare(script).await;
        cluster.stores.tasks = Some(database.into());
        // Long enough that a lease does not expire on a busy machine.
        cluster.settings.lease_duration = HumanDuration(Duration::from_secs(2));
        cluster.settings.name = Some("other".to_owned());
        cluster.start_process("local", None).await;
        cluster.other = cluster.process.take();
        cluster.settings.name = Some("one".to_owned());
        cluster.start_process("local", None).await;
        cluster
    }

    /// Kills this orchestrator; the remaining one is used from then on.
    pub(crate) async fn kill_one_of_two(&mut self, name: &str) {
        let killed = match name {
            "one" => std::mem::replace(&mut self.process, self.other.take()),
            _ => self.other.take(),
        };
        killed.expect("there are two").kill().await;
    }

    /// Returns a client of the other orchestrator.
    pub(crate) fn other_client(&self) -> Client<Channel> {
        client_of(self.other.as_ref().expect("there are two"))
    }

    async fn start_process(&mut self, desktop_name: &str, point: Option<CrashPoint>) {
        let url = self.services.url();
        let desktop = DesktopSettings {
            perception: url.clone(),
            executor: url.clone(),
            ..DesktopSettings::default()
        };
        let settings = Settings {
            desktops: BTreeMap::from([(desktop_name.to_owned(), desktop)]),
            ..self.settings.clone()
        };
        let stores = self.stores.clone();
        let client = ClientConfig {
            uri: url,
            ..self.client.clone()
        };
        let (data, hooks) = (self.folder.path(), self.hooks.clone());
        let process =
            OrchestratorProcess::start(settings, stores, data, client, point, hooks).await;
        self.process = Some(process);
    }

    fn process(&self) -> &OrchestratorProcess {
        self.process.as_ref().expect("the orchestrator runs")
    }

    /// Returns how often the loop has written to the log.
    pub(crate) fn writes(&self) -> usize {
        self.process().store.writes()
    }

    /// Simulates a full disk.
    pub(crate) fn set_full(&self, full: bool) {
        self.process().store.set_full(full);
    }

    /// Waits until the orchestrator has reached its crash point.
    pub(crate) async fn crash_point_reached(&self) {
        let mut reached = self.process().store.reached();
        let reached = reached.wait_for(|reached| *reached);
        in_time("the point of the journal", reached).await.unwrap();
    }

    /// Kills the orchestrator.
    pub(crate) async fn kill(&mut self) {
        self.process.take().expect("it runs").kill().await;
    }

    /// Kills the orchestrator and starts it again on the same store.
    pub(crate) async fn crash(&mut self) {
        self.kill().await;
        self.start_process("local", None).await;
    }

    /// Starts it again on the same store.
    pub(crate) async fn start_again(&mut self) {
        self.start_process("local", None).await;
    }

    /// Starts the orchestrator again on the same store, with changed settings.
    pub(crate) async fn start_again_with(&mut self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings);
        self.start_process("local", None).await;
    }

    /// Starts the orchestrator again on the same store, configured with a different desktop.
    pub(crate) async fn start_without_desktop(&mut self) {
        self.start_process("another", None).await;
    }

    /// Returns the folder of the stores.
    pub(crate) fn data(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a graceful shutdown.
    pub(crate) fn drain(&self) {
        self.process().shutdown.drain();
    }

    /// Waits for the graceful shutdown to complete.
    pub(crate) async fn end(&mut self) {
        self.drain();
        let mut process = self.process.take().expect("it runs");
        in_time("an orderly end", &mut process.ended).await.unwrap();
        process.kill().await;
    }

    /// Returns the address of the orchestrator.
    pub(crate) fn address(&self) -> SocketAddr {
        self.process().address
    }

    /// Returns the folder of the audit log.
    pub(crate) fn audit_folder(&self) -> PathBuf {
        self.folder.path().join(AUDIT)
    }

    /// Returns a client.
    pub(crate) fn client(&self) -> Client<Channel> {
        client_of(self.process())
    }

    // === User actions ===

    /// Creates a task and returns its name.
    pub(crate) async fn create(&self) -> String {
        self.create_with(wire::Task::default()).await
    }

    /// Creates a task from this template; a missing goal is filled in.
    pub(crate) async fn create_with(&self, task: wire::Task) -> String {
        let goal = match task.goal.as_str() {
            "" => "do it".to_owned(),
            goal => goal.to_owned(),
        };
        let task = wire::Task { goal, ..task };
        let request = wire::CreateTaskRequest {
            task: Some(task),
            ..wire::CreateTaskRequest::default()
        };
        self.client().create(request).await.unwrap().name
    }

    /// Creates a task and follows it to its end.
    pub(crate) async fn carry_out(&self) -> TaskEvents {
        let name = self.create().await;
        self.follow(&name).await
    }

    /// Creates a task from this template and follows it to its end.
    pub(crate) async fn carry_out_with(&self, task: wire::Task) -> TaskEvents {
        let name = self.create_with(task).await;
        self.follow(&name).await
    }

    /// Returns all events of a task once it has ended.
    pub(crate) async fn follow(&self, task: &str) -> TaskEvents {
        let mut story = TaskEvents::default();
        let mut updates = self.client().watch(task);
        self.read_until(&mut updates, &mut story, is_end).await;
        story.check();
        story
    }

    /// Waits until an event of this kind has happened to a task.
    pub(crate) async fn happened(&self, task: &str, name: &str) -> TaskEvents {
        self.happened_times(task, name, 1).await
    }

    /// Waits until an event of this kind has happened this many times.
    pub(crate) async fn happened_times(&self, task: &str, name: &str, times: usize) -> TaskEvents {
        let mut story = TaskEvents::default();
        let mut updates = self.client().watch(task);
        for _ in 0..times {
            self.read_until(&mut updates, &mut story, |event| kind(event) == name)
                .await;
        }
        story
    }

    async fn read_until(
        &self,
        updates: &mut BoxStream<'static, motorium_client::Result<Update>>,
        story: &mut TaskEvents,
        wanted: impl Fn(&wire::Event) -> bool,
    ) {
        loop {
            let next = tokio::time::timeout(super::TIMEOUT, updates.next()).await;
            let Ok(Some(update)) = next else {
                panic!("waited in vain ({next:?}); so far:\n{}", story.text());
            };
            if let Update::Event { event, .. } = update.unwrap() {
                let found = wanted(&event);
                story.0.push(*event);
                if found {
                    return;
                }
            }
        }
    }

    pub(crate) async fn get(&self, task: &str) -> wire::Task {
        self.client().get_task(task).await.unwrap()
    }

    /// Cancels a task and waits until it has ended: the call itself waits only a few seconds.
    pub(crate) async fn cancel(&self, task: &str) -> wire::Task {
        let client = self.client();
        let cancelled = async {
            loop {
                let task = client.cancel_task(task, "enough").await.unwrap();
                if task.end_time.is_some() {
                    return task;
                }
            }
        };
        in_time("a task to be cancelled", cancelled).await
    }

    /// Answers a task's question.
    pub(crate) async fn acknowledge(&self, task: &str, message: &str) -> wire::Task {
        let request = wire::AcknowledgeUserActionRequest {
            name: task.to_owned(),
            message: message.to_owned(),
            ..wire::AcknowledgeUserActionRequest::default()
        };
        let answered = self.client().raw().acknowledge_user_action(request).await;
        answered.unwrap().into_inner().task.unwrap()
    }

    /// Answers the question with this number once it is asked.
    pub(crate) async fn acknowledge_once_asked(&self, task: &str, number: usize, message: &str) {
        self.happened_times(task, "user_asked", number).await;
        self.acknowledge(task, message).await;
    }
}
