//! The participants of a run: programs, simulated perception, database, and the network links between them.
//!
//! Ended programs are restarted, as a supervisor does, unless a fault keeps them down.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::server::{Builder, Config as ServerConfig, RunningServer};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::storage::Settings as StoreSettings;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::service::PerceptionServer;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::TaskStore;
use motorium_store::audit::AuditLog;
use motorium_store::local_postgres::LocalPostgres;
use motorium_task::RecordedEvent;
use motorium_tests::programs::Process;
use motorium_tests::services::{Server, TestSetup};
use prost::Message as _;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde::Serialize;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::RunOptions;
use crate::application::Application;
use crate::journal_copies::JournalCopies;
use crate::link::NetworkLink;
use crate::proxy::{LateDeliveries, RequestProxy};
use crate::simulated_perception::{DISPLAY, SimulatedPerception};

/// Task lease: time until another orchestrator takes a task over after a crash.
const TASK_LEASE: &str = "3s";
/// Simulated duration of an action.
const ACTION_DURATION: &str = "60ms";
/// Number of orchestrators with a shared database.
const ORCHESTRATORS: usize = 2;
/// Grace period for programs to end before they are killed.
const GRACE: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Settings of the retention in a soak: the shortest times that the Orchestrator accepts.
const SOAK_RETENTION: [&str; 4] = [
    "orchestrator.retention.tasks=60s",
    "orchestrator.retention.interval=1m",
    "orchestrator.retention.unused_files=1h",
    "orchestrator.retention.audit=24h",
];
/// Setting of the Executors in a soak: their journals reach their limit in the warm-up.
const SOAK_JOURNAL: &str = "executor.journal.max_entries=200";
/// Page size for reading events.
const BATCH: u32 = 1000;

/// Token of all programs: each has a home folder of its own, and so no token of a common user.
pub(crate) const TOKEN: &str = "token of the chaos test";

/// Task store of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Store {
    Sqlite,
    Postgres,
}

impl Store {
    pub(crate) fn named(name: &str) -> Self {
        match name.trim() {
            "sqlite" => Self::Sqlite,
            "postgres" => Self::Postgres,
            other => panic!("STORES: unknown store {other}; use sqlite or postgres"),
        }
    }
}

/// A program that is restarted when it has ended.
#[derive(Debug)]
pub(crate) struct Program {
    setup: Arc<TestSetup>,
    service: &'static str,
    settings: Vec<String>,
    address: SocketAddr,
    process: Process,
    /// A fault prevents the restart.
    pub(crate) is_down: bool,
}

impl Program {
    async fn start(setup: Arc<TestSetup>, service: &'static str, settings: Vec<String>) -> Self {
        let server = Server::start_by(command(&setup, service, &settings, None)).await;
        Self {
            setup,
            service,
            settings,
            address: server.address,
            process: server.process,
            is_down: false,
        }
    }

    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends a signal, unless it has ended.
    pub(crate) fn signal(&mut self, signal: Signal) {
        if self.process.status().is_none() {
            self.process.signal(signal);
        }
    }

    /// Sets or removes a file size limit of 0, which acts like a full disk.
    pub(crate) fn limit_files(&mut self, full: bool) {
        if self.process.status().is_some() {
            return;
        }
        let id = i32::try_from(self.process.id()).expect("process numbers are small");
        let limit = Rlimit {
            current: full.then_some(0),
            maximum: None,
        };
        // Fails harmlessly if the program has just ended.
        let _ = prlimit(Pid::from_raw(id), Resource::Fsize, limit);
    }

    fn restart_if_ended(&mut self) {
        if !self.is_down && self.process.status().is_some() {
            let command = command(
                &self.setup,
                self.service,
                &self.settings,
                Some(self.address),
            );
            self.process = Process::start(command);
        }
    }

    async fn end(&mut self) {
        self.is_down = true;
        self.signal(Signal::CONT);
        self.signal(Signal::TERM);
        let ended = async {
            while self.process.status().is_none() {
                sleep(POLL_INTERVAL).await;
            }
        };
        if timeout(GRACE, ended).await.is_err() {
            self.process.kill();
        }
    }
}

fn command(
    setup: &TestSetup,
    service: &str,
    settings: &[String],
    address: Option<SocketAddr>,
) -> std::process::Command {
    let mut command = setup.command_with_file_size_limit(&format!("motorium-{service}"));
    command.arg(format!("--set=server.token={TOKEN}"));
    command.args(settings.iter().map(|setting| format!("--set={setting}")));
    if let Some(address) = address {
        command.arg(format!("--set={service}.listen={address}"));
    }
    command
}

/// Served perception of one desktop.
#[derive(Debug)]
pub(crate) struct PerceptionNode {
    eyes: Arc<SimulatedPerception>,
    address: SocketAddr,
    running: Option<RunningServer>,
}

impl PerceptionNode {
    async fn start(application: Arc<Application>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let mut sight = Self {
            eyes: Arc::new(SimulatedPerception::new(application)),
            address: listener.local_addr().expect("it is bound"),
            running: None,
        };
        sight.serve(listener).await;
        sight
    }

    async fn serve(&mut self, listener: TcpListener) {
        let config = ServerConfig {
            grace_period: Duration::ZERO,
            ..ServerConfig::loopback()
        };
        let service = PerceptionServer::tonic(self.eyes.clone());
        let server = Builder::new(config).service(service, FILE_DESCRIPTOR_SET);
        let running = server.start_on(listener, &Shutdown::new()).await;
        self.running = Some(running.expect("it serves"));
    }

    /// Stops the service: connections break and all frames are lost.
    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop().await.expect("it ends");
            self.eyes.forget();
        }
    }

    /// Restarts the service at the same address.
    pub(crate) async fn restart(&mut self) {
        if self.running.is_none() {
            let listener = listen_again(self.address).await;
            self.serve(listener).await;
        }
    }
}

/// Binds an address again. An outgoing connection may have been assigned the port meanwhile, so binding is retried.
async fn listen_again(address: SocketAddr) -> TcpListener {
    let bound = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => sleep(POLL_INTERVAL).await,
            }
        }
    };
    timeout(GRACE, bound).await.expect("the port is free again")
}

/// All participants of a run.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) orchestrators: Vec<Program>,
    pub(crate) executors: Vec<Program>,
    pub(crate) planner: Program,
    pub(crate) perceptions: Vec<PerceptionNode>,
    pub(crate) applications: Vec<Arc<Application>>,
    /// Proxies in front of the executors, one for each orchestrator.
    pub(crate) proxies: Vec<RequestProxy>,
    /// Copies of the journals of the executors.
    pub(crate) journals: Vec<JournalCopies>,
    /// Links that can have faults: to the services, to the database, and from users to the orchestrators.
    pub(crate) links: Vec<NetworkLink>,
    /// URLs of the orchestrators for users.
    pub(crate) user_urls: Vec<String>,
    pub(crate) database: Option<LocalPostgres>,
    stores: StoreSettings,
    data: PathBuf,
    _folder: TempDir,
}

/// Logs of a run.
#[derive(Debug)]
pub(crate) struct RunLogs {
    pub(crate) events: BTreeMap<String, Vec<RecordedEvent>>,
    pub(crate) applications: Vec<Arc<Application>>,
    pub(crate) late_deliveries: LateDeliveries,
}

impl Fleet {
    pub(crate) async fn start(scope: &RunOptions, store: Store) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let planner = Program::start(setup(), "planner", vec![]).await;
        let (mut executors, mut sights, mut applications) = (Vec::new(), Vec::new(), Vec::new());
        let (mut proxies, mut journals) = (Vec::new(), Vec::new());
        for number in 0..scope.desktops {
            let file = folder.path().join(format!("desktop{number}.jsonl"));
            let mut settings = vec![
                "executor.driver=recording".to_owned(),
                format!("executor.displays=[\"{DISPLAY}\"]"),
                format!("executor.recording.file={}", file.display()),
                format!("executor.recording.action_duration={ACTION_DURATION}"),
            ];
            if scope.soak.is_some() {
                settings.push(SOAK_JOURNAL.to_owned());
            }
            let setup = setup();
            journals.push(JournalCopies::of(&setup.data()));
            executors.push(Program::start(setup, "executor", settings).await);
            let application = Application::start(scope.seed, file);
            sights.push(PerceptionNode::start(application.clone()).await);
            applications.push(application);
        }
        let database = (store == Store::Postgres).then(LocalPostgres::start);
        let address = match &database {
            Some(server) => Some(server.database().await),
            None => None,
        };
        let count = database.as_ref().map_or(1, |_| ORCHESTRATORS);
        let (mut orchestrators, mut links, mut fronts) = (Vec::new(), Vec::new(), Vec::new());
        // One data folder, so that images are shared and tasks survive restarts.
        let shared = setup();
        for number in 0..count {
            let mut settings = vec![
                format!("orchestrator.name=orchestrator{number}"),
                format!("orchestrator.lease_duration={TASK_LEASE}"),
            ];
            if scope.soak.is_some() {
                settings.extend(SOAK_RETENTION.map(str::to_owned));
            }
            let planner = NetworkLink::to(planner.address).await;
            settings.push(format!("orchestrator.planner={}", planner.url()));
            links.push(planner);
            for (desktop, (executor, sight)) in executors.iter().zip(&sights).enumerate() {
                let desktop = format!("orchestrator.desktops.d{desktop}");
                let seed = scope.seed ^ (proxies.len() as u64 + 1);
                let proxy = RequestProxy::to(executor.address, seed).await;
                let (to_sight, to_executor) = (
                    NetworkLink::to(sight.address).await,
                    NetworkLink::to(proxy.address).await,
                );
                proxies.push(proxy);
                settings.push(format!("{desktop}.perception={}", to_sight.url()));
                settings.push(format!("{desktop}.executor={}", to_executor.url()));
                settings.push(format!("{desktop}.display={DISPLAY}"));
                links.extend([to_sight, to_executor]);
            }
            if let (Some(server), Some(address)) = (&database, &address) {
                let link = NetworkLink::to(([127, 0, 0, 1], server.port()).into()).await;
                let own = format!(":{}/", server.port());
                let linked = format!(":{}/", link.address().port());
                settings.push(format!("store.tasks={}", address.replace(&own, &linked)));
                links.push(link);
            }
            let orchestrator = Program::start(shared.clone(), "orchestrator", settings).await;
            let front = NetworkLink::to(orchestrator.address).await;
            fronts.push(front.url());
            links.push(front);
            orchestrators.push(orchestrator);
        }
        Self {
            orchestrators,
            executors,
            planner,
            perceptions: sights,
            applications,
            proxies,
            journals,
            links,
            user_urls: fronts,
            database,
            stores: StoreSettings {
                tasks: address.map(Into::into),
                ..StoreSettings::default()
            },
            data: shared.data(),
            _folder: folder,
        }
    }

    /// Copies the journals that are due for it.
    pub(crate) fn copy_journals(&mut self) {
        for (journal, application) in self.journals.iter_mut().zip(&self.applications) {
            journal.copy_if_due(application);
        }
    }

    /// Restarts programs that have ended by themselves.
    pub(crate) fn restart_ended(&mut self) {
        let all = self.orchestrators.iter_mut().chain(&mut self.executors);
        for program in all.chain([&mut self.planner]) {
            program.restart_if_ended();
        }
    }

    /// Returns the data folder of the orchestrators.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// Returns the data folder of the first executor. The others are alike.
    pub(crate) fn executor_data(&self) -> PathBuf {
        self.executors[0].setup.data()
    }

    /// Returns the processes of all programs with their names.
    pub(crate) fn processes(&self) -> Vec<(String, u32)> {
        let named = |(number, program): (usize, &Program)| {
            (format!("{}{number}", program.service), program.process.id())
        };
        let orchestrators = self.orchestrators.iter().enumerate();
        // Executors are alike.
        let executors = self.executors.iter().take(1).enumerate();
        let planner = std::iter::once((0, &self.planner));
        orchestrators
            .chain(executors)
            .chain(planner)
            .map(named)
            .collect()
    }

    /// Returns the number of actions that a desktop has received more than once.
    pub(crate) fn repeated_actions(&self) -> usize {
        let received = self
            .applications
            .iter()
            .flat_map(|application| application.received());
        let mut seen = BTreeSet::new();
        received
            .filter_map(|input| input.action_id)
            .filter(|id| !seen.insert(id.clone()))
            .count()
    }

    /// Ends all programs.
    pub(crate) async fn stop(&mut self) {
        for program in self.orchestrators.iter_mut().chain(&mut self.executors) {
            program.end().await;
        }
        self.planner.end().await;
        for sight in &mut self.perceptions {
            sight.stop().await;
        }
    }

    /// Ends all programs and reads the event logs of these tasks.
    pub(crate) async fn end(mut self, ids: impl Iterator<Item = String>) -> RunLogs {
        self.stop().await;
        let storage = self.stores.open(&self.data, AuditLog::off()).await;
        let storage = storage.expect("the store opens");
        let mut events = BTreeMap::new();
        for id in ids {
            let name = TaskName::from_segment(&id).expect("a plain name");
            events.insert(id, read_log(&*storage.tasks, &name).await);
        }
        let mut late_deliveries = LateDeliveries::default();
        for proxy in &self.proxies {
            late_deliveries.add(proxy.late_deliveries());
        }
        RunLogs {
            events,
            applications: self.applications,
            late_deliveries,
        }
    }
}

fn setup() -> Arc<TestSetup> {
    Arc::new(TestSetup::without_display())
}

async fn read_log(store: &dyn TaskStore, name: &TaskName) -> Vec<RecordedEvent> {
    let mut log: Vec<RecordedEvent> = Vec::new();
    loop {
        let after = log.last().map_or(EventSeq(0), |event| event.seq);
        let rows = store.events(name, after, BATCH).await;
        let rows = rows.expect("the store is readable");
        let count = rows.len();
        for row in rows {
            let mut event = wire::Event::decode(row.body).expect("the event is valid");
            event.sequence = row.seq.0;
            log.push(RecordedEvent::try_from(event).expect("the event is valid"));
        }
        if count < BATCH as usize {
            return log;
        }
    }
}
