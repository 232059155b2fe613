//! Approvals: a person's permission for one action on one target on one screen.
//!
//! An approval is requested by the run loop and resolved by a person, never by anything else. It covers only the action that
//! was shown. It expires without an answer, and is invalidated when the task takes another path, or when the target or its
//! surroundings ([`super::approval_context`]) change before the approval is used.

use std::time::SystemTime;

use motorium_messages::{Language, Message};
use motorium_proto::convert;
use motorium_proto::domain::decision::{PlannedAction, SafetyCheck};
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::{common, orchestrator as wire};

use super::approval_context::ApprovalContext;
use super::artifact::{Artifact, optional_artifact, wire_artifact};

/// State of an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    /// It was not answered in time, or the task has ended.
    Expired,
    /// The screen changed, or the task took another path.
    Invalidated,
}

/// The action or call that needs approval.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalSubject {
    Action(PlannedAction),
    /// A function call, described with its arguments.
    Call {
        intent: String,
    },
}

impl ApprovalSubject {
    /// Returns the intent, for people.
    #[must_use]
    pub fn intent(&self) -> &str {
        match self {
            ApprovalSubject::Action(planned) => &planned.intent,
            ApprovalSubject::Call { intent } => intent,
        }
    }

    fn to_wire(&self) -> common::PlannedAction {
        match self {
            ApprovalSubject::Action(planned) => planned.clone().into(),
            ApprovalSubject::Call { intent } => common::PlannedAction {
                intent: intent.clone(),
                ..common::PlannedAction::default()
            },
        }
    }
}

impl TryFrom<common::PlannedAction> for ApprovalSubject {
    type Error = FieldError;

    fn try_from(planned: common::PlannedAction) -> Result<Self, FieldError> {
        Ok(match planned.action {
            Some(_) => ApprovalSubject::Action(planned.try_into()?),
            None => ApprovalSubject::Call {
                intent: planned.intent,
            },
        })
    }
}

/// An approval of an action or a function call.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Id, unique within the task.
    pub id: String,
    pub state: ApprovalState,
    pub subject: ApprovalSubject,
    /// Ids of the policy rules that require it.
    pub rules: Vec<String>,
    /// Reason for people.
    pub reason: String,
    /// Safety checks of the model's provider.
    pub safety_checks: Vec<SafetyCheck>,
    /// Screenshot crop of the target.
    pub evidence: Option<Artifact>,
    /// Hash of action, target and policy version.
    pub fingerprint: [u8; 32],
    pub created_at: SystemTime,
    pub expires_at: SystemTime,
    /// Principal that resolved it; empty until then.
    pub resolved_by: String,
    /// Message of that principal; if it was invalidated, what has changed.
    pub message: String,
    /// Surroundings of the target; absent for calls, and for requests of an earlier version.
    pub context: Option<ApprovalContext>,
    /// Name of the person, as that principal stated it. For display only.
    pub stated_user: String,
    /// True if the creator of the task may not give it.
    pub second_person: bool,
    /// A model wrote the message, and not a person.
    pub written_by_model: bool,
}

impl Approval {
    /// Returns the id of the `number`-th request (from 1) for one action of a step.
    #[must_use]
    pub fn id(step: u32, index: usize, number: usize) -> String {
        format!("{step}-{index}-{number}")
    }

    /// Returns true if it was requested for this action of this step.
    #[must_use]
    pub fn is_for(&self, step: u32, index: usize) -> bool {
        let wanted = format!("{step}-{index}-");
        self.id.starts_with(&wanted)
    }

    /// Returns the approval with its resolution.
    #[must_use]
    pub fn resolved(&self, state: ApprovalState, by: &str, message: &str) -> Self {
        Self {
            state,
            resolved_by: by.to_owned(),
            message: message.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the planner's message about an approval that was not given.
    #[must_use]
    pub fn planner_message(&self, language: Language) -> String {
        let intent = self.subject.intent();
        let (message, detail) = match self.state {
            ApprovalState::Denied => (Message::ApprovalDenied { intent }, self.message.trim()),
            ApprovalState::Expired => (Message::ApprovalExpired { intent }, ""),
            _ => (Message::ApprovalInvalidated { intent }, self.message.trim()),
        };
        let text = message.text(language);
        match detail {
            "" => text,
            detail => Message::WithDetail {
                text: &text,
                detail,
            }
            .text(language),
        }
    }

    /// Returns the API message.
    #[must_use]
    pub fn to_wire(&self, task: &TaskName) -> wire::Approval {
        wire::Approval {
            name: approval_name(task, &self.id),
            state: self.state.to_wire().into(),
            action: Some(self.subject.to_wire()),
            rules: self.rules.clone(),
            reason: self.reason.clone(),
            safety_checks: convert::into_messages(self.safety_checks.clone()),
            evidence: self
                .evidence
                .clone()
                .map(|evidence| wire_artifact(task, evidence)),
            fingerprint: self.fingerprint.to_vec().into(),
            create_time: Some(convert::wire_time(self.created_at)),
            expire_time: Some(convert::wire_time(self.expires_at)),
            resolved_by: self.resolved_by.clone(),
            message: self.message.clone(),
            context: self.context.clone().map(Into::into),
            stated_user: self.stated_user.clone(),
            written_by_model: self.written_by_model,
            second_person: self.second_person,
        }
    }
}

/// Returns the resource name `tasks/{task}/approvals/{approval}`.
#[must_use]
pub fn approval_name(task: &TaskName, id: &str) -> String {
    format!("{task}/approvals/{id}")
}

impl ApprovalState {
    /// Returns the API enum value.
    #[must_use]
    pub fn to_wire(self) -> wire::approval::State {
        use wire::approval::State;

        match self {
            ApprovalState::Pending => State::Pending,
            ApprovalState::Approved => State::Approved,
            ApprovalState::Denied => State::Denied,
            ApprovalState::Expired => State::Expired,
            ApprovalState::Invalidated => State::Invalidated,
        }
    }
}

fn state(state: wire::approval::State) -> Result<ApprovalState, FieldError> {
    use wire::approval::State;

    Ok(match state {
        State::Unspecified => return Err(FieldError::missing("state")),
        State::Pending => ApprovalState::Pending,
        State::Approved => ApprovalState::Approved,
        State::Denied => ApprovalState::Denied,
        State::Expired => ApprovalState::Expired,
        State::Invalidated => ApprovalState::Invalidated,
    })
}

impl TryFrom<wire::Approval> for Approval {
    type Error = FieldError;

    fn try_from(approval: wire::Approval) -> Result<Self, FieldError> {
        let id = approval.name.rsplit_once("/approvals/").map(|(_, id)| id);
        let id =
            id.ok_or_else(|| FieldError::new("name", "is not tasks/{task}/approvals/{approval}"))?;
        let fingerprint = approval.fingerprint.as_ref().try_into();
        Ok(Self {
            id: id.to_owned(),
            state: state(approval.state())?,
            subject: convert::require("action", approval.action)?,
            rules: approval.rules,
            reason: approval.reason,
            safety_checks: convert::try_from_messages("safety_checks", approval.safety_checks)?,
            evidence: optional_artifact("evidence", approval.evidence)?,
            fingerprint: fingerprint
                .map_err(|_| FieldError::new("fingerprint", "does not have 32 bytes"))?,
            created_at: convert::time("create_time", approval.create_time)?,
            expires_at: convert::time("expire_time", approval.expire_time)?,
            resolved_by: approval.resolved_by,
            message: approval.message,
            context: convert::optional("context", approval.context)?,
            stated_user: approval.stated_user,
            written_by_model: approval.written_by_model,
            second_person: approval.second_person,
        })
    }
}
