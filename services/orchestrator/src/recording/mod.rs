//! What a run asks of the other services and what it is answered, so that it can be carried out again without them.
//!
//! - [`Tape`]: where a run notes it, or from where it is told again
//! - [`hooks`]: what hooks said
//! - [`ports`]: the three services, over a tape
//! - [`recorder`]: notes, in order, and hands over what is stored with the events that came of it
//! - [`said`]: questions and answers without pictures, and without what was said before
//!
//! The loop asks one thing after the other, so a record is a sequence. What happens beside the loop is not in it: leases and
//! their renewal, watching people, the look-out and the look for the next step while they go on. What comes of these is noted
//! where the loop takes it. Beside questions there is: what the clock said, up to where the log was taken in, that somebody
//! said stop, that time was up. See `docs/adr/0012`.

pub(crate) mod hooks;
mod ports;
mod recorder;
mod said;
pub(crate) mod settings;

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

pub(crate) use ports::{OBSERVE, taped};
pub(crate) use recorder::{Open, Recorder, unpacked};
pub(crate) use said::{Known, Said};

/// What the clock said.
pub(crate) const CLOCK: &str = "clock";
/// The log was taken in, up to the event whose number is the request.
pub(crate) const LOG: &str = "log";
/// Somebody said stop, and the loop left what it waited for.
pub(crate) const STOPPED: &str = "stopped";
/// The time for something was up.
pub(crate) const TIME_UP: &str = "time-up";
/// What the look-out had seen.
pub(crate) const LOOKOUT: &str = "look-out";
/// What functions the task's tools have.
pub(crate) const FUNCTIONS: &str = "functions";
/// Hooks were asked; the request is the point. Like a question to a service: who passes it by goes another way.
pub(crate) const HOOKS: &str = "/hooks";
/// Too much was asked after this to be recorded.
pub(crate) const CUT: &str = "cut";
/// How the run was configured; the request is the number of the last event that had happened before.
pub(crate) const RUN: &str = "run";

/// What the look-out saw, as it is noted.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Seen {
    #[prost(message, repeated, tag = "1")]
    pub(crate) changes: Vec<Changed>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) frames: Vec<String>,
}

/// Where something had changed, at one look.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Changed {
    #[prost(message, repeated, tag = "1")]
    pub(crate) places: Vec<motorium_proto::v1::common::PixelBox>,
}

/// `google.rpc.Status`, as far as it is read here.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// Plays a record.
pub(crate) trait Playback: Send + Sync {
    /// What the clock said here.
    fn now(&self) -> SystemTime;
    /// The time, without asking the clock.
    fn time(&self) -> SystemTime;
    /// When the event of this number happened.
    fn stamp(&self, seq: EventSeq) -> SystemTime;
    /// The loop knows the log up to this event.
    fn took_in(&self, last: EventSeq);
    /// The loop was told to stop.
    fn stopped(&self);
    /// Returns when the time for something is up.
    fn time_up(&self) -> BoxFuture<'_, ()>;
    /// The loop has noticed that.
    fn timed_out(&self);
    /// The loop waits for so long.
    fn pause(&self, pause: Duration);
    fn sighting(&self) -> Seen;
    /// Whether the next thing that happened is what hooks said at this point.
    fn hooks_are_next(&self, point: &str) -> bool;
    /// What they said, where [`Playback::hooks_are_next`]; never returns if they were left before they had.
    fn hooks(&self) -> BoxFuture<'_, Bytes>;
    /// What functions there were.
    fn functions(&self) -> Bytes;
    /// What was answered; never returns if nothing was, or if something else was asked.
    fn answer(&self, method: &'static str, request: Vec<u8>) -> BoxFuture<'_, Result<Bytes>>;
    /// Makes the question what it would be in the record.
    fn shorten(&self, question: &mut dyn Said);
    /// What has this hash, if the export has it.
    fn content(&self, sha256: &[u8]) -> Option<Bytes>;
}

/// Where a run notes what it is told, or from where it is told again.
#[derive(Clone)]
pub(crate) enum Tape {
    Off,
    Recording(Arc<Recorder>),
    Playing(Arc<dyn Playback>),
}

impl std::fmt::Debug for Tape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Tape::Off => "Off",
            Tape::Recording(_) => "Recording",
            Tape::Playing(_) => "Playing",
        })
    }
}

/// A stretch of time that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Began {
    Really(Instant),
    OnTape(SystemTime),
}

impl Tape {
    /// What the clock says; noted.
    pub(crate) fn now(&self) -> SystemTime {
        match self {
            Tape::Off => SystemTime::now(),
            Tape::Recording(recorder) => recorder.now(),
            Tape::Playing(playback) => playback.now(),
        }
    }

    /// When an event of this number happens that happens now.
    pub(crate) fn stamp(&self, seq: EventSeq) -> SystemTime {
        match self {
            Tape::Off | Tape::Recording(_) => SystemTime::now(),
            Tape::Playing(playback) => playback.stamp(seq),
        }
    }

    pub(crate) fn begin(&self) -> Began {
        match self {
            Tape::Off | Tape::Recording(_) => Began::Really(Instant::now()),
            Tape::Playing(playback) => Began::OnTape(playback.time()),
        }
    }

    /// How much time has passed.
    pub(crate) fn since(&self, began: Began) -> Duration {
        match (self, began) {
            (_, Began::Really(at)) => at.elapsed(),
            (Tape::Playing(playback), Began::OnTape(at)) => {
                playback.time().duration_since(at).unwrap_or_default()
            }
            (_, Began::OnTape(_)) => Duration::ZERO,
        }
    }

    /// Waits for so long, unless nothing is waited for.
    pub(crate) async fn pause(&self, pause: Duration) {
        match self {
            Tape::Off | Tape::Recording(_) => tokio::time::sleep(pause).await,
            Tape::Playing(playback) => playback.pause(pause),
        }
    }

    /// Returns when the time is up that something has.
    pub(crate) async fn time_up(&self, left: Duration) {
        match self {
            Tape::Off | Tape::Recording(_) => tokio::time::sleep(left).await,
            Tape::Playing(playback) => playback.time_up().await,
        }
    }

    /// What was waited for is given up, because its time is up.
    pub(crate) fn timed_out(&self) {
        match self {
            Tape::Off => {}
            Tape::Recording(recorder) => recorder.mark(TIME_UP, Bytes::new()),
            Tape::Playing(playback) => playback.timed_out(),
        }
    }

    pub(crate) fn took_in(&self, last: EventSeq) {
        match self {
            Tape::Off => {}
            Tape::Recording(recorder) => recorder.mark(LOG, last.0.to_string().into()),
            Tape::Playing(playback) => playback.took_in(last),
        }
    }

    pub(crate) fn stopped(&self) {
        match self {
            Tape::Off => {}
            Tape::Recording(recorder) => recorder.mark(STOPPED, Bytes::new()),
            Tape::Playing(playback) => playback.stopped(),
        }
    }

    /// What led to what is written next, to be written with it.
    pub(crate) fn unwritten(&self) -> Option<Bytes> {
        match self {
            Tape::Recording(recorder) => recorder.unwritten(),
            Tape::Off | Tape::Playing(_) => None,
        }
    }

    /// It is written.
    pub(crate) fn written(&self) {
        if let Tape::Recording(recorder) = self {
            recorder.written();
        }
    }

    pub(crate) fn begin_step(&self, step: u32) {
        if let Tape::Recording(recorder) = self {
            recorder.begin_step(step);
        }
    }

    /// What the look-out saw: as it is noted, or as it was.
    pub(crate) fn sighting(&self, seen: impl FnOnce() -> Seen) -> Seen {
        match self {
            Tape::Off => seen(),
            Tape::Recording(recorder) => {
                let seen = seen();
                recorder.noted(LOOKOUT, seen.encode_to_vec().into());
                seen
            }
            Tape::Playing(playback) => playback.sighting(),
        }
    }

    /// Notes that hooks are asked at a point, until they have said something or nobody waits for it any more.
    pub(crate) fn ask_hooks(&self, point: &str) -> Option<Open<'_>> {
        match self {
            Tape::Recording(recorder) => Some(recorder.open(HOOKS, point.into())),
            Tape::Off | Tape::Playing(_) => None,
        }
    }

    /// Whether anything can be begun that goes on beside the loop.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self, Tape::Playing(_))
    }

    /// Asks, and notes what was asked and answered; or answers what was.
    pub(crate) async fn exchange<Q, A, D>(
        &self,
        method: &'static str,
        mut asked: Q,
        work: impl Future<Output = Result<D>> + Send,
        told: fn(D) -> A,
        read: fn(A) -> std::result::Result<D, FieldError>,
    ) -> Result<D>
    where
        Q: Said + Message,
        A: Said + Message + Default,
        D: Clone,
    {
        match self {
            Tape::Off => work.await,
            Tape::Recording(recorder) => {
                recorder.shorten(&mut asked);
                let open = recorder.open(method, asked.encode_to_vec());
                let answered = work.await;
                match &answered {
                    Ok(answer) => open.answered(told(answer.clone())),
                    Err(report) => open.failed(report),
                }
                answered
            }
            Tape::Playing(playback) => {
                playback.shorten(&mut asked);
                let answered = playback.answer(method, asked.encode_to_vec()).await?;
                let mut answer = A::decode(answered).map_err(|error| unreadable(method, &error))?;
                for picture in answer.pictures() {
                    use motorium_proto::v1::common::image::Content;
                    let content = playback.content(&picture.sha256).unwrap_or_default();
                    picture.content = Some(Content::Data(content));
                }
                read(answer).map_err(|error| unreadable(method, &error))
            }
        }
    }
}

fn unreadable(method: &str, error: &dyn std::fmt::Display) -> ErrorReport {
    let message = format!("the recorded answer of {method} cannot be read: {error}");
    ErrorReport::new(Code::DataLoss, crate::reason::RECORD_UNREADABLE, message)
}

/// An error as it is noted.
fn status_bytes(report: &ErrorReport) -> Bytes {
    Bytes::copy_from_slice(report.clone().into_status().details())
}

/// What was noted of an error.
pub(crate) fn report_of(status: &Bytes) -> ErrorReport {
    let known = RpcStatus::decode(status.clone()).unwrap_or_default();
    let status = Status::with_details(Code::from(known.code), known.message, status.clone());
    ErrorReport::from_status(&status)
}

/// Whether this is one of the loop's own notes rather than a question.
pub(crate) fn is_note(exchange: &Exchange) -> bool {
    !exchange.method.starts_with('/')
}
