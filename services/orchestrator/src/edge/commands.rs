//! What users tell tasks: create, cancel, pause, resume, answer. Each is an event, appended once.

use std::time::{Duration, SystemTime};

use motorium_proto::domain::id::{EventSeq, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{Append, CreateTask, RequestId, TaskRow};
use prost::Message;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Edge, chosen_id, task_name};
use crate::error::Error;
use crate::log;
use crate::task::event::Event;
use crate::task::spec::TaskSpec;
use crate::task::{Lifecycle, Task, view};

/// How long `CancelTask` waits for the end that it asked for.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

/// What makes a call repeatable: its id, and a hash of everything that it asks for.
pub(super) fn request_id(
    call: &str,
    id: &str,
    body: &impl Message,
) -> Result<Option<RequestId>, Error> {
    if id.is_empty() {
        return Ok(None);
    }
    let id = Uuid::parse_str(id).map_err(|_| {
        FieldError::new(
            "request_id",
            format!(
                "`{id}` is not a UUID; leave it empty or send one, such as {}",
                Uuid::nil()
            ),
        )
    })?;
    // Calls with the same fields differ by their name alone.
    let hash = Sha256::new().chain_update(call).chain_update([0]);
    let fingerprint = hash.chain_update(body.encode_to_vec()).finalize().into();
    Ok(Some(RequestId {
        id: id.to_string(),
        fingerprint,
    }))
}

fn state_words(lifecycle: &Lifecycle) -> &'static str {
    match lifecycle {
        Lifecycle::Pending => "pending",
        Lifecycle::Running => "running",
        Lifecycle::Paused => "paused",
        Lifecycle::AwaitingUser(_) => "waiting for the user",
        Lifecycle::Succeeded { .. } => "succeeded",
        Lifecycle::Failed(_) => "failed",
        Lifecycle::Cancelled { .. } => "cancelled",
    }
}

fn wrong_state(task: &Task, needed: &'static str) -> Error {
    let name = task.spec.name.clone();
    let state = state_words(&task.lifecycle);
    if task.lifecycle.is_terminal() {
        return Error::TaskEnded { task: name, state };
    }
    Error::WrongState {
        task: name,
        state,
        needed,
    }
}

/// Whether nobody carries the task out: the desktop that it began on is not there, or the lease of whoever did has ended.
fn is_abandoned(row: &TaskRow, now: SystemTime) -> bool {
    row.owner.is_none() || row.lease_until.is_none_or(|until| until <= now)
}

/// What ends a task that was told to cancel, if it has not ended yet.
fn end_of_cancelled(task: &Task) -> Vec<Event> {
    match &task.cancel_requested {
        Some(reason) if !task.lifecycle.is_terminal() => vec![Event::Cancelled {
            reason: reason.clone(),
        }],
        _ => Vec::new(),
    }
}

impl Edge {
    pub(super) async fn create(
        &self,
        request: wire::CreateTaskRequest,
    ) -> Result<wire::Task, Error> {
        let request_id = request_id("CreateTask", &request.request_id, &request)?;
        let message = request.task.ok_or_else(|| FieldError::missing("task"))?;
        let uid = Uuid::now_v7();
        let name = TaskName::from_segment(&chosen_id("task_id", &request.task_id, uid)?)?;
        let spec = TaskSpec::from_wire(name.clone(), uid.to_string(), message, self.limits)?;
        self.check_selector(&spec.selector)?;
        self.tools.check(&spec.tool_endpoints)?;
        if let Some(session) = &spec.session {
            self.session(session).await?;
        }
        let now = SystemTime::now();
        let task = Task::new(spec.clone(), EventSeq(1), now);
        let (state, snapshot) = log::row_view(&task);
        let create = CreateTask {
            name: name.clone(),
            uid: uid.to_string(),
            session: spec.session.as_ref().map(ToString::to_string),
            state,
            priority: spec.priority,
            run_after: spec.run_after,
            labels: spec.labels.clone(),
            snapshot,
            first_event: log::encode(&name, now, 0, Event::Created(Box::new(spec))),
            request: request_id,
            now,
        };
        let created = self.store.create_task(create).await?;
        self.news.notify_one();
        self.task(&created.task.name).await
    }

    /// Appends what `event` makes of the task as it is now, if anything. The task may change in between: then it is
    /// looked at again. A call that was carried out before is not refused because of what it has done.
    pub(super) async fn command(
        &self,
        name: &TaskName,
        request: Option<RequestId>,
        event: impl Fn(&Task) -> Result<Vec<Event>, Error> + Send,
    ) -> Result<wire::Task, Error> {
        let extended = log::extend(self.store.as_ref(), name, None, request.as_ref(), event).await;
        if let Ok(true) = extended {
            self.doorbell.ring(name);
            self.news.notify_one();
        } else if !self.was_carried_out(name, request.as_ref()).await? {
            extended?;
        }
        self.task(name).await
    }

    /// Whether a call with this id was carried out before.
    async fn was_carried_out(
        &self,
        name: &TaskName,
        request: Option<&RequestId>,
    ) -> Result<bool, Error> {
        let Some(request) = request else {
            return Ok(false);
        };
        // The store looks for the id first; then no task has this number as its last one, and nothing is written.
        let append = Append {
            name: name.clone(),
            epoch: None,
            expected_seq: Some(EventSeq(-1)),
            events: Vec::new(),
            notes: None,
            view: None,
            request: Some(request.clone()),
            lease: None,
            now: SystemTime::now(),
        };
        match self.store.append(append).await {
            Ok(appended) => Ok(appended.repeated),
            Err(motorium_store::Error::Conflict { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn cancel(
        &self,
        request: wire::CancelTaskRequest,
    ) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        let id = request_id("CancelTask", &request.request_id, &request)?;
        let reason = request.reason;
        let cancelled = self.command(&name, id, |task| {
            let asked = Event::CancelRequested {
                reason: reason.clone(),
            };
            Ok(match &task.lifecycle {
                ended if ended.is_terminal() => Vec::new(),
                // Nobody carries it out: there is nothing to stop.
                Lifecycle::Pending => vec![
                    asked,
                    Event::Cancelled {
                        reason: reason.clone(),
                    },
                ],
                _ if task.cancel_requested.is_some() => Vec::new(),
                _ => vec![asked],
            })
        });
        cancelled.await?;
        self.await_end(&name).await
    }

    /// The task once it has ended, or as it is when patience ends. If nobody carries it out, nobody else would end it.
    async fn await_end(&self, name: &TaskName) -> Result<wire::Task, Error> {
        let mut bell = self.doorbell.subscribe(name);
        let give_up = tokio::time::Instant::now() + CANCEL_PATIENCE;
        loop {
            let task = log::load(self.store.as_ref(), name).await?;
            if task.lifecycle.is_terminal() || tokio::time::Instant::now() >= give_up {
                return Ok(view::task(&task));
            }
            if is_abandoned(&self.store.get_task(name).await?, SystemTime::now()) {
                return self
                    .command(name, None, |task| Ok(end_of_cancelled(task)))
                    .await;
            }
            let _ = tokio::time::timeout(Duration::from_millis(250), bell.rung()).await;
        }
    }

    pub(super) async fn pause(&self, request: wire::PauseTaskRequest) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        let id = request_id("PauseTask", &request.request_id, &request)?;
        let paused = self.command(&name, id, |task| match &task.lifecycle {
            Lifecycle::Paused => Ok(Vec::new()),
            Lifecycle::Running => Ok(vec![Event::Paused {
                reason: "asked for".to_owned(),
            }]),
            _ => Err(wrong_state(task, "only a running task can be paused")),
        });
        paused.await
    }

    pub(super) async fn resume(
        &self,
        request: wire::ResumeTaskRequest,
    ) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        let id = request_id("ResumeTask", &request.request_id, &request)?;
        let resumed = self.command(&name, id, |task| match &task.lifecycle {
            Lifecycle::Running => Ok(Vec::new()),
            Lifecycle::Paused => Ok(vec![Event::Resumed]),
            _ => Err(wrong_state(task, "only a paused task can be resumed")),
        });
        resumed.await
    }

    pub(super) async fn let_take_over(
        &self,
        request: wire::TakeOverRequest,
    ) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        let id = request_id("TakeOver", &request.request_id, &request)?;
        let user = request.user;
        let taken = self.command(&name, id, |task| match &task.lifecycle {
            _ if task.is_taken_over() => Ok(Vec::new()),
            Lifecycle::Running | Lifecycle::Paused | Lifecycle::AwaitingUser(_) => {
                Ok(vec![Event::TakenOver { user: user.clone() }])
            }
            _ => Err(wrong_state(
                task,
                "only a task that has begun has a desktop to be taken over",
            )),
        });
        taken.await
    }

    pub(super) async fn take_back(
        &self,
        request: wire::HandBackRequest,
    ) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        let id = request_id("HandBack", &request.request_id, &request)?;
        let message = request.message;
        let back = self.command(&name, id, |task| {
            if task.is_taken_over() {
                return Ok(vec![Event::HandedBack {
                    message: message.clone(),
                }]);
            }
            Err(wrong_state(task, "nobody has taken it over"))
        });
        back.await
    }

    pub(super) async fn tell(
        &self,
        request: wire::SendMessageRequest,
    ) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        if request.text.trim().is_empty() {
            return Err(FieldError::new("text", "is empty; say what the task should know").into());
        }
        let id = request_id("SendMessage", &request.request_id, &request)?;
        let text = request.text;
        let told = self.command(&name, id, |task| {
            if task.lifecycle.is_terminal() {
                return Err(wrong_state(
                    task,
                    "only a task that has not ended can be told something",
                ));
            }
            Ok(vec![Event::MessageReceived { text: text.clone() }])
        });
        told.await
    }

    pub(super) async fn acknowledge(
        &self,
        request: wire::AcknowledgeUserActionRequest,
    ) -> Result<wire::Task, Error> {
        let name = task_name("name", &request.name)?;
        let id = request_id("AcknowledgeUserAction", &request.request_id, &request)?;
        let message = request.message;
        let acknowledged = self.command(&name, id, |task| match &task.lifecycle {
            // "I have done it" hands back what was taken.
            _ if task.is_taken_over() => Ok(vec![Event::HandedBack {
                message: message.clone(),
            }]),
            // To have read something is not to agree to it.
            Lifecycle::AwaitingUser(request) if request.approval.is_some() => Err(wrong_state(
                task,
                "it waits for an approval; approve or deny it with ResolveApproval",
            )),
            Lifecycle::AwaitingUser(_) => Ok(vec![Event::UserAcknowledged {
                message: message.clone(),
            }]),
            _ => Err(wrong_state(task, "it has asked for nothing")),
        });
        acknowledged.await
    }
}
