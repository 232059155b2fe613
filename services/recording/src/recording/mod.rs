//! Recording of a run: its requests to other services and their responses, so that it can be replayed without them.
//!
//! - [`RecordingMode`]: where a run records to, or where it is replayed from
//! - [`ports`]: the three services, with their exchanges recorded or replayed
//! - [`recorder`]: collects the exchanges in order until they are stored with the events that resulted from them
//! - [`messages`]: requests and responses without images, and without repeating an observation
//!
//! The run loop makes one request at a time, so a recording is a sequence. Work beside the loop is not in it: leases and
//! their renewal, watching user input, the motion monitor, and the early observation for the next step. Their results are
//! recorded when the loop uses them. Notes beside the requests are clock readings, how far the log was read, stop requests
//! and timeouts. See `docs/adr/0012`.

mod messages;
mod ports;
mod recorder;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::future::BoxFuture;
use motorium_proto::domain::id::EventSeq;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::service::Result;
use motorium_proto::v1::orchestrator::Exchange;
use prost::Message;
use tokio::time::Instant;
use tonic::{Code, Status};

pub use messages::{RecentScreens, RecordableMessage};
pub use ports::{OBSERVE, recording_ports};
pub use recorder::{PendingExchange, Recorder, decode_recording};

/// A clock reading.
pub const CLOCK: &str = "clock";
/// The log was read. The request is the sequence number of the last event.
pub const LOG: &str = "log";
/// A stop was requested, and the loop stopped waiting.
pub const STOPPED: &str = "stopped";
/// A timeout.
pub const TIME_UP: &str = "time-up";
/// An observation of the motion monitor.
pub const MOTION: &str = "look-out";
/// The functions of the task's tools.
pub const FUNCTIONS: &str = "functions";
/// A hook call. The request is the hook point. It is compared in a replay like a request to a service, hence the slash.
pub const HOOKS: &str = "/hooks";
/// The recording ends here, because the requests exceeded its size limit.
pub const TRUNCATED: &str = "cut";
/// The configuration of the run. The request is the sequence number of the last event before the run.
pub const RUN: &str = "run";

/// An observation of the motion monitor, as recorded.
#[derive(Clone, PartialEq, Message)]
pub struct MotionObservation {
    #[prost(message, repeated, tag = "1")]
    pub changes: Vec<ChangedPlaces>,
    #[prost(string, repeated, tag = "2")]
    pub frames: Vec<String>,
}

/// The regions that changed in one comparison.
#[derive(Clone, PartialEq, Message)]
pub struct ChangedPlaces {
    #[prost(message, repeated, tag = "1")]
    pub places: Vec<motorium_proto::v1::common::PixelBox>,
}

/// The fields of `google.rpc.Status` that are read here.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Replays a recording.
pub trait Playback: Send + Sync {
    /// Returns the next clock reading.
    fn now(&self) -> SystemTime;
    /// Returns the current replay time without consuming a reading.
    fn time(&self) -> SystemTime;
    /// Returns the time of the event with this sequence number.
    fn stamp(&self, seq: EventSeq) -> SystemTime;
    /// The loop has read the log up to this event.
    fn took_in(&self, last: EventSeq);
    /// The loop received a stop request.
    fn stopped(&self);
    /// Returns at the next recorded timeout.
    fn time_up(&self) -> BoxFuture<'_, ()>;
    /// The loop handled the timeout.
    fn timed_out(&self);
    /// The loop sleeps. Only advances the replay time.
    fn pause(&self, pause: Duration);
    fn sighting(&self) -> MotionObservation;
    /// Returns true if the next exchange is a hook call at this point.
    fn hooks_are_next(&self, point: &str) -> bool;
    /// Returns the hooks' result if [`Playback::hooks_are_next`]. Never returns if the call was abandoned.
    fn hooks(&self) -> BoxFuture<'_, Bytes>;
    /// Returns the recorded functions.
    fn functions(&self) -> Bytes;
    /// Returns the recorded response. Never returns if there was none, or if the request differs.
    fn answer(&self, method: &'static str, request: Vec<u8>) -> BoxFuture<'_, Result<Bytes>>;
    /// Reduces a request to its recorded form.
    fn shorten(&self, question: &mut dyn RecordableMessage);
    /// Returns the content with this hash, if the export has it.
    fn content(&self, sha256: &[u8]) -> Option<Bytes>;
}

/// Mode of a run: without a recording, recording, or replaying.
#[derive(Clone)]
pub enum RecordingMode {
    Off,
    Recording(Arc<Recorder>),
    Replaying(Arc<dyn Playback>),
}

impl std::fmt::Debug for RecordingMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            RecordingMode::Off => "Off",
            RecordingMode::Recording(_) => "Recording",
            RecordingMode::Replaying(_) => "Playing",
        })
    }
}

/// Start of a measured time span.
#[derive(Debug, Clone, Copy)]
pub enum StartTime {
    Real(Instant),
    Replayed(SystemTime),
}

impl RecordingMode {
    /// Returns the time of the run's clock, and records it; in a replay the recorded one.
    pub fn now(&self, clock: &impl Fn() -> SystemTime) -> SystemTime {
        match self {
            RecordingMode::Off => clock(),
            RecordingMode::Recording(recorder) => recorder.read_clock(clock()),
            RecordingMode::Replaying(playback) => playback.now(),
        }
    }

    /// Returns the time for a new event with this sequence number.
    pub fn event_time(&self, seq: EventSeq) -> SystemTime {
        match self {
            RecordingMode::Off | RecordingMode::Recording(_) => SystemTime::now(),
            RecordingMode::Replaying(playback) => playback.stamp(seq),
        }
    }

    pub fn start_timer(&self) -> StartTime {
        match self {
            RecordingMode::Off | RecordingMode::Recording(_) => StartTime::Real(Instant::now()),
            RecordingMode::Replaying(playback) => StartTime::Replayed(playback.time()),
        }
    }

    /// Returns the time since a start.
    pub fn elapsed(&self, began: StartTime) -> Duration {
        match (self, began) {
            (_, StartTime::Real(at)) => at.elapsed(),
            (RecordingMode::Replaying(playback), StartTime::Replayed(at)) => {
                playback.time().duration_since(at).unwrap_or_default()
            }
            (_, StartTime::Replayed(_)) => Duration::ZERO,
        }
    }

    /// Sleeps; in a replay only the replay time advances.
    pub async fn sleep(&self, pause: Duration) {
        match self {
            RecordingMode::Off | RecordingMode::Recording(_) => tokio::time::sleep(pause).await,
            RecordingMode::Replaying(playback) => playback.pause(pause),
        }
    }

    /// Returns when a deadline is reached.
    pub async fn deadline(&self, left: Duration) {
        match self {
            RecordingMode::Off | RecordingMode::Recording(_) => tokio::time::sleep(left).await,
            RecordingMode::Replaying(playback) => playback.time_up().await,
        }
    }

    /// Records that a wait ended with a timeout.
    pub fn timed_out(&self) {
        match self {
            RecordingMode::Off => {}
            RecordingMode::Recording(recorder) => recorder.note(TIME_UP, Bytes::new()),
            RecordingMode::Replaying(playback) => playback.timed_out(),
        }
    }

    pub fn log_read(&self, last: EventSeq) {
        match self {
            RecordingMode::Off => {}
            RecordingMode::Recording(recorder) => recorder.note(LOG, last.0.to_string().into()),
            RecordingMode::Replaying(playback) => playback.took_in(last),
        }
    }

    pub fn stopped(&self) {
        match self {
            RecordingMode::Off => {}
            RecordingMode::Recording(recorder) => recorder.note(STOPPED, Bytes::new()),
            RecordingMode::Replaying(playback) => playback.stopped(),
        }
    }

    /// Returns the exchanges that have to be stored with the next append.
    pub fn pending(&self) -> Option<Bytes> {
        match self {
            RecordingMode::Recording(recorder) => recorder.unwritten(),
            RecordingMode::Off | RecordingMode::Replaying(_) => None,
        }
    }

    /// Confirms that they were stored.
    pub fn mark_written(&self) {
        if let RecordingMode::Recording(recorder) = self {
            recorder.written();
        }
    }

    pub fn begin_step(&self, step: u32) {
        if let RecordingMode::Recording(recorder) = self {
            recorder.begin_step(step);
        }
    }

    /// Records an observation of the motion monitor, or returns the recorded one.
    pub fn motion(&self, seen: impl FnOnce() -> MotionObservation) -> MotionObservation {
        match self {
            RecordingMode::Off => seen(),
            RecordingMode::Recording(recorder) => {
                let seen = seen();
                recorder.note_content(MOTION, seen.encode_to_vec().into());
                seen
            }
            RecordingMode::Replaying(playback) => playback.sighting(),
        }
    }

    /// Starts recording a hook call at a point. It is completed by its result, or dropped if the call is abandoned.
    pub fn begin_hook_call(&self, point: &str) -> Option<PendingExchange<'_>> {
        match self {
            RecordingMode::Recording(recorder) => Some(recorder.open(HOOKS, point.into())),
            RecordingMode::Off | RecordingMode::Replaying(_) => None,
        }
    }

    /// Returns true if work beside the loop can be started. False in a replay.
    pub fn is_live(&self) -> bool {
        !matches!(self, RecordingMode::Replaying(_))
    }

    /// Sends a request and records the exchange, or returns the recorded response.
    pub async fn exchange<Q, A, D>(
        &self,
        method: &'static str,
        mut asked: Q,
        work: impl Future<Output = Result<D>> + Send,
        to_wire: fn(D) -> A,
        read: fn(A) -> std::result::Result<D, FieldError>,
    ) -> Result<D>
    where
        Q: RecordableMessage + Message,
        A: RecordableMessage + Message + Default,
        D: Clone,
    {
        match self {
            RecordingMode::Off => work.await,
            RecordingMode::Recording(recorder) => {
                recorder.shorten(&mut asked);
                let open = recorder.open(method, asked.encode_to_vec());
                let answered = work.await;
                match &answered {
                    Ok(answer) => open.answered(to_wire(answer.clone())),
                    Err(report) => open.failed(report),
                }
                answered
            }
            RecordingMode::Replaying(playback) => {
                playback.shorten(&mut asked);
                let answered = playback.answer(method, asked.encode_to_vec()).await?;
                let mut answer = A::decode(answered).map_err(|error| unreadable(method, &error))?;
                for image in answer.images() {
                    use motorium_proto::v1::common::image::Content;
                    let content = playback.content(&image.sha256).unwrap_or_default();
                    image.content = Some(Content::Data(content));
                }
                read(answer).map_err(|error| unreadable(method, &error))
            }
        }
    }
}

fn unreadable(method: &str, error: &dyn std::fmt::Display) -> ErrorReport {
    let message = format!("the recorded response of {method} cannot be read: {error}");
    ErrorReport::new(
        Code::DataLoss,
        motorium_task::reason::RECORDING_UNREADABLE,
        message,
    )
}

/// Encodes an error for a recording.
fn status_bytes(report: &ErrorReport) -> Bytes {
    Bytes::copy_from_slice(report.clone().into_status().details())
}

/// Decodes a recorded error.
pub fn report_of(status: &Bytes) -> ErrorReport {
    let known = RpcStatus::decode(status.clone()).unwrap_or_default();
    let status = Status::with_details(Code::from(known.code), known.message, status.clone());
    ErrorReport::from_status(&status)
}

/// Returns true for a note of the loop, false for a request.
pub fn is_note(exchange: &Exchange) -> bool {
    !exchange.method.starts_with('/')
}
