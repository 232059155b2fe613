//! User commands on tasks: create, cancel, pause, resume, message, acknowledge. Each appends its events at most once.
//!
//! They do not act on a desktop themselves: the run of the task reacts to the events.

use std::time::{Duration, SystemTime};

use motorium_kit::principal::{DEFAULT_TENANT, LOCAL, Principal, Role};
use motorium_messages::{Language, Message};
use motorium_proto::domain::id::{EventSeq, SessionName, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_store::{Append, CreateTask, RequestId, TaskRow};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::{Edge, ownership, resource_id, task_from_row};
use crate::audit;
use crate::error::Error;
use motorium_recording::log::{self, Extension};
use motorium_task::event::{Event, RecordedEvent};
use motorium_task::spec::{self, TaskSpec};
use motorium_task::view::UNFINISHED_STATES;
use motorium_task::{Lifecycle, Task, summary, view};

/// Maximum time for which `CancelTask` waits for the task to end.
// Releasing keys and settling a stopped action take about 2.5 s at most (`INPUT_RELEASE_TIMEOUT`,
// `STOPPED_ACTION_TIMEOUT`).
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum time for which `CreateTask` waits for the list of the planner's backends.
// The planner has it in memory, so that a later answer means that it cannot be asked now.
const BACKENDS_TIMEOUT: Duration = Duration::from_secs(2);

/// Parses a request id and pairs it with a fingerprint of the request, so that a repeated call is recognised. The ids of
/// one tenant mean nothing to another.
pub(super) fn request_id(
    call: &str,
    id: &str,
    body: &impl prost::Message,
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
    // Different methods may have requests with the same fields, so the method name is part of the hash.
    let hash = Sha256::new().chain_update(call).chain_update([0]);
    let fingerprint = hash.chain_update(body.encode_to_vec()).finalize().into();
    let id = match ownership::caller()?.tenant() {
        DEFAULT_TENANT => id.to_string(),
        tenant => format!("{tenant}/{id}"),
    };
    Ok(Some(RequestId { id, fingerprint }))
}

fn state_name(lifecycle: &Lifecycle) -> &'static str {
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

pub(super) fn wrong_state(task: &Task, needed: &'static str) -> Error {
    let name = task.spec.name.clone();
    let state = state_name(&task.lifecycle);
    if task.lifecycle.is_terminal() {
        return Error::TaskEnded { task: name, state };
    }
    Error::WrongState {
        task: name,
        state,
        needed,
    }
}

/// Returns whether no orchestrator runs the task: its desktop is unavailable, or the lease of its orchestrator has
/// expired.
fn is_abandoned(row: &TaskRow, now: SystemTime) -> bool {
    row.owner.is_none() || row.lease_until.is_none_or(|until| until <= now)
}

/// Returns the name of the person who takes a desktop over. Callers that no server authenticates name themselves.
pub(super) fn taking_over(stated: String) -> Result<String, Error> {
    Ok(match ownership::caller()?.name() {
        LOCAL if !stated.is_empty() => stated,
        name => name.to_owned(),
    })
}

/// Returns an error if another person has the desktop: the agent would act while they do. An administrator frees the desktop of a
/// person who has gone. Callers that no server authenticates are one and the same, with every role.
fn check_hand_back(task: &Task, caller: &Principal) -> Result<(), Error> {
    if caller.name() == task.operator || caller.roles().contains(&Role::Admin) {
        return Ok(());
    }
    Err(Error::OperatedByAnother {
        task: task.spec.name.clone(),
        operator: task.operator.clone(),
    })
}

/// Returns the event that ends a task whose cancellation was requested, unless it has ended.
fn cancelled_event(task: &Task) -> Vec<Event> {
    match &task.cancel_requested {
        Some(reason) if !task.lifecycle.is_terminal() => {
            let reason = reason.clone();
            summary::closing_events(task, Event::Cancelled { reason })
        }
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
        let name = TaskName::from_segment(&resource_id("task_id", &request.task_id, uid)?)?;
        let mut owner = ownership::owner(&ownership::caller()?);
        if !message.session.is_empty() {
            // The tasks of a session know each other, so they belong together.
            let session = SessionName::parse("task.session", &message.session)?;
            owner.tenant = self.session(&session).await?.tenant;
        }
        let spec = TaskSpec::from_wire(name.clone(), uid.to_string(), owner, message, self.limits)?;
        self.check_selector(&spec.selector, &spec.owner.tenant)
            .await?;
        self.check_uploads("task.attachments", &spec.attachments)
            .await?;
        self.tools.check(&spec.tool_endpoints)?;
        self.check_backends(&spec.backends).await?;
        let session = spec.session.clone();
        let now = SystemTime::now();
        // Boxed, because the future would be large with it.
        let task = Box::new(Task::new(spec.clone(), EventSeq(1), now));
        let (state, snapshot) = log::row_view(&task);
        let created = RecordedEvent {
            seq: EventSeq(1),
            at: now,
            step: 0,
            event: Event::Created(Box::new(spec.clone())),
        };
        let create = CreateTask {
            name: name.clone(),
            uid: uid.to_string(),
            tenant: spec.owner.tenant.clone(),
            session: spec.session.as_ref().map(ToString::to_string),
            state,
            priority: spec.priority,
            run_after: spec.run_after,
            labels: spec.labels.clone(),
            snapshot,
            first_event: log::encode(&name, &created, view::state(&task.lifecycle)),
            request: request_id,
            now,
        };
        let created = match self.store.create_task(create).await {
            // The session was deleted since it was looked up.
            Err(motorium_store::Error::ResourceNotFound { name }) => {
                return Err(Error::SessionNotFound { name });
            }
            created => created?,
        };
        self.wake_dispatcher.notify_one();
        if let Some(session) = &session {
            self.notifier.notify_session(session);
        }
        match created.repeated {
            true => self.task(&created.task.name).await,
            false => self.described(&task).await,
        }
    }

    /// Refuses backends that the planner does not have. A planner that cannot be asked now is asked again when the task begins.
    async fn check_backends(&self, chosen: &[String]) -> Result<(), Error> {
        let desktop = self.desktops.list().into_iter().next();
        let Some(desktop) = desktop.filter(|_| !chosen.is_empty()) else {
            return Ok(());
        };
        let listing = desktop.ports.planner.list_backends();
        let Ok(Ok(backends)) = tokio::time::timeout(BACKENDS_TIMEOUT, listing).await else {
            return Ok(());
        };
        let known: Vec<&str> = backends.iter().map(|known| known.name.as_str()).collect();
        let mut named = chosen.iter().enumerate();
        match named.find(|(_, name)| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some((index, name)) => {
                let known = known.join(", ");
                let problem = Message::BackendUnknown {
                    name,
                    known: &known,
                };
                let field = format!("task.backends[{index}]");
                Err(FieldError::new(field, problem.text(Language::English)).into())
            }
        }
    }

    /// Appends the events that `event` returns for the current task and notifies its orchestrator. If the task changes
    /// meanwhile, `event` is called again. A repeated call succeeds even if the task's state would now refuse it.
    pub(super) async fn command(
        &self,
        name: &TaskName,
        request: Option<RequestId>,
        event: impl Fn(&Task) -> Result<Vec<Event>, Error> + Send + Sync,
    ) -> Result<wire::Task, Error> {
        match self.extend(name, request, event).await? {
            Some(task) => Ok(view::task(&task)),
            None => self.task(name).await,
        }
    }

    /// As [`Edge::command`], and returns the task with the events; `None` if the call was carried out before.
    pub(super) async fn extend(
        &self,
        name: &TaskName,
        request: Option<RequestId>,
        event: impl Fn(&Task) -> Result<Vec<Event>, Error> + Send + Sync,
    ) -> Result<Option<Task>, Error> {
        match self.audited_extension(name, request.as_ref(), event).await {
            Ok(extension) => {
                if extension.has_grown {
                    self.notifier.notify(name);
                    self.wake_dispatcher.notify_one();
                }
                Ok(Some(extension.task))
            }
            Err(error) if !self.was_carried_out(name, request.as_ref()).await? => Err(error),
            Err(_) => Ok(None),
        }
    }

    /// Appends events once those of them that are audited, such as the end of an approval, are in the audit log. If another
    /// writer is first, a record may have an outcome that was refused then: the record of the call tells so.
    async fn audited_extension(
        &self,
        name: &TaskName,
        request: Option<&RequestId>,
        event: impl Fn(&Task) -> Result<Vec<Event>, Error> + Send + Sync,
    ) -> Result<Extension, Error> {
        let store = self.store.as_ref();
        loop {
            let proposal = log::propose(store, name, &event).await?;
            let spec = &proposal.task().spec;
            let events = proposal.events().iter();
            let entries: Vec<_> = events.filter_map(|one| audit::event(spec, one)).collect();
            if !entries.is_empty() {
                let recorded = self.audit.record(entries).await;
                recorded.map_err(Error::AuditFailed)?;
            }
            if let Some(extension) = proposal.append(store, None, request).await? {
                return Ok(extension);
            }
        }
    }

    /// Returns whether a call with this request id was carried out before.
    async fn was_carried_out(
        &self,
        name: &TaskName,
        request: Option<&RequestId>,
    ) -> Result<bool, Error> {
        let Some(request) = request else {
            return Ok(false);
        };
        // The store checks the request id first. No log ends at sequence number -1, so a new request always conflicts
        // and nothing is written.
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
        let name = self.visible_task("name", &request.name).await?;
        let id = request_id("CancelTask", &request.request_id, &request)?;
        let reason = request.reason;
        let cancelled = self.command(&name, id, |task| {
            let asked = Event::CancelRequested {
                reason: reason.clone(),
            };
            Ok(match &task.lifecycle {
                ended if ended.is_terminal() => Vec::new(),
                // A pending task has no runner, so it can end here.
                Lifecycle::Pending => {
                    let reason = reason.clone();
                    let ended = summary::closing_events(task, Event::Cancelled { reason });
                    std::iter::once(asked).chain(ended).collect()
                }
                _ if task.cancel_requested.is_some() => Vec::new(),
                _ => vec![asked],
            })
        });
        cancelled.await?;
        self.wait_for_end(&name).await
    }

    /// Returns the task once it has ended, or as it is after [`CANCEL_TIMEOUT`]. Ends the task itself if no
    /// orchestrator runs it.
    async fn wait_for_end(&self, name: &TaskName) -> Result<wire::Task, Error> {
        let mut subscription = self.notifier.subscribe(name);
        let give_up = tokio::time::Instant::now() + CANCEL_TIMEOUT;
        loop {
            // The row is written with each event, so the log need not be read.
            let row = self.store.get_task(name).await?;
            let is_abandoned = is_abandoned(&row, SystemTime::now());
            let task = task_from_row(row)?;
            let has_ended = !UNFINISHED_STATES.contains(&task.state);
            if has_ended || tokio::time::Instant::now() >= give_up {
                return Ok(task);
            }
            if is_abandoned {
                return self
                    .command(name, None, |task| Ok(cancelled_event(task)))
                    .await;
            }
            // Polls as well: a lease that expires sends no notification.
            let _ = tokio::time::timeout(Duration::from_millis(250), subscription.notified()).await;
        }
    }

    pub(super) async fn pause(&self, request: wire::PauseTaskRequest) -> Result<wire::Task, Error> {
        let name = self.visible_task("name", &request.name).await?;
        let id = request_id("PauseTask", &request.request_id, &request)?;
        let paused = self.command(&name, id, |task| match &task.lifecycle {
            Lifecycle::Paused => Ok(Vec::new()),
            Lifecycle::Running => Ok(vec![Event::Paused {
                reason: task.text(motorium_messages::Message::PausedOnRequest),
            }]),
            _ => Err(wrong_state(task, "only a running task can be paused")),
        });
        paused.await
    }

    pub(super) async fn resume(
        &self,
        request: wire::ResumeTaskRequest,
    ) -> Result<wire::Task, Error> {
        let name = self.visible_task("name", &request.name).await?;
        let id = request_id("ResumeTask", &request.request_id, &request)?;
        let resumed = self.command(&name, id, |task| match &task.lifecycle {
            Lifecycle::Running => Ok(Vec::new()),
            Lifecycle::Paused => Ok(vec![Event::Resumed]),
            _ => Err(wrong_state(task, "only a paused task can be resumed")),
        });
        resumed.await
    }

    pub(super) async fn begin_take_over(
        &self,
        request: wire::TakeOverRequest,
    ) -> Result<wire::Task, Error> {
        let name = self.visible_task("name", &request.name).await?;
        let id = request_id("TakeOver", &request.request_id, &request)?;
        let user = taking_over(request.user)?;
        let taken = self.command(&name, id, |task| match &task.lifecycle {
            _ if task.is_taken_over() && task.operator == user => Ok(Vec::new()),
            _ if task.is_taken_over() => Err(Error::TakenOver {
                task: task.spec.name.clone(),
                operator: task.operator.clone(),
            }),
            Lifecycle::Running | Lifecycle::Paused | Lifecycle::AwaitingUser(_) => {
                Ok(vec![Event::TakenOver { user: user.clone() }])
            }
            _ => Err(wrong_state(
                task,
                "only a started task has a desktop that can be taken over",
            )),
        });
        taken.await
    }

    pub(super) async fn end_take_over(
        &self,
        request: wire::HandBackRequest,
    ) -> Result<wire::Task, Error> {
        let name = self.visible_task("name", &request.name).await?;
        let id = request_id("HandBack", &request.request_id, &request)?;
        let message = request.message;
        let caller = ownership::caller()?;
        let back = self.command(&name, id, |task| {
            if task.is_taken_over() {
                check_hand_back(task, &caller)?;
                return Ok(vec![Event::HandedBack {
                    message: message.clone(),
                }]);
            }
            Err(wrong_state(task, "its desktop is not taken over"))
        });
        back.await
    }

    pub(super) async fn add_message(
        &self,
        request: wire::SendMessageRequest,
    ) -> Result<wire::Task, Error> {
        let name = self.visible_task("name", &request.name).await?;
        if request.text.trim().is_empty() && request.attachments.is_empty() {
            return Err(FieldError::new("text", "is empty; say what the task should know").into());
        }
        spec::check_message("text", &request.text)?;
        let id = request_id("SendMessage", &request.request_id, &request)?;
        let (text, written_by_model) = (request.text, request.written_by_model);
        let attachments = spec::attachments("attachments", request.attachments)?;
        self.check_uploads("attachments", &attachments).await?;
        let attachments = self.stored(attachments).await?;
        let sent = self.command(&name, id, |task| {
            if task.lifecycle.is_terminal() {
                return Err(wrong_state(
                    task,
                    "messages can only be sent to a task that has not ended",
                ));
            }
            let attachments = attachments.clone();
            // Approvals are given by their own call, and a person who has taken over hands the desktop back.
            let answers = task
                .awaited_answer()
                .is_some_and(|it| it.approval.is_none());
            Ok(vec![match answers {
                true => Event::UserAcknowledged {
                    message: text.clone(),
                    attachments,
                    written_by_model,
                },
                false => Event::MessageReceived {
                    text: text.clone(),
                    attachments,
                    written_by_model,
                },
            }])
        });
        sent.await
    }

    pub(super) async fn acknowledge(
        &self,
        request: wire::AcknowledgeUserActionRequest,
    ) -> Result<wire::Task, Error> {
        let name = self.visible_task("name", &request.name).await?;
        spec::check_message("message", &request.message)?;
        let id = request_id("AcknowledgeUserAction", &request.request_id, &request)?;
        let message = request.message;
        let caller = ownership::caller()?;
        let acknowledged = self.command(&name, id, |task| match &task.lifecycle {
            // Acknowledging a manual action also hands back a desktop that was taken over.
            _ if task.is_taken_over() => {
                check_hand_back(task, &caller)?;
                Ok(vec![Event::HandedBack {
                    message: message.clone(),
                }])
            }
            // Acknowledging a request does not approve it.
            Lifecycle::AwaitingUser(request) if request.approval.is_some() => Err(wrong_state(
                task,
                "it waits for an approval; approve or deny it with ResolveApproval",
            )),
            Lifecycle::AwaitingUser(_) => Ok(vec![Event::UserAcknowledged {
                message: message.clone(),
                attachments: Vec::new(),
                written_by_model: false,
            }]),
            _ => Err(wrong_state(task, "it does not wait for a user action")),
        });
        acknowledged.await
    }
}
