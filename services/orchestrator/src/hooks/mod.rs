//! Hooks: an ordered chain of extensions, called at typed points of a task.
//!
//! - [`event`]: the points, the data passed at each and what may be amended there
//! - [`chain`]: calls the hooks in order, with timeouts and panic isolation
//! - [`image_retention`], [`redaction`], [`budget`], [`activity_log`], [`trajectory`]: built-in hooks
//! - [`service`]: a hook in another process, called over gRPC
//! - [`settings`]: the configuration of the chain
//!
//! A hook can deny an event and amend what its point allows; it can do nothing else to a task. Not here: hard limits
//! ([`motorium_task::machine`]), policy and approvals ([`motorium_policy`]).
//!
//! Invariant: at a point that no hook subscribes to, nothing is built, copied or awaited.

pub mod activity_log;
pub mod budget;
pub mod chain;
pub mod event;
pub mod image_retention;
mod messages;
pub(crate) mod recorded;
pub mod redaction;
pub mod service;
pub mod settings;
pub mod trajectory;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use motorium_messages::{Language, Message, join_list};
use motorium_proto::domain::id::TaskName;
use motorium_store::{BlobStore, TaskStore};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use chain::{HookChain, HookChainOutcome, HookDenial, HookIntervention};
pub use event::{Amendment, HookEvent, HookPoint, HookPoints, ModelCallAmendment};

use motorium_recording::log;
use motorium_recording::trajectory::Trajectory;
use motorium_task::Task;
use motorium_task::event::RecordedEvent;

/// Default timeout of a hook call.
// Long enough for a service that asks a database; the task waits for every call.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// An extension that observes, amends or denies events of tasks.
///
/// Hooks are called for many tasks concurrently. Their futures may be dropped at any await point, because stopping a
/// task does not wait for hooks. They must not block their thread.
#[async_trait]
pub trait Hook: Send + Sync + 'static {
    /// Name shown to users and in logs.
    fn name(&self) -> &str;

    /// Returns the points at which the hook wants to be called. Called when a task starts or resumes, and again after
    /// [`Error::Unreachable`].
    ///
    /// # Errors
    /// If the points cannot be determined.
    async fn points(&self) -> Result<HookPoints, Error>;

    /// Handles an event that is about to happen or has happened.
    ///
    /// # Errors
    /// If the hook fails; [`Hook::on_error`] then decides what follows.
    async fn call(
        &self,
        context: &HookContext<'_>,
        hook_event: &HookEvent<'_>,
    ) -> Result<HookVerdict, Error>;

    /// Called on every hook of the chain after any hook denied or amended an event, or failed.
    async fn on_intervention(&self, _: &HookContext<'_>, _: &HookIntervention) {}

    /// Returns how a failure or timeout of the hook is treated.
    fn on_error(&self) -> HookErrorPolicy {
        HookErrorPolicy::Deny
    }

    /// Returns the timeout of one call.
    fn timeout(&self) -> Duration {
        DEFAULT_TIMEOUT
    }

    /// Returns whether its amendments are recorded as events of the task. Hooks that apply a fixed configuration return
    /// false, because repeating it at each step adds nothing.
    fn records_amendments(&self) -> bool {
        true
    }
}

impl fmt::Debug for dyn Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hook").field(&self.name()).finish()
    }
}

/// Decision of a hook.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict {
    Continue,
    /// Deny the event.
    Deny {
        /// Reason shown to the user and the model, in the hook's own words. May be empty.
        reason: String,
    },
    /// Amend the event.
    Amend(Amendment),
}

/// Treatment of a failed hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookErrorPolicy {
    /// Denies the event.
    #[default]
    Deny,
    /// Continues without the hook.
    Continue,
}

/// Error of a hook. Displayed in English, for logs; [`Error::text`] is for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The hook cannot be reached. Its points are requested again once it can.
    Unreachable(String),
    Failed(String),
    TimedOut(Duration),
    /// The message is empty if the panic had none.
    Panicked(String),
    /// The hook subscribes to a point that does not exist.
    UnknownPoint(i32),
    /// These parts of an event cannot be amended at this point.
    MisplacedAmendment {
        point: HookPoint,
        fields: Vec<&'static str>,
    },
    /// The value of an amendment is invalid.
    InvalidAmendment {
        point: HookPoint,
        problem: String,
    },
}

impl Error {
    /// Returns the message in this language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let message = match self {
            Error::Unreachable(problem) => Message::HookUnreachable { problem },
            Error::Failed(problem) => Message::HookCallFailed { problem },
            Error::TimedOut(timeout) => {
                let milliseconds = &timeout.as_millis().to_string();
                return Message::HookTimedOut { milliseconds }.text(language);
            }
            Error::Panicked(detail) if detail.is_empty() => Message::HookPanicked,
            Error::Panicked(detail) => {
                let text = &Message::HookPanicked.text(language);
                return Message::WithDetail { text, detail }.text(language);
            }
            Error::UnknownPoint(number) => Message::HookPointUnknown { number: *number },
            Error::MisplacedAmendment { point, fields } => {
                let (point, fields) = (point.as_str(), &join_list(fields, language));
                return Message::HookAmendmentMisplaced { point, fields }.text(language);
            }
            Error::InvalidAmendment { point, problem } => Message::HookAmendmentInvalid {
                point: point.as_str(),
                problem,
            },
        };
        message.text(language)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::English))
    }
}

impl std::error::Error for Error {}

/// Context of an event.
#[derive(Debug, Clone, Copy)]
pub struct HookContext<'a> {
    /// Idempotency key of the call. An action that is continued after a crash keeps its key; a new screenshot or model
    /// call gets a new one.
    pub call: &'a str,
    /// Step number; 0 before the first step.
    pub step: u32,
    /// Current state of the task.
    pub task: &'a Task,
}

/// Read access to everything stored about a task, for hooks that process ended tasks, such as trajectory export.
#[derive(Clone)]
pub struct TaskArchive {
    store: Arc<dyn TaskStore>,
    /// Images and files, keyed by the sha256 that events name.
    pub blobs: BlobStore,
}

impl TaskArchive {
    pub(crate) fn new(store: Arc<dyn TaskStore>, blobs: BlobStore) -> Self {
        Self { store, blobs }
    }

    /// Returns all events of a task, in order.
    ///
    /// # Errors
    /// If the store cannot be read, or the log is of another version.
    pub async fn events(&self, task: &TaskName) -> Result<Vec<RecordedEvent>, crate::Error> {
        let beginning = motorium_proto::domain::id::EventSeq(0);
        Ok(log::read(self.store.as_ref(), task, beginning).await?)
    }

    /// Collects everything stored about a task, ready to be written.
    ///
    /// # Errors
    /// If the store cannot be read, or the log is of another version.
    pub async fn trajectory(&self, task: &TaskName) -> Result<Trajectory, crate::Error> {
        Ok(Trajectory::gather(self.store.as_ref(), self.blobs.clone(), task).await?)
    }
}

impl fmt::Debug for TaskArchive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive").finish_non_exhaustive()
    }
}
