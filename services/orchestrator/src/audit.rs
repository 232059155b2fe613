//! Audited calls and events, and the contents of their records: names, kinds and outcomes.
//!
//! Calls that change something are recorded by the edge before and after; actions, function calls and approvals by the journal
//! of a run or the edge, before their events are stored. Texts, values of secrets and images are never part of a record. The files are
//! written by the store.

use std::time::SystemTime;

use motorium_kit::principal::Principal;
use motorium_proto::v1::common;
use motorium_store::audit::{AuditEntry, Phase};
use motorium_task::approval::approval_name;
use motorium_task::event::{Event, RecordedEvent};
use motorium_task::{Approval, ApprovalState, TaskSpec};

/// Returns the entry of a call that a principal makes.
pub(crate) fn call(
    principal: &Principal,
    method: &'static str,
    resource: &str,
    outcome: Option<String>,
) -> AuditEntry {
    AuditEntry {
        at: SystemTime::now(),
        principal: principal.name().to_owned(),
        tenant: principal.tenant().to_owned(),
        what: method,
        phase: match outcome {
            None => Phase::Begun,
            Some(_) => Phase::Ended,
        },
        resource: resource.to_owned(),
        kind: String::new(),
        outcome: outcome.unwrap_or_default(),
    }
}

/// Returns the entry of an event of a task; `None` if the event is not audited.
pub(crate) fn event(task: &TaskSpec, recorded: &RecordedEvent) -> Option<AuditEntry> {
    let entry = |what, phase, part: &str, kind: &str, outcome: &str| AuditEntry {
        at: recorded.at,
        principal: task.owner.creator.clone(),
        tenant: task.owner.tenant.clone(),
        what,
        phase,
        resource: format!("{}/{part}", task.name),
        kind: kind.to_owned(),
        outcome: outcome.to_owned(),
    };
    Some(match &recorded.event {
        Event::ActionIntended(intended) => {
            let (id, kind) = (&intended.action_id, intended.action.kind());
            let part = format!("actions/{id}");
            entry("action", Phase::Begun, &part, kind.as_str(), "")
        }
        Event::ActionPerformed { action_id, outcome } => {
            let result = common::ActionResult::from(outcome.result).as_str_name();
            let part = format!("actions/{action_id}");
            entry("action", Phase::Ended, &part, "", result)
        }
        Event::FunctionCalled(call) => {
            let part = format!("functions/{}", call.call_id);
            entry("function", Phase::Begun, &part, &call.name, "")
        }
        Event::FunctionReturned { result, .. } => {
            let outcome = match result.outcome {
                Ok(_) => "OK",
                Err(_) => "FAILED",
            };
            let part = format!("functions/{}", result.call_id);
            entry("function", Phase::Ended, &part, "", outcome)
        }
        Event::ApprovalRequested(approval) | Event::ApprovalResolved(approval) => {
            approval_entry(task, recorded.at, approval)
        }
        _ => return None,
    })
}

/// Returns the entry of an approval in its current state. The principal is the one that resolved it, if any has.
fn approval_entry(task: &TaskSpec, at: SystemTime, approval: &Approval) -> AuditEntry {
    let is_pending = approval.state == ApprovalState::Pending;
    // An approval lapses or expires in the run of its task, not by the person who had given it.
    let is_by_person = matches!(
        approval.state,
        ApprovalState::Approved | ApprovalState::Denied
    );
    let principal = match is_by_person {
        true => &approval.resolved_by,
        false => &task.owner.creator,
    };
    AuditEntry {
        at,
        principal: principal.clone(),
        tenant: task.owner.tenant.clone(),
        what: "approval",
        phase: if is_pending {
            Phase::Begun
        } else {
            Phase::Ended
        },
        resource: approval_name(&task.name, &approval.id),
        kind: String::new(),
        outcome: approval.state.to_wire().as_str_name().to_owned(),
    }
}
