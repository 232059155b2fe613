//! Planner as a trait, and its two adapters.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes as Opaque;
use tonic::codegen::{Body, Bytes, StdError};
use tonic::{Request, Response, Status};

use super::{Result, answer, received};
use crate::convert;
use crate::domain::action::Target;
use crate::domain::decision::{
    Decision, FunctionDeclaration, PastStep, RemainingLimits, Usage, ValueSource,
};
use crate::domain::desktop::Platform;
use crate::domain::element::Scene;
use crate::domain::frame::{Frame, Image};
use crate::domain::geometry::{CapturePoint, CaptureRect};
use crate::domain::id::ElementId;
use crate::limits::{MAX_MESSAGE, MAX_MESSAGE_WITH_IMAGES};
use crate::v1::planner as wire;
use crate::v1::planner::planner_service_client::PlannerServiceClient;
use crate::v1::planner::planner_service_server::{PlannerService, PlannerServiceServer};

/// Decides. Stateless: whatever a decision needs is in the request.
#[async_trait]
pub trait Planner: Send + Sync + 'static {
    /// Decides what to do next.
    async fn plan(&self, request: PlanRequest) -> Result<Planned>;
    /// Writes the final answer for the user.
    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary>;
    /// Takes structured data from the screen.
    async fn extract(&self, request: ExtractRequest) -> Result<Extraction>;
    /// Says whether the pointer is on its target.
    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck>;
    /// Finds the point that a target means on a scene.
    async fn resolve_target(&self, request: ResolveRequest) -> Result<Resolved>;
    /// The backends, in the order in which they are tried.
    async fn list_backends(&self) -> Result<Vec<BackendInfo>>;
}

/// What a decision is made on.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    pub goal: String,
    /// The user's own instructions beside the goal; may be empty.
    pub instructions: String,
    pub frame: Frame,
    /// At full resolution; `None` where no backend needs it.
    pub image: Option<Image>,
    pub scene: Scene,
    /// The oldest first.
    pub history: Vec<PastStep>,
    /// What the user said since the last step.
    pub user_messages: Vec<String>,
    pub remaining: RemainingLimits,
    pub functions: Vec<FunctionDeclaration>,
    /// From the last decision; empty in the first step.
    pub conversation: Opaque,
    /// The backend that `conversation` belongs to.
    pub conversation_backend: String,
    /// To try, in this order; empty: the configured order.
    pub backends: Vec<String>,
    pub platform: Platform,
    /// For words meant for people: `en`, `zh`; `None`: the goal's own.
    pub language: Option<String>,
    /// What the loop noticed and the planner should know.
    pub notices: Vec<String>,
    /// Applications that may be opened by name.
    pub applications: Vec<String>,
}

/// Why a backend did not decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendAttempt {
    pub backend: String,
    /// Stable, in upper snake case.
    pub reason: String,
    pub message: String,
    pub usage: Usage,
}

/// A decision, and who was asked in vain before.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub decision: Decision,
    pub attempts: Vec<BackendAttempt>,
}

/// What to sum up.
#[derive(Debug, Clone, PartialEq)]
pub struct SummarizeRequest {
    pub goal: String,
    pub history: Vec<PastStep>,
    /// What the last decision said.
    pub answer: String,
    pub succeeded: bool,
    pub language: Option<String>,
    pub backends: Vec<String>,
    pub remaining: RemainingLimits,
}

/// An answer for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    pub usage: Usage,
}

/// What to take from the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractRequest {
    pub json_schema: String,
    pub instruction: String,
    pub frame: Frame,
    pub image: Option<Image>,
    pub scene: Scene,
    /// Where a browser driver gave it.
    pub page_text: Option<String>,
    pub backends: Vec<String>,
    pub remaining: RemainingLimits,
}

/// Data from the screen, valid against the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    pub json: String,
    pub usage: Usage,
    /// The elements that its values were read from, as far as they are known.
    pub sources: Vec<ValueSource>,
}

/// Where the pointer should be, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct PointerRequest {
    pub intent: String,
    pub target: CapturePoint,
    pub target_bounds: Option<CaptureRect>,
    pub pointer: CapturePoint,
    /// The screen with the pointer marked.
    pub marked_image: Option<Image>,
    pub backends: Vec<String>,
    pub remaining: RemainingLimits,
}

/// Whether the pointer is on its target; `dx` and `dy` are to be added to its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerCheck {
    pub on_target: bool,
    pub dx: i32,
    pub dy: i32,
    pub usage: Usage,
}

/// A target and the scene to find it on.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolveRequest {
    pub target: Sought,
    pub frame: Frame,
    pub scene: Scene,
}

/// What is to be found.
#[derive(Debug, Clone, PartialEq)]
pub enum Sought {
    Target(Target),
    /// In words; a model finds it.
    Described {
        description: String,
        image: Option<Image>,
        backends: Vec<String>,
        remaining: RemainingLimits,
    },
}

/// What a target means.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub point: CapturePoint,
    /// The box that the point may be moved within.
    pub bounds: CaptureRect,
    /// `None` for a plain point.
    pub element: Option<ElementId>,
    /// What else it might have meant, the best first.
    pub candidates: Vec<TargetCandidate>,
    pub usage: Usage,
}

/// Something that a target may mean.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetCandidate {
    pub element: ElementId,
    pub content: String,
    /// 0 to 1.
    pub score: f64,
}

/// Whether a backend can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendState {
    Ready,
    /// It rests after failures.
    Resting,
    /// Something is missing: a key, an address.
    NotConfigured,
}

/// A backend and how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendInfo {
    pub name: String,
    pub state: BackendState,
    /// Empty where there is no model.
    pub model: String,
    pub last_error: Option<String>,
    pub median_latency: Option<Duration>,
    pub usage: Usage,
    pub needs_image: bool,
}

/// Serves a [`Planner`] over gRPC.
#[derive(Clone)]
pub struct PlannerServer {
    inner: Arc<dyn Planner>,
}

impl std::fmt::Debug for PlannerServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannerServer").finish_non_exhaustive()
    }
}

impl PlannerServer {
    /// The tonic service, with the message limits of the contract.
    pub fn tonic(inner: Arc<dyn Planner>) -> PlannerServiceServer<Self> {
        PlannerServiceServer::new(Self { inner }).max_decoding_message_size(MAX_MESSAGE_WITH_IMAGES)
    }
}

#[async_trait]
impl PlannerService for PlannerServer {
    async fn plan(
        &self,
        request: Request<wire::PlanRequest>,
    ) -> std::result::Result<Response<wire::PlanResponse>, Status> {
        let planned = self.inner.plan(request.into_inner().try_into()?).await?;
        Ok(Response::new(planned.into()))
    }

    async fn summarize(
        &self,
        request: Request<wire::SummarizeRequest>,
    ) -> std::result::Result<Response<wire::SummarizeResponse>, Status> {
        let summary = self
            .inner
            .summarize(request.into_inner().try_into()?)
            .await?;
        Ok(Response::new(summary.into()))
    }

    async fn extract(
        &self,
        request: Request<wire::ExtractRequest>,
    ) -> std::result::Result<Response<wire::ExtractResponse>, Status> {
        let extraction = self.inner.extract(request.into_inner().try_into()?).await?;
        Ok(Response::new(extraction.into()))
    }

    async fn locate_pointer(
        &self,
        request: Request<wire::LocatePointerRequest>,
    ) -> std::result::Result<Response<wire::LocatePointerResponse>, Status> {
        let check = self
            .inner
            .locate_pointer(request.into_inner().try_into()?)
            .await?;
        Ok(Response::new(check.into()))
    }

    async fn resolve_target(
        &self,
        request: Request<wire::ResolveTargetRequest>,
    ) -> std::result::Result<Response<wire::ResolveTargetResponse>, Status> {
        let resolved = self
            .inner
            .resolve_target(request.into_inner().try_into()?)
            .await?;
        Ok(Response::new(resolved.into()))
    }

    async fn list_backends(
        &self,
        _: Request<wire::ListBackendsRequest>,
    ) -> std::result::Result<Response<wire::ListBackendsResponse>, Status> {
        let backends = self.inner.list_backends().await?;
        Ok(Response::new(wire::ListBackendsResponse {
            backends: convert::all(backends),
        }))
    }
}

/// A [`Planner`] across the network.
#[derive(Debug, Clone)]
pub struct PlannerClient<C> {
    inner: PlannerServiceClient<C>,
}

impl<C> PlannerClient<C>
where
    C: tonic::client::GrpcService<tonic::body::Body>,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
{
    /// A client over a channel.
    pub fn new(channel: C) -> Self {
        Self {
            inner: PlannerServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE),
        }
    }
}

#[async_trait]
impl<C> Planner for PlannerClient<C>
where
    C: tonic::client::GrpcService<tonic::body::Body> + Clone + Send + Sync + 'static,
    C::ResponseBody: Body<Data = Bytes> + Send + 'static,
    <C::ResponseBody as Body>::Error: Into<StdError> + Send,
    C::Future: Send,
{
    async fn plan(&self, request: PlanRequest) -> Result<Planned> {
        answer(
            self.inner
                .clone()
                .plan(wire::PlanRequest::from(request))
                .await,
        )
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        answer(
            self.inner
                .clone()
                .summarize(wire::SummarizeRequest::from(request))
                .await,
        )
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
        answer(
            self.inner
                .clone()
                .extract(wire::ExtractRequest::from(request))
                .await,
        )
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        answer(
            self.inner
                .clone()
                .locate_pointer(wire::LocatePointerRequest::from(request))
                .await,
        )
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<Resolved> {
        answer(
            self.inner
                .clone()
                .resolve_target(wire::ResolveTargetRequest::from(request))
                .await,
        )
    }

    async fn list_backends(&self) -> Result<Vec<BackendInfo>> {
        let response = received(
            self.inner
                .clone()
                .list_backends(wire::ListBackendsRequest {})
                .await,
        )?;
        convert::try_all("backends", response.backends).map_err(super::malformed_answer)
    }
}
