//! Everything that can happen to a task, and its stored form.
//!
//! The stored form is the contract's `Event`: the log is read by people's tools as well as by us. It additionally
//! keeps a decision's `conversation` and the content of attachments, which [`public`] strips before an event leaves
//! the process.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::{
    Decision, FunctionCall, FunctionResult, PlannedAction, SuspectedInjection, Usage, ValueSource,
};
use motorium_proto::domain::effect::{ActionOutcome, Effect};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::{ActionId, DesktopEpoch, DesktopName, EventSeq};
use motorium_proto::service::{BackendAttempt, StageTiming};
use motorium_proto::v1::orchestrator as wire;

use super::approval::Approval;
use super::loops::Notice;
use super::retry::Way;
use super::screen::Fingerprint;
use super::spec::TaskSpec;

mod wire_form;

pub(super) use wire_form::{
    optional_artifact, wire_artifact, wire_failure, wire_request, wire_timing,
};

/// A stored picture or file of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Of the content; also its key in the blob store.
    pub sha256: [u8; 32],
    pub media_type: String,
    pub size_bytes: u64,
    /// For people.
    pub file_name: String,
}

/// What a task wants of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserRequest {
    pub kind: UserRequestKind,
    pub message: String,
    /// The approval that is wanted, where one is.
    pub approval: Option<String>,
}

impl UserRequest {
    /// A request without an approval.
    pub fn new(kind: UserRequestKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            approval: None,
        }
    }
}

/// What kind of thing is wanted of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UserRequestKind {
    Question,
    Hands,
    Approval,
    TakeOver,
}

/// Why a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Stable, in upper snake case; has a page in `docs/errors`.
    pub reason: String,
    pub message: String,
}

impl Failure {
    /// A failure with its stable reason.
    pub fn new(reason: &str, message: impl Into<String>) -> Self {
        Self {
            reason: reason.to_owned(),
            message: message.into(),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Created(Box<TaskSpec>),
    Started {
        orchestrator: String,
    },
    Recovered {
        orchestrator: String,
        unknown_actions: Vec<ActionId>,
    },
    DesktopAcquired {
        desktop: DesktopName,
        epoch: DesktopEpoch,
    },
    LiveFrame {
        desktop: DesktopName,
    },
    AttachmentPut {
        name: String,
        size_bytes: u64,
        path: String,
    },
    Observed(Box<Observed>),
    Decided {
        decision: Box<Decision>,
        elapsed: Duration,
    },
    ProgressAdded {
        text: String,
    },
    BackendSkipped(BackendAttempt),
    ActionIntended(Box<ActionIntended>),
    ActionPerformed {
        action_id: ActionId,
        outcome: ActionOutcome,
    },
    EffectJudged {
        action_id: ActionId,
        effect: Box<Effect>,
    },
    ActionRetried {
        action_id: ActionId,
        attempts: u32,
        reason: String,
        way: Way,
    },
    PointerChecked(Box<PointerChecked>),
    TargetMissed {
        message: String,
    },
    StepFinished {
        timings: Vec<StageTiming>,
    },
    /// A function is about to be called.
    FunctionCalled(FunctionCall),
    FunctionReturned {
        result: FunctionResult,
        elapsed: Duration,
    },
    Extracted {
        json: String,
        usage: Usage,
        /// Where its values were read.
        sources: Vec<ValueSource>,
    },
    UserAsked(UserRequest),
    ApprovalRequested(Box<Approval>),
    /// It was given, refused, or lapsed.
    ApprovalResolved(Box<Approval>),
    /// The planner found text on the screen that gives orders to it.
    InjectionSuspected {
        suspicions: Vec<SuspectedInjection>,
        /// How each looks on the screen.
        evidence: Vec<Option<Artifact>>,
    },
    UserAcknowledged {
        message: String,
    },
    MessageReceived {
        text: String,
    },
    /// A person has the desktop from now on.
    TakenOver {
        user: String,
    },
    /// What the person did, in words without what was typed.
    HumanActed {
        description: String,
        at: Option<CapturePoint>,
    },
    HandedBack {
        message: String,
    },
    Paused {
        reason: String,
    },
    Resumed,
    CancelRequested {
        reason: String,
    },
    LoopNoticed(Notice),
    CompletionChecked {
        passed: bool,
        missing: Vec<String>,
    },
    ResultFetched {
        artifact: Option<Artifact>,
        error: String,
    },
    Disturbed {
        reason: String,
        message: String,
    },
    /// A hook has denied or changed something.
    HookIntervened {
        hook: String,
        /// In upper snake case.
        point: String,
        message: String,
        denied: bool,
    },
    Succeeded {
        answer: String,
    },
    Failed(Failure),
    Cancelled {
        reason: String,
    },
}

impl Event {
    /// Whether it was written by a loop at work: not by a user, nor by one that only begins to go on or tries to.
    #[must_use]
    pub fn shows_work(&self) -> bool {
        !matches!(
            self,
            Event::Created(_)
                | Event::DesktopAcquired { .. }
                | Event::Recovered { .. }
                | Event::Disturbed { .. }
                | Event::UserAcknowledged { .. }
                | Event::MessageReceived { .. }
                | Event::TakenOver { .. }
                | Event::HumanActed { .. }
                | Event::HandedBack { .. }
                | Event::ApprovalResolved(_)
                | Event::Paused { .. }
                | Event::Resumed
                | Event::CancelRequested { .. }
        )
    }
}

/// A step began with this screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Observed {
    pub frame: Frame,
    pub image: Option<Artifact>,
    pub marked_image: Option<Artifact>,
    pub element_count: u32,
    pub elapsed: Duration,
    pub fingerprint: Fingerprint,
    /// What was seen, as JSON.
    pub scene: Option<Artifact>,
}

/// The pointer was brought to its target and read back, before a click.
#[derive(Debug, Clone, PartialEq)]
pub struct PointerChecked {
    pub action_id: ActionId,
    pub target: CapturePoint,
    pub pointer: CapturePoint,
    pub on_target: bool,
    pub corrections: u32,
    /// With the pointer marked.
    pub image: Option<Artifact>,
    /// Of the model, where one was asked.
    pub usage: Usage,
}

/// An action is about to be performed.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionIntended {
    pub action_id: ActionId,
    pub retry_of: Option<ActionId>,
    pub planned: PlannedAction,
    /// As it will be performed.
    pub action: Action<CapturePoint>,
    /// The box that was aimed at.
    pub target: Option<CaptureRect>,
}

/// An event with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub seq: EventSeq,
    pub at: SystemTime,
    /// 0: belongs to no step.
    pub step: u32,
    pub event: Event,
}

/// What outsiders see of a stored event: everything but the planner's opaque conversation and what is in the task's
/// attachments, with which an event might be larger than a receiver accepts.
#[must_use]
pub fn public(mut event: wire::Event) -> wire::Event {
    use wire::event::Kind;

    match &mut event.kind {
        Some(Kind::Decided(decided)) => {
            if let Some(decision) = &mut decided.decision {
                decision.conversation = Bytes::new();
            }
        }
        Some(Kind::Created(created)) => {
            let attachments = created
                .task
                .iter_mut()
                .flat_map(|task| &mut task.attachments);
            attachments.for_each(|attachment| attachment.data = Bytes::new());
        }
        _ => {}
    }
    event
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;

    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
