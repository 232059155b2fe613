//! Notes what a run asks and is told, in order, until it is written with the events that come of it.
//!
//! What is noted is compressed whenever there is much of it, so that a task that waits holds a few dozen kilobytes; several
//! compressed pieces, one after the other, are one. Of a run that asks more than [`MOST`] between two writes the rest is not
//! recorded.
//!
//! Not here: the writing, and whether it went well.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use motorium_proto::convert::{wire_duration, wire_time};
use motorium_proto::domain::id::EventSeq;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator::exchange::Answer;
use motorium_proto::v1::orchestrator::{Exchange, Recording};
use prost::Message;
use zstd::bulk::Compressor;

use super::said::{Known, without_pictures};
use super::settings::RunSettings;
use super::{CLOCK, CUT, Said, status_bytes};

/// As much is held uncompressed, in bytes.
const UNCOMPRESSED: usize = 64 * 1024;
/// More is not kept for one write, in bytes.
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
    readings: u32,
    /// Compressed and handed out to be written, and not known to be.
    handed_out: Vec<u8>,
    /// Something is missing: the rest would not make sense without it.
    is_cut: bool,
}

impl State {
    /// The record ends here, and says so.
    fn cut(&mut self) {
        if std::mem::replace(&mut self.is_cut, true) {
            return;
        }
        tracing::warn!(
            step = self.step,
            "too much was asked to be recorded; from this step on the run cannot be replayed"
        );
        let mut end = Notes::default();
        end.add(Exchange {
            step: self.step,
            time: Some(wire_time(SystemTime::now())),
            method: CUT.to_owned(),
            ..Exchange::default()
        });
        self.handed_out.extend(end.packed().unwrap_or_default());
    }
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

    /// The last note gives way to the next one, unless it is compressed already.
    fn drop_last(&mut self) {
        self.plain.truncate(self.last);
    }

    fn compress(&mut self) {
        if self.plain.is_empty() {
            return;
        }
        match compressed(&self.plain) {
            Ok(compressed) => self.compressed.extend(compressed),
            Err(error) => {
                tracing::warn!(%error, "what was asked is not recorded");
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

    /// `None`: it was too much.
    fn packed(mut self) -> Option<Vec<u8>> {
        self.compress();
        (!self.is_too_much).then_some(self.compressed)
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

    /// A recorder whose record begins with how far the log was, and how the run is configured.
    pub(crate) fn begin(settings: &RunSettings, log: EventSeq) -> Arc<Self> {
        let recorder = Self::default();
        let mut begun = recorder.begun(super::RUN, log.0.to_string().into());
        begun.answer = Some(Answer::Response(settings.json().into()));
        recorder.add(begun);
        Arc::new(recorder)
    }

    pub(super) fn begin_step(&self, step: u32) {
        self.state().step = step;
    }

    /// What led to the next write of the log, and to those that did not come about since [`Recorder::written`].
    pub(super) fn unwritten(&self) -> Option<Bytes> {
        let mut state = self.state();
        match std::mem::take(&mut state.notes).packed() {
            Some(_) if state.is_cut => {}
            Some(packed) => state.handed_out.extend(packed),
            None => state.cut(),
        }
        let packed = &state.handed_out;
        (!packed.is_empty()).then(|| Bytes::copy_from_slice(packed))
    }

    /// What was handed out is in the log.
    pub(super) fn written(&self) {
        self.state().handed_out = Vec::new();
    }

    pub(super) fn now(&self) -> SystemTime {
        let now = SystemTime::now();
        let mut state = self.state();
        state.readings += 1;
        if state.readings > READINGS {
            state.notes.drop_last();
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

    /// What hooks have said; nothing where it makes no difference.
    pub(crate) fn said(mut self, said: Option<Bytes>) {
        match said {
            Some(said) => self.close(Some(Answer::Response(said))),
            None => self.forget(),
        }
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

#[cfg(test)]
mod tests {
    use super::super::LOG;
    use super::*;

    fn handed_out(recorder: &Recorder) -> Vec<Exchange> {
        unpacked(&recorder.unwritten().unwrap()).unwrap()
    }

    fn methods(recorder: &Recorder) -> Vec<String> {
        let handed_out = handed_out(recorder).into_iter();
        handed_out.map(|exchange| exchange.method).collect()
    }

    #[test]
    fn much_is_compressed_and_read_again_in_order() {
        let recorder = Recorder::default();
        recorder.begin_step(1);
        for number in 0..500_u32 {
            let text = format!("question {number} ").repeat(40);
            recorder.open("/a/B", text.into_bytes()).forget();
            recorder.mark(LOG, number.to_string().repeat(200).into());
        }
        let packed = recorder.unwritten().unwrap();
        assert!(packed.len() < UNCOMPRESSED, "{}", packed.len());
        let read = unpacked(&packed).unwrap();
        assert_eq!(read.len(), 500);
        assert!(read.is_sorted_by_key(|exchange| exchange.number));
        assert!(read.iter().all(|exchange| exchange.step == 1));
    }

    #[test]
    fn a_run_that_waits_notes_few_readings() {
        let recorder = Recorder::default();
        for _ in 0..1000 {
            recorder.now();
        }
        assert_eq!(handed_out(&recorder).len(), READINGS as usize);
    }

    #[test]
    fn what_led_to_a_write_is_handed_out_until_it_is_written() {
        let recorder = Recorder::default();
        assert_eq!(recorder.unwritten(), None);
        recorder.mark("one", Bytes::new());
        assert_eq!(methods(&recorder), ["one"]);
        // That write did not come about.
        recorder.mark("two", Bytes::new());
        assert_eq!(methods(&recorder), ["one", "two"]);
        // Asked while it is being written.
        recorder.mark("three", Bytes::new());
        recorder.written();
        assert_eq!(methods(&recorder), ["three"]);
        recorder.written();
        assert_eq!(recorder.unwritten(), None);
    }

    #[test]
    fn a_record_that_is_too_long_says_where_it_ends() {
        let recorder = Recorder::default();
        recorder.mark("one", Bytes::new());
        recorder.unwritten();
        recorder.begin_step(2);
        let mut noise = 1_u64;
        let incompressible = (0..MOST + UNCOMPRESSED).map(|_| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            noise.to_be_bytes()[0]
        });
        recorder.mark("two", incompressible.collect::<Vec<u8>>().into());
        assert_eq!(methods(&recorder), ["one", CUT]);
        assert_eq!(handed_out(&recorder)[1].step, 2);
        recorder.written();
        recorder.mark("three", Bytes::new());
        assert_eq!(recorder.unwritten(), None);
    }
}
