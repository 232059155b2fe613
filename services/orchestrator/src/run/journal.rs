//! The log of one running task: what is appended, fenced by the lease, and what others have appended meanwhile.
//!
//! Invariant: the task in memory is the fold of the log and, after it, of what is deferred; deferred events go into
//! the log together with the next recorded one, in order. Nothing is appended to a task that has ended.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_store::{Append, Bell, Doorbell, TaskStore};
use tokio::sync::watch;
use tokio::time::Instant;
use tonic::Code;

use super::person::Deeds;
use super::{Flow, Halt, Stop, StopSignal};
use crate::error::Error;
use crate::log;
use crate::recording::Tape;
use crate::task::event::{Event, Recorded};
use crate::task::{Lifecycle, Task};

/// How often the log is looked at for what others appended if nobody rings and nothing is appended here. Whoever appends
/// rings; a ring is lost when the connection to another process is, and that is made up for when it is there again.
const POLL: Duration = Duration::from_secs(5);

/// What a person does is told a moment later: what is told so soon after a task has begun or gone on was done before.
const HANDS_OFF: Duration = Duration::from_secs(1);

/// What the journal's own work has shown, so that nobody else need look for it.
#[derive(Debug, Clone, Copy)]
struct Known {
    /// When an append last went through: then the row was ours, and nobody had appended what we did not know.
    appended_at: Instant,
    /// The last that is known of what others have appended.
    others: EventSeq,
}

/// The log of one running task.
pub struct Journal {
    store: Arc<dyn TaskStore>,
    /// Rung with every append; heard when others have appended.
    bell: Bell,
    /// When the log was last read by this one.
    read_at: Option<Instant>,
    task: TaskName,
    epoch: TaskEpoch,
    /// How long the task's row stays ours without being renewed.
    lease: Duration,
    /// Last number that is in the store and in memory.
    stored: EventSeq,
    known: watch::Sender<Known>,
    deferred: Vec<Recorded>,
    /// Says when things happen.
    tape: Tape,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Journal")
            .field("task", &self.task)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// The log of a task that was claimed with this epoch and loaded from the store.
    pub fn new(
        store: Arc<dyn TaskStore>,
        doorbell: &Doorbell,
        task: &Task,
        epoch: TaskEpoch,
        lease: Duration,
    ) -> Self {
        let stored = task.last_seq;
        Self {
            store,
            bell: doorbell.subscribe(&task.spec.name),
            // What was appended between loading the task and listening is found at the first look.
            read_at: None,
            task: task.spec.name.clone(),
            epoch,
            lease,
            stored,
            known: watch::Sender::new(Known {
                appended_at: Instant::now(),
                others: stored,
            }),
            deferred: Vec::new(),
            tape: Tape::Off,
        }
    }

    pub(super) fn keep_time_by(&mut self, tape: Tape) {
        self.tape = tape;
    }

    /// Takes an event into the task now and into the log with the next recorded one.
    pub(super) fn defer(&mut self, task: &mut Task, event: Event) {
        let seq = EventSeq(task.last_seq.0 + 1);
        let recorded = Recorded {
            seq,
            at: self.tape.stamp(seq),
            step: step_of(task, &event),
            event,
        };
        task.apply(&recorded);
        self.deferred.push(recorded);
    }

    /// Writes what was deferred. If others have appended meanwhile, their events are taken in first; if they have
    /// ended the task, nothing is written.
    pub(super) async fn flush(&mut self, task: &mut Task) -> Flow {
        while !self.deferred.is_empty() {
            let encode = |recorded: &Recorded| {
                log::encode(
                    &self.task,
                    recorded.at,
                    recorded.step,
                    recorded.event.clone(),
                )
            };
            let append = Append {
                name: self.task.clone(),
                epoch: Some(self.epoch),
                expected_seq: Some(self.stored),
                events: self.deferred.iter().map(encode).collect(),
                notes: self.tape.unwritten(),
                view: Some(log::row_view(task)),
                request: None,
                lease: Some(self.lease),
                now: SystemTime::now(),
            };
            let began = Instant::now();
            match self.store.append(append).await {
                Ok(appended) => {
                    self.stored = appended.last_seq;
                    self.known.send_modify(|known| known.appended_at = began);
                    task.last_seq = appended.last_seq;
                    self.deferred.clear();
                    self.tape.written();
                    self.bell.ring();
                }
                Err(error @ motorium_store::Error::Conflict { last, .. }) if last < self.stored => {
                    // A database that has lost commits. What it has is what counts; it is loaded anew by the next run.
                    return Err(Halt::Lost(error.to_string()));
                }
                Err(motorium_store::Error::Conflict { .. }) => {
                    self.take_in(task).await?;
                    if self.deferred.is_empty() {
                        return Err(Halt::LookAgain);
                    }
                }
                Err(error) => return Err(Halt::Lost(error.to_string())),
            }
        }
        Ok(())
    }

    /// Takes in what others have appended, if anybody rang or nobody has for long.
    pub(super) async fn sync(&mut self, task: &mut Task) -> Flow {
        let appended_at = self.known.borrow().appended_at;
        let is_due = |read_at: Instant| read_at.max(appended_at).elapsed() >= POLL;
        let is_due = self.read_at.is_none_or(is_due);
        if self.bell.has_rung() || is_due {
            self.take_in(task).await?;
        }
        Ok(())
    }

    /// Takes in what others have appended, whether anybody rang or not.
    pub(super) async fn take_in(&mut self, task: &mut Task) -> Flow {
        let lost = |error: Error| Halt::Lost(error.to_string());
        self.read_at = Some(Instant::now());
        let foreign = log::read(self.store.as_ref(), &self.task, self.stored).await;
        let foreign = foreign.map_err(lost)?;
        let Some(last) = foreign.last() else {
            return Ok(());
        };
        self.known.send_modify(|known| known.others = last.seq);
        if self.deferred.is_empty() {
            self.tape.took_in(last.seq);
            self.stored = last.seq;
            foreign.iter().for_each(|recorded| task.apply(recorded));
            return Ok(());
        }
        // What others have appended stands before what is deferred, so it has to be folded before it.
        *task = log::load(self.store.as_ref(), &self.task)
            .await
            .map_err(lost)?;
        // It may be longer by now than what was read first.
        self.tape.took_in(task.last_seq);
        self.stored = task.last_seq;
        if task.lifecycle.is_terminal() {
            self.deferred.clear();
        }
        // Somebody has it paused or has its desktop: it does not end under their hands. A cancelled one does, by their wish.
        if matches!(
            task.lifecycle,
            Lifecycle::Paused | Lifecycle::AwaitingUser(_)
        ) {
            self.deferred.retain(|recorded| {
                !matches!(recorded.event, Event::Succeeded { .. } | Event::Failed(_))
            });
        }
        for recorded in &mut self.deferred {
            recorded.seq = EventSeq(task.last_seq.0 + 1);
            task.apply(recorded);
        }
        Ok(())
    }

    /// Waits until somebody may have appended something.
    pub(super) async fn changed(&mut self, task: &mut Task) -> Flow {
        let _ = tokio::time::timeout(POLL, self.bell.rung()).await;
        self.take_in(task).await
    }

    /// What tells the run when the user cancels or pauses.
    pub(super) fn listen(&self, stop: StopSignal) -> impl Future<Output = ()> + Send + use<> {
        let (store, task) = (Arc::clone(&self.store), self.task.clone());
        let known = self.known.subscribe();
        listen(store, task, self.bell.twin(), self.stored, known, stop)
    }

    /// What pauses the task as soon as a person does something while it runs.
    pub(super) fn pause_for_people(&self, deeds: Deeds) -> impl Future<Output = ()> + Send + use<> {
        let (store, task) = (Arc::clone(&self.store), self.task.clone());
        pause_for_people(store, task, self.epoch, self.bell.twin(), deeds)
    }

    /// What keeps the task's row ours.
    pub(super) fn keep(&self, stop: StopSignal) -> impl Future<Output = ()> + Send + use<> {
        let (store, task) = (Arc::clone(&self.store), self.task.clone());
        let known = self.known.subscribe();
        keep(store, task, self.epoch, self.lease, known, stop)
    }

    /// Where the log is.
    pub(super) fn store(&self) -> Arc<dyn TaskStore> {
        Arc::clone(&self.store)
    }

    /// Gives the task's row back.
    pub(super) async fn release(&self) {
        if let Err(error) = self.store.release(&self.task, self.epoch).await {
            tracing::warn!(task = %self.task, %error, "the task could not be given back; its lease will expire");
        }
        self.bell.ring();
    }
}

async fn listen(
    store: Arc<dyn TaskStore>,
    task: TaskName,
    mut bell: Bell,
    mut seen: EventSeq,
    known: watch::Receiver<Known>,
    stop: StopSignal,
) {
    loop {
        match log::read(store.as_ref(), &task, seen).await {
            Ok(events) => {
                for recorded in events {
                    seen = recorded.seq;
                    match recorded.event {
                        Event::CancelRequested { .. } => stop.request(Stop::Cancelled),
                        Event::Paused { .. } => stop.pause(recorded.seq),
                        Event::TakenOver { .. } => stop.take_over(recorded.seq),
                        Event::Resumed | Event::HandedBack { .. } => stop.seen(recorded.seq),
                        _ => {}
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%task, %error, "the log cannot be read; trying again");
                let _ = tokio::time::timeout(POLL, bell.rung()).await;
                continue;
            }
        }
        while tokio::time::timeout(POLL, bell.rung()).await.is_err() {
            // A ring may be lost. As long as appends go through, nobody else has appended.
            let Known {
                appended_at,
                others,
            } = *known.borrow();
            if appended_at.elapsed() >= POLL || others > seen {
                break;
            }
        }
    }
}

async fn pause_for_people(
    store: Arc<dyn TaskStore>,
    task: TaskName,
    epoch: TaskEpoch,
    bell: Bell,
    mut deeds: Deeds,
) {
    while let Some(deed) = deeds.next().await {
        match deed {
            Ok(_) => match pause(store.as_ref(), &task, epoch).await {
                Ok(true) => bell.ring(),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%task, %error, "somebody uses mouse or keyboard, and the task could not be paused");
                }
            },
            Err(report) if report.code == Code::Unimplemented => return,
            Err(report) => {
                tracing::debug!(%task, %report, "whether somebody uses mouse or keyboard is not told");
            }
        }
    }
}

/// Pauses a task that runs; whether it did.
async fn pause(store: &dyn TaskStore, name: &TaskName, epoch: TaskEpoch) -> Result<bool, Error> {
    let paused = log::extend(store, name, Some(epoch), None, |task| {
        let runs = task.runs_since(HANDS_OFF, SystemTime::now()) && task.cancel_requested.is_none();
        let event = runs.then(|| Event::Paused {
            reason: "somebody uses the mouse or the keyboard".to_owned(),
        });
        Ok(event.into_iter().collect())
    });
    paused.await
}

async fn keep(
    store: Arc<dyn TaskStore>,
    task: TaskName,
    epoch: TaskEpoch,
    lease: Duration,
    known: watch::Receiver<Known>,
    stop: StopSignal,
) {
    let mut kept_at = Instant::now();
    loop {
        tokio::time::sleep_until(kept_at + lease / 3).await;
        // A task at work keeps its row with every append.
        let appended_at = known.borrow().appended_at;
        if appended_at > kept_at {
            kept_at = appended_at;
            continue;
        }
        kept_at = Instant::now();
        match store.renew(&task, epoch, lease, SystemTime::now()).await {
            Ok(()) => {}
            Err(error @ motorium_store::Error::LeaseLost { .. }) => {
                stop.request(Stop::LeaseLost(error.to_string()));
                return;
            }
            Err(error) => {
                tracing::warn!(%task, %error, "the lease could not be renewed; trying again");
            }
        }
    }
}

/// The step that an event belongs to: a new one for what was observed, the last one for all else of the loop.
fn step_of(task: &Task, event: &Event) -> u32 {
    match event {
        Event::Observed(_) => task.next_step(),
        _ if task.lifecycle == Lifecycle::Pending => 0,
        _ => task.steps.last().map_or(0, |step| step.number),
    }
}
