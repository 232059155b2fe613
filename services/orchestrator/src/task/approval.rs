//! Approvals: a person's word for one action on one target on one screen.
//!
//! An approval is asked for by the loop and answered by a person; it is never given by anything else, and used for
//! nothing but what was shown. It lapses when nobody answers, when the task goes another way, and when the screen under
//! the target changes before it could be used.

use std::time::SystemTime;

use motorium_proto::convert;
use motorium_proto::domain::decision::{PlannedAction, SafetyCheck};
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::{common, orchestrator as wire};

use super::event::{Artifact, optional_artifact, wire_artifact};

/// Where an approval is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    /// Nobody answered in time, or the task has ended.
    Expired,
    /// The screen changed, or the task went another way.
    Invalidated,
}

/// What waits for a person.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    Action(PlannedAction),
    /// A function call, in words with its arguments.
    Call {
        intent: String,
    },
}

impl Subject {
    /// What is meant to be done, for people.
    #[must_use]
    pub fn intent(&self) -> &str {
        match self {
            Subject::Action(planned) => &planned.intent,
            Subject::Call { intent } => intent,
        }
    }

    fn to_wire(&self) -> common::PlannedAction {
        match self {
            Subject::Action(planned) => planned.clone().into(),
            Subject::Call { intent } => common::PlannedAction {
                intent: intent.clone(),
                ..common::PlannedAction::default()
            },
        }
    }
}

impl TryFrom<common::PlannedAction> for Subject {
    type Error = FieldError;

    fn try_from(planned: common::PlannedAction) -> Result<Self, FieldError> {
        Ok(match planned.action {
            Some(_) => Subject::Action(planned.try_into()?),
            None => Subject::Call {
                intent: planned.intent,
            },
        })
    }
}

/// An action or a function call that waits for a person, or waited.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// Within the task.
    pub id: String,
    pub state: ApprovalState,
    pub subject: Subject,
    /// Names of the rules that want it.
    pub rules: Vec<String>,
    /// For people.
    pub reason: String,
    /// Of the model's provider.
    pub safety_checks: Vec<SafetyCheck>,
    /// The target on the screen.
    pub evidence: Option<Artifact>,
    /// Of action, target and rules.
    pub fingerprint: [u8; 32],
    pub created_at: SystemTime,
    pub expires_at: SystemTime,
    /// Empty until somebody has.
    pub resolved_by: String,
    /// What they said.
    pub message: String,
}

impl Approval {
    /// Names what is asked for the `number`-th time (from 1) for one action of a step.
    #[must_use]
    pub fn id(step: u32, index: usize, number: usize) -> String {
        format!("{step}-{index}-{number}")
    }

    /// Whether it was asked for this action of this step.
    #[must_use]
    pub fn is_for(&self, step: u32, index: usize) -> bool {
        let wanted = format!("{step}-{index}-");
        self.id.starts_with(&wanted)
    }

    /// The same approval, answered or lapsed.
    #[must_use]
    pub fn resolved(&self, state: ApprovalState, by: &str, message: &str) -> Self {
        Self {
            state,
            resolved_by: by.to_owned(),
            message: message.to_owned(),
            ..self.clone()
        }
    }

    /// What the planner is told of one that was not given.
    #[must_use]
    pub fn words_for_planner(&self) -> String {
        let what = self.subject.intent();
        let said = match self.message.trim() {
            "" => String::new(),
            said => format!(": {said}"),
        };
        match self.state {
            ApprovalState::Denied => format!("the user refused this action ({what}){said}"),
            ApprovalState::Expired => {
                format!("nobody approved this action in time ({what}); it was not performed")
            }
            _ => format!("the approval of this action ({what}) holds no longer{said}"),
        }
    }

    /// The contract's message.
    #[must_use]
    pub fn to_wire(&self, task: &TaskName) -> wire::Approval {
        wire::Approval {
            name: approval_name(task, &self.id),
            state: self.state.to_wire().into(),
            action: Some(self.subject.to_wire()),
            rules: self.rules.clone(),
            reason: self.reason.clone(),
            safety_checks: convert::all(self.safety_checks.clone()),
            evidence: self
                .evidence
                .clone()
                .map(|evidence| wire_artifact(task, evidence)),
            fingerprint: self.fingerprint.to_vec().into(),
            create_time: Some(convert::wire_time(self.created_at)),
            expire_time: Some(convert::wire_time(self.expires_at)),
            resolved_by: self.resolved_by.clone(),
            message: self.message.clone(),
        }
    }
}

/// `tasks/{task}/approvals/{approval}`.
#[must_use]
pub fn approval_name(task: &TaskName, id: &str) -> String {
    format!("{task}/approvals/{id}")
}

impl ApprovalState {
    /// The contract's name of it.
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
        let id = id.ok_or_else(|| FieldError::new("name", "names no approval"))?;
        let fingerprint = approval.fingerprint.as_ref().try_into();
        Ok(Self {
            id: id.to_owned(),
            state: state(approval.state())?,
            subject: convert::require("action", approval.action)?,
            rules: approval.rules,
            reason: approval.reason,
            safety_checks: convert::try_all("safety_checks", approval.safety_checks)?,
            evidence: optional_artifact("evidence", approval.evidence)?,
            fingerprint: fingerprint
                .map_err(|_| FieldError::new("fingerprint", "does not have 32 bytes"))?,
            created_at: convert::time("create_time", approval.create_time)?,
            expires_at: convert::time("expire_time", approval.expire_time)?,
            resolved_by: approval.resolved_by,
            message: approval.message,
        })
    }
}
