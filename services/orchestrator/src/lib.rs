//! Runs tasks: the loop, its events and its state.
//!
//! - [`functions`]: user-provided functions and the tools that serve them
//! - [`hooks`]: extension points at which third parties observe, amend or deny what a task does
//! - [`run`]: runs one task and finds the next one
//! - [`desktops`]: the pool of desktops
//! - [`edge`]: the gRPC service
//! - [`queue`]: why a task has not started
//! - `restored`: settles the tasks of a store that was restored from a backup
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
pub mod queue;
pub mod replay;
mod restored;
pub mod retention;
pub mod run;
mod sessions;
pub mod storage;

use std::sync::Arc;
use std::time::Duration;

use motorium_kit::shutdown::Shutdown;
use motorium_proto::limits::HEARTBEAT_INTERVAL;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use config::{Config, Settings};
use desktops::{DesktopPool, heartbeat};
use edge::Edge;
pub use error::{Error, reason};
use instance::Instance;
use motorium_proto::domain::id::TaskName;
use motorium_store::audit::AuditLog;
use queue::TaskScope;
use retention::Sweeper;
use run::Dispatcher;
use storage::Storage;

/// An orchestrator: the gRPC service and the dispatcher that runs tasks.
#[derive(Debug)]
pub struct Orchestrator {
    edge: Edge,
    dispatcher: Dispatcher,
    sweeper: Sweeper,
    /// Interval between reachability probes of idle desktops.
    heartbeat_interval: Duration,
    shutdown: Shutdown,
}

impl Orchestrator {
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
        } = storage;
        let wake = Arc::new(Notify::new());
        let edge = Edge {
            store: store.clone(),
            blobs: blobs.clone(),
            notifier: notifier.clone(),
            desktops: desktops.clone(),
            registration: config.registration.clone(),
            wake_dispatcher: wake.clone(),
            limits: config.limits,
            tools: config.run.tools.clone(),
            shutdown: shutdown.clone(),
            heartbeat: HEARTBEAT_INTERVAL,
            scope: TaskScope::All,
            audit: AuditLog::off(),
        };
        let sweeper = Sweeper {
            store: store.clone(),
            blobs: blobs.clone(),
            notifier: notifier.clone(),
            policy: config.retention.clone(),
            audit: AuditLog::off(),
        };
        let owner = config.name.clone();
        let dispatcher = Dispatcher {
            store,
            blobs,
            notifier,
            desktops,
            registration: config.registration.clone(),
            owner,
            instance: None,
            wake,
            run_config: config.run.clone(),
            lease_duration: config.lease_duration,
            scope: TaskScope::All,
            audit: AuditLog::off(),
        };
        Self {
            edge,
            dispatcher,
            sweeper,
            heartbeat_interval: config.heartbeat_interval,
            shutdown: shutdown.clone(),
        }
    }

    /// Appends a hook to the configured hooks.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn hooks::Hook>) -> Self {
        self.dispatcher.run_config.hooks.push(hook);
        self
    }

    /// Owns tasks by the id of this process instead of by its configured name.
    #[must_use]
    pub fn with_instance(mut self, instance: Instance) -> Self {
        instance.owner().clone_into(&mut self.dispatcher.owner);
        self.dispatcher.instance = Some(Arc::new(instance));
        self
    }

    /// Records calls, actions and approvals in this log.
    #[must_use]
    pub fn with_audit(mut self, audit: AuditLog) -> Self {
        self.edge.audit = audit.clone();
        self.sweeper.audit = audit.clone();
        self.dispatcher.audit = audit;
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

    /// Starts running tasks until the shutdown passed to [`Orchestrator::new`] begins. The handle completes when all
    /// tasks are released.
    pub fn start(self) -> JoinHandle<()> {
        let (desktops, wake) = (
            self.dispatcher.desktops.clone(),
            self.dispatcher.wake.clone(),
        );
        let rules = self.dispatcher.run_config.policy.clone();
        tokio::spawn(rules.watch(self.shutdown.clone()));
        tokio::spawn(self.sweeper.run(self.shutdown.clone()));
        let on_recovery = move || wake.notify_one();
        tokio::spawn(heartbeat::run(
            desktops,
            self.heartbeat_interval,
            on_recovery,
            self.shutdown.clone(),
        ));
        tokio::spawn(self.dispatcher.run(self.shutdown))
    }
}
