//! Client for Motorium's Orchestrator: create tasks and watch them across reconnections.
//!
//! A [`Client`] wraps any channel that tonic can call (`tonic::transport::Channel`, or one with tokens and TLS). It adds
//! errors with reasons, watches that survive a broken connection, and complete reads of artifacts. Its only state is the
//! connection. [`Client::connect`] opens a channel that sends this user's token to servers on this machine, and to no other.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use futures::StreamExt as _;
//! use motorium_client::Client;
//!
//! let client = Client::connect("http://127.0.0.1:7700")?;
//! let task = client.create_task("click \"Save\"").await?;
//! let mut updates = client.watch(&task.name);
//! while let Some(update) = updates.next().await {
//!     let update = update?;
//! }
//! # Ok(())
//! # }
//! ```

mod resumable;
mod session;
mod watch;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::stream::BoxStream;
use motorium_kit::loopback_token::LoopbackToken;
use motorium_proto::error::ErrorReport;
use motorium_proto::limits::CHUNK_BYTES;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::orchestrator_service_client::OrchestratorServiceClient;
use tonic::Status;
use tonic::body::Body as RequestBody;
use tonic::client::GrpcService;
use tonic::codegen::{Body, StdError};

use session::SessionWatch;
use watch::TaskWatch;

pub use motorium_kit::client::{Channel, Config, Error as ConnectError};
pub use session::SessionUpdate;
pub use watch::{ENDED_STATES, Update};

/// Result of every call.
pub type Result<T> = std::result::Result<T, ErrorReport>;

/// A channel that a client can call: tonic's own, or one with interposed layers.
pub trait Transport:
    GrpcService<
        RequestBody,
        ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
        Future: Send,
    > + Clone
    + Send
    + Sync
    + 'static
{
}

impl<C> Transport for C where
    C: GrpcService<
            RequestBody,
            ResponseBody: Body<Data = Bytes, Error: Into<StdError> + Send> + Send + 'static,
            Future: Send,
        > + Clone
        + Send
        + Sync
        + 'static
{
}

/// A client of the Orchestrator. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Client<C> {
    inner: OrchestratorServiceClient<C>,
    silence: Duration,
}

impl Client<Channel> {
    /// Creates a client for the Orchestrator at an address such as `http://127.0.0.1:7700`. It connects on its first call. A
    /// server on this machine receives the token that it has created for this user.
    ///
    /// # Errors
    /// If the address is malformed.
    pub fn connect(uri: &str) -> std::result::Result<Self, ConnectError> {
        Self::connect_with(&Config {
            loopback_token: Some(LoopbackToken::of_this_user()),
            ..Config::new(uri)
        })
    }

    /// Creates a client with a token, a client certificate or a certificate authority.
    ///
    /// # Errors
    /// If the address, the certificates or the token are unusable.
    pub fn connect_with(config: &Config) -> std::result::Result<Self, ConnectError> {
        Ok(Self::new(Channel::connect_lazy(config)?))
    }
}

impl<C: Transport> Client<C> {
    /// Creates a client over a channel.
    pub fn new(channel: C) -> Self {
        Self {
            inner: OrchestratorServiceClient::new(channel),
            silence: resumable::DEFAULT_SILENCE,
        }
    }

    /// Sets the time without a message after which a watch tells that the server is silent, 35 s by default. The server sends a
    /// heartbeat every 15 s.
    #[must_use]
    pub fn with_silence(self, silence: Duration) -> Self {
        Self { silence, ..self }
    }

    /// Returns the generated client, for methods without a helper here.
    pub fn raw(&self) -> OrchestratorServiceClient<C> {
        self.inner.clone()
    }

    /// Creates a task with only a goal.
    ///
    /// # Errors
    /// If the goal is rejected or the service cannot be reached.
    pub async fn create_task(&self, goal: &str) -> Result<wire::Task> {
        let task = wire::Task {
            goal: goal.to_owned(),
            ..wire::Task::default()
        };
        self.create(wire::CreateTaskRequest {
            task: Some(task),
            ..Default::default()
        })
        .await
    }

    /// Creates a task.
    ///
    /// # Errors
    /// If the task is rejected or the service cannot be reached.
    pub async fn create(&self, request: wire::CreateTaskRequest) -> Result<wire::Task> {
        let response = self.raw().create_task(request).await.map_err(report)?;
        Ok(response.into_inner().task.unwrap_or_default())
    }

    /// Uploads a file, and returns the name for `Attachment.upload`. Files of up to 1 MiB may be attached without an upload.
    ///
    /// # Errors
    /// If the call fails, or the file is larger than the service allows.
    pub async fn upload(&self, content: impl Into<Bytes>) -> Result<String> {
        let content = content.into();
        let chunks = (0..content.len()).step_by(CHUNK_BYTES).map(move |start| {
            let end = content.len().min(start + CHUNK_BYTES);
            wire::UploadFileRequest {
                chunk: content.slice(start..end),
            }
        });
        let uploaded = self.raw().upload_file(futures::stream::iter(chunks)).await;
        Ok(uploaded.map_err(report)?.into_inner().upload)
    }

    /// Gets a task.
    ///
    /// # Errors
    /// If there is no such task or the service cannot be reached.
    pub async fn get_task(&self, name: &str) -> Result<wire::Task> {
        let request = wire::GetTaskRequest {
            name: name.to_owned(),
        };
        let response = self.raw().get_task(request).await.map_err(report)?;
        Ok(response.into_inner().task.unwrap_or_default())
    }

    /// Cancels a task.
    ///
    /// # Errors
    /// If there is no such task or the service cannot be reached.
    pub async fn cancel_task(&self, name: &str, reason: &str) -> Result<wire::Task> {
        let request = wire::CancelTaskRequest {
            name: name.to_owned(),
            reason: reason.to_owned(),
            request_id: String::new(),
        };
        let response = self.raw().cancel_task(request).await.map_err(report)?;
        Ok(response.into_inner().task.unwrap_or_default())
    }

    /// Lists all steps of a task, the oldest first.
    ///
    /// # Errors
    /// If there is no such task or the service cannot be reached.
    pub async fn list_steps(&self, task: &str) -> Result<Vec<wire::Step>> {
        let mut steps = Vec::new();
        let mut page_token = String::new();
        loop {
            let request = wire::ListStepsRequest {
                parent: task.to_owned(),
                page_size: 0,
                page_token,
            };
            let page = self
                .raw()
                .list_steps(request)
                .await
                .map_err(report)?
                .into_inner();
            steps.extend(page.steps);
            if page.next_page_token.is_empty() {
                return Ok(steps);
            }
            page_token = page.next_page_token;
        }
    }

    /// Reads a complete image or file of a task.
    ///
    /// # Errors
    /// If there is no such artifact or the connection breaks.
    pub async fn get_artifact(&self, name: &str) -> Result<(wire::Artifact, Bytes)> {
        use wire::get_artifact_response::Part;

        let request = wire::GetArtifactRequest {
            name: name.to_owned(),
            read_offset: 0,
        };
        let mut parts = self
            .raw()
            .get_artifact(request)
            .await
            .map_err(report)?
            .into_inner();
        let mut artifact = wire::Artifact::default();
        let mut content = BytesMut::new();
        while let Some(message) = parts.message().await.map_err(report)? {
            match message.part {
                Some(Part::Artifact(description)) => artifact = description,
                Some(Part::Chunk(chunk)) => content.extend_from_slice(&chunk),
                None => {}
            }
        }
        Ok((artifact, content.freeze()))
    }

    /// Watches a task from its beginning until it has ended. The stream survives broken connections without losing or
    /// repeating an event, and tells of a silent server. It ends after the task's last event, or with an error that reconnecting cannot
    /// resolve.
    pub fn watch(&self, task: &str) -> BoxStream<'static, Result<Update>> {
        self.watch_from(task, "")
    }

    /// Resumes a watch after the event with this `resume_token`.
    pub fn watch_from(&self, task: &str, resume_token: &str) -> BoxStream<'static, Result<Update>> {
        let watched = TaskWatch::new(self.raw(), task.to_owned());
        resumable::updates(watched, resume_token, self.silence)
    }

    /// Watches all tasks of a session from their beginning, also tasks that are created later. The stream survives broken
    /// connections without losing or repeating an event. It ends only with an error that reconnecting cannot resolve.
    pub fn watch_session(&self, session: &str) -> BoxStream<'static, Result<SessionUpdate>> {
        self.watch_session_from(session, "")
    }

    /// Resumes a watch of a session after the event with this `resume_token`.
    pub fn watch_session_from(
        &self,
        session: &str,
        resume_token: &str,
    ) -> BoxStream<'static, Result<SessionUpdate>> {
        let watched = SessionWatch {
            client: self.raw(),
            name: session.to_owned(),
        };
        resumable::updates(watched, resume_token, self.silence)
    }
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "map_err requires this signature"
)]
fn report(status: Status) -> ErrorReport {
    ErrorReport::from_status(&status)
}
