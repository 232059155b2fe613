//! Everything that takes part: the programs, the eyes, the database, and the links between them.
//!
//! Whatever has ended and was not ended for good is started again, as a supervisor does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::server::{Builder, Config as ServerConfig, Running};
use motorium_kit::shutdown::Shutdown;
use motorium_orchestrator::storage::Settings as StoreSettings;
use motorium_orchestrator::task::Recorded;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::service::PerceptionServer;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::TaskStore;
use motorium_store::local_postgres::LocalPostgres;
use motorium_tests::programs::Process;
use motorium_tests::services::{Server, Setup};
use prost::Message as _;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde::Serialize;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use crate::Scope;
use crate::application::Application;
use crate::eyes::{DISPLAY, Eyes};
use crate::link::Link;

/// How long a task waits for another orchestrator after its own has died.
const LEASE: &str = "3s";
/// What an action takes on a desktop.
const PACE: &str = "60ms";
/// Orchestrators on one database.
const ORCHESTRATORS: usize = 2;
/// Programs that are told to end do so within this time.
const GRACE: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Events read at once.
const BATCH: u32 = 1000;

/// Where tasks are kept.
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
            other => panic!("STORES: there is no store {other}; there are sqlite and postgres"),
        }
    }
}

/// A program that is started again when it has ended.
#[derive(Debug)]
pub(crate) struct Program {
    setup: Arc<Setup>,
    service: &'static str,
    settings: Vec<String>,
    address: SocketAddr,
    process: Process,
    /// It is not started again until this is taken back.
    pub(crate) is_down: bool,
}

impl Program {
    async fn start(setup: Arc<Setup>, service: &'static str, settings: Vec<String>) -> Self {
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

    /// No file that it writes may grow, or everything may be as it was.
    pub(crate) fn limit_files(&mut self, full: bool) {
        if self.process.status().is_some() {
            return;
        }
        let id = i32::try_from(self.process.id()).expect("process numbers are small");
        let limit = Rlimit {
            current: full.then_some(0),
            maximum: None,
        };
        // It may end at any moment; then there is nothing to be limited.
        let _ = prlimit(Pid::from_raw(id), Resource::Fsize, limit);
    }

    fn revive(&mut self) {
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
                sleep(LOOK_AGAIN).await;
            }
        };
        if timeout(GRACE, ended).await.is_err() {
            self.process.kill();
        }
    }
}

fn command(
    setup: &Setup,
    service: &str,
    settings: &[String],
    address: Option<SocketAddr>,
) -> std::process::Command {
    let mut command = setup.command_on_a_small_disk(&format!("motorium-{service}"));
    command.args(settings.iter().map(|setting| format!("--set={setting}")));
    if let Some(address) = address {
        command.arg(format!("--set={service}.listen={address}"));
    }
    command
}

/// The eyes of one desktop, served.
#[derive(Debug)]
pub(crate) struct Sight {
    eyes: Arc<Eyes>,
    address: SocketAddr,
    running: Option<Running>,
}

impl Sight {
    async fn start(application: Arc<Application>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let mut sight = Self {
            eyes: Arc::new(Eyes::new(application)),
            address: listener.local_addr().expect("it is bound"),
            running: None,
        };
        sight.serve(listener).await;
        sight
    }

    async fn serve(&mut self, listener: TcpListener) {
        let config = ServerConfig {
            grace: Duration::ZERO,
            ..ServerConfig::loopback()
        };
        let service = PerceptionServer::tonic(self.eyes.clone());
        let server = Builder::new(config).service(service, FILE_DESCRIPTOR_SET);
        let running = server.start_on(listener, &Shutdown::new()).await;
        self.running = Some(running.expect("it serves"));
    }

    /// Ends it: connections break, and what it remembered is lost.
    pub(crate) async fn go_away(&mut self) {
        if let Some(running) = self.running.take() {
            running.end().await.expect("it ends");
            self.eyes.forget();
        }
    }

    /// Serves again, at the same address.
    pub(crate) async fn come_back(&mut self) {
        if self.running.is_none() {
            let listener = listen_again(self.address).await;
            self.serve(listener).await;
        }
    }
}

/// Listens where somebody listened before. A connection to elsewhere may have been given the port meanwhile; it ends.
async fn listen_again(address: SocketAddr) -> TcpListener {
    let bound = async {
        loop {
            match TcpListener::bind(address).await {
                Ok(listener) => return listener,
                Err(_) => sleep(LOOK_AGAIN).await,
            }
        }
    };
    timeout(GRACE, bound).await.expect("the port is free again")
}

/// Everything that takes part.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) orchestrators: Vec<Program>,
    pub(crate) executors: Vec<Program>,
    pub(crate) planner: Program,
    pub(crate) sights: Vec<Sight>,
    pub(crate) applications: Vec<Arc<Application>>,
    /// Those that may break: to the services, to the database, and from users to the orchestrators.
    pub(crate) links: Vec<Link>,
    /// Where users reach the orchestrators.
    pub(crate) fronts: Vec<String>,
    pub(crate) database: Option<LocalPostgres>,
    stores: StoreSettings,
    data: PathBuf,
    _folder: TempDir,
}

/// What is left of a run.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) events: BTreeMap<String, Vec<Recorded>>,
    pub(crate) applications: Vec<Arc<Application>>,
}

impl Fleet {
    pub(crate) async fn start(scope: Scope, store: Store) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let planner = Program::start(setup(), "planner", vec![]).await;
        let (mut executors, mut sights, mut applications) = (Vec::new(), Vec::new(), Vec::new());
        for number in 0..scope.desktops {
            let file = folder.path().join(format!("desktop{number}.jsonl"));
            let settings = vec![
                "executor.driver=recording".to_owned(),
                format!("executor.displays=[\"{DISPLAY}\"]"),
                format!("executor.recording.file={}", file.display()),
                format!("executor.recording.pace={PACE}"),
            ];
            executors.push(Program::start(setup(), "executor", settings).await);
            let application = Application::start(scope.seed, file);
            sights.push(Sight::start(application.clone()).await);
            applications.push(application);
        }
        let database = (store == Store::Postgres).then(LocalPostgres::start);
        let address = match &database {
            Some(server) => Some(server.database().await),
            None => None,
        };
        let count = database.as_ref().map_or(1, |_| ORCHESTRATORS);
        let (mut orchestrators, mut links, mut fronts) = (Vec::new(), Vec::new(), Vec::new());
        // One data folder, so that pictures are shared and a restart finds its tasks.
        let shared = setup();
        for number in 0..count {
            let mut settings = vec![
                format!("orchestrator.name=orchestrator{number}"),
                format!("orchestrator.lease={LEASE}"),
            ];
            let planner = Link::to(planner.address).await;
            settings.push(format!("orchestrator.planner={}", planner.url()));
            links.push(planner);
            for (desktop, (executor, sight)) in executors.iter().zip(&sights).enumerate() {
                let desktop = format!("orchestrator.desktops.d{desktop}");
                let (to_sight, to_executor) = (
                    Link::to(sight.address).await,
                    Link::to(executor.address).await,
                );
                settings.push(format!("{desktop}.perception={}", to_sight.url()));
                settings.push(format!("{desktop}.executor={}", to_executor.url()));
                settings.push(format!("{desktop}.display={DISPLAY}"));
                links.extend([to_sight, to_executor]);
            }
            if let (Some(server), Some(address)) = (&database, &address) {
                let link = Link::to(([127, 0, 0, 1], server.port()).into()).await;
                let own = format!(":{}/", server.port());
                let linked = format!(":{}/", link.address().port());
                settings.push(format!("store.tasks={}", address.replace(&own, &linked)));
                links.push(link);
            }
            let orchestrator = Program::start(shared.clone(), "orchestrator", settings).await;
            let front = Link::to(orchestrator.address).await;
            fronts.push(front.url());
            links.push(front);
            orchestrators.push(orchestrator);
        }
        Self {
            orchestrators,
            executors,
            planner,
            sights,
            applications,
            links,
            fronts,
            database,
            stores: StoreSettings {
                tasks: address.map(Into::into),
                ..StoreSettings::default()
            },
            data: shared.data(),
            _folder: folder,
        }
    }

    /// Starts what has ended by itself.
    pub(crate) fn revive(&mut self) {
        let all = self.orchestrators.iter_mut().chain(&mut self.executors);
        for program in all.chain([&mut self.planner]) {
            program.revive();
        }
    }

    /// Ends everything, and reads what is left of these tasks.
    pub(crate) async fn end(mut self, ids: impl Iterator<Item = String>) -> Logs {
        for program in self.orchestrators.iter_mut().chain(&mut self.executors) {
            program.end().await;
        }
        self.planner.end().await;
        for sight in &mut self.sights {
            sight.go_away().await;
        }
        let storage = self.stores.open(&self.data).await.expect("it was open");
        let mut events = BTreeMap::new();
        for id in ids {
            let name = TaskName::from_segment(&id).expect("a plain name");
            events.insert(id, read_log(&*storage.tasks, &name).await);
        }
        Logs {
            events,
            applications: self.applications,
        }
    }
}

fn setup() -> Arc<Setup> {
    Arc::new(Setup::without_display())
}

async fn read_log(store: &dyn TaskStore, name: &TaskName) -> Vec<Recorded> {
    let mut log: Vec<Recorded> = Vec::new();
    loop {
        let after = log.last().map_or(EventSeq(0), |event| event.seq);
        let rows = store.events(name, after, BATCH).await;
        let rows = rows.expect("it can be read");
        let count = rows.len();
        for row in rows {
            let mut event = wire::Event::decode(row.body).expect("an orchestrator wrote it");
            event.sequence = row.seq.0;
            log.push(Recorded::try_from(event).expect("an orchestrator wrote it"));
        }
        if count < BATCH as usize {
            return log;
        }
    }
}
