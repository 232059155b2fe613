//! The events of a task and their stored form.
//!
//! The stored form is the API message `Event`, because users' tools read the log as well. It additionally keeps a
//! decision's `conversation` and the content of attachments. [`public_view`] removes both before an event leaves the process.
//!
//! It does not apply events to a task: `fold` does.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, PlannedAction, SuspectedInjection, Usage, ValueSource,
};
use motorium_proto::domain::effect::{ActionOutcome, Effect};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DesktopName, EventSeq};
use motorium_proto::domain::session::EarlierTask;
use motorium_proto::service::{BackendAttempt, StageTiming};
use motorium_proto::v1::orchestrator as wire;

use super::approval::{Approval, ApprovalState};
use super::desktop_wait::DesktopWait;
use super::loop_notice::LoopNotice;
use super::retry_strategy::RetryStrategy;
use super::screen::Fingerprint;
use super::spec::{Attachment, TaskSpec};

mod conversion;
#[cfg(test)]
mod tests;

pub use super::artifact::{Artifact, StoredExchange};
pub(super) use conversion::{wire_failure, wire_request, wire_timing};

/// A request of a task to its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRequest {
    pub kind: UserRequestKind,
    pub message: String,
    /// Id of the approval that is requested, if any.
    pub approval: Option<String>,
}

impl UserRequest {
    /// Creates a request without an approval.
    pub fn new(kind: UserRequestKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            approval: None,
        }
    }
}

/// Kind of a user request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UserRequestKind {
    Question,
    ManualAction,
    Approval,
    TakeOver,
}

/// Reason why a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable reason in UPPER_SNAKE_CASE, with a page in `docs/errors`.
    pub reason: String,
    pub message: String,
}

impl Failure {
    /// Creates a failure with a stable reason.
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// An event of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The task was created, with this specification.
    Created(Box<TaskSpec>),
    /// An orchestrator began to run the task.
    Started { orchestrator: String },
    /// An orchestrator took the task over from another one, or from its own earlier process.
    Recovered {
        orchestrator: String,
        /// Actions of which it is not known whether they were performed.
        unknown_actions: Vec<ActionId>,
    },
    /// The desktop is leased to the task.
    DesktopAcquired {
        desktop: DesktopName,
        epoch: DesktopEpoch,
        /// Position in the Executor's journal at which the lease begins.
        journal_checkpoint: Option<String>,
    },
    /// The live screen of the desktop can be watched.
    LiveFrame { desktop: DesktopName },
    /// The task waits for an answer, and other tasks may use its desktop meanwhile.
    DesktopReleased { desktop: DesktopName },
    /// The task has not started, because it waits for a desktop.
    DesktopAwaited { wait: DesktopWait, message: String },
    /// The earlier tasks of the session, the oldest first.
    SessionLoaded { tasks: Vec<EarlierTask> },
    /// An attachment was written to the desktop, unless there is an error.
    AttachmentPut {
        name: String,
        size_bytes: u64,
        path: String,
        error: String,
        /// The image that models are shown of it.
        image: Option<UserImageArtifact>,
        /// Reason why an image is not shown. Empty if it is, and for other files.
        image_error: String,
    },
    /// A screen was captured and parsed, and a step begins.
    Observed(Box<Observed>),
    /// A planner decided about the step.
    Decided {
        decision: Box<Decision>,
        elapsed: Duration,
        /// Annotated screenshot, as the model received it.
        annotated_image: Option<Artifact>,
        exchange: StoredExchange,
    },
    /// A line of progress, for people.
    ProgressAdded { text: String },
    /// An earlier line of progress was replaced.
    ProgressCorrected {
        /// The event that added the line.
        sequence: EventSeq,
        text: String,
    },
    /// A backend failed, and the next one is asked.
    BackendSkipped {
        attempt: BackendAttempt,
        /// Empty if `Decided` has it.
        exchange: StoredExchange,
    },
    /// An action is about to be sent to the Executor.
    ActionIntended(Box<ActionIntended>),
    /// The Executor answered, or it is known that it received nothing.
    ActionPerformed {
        action_id: ActionId,
        outcome: ActionOutcome,
    },
    /// The screens before and after an action were compared.
    EffectJudged {
        action_id: ActionId,
        effect: Box<Effect>,
        /// Screenshot after the action, if another action of its step follows.
        screenshot: Option<Artifact>,
    },
    /// The action is repeated or looked at again.
    ActionRetried {
        action_id: ActionId,
        attempts: u32,
        reason: String,
        strategy: RetryStrategy,
    },
    /// The pointer was compared with its target before a click.
    PointerChecked(Box<PointerChecked>),
    /// The action was not performed, because of its target or a refusal.
    TargetNotResolved { message: String },
    /// The step has ended.
    StepFinished {
        timings: Vec<StageTiming>,
        /// Outcome of the step in one line, for people.
        outcome: String,
    },
    /// A function is about to be called.
    FunctionCalled(FunctionCall),
    /// A function returned, or failed.
    FunctionReturned {
        result: FunctionResult,
        elapsed: Duration,
    },
    /// Data was read from the screen.
    Extracted {
        json: String,
        usage: Usage,
        /// Sources of its values on the screen.
        sources: Vec<ValueSource>,
        exchange: StoredExchange,
    },
    /// The task waits for the user.
    UserAsked(UserRequest),
    /// An action or a call waits for approval.
    ApprovalRequested(Box<Approval>),
    /// The approval was given, denied, expired or invalidated.
    ApprovalResolved(Box<Approval>),
    /// The planner suspects a prompt injection on the screen.
    InjectionSuspected {
        suspected_injections: Vec<SuspectedInjection>,
        /// Screenshot crop of each suspected injection.
        evidence: Vec<Option<Artifact>>,
    },
    /// The user answered the request that the task waits for.
    UserAcknowledged {
        message: String,
        attachments: Vec<Attachment>,
        /// A model wrote the message, and not a person.
        written_by_model: bool,
    },
    /// The user sent a message, which the next step takes into account.
    MessageReceived {
        text: String,
        attachments: Vec<Attachment>,
        /// A model wrote the text, and not a person.
        written_by_model: bool,
    },
    /// A person took over the desktop.
    TakenOver { user: String },
    /// A manual action of the person. Typed text is not part of the description.
    HumanActed {
        description: String,
        at: Option<CapturePoint>,
    },
    /// The person handed the desktop back.
    HandedBack { message: String },
    /// The task pauses after the action that is being performed.
    Paused { reason: String },
    /// A paused task goes on.
    Resumed,
    /// The user wants the task to end. Its run ends it.
    CancelRequested { reason: String },
    /// The steps repeat themselves.
    LoopDetected(LoopNotice),
    /// The claim that the goal is reached was compared with the screen.
    CompletionChecked {
        passed: bool,
        /// The claim named no evidence, and the planner is asked to look once more.
        second_look: bool,
        missing: Vec<String>,
    },
    /// A file that the task produced was copied from the desktop, or could not be.
    ResultFetched(ResultFile),
    /// A service could not be reached or failed. The call is repeated.
    TransientFailure { reason: String, message: String },
    /// A hook denied or changed something.
    HookIntervened {
        hook: String,
        /// Hook point in UPPER_SNAKE_CASE.
        point: String,
        message: String,
        denied: bool,
    },
    /// The final answer of a task that ends without one.
    Summarized {
        text: String,
        usage: Usage,
        by_model: bool,
        exchange: StoredExchange,
    },
    /// Screenshot after the last action of a task that ends without success.
    EndScreenCaptured { image: Artifact },
    /// The task ended: the goal is reached.
    Succeeded { answer: String },
    /// The task ended: the goal is not reached.
    Failed(Failure),
    /// The task ended because the user wanted it.
    Cancelled { reason: String },
    /// An event of a kind that a later version has added. Its content is not known.
    Unknown,
}

impl Event {
    /// Returns true for events that show a run loop making progress. False for user input, recovery and transient failures.
    #[must_use]
    pub fn is_loop_activity(&self) -> bool {
        self.source() == EventSource::RunLoop
    }

    /// Returns where the event comes from.
    #[must_use]
    pub fn source(&self) -> EventSource {
        match self {
            Event::Created(_)
            | Event::UserAcknowledged { .. }
            | Event::MessageReceived { .. }
            | Event::TakenOver { .. }
            | Event::HumanActed { .. }
            | Event::HandedBack { .. }
            | Event::Paused { .. }
            | Event::Resumed
            | Event::CancelRequested { .. } => EventSource::User,
            Event::ApprovalResolved(approval) => match approval.state {
                ApprovalState::Approved | ApprovalState::Denied => EventSource::User,
                ApprovalState::Pending | ApprovalState::Expired | ApprovalState::Invalidated => {
                    EventSource::Bookkeeping
                }
            },
            Event::DesktopAwaited { .. }
            | Event::SessionLoaded { .. }
            | Event::DesktopAcquired { .. }
            | Event::Recovered { .. }
            | Event::TransientFailure { .. }
            | Event::Unknown => EventSource::Bookkeeping,
            Event::Started { .. }
            | Event::LiveFrame { .. }
            | Event::DesktopReleased { .. }
            | Event::AttachmentPut { .. }
            | Event::Observed(_)
            | Event::Decided { .. }
            | Event::ProgressAdded { .. }
            | Event::ProgressCorrected { .. }
            | Event::BackendSkipped { .. }
            | Event::ActionIntended(_)
            | Event::ActionPerformed { .. }
            | Event::EffectJudged { .. }
            | Event::ActionRetried { .. }
            | Event::PointerChecked(_)
            | Event::TargetNotResolved { .. }
            | Event::StepFinished { .. }
            | Event::FunctionCalled(_)
            | Event::FunctionReturned { .. }
            | Event::Extracted { .. }
            | Event::UserAsked(_)
            | Event::ApprovalRequested(_)
            | Event::InjectionSuspected { .. }
            | Event::LoopDetected(_)
            | Event::CompletionChecked { .. }
            | Event::ResultFetched(_)
            | Event::HookIntervened { .. }
            | Event::Summarized { .. }
            | Event::EndScreenCaptured { .. }
            | Event::Succeeded { .. }
            | Event::Failed(_)
            | Event::Cancelled { .. } => EventSource::RunLoop,
        }
    }
}

/// Source of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventSource {
    /// A person, or the client of one: input to the task, or a manual action on its desktop.
    User,
    /// Bookkeeping around run loops: waits for a desktop, recovery, transient failures, and approvals that lapse. Also stands
    /// for kinds of events that this version does not know.
    Bookkeeping,
    /// The run loop's own progress.
    RunLoop,
}

/// An image that models are shown of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserImageArtifact {
    pub artifact: Artifact,
    /// Size in pixels of the image.
    pub size: CaptureSize,
}

/// A result file that was fetched, or could not be.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ResultFile {
    pub name: String,
    /// Path on the desktop. Empty if the file was not found.
    pub path: String,
    pub artifact: Option<Artifact>,
    /// Empty if the file was fetched.
    pub error: String,
}

/// The observation that a step starts with.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    pub frame: Frame,
    pub image: Option<Artifact>,
    pub element_count: u32,
    pub elapsed: Duration,
    pub fingerprint: Fingerprint,
    /// The parsed scene.
    pub scene: Option<Artifact>,
    /// URL of the page that the active browser window shows.
    pub current_url: Option<String>,
}

/// The pointer position was verified before a click.
#[derive(Debug, Clone, PartialEq)]
pub struct PointerChecked {
    pub action_id: ActionId,
    pub target: CapturePoint,
    pub pointer: CapturePoint,
    pub on_target: bool,
    pub corrections: u32,
    /// Screenshot with the pointer marked.
    pub image: Option<Artifact>,
    /// Usage of the model, if one was asked to locate the pointer.
    pub usage: Usage,
    pub exchange: StoredExchange,
}

/// An action is about to be performed.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionIntended {
    pub action_id: ActionId,
    pub retry_of: Option<ActionId>,
    pub planned: PlannedAction,
    /// The action with resolved target points.
    pub action: Action<CapturePoint>,
    /// Bounding box of the target.
    pub target: Option<CaptureRect>,
    /// Element at the target, as its kind and its text.
    pub target_label: Option<String>,
}

/// An event with its position in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    pub seq: EventSeq,
    pub at: SystemTime,
    /// Step number; 0 if the event belongs to no step.
    pub step: u32,
    pub event: Event,
}

/// Returns a stored event for API clients, without the planner's opaque conversation and without the content of attachments.
/// With them an event might exceed the receive limit.
#[must_use]
pub fn public_view(mut event: wire::Event) -> wire::Event {
    use wire::event::Kind;

    match &mut event.kind {
        Some(Kind::Decided(decided)) => {
            if let Some(decision) = &mut decided.decision {
                decision.conversation = Bytes::new();
            }
        }
        Some(Kind::Created(created)) => {
            let tasks = created.task.iter_mut();
            without_content(tasks.flat_map(|task| &mut task.attachments));
        }
        Some(Kind::MessageReceived(received)) => without_content(&mut received.attachments),
        Some(Kind::UserAcknowledged(answer)) => without_content(&mut answer.attachments),
        _ => {}
    }
    event
}

fn without_content<'a>(attachments: impl IntoIterator<Item = &'a mut wire::Attachment>) {
    let attachments = attachments.into_iter();
    attachments.for_each(|attachment| attachment.data = Bytes::new());
}
