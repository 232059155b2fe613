//! Translates between a step and one prompt format: builds the request of a step and parses its response.
//!
//! A dialect is pure: it has no clock, network or state. [`ModelBackend`](super::model::ModelBackend) does the rest for
//! all dialects: it sends requests, counts usage, and requests repairs of invalid responses.

use std::fmt;

use http::{HeaderName, HeaderValue};
use motorium_proto::service::PlanRequest;
use serde_json::Value;

use super::BackendError;
use super::degraded_features::DegradedFeatures;
use crate::models::{Api, Model};
use crate::prompt::{self, Prompts};
use crate::provider::RejectedRequest;
use crate::response::{ParsedDecision, ResponseError};
use crate::screenshot::{self, RenderedImage, RequestImages, SentImage};

/// A prompt format and the parser of its responses.
pub trait Dialect: fmt::Debug + Send + Sync + 'static {
    /// Returns the name in the configuration (`claude_som`).
    fn name(&self) -> &'static str;

    /// Returns the protocol of its requests.
    fn api(&self) -> Api;

    /// Returns whether it requires a screenshot.
    fn needs_image(&self) -> bool;

    /// Builds the request of a step.
    ///
    /// # Errors
    /// Fails if there is no image, a template cannot be rendered, or the model lacks a capability.
    fn build_request(&self, step: &StepContext<'_>) -> Result<ModelRequest, RequestError>;

    /// Parses a successful response: the provider's JSON body.
    ///
    /// # Errors
    /// Fails if it is not a valid decision.
    fn parse_response(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
    ) -> Result<ParsedResponse, ResponseError>;

    /// Builds the request that reports an invalid response to the model. `model_request` may itself be such a request.
    fn repair_request(
        &self,
        step: &StepContext<'_>,
        model_request: &ModelRequest,
        answer: &Value,
        response_error: &ResponseError,
    ) -> ModelRequest;

    /// Returns the feature set to use after a request was rejected; `None` if a feature was not the reason.
    fn degrade(
        &self,
        refused: &RejectedRequest,
        made: DegradedFeatures,
    ) -> Option<DegradedFeatures> {
        made.degraded_by(refused)
    }
}

/// Everything that a step is decided on.
#[derive(Debug, Clone, Copy)]
pub struct StepContext<'a> {
    /// The request. Its conversation is empty unless this backend wrote it.
    pub request: &'a PlanRequest,
    pub model: &'a Model,
    pub images: &'a RequestImages,
    pub prompts: &'a Prompts,
    pub degraded: DegradedFeatures,
}

/// A request to a provider.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ModelRequest {
    /// Complete JSON body, including the model's name.
    pub body: Value,
    /// Headers besides those of every request to this provider (`anthropic-beta`).
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The image that the response's coordinates refer to; `None` if none was sent.
    pub view: Option<SentImage>,
    /// The current screenshot with annotations, as it is in the body.
    pub annotated: Option<RenderedImage>,
    /// State that the dialect needs to parse the response. Not sent.
    pub context: Value,
    /// Tokens of the provider-stored conversation that this request continues.
    pub kept_tokens: u64,
}

/// A parsed response.
#[derive(Debug, Clone, PartialEq)]
pub enum ParsedResponse {
    /// A decision.
    Decision(Box<ParsedDecision>),
    /// The model wants to observe more before it decides (a zoom, a screenshot); this request shows it. The caller bounds
    /// how often.
    FollowUp(Box<ModelRequest>),
}

/// A request that cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    #[error(transparent)]
    Image(#[from] screenshot::Error),
    #[error(transparent)]
    Prompt(#[from] prompt::Error),
    /// The model lacks a capability that this dialect needs. The message is for the user.
    #[error("{0}")]
    Unsuitable(String),
}

impl From<RequestError> for BackendError {
    fn from(error: RequestError) -> Self {
        BackendError::Permanent {
            message: error.to_string(),
        }
    }
}
