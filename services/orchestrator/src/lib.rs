//! Carries a task through: the loop, its events, its state.
//!
//! - [`task`]: a task as data and the pure machine that says what comes next
//! - [`effect`]: judging what an action did
//! - [`functions`]: functions that users bring, and how they are called
//! - [`policy`]: what may be done, and what a person is asked about first
//! - [`hooks`]: what others have a say in
//! - [`run`]: carrying one task out, and finding the next one
//! - [`desktops`]: the pool of desktops
//! - [`edge`]: the service as the contract has it
//! - `recording`: what a run asks and is answered, kept with its steps
//! - [`replay`]: a task, carried out again from its record
//! - [`trajectory`]: a task as files, for people and for programs
//!
//! It never sees a pixel, never moves the mouse and never speaks to a model: the services that do are behind traits.
//! It alone writes the store. Invariant: an action is performed only after its intent is stored, and never twice.

pub mod config;
pub mod desktops;
pub mod edge;
pub mod effect;
mod error;
pub mod functions;
pub mod hooks;
mod log;
pub mod policy;
mod recording;
pub mod replay;
pub mod run;
pub mod storage;
pub mod task;
pub mod trajectory;

use std::sync::Arc;
use std::time::Duration;

use motorium_kit::shutdown::Shutdown;
use motorium_proto::limits::HEARTBEAT_INTERVAL;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub use config::{Config, Settings};
use desktops::{Desktops, heartbeat};
use edge::Edge;
pub use error::{Error, reason};
use run::Dispatcher;
use storage::Storage;

/// An orchestrator: what serves, and what works.
#[derive(Debug)]
pub struct Orchestrator {
    edge: Edge,
    dispatcher: Dispatcher,
    /// How often desktops are asked whether they are there.
    heartbeat: Duration,
    shutdown: Shutdown,
}

impl Orchestrator {
    /// An orchestrator on a store, with a pool of desktops. It works once [`Orchestrator::start`] is called.
    pub fn new(config: &Config, storage: Storage, desktops: Desktops, shutdown: &Shutdown) -> Self {
        let Storage {
            tasks: store,
            blobs,
            doorbell,
        } = storage;
        let news = Arc::new(Notify::new());
        let edge = Edge {
            store: store.clone(),
            blobs: blobs.clone(),
            doorbell: doorbell.clone(),
            desktops: desktops.clone(),
            news: news.clone(),
            limits: config.limits,
            tools: config.conduct.tools.clone(),
            shutdown: shutdown.clone(),
            heartbeat: HEARTBEAT_INTERVAL,
        };
        let owner = config.name.clone();
        let dispatcher = Dispatcher {
            store,
            blobs,
            doorbell,
            desktops,
            owner,
            news,
            conduct: config.conduct.clone(),
            lease: config.lease,
        };
        Self {
            edge,
            dispatcher,
            heartbeat: config.heartbeat,
            shutdown: shutdown.clone(),
        }
    }

    /// Asks this hook too, after those of the configuration.
    #[must_use]
    pub fn with_hook(mut self, hook: Arc<dyn hooks::Hook>) -> Self {
        self.dispatcher.conduct.hooks.push(hook);
        self
    }

    /// What serves the contract.
    #[must_use]
    pub fn edge(&self) -> Edge {
        self.edge.clone()
    }

    /// Begins to carry tasks out, until the shutdown it was made with. The handle ends when all tasks are let go.
    pub fn start(self) -> JoinHandle<()> {
        let (desktops, news) = (
            self.dispatcher.desktops.clone(),
            self.dispatcher.news.clone(),
        );
        let rules = self.dispatcher.conduct.rules.clone();
        tokio::spawn(rules.follow(self.shutdown.clone()));
        let news = move || news.notify_one();
        tokio::spawn(heartbeat::run(
            desktops,
            self.heartbeat,
            news,
            self.shutdown.clone(),
        ));
        tokio::spawn(self.dispatcher.run(self.shutdown))
    }
}
