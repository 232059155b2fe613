//! The Planner service: its definition and its types.
//!
//! It contains no implementation of the service.

use std::time::Duration;

use bytes::Bytes as Opaque;

use crate::domain::action::Target;
use crate::domain::decision::{
    Decision, FunctionDeclaration, PastStep, RemainingLimits, Usage, ValueSource,
};
use crate::domain::desktop::Platform;
use crate::domain::element::Scene;
use crate::domain::frame::{Frame, Image};
use crate::domain::geometry::{CapturePoint, CaptureRect};
use crate::domain::id::ElementId;
use crate::domain::session::TaskContext;
use crate::limits::MAX_IMAGE_MESSAGE_BYTES;
use crate::v1::planner::planner_service_client::PlannerServiceClient;
use crate::v1::planner::planner_service_server::{PlannerService, PlannerServiceServer};

/// Passes the definition of the Planner service to a macro.
#[macro_export]
macro_rules! planner_service {
    ($expand:ident) => {
        $expand! {
            /// Decides the next step of a task. Stateless: each request has everything that a decision needs.
            service Planner in planner {
                proto "motorium.planner.v1.PlannerService";
                transport {
                    server PlannerServer(PlannerService, PlannerServiceServer, MAX_IMAGE_MESSAGE_BYTES);
                    client PlannerClient(PlannerServiceClient, MAX_IMAGE_MESSAGE_BYTES);
                };

                /// Decides the next step.
                unary recorded fn plan(request: PlanRequest) -> PlannedDecision
                    = rpc Plan(PlanRequest) returns PlanResponse;
                /// Writes the final answer for the user.
                unary recorded fn summarize(request: SummarizeRequest) -> Summary
                    = rpc Summarize(SummarizeRequest) returns SummarizeResponse;
                /// Extracts structured data from the screen.
                unary recorded fn extract(request: ExtractRequest) -> Extraction
                    = rpc Extract(ExtractRequest) returns ExtractResponse;
                /// Checks whether the pointer is on its target.
                unary recorded fn locate_pointer(request: PointerRequest) -> PointerCheck
                    = rpc LocatePointer(LocatePointerRequest) returns LocatePointerResponse;
                /// Resolves a target to a point of a scene.
                unary recorded fn resolve_target(request: ResolveRequest) -> ResolvedTarget
                    = rpc ResolveTarget(ResolveTargetRequest) returns ResolveTargetResponse;
                /// Lists the backends, in fallback order.
                unary recorded fn list_backends() -> Vec<BackendInfo>
                    = rpc ListBackends(ListBackendsRequest) returns ListBackendsResponse;
            }
        }
    };
}

planner_service!(service_trait);
planner_service!(service_server);
planner_service!(service_client);

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
    /// URL of the page that the active browser window shows.
    pub current_url: Option<String>,
    /// Background of the task besides its goal.
    pub context: TaskContext,
    /// True if a model wrote the goal, the instructions or one of the messages of the task, and not a person.
    pub written_by_model: bool,
    /// Texts that people wrote to the task, if `written_by_model` is true.
    pub person_texts: Vec<String>,
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
    /// Annotated screenshot, as the model received it; `None` if the backend sent none.
    pub annotated_image: Option<Image>,
    /// JSON bodies of the provider's responses, as it sent them; empty if no model was asked.
    pub responses: Vec<String>,
    /// JSON bodies of the requests that `responses` answer, in the same order, without the content of images.
    pub requests: Vec<String>,
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
    /// Answer if no model writes one. Empty to compute it from the history.
    pub fallback: String,
}

/// An answer for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub text: String,
    pub usage: Usage,
    /// JSON bodies of the provider's responses, as it sent them; empty if no model was asked.
    pub responses: Vec<String>,
    /// JSON bodies of the requests that `responses` answer, in the same order, without the content of images.
    pub requests: Vec<String>,
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
    /// JSON bodies of the provider's responses, as it sent them; empty if no model was asked.
    pub responses: Vec<String>,
    /// JSON bodies of the requests that `responses` answer, in the same order, without the content of images.
    pub requests: Vec<String>,
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
    /// Distance within which the pointer counts as on its target where no model looks, in frame pixels. Defaults to 14.
    pub tolerance_px: Option<u32>,
}

/// Result of a pointer check. `dx` and `dy` are the correction, in pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointerCheck {
    pub on_target: bool,
    pub dx: i32,
    pub dy: i32,
    pub usage: Usage,
    /// JSON bodies of the provider's responses, as it sent them; empty if no model was asked.
    pub responses: Vec<String>,
    /// JSON bodies of the requests that `responses` answer, in the same order, without the content of images.
    pub requests: Vec<String>,
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
    /// JSON bodies of the provider's responses, as it sent them; empty if no model was asked.
    pub responses: Vec<String>,
    /// JSON bodies of the requests that `responses` answer, in the same order, without the content of images.
    pub requests: Vec<String>,
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

impl BackendInfo {
    /// Returns a backend without a model, which is always ready.
    #[must_use]
    pub fn without_model(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state: BackendState::Ready,
            model: String::new(),
            last_error: None,
            median_latency: None,
            usage: Usage::default(),
            needs_image: false,
        }
    }
}
