//! What others have a say in: one ordered chain of hooks, asked at typed points in the course of a task.
//!
//! - [`happening`]: the points, what is told at each, and what may be changed there
//! - [`chain`]: asking one hook after the other, contained and bounded
//! - [`image_retention`], [`redaction`], [`ledger`], [`audit`], [`trajectory`]: hooks that come with Motorium
//! - [`service`]: a hook in another process
//! - [`settings`]: the chain as configuration has it
//!
//! A hook can deny, and change what its point allows; it can do nothing else to a task. Not here: hard limits
//! ([`crate::task::machine`]), rules and approvals ([`crate::policy`]).
//!
//! Invariant: at a point that no hook wants nothing is put together, copied or awaited.

pub mod audit;
pub mod chain;
pub mod happening;
pub mod image_retention;
pub mod ledger;
pub mod redaction;
pub mod service;
pub mod settings;
pub mod trajectory;
mod wire_form;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use motorium_proto::domain::id::TaskName;
use motorium_store::{BlobStore, TaskStore};
use serde::{Deserialize, Serialize};

pub use chain::{Chain, Denial, Intervention, Passage};
pub use happening::{Amendment, Happening, ModelCallAmendment, Point, Points};

use crate::log;
use crate::task::Task;
use crate::task::event::Recorded;
use crate::trajectory::Trajectory;

/// How long a hook may take, if nothing else is said.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// Something that wants a say in tasks.
///
/// It is called for many tasks at a time. What it awaits may be dropped at any moment, because people who stop a task
/// wait for nobody; it must not block its thread.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// For people and for logs.
    fn name(&self) -> &str;

    /// Where it wants to be called. Asked when a task begins or is carried on, and again after [`Error::Unreachable`].
    ///
    /// # Errors
    /// If that cannot be found out.
    async fn points(&self) -> Result<Points, Error>;

    /// Something is about to happen, or has happened.
    ///
    /// # Errors
    /// If it has nothing to say because something went wrong; then [`Hook::on_error`] says what follows.
    async fn call(
        &self,
        context: &Context<'_>,
        happening: &Happening<'_>,
    ) -> Result<Verdict, Error>;

    /// Something was denied or changed, or could not be asked for. Called for every hook of the chain.
    async fn noticed(&self, _: &Context<'_>, _: &Intervention) {}

    /// What follows if it fails or gives no answer in time.
    fn on_error(&self) -> OnError {
        OnError::Deny
    }

    /// How long it may take.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }

    /// Whether what it changes is an event of the task. What the configuration says once need not be said at each step.
    fn is_noted(&self) -> bool {
        true
    }
}

impl fmt::Debug for dyn Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hook").field(&self.name()).finish()
    }
}

/// What a hook says.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Continue,
    /// It shall not happen.
    Deny {
        /// For the user and the model.
        reason: String,
    },
    /// It shall happen otherwise.
    Amend(Amendment),
}

/// What follows if a hook fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// As if it had denied.
    #[default]
    Deny,
    /// As if it had nothing to say.
    Continue,
}

/// Why a hook has nothing to say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody is there. Once somebody is again, their points are asked for anew.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it failed: {0}")]
    Failed(String),
    #[error("it gave no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    #[error("it panicked: {0}")]
    Panicked(String),
    /// What it wants to change cannot be changed at this point, or not so.
    #[error("what it wants to change does not fit {}: {problem}", .point.as_str())]
    Misfit { point: Point, problem: String },
}

/// Around what happens.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The same for the same happening. An action that is gone on with after a crash is the same; a look at the screen
    /// or a call of a model is a new one.
    pub call: &'a str,
    /// 0 for none.
    pub step: u32,
    /// As it is now.
    pub task: &'a Task,
}

/// Where everything of a task can be read: for what is made of it when it has ended, such as a trajectory.
#[derive(Clone)]
pub struct Archive {
    store: Arc<dyn TaskStore>,
    /// Pictures and files, by the sha256 that events name.
    pub blobs: BlobStore,
}

impl Archive {
    pub(crate) fn new(store: Arc<dyn TaskStore>, blobs: BlobStore) -> Self {
        Self { store, blobs }
    }

    /// All events of a task, in order.
    ///
    /// # Errors
    /// If the store cannot be read, or the log is of another version.
    pub async fn events(&self, task: &TaskName) -> Result<Vec<Recorded>, crate::Error> {
        let beginning = motorium_proto::domain::id::EventSeq(0);
        log::read(self.store.as_ref(), task, beginning).await
    }

    /// Everything about a task, to be written somewhere.
    ///
    /// # Errors
    /// If the store cannot be read, or the log is of another version.
    pub async fn trajectory(&self, task: &TaskName) -> Result<Trajectory, crate::Error> {
        Trajectory::gather(self.store.as_ref(), self.blobs.clone(), task).await
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").finish_non_exhaustive()
    }
}
