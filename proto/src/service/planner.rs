//! The Planner service as a trait, with its server and client adapters.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes as Opaque;
use tonic::codegen::{Body, Bytes, StdError};
use tonic::{Request, Response, Status};

use super::{Result, received, response};
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
use crate::limits::{MAX_IMAGE_MESSAGE_BYTES, MAX_MESSAGE_BYTES};
use crate::v1::planner as wire;
use crate::v1::planner::planner_service_client::PlannerServiceClient;
use crate::v1::planner::planner_service_server::{PlannerService, PlannerServiceServer};

/// Decides the next step of a task. Stateless: each request has everything that a decision needs.
#[async_trait]
pub trait Planner: Send + Sync + 'static {
    /// Decides the next step.
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision>;
    /// Writes the final answer for the user.
    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary>;
    /// Extracts structured data from the screen.
    async fn extract(&self, request: ExtractRequest) -> Result<Extraction>;
    /// Checks whether the pointer is on its target.
    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck>;
    /// Resolves a target to a point of a scene.
    async fn resolve_target(&self, request: ResolveRequest) -> Result<ResolvedTarget>;
    /// Lists the backends, in fallback order.
    async fn list_backends(&self) -> Result<Vec<BackendInfo>>;
}

/// Request of [`Planner::plan`].
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    pub goal: String,
    /// Instructions of the user in addition to the goal. May be empty.
    pub instructions: String,
    pub frame: Frame,
    /// Image at full resolution; `None` if no backend needs it.
    pub image: Option<Image>,
    pub scene: Scene,
    /// Earlier steps, the oldest first.
    pub history: Vec<PastStep>,
    /// Messages of the user since the last step.
    pub user_messages: Vec<String>,
    pub remaining: RemainingLimits,
    pub functions: Vec<FunctionDeclaration>,
    /// Conversation of the last decision. Empty in the first step.
    pub conversation: Opaque,
    /// The backend that `conversation` belongs to.
    pub conversation_backend: String,
    /// Backends to try, in this order. Empty for the configured order.
    pub backends: Vec<String>,
    pub platform: Platform,
    /// Language of texts for people (`en`, `zh`); `None` for the language of the goal.
    pub language: Option<String>,
    /// Notices of the orchestrator for the planner.
    pub notices: Vec<String>,
    /// Applications that may be opened by name.
    pub applications: Vec<String>,
}

/// A failed attempt of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendAttempt {
    pub backend: String,
    /// Stable reason, in upper snake case.
    pub reason: String,
    pub message: String,
    pub usage: Usage,
}

/// A decision, with the backends that failed before.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedDecision {
    pub decision: Decision,
    pub attempts: Vec<BackendAttempt>,
}

/// Request of [`Planner::summarize`].
#[derive(Debug, Clone, PartialEq)]
pub struct SummarizeRequest {
    pub goal: String,
    pub history: Vec<PastStep>,
    /// Answer of the last decision.
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

/// Request of [`Planner::extract`].
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractRequest {
    pub json_schema: String,
    pub instruction: String,
    pub frame: Frame,
    pub image: Option<Image>,
    pub scene: Scene,
    /// Text of the page, if a browser driver supplied it.
    pub page_text: Option<String>,
    pub backends: Vec<String>,
    pub remaining: RemainingLimits,
}

/// Extracted data, valid against the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extraction {
    pub json: String,
    pub usage: Usage,
    /// Known sources of the values.
    pub sources: Vec<ValueSource>,
}

/// Request of [`Planner::locate_pointer`].
#[derive(Debug, Clone, PartialEq)]
pub struct PointerRequest {
    pub intent: String,
    pub target: CapturePoint,
    pub target_bounds: Option<CaptureRect>,
    pub pointer: CapturePoint,
    /// Screenshot with the pointer marked.
    pub annotated_image: Option<Image>,
    pub backends: Vec<String>,
    pub remaining: RemainingLimits,
}

/// Result of a pointer check. `dx` and `dy` are the correction, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointerCheck {
    pub on_target: bool,
    pub dx: i32,
    pub dy: i32,
    pub usage: Usage,
}

/// Request of [`Planner::resolve_target`].
#[derive(Debug, Clone, PartialEq)]
pub struct ResolveRequest {
    pub target: TargetQuery,
    pub frame: Frame,
    pub scene: Scene,
}

/// A target to resolve.
#[derive(Debug, Clone, PartialEq)]
pub enum TargetQuery {
    Target(Target),
    /// A description in words, to be resolved by a model.
    Described {
        description: String,
        image: Option<Image>,
        backends: Vec<String>,
        remaining: RemainingLimits,
    },
}

/// A resolved target.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedTarget {
    pub point: CapturePoint,
    /// Box within which the point may be moved.
    pub bounds: CaptureRect,
    /// `None` if the target was a point.
    pub element: Option<ElementId>,
    /// Other matches, the best first.
    pub candidates: Vec<TargetCandidate>,
    pub usage: Usage,
}

/// An element that a target may refer to.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetCandidate {
    pub element: ElementId,
    pub content: String,
    /// Quality of the match, 0 to 1.
    pub score: f64,
}

/// State of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendState {
    Ready,
    /// Skipped after repeated failures: the circuit breaker is open.
    CircuitOpen,
    /// An API key or an address is missing.
    NotConfigured,
}

/// A backend and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackendInfo {
    pub name: String,
    pub state: BackendState,
    /// Empty for a backend without a model.
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
    /// Returns the tonic service, with the message limits of the contract.
    pub fn tonic(inner: Arc<dyn Planner>) -> PlannerServiceServer<Self> {
        PlannerServiceServer::new(Self { inner }).max_decoding_message_size(MAX_IMAGE_MESSAGE_BYTES)
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
            backends: convert::into_messages(backends),
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
    /// Creates a client over a channel.
    pub fn new(channel: C) -> Self {
        Self {
            inner: PlannerServiceClient::new(channel).max_decoding_message_size(MAX_MESSAGE_BYTES),
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
    async fn plan(&self, request: PlanRequest) -> Result<PlannedDecision> {
        response(
            self.inner
                .clone()
                .plan(wire::PlanRequest::from(request))
                .await,
        )
    }

    async fn summarize(&self, request: SummarizeRequest) -> Result<Summary> {
        response(
            self.inner
                .clone()
                .summarize(wire::SummarizeRequest::from(request))
                .await,
        )
    }

    async fn extract(&self, request: ExtractRequest) -> Result<Extraction> {
        response(
            self.inner
                .clone()
                .extract(wire::ExtractRequest::from(request))
                .await,
        )
    }

    async fn locate_pointer(&self, request: PointerRequest) -> Result<PointerCheck> {
        response(
            self.inner
                .clone()
                .locate_pointer(wire::LocatePointerRequest::from(request))
                .await,
        )
    }

    async fn resolve_target(&self, request: ResolveRequest) -> Result<ResolvedTarget> {
        response(
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
        convert::try_from_messages("backends", response.backends).map_err(super::malformed_response)
    }
}
