//! Why a backend does not decide.

use std::time::Duration;

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
    /// Something is missing: a key, an address.
    #[error("is not configured: {message}")]
    NotConfigured { message: String },
    /// The call would take more than is left of the task's limits. It was not made.
    #[error("was not asked: {message}")]
    OverBudget { message: String },
    /// It has failed too often and rests. It was not asked.
    #[error("rests after failures, for another {} s", remaining.as_secs_f64().ceil())]
    Resting { remaining: Duration },
    /// It failed in a way that may pass: a rate limit, a broken connection.
    #[error("failed for now: {message}")]
    Transient {
        message: String,
        /// How long the provider wants to be left alone, in milliseconds, if it says so.
        retry_after_ms: Option<u32>,
    },
    /// It will not succeed with this request.
    #[error("failed: {message}")]
    Permanent { message: String },
    /// The provider or the model will not do this.
    #[error("refused: {message}")]
    Refused { message: String },
    /// It answered with something that is no decision.
    #[error("gave an answer that is no decision: {message}")]
    InvalidAnswer { message: String },
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
            BackendError::NotConfigured { .. } => "NOT_CONFIGURED",
            BackendError::OverBudget { .. } => "OVER_BUDGET",
            BackendError::Resting { .. } => "RESTING",
            BackendError::Transient { .. } => "TRANSIENT",
            BackendError::Permanent { .. } => "PERMANENT",
            BackendError::Refused { .. } => "REFUSED",
            BackendError::InvalidAnswer { .. } => "INVALID_ANSWER",
            BackendError::TimedOut { .. } => "TIMED_OUT",
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            BackendError::Transient { .. }
                | BackendError::TimedOut { .. }
                | BackendError::Resting { .. }
        )
    }
}
