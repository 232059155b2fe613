//! What the run is told: the clock, its own notes, and what the services answered.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::future::BoxFuture;
use motorium_proto::convert;
use motorium_proto::domain::id::EventSeq;
use motorium_proto::service::Result;
use motorium_proto::v1::orchestrator::Exchange;
use motorium_proto::v1::orchestrator::exchange::Answer;
use motorium_proto::v1::perception::ObserveResponse;
use prost::Message as _;

use super::{Over, Player, State, asked_at, number};
use crate::recording::{
    CLOCK, FUNCTIONS, HOOKS, LOG, LOOKOUT, OBSERVE, Playback, STOPPED, Said, Seen, TIME_UP,
    is_note, report_of,
};
use crate::replay::compare;

/// The Executor was asked to let go; nothing hangs on what it says.
const RELEASE_ALL: &str = "/motorium.executor.v1.ExecutorService/ReleaseAll";

impl Player {
    /// What was answered to this; `None` if nothing will be said any more.
    fn find(
        &self,
        method: &str,
        request: &[u8],
    ) -> Option<std::result::Result<Option<Answer>, ()>> {
        let mut guard = self.state();
        let state = &mut *guard;
        state.skip_readings();
        // Notes that the loop passed by: what it took notice of then, it knows already.
        while let Some(note) = state.tape.get(state.next)
            && is_note(note)
            && (note.method != LOG || number(&note.request) <= state.rows.len() as i64)
        {
            state.next += 1;
        }
        let Some(recorded) = state.tape.get(state.next).cloned() else {
            if !self.is_last {
                self.end(Over::RecordEnds);
                return None;
            }
            if method == RELEASE_ALL {
                return Some(Err(()));
            }
            let step = self.step(state.rows.len());
            let what = format!("{}, and the record ends before it", compare::asked(method));
            self.differ(step, (what, "nothing".to_owned(), method.to_owned()));
            return None;
        };
        let step = recorded.step;
        if recorded.method != method {
            let what = format!("{} where something else was", compare::asked(method));
            self.differ(
                step,
                (
                    what,
                    compare::asked(&recorded.method),
                    compare::asked(method),
                ),
            );
            return None;
        }
        if !compare::is_same_question(method, &recorded.request, request) {
            self.differ(step, compare::questions(method, &recorded.request, request));
            return None;
        }
        state.next += 1;
        let elapsed = convert::duration("elapsed", recorded.elapsed)
            .ok()
            .flatten();
        let ended = asked_at(&recorded) + elapsed.unwrap_or_default();
        state.now = state.now.max(ended);
        if method == OBSERVE
            && let Some(Answer::Response(answer)) = &recorded.answer
            && let Ok(seen) = ObserveResponse::decode(answer.clone())
        {
            state.known.remember(&seen.frame, &seen.scene);
        }
        self.let_others_speak(state);
        Some(Ok(recorded.answer))
    }

    /// The loop waits: whether it is this that ends it. What it takes notice of next is said now, however often it asked the
    /// clock meanwhile.
    fn is_waited_for(&self, what: &str) -> bool {
        let mut guard = self.state();
        let state = &mut *guard;
        if self.is_left(state) {
            self.end(Over::RecordEnds);
        }
        let next = state.after_readings().map(|next| next.method.clone());
        let next = next.unwrap_or_default();
        if (next == LOG || next == STOPPED) && state.skip_readings() {
            self.let_others_speak(state);
        }
        next == what
    }

    /// Passes the next thing on the tape by if it is a note of this kind.
    fn pass_by(&self, what: &str) -> Option<Exchange> {
        let mut guard = self.state();
        let state = &mut *guard;
        let note = state
            .after_readings()
            .filter(|note| note.method == what)
            .cloned()?;
        state.skip_readings();
        state.next += 1;
        state.now = state.now.max(asked_at(&note));
        self.let_others_speak(state);
        Some(note)
    }
}

impl State {
    /// Whether there were any.
    fn skip_readings(&mut self) -> bool {
        let before = self.next;
        while self
            .tape
            .get(self.next)
            .is_some_and(|next| next.method == CLOCK)
        {
            self.next += 1;
        }
        self.next > before
    }

    /// The next thing on the tape that is not what the clock said.
    pub(super) fn after_readings(&self) -> Option<&Exchange> {
        let rest = self.tape.get(self.next..).unwrap_or_default();
        rest.iter().find(|next| next.method != CLOCK)
    }
}

impl Playback for Player {
    fn now(&self) -> SystemTime {
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(reading) = state.tape.get(state.next)
            && reading.method == CLOCK
        {
            let said = asked_at(reading);
            state.next += 1;
            state.now = state.now.max(said);
            self.let_others_speak(state);
            return said;
        }
        // What the clock said after the last write is lost; what happened then was written down.
        let is_over = state.next >= state.tape.len();
        match self.log.get(state.rows.len()) {
            Some(next) if is_over && self.is_last => next.at,
            _ => state.now,
        }
    }

    fn time(&self) -> SystemTime {
        self.state().now
    }

    fn stamp(&self, seq: EventSeq) -> SystemTime {
        let index = usize::try_from(seq.0 - 1).unwrap_or(usize::MAX);
        let mut state = self.state();
        match self.log.get(index) {
            Some(recorded) => {
                state.now = state.now.max(recorded.at);
                recorded.at
            }
            None => state.now,
        }
    }

    fn took_in(&self, _: EventSeq) {
        self.pass_by(LOG);
    }

    fn stopped(&self) {
        self.pass_by(STOPPED);
    }

    fn time_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut moved = self.moved.subscribe();
            loop {
                moved.borrow_and_update();
                if self.is_waited_for(TIME_UP) {
                    return;
                }
                let _ = moved.changed().await;
            }
        })
    }

    fn timed_out(&self) {
        self.pass_by(TIME_UP);
    }

    fn pause(&self, pause: Duration) {
        self.state().now += pause;
    }

    fn sighting(&self) -> Seen {
        match self.pass_by(LOOKOUT).and_then(|note| note.answer) {
            Some(Answer::Response(seen)) => Seen::decode(seen).unwrap_or_default(),
            _ => Seen::default(),
        }
    }

    fn hooks_are_next(&self, point: &str) -> bool {
        let state = self.state();
        let next = state.after_readings();
        next.is_some_and(|next| next.method == HOOKS && next.request == point.as_bytes())
    }

    fn hooks(&self) -> BoxFuture<'_, Bytes> {
        let said = self.pass_by(HOOKS).and_then(|asked| asked.answer);
        Box::pin(async {
            match said {
                Some(Answer::Response(said)) => said,
                _ => futures::future::pending().await,
            }
        })
    }

    fn functions(&self) -> Bytes {
        match self.pass_by(FUNCTIONS).and_then(|note| note.answer) {
            Some(Answer::Response(functions)) => functions,
            _ => Bytes::new(),
        }
    }

    fn answer(&self, method: &'static str, request: Vec<u8>) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            match self.find(method, &request) {
                Some(Ok(Some(Answer::Response(answer)))) => Ok(answer),
                Some(Ok(Some(Answer::Error(status)))) => Err(report_of(&status)),
                // Nothing hangs on it.
                Some(Err(())) => Ok(Bytes::new()),
                Some(Ok(None)) | None => futures::future::pending().await,
            }
        })
    }

    fn shorten(&self, question: &mut dyn Said) {
        self.state().known.shorten(question);
    }

    fn content(&self, sha256: &[u8]) -> Option<Bytes> {
        let hash: [u8; 32] = sha256.try_into().ok()?;
        self.contents.get(&hash).cloned()
    }
}
