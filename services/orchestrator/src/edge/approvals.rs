//! Lists approvals and resolves them.

use std::time::{Duration, SystemTime};

use motorium_kit::principal::Principal;
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::ListTasks;

use super::commands::request_id;
use super::{Edge, ownership, page};
use crate::audit;
use crate::error::Error;
use motorium_recording::log;
use motorium_task::approval::approval_name;
use motorium_task::event::Event;
use motorium_task::{Approval, ApprovalState, Task};

/// Parent that stands for every task.
const ANY_TASK: &str = "tasks/-";
/// Number of tasks read per query.
// Bounds the memory of one query, because each row carries the task's snapshot.
const TASK_PAGE_SIZE: u32 = 200;

impl Edge {
    pub(super) async fn approvals(
        &self,
        request: wire::ListApprovalsRequest,
    ) -> Result<wire::ListApprovalsResponse, Error> {
        let states: Vec<wire::approval::State> = request.states().collect();
        let mut approvals = Vec::new();
        for name in self.parents(&request.parent, &states).await? {
            let task = match log::load(self.store.as_ref(), &name).await {
                // It was deleted since it was listed.
                Err(log::Error::Store(motorium_store::Error::TaskNotFound { .. }))
                    if request.parent == ANY_TASK =>
                {
                    continue;
                }
                task => task?,
            };
            let all = task.approvals.iter().map(|one| one.to_wire(&name));
            approvals.extend(all.filter(|one| matches_states(one, &states)));
        }
        approvals.sort_by_key(|one: &wire::Approval| {
            one.create_time
                .map(|time| (time.seconds, time.nanos))
                .unwrap_or_default()
        });
        let (approvals, next_page_token) = page(approvals, request.page_size, &request.page_token)?;
        Ok(wire::ListApprovalsResponse {
            approvals,
            next_page_token,
        })
    }

    /// Returns the tasks whose approvals are requested. A task with a pending approval is in the state `AWAITING_USER`.
    async fn parents(
        &self,
        parent: &str,
        states: &[wire::approval::State],
    ) -> Result<Vec<TaskName>, Error> {
        if parent != ANY_TASK {
            return Ok(vec![self.visible_task("parent", parent).await?]);
        }
        let tenant = ownership::listed_tenant(&Principal::current());
        let only_waiting = states
            .iter()
            .all(|state| *state == wire::approval::State::Pending);
        let awaiting = i32::from(wire::task::State::AwaitingUser);
        let mut names = Vec::new();
        let mut page_token = None;
        loop {
            let list = ListTasks {
                page_size: TASK_PAGE_SIZE,
                page_token: page_token.take(),
                states: only_waiting.then_some(awaiting).into_iter().collect(),
                tenant: tenant.clone(),
                ..ListTasks::default()
            };
            let page = self.store.list_tasks(list).await?;
            names.extend(page.items.into_iter().map(|row| row.name));
            match page.next {
                Some(next) => page_token = Some(next),
                None => return Ok(names),
            }
        }
    }

    pub(super) async fn resolve(
        &self,
        request: wire::ResolveApprovalRequest,
    ) -> Result<wire::Approval, Error> {
        let id = request_id("ResolveApproval", &request.request_id, &request)?;
        let (task, approval) = split(&request.name)?;
        let name = self.visible_task("name", task).await?;
        let principal = Principal::current();
        let (approve, message, user) = (request.approve, request.message, request.user);
        let resolved = self.command(&name, id, |task| {
            let waiting = pending_approval(task, approval)?;
            if approve && waiting.second_person && task.spec.owner.creator == principal.name() {
                return Err(Error::SecondPersonRequired {
                    name: approval_name(&task.spec.name, approval),
                    principal: principal.name().to_owned(),
                });
            }
            let state = if approve {
                ApprovalState::Approved
            } else {
                ApprovalState::Denied
            };
            let resolved = Approval {
                stated_user: user.clone(),
                ..waiting.resolved(state, principal.name(), &message)
            };
            Ok(vec![Event::ApprovalResolved(Box::new(resolved))])
        });
        resolved.await?;
        let task = log::load(self.store.as_ref(), &name).await?;
        let resolved = find(&task, approval)?;
        let entry = audit::approval_entry(&task.spec, SystemTime::now(), resolved);
        let recorded = self.audit.record(vec![entry]).await;
        recorded.map_err(Error::AuditFailed)?;
        Ok(resolved.to_wire(&name))
    }
}

fn matches_states(approval: &wire::Approval, states: &[wire::approval::State]) -> bool {
    match states {
        [] => approval.state() == wire::approval::State::Pending,
        states => states.contains(&approval.state()),
    }
}

/// Splits `tasks/{task}/approvals/{approval}` into the task and the approval.
fn split(name: &str) -> Result<(&str, &str), Error> {
    let parts = name.split_once("/approvals/");
    let description = format!("`{name}` is not of the form tasks/{{task}}/approvals/{{approval}}");
    Ok(parts.ok_or_else(|| FieldError::new("name", description))?)
}

fn find<'a>(task: &'a Task, id: &str) -> Result<&'a Approval, Error> {
    let mut approvals = task.approvals.iter().rev();
    let found = approvals.find(|approval| approval.id == id);
    found.ok_or_else(|| Error::ApprovalNotFound {
        name: approval_name(&task.spec.name, id),
    })
}

/// Time for which an approval is taken although it has expired by the system's clock, which may have been set. The run that waits
/// measures the time itself, and uses no approval that comes too late.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(10 * 60);

/// Returns the approval if its task still waits for it.
fn pending_approval<'a>(task: &'a Task, id: &str) -> Result<&'a Approval, Error> {
    let approval = find(task, id)?;
    let is_in_time = SystemTime::now() < approval.expires_at + CLOCK_TOLERANCE;
    if approval.state == ApprovalState::Pending && is_in_time {
        return Ok(approval);
    }
    let state = match approval.state {
        ApprovalState::Pending | ApprovalState::Expired => "has expired",
        ApprovalState::Approved => "was already approved",
        ApprovalState::Denied => "was already denied",
        ApprovalState::Invalidated => "is no longer valid: the screen or the task has changed",
    };
    Err(Error::ApprovalEnded {
        name: approval_name(&task.spec.name, id),
        state,
    })
}
