//! Replays a recorded run in memory: answers the run loop and compares its requests and events with the recording.
//!
//! - `playback`: clock readings, notes and responses from the recording
//! - `store`: the log, in memory, which compares new events with the recorded ones
//! - `unavailable`: services that never respond
//!
//! The whole state is one position in the recording and one in the log. User input is inserted into the log where the recording
//! shows that the loop read it. The first difference ends the replay; requests after it get no response.

mod playback;
mod store;
mod unavailable;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::id::TaskName;
use motorium_proto::v1::common::target::Target as Kind;
use motorium_proto::v1::orchestrator::Exchange;
use motorium_proto::v1::planner::ResolveTargetRequest;
use motorium_store::{EventRow, TaskNotifier};
use prost::Message as _;
use tokio::sync::watch;

use self::store::row;
pub use self::unavailable::unavailable_services;
use super::compare;
use super::difference::Difference;
use super::folder::{ExportFolder, Run};
use crate::recording::{LOG, RUN, RecentScreens, STOPPED, TRUNCATED};
use motorium_task::event::{Event, EventSource, RecordedEvent};

/// Outcome of replaying a run.
#[derive(Debug, Clone)]
pub enum ReplayEnd {
    Matches,
    /// The recorded run was interrupted in the middle of a step, and the recording ends there.
    RecordingEnded,
    Differs(Box<Difference>),
}

pub struct Player {
    task: TaskName,
    log: Vec<RecordedEvent>,
    contents: HashMap<[u8; 32], Bytes>,
    begins: usize,
    ends: usize,
    is_last: bool,
    notifier: TaskNotifier,
    state: Mutex<PlayerState>,
    /// Incremented with every change of position.
    moved: watch::Sender<u64>,
    over: watch::Sender<Option<ReplayEnd>>,
}

impl std::fmt::Debug for Player {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Player")
            .field("task", &self.task)
            .finish_non_exhaustive()
    }
}

struct PlayerState {
    exchanges: Vec<Exchange>,
    next: usize,
    rows: Vec<EventRow>,
    now: SystemTime,
    known: RecentScreens,
}

impl Player {
    pub fn new(folder: &ExportFolder, run: &Run, notifier: TaskNotifier) -> Self {
        let task = folder.task.spec.name.clone();
        let mut exchanges = run.exchanges.clone();
        exchanges.retain(|exchange| {
            exchange.method != RUN
                && exchange.method != TRUNCATED
                && !is_resolved_in_process(exchange)
        });
        let begun = &folder.log[..run.first_event];
        let now = begun.last().map_or(SystemTime::UNIX_EPOCH, |last| last.at);
        let rows = begun.iter().map(|recorded| row(&task, recorded)).collect();
        Self {
            log: folder.log.clone(),
            contents: folder.contents(),
            begins: run.first_event,
            ends: run.end_event,
            is_last: run.is_last,
            task,
            notifier,
            state: Mutex::new(PlayerState {
                exchanges,
                next: 0,
                rows,
                now,
                known: RecentScreens::default(),
            }),
            moved: watch::Sender::new(0),
            over: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, PlayerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of events that the replay wrote.
    pub fn written(&self) -> usize {
        self.state().rows.len() - self.begins
    }

    /// Returns when the replay ends before the run loop does.
    pub async fn wait_for_end(&self) -> ReplayEnd {
        let mut over = self.over.subscribe();
        let known = over.wait_for(Option::is_some).await;
        known
            .ok()
            .and_then(|over| over.clone())
            .unwrap_or(ReplayEnd::RecordingEnded)
    }

    /// Returns the outcome after the run loop has ended by itself.
    pub fn ended(&self) -> ReplayEnd {
        if let Some(over) = self.over.borrow().clone() {
            return over;
        }
        let written = self.state().rows.len();
        match self.log.get(written) {
            // Only in the last run: an earlier one was abandoned, and the next one went on.
            Some(next) if written < self.ends && self.is_last => {
                let expected = compare::comparable(next.clone().to_wire(&self.task));
                ReplayEnd::Differs(Box::new(Difference {
                    step: next.step,
                    what: "the run ended, but the recorded run continued".to_owned(),
                    expected: format!("{:?}", expected.kind),
                    got: "nothing".to_owned(),
                }))
            }
            _ => ReplayEnd::Matches,
        }
    }

    /// Returns when nothing has happened for `timeout`.
    pub async fn stuck(&self, timeout: Duration) -> ReplayEnd {
        let mut moved = self.moved.subscribe();
        // Every delivery restarts the timeout, so that a long recording is not taken for a stuck one.
        while tokio::time::timeout(timeout, moved.changed()).await.is_ok() {}
        let state = self.state();
        if !self.is_last && state.next_exchange().is_none() {
            return ReplayEnd::RecordingEnded;
        }
        let next = state
            .exchanges
            .get(state.next)
            .map_or("nothing", |next| next.method.as_str());
        ReplayEnd::Differs(Box::new(Difference {
            step: self.step(state.rows.len()),
            what: "the run waits for something that is not in the recording".to_owned(),
            expected: next.to_owned(),
            got: "no request".to_owned(),
        }))
    }

    /// Returns true if the recorded run was abandoned here: the recording has no more exchanges, and the log only user input.
    fn was_abandoned(&self, state: &PlayerState) -> bool {
        let rest = self
            .log
            .get(state.rows.len()..self.ends)
            .unwrap_or_default();
        !self.is_last
            && state.next_exchange().is_none()
            && rest.iter().all(|next| is_external(&next.event))
    }

    fn step(&self, written: usize) -> u32 {
        let begun = self.log[..written.min(self.log.len())].iter();
        begun
            .map(|recorded| recorded.step)
            .max()
            .unwrap_or_default()
    }

    fn end(&self, over: ReplayEnd) {
        self.over.send_if_modified(|known| {
            // The first difference counts. Later ones follow from it.
            let is_first = known.is_none();
            if is_first {
                *known = Some(over);
            }
            is_first
        });
    }

    fn differ(&self, step: u32, (what, expected, got): (String, String, String)) {
        self.end(ReplayEnd::Differs(Box::new(Difference {
            step,
            what,
            expected,
            got,
        })));
    }

    /// Inserts user input into the log, up to where the recording shows that the loop read it next.
    fn deliver_external_events(&self, state: &mut PlayerState) {
        let mut has_delivered = false;
        while let Some(next) = self.log.get(state.rows.len()) {
            if state.rows.len() >= self.ends || !is_external(&next.event) {
                break;
            }
            // Clock readings come first: the loop may act between a reading and the note that follows it.
            let noticed = state.exchanges.get(state.next);
            let is_due = match noticed {
                _ if matches!(next.event, Event::HumanActed { .. }) => true,
                Some(note) if note.method == LOG => next.seq.0 <= number(&note.request),
                Some(note) if note.method == STOPPED => next.at <= exchange_time(note),
                // Notes after the last append are lost.
                None => self.is_last,
                _ => false,
            };
            if !is_due {
                break;
            }
            let row = row(&self.task, next);
            state.now = state.now.max(next.at);
            state.rows.push(row);
            has_delivered = true;
        }
        if has_delivered {
            self.notifier.notify(&self.task);
        }
        self.moved.send_modify(|moved| *moved += 1);
    }
}

/// Returns true for a request that the run loop no longer makes: earlier versions asked the Planner also for the point of
/// an element, which is computed here from the same scene.
fn is_resolved_in_process(exchange: &Exchange) -> bool {
    if !exchange.method.ends_with("/ResolveTarget") {
        return false;
    }
    let request = ResolveTargetRequest::decode(exchange.request.clone()).unwrap_or_default();
    let target = request.target.and_then(|target| target.target);
    matches!(target, Some(Kind::ElementId(_) | Kind::Point(_)))
}

fn exchange_time(exchange: &Exchange) -> SystemTime {
    let time = exchange
        .time
        .and_then(|time| SystemTime::try_from(time).ok());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn number(text: &Bytes) -> i64 {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns true for an event that the run loop does not write itself: user input or a manual action.
fn is_external(event: &Event) -> bool {
    event.source() == EventSource::User
}
