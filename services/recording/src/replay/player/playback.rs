//! Answers the run loop from the recording: clock readings, notes, and responses of the services.
//!
//! It does not compare events: `store` does, as they are appended.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::future::BoxFuture;
use motorium_proto::convert;
use motorium_proto::domain::id::EventSeq;
use motorium_proto::service::Result;
use motorium_proto::v1::orchestrator::Exchange;
use motorium_proto::v1::orchestrator::exchange::Outcome;
use motorium_proto::v1::perception::ObserveResponse;
use prost::Message as _;

use super::{Player, PlayerState, ReplayEnd, exchange_time, number};
use crate::recording::{
    CLOCK, FUNCTIONS, HOOKS, LOG, MOTION, MotionObservation, OBSERVE, Playback, RecordableMessage,
    STOPPED, TIME_UP, is_note, report_of,
};
use crate::replay::compare;

/// Method that releases pressed keys and buttons. Its response is not used by the loop.
const RELEASE_ALL: &str = "/motorium.executor.v1.ExecutorService/ReleaseAll";

impl Player {
    /// Returns the recorded response to a request, or `None` if the replay has ended.
    fn find(
        &self,
        method: &str,
        request: &[u8],
    ) -> Option<std::result::Result<Option<Outcome>, ()>> {
        let mut guard = self.state();
        let state = &mut *guard;
        state.skip_clock_readings();
        // Skip notes that the loop did not consume: it has already read the log up to there.
        while let Some(note) = state.exchanges.get(state.next)
            && is_note(note)
            && (note.method != LOG || number(&note.request) <= state.rows.len() as i64)
        {
            state.next += 1;
        }
        let Some(recorded) = state.exchanges.get(state.next).cloned() else {
            if !self.is_last {
                self.end(ReplayEnd::RecordingEnded);
                return None;
            }
            // A run releases all inputs when it ends, which may be after the last write of its recording.
            if method == RELEASE_ALL {
                return Some(Err(()));
            }
            let step = self.step(state.rows.len());
            let what = format!(
                "{}, but the recording ends before it",
                compare::asked(method)
            );
            self.differ(step, (what, "nothing".to_owned(), method.to_owned()));
            return None;
        };
        let step = recorded.step;
        if recorded.method != method {
            let what = format!("{} instead of the recorded request", compare::asked(method));
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
        let ended = exchange_time(&recorded) + elapsed.unwrap_or_default();
        // Recorded times may overlap, because calls ran concurrently. The clock of a replay never goes back.
        state.now = state.now.max(ended);
        if method == OBSERVE
            && let Some(Outcome::Response(answer)) = &recorded.outcome
            && let Ok(seen) = ObserveResponse::decode(answer.clone())
        {
            state.known.remember(&seen.frame, &seen.scene);
        }
        self.deliver_external_events(state);
        Some(Ok(recorded.outcome))
    }

    /// Returns true if the next exchange is the note `what`, for which the loop waits. Delivers pending user input first, however
    /// often the loop read the clock meanwhile.
    fn is_next(&self, what: &str) -> bool {
        let mut guard = self.state();
        let state = &mut *guard;
        if self.was_abandoned(state) {
            self.end(ReplayEnd::RecordingEnded);
        }
        let next = state.next_exchange().map(|next| next.method.clone());
        let next = next.unwrap_or_default();
        if (next == LOG || next == STOPPED) && state.skip_clock_readings() {
            self.deliver_external_events(state);
        }
        next == what
    }

    /// Consumes the next exchange if it is a note of this kind.
    fn skip_note(&self, what: &str) -> Option<Exchange> {
        let mut guard = self.state();
        let state = &mut *guard;
        let note = state
            .next_exchange()
            .filter(|note| note.method == what)
            .cloned()?;
        state.skip_clock_readings();
        state.next += 1;
        state.now = state.now.max(exchange_time(&note));
        self.deliver_external_events(state);
        Some(note)
    }
}

impl PlayerState {
    /// Skips clock readings. Returns true if there were any.
    fn skip_clock_readings(&mut self) -> bool {
        let before = self.next;
        while self
            .exchanges
            .get(self.next)
            .is_some_and(|next| next.method == CLOCK)
        {
            self.next += 1;
        }
        self.next > before
    }

    /// Returns the next exchange that is not a clock reading.
    pub(super) fn next_exchange(&self) -> Option<&Exchange> {
        let rest = self.exchanges.get(self.next..).unwrap_or_default();
        rest.iter().find(|next| next.method != CLOCK)
    }
}

impl Playback for Player {
    fn now(&self) -> SystemTime {
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(reading) = state.exchanges.get(state.next)
            && reading.method == CLOCK
        {
            let time = exchange_time(reading);
            state.next += 1;
            state.now = state.now.max(time);
            self.deliver_external_events(state);
            return time;
        }
        // Readings after the last append are lost; the time of the next event stands in for them.
        let is_over = state.next >= state.exchanges.len();
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
        self.skip_note(LOG);
    }

    fn stopped(&self) {
        self.skip_note(STOPPED);
    }

    fn time_up(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut moved = self.moved.subscribe();
            loop {
                moved.borrow_and_update();
                if self.is_next(TIME_UP) {
                    return;
                }
                let _ = moved.changed().await;
            }
        })
    }

    fn timed_out(&self) {
        self.skip_note(TIME_UP);
    }

    fn pause(&self, pause: Duration) {
        self.state().now += pause;
    }

    fn sighting(&self) -> MotionObservation {
        match self.skip_note(MOTION).and_then(|note| note.outcome) {
            Some(Outcome::Response(seen)) => MotionObservation::decode(seen).unwrap_or_default(),
            _ => MotionObservation::default(),
        }
    }

    fn hooks_are_next(&self, point: &str) -> bool {
        let state = self.state();
        let next = state.next_exchange();
        next.is_some_and(|next| next.method == HOOKS && next.request == point.as_bytes())
    }

    fn hooks(&self) -> BoxFuture<'_, Bytes> {
        let outcome = self.skip_note(HOOKS).and_then(|asked| asked.outcome);
        Box::pin(async {
            match outcome {
                Some(Outcome::Response(response)) => response,
                _ => futures::future::pending().await,
            }
        })
    }

    fn functions(&self) -> Bytes {
        match self.skip_note(FUNCTIONS).and_then(|note| note.outcome) {
            Some(Outcome::Response(functions)) => functions,
            _ => Bytes::new(),
        }
    }

    fn answer(&self, method: &'static str, request: Vec<u8>) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            match self.find(method, &request) {
                Some(Ok(Some(Outcome::Response(answer)))) => Ok(answer),
                Some(Ok(Some(Outcome::Error(status)))) => Err(report_of(&status)),
                // The response is not used.
                Some(Err(())) => Ok(Bytes::new()),
                // A call without a recorded outcome was interrupted. It stays pending until the run is stopped here as
                // well.
                Some(Ok(None)) | None => futures::future::pending().await,
            }
        })
    }

    fn shorten(&self, question: &mut dyn RecordableMessage) {
        self.state().known.deduplicate(question);
    }

    fn content(&self, sha256: &[u8]) -> Option<Bytes> {
        let hash: [u8; 32] = sha256.try_into().ok()?;
        self.contents.get(&hash).cloned()
    }
}
