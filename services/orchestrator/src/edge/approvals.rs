//! Lists approvals and resolves them.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::limits::MAX_PAGE_BYTES;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::ListTasks;
use prost::Message as _;

use super::commands::request_id;
use super::{Edge, ownership, page_size};
use crate::error::Error;
use motorium_recording::log;
use motorium_task::approval::approval_name;
use motorium_task::event::Event;
use motorium_task::spec::check_message;
use motorium_task::{Approval, ApprovalState, Task};

/// Parent that stands for every task.
const ANY_TASK: &str = "tasks/-";
/// Maximum number of tasks that are read for a page.
// Bounds the duration of a call: the log of each of them is read.
const MAX_TASKS_PER_PAGE: usize = 200;

impl Edge {
    /// Lists approvals, task by task, until the page is full. Its approvals are the oldest first, and those of later pages belong to
    /// the same task or to older ones.
    pub(super) async fn approvals(
        &self,
        request: wire::ListApprovalsRequest,
    ) -> Result<wire::ListApprovalsResponse, Error> {
        let states: Vec<wire::approval::State> = request.states().collect();
        let mut page = ApprovalPage::of(page_size(request.page_size)? as usize);
        let start = Position::parse(&request.page_token)?;
        let next = match request.parent.as_str() {
            ANY_TASK => self.approvals_of_tasks(start, &states, &mut page).await?,
            parent => {
                let name = self.visible_task("parent", parent).await?;
                let skipped = start.map_or(0, |start| start.skipped_in(&name));
                let filled = self
                    .add_approvals(&name, &states, skipped, &mut page)
                    .await?;
                filled.map(|skipped| Position {
                    tasks: None,
                    task: Some(name),
                    skipped,
                })
            }
        };
        Ok(wire::ListApprovalsResponse {
            approvals: page.into_oldest_first(),
            next_page_token: next.as_ref().map_or_else(String::new, Position::format),
        })
    }

    /// Adds the approvals of the caller's tasks, the newest task first, from this position. Returns the next position, if there may
    /// be more.
    async fn approvals_of_tasks(
        &self,
        start: Option<Position>,
        states: &[wire::approval::State],
        page: &mut ApprovalPage,
    ) -> Result<Option<Position>, Error> {
        let tenant = ownership::listed_tenant(&ownership::caller()?);
        let only_waiting = states
            .iter()
            .all(|state| *state == wire::approval::State::Pending);
        // A task with a pending approval waits for its user.
        let awaiting = i32::from(wire::task::State::AwaitingUser);
        let mut tasks = start.as_ref().and_then(|start| start.tasks.clone());
        let mut start = start;
        for _ in 0..MAX_TASKS_PER_PAGE {
            let list = ListTasks {
                page_size: 1,
                page_token: tasks.clone(),
                states: only_waiting.then_some(awaiting).into_iter().collect(),
                tenant: tenant.clone(),
                ..ListTasks::default()
            };
            let listed = self.store.list_tasks(list).await?;
            let Some(task) = listed.items.into_iter().next().map(|row| row.name) else {
                return Ok(None);
            };
            // A task that has left the list since the page before is passed over.
            let skipped = start.take().map_or(0, |start| start.skipped_in(&task));
            let added = self.add_approvals(&task, states, skipped, page).await;
            match added {
                Ok(None) => {}
                Ok(Some(skipped)) => {
                    return Ok(Some(Position {
                        tasks,
                        task: Some(task),
                        skipped,
                    }));
                }
                // It was deleted since it was listed.
                Err(Error::Store(motorium_store::Error::TaskNotFound { .. })) => {}
                Err(error) => return Err(error),
            }
            match listed.next {
                Some(next) => tasks = Some(next),
                None => return Ok(None),
            }
        }
        // The page may be empty, and the list goes on.
        Ok(Some(Position {
            tasks,
            task: None,
            skipped: 0,
        }))
    }

    /// Adds the approvals of a task but for the first ones, and returns how many are before the rest if the page is full.
    async fn add_approvals(
        &self,
        name: &TaskName,
        states: &[wire::approval::State],
        skipped: usize,
        page: &mut ApprovalPage,
    ) -> Result<Option<usize>, Error> {
        let task = log::load(self.store.as_ref(), name).await?;
        let all = task.approvals.iter().map(|one| one.to_wire(name));
        let listed = all.filter(|one| matches_states(one, states));
        for (index, approval) in listed.enumerate().skip(skipped) {
            if !page.add(approval) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    pub(super) async fn resolve(
        &self,
        request: wire::ResolveApprovalRequest,
    ) -> Result<wire::Approval, Error> {
        let id = request_id("ResolveApproval", &request.request_id, &request)?;
        let (task, approval) = split(&request.name)?;
        let name = self.visible_task("name", task).await?;
        let principal = ownership::caller()?;
        check_message("message", &request.message)?;
        check_message("user", &request.user)?;
        let (approve, message, user) = (request.approve, request.message, request.user);
        let written_by_model = request.written_by_model;
        let resolved = self.extend(&name, id, |task| {
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
                written_by_model,
                ..waiting.resolved(state, principal.name(), &message)
            };
            Ok(vec![Event::ApprovalResolved(Box::new(resolved))])
        });
        let task = match resolved.await? {
            Some(task) => task,
            None => log::load(self.store.as_ref(), &name).await?,
        };
        Ok(find(&task, approval)?.to_wire(&name))
    }
}

/// A page of approvals that is being filled.
struct ApprovalPage {
    approvals: Vec<wire::Approval>,
    size: usize,
    bytes: usize,
}

impl ApprovalPage {
    fn of(size: usize) -> Self {
        Self {
            approvals: Vec::new(),
            size,
            bytes: 0,
        }
    }

    /// Adds an approval, unless the page is full. The first one fits, whatever its size.
    fn add(&mut self, approval: wire::Approval) -> bool {
        let bytes = self.bytes + approval.encoded_len();
        let is_full = self.approvals.len() == self.size || bytes > MAX_PAGE_BYTES;
        if is_full && !self.approvals.is_empty() {
            return false;
        }
        self.bytes = bytes;
        self.approvals.push(approval);
        true
    }

    fn into_oldest_first(mut self) -> Vec<wire::Approval> {
        self.approvals.sort_by_key(|one| {
            one.create_time
                .map(|time| (time.seconds, time.nanos))
                .unwrap_or_default()
        });
        self.approvals
    }
}

/// The position in a list of approvals at which a page begins.
struct Position {
    /// Token of the list of tasks after which the task comes; `None` at the beginning.
    tasks: Option<String>,
    /// The task, if some of its approvals were listed.
    task: Option<TaskName>,
    /// Number of approvals of the task that were listed.
    skipped: usize,
}

impl Position {
    /// # Errors
    /// `BadPageToken` if the token is not empty and malformed.
    fn parse(token: &str) -> Result<Option<Self>, Error> {
        if token.is_empty() {
            return Ok(None);
        }
        let parse = || {
            let (skipped, rest) = token.split_once('.')?;
            let (task, tasks) = rest.split_once('.')?;
            let task = (!task.is_empty()).then(|| TaskName::from_segment(task));
            Some(Self {
                tasks: (!tasks.is_empty()).then(|| tasks.to_owned()),
                task: task.transpose().ok()?,
                skipped: skipped.parse().ok()?,
            })
        };
        let parsed = parse().ok_or(motorium_store::Error::BadPageToken)?;
        Ok(Some(parsed))
    }

    fn format(&self) -> String {
        let tasks = self.tasks.as_deref().unwrap_or_default();
        let task = self.task.as_ref().map_or("", TaskName::segment);
        format!("{}.{task}.{tasks}", self.skipped)
    }

    /// Returns the number of approvals of this task that were listed.
    fn skipped_in(&self, task: &TaskName) -> usize {
        match self.task.as_ref() == Some(task) {
            true => self.skipped,
            false => 0,
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_by_number_or_bytes_and_has_at_least_one_approval() {
        let of = |bytes: usize| wire::Approval {
            reason: "x".repeat(bytes),
            ..wire::Approval::default()
        };
        let added = |size: usize, bytes: &[usize]| {
            let mut page = ApprovalPage::of(size);
            bytes.iter().filter(|bytes| page.add(of(**bytes))).count()
        };
        assert_eq!(added(2, &[1, 1, 1]), 2);
        assert_eq!(added(9, &[2 * MAX_PAGE_BYTES, 1]), 1);
        assert_eq!(added(9, &[MAX_PAGE_BYTES / 2, MAX_PAGE_BYTES / 2 - 100]), 2);
        assert_eq!(added(9, &[MAX_PAGE_BYTES / 2, MAX_PAGE_BYTES / 2]), 1);
    }
}
