//! Watches of tasks that survive broken connections.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use rand::Rng as _;
use tonic::body::Body as RequestBody;
use tonic::client::GrpcService;
use tonic::codegen::{Body, StdError};
use tonic::{Code, Status, Streaming};

use crate::Result;

/// Number of consecutive failed attempts after which the watch fails.
// With the backoff below, the watch survives an outage of about 8 to 16 s.
pub(crate) const MAX_ATTEMPTS: u32 = 8;
/// Backoff before the first retry, doubled each time up to [`MAX_BACKOFF`], with jitter.
const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// Time without a message after which a watch counts as broken: four heartbeat intervals.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// An update of a watch.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The task at the start of the watch. Comes first, unless the watch was resumed.
    Snapshot(Box<wire::Task>),
    /// An event, with the token to resume a watch after it.
    Event {
        event: Box<wire::Event>,
        resume_token: String,
    },
}

struct Watch<C> {
    client: OrchestratorServiceClient<C>,
    task: String,
    token: String,
    messages: Option<Streaming<wire::WatchTaskResponse>>,
    /// True if the current connection has delivered an event.
    received_event: bool,
    /// True if the task had ended before the current connection was made.
    task_has_ended: bool,
    failures: u32,
    ended: bool,
}

pub(crate) fn updates<C>(
    client: OrchestratorServiceClient<C>,
    task: String,
    token: String,
) -> BoxStream<'static, Result<Update>>
where
    C: GrpcService<RequestBody> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    let watch = Watch {
        client,
        task,
        token,
        messages: None,
        received_event: false,
        task_has_ended: false,
        failures: 0,
        ended: false,
    };
    stream::unfold(watch, |mut watch| async move {
        let update = watch.next().await?;
        Some((update, watch))
    })
    .boxed()
}

impl<C> Watch<C>
where
    C: GrpcService<RequestBody> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    async fn next(&mut self) -> Option<Result<Update>> {
        while !self.ended {
            match self.receive().await {
                Ok(Some(message)) => {
                    self.failures = 0;
                    if let Some(update) = self.handle(message) {
                        return Some(Ok(update));
                    }
                }
                Ok(None) => {
                    if let Err(report) = self.resume().await {
                        self.ended = true;
                        return Some(Err(report));
                    }
                }
                Err(status) => {
                    if let Err(report) = self.recover(&status).await {
                        self.ended = true;
                        return Some(Err(report));
                    }
                }
            }
        }
        None
    }

    async fn receive(&mut self) -> std::result::Result<Option<wire::WatchTaskResponse>, Status> {
        if self.messages.is_none() {
            let request = wire::WatchTaskRequest {
                name: self.task.clone(),
                resume_token: self.token.clone(),
            };
            self.messages = Some(self.client.watch_task(request).await?.into_inner());
            self.received_event = false;
        }
        let Some(messages) = &mut self.messages else {
            return Ok(None);
        };
        match tokio::time::timeout(IDLE_TIMEOUT, messages.message()).await {
            Ok(message) => message,
            Err(_) => Err(Status::unavailable(
                "no message received, not even a heartbeat",
            )),
        }
    }

    fn handle(&mut self, message: wire::WatchTaskResponse) -> Option<Update> {
        use wire::watch_task_response::Content;

        if !message.resume_token.is_empty() {
            self.token.clone_from(&message.resume_token);
        }
        match message.content? {
            Content::Snapshot(task) => Some(Update::Snapshot(Box::new(task))),
            Content::Heartbeat(_) => None,
            Content::Event(event) => {
                self.received_event = true;
                self.ended = is_terminal(&event);
                let resume_token = message.resume_token;
                Some(Update::Event {
                    event: Box::new(event),
                    resume_token,
                })
            }
        }
    }

    /// Resumes a watch that the server has ended, as it occasionally does with long watches. If the task had ended before
    /// this watch started and the watch delivered nothing, the task's last event is before the token, and the watch ends.
    async fn resume(&mut self) -> Result<()> {
        self.messages = None;
        if self.received_event {
            return Ok(());
        }
        if self.task_has_ended {
            self.ended = true;
            return Ok(());
        }
        match self.has_task_ended().await {
            Ok(has_ended) => self.task_has_ended = has_ended,
            Err(status) => return self.recover(&status).await,
        }
        if self.task_has_ended {
            return Ok(());
        }
        // Backs off, because a server that shuts down ends every new watch at once.
        tokio::time::sleep(backoff(1)).await;
        Ok(())
    }

    async fn has_task_ended(&mut self) -> std::result::Result<bool, Status> {
        let name = self.task.clone();
        let answer = self.client.get_task(wire::GetTaskRequest { name }).await?;
        let task = answer.into_inner().task.unwrap_or_default();
        Ok(task.end_time.is_some())
    }

    async fn recover(&mut self, status: &Status) -> Result<()> {
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
pub(crate) fn backoff(failures: u32) -> Duration {
    let longest = INITIAL_BACKOFF
        .saturating_mul(1 << failures.min(6))
        .min(MAX_BACKOFF);
    longest.mul_f64(rand::rng().random_range(0.5..1.0))
}

/// Returns true if a new connection may resolve the error. Proxies and connections that reach their maximum age cause
/// these codes.
pub(crate) fn is_retryable(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::Unknown
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
    )
}

fn is_terminal(event: &wire::Event) -> bool {
    use wire::task::State;

    matches!(
        event.state(),
        State::Succeeded | State::Failed | State::Cancelled
    )
}
