//! Collects the exchanges of a run in order, until they are stored with the events that resulted from them.
//!
//! The buffer is compressed whenever it exceeds [`MAX_UNCOMPRESSED_BYTES`], so that a waiting task holds a few dozen
//! kilobytes. Concatenated zstd frames are one valid stream. If a run exceeds [`MAX_PENDING_BYTES`] between two writes, the
//! rest of the run is not recorded.
//!
//! Not here: the writing itself, and its errors.

use std::cell::RefCell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use motorium_proto::convert::{wire_duration, wire_time};
use motorium_proto::domain::id::EventSeq;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator::exchange::Outcome;
use motorium_proto::v1::orchestrator::{Exchange, Recording};
use prost::Message;
use zstd::bulk::Compressor;

use super::messages::{RecentScreens, strip_images};
use super::{CLOCK, RecordableMessage, TRUNCATED, status_bytes};

/// Maximum size of the uncompressed buffer, in bytes. Trades memory of a waiting task against the compression ratio.
const MAX_UNCOMPRESSED_BYTES: usize = 64 * 1024;
/// Maximum compressed size of the exchanges of one write, in bytes. Bounds the size of one store transaction.
const MAX_PENDING_BYTES: usize = 160 * 1024;
/// Compression level of zstd, its default: higher levels gain little for texts of this size.
const COMPRESSION_LEVEL: i32 = 3;
/// Maximum number of consecutive clock readings kept. A waiting run reads the clock in a loop, and a replay needs only the first
/// ones and the last one.
const MAX_CLOCK_READINGS: u32 = 6;
/// Maximum decompressed size of a recording, in bytes. Protects against damaged or malicious files.
const MAX_RECORDING_BYTES: usize = 256 * 1024 * 1024;

/// Recorder of one run of a task.
#[derive(Debug, Default)]
pub struct Recorder {
    state: Mutex<RecorderState>,
}

#[derive(Debug, Default)]
struct RecorderState {
    number: u64,
    step: u32,
    known: RecentScreens,
    notes: NoteBuffer,
    readings: u32,
    /// Compressed exchanges that were handed out to be written and are not confirmed yet.
    handed_out: Vec<u8>,
    /// The recording was truncated: exchanges after a gap cannot be replayed.
    is_cut: bool,
}

impl RecorderState {
    /// Ends the recording with a marker.
    fn truncate(&mut self) {
        if std::mem::replace(&mut self.is_cut, true) {
            return;
        }
        tracing::warn!(
            step = self.step,
            "the recording exceeded its size limit; the run cannot be replayed from this step on"
        );
        let mut end = NoteBuffer::default();
        end.add(Exchange {
            step: self.step,
            time: Some(wire_time(SystemTime::now())),
            method: TRUNCATED.to_owned(),
            ..Exchange::default()
        });
        self.handed_out.extend(end.packed().unwrap_or_default());
    }
}

#[derive(Debug, Default)]
struct NoteBuffer {
    plain: Vec<u8>,
    /// Offset of the last exchange in `plain`.
    last: usize,
    compressed: Vec<u8>,
    overflowed: bool,
}

impl NoteBuffer {
    fn add(&mut self, exchange: Exchange) {
        if self.overflowed {
            return;
        }
        self.last = self.plain.len();
        let one = Recording {
            exchanges: vec![exchange],
        };
        // Concatenated protobuf messages with a repeated field decode as one message.
        self.plain.extend(one.encode_to_vec());
        if self.plain.len() > MAX_UNCOMPRESSED_BYTES {
            self.compress();
        }
    }

    /// Drops the last exchange, unless it is already compressed.
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
                tracing::warn!(%error, "compressing the recording failed; the run cannot be replayed");
                self.overflowed = true;
            }
        }
        self.plain.clear();
        self.last = 0;
        // Checked after each compression only, so that the limit is exceeded by one buffer at most.
        self.overflowed |= self.compressed.len() > MAX_PENDING_BYTES;
        if self.overflowed {
            self.compressed = Vec::new();
        }
    }

    /// Returns the compressed exchanges, or `None` if they exceeded the limit.
    fn packed(mut self) -> Option<Vec<u8>> {
        self.compress();
        (!self.overflowed).then_some(self.compressed)
    }
}

/// A request without a response yet. If dropped, it is recorded without a response.
#[derive(Debug)]
pub struct PendingExchange<'a> {
    recorder: &'a Recorder,
    exchange: Option<Exchange>,
    began: tokio::time::Instant,
}

impl Recorder {
    fn state(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a recorder. Its recording begins with the position in the log and the configuration of the run.
    pub fn begin(settings: String, log: EventSeq) -> Arc<Self> {
        let recorder = Self::default();
        let mut begun = recorder.new_exchange(super::RUN, log.0.to_string().into());
        begun.outcome = Some(Outcome::Response(settings.into()));
        recorder.add(begun);
        Arc::new(recorder)
    }

    pub(super) fn begin_step(&self, step: u32) {
        self.state().step = step;
    }

    /// Returns the exchanges for the next append, including those of failed appends since [`Self::written`].
    pub(super) fn unwritten(&self) -> Option<Bytes> {
        let mut state = self.state();
        match std::mem::take(&mut state.notes).packed() {
            Some(_) if state.is_cut => {}
            Some(packed) => state.handed_out.extend(packed),
            None => state.truncate(),
        }
        let packed = &state.handed_out;
        (!packed.is_empty()).then(|| Bytes::copy_from_slice(packed))
    }

    /// Confirms that the exchanges handed out are in the log.
    pub(super) fn written(&self) {
        self.state().handed_out = Vec::new();
    }

    pub(super) fn read_clock(&self, now: SystemTime) -> SystemTime {
        let mut state = self.state();
        state.readings += 1;
        if state.readings > MAX_CLOCK_READINGS {
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

    /// Records a note that is not a request.
    pub fn note(&self, what: &str, which: Bytes) {
        let exchange = self.new_exchange(what, which);
        self.add(exchange);
    }

    pub fn note_content(&self, what: &str, content: Bytes) {
        let mut exchange = self.new_exchange(what, Bytes::new());
        exchange.outcome = Some(Outcome::Response(content));
        self.add(exchange);
    }

    pub(super) fn shorten(&self, question: &mut dyn RecordableMessage) {
        self.state().known.deduplicate(question);
    }

    pub fn open(&self, method: &str, request: Vec<u8>) -> PendingExchange<'_> {
        PendingExchange {
            recorder: self,
            exchange: Some(self.new_exchange(method, request.into())),
            began: tokio::time::Instant::now(),
        }
    }

    fn new_exchange(&self, method: &str, request: Bytes) -> Exchange {
        let mut state = self.state();
        state.number += 1;
        Exchange {
            number: state.number,
            step: state.step,
            time: Some(wire_time(SystemTime::now())),
            elapsed: None,
            method: method.to_owned(),
            request,
            outcome: None,
        }
    }

    fn add(&self, exchange: Exchange) {
        let mut state = self.state();
        state.readings = 0;
        state.notes.add(exchange);
    }
}

impl PendingExchange<'_> {
    pub fn answered<A: RecordableMessage + Message>(mut self, mut answer: A) {
        strip_images(&mut answer);
        if let Some((frame, scene)) = answer.screen() {
            self.recorder.state().known.remember(frame, scene);
        }
        let encoded = answer.encode_to_vec().into();
        self.close(Some(Outcome::Response(encoded)));
    }

    /// Records the hooks' result, or drops the call if the result changes nothing.
    pub fn hooks_answered(mut self, response: Option<Bytes>) {
        match response {
            Some(response) => self.close(Some(Outcome::Response(response))),
            None => self.forget(),
        }
    }

    pub fn failed(mut self, report: &ErrorReport) {
        self.close(Some(Outcome::Error(status_bytes(report))));
    }

    /// Drops the request without recording it.
    pub fn forget(mut self) {
        self.exchange = None;
    }

    fn close(&mut self, answer: Option<Outcome>) {
        if let Some(mut exchange) = self.exchange.take() {
            exchange.elapsed = Some(wire_duration(self.began.elapsed()));
            exchange.outcome = answer;
            self.recorder.add(exchange);
        }
    }
}

impl Drop for PendingExchange<'_> {
    fn drop(&mut self) {
        self.close(None);
    }
}

fn compressed(plain: &[u8]) -> std::io::Result<Vec<u8>> {
    thread_local! {
        /// Reused per thread: allocating its megabyte of state takes longer than compressing a step.
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|compressor| {
        let compressor = match compressor {
            Some(compressor) => compressor,
            None => compressor.insert(Compressor::new(COMPRESSION_LEVEL)?),
        };
        compressor.compress(plain)
    })
}

/// Decodes a stored recording.
///
/// # Errors
/// A description, if it is not a recording.
pub fn decode_recording(stored: &[u8]) -> Result<Vec<Exchange>, String> {
    use std::io::Read as _;

    let decoder = zstd::stream::read::Decoder::new(stored).map_err(|error| error.to_string())?;
    let mut plain = Vec::new();
    decoder
        .take(MAX_RECORDING_BYTES as u64)
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
        decode_recording(&recorder.unwritten().unwrap()).unwrap()
    }

    fn methods(recorder: &Recorder) -> Vec<String> {
        let handed_out = handed_out(recorder).into_iter();
        handed_out.map(|exchange| exchange.method).collect()
    }

    #[test]
    fn large_recordings_are_compressed_and_round_trip() {
        let recorder = Recorder::default();
        recorder.begin_step(1);
        for number in 0..500_u32 {
            let text = format!("question {number} ").repeat(40);
            recorder.open("/a/B", text.into_bytes()).forget();
            recorder.note(LOG, number.to_string().repeat(200).into());
        }
        let packed = recorder.unwritten().unwrap();
        assert!(packed.len() < MAX_UNCOMPRESSED_BYTES, "{}", packed.len());
        let read = decode_recording(&packed).unwrap();
        assert_eq!(read.len(), 500);
        assert!(read.is_sorted_by_key(|exchange| exchange.number));
        assert!(read.iter().all(|exchange| exchange.step == 1));
    }

    #[test]
    fn idle_run_records_limited_clock_readings() {
        let recorder = Recorder::default();
        for _ in 0..1000 {
            recorder.read_clock(SystemTime::now());
        }
        assert_eq!(handed_out(&recorder).len(), MAX_CLOCK_READINGS as usize);
    }

    #[test]
    fn exchanges_are_handed_out_until_they_are_written() {
        let recorder = Recorder::default();
        assert_eq!(recorder.unwritten(), None);
        recorder.note("one", Bytes::new());
        assert_eq!(methods(&recorder), ["one"]);
        // That append failed.
        recorder.note("two", Bytes::new());
        assert_eq!(methods(&recorder), ["one", "two"]);
        // Recorded during the append.
        recorder.note("three", Bytes::new());
        recorder.written();
        assert_eq!(methods(&recorder), ["three"]);
        recorder.written();
        assert_eq!(recorder.unwritten(), None);
    }

    #[test]
    fn oversize_recording_is_marked_as_truncated() {
        let recorder = Recorder::default();
        recorder.note("one", Bytes::new());
        recorder.unwritten();
        recorder.begin_step(2);
        let mut noise = 1_u64;
        let incompressible = (0..MAX_PENDING_BYTES + MAX_UNCOMPRESSED_BYTES).map(|_| {
            noise = noise
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            noise.to_be_bytes()[0]
        });
        recorder.note("two", incompressible.collect::<Vec<u8>>().into());
        assert_eq!(methods(&recorder), ["one", TRUNCATED]);
        assert_eq!(handed_out(&recorder)[1].step, 2);
        recorder.written();
        recorder.note("three", Bytes::new());
        assert_eq!(recorder.unwritten(), None);
    }
}
