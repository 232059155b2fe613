//! The Executor service as a trait, with its server and client adapters.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::{Bytes as Content, BytesMut};
use tokio_stream::StreamExt;
use tonic::codegen::{Body, Bytes, StdError};
use tonic::{Request, Response, Status, Streaming};

use super::{Result, ResultStream, received, response};
use crate::convert::{self, require};
use crate::domain::action::{Action, ActionKind, Button};
use crate::domain::desktop::Lease;
use crate::domain::effect::ActionOutcome;
use crate::domain::geometry::CapturePoint;
use crate::domain::id::{ActionId, DesktopEpoch, DisplayId};
use crate::domain::key::Key;
use crate::error::{ErrorReport, FieldError};
use crate::limits::{CHUNK_BYTES, MAX_FILE_BYTES, MAX_MESSAGE_BYTES};
use crate::v1::executor as wire;
use crate::v1::executor::executor_service_client::ExecutorServiceClient;
use crate::v1::executor::executor_service_server::{ExecutorService, ExecutorServiceServer};

/// Performs input actions. `None` for a display means the default one.
#[async_trait]
pub trait Executor: Send + Sync + 'static {
    /// Leases a display and issues a new fencing epoch.
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease>;
    /// Renews a lease for another `ttl`.
    async fn renew_lease(
        &self,
        display: DisplayId,
        epoch: DesktopEpoch,
        ttl: Duration,
    ) -> Result<Lease>;
    /// Releases a lease and all pressed keys and buttons.
    async fn release_desktop(&self, display: DisplayId, epoch: DesktopEpoch) -> Result<()>;
    /// Performs one action at most once. Dropping the future cancels the action; nothing stays pressed.
    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome>;
    /// Looks up the progress of an action, without performing it.
    async fn look_up_action(
        &self,
        display: Option<DisplayId>,
        action_id: ActionId,
    ) -> Result<ActionProgress>;
    /// Cancels the running action and releases all keys and buttons, whose names it returns. `None` for all displays.
    async fn release_all(&self, display: Option<DisplayId>) -> Result<Vec<String>>;
    /// Gets the pointer position.
    async fn get_pointer(&self, display: Option<DisplayId>) -> Result<CapturePoint>;
    /// Reads the address and text of the page in front of the browser.
    async fn read_page(
        &self,
        display: Option<DisplayId>,
        max_characters: usize,
    ) -> Result<PageText>;
    /// Writes a file into the desktop's folder.
    async fn put_file(&self, file: PutFile) -> Result<FileInfo>;
    /// Reads a file from the desktop's folder.
    async fn get_file(&self, display: Option<DisplayId>, name: &str)
    -> Result<(FileInfo, Content)>;
    /// Gets the metadata of a file in the desktop's folder; `None` if there is none.
    async fn stat_file(&self, display: Option<DisplayId>, name: &str) -> Result<Option<FileInfo>>;
    /// Gets the supported and allowed actions.
    async fn get_capabilities(&self, display: Option<DisplayId>) -> Result<Capabilities>;
    /// Streams the mouse and keyboard input of a person.
    async fn watch_human_input(
        &self,
        display: Option<DisplayId>,
    ) -> Result<ResultStream<HumanInput>>;
}

/// Request of [`Executor::acquire_desktop`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcquireRequest {
    pub display: Option<DisplayId>,
    /// Name of the lease holder. The same holder may acquire the display again.
    pub holder: String,
    pub ttl: Duration,
    /// True to take the display from its current holder.
    pub take_over: bool,
}

impl AcquireRequest {
    /// Default duration of a lease.
    // Holders renew about three times per lease; a longer lease would block a desktop longer after a crash.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(30);
}

/// Request of [`Executor::perform`].
#[derive(Debug, Clone, PartialEq)]
pub struct PerformRequest {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    pub action_id: ActionId,
    pub retry_of: Option<ActionId>,
    pub action: Action<CapturePoint>,
}

/// Progress of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum ActionProgress {
    /// This Executor never received the action.
    NotStarted,
    /// The action is in progress.
    Running,
    Finished(ActionOutcome),
    /// The action was started and has no recorded end.
    Unknown,
}

/// Address and text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    pub url: String,
    pub title: String,
    pub text: String,
    pub truncated: bool,
}

/// A file to write to a desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutFile {
    pub display: Option<DisplayId>,
    pub epoch: DesktopEpoch,
    /// File name without a path.
    pub name: String,
    pub overwrite: bool,
    pub content: Content,
}

/// Metadata of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    pub name: String,
    pub size_bytes: u64,
    pub modified_at: SystemTime,
    pub sha256: [u8; 32],
    /// Path of the file, as applications on the desktop see it.
    pub path: String,
}

/// Supported and allowed actions of an Executor.
#[derive(Debug, Clone, PartialEq)]
pub struct Capabilities {
    pub driver: String,
    pub action_kinds: Vec<ActionKind>,
    pub applications: Vec<String>,
    pub url_patterns: Vec<String>,
    pub forbidden_chords: Vec<String>,
    /// `None` for no limit.
    pub max_actions_per_second: Option<f64>,
    /// Names of secrets, never their values.
    pub secrets: Vec<String>,
    /// Known limitations of the driver.
    pub limitations: Vec<String>,
}

/// An input of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct HumanInput {
    pub at: SystemTime,
    pub kind: HumanInputKind,
}

/// Kind of an input of a person. Typed text is counted, never reported.
#[derive(Debug, Clone, PartialEq)]
pub enum HumanInputKind {
    Click { at: CapturePoint, button: Button },
    Typing { characters: u32 },
    Chord { keys: Vec<Key> },
    Scroll { at: CapturePoint, x: i32, y: i32 },
    Move { to: CapturePoint },
}

/// Serves an [`Executor`] over gRPC.
#[derive(Clone)]
pub struct ExecutorServer {
    inner: Arc<dyn Executor>,
}

impl std::fmt::Debug for ExecutorServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExecutorServer").finish_non_exhaustive()
    }
}

impl ExecutorServer {
    /// Returns the tonic service, with the message limits of the contract.
    pub fn tonic(inner: Arc<dyn Executor>) -> ExecutorServiceServer<Self> {
        ExecutorServiceServer::new(Self { inner }).max_decoding_message_size(MAX_MESSAGE_BYTES)
    }
}

fn display_or_default(display: String) -> Option<DisplayId> {
    (!display.is_empty()).then(|| DisplayId::new(display))
}

fn display_required(display: String) -> std::result::Result<DisplayId, FieldError> {
    display_or_default(display).ok_or_else(|| FieldError::missing("display"))
}

fn ttl_or_default(ttl: Option<prost_types::Duration>) -> std::result::Result<Duration, FieldError> {
    Ok(convert::duration("ttl", ttl)?.unwrap_or(AcquireRequest::DEFAULT_TTL))
}

/// Receives an uploaded file: the header first, then the content.
async fn receive_file(
    mut parts: Streaming<wire::PutFileRequest>,
) -> std::result::Result<PutFile, Status> {
    use wire::put_file_request::Part;

    let first = parts.message().await?.and_then(|request| request.part);
    let Some(Part::Header(header)) = first else {
        return Err(FieldError::new("header", "must come in the first message").into());
    };
    let mut content = BytesMut::new();
    while let Some(request) = parts.message().await? {
        let Some(Part::Chunk(chunk)) = request.part else {
            return Err(FieldError::new("chunk", "every message after the first has one").into());
        };
        if content.len() + chunk.len() > MAX_FILE_BYTES {
            return Err(FieldError::new(
                "chunk",
                format!("the file is larger than {MAX_FILE_BYTES} bytes"),
            )
            .into());
        }
        content.extend_from_slice(&chunk);
    }
    Ok(PutFile {
        display: display_or_default(header.display),
        epoch: DesktopEpoch(header.epoch),
        name: header.name,
        overwrite: header.overwrite,
        content: content.freeze(),
    })
}

fn chunks(content: &Content) -> impl Iterator<Item = Content> + use<> {
    let content = content.clone();
    (0..content.len())
        .step_by(CHUNK_BYTES)
        .map(move |start| content.slice(start..content.len().min(start + CHUNK_BYTES)))
}

#[async_trait]
impl ExecutorService for ExecutorServer {
    type GetFileStream = super::WireStream<wire::GetFileResponse>;
    type WatchHumanInputStream = super::WireStream<wire::WatchHumanInputResponse>;

    async fn acquire_desktop(
        &self,
        request: Request<wire::AcquireDesktopRequest>,
    ) -> std::result::Result<Response<wire::AcquireDesktopResponse>, Status> {
        let request = request.into_inner();
        if request.holder.is_empty() {
            return Err(FieldError::missing("holder").into());
        }
        let request = AcquireRequest {
            display: display_or_default(request.display),
            holder: request.holder,
            ttl: ttl_or_default(request.ttl)?,
            take_over: request.take_over,
        };
        let lease = self.inner.acquire_desktop(request).await?;
        Ok(Response::new(wire::AcquireDesktopResponse {
            lease: Some(lease.into()),
        }))
    }

    async fn renew_lease(
        &self,
        request: Request<wire::RenewLeaseRequest>,
    ) -> std::result::Result<Response<wire::RenewLeaseResponse>, Status> {
        let request = request.into_inner();
        let display = display_required(request.display)?;
        let ttl = ttl_or_default(request.ttl)?;
        let lease = self
            .inner
            .renew_lease(display, DesktopEpoch(request.epoch), ttl)
            .await?;
        Ok(Response::new(wire::RenewLeaseResponse {
            lease: Some(lease.into()),
        }))
    }

    async fn release_desktop(
        &self,
        request: Request<wire::ReleaseDesktopRequest>,
    ) -> std::result::Result<Response<wire::ReleaseDesktopResponse>, Status> {
        let request = request.into_inner();
        let display = display_required(request.display)?;
        self.inner
            .release_desktop(display, DesktopEpoch(request.epoch))
            .await?;
        Ok(Response::new(wire::ReleaseDesktopResponse {}))
    }

    async fn perform(
        &self,
        request: Request<wire::PerformRequest>,
    ) -> std::result::Result<Response<wire::PerformResponse>, Status> {
        let outcome = self.inner.perform(request.into_inner().try_into()?).await?;
        Ok(Response::new(wire::PerformResponse {
            outcome: Some(outcome.into()),
        }))
    }

    async fn look_up_action(
        &self,
        request: Request<wire::LookUpActionRequest>,
    ) -> std::result::Result<Response<wire::LookUpActionResponse>, Status> {
        let request = request.into_inner();
        if request.action_id.is_empty() {
            return Err(FieldError::missing("action_id").into());
        }
        let action_id = ActionId::new(request.action_id);
        let progress = self
            .inner
            .look_up_action(display_or_default(request.display), action_id)
            .await?;
        Ok(Response::new(progress.into()))
    }

    async fn release_all(
        &self,
        request: Request<wire::ReleaseAllRequest>,
    ) -> std::result::Result<Response<wire::ReleaseAllResponse>, Status> {
        let released = self
            .inner
            .release_all(display_or_default(request.into_inner().display))
            .await?;
        Ok(Response::new(wire::ReleaseAllResponse { released }))
    }

    async fn get_pointer(
        &self,
        request: Request<wire::GetPointerRequest>,
    ) -> std::result::Result<Response<wire::GetPointerResponse>, Status> {
        let pointer = self
            .inner
            .get_pointer(display_or_default(request.into_inner().display))
            .await?;
        Ok(Response::new(wire::GetPointerResponse {
            pointer: Some(pointer.into()),
        }))
    }

    async fn read_page(
        &self,
        request: Request<wire::ReadPageRequest>,
    ) -> std::result::Result<Response<wire::ReadPageResponse>, Status> {
        // The default that the contract documents.
        const DEFAULT_CHARACTERS: usize = 100_000;
        let request = request.into_inner();
        let max_characters = match request.max_characters {
            0 => DEFAULT_CHARACTERS,
            some => some as usize,
        };
        let page = self
            .inner
            .read_page(display_or_default(request.display), max_characters)
            .await?;
        Ok(Response::new(page.into()))
    }

    async fn put_file(
        &self,
        request: Request<Streaming<wire::PutFileRequest>>,
    ) -> std::result::Result<Response<wire::PutFileResponse>, Status> {
        let file = receive_file(request.into_inner()).await?;
        let info = self.inner.put_file(file).await?;
        Ok(Response::new(wire::PutFileResponse {
            file: Some(info.into()),
        }))
    }

    async fn get_file(
        &self,
        request: Request<wire::GetFileRequest>,
    ) -> std::result::Result<Response<Self::GetFileStream>, Status> {
        use wire::get_file_response::Part;

        let request = request.into_inner();
        let (info, content) = self
            .inner
            .get_file(display_or_default(request.display), &request.name)
            .await?;
        let parts =
            std::iter::once(Part::File(info.into())).chain(chunks(&content).map(Part::Chunk));
        let messages = parts.map(|part| Ok(wire::GetFileResponse { part: Some(part) }));
        Ok(Response::new(Box::pin(tokio_stream::iter(messages))))
    }

    async fn stat_file(
        &self,
        request: Request<wire::StatFileRequest>,
    ) -> std::result::Result<Response<wire::StatFileResponse>, Status> {
        let request = request.into_inner();
        let info = self
            .inner
            .stat_file(display_or_default(request.display), &request.name)
            .await?;
        Ok(Response::new(wire::StatFileResponse {
            file: info.map(Into::into),
        }))
    }

    async fn get_capabilities(
        &self,
        request: Request<wire::GetCapabilitiesRequest>,
    ) -> std::result::Result<Response<wire::GetCapabilitiesResponse>, Status> {
        let capabilities = self
            .inner
            .get_capabilities(display_or_default(request.into_inner().display))
            .await?;
        Ok(Response::new(capabilities.into()))
    }

    async fn watch_human_input(
        &self,
        request: Request<wire::WatchHumanInputRequest>,
    ) -> std::result::Result<Response<Self::WatchHumanInputStream>, Status> {
        let inputs = self
            .inner
            .watch_human_input(display_or_default(request.into_inner().display))
            .await?;
        Ok(Response::new(super::to_wire(inputs)))
    }
}

/// An [`Executor`] across the network.
#[derive(Debug, Clone)]
pub struct ExecutorClient<C> {
    inner: ExecutorServiceClient<C>,
}

impl<C> ExecutorClient<C>
where
    C: tonic::client::GrpcService<tonic::body::Body>,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
{
    /// Creates a client over a channel.
    pub fn new(channel: C) -> Self {
        Self {
            inner: ExecutorServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES),
        }
    }
}

fn display_name(display: Option<DisplayId>) -> String {
    display
        .map(|display| display.as_str().to_owned())
        .unwrap_or_default()
}

fn required_lease(lease: Option<crate::v1::common::Lease>) -> Result<Lease> {
    require("lease", lease).map_err(super::malformed_response)
}

#[async_trait]
impl<C> Executor for ExecutorClient<C>
where
    C: tonic::client::GrpcService<tonic::body::Body> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    async fn acquire_desktop(&self, request: AcquireRequest) -> Result<Lease> {
        let request = wire::AcquireDesktopRequest {
            display: display_name(request.display),
            holder: request.holder,
            ttl: Some(convert::wire_duration(request.ttl)),
            take_over: request.take_over,
        };
        required_lease(received(self.inner.clone().acquire_desktop(request).await)?.lease)
    }

    async fn renew_lease(
        &self,
        display: DisplayId,
        epoch: DesktopEpoch,
        ttl: Duration,
    ) -> Result<Lease> {
        let request = wire::RenewLeaseRequest {
            display: display.as_str().to_owned(),
            epoch: epoch.0,
            ttl: Some(convert::wire_duration(ttl)),
        };
        required_lease(received(self.inner.clone().renew_lease(request).await)?.lease)
    }

    async fn release_desktop(&self, display: DisplayId, epoch: DesktopEpoch) -> Result<()> {
        let request = wire::ReleaseDesktopRequest {
            display: display.as_str().to_owned(),
            epoch: epoch.0,
        };
        received(self.inner.clone().release_desktop(request).await)?;
        Ok(())
    }

    async fn perform(&self, request: PerformRequest) -> Result<ActionOutcome> {
        let response = received(
            self.inner
                .clone()
                .perform(wire::PerformRequest::from(request))
                .await,
        )?;
        require("outcome", response.outcome).map_err(super::malformed_response)
    }

    async fn look_up_action(
        &self,
        display: Option<DisplayId>,
        action_id: ActionId,
    ) -> Result<ActionProgress> {
        let request = wire::LookUpActionRequest {
            display: display_name(display),
            action_id: action_id.as_str().to_owned(),
        };
        response(self.inner.clone().look_up_action(request).await)
    }

    async fn release_all(&self, display: Option<DisplayId>) -> Result<Vec<String>> {
        let request = wire::ReleaseAllRequest {
            display: display_name(display),
        };
        Ok(received(self.inner.clone().release_all(request).await)?.released)
    }

    async fn get_pointer(&self, display: Option<DisplayId>) -> Result<CapturePoint> {
        let request = wire::GetPointerRequest {
            display: display_name(display),
        };
        let response = received(self.inner.clone().get_pointer(request).await)?;
        require("pointer", response.pointer).map_err(super::malformed_response)
    }

    async fn read_page(
        &self,
        display: Option<DisplayId>,
        max_characters: usize,
    ) -> Result<PageText> {
        let max_characters = u32::try_from(max_characters).unwrap_or(u32::MAX);
        let request = wire::ReadPageRequest {
            display: display_name(display),
            max_characters,
        };
        response(self.inner.clone().read_page(request).await)
    }

    async fn put_file(&self, file: PutFile) -> Result<FileInfo> {
        use wire::put_file_request::Part;

        let header = wire::PutFileHeader {
            display: display_name(file.display),
            epoch: file.epoch.0,
            name: file.name,
            overwrite: file.overwrite,
        };
        let parts =
            std::iter::once(Part::Header(header)).chain(chunks(&file.content).map(Part::Chunk));
        let messages: Vec<_> = parts
            .map(|part| wire::PutFileRequest { part: Some(part) })
            .collect();
        let response = received(
            self.inner
                .clone()
                .put_file(tokio_stream::iter(messages))
                .await,
        )?;
        require("file", response.file).map_err(super::malformed_response)
    }

    async fn get_file(
        &self,
        display: Option<DisplayId>,
        name: &str,
    ) -> Result<(FileInfo, Content)> {
        use wire::get_file_response::Part;

        let request = wire::GetFileRequest {
            display: display_name(display),
            name: name.to_owned(),
        };
        let mut parts = received(self.inner.clone().get_file(request).await)?;
        let mut info = None;
        let mut content = BytesMut::new();
        while let Some(message) = parts
            .message()
            .await
            .map_err(|status| ErrorReport::from_status(&status))?
        {
            match message.part {
                Some(Part::File(file)) => info = Some(file),
                Some(Part::Chunk(chunk)) => content.extend_from_slice(&chunk),
                None => {}
            }
        }
        let info = require("file", info).map_err(super::malformed_response)?;
        Ok((info, content.freeze()))
    }

    async fn stat_file(&self, display: Option<DisplayId>, name: &str) -> Result<Option<FileInfo>> {
        let request = wire::StatFileRequest {
            display: display_name(display),
            name: name.to_owned(),
        };
        let response = received(self.inner.clone().stat_file(request).await)?;
        convert::optional("file", response.file).map_err(super::malformed_response)
    }

    async fn get_capabilities(&self, display: Option<DisplayId>) -> Result<Capabilities> {
        let request = wire::GetCapabilitiesRequest {
            display: display_name(display),
        };
        response(self.inner.clone().get_capabilities(request).await)
    }

    async fn watch_human_input(
        &self,
        display: Option<DisplayId>,
    ) -> Result<ResultStream<HumanInput>> {
        let request = wire::WatchHumanInputRequest {
            display: display_name(display),
        };
        let inputs =
            received(self.inner.clone().watch_human_input(request).await)?.map(
                |input| match input {
                    Ok(input) => HumanInput::try_from(input).map_err(super::malformed_response),
                    Err(status) => Err(ErrorReport::from_status(&status)),
                },
            );
        Ok(Box::pin(inputs))
    }
}
