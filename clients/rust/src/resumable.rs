//! Server streams that survive broken connections: reconnecting with the last token loses and repeats nothing.
//!
//! A [`WatchedResource`] opens and reads its stream. This module handles resume tokens, retries and the end of the stream. A server
//! that says nothing, not even a heartbeat, is reported as an update and asked again for as long as the watch is read.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use motorium_proto::error::ErrorReport;
use rand::Rng as _;
use tokio::time::Instant;
use tonic::{Code, Status, Streaming};

use crate::Result;

/// Number of consecutive failed attempts after which the watch fails.
// With the backoff below, the watch survives an outage of about 8 to 16 s.
const MAX_ATTEMPTS: u32 = 8;
/// Backoff before the first retry, doubled each time up to [`MAX_BACKOFF`], with jitter.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
/// Maximum backoff between two attempts.
// A server that restarts is found again within seconds, and many clients do not overload it meanwhile.
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// Default time without a message after which a server counts as silent.
// Two heartbeats of 15 s are missing, and the third one is late.
pub(crate) const DEFAULT_SILENCE: Duration = Duration::from_secs(35);

pub(crate) type CallResult<T> = std::result::Result<T, Status>;

/// A resource whose updates the server streams.
pub(crate) trait WatchedResource: Send + 'static {
    type Response: Send + 'static;
    type Update: Send + 'static;

    /// Starts a stream after the event with this token; an empty token starts at the beginning.
    fn open(
        &mut self,
        resume_token: String,
    ) -> impl Future<Output = CallResult<Streaming<Self::Response>>> + Send;

    /// Reads a message of the stream.
    fn read(&mut self, response: Self::Response) -> Received<Self::Update>;

    /// Returns the update for a server that has sent nothing for this long.
    fn silent(&self, silence: Duration) -> Self::Update;

    /// Returns the update for a server that answers again.
    fn restored(&self) -> Self::Update;

    /// Decides how to go on after the server has ended a stream without an error.
    fn after_end(&mut self) -> impl Future<Output = CallResult<AfterEnd>> + Send;
}

/// Content of a message.
pub(crate) struct Received<U> {
    /// Token to resume after the message; empty if it is not an event.
    pub(crate) resume_token: String,
    pub(crate) update: Option<U>,
    /// True if no update follows.
    pub(crate) is_last: bool,
}

/// Time without a failure after which a server counts as silent and not as refusing: longer than the longest pause between attempts.
const MIN_SILENCE_AFTER_FAILURE: Duration = Duration::from_secs(20);

/// Continuation of a watch whose stream has ended.
pub(crate) enum AfterEnd {
    /// The server occasionally ends long streams.
    Reconnect,
    /// A server that shuts down ends every new stream at once.
    ReconnectAfterBackoff,
    /// No update follows.
    Finish,
}

struct Watch<R: WatchedResource> {
    resource: R,
    token: String,
    messages: Option<Streaming<R::Response>>,
    failures: u32,
    /// Time of the last failure.
    failed_at: Option<Instant>,
    ended: bool,
    silence: Silence,
    /// The update that follows the one that the server answers again.
    next: Option<R::Update>,
}

/// Time in which the server has sent nothing.
struct Silence {
    allowed: Duration,
    /// Time of the last message, or of the first read.
    last_message_at: Option<Instant>,
    /// Time of the last report; `None` if the current silence is not reported yet.
    reported_at: Option<Instant>,
}

impl Silence {
    /// Returns the time at which the silence is reported next.
    fn deadline(&mut self) -> Instant {
        let last_message_at = *self.last_message_at.get_or_insert_with(Instant::now);
        self.reported_at.unwrap_or(last_message_at) + self.allowed
    }

    /// Begins the next silence, and returns how long this one lasts already.
    fn report(&mut self) -> Duration {
        let now = Instant::now();
        self.reported_at = Some(now);
        self.last_message_at.map_or(self.allowed, |at| now - at)
    }

    /// Ends the silence. Returns whether it was reported.
    fn end(&mut self) -> bool {
        self.last_message_at = Some(Instant::now());
        self.reported_at.take().is_some()
    }
}

/// Returns the updates of a resource after the event with this token.
pub(crate) fn updates<R: WatchedResource>(
    resource: R,
    resume_token: &str,
    silence: Duration,
) -> BoxStream<'static, Result<R::Update>> {
    let watch = Watch {
        resource,
        token: resume_token.to_owned(),
        messages: None,
        failures: 0,
        failed_at: None,
        ended: false,
        silence: Silence {
            allowed: silence,
            last_message_at: None,
            reported_at: None,
        },
        next: None,
    };
    stream::unfold(watch, |mut watch| async move {
        let update = watch.next().await?;
        Some((update, watch))
    })
    .boxed()
}

impl<R: WatchedResource> Watch<R> {
    async fn next(&mut self) -> Option<Result<R::Update>> {
        if let Some(update) = self.next.take() {
            return Some(Ok(update));
        }
        while !self.ended {
            let deadline = self.silence.deadline();
            match tokio::time::timeout_at(deadline, self.advance()).await {
                Ok(Ok(Some(update))) => return Some(Ok(update)),
                Ok(Ok(None)) => {}
                Ok(Err(report)) => {
                    self.ended = true;
                    return Some(Err(report));
                }
                Err(_) => return Some(Ok(self.report_silence())),
            }
        }
        None
    }

    /// Reports the silence. The next attempt uses a new stream; it is no failure, so that a server that stands still is waited for.
    fn report_silence(&mut self) -> R::Update {
        self.messages = None;
        // A server that refuses connections is not silent, however short the silence that is reported.
        if self
            .failed_at
            .is_none_or(|at| at.elapsed() >= MIN_SILENCE_AFTER_FAILURE)
        {
            self.failures = 0;
        }
        self.resource.silent(self.silence.report())
    }

    /// Receives a message, or opens the stream again. Returns the update, if there is one. May be dropped at any time.
    async fn advance(&mut self) -> Result<Option<R::Update>> {
        match self.receive().await {
            Ok(Some(message)) => {
                self.failures = 0;
                let update = self.read(message);
                if self.silence.end() {
                    self.next = update;
                    return Ok(Some(self.resource.restored()));
                }
                Ok(update)
            }
            Ok(None) => self.resume().await.map(|()| None),
            Err(status) => self.recover(&status).await.map(|()| None),
        }
    }

    async fn receive(&mut self) -> CallResult<Option<R::Response>> {
        let mut messages = match self.messages.take() {
            Some(messages) => messages,
            None => self.resource.open(self.token.clone()).await?,
        };
        let received = messages.message().await;
        self.messages = Some(messages);
        received
    }

    fn read(&mut self, message: R::Response) -> Option<R::Update> {
        let received = self.resource.read(message);
        if !received.resume_token.is_empty() {
            self.token = received.resume_token;
        }
        self.ended = received.is_last;
        received.update
    }

    async fn resume(&mut self) -> Result<()> {
        self.messages = None;
        match self.resource.after_end().await {
            Ok(AfterEnd::Reconnect) => {}
            Ok(AfterEnd::ReconnectAfterBackoff) => tokio::time::sleep(backoff(1)).await,
            Ok(AfterEnd::Finish) => self.ended = true,
            Err(status) => return self.recover(&status).await,
        }
        Ok(())
    }

    async fn recover(&mut self, status: &Status) -> Result<()> {
        self.failed_at = Some(Instant::now());
        self.messages = None;
        self.failures += 1;
        if !is_retryable(status) || self.failures >= MAX_ATTEMPTS {
            return Err(ErrorReport::from_status(status));
        }
        tokio::time::sleep(backoff(self.failures)).await;
        Ok(())
    }
}

/// Returns the pause after this number of consecutive failures.
fn backoff(failures: u32) -> Duration {
    let max_pause = INITIAL_BACKOFF
        .saturating_mul(1 << failures.min(6))
        .min(MAX_BACKOFF);
    max_pause.mul_f64(rand::rng().random_range(0.5..1.0))
}

/// Returns true if a new connection may resolve the error. Proxies and connections that reach their maximum age cause
/// these codes.
fn is_retryable(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::Unknown
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
    )
}
