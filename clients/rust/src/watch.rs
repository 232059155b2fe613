//! Watching a task through broken connections.

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

/// Attempts in a row that may fail before the watch does.
const MAX_ATTEMPTS: u32 = 8;
/// Pause before the first new attempt, doubled each time up to [`MAX_PAUSE`], with jitter.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// A watch that hears nothing for so long (several heartbeats) is taken for broken.
const SILENCE: Duration = Duration::from_secs(60);

/// Something that a watch tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The task as it was when the watch began; comes first, unless the watch was resumed.
    Snapshot(Box<wire::Task>),
    /// Something happened. With the token a later watch goes on after it.
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
    /// The present connection has told of something.
    heard: bool,
    /// The task had ended before the present connection was made.
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
        heard: false,
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
                    if let Some(update) = self.take(message) {
                        return Some(Ok(update));
                    }
                }
                Ok(None) => {
                    if let Err(report) = self.go_on().await {
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
            self.heard = false;
        }
        let Some(messages) = &mut self.messages else {
            return Ok(None);
        };
        match tokio::time::timeout(SILENCE, messages.message()).await {
            Ok(message) => message,
            Err(_) => Err(Status::unavailable(
                "nothing was heard, not even a heartbeat",
            )),
        }
    }

    fn take(&mut self, message: wire::WatchTaskResponse) -> Option<Update> {
        use wire::watch_task_response::Content;

        if !message.resume_token.is_empty() {
            self.token.clone_from(&message.resume_token);
        }
        match message.content? {
            Content::Snapshot(task) => Some(Update::Snapshot(Box::new(task))),
            Content::Heartbeat(_) => None,
            Content::Event(event) => {
                self.heard = true;
                self.ended = is_last(&event);
                let resume_token = message.resume_token;
                Some(Update::Event {
                    event: Box::new(event),
                    resume_token,
                })
            }
        }
    }

    /// The server ends a long watch now and then; it is simply continued. But if the task had ended before this watch
    /// began and the watch had nothing to tell, then the task's last event lies before the token.
    async fn go_on(&mut self) -> Result<()> {
        self.messages = None;
        if self.heard {
            return Ok(());
        }
        if self.task_has_ended {
            self.ended = true;
            return Ok(());
        }
        match self.ask_whether_ended().await {
            Ok(has_ended) => self.task_has_ended = has_ended,
            Err(status) => return self.recover(&status).await,
        }
        if self.task_has_ended {
            return Ok(());
        }
        // A server that is about to go away ends every watch at once.
        tokio::time::sleep(pause(1)).await;
        Ok(())
    }

    async fn ask_whether_ended(&mut self) -> std::result::Result<bool, Status> {
        let name = self.task.clone();
        let answer = self.client.get_task(wire::GetTaskRequest { name }).await?;
        let task = answer.into_inner().task.unwrap_or_default();
        Ok(task.end_time.is_some())
    }

    async fn recover(&mut self, status: &Status) -> Result<()> {
        self.messages = None;
        self.failures += 1;
        if !mends(status) || self.failures >= MAX_ATTEMPTS {
            return Err(ErrorReport::from_status(status));
        }
        tokio::time::sleep(pause(self.failures)).await;
        Ok(())
    }
}

fn pause(failures: u32) -> Duration {
    let longest = FIRST_PAUSE
        .saturating_mul(1 << failures.min(6))
        .min(MAX_PAUSE);
    longest.mul_f64(rand::rng().random_range(0.5..1.0))
}

/// Whether a new connection may mend it. A proxy or a connection that reached its age shows as one of these.
fn mends(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::Unknown
            | Code::Cancelled
            | Code::DeadlineExceeded
            | Code::Aborted
    )
}

fn is_last(event: &wire::Event) -> bool {
    use wire::event::Kind;

    matches!(
        event.kind,
        Some(Kind::Succeeded(_) | Kind::Failed(_) | Kind::Cancelled(_))
    )
}
