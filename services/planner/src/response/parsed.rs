//! Result of parsing a response, and the error of a response that is not a decision.

use bytes::Bytes;
use motorium_proto::domain::decision::{Next, SafetyCheck, SuspectedInjection};

use crate::screenshot::Checksum;

/// A decision parsed from one response.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedDecision {
    /// The model's own explanation.
    pub thought: String,
    /// One line for the user.
    pub progress: String,
    pub next: Next,
    /// State that this dialect needs verbatim in the next step, without pixels; empty if none.
    pub conversation: Bytes,
    pub safety_checks: Vec<SafetyCheck>,
    pub suspected_injections: Vec<SuspectedInjection>,
    /// Images in `conversation`, without duplicates.
    pub conversation_images: Vec<Checksum>,
}

/// A response that is not a valid decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The provider or the model refuses. The request is not repeated.
    #[error("the model refuses: {message}")]
    Refused { message: String },
    /// The response was truncated; nothing of it is used.
    #[error("the answer was cut off after {limit} tokens")]
    Truncated { limit: u64 },
    /// The response cannot be understood or performed. The message is for the model.
    #[error("{message}")]
    Invalid { message: String },
}

impl ResponseError {
    /// Creates an error for a response that cannot be understood or performed.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
        }
    }
}
