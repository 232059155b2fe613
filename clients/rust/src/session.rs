//! Watches of sessions.

use std::time::Duration;

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use tonic::Streaming;

use crate::Transport;
use crate::resumable::{AfterEnd, CallResult, Received, WatchedResource};

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
    /// The server has sent nothing for this long, not even a heartbeat. The watch goes on trying, and reports it again.
    Silent { silence: Duration },
    /// The server answers again after a silence.
    Restored,
}

/// A session that is watched.
pub(crate) struct SessionWatch<C> {
    pub(crate) client: OrchestratorServiceClient<C>,
    pub(crate) name: String,
}

impl<C: Transport> WatchedResource for SessionWatch<C> {
    type Response = wire::WatchSessionResponse;
    type Update = SessionUpdate;

    async fn open(&mut self, resume_token: String) -> CallResult<Streaming<Self::Response>> {
        let request = wire::WatchSessionRequest {
            name: self.name.clone(),
            resume_token,
        };
        Ok(self.client.watch_session(request).await?.into_inner())
    }

    fn read(&mut self, response: Self::Response) -> Received<SessionUpdate> {
        use wire::watch_session_response::Content;

        let resume_token = response.resume_token;
        let update = match response.content {
            Some(Content::Snapshot(session)) => Some(SessionUpdate::Snapshot(session)),
            Some(Content::Event(event)) => Some(SessionUpdate::Event {
                event: Box::new(event),
                resume_token: resume_token.clone(),
            }),
            Some(Content::Heartbeat(_)) | None => None,
        };
        Received {
            resume_token,
            update,
            is_last: false,
        }
    }

    fn silent(&self, silence: Duration) -> SessionUpdate {
        SessionUpdate::Silent { silence }
    }

    fn restored(&self) -> SessionUpdate {
        SessionUpdate::Restored
    }

    /// A session does not end, so the server shuts down.
    async fn after_end(&mut self) -> CallResult<AfterEnd> {
        Ok(AfterEnd::ReconnectAfterBackoff)
    }
}
