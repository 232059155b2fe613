//! One way of asking a model what to do next: which request is sent for a step, and which decision an answer means.
//!
//! A dialect is pure: it has no clock, no network and no memory. [`ModelBackend`](super::model::ModelBackend) does
//! everything else for all of them: it sends, counts, and asks once more where an answer is none.

use std::fmt;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use motorium_proto::domain::decision::{Next, SafetyCheck, SuspectedInjection};
use motorium_proto::service::PlanRequest;
use serde_json::Value;

use super::BackendError;
use super::concessions::Concessions;
use crate::models::{Api, Model};
use crate::picture::{self, Checksum, Pictures, SentPicture};
use crate::prompt::{self, Prompts};
use crate::provider::Refused;

/// One way of asking a model about a step.
pub trait Dialect: fmt::Debug + Send + Sync + 'static {
    /// The name in configurations (`claude_som`).
    fn name(&self) -> &'static str;

    /// The protocol that its requests are written in.
    fn api(&self) -> Api;

    /// Whether it cannot ask without a picture of the screen.
    fn needs_image(&self) -> bool;

    /// The request of this step.
    ///
    /// # Errors
    /// If there is nothing to ask: no picture, a template that cannot be rendered, a model that cannot do this.
    fn ask(&self, step: &Step<'_>) -> Result<Asked, Unasked>;

    /// What an answer means: the provider's JSON body of a success.
    ///
    /// # Errors
    /// If it is no decision.
    fn read(&self, step: &Step<'_>, asked: &Asked, answer: &Value) -> Result<Answer, Misread>;

    /// The request that tells the model what was wrong with its answer. Sent at most once a step.
    fn repair(&self, step: &Step<'_>, asked: &Asked, answer: &Value, misread: &Misread) -> Asked;

    /// What to do without after a request was refused because of it; `None` if that was not the reason.
    fn concede(&self, refused: &Refused, made: Concessions) -> Option<Concessions> {
        made.and_what_is_named_in(refused)
    }
}

/// What a step is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Its conversation is empty unless this backend wrote it.
    pub request: &'a PlanRequest,
    pub model: &'a Model,
    pub pictures: &'a Pictures,
    pub prompts: &'a Prompts,
    pub concessions: Concessions,
}

/// A request to a provider.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Asked {
    /// Whole, with the model's name in it.
    pub body: Value,
    /// Beside those that every request to this provider has (`anthropic-beta`).
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// The picture whose coordinates the answer counts in; `None` where none was sent.
    pub view: Option<SentPicture>,
    /// What the dialect wants to know again when the answer comes. Not sent.
    pub memory: Value,
    /// Tokens of a conversation that the provider keeps and that this request goes on with.
    pub kept_tokens: u64,
}

/// What an answer means.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A decision.
    Decided(Box<Reading>),
    /// The model wants to see more before it decides (a closer look, a screenshot that it has), and this shows it.
    /// Bounded by the one who asks.
    Again(Box<Asked>),
}

/// A decision as one answer gives it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// The model's own words.
    pub thought: String,
    /// One line for people.
    pub progress: String,
    pub next: Next,
    /// What this dialect needs to see again verbatim, without pixels; empty if nothing.
    pub conversation: Bytes,
    pub safety_checks: Vec<SafetyCheck>,
    pub suspected_injections: Vec<SuspectedInjection>,
    /// The pictures that `conversation` shows, each once.
    pub conversation_images: Vec<Checksum>,
}

/// Why an answer is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misread {
    /// The provider or the model will not do this. The same question is not asked again.
    #[error("the model refuses: {message}")]
    Refused { message: String },
    /// It was cut off; nothing of it is used.
    #[error("the answer was cut off after {limit} tokens")]
    Truncated { limit: u64 },
    /// It says something that cannot be done or understood. The words are for the model.
    #[error("{message}")]
    Invalid { message: String },
}

impl Misread {
    /// An answer that cannot be done or understood.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
        }
    }
}

/// Why a model is not asked.
#[derive(Debug, thiserror::Error)]
pub enum Unasked {
    #[error(transparent)]
    Picture(#[from] picture::Error),
    #[error(transparent)]
    Prompt(#[from] prompt::Error),
    /// The model has not what this way of asking needs. The words are for people.
    #[error("{0}")]
    Unsuitable(String),
}

impl From<Unasked> for BackendError {
    fn from(unasked: Unasked) -> Self {
        BackendError::Permanent {
            message: unasked.to_string(),
        }
    }
}
