//! A task's log in the store: encoding, decoding, and folding it into a task.
//!
//! It does not decide which events are appended: its callers do.

use std::time::SystemTime;

use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_store::{Append, EventRow, NewEvent, RequestId, TaskStore};
use prost::Message as _;

use motorium_task::event::{self, Event, RecordedEvent};
use motorium_task::{Task, invariants, view};

/// Reason why a log cannot be read or extended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "the stored log cannot be read: {detail}; it was written by another version or damaged"
    )]
    Corrupt { detail: String },
    #[error(transparent)]
    Store(#[from] motorium_store::Error),
}

/// Events per read. Bounds the memory of one query.
const EVENT_BATCH_SIZE: u32 = 500;

/// Returns the stored form of an event, with the state of its task after it. This is the one place that sets the state:
/// every append states the sequence number it expects, so its writer knows all earlier events. The sequence number is a
/// column of the row and not part of the body.
#[must_use]
pub fn encode(task: &TaskName, recorded: &RecordedEvent, after: TaskState) -> NewEvent {
    let message = wire::Event {
        sequence: 0,
        state: after.into(),
        ..recorded.to_wire(task)
    };
    let kind = message.kind.as_ref().map_or("", kind_name);
    NewEvent {
        at: recorded.at,
        kind,
        body: message.encode_to_vec().into(),
    }
}

/// Returns the API message of a stored event.
///
/// # Errors
/// If the body is not a valid event.
pub fn message(row: EventRow) -> Result<wire::Event, Error> {
    let mut message = wire::Event::decode(row.body).map_err(|error| Error::Corrupt {
        detail: format!("event {}: {error}", row.seq.0),
    })?;
    message.sequence = row.seq.0;
    Ok(message)
}

/// Returns the event of an API message.
///
/// # Errors
/// If the message is not a valid event. An event of an unknown kind is valid.
pub fn recorded(message: wire::Event) -> Result<RecordedEvent, Error> {
    let seq = message.sequence;
    RecordedEvent::try_from(message).map_err(|error| Error::Corrupt {
        detail: format!("event {seq}: {error}"),
    })
}

/// Returns a stored event as API clients see it.
///
/// # Errors
/// If the body is not a valid event.
pub fn public(row: EventRow) -> Result<wire::Event, Error> {
    message(row).map(event::public_view)
}

/// Reads all events after `after`.
///
/// # Errors
/// If the task is not there or its log cannot be read.
pub async fn read(
    store: &dyn TaskStore,
    name: &TaskName,
    after: EventSeq,
) -> Result<Vec<RecordedEvent>, Error> {
    let messages = read_messages(store, name, after).await?;
    messages.into_iter().map(recorded).collect()
}

/// Reads all events after `after` as API messages, with the state after each.
///
/// # Errors
/// If the task is not there or its log cannot be read.
pub async fn read_messages(
    store: &dyn TaskStore,
    name: &TaskName,
    after: EventSeq,
) -> Result<Vec<wire::Event>, Error> {
    let mut events = Vec::new();
    let mut after = after;
    loop {
        let rows = store.events(name, after, EVENT_BATCH_SIZE).await?;
        let count = rows.len();
        for row in rows {
            after = row.seq;
            events.push(message(row)?);
        }
        // A short batch is the last one, which saves a query for an empty one.
        if count < EVENT_BATCH_SIZE as usize {
            return Ok(events);
        }
    }
}

/// Reads the log and folds it into a task.
///
/// # Errors
/// If the task is not there or its log cannot be read.
pub async fn load(store: &dyn TaskStore, name: &TaskName) -> Result<Task, Error> {
    let events = read(store, name, EventSeq(0)).await?;
    debug_assert_eq!(invariants::violation(&events), None, "{name}");
    Task::from_events(events).ok_or_else(|| Error::Corrupt {
        detail: format!("the log of {name} does not begin with its creation"),
    })
}

/// A task after an attempt to extend its log.
#[derive(Debug, Clone)]
pub struct Extension {
    /// The task as the log tells it now.
    pub task: Task,
    /// True if there were events to append.
    pub has_grown: bool,
}

/// Appends the events that `decide` returns for the current task, and returns the task after them. Retries with the new
/// task if the log has grown meanwhile. The events belong to no step.
///
/// # Errors
/// `decide`'s own, or if the task is not there or cannot be written.
pub async fn extend<E: From<Error>>(
    store: &dyn TaskStore,
    name: &TaskName,
    epoch: Option<TaskEpoch>,
    request: Option<&RequestId>,
    decide: impl Fn(&Task) -> Result<Vec<Event>, E>,
) -> Result<Extension, E> {
    loop {
        let proposal = propose(store, name, &decide).await?;
        // Otherwise another writer was first, and it is decided again on its events. Each conflict means that one of the
        // writers got ahead.
        if let Some(extension) = proposal.append(store, epoch, request).await? {
            return Ok(extension);
        }
    }
}

/// Events that are decided and not in the log yet.
#[derive(Debug)]
pub struct Proposal {
    expected_seq: EventSeq,
    at: SystemTime,
    events: Vec<RecordedEvent>,
    rows: Vec<NewEvent>,
    /// The task with the events.
    task: Task,
}

/// Returns the events that `decide` returns for the current task. They belong to no step.
///
/// # Errors
/// `decide`'s own, or if the task is not there.
pub async fn propose<E: From<Error>>(
    store: &dyn TaskStore,
    name: &TaskName,
    decide: impl Fn(&Task) -> Result<Vec<Event>, E>,
) -> Result<Proposal, E> {
    let mut task = load(store, name).await?;
    let (at, expected_seq) = (SystemTime::now(), task.last_seq);
    let (mut events, mut rows) = (Vec::new(), Vec::new());
    for event in decide(&task)? {
        let recorded = RecordedEvent {
            seq: EventSeq(task.last_seq.0 + 1),
            at,
            step: 0,
            event,
        };
        task.apply(&recorded);
        rows.push(encode(name, &recorded, view::state(&task.lifecycle)));
        events.push(recorded);
    }
    Ok(Proposal {
        expected_seq,
        at,
        events,
        rows,
        task,
    })
}

impl Proposal {
    /// Returns the events.
    #[must_use]
    pub fn events(&self) -> &[RecordedEvent] {
        &self.events
    }

    /// Returns the task as it will be with the events.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Appends the events and returns the task after them; `None` if the log has grown since they were decided.
    ///
    /// # Errors
    /// If the log cannot be written.
    pub async fn append(
        self,
        store: &dyn TaskStore,
        epoch: Option<TaskEpoch>,
        request: Option<&RequestId>,
    ) -> Result<Option<Extension>, Error> {
        let mut task = self.task;
        if self.rows.is_empty() {
            let has_grown = false;
            return Ok(Some(Extension { task, has_grown }));
        }
        let append = Append {
            name: task.spec.name.clone(),
            epoch,
            expected_seq: Some(self.expected_seq),
            events: self.rows,
            notes: None,
            view: Some(row_view(&task)),
            request: request.cloned(),
            lease: None,
            now: self.at,
        };
        match store.append(append).await {
            Ok(appended) => {
                if appended.repeated {
                    // Nothing was appended this time, so the events are not in the log.
                    task = load(store, &task.spec.name).await?;
                }
                let has_grown = true;
                Ok(Some(Extension { task, has_grown }))
            }
            Err(motorium_store::Error::Conflict { .. }) => Ok(None),
            Err(error) => Err(Error::Store(error)),
        }
    }
}

/// Returns the row's state and snapshot.
#[must_use]
pub fn row_view(task: &Task) -> (i32, Bytes) {
    let message = view::task(task);
    (message.state, message.encode_to_vec().into())
}

fn kind_name(kind: &wire::event::Kind) -> &'static str {
    use wire::event::Kind;

    match kind {
        Kind::Created(_) => "created",
        Kind::Started(_) => "started",
        Kind::Recovered(_) => "recovered",
        Kind::DesktopAcquired(_) => "desktop_acquired",
        Kind::LiveFrame(_) => "live_frame",
        Kind::DesktopReleased(_) => "desktop_released",
        Kind::SessionLoaded(_) => "session_loaded",
        Kind::Summarized(_) => "summarized",
        Kind::EndScreenCaptured(_) => "end_screen_captured",
        Kind::DesktopAwaited(_) => "desktop_awaited",
        Kind::AttachmentPut(_) => "attachment_put",
        Kind::Observed(_) => "observed",
        Kind::Decided(_) => "decided",
        Kind::ProgressAdded(_) => "progress_added",
        Kind::ProgressCorrected(_) => "progress_corrected",
        Kind::BackendSkipped(_) => "backend_skipped",
        Kind::ActionIntended(_) => "action_intended",
        Kind::ActionPerformed(_) => "action_performed",
        Kind::EffectJudged(_) => "effect_judged",
        Kind::ActionRetried(_) => "action_retried",
        Kind::PointerChecked(_) => "pointer_checked",
        Kind::StepFinished(_) => "step_finished",
        Kind::TargetNotResolved(_) => "target_not_resolved",
        Kind::FunctionCalled(_) => "function_called",
        Kind::FunctionReturned(_) => "function_returned",
        Kind::Extracted(_) => "extracted",
        Kind::UserAsked(_) => "user_asked",
        Kind::UserAcknowledged(_) => "user_acknowledged",
        Kind::MessageReceived(_) => "message_received",
        Kind::ApprovalRequested(_) => "approval_requested",
        Kind::ApprovalResolved(_) => "approval_resolved",
        Kind::TakenOver(_) => "taken_over",
        Kind::HumanActed(_) => "human_acted",
        Kind::HandedBack(_) => "handed_back",
        Kind::Paused(_) => "paused",
        Kind::Resumed(_) => "resumed",
        Kind::CancelRequested(_) => "cancel_requested",
        Kind::LoopDetected(_) => "loop_detected",
        Kind::InjectionSuspected(_) => "injection_suspected",
        Kind::CompletionChecked(_) => "completion_checked",
        Kind::ResultFetched(_) => "result_fetched",
        Kind::TransientFailure(_) => "transient_failure",
        Kind::HookIntervened(_) => "hook_intervened",
        Kind::Succeeded(_) => "succeeded",
        Kind::Failed(_) => "failed",
        Kind::Cancelled(_) => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(body: Bytes) -> EventRow {
        EventRow {
            seq: EventSeq(3),
            at: SystemTime::UNIX_EPOCH,
            kind: String::new(),
            body,
        }
    }

    fn decode(row: EventRow) -> Result<Event, Error> {
        Ok(recorded(message(row)?)?.event)
    }

    fn encoded(event: Event, after: TaskState) -> Bytes {
        let recorded = RecordedEvent {
            seq: EventSeq(3),
            at: SystemTime::UNIX_EPOCH,
            step: 1,
            event,
        };
        encode(&TaskName::from_segment("t").unwrap(), &recorded, after).body
    }

    #[test]
    fn a_stored_event_has_the_state_after_it() {
        let corrected = Event::ProgressCorrected {
            sequence: EventSeq(2),
            text: "opened".to_owned(),
        };
        let body = encoded(corrected.clone(), TaskState::AwaitingUser);
        let public = public(row(body.clone())).unwrap();
        assert_eq!(public.state(), TaskState::AwaitingUser);
        assert_eq!(public.sequence, 3);
        assert_eq!(decode(row(body)).unwrap(), corrected);
    }

    #[test]
    fn event_of_a_newer_version_is_preserved_as_unknown() {
        let mut body = encoded(Event::Unknown, TaskState::Running).to_vec();
        // Field 250, an empty message: a kind that this version does not have.
        body.extend([0xd2, 0x0f, 0x00]);
        assert_eq!(decode(row(body.clone().into())).unwrap(), Event::Unknown);
        let public = public(row(body.into())).unwrap();
        assert_eq!((public.state(), public.kind), (TaskState::Running, None));
        assert!(decode(row(Bytes::from_static(&[0xff]))).is_err());
    }
}
