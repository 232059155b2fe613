//! Runs tasks: the loop, its events and its state.
//!
//! - [`functions`]: user-provided functions and the tools that serve them
//! - [`hooks`]: extension points at which third parties observe, amend or deny what a task does
//! - [`run`]: runs one task and finds the next one
//! - [`desktops`]: the pool of desktops
//! - [`edge`]: the gRPC service
//! - [`screens`]: screens of running tasks, for those who may see the tasks
//! - [`operators`]: channels for the input of people who have taken tasks over
//! - [`queue`]: why a task has not started
//! - `settle_copy`: settles the tasks of a store that was restored from a backup
//! - [`retention`]: deletes what is too old, and files that no task uses
//! - `sessions`: what a task knows of the earlier tasks of its session
//! - [`instance`]: the owner id of this process
//! - `audit`: which calls and events are audited
//! - [`replay`]: runs a task again from its recording
//!
//! It never handles pixels, never moves the mouse and never calls a model: the services that do are behind traits. It
//! alone writes the store.
//!
//! Invariant: an action is performed only after its intent is stored, and at most once.

mod audit;
mod backoff;
pub mod config;
pub mod desktops;
pub mod edge;
mod error;
pub mod functions;
pub mod hooks;
pub mod instance;
pub mod operators;
pub mod queue;
pub mod replay;
pub mod retention;
pub mod run;
pub mod screens;
mod sessions;
mod settle_copy;
pub mod storage;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use motorium_kit::server::Builder;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::limits::HEARTBEAT_INTERVAL;
use motorium_proto::v1::orchestrator::orchestrator_service_server::SERVICE_NAME;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use config::{Config, Settings};
use desktops::task_files::TaskFiles;
use desktops::{DesktopPool, probe};
use edge::{CallSlots, Edge, PolicySettings, WatchSlots};
pub use error::{Error, reason};
use instance::Instance;
use motorium_proto::domain::id::TaskName;
use motorium_store::audit::AuditLog;
use operators::Operators;
use queue::TaskScope;
use retention::Sweeper;
use run::Dispatcher;
use screens::Screens;
use storage::Storage;

/// An orchestrator: the gRPC service and the dispatcher that runs tasks.
#[derive(Debug)]
pub struct Orchestrator {
    edge: Edge,
    dispatcher: Dispatcher,
    sweeper: Sweeper,
    /// Interval between reachability probes of idle desktops.
    desktop_probe_interval: Duration,
    shutdown: Shutdown,
}

/// Reason why an orchestrator cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the id of this orchestrator cannot be read or written in {}: {error}", data.display())]
    Instance { data: PathBuf, error: io::Error },
    #[error(transparent)]
    Store(#[from] motorium_store::Error),
}

impl Orchestrator {
    /// Opens the stores, with the folder `data` for those without a configured URL, and takes up what they have
    /// ([`Orchestrator::resume`]). Its tasks are owned by the id of this process.
    ///
    /// # Errors
    /// If the folder or a store cannot be used.
    pub async fn open(
        config: &Config,
        stores: storage::Settings,
        data: &Path,
        audit: AuditLog,
        desktops: DesktopPool,
        shutdown: &Shutdown,
    ) -> Result<Self, OpenError> {
        let instance = Instance::take(data, &config.name);
        let instance = instance.map_err(|error| OpenError::Instance {
            data: data.to_owned(),
            error,
        })?;
        let storage = Storage {
            instance: Some(Arc::new(instance)),
            ..stores.open(data, audit).await?
        };
        Self::resume(config, storage, desktops, shutdown).await
    }

    /// Creates an orchestrator that takes up what the stores have: it settles the tasks of a store that was restored from a
    /// backup, and adds the registered desktops to the pool.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub async fn resume(
        config: &Config,
        storage: Storage,
        desktops: DesktopPool,
        shutdown: &Shutdown,
    ) -> Result<Self, OpenError> {
        let tasks = storage.tasks.as_ref();
        settle_copy::settle(tasks).await?;
        desktops
            .sync_with_store(tasks, &config.registration)
            .await?;
        Ok(Self::new(config, storage, desktops, shutdown))
    }

    /// Creates an orchestrator on a store and a pool of desktops. It runs tasks once [`Orchestrator::start`] is called.
    pub fn new(
        config: &Config,
        storage: Storage,
        desktops: DesktopPool,
        shutdown: &Shutdown,
    ) -> Self {
        let Storage {
            tasks: store,
            blobs,
            notifier,
            audit,
            instance,
        } = storage;
        let wake = Arc::new(Notify::new());
        let operators = Operators::default();
        let screens = Screens::default();
        let owner = instance
            .as_ref()
            .map_or(config.name.as_str(), |instance| instance.owner())
            .to_owned();
        let edge = Edge {
            owner: owner.clone(),
            store: store.clone(),
            blobs: blobs.clone(),
            notifier: notifier.clone(),
            desktops: desktops.clone(),
            registration: config.registration.clone(),
            wake_dispatcher: wake.clone(),
            limits: config.limits,
            tools: config.run.tools.clone(),
            policy: PolicySettings::of(&config.run),
            shutdown: shutdown.clone(),
            heartbeat: HEARTBEAT_INTERVAL,
            scope: TaskScope::All,
            audit: audit.clone(),
            uploads: CallSlots::for_uploads(),
            exports: CallSlots::for_exports(),
            watches: WatchSlots::default(),
            operators: operators.clone(),
            screens: screens.clone(),
        };
        let sweeper = Sweeper {
            store: store.clone(),
            blobs: blobs.clone(),
            notifier: notifier.clone(),
            desktops: desktops.clone(),
            policy: config.retention.clone(),
            audit: audit.clone(),
        };
        let dispatcher = Dispatcher {
            store,
            blobs,
            notifier,
            desktops,
            registration: config.registration.clone(),
            owner,
            instance,
            wake,
            run_config: config.run.clone(),
            lease_duration: config.lease_duration,
            scope: TaskScope::All,
            audit,
            operators,
            screens,
        };
        Self {
            edge,
            dispatcher,
            sweeper,
            desktop_probe_interval: config.desktop_probe_interval,
            shutdown: shutdown.clone(),
        }
    }

    /// Appends a hook to the configured hooks.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn hooks::Hook>) -> Self {
        self.dispatcher.run_config.hooks.push(hook);
        self
    }

    /// Restricts the orchestrator to one task, which may not exist yet. It leaves all others as they are.
    #[must_use]
    pub fn only(mut self, task: TaskName) -> Self {
        let scope = TaskScope::Only(task);
        self.edge.scope = scope.clone();
        self.dispatcher.scope = scope;
        self
    }

    /// Returns the gRPC service.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge.clone()
    }

    /// Adds the gRPC service and its health check to a server.
    #[must_use]
    pub fn mount(&self, server: Builder) -> Builder {
        let edge = self.edge();
        server
            .service(edge.clone().tonic(), FILE_DESCRIPTOR_SET)
            .check(SERVICE_NAME, Arc::new(edge))
    }

    /// Starts running tasks until the shutdown passed to [`Orchestrator::new`] begins. The handle completes when all
    /// tasks are released.
    pub fn start(self) -> JoinHandle<()> {
        let (desktops, wake) = (
            self.dispatcher.desktops.clone(),
            self.dispatcher.wake.clone(),
        );
        let files = TaskFiles {
            store: self.dispatcher.store.clone(),
            desktops: desktops.clone(),
        };
        let recovered = Arc::new(Notify::new());
        tokio::spawn(files.retry_until(recovered.clone(), self.shutdown.clone()));
        let rules = self.dispatcher.run_config.policy.clone();
        tokio::spawn(rules.watch(self.shutdown.clone()));
        tokio::spawn(self.sweeper.run(self.shutdown.clone()));
        let on_recovery = move || {
            wake.notify_one();
            recovered.notify_one();
        };
        tokio::spawn(probe::run(
            desktops,
            self.desktop_probe_interval,
            on_recovery,
            self.shutdown.clone(),
        ));
        tokio::spawn(self.dispatcher.run(self.shutdown))
    }
}
