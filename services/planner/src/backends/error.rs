//! Errors of a backend.

use std::time::Duration;

use motorium_text::characters::is_ideograph;

use crate::provider::{FailureKind, ProviderFailure};

/// A backend did not decide.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BackendError {
    /// The goal is unsupported; nothing has been performed.
    #[error("{}", with_clause(clause, reason))]
    Declined {
        /// The unsupported part of the goal.
        clause: String,
        reason: String,
    },
    /// A key or an address is missing.
    #[error("is not configured: {message}")]
    NotConfigured { message: String },
    /// The call would exceed the task's remaining budget. It was not made.
    #[error("was not called: {message}")]
    OverBudget { message: String },
    /// The circuit breaker is open after repeated failures. The backend was not called.
    #[error("circuit breaker is open for another {} s", remaining.as_secs_f64().ceil())]
    CircuitOpen { remaining: Duration },
    /// A temporary failure: a rate limit, a broken connection.
    #[error("failed temporarily: {message}")]
    Transient {
        message: String,
        /// Wait that the provider asks for, in milliseconds.
        retry_after_ms: Option<u32>,
    },
    /// The request will not succeed.
    #[error("failed: {message}")]
    Permanent { message: String },
    /// The provider or the model refuses.
    #[error("refused: {message}")]
    Refused { message: String },
    /// The response is not a valid decision.
    #[error("returned an invalid response: {message}")]
    InvalidAnswer { message: String },
    /// No response within the time limit.
    #[error("did not respond within {limit_ms} ms")]
    TimedOut { limit_ms: u64 },
}

/// Returns a reason with the clause that it is about, quoted once and as the reason's language quotes.
fn with_clause(clause: &str, reason: &str) -> String {
    let is_quoted = !clause.is_empty() && reason.contains(clause);
    match (is_quoted, reason.contains(is_ideograph)) {
        (true, _) => reason.to_owned(),
        (false, true) => format!("“{clause}”：{reason}"),
        (false, false) => format!("`{clause}`: {reason}"),
    }
}

impl BackendError {
    /// Stable reason in upper snake case, reported as `BackendAttempt.reason`.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            BackendError::Declined { .. } => "DECLINED",
            BackendError::NotConfigured { .. } => "NOT_CONFIGURED",
            BackendError::OverBudget { .. } => "OVER_BUDGET",
            BackendError::CircuitOpen { .. } => "CIRCUIT_OPEN",
            BackendError::Transient { .. } => "TRANSIENT",
            BackendError::Permanent { .. } => "PERMANENT",
            BackendError::Refused { .. } => "REFUSED",
            BackendError::InvalidAnswer { .. } => "INVALID_RESPONSE",
            BackendError::TimedOut { .. } => "TIMED_OUT",
        }
    }

    /// Returns whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            BackendError::Transient { .. }
                | BackendError::TimedOut { .. }
                | BackendError::CircuitOpen { .. }
        )
    }
}

impl From<ProviderFailure> for BackendError {
    fn from(failure: ProviderFailure) -> Self {
        let message = failure.message;
        match failure.kind {
            FailureKind::Transient { retry_after } => BackendError::Transient {
                message,
                retry_after_ms: retry_after
                    .map(|wait| u32::try_from(wait.as_millis()).unwrap_or(u32::MAX)),
            },
            FailureKind::TimedOut { limit } => BackendError::TimedOut {
                limit_ms: u64::try_from(limit.as_millis()).unwrap_or(u64::MAX),
            },
            FailureKind::Permanent => BackendError::Permanent { message },
        }
    }
}
