//! Notes what a run asks and is told, in order.
//!
//! What is noted is compressed whenever there is much of it, so that a task that waits holds a few dozen kilobytes; several
//! compressed pieces, one after the other, are one. A step with more than [`MOST`] of it has no record.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use motorium_proto::convert::{wire_duration, wire_time};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator::exchange::Answer;
use motorium_proto::v1::orchestrator::{Exchange, Recording};
use prost::Message;
use zstd::bulk::Compressor;

use super::said::{Known, without_pictures};
use super::{CLOCK, Said, status_bytes};

/// As much is held uncompressed, in bytes.
const UNCOMPRESSED: usize = 64 * 1024;
/// More is not kept of one step, in bytes.
const MOST: usize = 160 * 1024;
/// Of zstd: beyond it there is little to gain for texts of this size.
const LEVEL: i32 = 3;
/// A run that waits asks the clock again and again; of so many readings in a row the last one is enough.
const READINGS: u32 = 6;
/// A damaged record must not fill the memory.
const LONGEST: usize = 256 * 1024 * 1024;

/// Notes, for one run of a task.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    number: u64,
    step: u32,
    known: Known,
    notes: Notes,
    /// Of the step that is over and not stored yet.
    sealed: Option<Notes>,
    readings: u32,
}

#[derive(Debug, Default)]
struct Notes {
    plain: Vec<u8>,
    /// Where the last note begins in `plain`.
    last: usize,
    compressed: Vec<u8>,
    is_too_much: bool,
}

impl Notes {
    fn add(&mut self, exchange: Exchange) {
        if self.is_too_much {
            return;
        }
        self.last = self.plain.len();
        let one = Recording {
            exchanges: vec![exchange],
        };
        // Records one after the other are one record.
        self.plain.extend(one.encode_to_vec());
        if self.plain.len() > UNCOMPRESSED {
            self.compress();
        }
    }

    fn compress(&mut self) {
        match compressed(&self.plain) {
            Ok(compressed) => self.compressed.extend(compressed),
            Err(error) => {
                tracing::warn!(%error, "a step is not recorded");
                self.is_too_much = true;
            }
        }
        self.plain.clear();
        self.last = 0;
        self.is_too_much |= self.compressed.len() > MOST;
        if self.is_too_much {
            self.compressed = Vec::new();
        }
    }

    fn packed(mut self) -> Option<Bytes> {
        self.compress();
        (!self.is_too_much).then(|| self.compressed.into())
    }
}

/// A question that is not answered yet. Dropped, it never was.
#[derive(Debug)]
pub(crate) struct Open<'a> {
    recorder: &'a Recorder,
    exchange: Option<Exchange>,
    began: tokio::time::Instant,
}

impl Recorder {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A step begins. Where the one before it waits to be stored, what was noted so far is that one's; otherwise it goes
    /// with this one.
    pub(crate) fn begin_step(&self, step: u32, is_one_waiting: bool) {
        let mut state = self.state();
        if is_one_waiting {
            state.sealed = Some(std::mem::take(&mut state.notes));
        }
        state.step = step;
    }

    /// What is to be stored with a step that is over.
    pub(crate) fn take(&self, is_last: bool) -> Option<Bytes> {
        let mut state = self.state();
        let sealed = state.sealed.take();
        let step = state.step;
        let Some(sealed) = sealed else {
            let notes = std::mem::take(&mut state.notes);
            return said_if_lost(step, notes.packed());
        };
        if !is_last {
            return said_if_lost(step, sealed.packed());
        }
        let notes = std::mem::take(&mut state.notes);
        let (mut sealed, rest) = (sealed.packed()?.to_vec(), notes.packed()?);
        sealed.extend(rest);
        Some(sealed.into())
    }

    pub(super) fn now(&self) -> SystemTime {
        let now = SystemTime::now();
        let mut state = self.state();
        state.readings += 1;
        if state.readings > READINGS {
            let last = state.notes.last;
            state.notes.plain.truncate(last);
        }
        let reading = Exchange {
            time: Some(wire_time(now)),
            method: CLOCK.to_owned(),
            ..Exchange::default()
        };
        state.notes.add(reading);
        now
    }

    /// Notes something that is no question.
    pub(crate) fn mark(&self, what: &str, which: Bytes) {
        let exchange = self.begun(what, which);
        self.add(exchange);
    }

    pub(crate) fn noted(&self, what: &str, content: Bytes) {
        let mut exchange = self.begun(what, Bytes::new());
        exchange.answer = Some(Answer::Response(content));
        self.add(exchange);
    }

    pub(super) fn shorten(&self, question: &mut dyn Said) {
        self.state().known.shorten(question);
    }

    pub(crate) fn open(&self, method: &str, request: Vec<u8>) -> Open<'_> {
        Open {
            recorder: self,
            exchange: Some(self.begun(method, request.into())),
            began: tokio::time::Instant::now(),
        }
    }

    fn begun(&self, method: &str, request: Bytes) -> Exchange {
        let mut state = self.state();
        state.number += 1;
        Exchange {
            number: state.number,
            step: state.step,
            time: Some(wire_time(SystemTime::now())),
            elapsed: None,
            method: method.to_owned(),
            request,
            answer: None,
        }
    }

    fn add(&self, exchange: Exchange) {
        let mut state = self.state();
        state.readings = 0;
        state.notes.add(exchange);
    }
}

impl Open<'_> {
    pub(crate) fn answered<A: Said + Message>(mut self, mut answer: A) {
        without_pictures(&mut answer);
        if let Some((frame, scene)) = answer.screen() {
            self.recorder.state().known.remember(frame, scene);
        }
        let encoded = answer.encode_to_vec().into();
        self.close(Some(Answer::Response(encoded)));
    }

    pub(crate) fn failed(mut self, report: &ErrorReport) {
        self.close(Some(Answer::Error(status_bytes(report))));
    }

    /// It is as if it had never been asked.
    pub(crate) fn forget(mut self) {
        self.exchange = None;
    }

    fn close(&mut self, answer: Option<Answer>) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.elapsed = Some(wire_duration(self.began.elapsed()));
            exchange.answer = answer;
            self.recorder.add(exchange);
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.close(None);
    }
}

fn compressed(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    thread_local! {
        /// What it works with is a megabyte that takes longer to get than a step to compress.
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = match compressor {
            Some(compressor) => compressor,
            None => compressor.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress(plain)
    })
}

fn said_if_lost(step: u32, packed: Option<Bytes>) -> Option<Bytes> {
    if packed.is_none() {
        tracing::warn!(
            step,
            "too much was asked in this step to be recorded; it cannot be replayed"
        );
    }
    packed
}

/// What a stored record holds.
///
/// # Errors
/// In words, if it is none.
pub(crate) fn unpacked(stored: &[u8]) -> Result<Vec<Exchange>, String> {
    use std::io::Read as _;

    let decoder = zstd::stream::read::Decoder::new(stored).map_err(|error| error.to_string())?;
    let mut plain = Vec::new();
    decoder
        .take(LONGEST as u64)
        .read_to_end(&mut plain)
        .map_err(|error| error.to_string())?;
    let recording = Recording::decode(plain.as_slice()).map_err(|error| error.to_string())?;
    Ok(recording.exchanges)
}

impl Recorder {
    /// A recorder whose record begins with how the run is configured.
    pub(crate) fn begin(settings: &super::settings::RunSettings) -> Arc<Self> {
        let recorder = Self::default();
        recorder.noted(super::RUN, settings.json().into());
        Arc::new(recorder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_is_compressed_and_read_again_in_order() {
        let recorder = Recorder::default();
        recorder.begin_step(1, false);
        for number in 0..500_u32 {
            let text = format!("question {number} ").repeat(40);
            recorder.open("/a/B", text.into_bytes()).forget();
            recorder.mark(LOG, number.to_string().repeat(200).into());
        }
        let packed = recorder.take(false).unwrap();
        assert!(packed.len() < UNCOMPRESSED, "{}", packed.len());
        let read = unpacked(&packed).unwrap();
        assert_eq!(read.len(), 500);
        assert!(read.is_sorted_by_key(|exchange| exchange.number));
    }

    #[test]
    fn a_run_that_waits_notes_few_readings() {
        let recorder = Recorder::default();
        for _ in 0..1000 {
            recorder.now();
        }
        let read = unpacked(&recorder.take(false).unwrap()).unwrap();
        assert_eq!(read.len(), READINGS as usize);
    }

    #[test]
    fn what_is_asked_in_a_new_step_is_not_the_last_ones() {
        let recorder = Recorder::default();
        recorder.begin_step(1, false);
        recorder.mark("one", Bytes::new());
        recorder.begin_step(2, true);
        recorder.mark("two", Bytes::new());
        let first = unpacked(&recorder.take(false).unwrap()).unwrap();
        assert_eq!(first.len(), 1);
        assert_eq!(first[0].method, "one");
        let rest = unpacked(&recorder.take(true).unwrap()).unwrap();
        assert_eq!(rest[0].method, "two");
    }

    use super::super::LOG;
}
