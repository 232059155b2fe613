//! Backends: each turns a request into a decision in its own way. Which one is asked, and in what order, is the
//! business of the router.

mod chat;
pub mod dialect;
pub mod opencua;
pub mod phrasebook;
pub mod qwen_vl;
pub mod recorded;

use async_trait::async_trait;
use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::service::{BackendInfo, PlanRequest};

/// Something that decides.
#[async_trait]
pub trait Backend: std::fmt::Debug + Send + Sync + 'static {
    /// The name in configurations and requests.
    fn name(&self) -> &str;

    /// What it is and how it is.
    fn info(&self) -> BackendInfo;

    /// Decides what to do next. `conversation` is empty unless this backend wrote it.
    ///
    /// # Errors
    /// If it does not decide; the next backend is asked then.
    async fn plan(&self, request: &PlanRequest) -> Result<Decision, BackendError>;
}

/// Why a backend does not decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The goal is not for it, and it has touched nothing.
    #[error("`{clause}`: {reason}")]
    Declined {
        /// The part of the goal that it cannot do.
        clause: String,
        reason: String,
    },
    /// It failed in a way that may pass: a rate limit, a broken connection.
    #[error("failed for now: {message}")]
    Transient { message: String, usage: Usage },
    /// It will not succeed with this request.
    #[error("failed: {message}")]
    Permanent { message: String, usage: Usage },
    /// It answered with something that is no decision.
    #[error("gave an answer that is no decision: {message}")]
    InvalidAnswer { message: String, usage: Usage },
    /// It did not answer in its time.
    #[error("did not answer within {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
}

impl BackendError {
    /// Stable, in upper snake case; `BackendAttempt.reason`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            BackendError::Declined { .. } => "DECLINED",
            BackendError::Transient { .. } => "TRANSIENT",
            BackendError::Permanent { .. } => "PERMANENT",
            BackendError::InvalidAnswer { .. } => "INVALID_ANSWER",
            BackendError::TimedOut { .. } => "TIMED_OUT",
        }
    }

    /// What the attempt cost all the same.
    #[must_use]
    pub fn usage(&self) -> Usage {
        match self {
            BackendError::Transient { usage, .. }
            | BackendError::Permanent { usage, .. }
            | BackendError::InvalidAnswer { usage, .. } => *usage,
            BackendError::Declined { .. } | BackendError::TimedOut { .. } => Usage::default(),
        }
    }
}
