//! The event log of one running task: appends, fenced by the lease, and events that others appended.
//!
//! Invariant: the task in memory is the fold of the stored events followed by the deferred ones. Deferred events are
//! stored together with the next recorded one, in order. Nothing is appended to a task that has ended.
//!
//! It does not decide which events happen: the run loop does.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use motorium_messages::Message;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_proto::service::{HumanInput, ResultStream};
use motorium_proto::v1::orchestrator::task::State as TaskState;
use motorium_store::audit::AuditLog;
use motorium_store::{Append, TaskNotifier, TaskStore, TaskSubscription};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Code;

use super::{Halt, RunResult, StopReason, StopSignal};
use crate::audit;
use crate::error::Error;
use motorium_recording::log;
use motorium_recording::recording::RecordingMode;
use motorium_task::event::{Event, RecordedEvent};
use motorium_task::{Lifecycle, Task, view};

/// Interval at which the log is read when there is no notification and no append.
// Every append notifies; a notification is lost only while the connection to another process is down.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Grace period after a task starts or resumes in which human input is ignored.
// Input is reported with a short delay, so early reports may be about input from before.
const HUMAN_INPUT_GRACE_PERIOD: Duration = Duration::from_secs(1);

/// Facts proven by the journal's own appends, which let its background work skip queries.
#[derive(Debug, Clone, Copy)]
struct LogProgress {
    /// Time of the last successful append. It proves that the lease was held and that no unknown event existed.
    appended_at: Instant,
    /// Sequence number of the last event known to be appended by others.
    last_foreign_seq: EventSeq,
}

/// An event that is in memory and not stored yet.
#[derive(Debug)]
struct DeferredEvent {
    recorded: RecordedEvent,
    /// State of the task after the event.
    state: TaskState,
    /// True once it is in the audit log, or needs no record there.
    audited: bool,
}

impl DeferredEvent {
    /// Applies the event to the task and takes note of the state after it.
    fn apply(recorded: RecordedEvent, task: &mut Task) -> Self {
        task.apply(&recorded);
        let state = view::state(&task.lifecycle);
        Self {
            recorded,
            state,
            audited: false,
        }
    }
}

/// The event log of one running task.
pub struct Journal {
    store: Arc<dyn TaskStore>,
    /// Notifies others of appends, and is notified of theirs.
    subscription: TaskSubscription,
    /// Time at which this journal last read the log.
    read_at: Option<Instant>,
    /// The fold of the stored events followed by the deferred ones.
    task: Task,
    epoch: TaskEpoch,
    /// Duration of the task's lease without renewal.
    lease_duration: Duration,
    /// Last sequence number that is both stored and in memory.
    stored_seq: EventSeq,
    known: watch::Sender<LogProgress>,
    deferred: Vec<DeferredEvent>,
    /// Source of event times; replays recorded times.
    clock: RecordingMode,
    /// Records actions and approvals before they are stored.
    audit: AuditLog,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("task", self.name())
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Creates the log of a task claimed with this epoch and loaded from the store. `audit` records its actions and approvals.
    pub fn new(
        store: Arc<dyn TaskStore>,
        notifier: &TaskNotifier,
        task: Task,
        epoch: TaskEpoch,
        lease_duration: Duration,
        audit: AuditLog,
    ) -> Self {
        let stored_seq = task.last_seq;
        Self {
            store,
            subscription: notifier.subscribe(&task.spec.name),
            // Forces a first read, which finds events appended between loading the task and subscribing.
            read_at: None,
            task,
            epoch,
            lease_duration,
            stored_seq,
            known: watch::Sender::new(LogProgress {
                appended_at: Instant::now(),
                last_foreign_seq: stored_seq,
            }),
            deferred: Vec::new(),
            clock: RecordingMode::Off,
            audit,
        }
    }

    /// Returns the task as the log tells it. Only the journal changes it.
    pub(super) fn task(&self) -> &Task {
        &self.task
    }

    fn name(&self) -> &TaskName {
        &self.task.spec.name
    }

    pub(super) fn set_clock(&mut self, mode: RecordingMode) {
        self.clock = mode;
    }

    /// Applies an event to the task now and stores it with the next recorded one.
    pub(super) fn defer(&mut self, event: Event) {
        let seq = EventSeq(self.task.last_seq.0 + 1);
        let recorded = RecordedEvent {
            seq,
            at: self.clock.event_time(seq),
            step: step_of(&self.task, &event),
            event,
        };
        self.deferred
            .push(DeferredEvent::apply(recorded, &mut self.task));
    }

    /// Stores deferred events. Events appended by others meanwhile are merged first; if those ended the task, nothing
    /// is stored.
    pub(super) async fn flush(&mut self) -> RunResult {
        while !self.deferred.is_empty() {
            self.audit_deferred().await?;
            let encode = |deferred: &DeferredEvent| {
                log::encode(self.name(), &deferred.recorded, deferred.state)
            };
            let append = Append {
                name: self.name().clone(),
                epoch: Some(self.epoch),
                expected_seq: Some(self.stored_seq),
                events: self.deferred.iter().map(encode).collect(),
                notes: self.clock.pending(),
                view: Some(log::row_view(&self.task)),
                request: None,
                lease: Some(self.lease_duration),
                now: SystemTime::now(),
            };
            let began = Instant::now();
            match self.store.append(append).await {
                Ok(appended) => {
                    self.stored_seq = appended.last_seq;
                    self.known.send_modify(|known| known.appended_at = began);
                    self.task.last_seq = appended.last_seq;
                    self.deferred.clear();
                    self.clock.mark_written();
                    self.subscription.notify_others();
                }
                Err(error @ motorium_store::Error::Conflict { last, .. })
                    if last < self.stored_seq =>
                {
                    // The database has lost commits. The stored log is authoritative; the next run loads it anew.
                    return Err(Halt::OwnershipLost(error.to_string()));
                }
                Err(motorium_store::Error::Conflict { .. }) => {
                    self.merge_foreign_events().await?;
                    if self.deferred.is_empty() {
                        return Err(Halt::Reevaluate);
                    }
                }
                Err(error) => return Err(Halt::OwnershipLost(error.to_string())),
            }
        }
        Ok(())
    }

    /// Records deferred events in the audit log: an action that cannot be recorded is not performed. After a crash between
    /// this record and the event, the next run may record an outcome again.
    async fn audit_deferred(&mut self) -> RunResult {
        let new = self.deferred.iter().filter(|deferred| !deferred.audited);
        let entries = new.filter_map(|deferred| audit::event(&self.task.spec, &deferred.recorded));
        let recorded = self.audit.record(entries.collect()).await;
        recorded.map_err(|error| Halt::OwnershipLost(format!("the audit log failed: {error}")))?;
        let deferred = self.deferred.iter_mut();
        deferred.for_each(|deferred| deferred.audited = true);
        Ok(())
    }

    /// Merges events appended by others, after a notification or once [`POLL_INTERVAL`] has passed.
    pub(super) async fn sync(&mut self) -> RunResult {
        let appended_at = self.known.borrow().appended_at;
        let is_due = |read_at: Instant| read_at.max(appended_at).elapsed() >= POLL_INTERVAL;
        let is_due = self.read_at.is_none_or(is_due);
        if self.subscription.try_notified() || is_due {
            self.merge_foreign_events().await?;
        }
        Ok(())
    }

    /// Merges events appended by others, without waiting for a notification.
    pub(super) async fn merge_foreign_events(&mut self) -> RunResult {
        let lost = |error: log::Error| Halt::OwnershipLost(error.to_string());
        self.read_at = Some(Instant::now());
        let foreign = log::read(self.store.as_ref(), self.name(), self.stored_seq).await;
        let foreign = foreign.map_err(lost)?;
        let Some(last) = foreign.last() else {
            return Ok(());
        };
        self.known
            .send_modify(|known| known.last_foreign_seq = last.seq);
        if self.deferred.is_empty() {
            self.clock.log_read(last.seq);
            self.stored_seq = last.seq;
            foreign
                .iter()
                .for_each(|recorded| self.task.apply(recorded));
            return Ok(());
        }
        // Events of others precede the deferred ones in the log, so they have to be folded first.
        self.task = log::load(self.store.as_ref(), self.name())
            .await
            .map_err(lost)?;
        // The log may have grown since it was read above.
        self.clock.log_read(self.task.last_seq);
        self.stored_seq = self.task.last_seq;
        if self.task.lifecycle.is_terminal() {
            self.deferred.clear();
        }
        // A paused or taken-over task must not end while a person uses its desktop. A cancelled one may, at the user's
        // request.
        if self.task.lifecycle == Lifecycle::Paused || self.task.is_taken_over() {
            self.deferred.retain(|deferred| {
                let event = &deferred.recorded.event;
                !matches!(event, Event::Succeeded { .. } | Event::Failed(_))
            });
        }
        for deferred in std::mem::take(&mut self.deferred) {
            let recorded = RecordedEvent {
                seq: EventSeq(self.task.last_seq.0 + 1),
                ..deferred.recorded
            };
            self.deferred.push(DeferredEvent {
                audited: deferred.audited,
                ..DeferredEvent::apply(recorded, &mut self.task)
            });
        }
        Ok(())
    }

    /// Waits until others may have appended events, and merges them.
    pub(super) async fn wait_for_change(&mut self) -> RunResult {
        let _ = tokio::time::timeout(POLL_INTERVAL, self.subscription.notified()).await;
        self.merge_foreign_events().await
    }

    /// Returns a future that signals cancellation, pause and take-over to the run.
    pub(super) fn listen(&self, stop: StopSignal) -> impl Future<Output = ()> + Send + use<> {
        let (store, task) = (Arc::clone(&self.store), self.name().clone());
        let known = self.known.subscribe();
        listen(
            store,
            task,
            self.subscription.sibling(),
            self.stored_seq,
            known,
            stop,
        )
    }

    /// Returns a future that pauses the task on human input.
    pub(super) fn pause_on_human_input(
        &self,
        inputs: ResultStream<HumanInput>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (store, task) = (Arc::clone(&self.store), self.name().clone());
        pause_for_people(store, task, self.epoch, self.subscription.sibling(), inputs)
    }

    /// Returns a future that renews the task's lease.
    pub(super) fn keep_lease(&self, stop: StopSignal) -> impl Future<Output = ()> + Send + use<> {
        let (store, task) = (Arc::clone(&self.store), self.name().clone());
        let known = self.known.subscribe();
        keep(store, task, self.epoch, self.lease_duration, known, stop)
    }

    /// Returns the store.
    pub(super) fn store(&self) -> Arc<dyn TaskStore> {
        Arc::clone(&self.store)
    }

    /// Releases the task's lease.
    pub(super) async fn release(&self) {
        if let Err(error) = self.store.release(self.name(), self.epoch).await {
            tracing::warn!(task = %self.name(), %error, "releasing the task failed; its lease will expire");
        }
        self.subscription.notify_others();
    }
}

async fn listen(
    store: Arc<dyn TaskStore>,
    task: TaskName,
    mut subscription: TaskSubscription,
    mut seen: EventSeq,
    known: watch::Receiver<LogProgress>,
    stop: StopSignal,
) {
    loop {
        match log::read(store.as_ref(), &task, seen).await {
            Ok(events) => {
                for recorded in events {
                    seen = recorded.seq;
                    match recorded.event {
                        Event::CancelRequested { .. } => stop.request(StopReason::Cancelled),
                        Event::Paused { .. } => stop.pause(recorded.seq),
                        Event::TakenOver { .. } => stop.take_over(recorded.seq),
                        Event::Resumed | Event::HandedBack { .. } => stop.acknowledge(recorded.seq),
                        _ => {}
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%task, %error, "reading the log failed; retrying");
                let _ = tokio::time::timeout(POLL_INTERVAL, subscription.notified()).await;
                continue;
            }
        }
        while tokio::time::timeout(POLL_INTERVAL, subscription.notified())
            .await
            .is_err()
        {
            // A notification may be lost. As long as appends succeed, no one else has appended.
            let LogProgress {
                appended_at,
                last_foreign_seq: others,
            } = *known.borrow();
            if appended_at.elapsed() >= POLL_INTERVAL || others > seen {
                break;
            }
        }
    }
}

async fn pause_for_people(
    store: Arc<dyn TaskStore>,
    task: TaskName,
    epoch: TaskEpoch,
    subscription: TaskSubscription,
    mut inputs: ResultStream<HumanInput>,
) {
    while let Some(input) = inputs.next().await {
        match input {
            Ok(_) => match pause(store.as_ref(), &task, epoch).await {
                Ok(true) => subscription.notify_others(),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%task, %error, "a person uses the mouse or the keyboard, but the task could not be paused");
                }
            },
            Err(report) if report.code == Code::Unimplemented => return,
            Err(report) => {
                tracing::debug!(%task, %report, "human input cannot be watched");
            }
        }
    }
}

/// Pauses a running task. Returns whether it did.
async fn pause(store: &dyn TaskStore, name: &TaskName, epoch: TaskEpoch) -> Result<bool, Error> {
    let paused = log::extend(store, name, Some(epoch), None, |task| {
        let runs = task.has_run_for(HUMAN_INPUT_GRACE_PERIOD, SystemTime::now())
            && task.cancel_requested.is_none();
        let event = runs.then(|| Event::Paused {
            reason: task.text(Message::PausedOnInput),
        });
        Ok(event.into_iter().collect())
    });
    paused.await.map(|extension| extension.has_grown)
}

async fn keep(
    store: Arc<dyn TaskStore>,
    task: TaskName,
    epoch: TaskEpoch,
    lease: Duration,
    known: watch::Receiver<LogProgress>,
    stop: StopSignal,
) {
    let mut kept_at = Instant::now();
    loop {
        tokio::time::sleep_until(kept_at + lease / 3).await;
        // Every append renews the lease as well.
        let appended_at = known.borrow().appended_at;
        if appended_at > kept_at {
            kept_at = appended_at;
            continue;
        }
        kept_at = Instant::now();
        match store.renew(&task, epoch, lease, SystemTime::now()).await {
            Ok(()) => {}
            Err(error @ motorium_store::Error::LeaseLost { .. }) => {
                stop.request(StopReason::LeaseLost(error.to_string()));
                return;
            }
            Err(error) => {
                tracing::warn!(%task, %error, "renewing the lease failed; retrying");
            }
        }
    }
}

/// Returns the step that an event belongs to: a new one for an observation, the last one otherwise.
fn step_of(task: &Task, event: &Event) -> u32 {
    match event {
        Event::Observed(_) => task.next_step(),
        _ if task.lifecycle == Lifecycle::Pending => 0,
        _ => task.steps.last().map_or(0, |step| step.number),
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::v1::orchestrator as wire;
    use motorium_store::{CreateTask, Durability, SqliteStore};
    use motorium_task::owner::Owner;
    use motorium_task::spec::{LimitRules, TaskSpec};
    use tempfile::TempDir;

    use super::*;

    /// A stored, claimed task and its journal.
    struct ClaimedTask {
        store: Arc<dyn TaskStore>,
        journal: Journal,
        _folder: TempDir,
    }

    impl ClaimedTask {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("tasks.db");
            let store = SqliteStore::open(&file, Durability::Normal).await.unwrap();
            let store: Arc<dyn TaskStore> = Arc::new(store);
            let task = create(store.as_ref()).await;
            let lease = Duration::from_secs(60);
            let claim = store
                .claim(&task.spec.name, "o", lease, SystemTime::now())
                .await;
            let epoch = claim.unwrap().unwrap().epoch;
            let journal = Journal::new(
                store.clone(),
                &TaskNotifier::new(),
                task,
                epoch,
                lease,
                AuditLog::off(),
            );
            Self {
                store,
                journal,
                _folder: folder,
            }
        }

        /// Appends an event as a client does.
        async fn append_foreign(&self, event: Event) {
            let name = self.journal.name();
            let decide = |_: &Task| Ok::<_, log::Error>(vec![event.clone()]);
            let extended = log::extend(self.store.as_ref(), name, None, None, decide).await;
            assert!(extended.unwrap().has_grown);
        }

        async fn stored(&self) -> Vec<Event> {
            let events = log::read(self.store.as_ref(), self.journal.name(), EventSeq(1)).await;
            let events = events.unwrap().into_iter();
            events.map(|recorded| recorded.event).collect()
        }
    }

    async fn create(store: &dyn TaskStore) -> Task {
        let name = TaskName::from_segment("t").unwrap();
        let goal = wire::Task {
            goal: "click \"a\"".to_owned(),
            ..wire::Task::default()
        };
        let (owner, limits) = (Owner::default(), LimitRules::default());
        let spec = TaskSpec::from_wire(name.clone(), "u".to_owned(), owner, goal, limits).unwrap();
        let now = SystemTime::now();
        let task = Task::new(spec.clone(), EventSeq(1), now);
        let (state, snapshot) = log::row_view(&task);
        let tenant = spec.owner.tenant.clone();
        let created = RecordedEvent {
            seq: EventSeq(1),
            at: now,
            step: 0,
            event: Event::Created(Box::new(spec)),
        };
        let create = CreateTask {
            name: name.clone(),
            uid: "u".to_owned(),
            tenant,
            session: None,
            state,
            priority: 0,
            run_after: None,
            labels: Default::default(),
            snapshot,
            first_event: log::encode(&name, &created, view::state(&task.lifecycle)),
            request: None,
            now,
        };
        store.create_task(create).await.unwrap();
        task
    }

    fn started() -> Event {
        Event::Started {
            orchestrator: "o".to_owned(),
        }
    }

    fn message() -> Event {
        Event::MessageReceived {
            text: "be quick".to_owned(),
            attachments: Vec::new(),
            written_by_model: false,
        }
    }

    #[tokio::test]
    async fn a_deferred_event_is_known_at_once_and_stored_with_the_next() {
        let mut task = ClaimedTask::new().await;
        task.journal.defer(started());
        assert_eq!(task.journal.task().lifecycle, Lifecycle::Running);
        assert_eq!(task.stored().await, []);
        task.journal.defer(message());
        task.journal.flush().await.unwrap();
        assert_eq!(task.stored().await, [started(), message()]);
    }

    #[tokio::test]
    async fn foreign_events_precede_deferred_events() {
        let mut task = ClaimedTask::new().await;
        task.journal.defer(started());
        task.append_foreign(message()).await;
        task.journal.flush().await.unwrap();
        assert_eq!(task.stored().await, [message(), started()]);
        assert_eq!(task.journal.task().last_seq, EventSeq(3));
    }

    #[tokio::test]
    async fn ended_task_accepts_no_deferred_events() {
        let mut task = ClaimedTask::new().await;
        let cancelled = Event::Cancelled {
            reason: "enough".to_owned(),
        };
        task.journal.defer(started());
        task.append_foreign(cancelled.clone()).await;
        assert!(matches!(task.journal.flush().await, Err(Halt::Reevaluate)));
        assert_eq!(task.stored().await, [cancelled]);
    }

    #[tokio::test]
    async fn a_paused_task_does_not_end_meanwhile() {
        let mut task = ClaimedTask::new().await;
        task.journal.defer(started());
        task.journal.flush().await.unwrap();
        let paused = Event::Paused {
            reason: "wait".to_owned(),
        };
        task.append_foreign(paused.clone()).await;
        task.journal.defer(Event::Succeeded {
            answer: "done".to_owned(),
        });
        assert!(matches!(task.journal.flush().await, Err(Halt::Reevaluate)));
        assert_eq!(task.stored().await, [started(), paused]);
    }
}
