//! Tells the loop what it was told, in memory, and compares what it asks and what it writes down.
//!
//! - `tape`: the clock, notes and answers, from the record
//! - `store`: the log, in memory, which compares what is written with what was
//! - `nobody`: services that are never reached
//!
//! One position on the tape and one in the log are all there is. What users said is put into the log where the record says
//! that the loop took notice of it. The first difference ends it: whoever asks then is not answered any more.

mod nobody;
mod store;
mod tape;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use motorium_proto::domain::id::TaskName;
use motorium_proto::v1::orchestrator::Exchange;
use motorium_store::{Doorbell, EventRow};
use tokio::sync::watch;

pub(super) use self::nobody::nobody;
use self::store::row;
use super::compare;
use super::folder::{Folder, Run};
use super::verdict::Difference;
use crate::recording::{CUT, Known, LOG, RUN, STOPPED};
use crate::task::ApprovalState;
use crate::task::event::{Event, Recorded};

/// How a run came to its end.
#[derive(Debug, Clone)]
pub(super) enum Over {
    Same,
    /// It was broken off in the middle of a step, and the record with it.
    RecordEnds,
    Differs(Box<Difference>),
}

pub(super) struct Player {
    task: TaskName,
    log: Vec<Recorded>,
    contents: HashMap<[u8; 32], Bytes>,
    begins: usize,
    ends: usize,
    is_last: bool,
    doorbell: Doorbell,
    state: Mutex<State>,
    /// Changes with every position.
    moved: watch::Sender<u64>,
    over: watch::Sender<Option<Over>>,
}

struct State {
    tape: Vec<Exchange>,
    next: usize,
    rows: Vec<EventRow>,
    now: SystemTime,
    known: Known,
}

impl Player {
    pub(super) fn new(folder: &Folder, run: &Run, doorbell: Doorbell) -> Self {
        let task = folder.task.spec.name.clone();
        let mut tape = run.tape.clone();
        tape.retain(|exchange| exchange.method != RUN && exchange.method != CUT);
        let begun = &folder.log[..run.begins];
        let now = begun.last().map_or(SystemTime::UNIX_EPOCH, |last| last.at);
        let rows = begun.iter().map(|recorded| row(&task, recorded)).collect();
        Self {
            log: folder.log.clone(),
            contents: folder.contents(),
            begins: run.begins,
            ends: run.ends,
            is_last: run.is_last,
            task,
            doorbell,
            state: Mutex::new(State {
                tape,
                next: 0,
                rows,
                now,
                known: Known::default(),
            }),
            moved: watch::Sender::new(0),
            over: watch::Sender::new(None),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many events were written in this run.
    pub(super) fn written(&self) -> usize {
        self.state().rows.len() - self.begins
    }

    /// Returns when it is over before the run is.
    pub(super) async fn over(&self) -> Over {
        let mut over = self.over.subscribe();
        let known = over.wait_for(Option::is_some).await;
        known
            .ok()
            .and_then(|over| over.clone())
            .unwrap_or(Over::RecordEnds)
    }

    /// The run has ended by itself.
    pub(super) fn ended(&self) -> Over {
        if let Some(over) = self.over.borrow().clone() {
            return over;
        }
        let written = self.state().rows.len();
        match self.log.get(written) {
            Some(next) if written < self.ends && self.is_last => {
                let expected = compare::essence(next.clone().to_wire(&self.task));
                Over::Differs(Box::new(Difference {
                    step: next.step,
                    what: "the run ended, and the recorded one went on".to_owned(),
                    expected: format!("{:?}", expected.kind),
                    got: "nothing".to_owned(),
                }))
            }
            _ => Over::Same,
        }
    }

    /// Returns when nothing has happened for so long.
    pub(super) async fn stuck(&self, patience: Duration) -> Over {
        let mut moved = self.moved.subscribe();
        while tokio::time::timeout(patience, moved.changed())
            .await
            .is_ok()
        {}
        let state = self.state();
        if !self.is_last && state.after_readings().is_none() {
            return Over::RecordEnds;
        }
        let next = state
            .tape
            .get(state.next)
            .map_or("nothing", |next| next.method.as_str());
        Over::Differs(Box::new(Difference {
            step: self.step(state.rows.len()),
            what: "the run waits for something that did not come".to_owned(),
            expected: next.to_owned(),
            got: "nothing was asked".to_owned(),
        }))
    }

    /// It was left here: there is nothing more on the tape, and of the log only what others wrote.
    fn is_left(&self, state: &State) -> bool {
        let rest = self
            .log
            .get(state.rows.len()..self.ends)
            .unwrap_or_default();
        !self.is_last
            && state.after_readings().is_none()
            && rest.iter().all(|next| is_foreign(&next.event))
    }

    fn step(&self, written: usize) -> u32 {
        let begun = self.log[..written.min(self.log.len())].iter();
        begun
            .map(|recorded| recorded.step)
            .max()
            .unwrap_or_default()
    }

    fn end(&self, over: Over) {
        self.over.send_if_modified(|known| {
            let is_first = known.is_none();
            if is_first {
                *known = Some(over);
            }
            is_first
        });
    }

    fn differ(&self, step: u32, (what, expected, got): (String, String, String)) {
        self.end(Over::Differs(Box::new(Difference {
            step,
            what,
            expected,
            got,
        })));
    }

    /// Puts into the log what others said by now, as far as the loop took notice of it next.
    fn let_others_speak(&self, state: &mut State) {
        let mut rung = false;
        while let Some(next) = self.log.get(state.rows.len()) {
            if state.rows.len() >= self.ends || !is_foreign(&next.event) {
                break;
            }
            // What the clock says before it is asked for first: the loop may do something in between.
            let noticed = state.tape.get(state.next);
            let is_due = match noticed {
                _ if matches!(next.event, Event::HumanActed { .. }) => true,
                Some(note) if note.method == LOG => next.seq.0 <= number(&note.request),
                Some(note) if note.method == STOPPED => next.at <= asked_at(note),
                // What was noted after the last write is lost.
                None => self.is_last,
                _ => false,
            };
            if !is_due {
                break;
            }
            let row = row(&self.task, next);
            state.now = state.now.max(next.at);
            state.rows.push(row);
            rung = true;
        }
        if rung {
            self.doorbell.ring(&self.task);
        }
        self.moved.send_modify(|moved| *moved += 1);
    }
}

fn asked_at(exchange: &Exchange) -> SystemTime {
    let time = exchange
        .time
        .and_then(|time| SystemTime::try_from(time).ok());
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

fn number(text: &Bytes) -> i64 {
    let text = std::str::from_utf8(text).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Whether an event is not the loop's own: a user's word, or what a person did.
fn is_foreign(event: &Event) -> bool {
    match event {
        Event::Created(_)
        | Event::UserAcknowledged { .. }
        | Event::MessageReceived { .. }
        | Event::TakenOver { .. }
        | Event::HumanActed { .. }
        | Event::HandedBack { .. }
        | Event::Paused { .. }
        | Event::Resumed
        | Event::CancelRequested { .. } => true,
        Event::ApprovalResolved(approval) => {
            matches!(
                approval.state,
                ApprovalState::Approved | ApprovalState::Denied
            )
        }
        _ => false,
    }
}
