//! Watches of tasks.

use std::time::Duration;

use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use tonic::Streaming;

use crate::Transport;
use crate::resumable::{AfterEnd, CallResult, Received, WatchedResource};

/// States in which a task has ended.
pub const ENDED_STATES: [wire::task::State; 3] = {
    use wire::task::State;

    [State::Succeeded, State::Failed, State::Cancelled]
};

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
    /// The server has sent nothing for this long, not even a heartbeat. The watch goes on trying, and reports it again.
    Silent { silence: Duration },
    /// The server answers again after a silence.
    Restored,
}

/// A task that is watched.
pub(crate) struct TaskWatch<C> {
    client: OrchestratorServiceClient<C>,
    name: String,
    /// True if the current stream has delivered an event.
    received_event: bool,
    /// True if the task had ended before the current stream was opened.
    has_ended: bool,
}

impl<C> TaskWatch<C> {
    pub(crate) fn new(client: OrchestratorServiceClient<C>, name: String) -> Self {
        Self {
            client,
            name,
            received_event: false,
            has_ended: false,
        }
    }
}

impl<C: Transport> WatchedResource for TaskWatch<C> {
    type Response = wire::WatchTaskResponse;
    type Update = Update;

    async fn open(&mut self, resume_token: String) -> CallResult<Streaming<Self::Response>> {
        let request = wire::WatchTaskRequest {
            name: self.name.clone(),
            resume_token,
        };
        let messages = self.client.watch_task(request).await?.into_inner();
        self.received_event = false;
        Ok(messages)
    }

    fn read(&mut self, response: Self::Response) -> Received<Update> {
        use wire::watch_task_response::Content;

        let resume_token = response.resume_token;
        let mut is_last = false;
        let update = match response.content {
            Some(Content::Snapshot(task)) => Some(Update::Snapshot(Box::new(task))),
            Some(Content::Event(event)) => {
                self.received_event = true;
                is_last = ENDED_STATES.contains(&event.state());
                Some(Update::Event {
                    event: Box::new(event),
                    resume_token: resume_token.clone(),
                })
            }
            Some(Content::Heartbeat(_)) | None => None,
        };
        Received {
            resume_token,
            update,
            is_last,
        }
    }

    fn silent(&self, silence: Duration) -> Update {
        Update::Silent { silence }
    }

    fn restored(&self) -> Update {
        Update::Restored
    }

    /// If the task had ended before a stream was opened and the stream delivered nothing, the task's last event is before
    /// the token, and the watch ends.
    async fn after_end(&mut self) -> CallResult<AfterEnd> {
        if self.received_event {
            return Ok(AfterEnd::Reconnect);
        }
        if self.has_ended {
            return Ok(AfterEnd::Finish);
        }
        let name = self.name.clone();
        let response = self.client.get_task(wire::GetTaskRequest { name }).await?;
        let task = response.into_inner().task.unwrap_or_default();
        self.has_ended = task.end_time.is_some();
        Ok(match self.has_ended {
            true => AfterEnd::Reconnect,
            false => AfterEnd::ReconnectAfterBackoff,
        })
    }
}
