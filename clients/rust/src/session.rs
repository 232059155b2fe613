//! Watches of sessions that survive broken connections.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use tonic::body::Body as RequestBody;
use tonic::client::GrpcService;
use tonic::codegen::{Body, StdError};
use tonic::{Status, Streaming};

use crate::Result;
use crate::watch::{IDLE_TIMEOUT, MAX_ATTEMPTS, backoff, is_retryable};

/// An update of the watch of a session.
#[derive(Debug, Clone, PartialEq)]
pub enum SessionUpdate {
    /// The session at the start of the watch. Comes first, unless the watch was resumed.
    Snapshot(wire::Session),
    /// An event of one of its tasks, with the token to resume a watch after it.
    Event {
        event: Box<wire::Event>,
        resume_token: String,
    },
}

struct SessionWatch<C> {
    client: OrchestratorServiceClient<C>,
    session: String,
    token: String,
    messages: Option<Streaming<wire::WatchSessionResponse>>,
    failures: u32,
    failed: bool,
}

pub(crate) fn updates<C>(
    client: OrchestratorServiceClient<C>,
    session: String,
    token: String,
) -> BoxStream<'static, Result<SessionUpdate>>
where
    C: GrpcService<RequestBody> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    let watch = SessionWatch {
        client,
        session,
        token,
        messages: None,
        failures: 0,
        failed: false,
    };
    stream::unfold(watch, |mut watch| async move {
        let update = watch.next().await?;
        Some((update, watch))
    })
    .boxed()
}

impl<C> SessionWatch<C>
where
    C: GrpcService<RequestBody> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    async fn next(&mut self) -> Option<Result<SessionUpdate>> {
        while !self.failed {
            match self.receive().await {
                Ok(Some(message)) => {
                    self.failures = 0;
                    if let Some(update) = self.handle(message) {
                        return Some(Ok(update));
                    }
                }
                Ok(None) => {
                    self.messages = None;
                    // A session does not end, so the server shuts down and ends every new watch at once.
                    tokio::time::sleep(backoff(1)).await;
                }
                Err(status) => {
                    self.messages = None;
                    self.failures += 1;
                    if !is_retryable(&status) || self.failures >= MAX_ATTEMPTS {
                        self.failed = true;
                        return Some(Err(ErrorReport::from_status(&status)));
                    }
                    tokio::time::sleep(backoff(self.failures)).await;
                }
            }
        }
        None
    }

    async fn receive(&mut self) -> std::result::Result<Option<wire::WatchSessionResponse>, Status> {
        let mut messages = match self.messages.take() {
            Some(messages) => messages,
            None => {
                let request = wire::WatchSessionRequest {
                    name: self.session.clone(),
                    resume_token: self.token.clone(),
                };
                self.client.watch_session(request).await?.into_inner()
            }
        };
        let received = tokio::time::timeout(IDLE_TIMEOUT, messages.message()).await;
        let received = received
            .map_err(|_| Status::unavailable("no message received, not even a heartbeat"))?;
        self.messages = Some(messages);
        received
    }

    fn handle(&mut self, message: wire::WatchSessionResponse) -> Option<SessionUpdate> {
        use wire::watch_session_response::Content;

        if !message.resume_token.is_empty() {
            self.token.clone_from(&message.resume_token);
        }
        match message.content? {
            Content::Snapshot(session) => Some(SessionUpdate::Snapshot(session)),
            Content::Heartbeat(_) => None,
            Content::Event(event) => Some(SessionUpdate::Event {
                event: Box::new(event),
                resume_token: message.resume_token,
            }),
        }
    }
}
