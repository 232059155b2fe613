//! Errors on the wire: a code, a stable reason and details, converted to and from `Status`.
//!
//! Each service has its own error enum and one function that maps it to an [`ErrorReport`]; this module does the rest.
//! Every status that a Motorium service returns has `google.rpc.ErrorInfo`.
//!
//! The reasons of a single service are not declared here, except those that its callers tell apart.

pub mod header;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::domain::decision::Usage;

pub use crate::field_error::FieldError;

/// The `domain` of every `ErrorInfo`.
pub const DOMAIN: &str = "motorium.dev";

/// Keys in `ErrorInfo.metadata` for the usage of a failed call, see [`ErrorReport::with_usage`].
const USED_CALLS: &str = "used_calls";
const USED_INPUT: &str = "used_input_tokens";
const USED_OUTPUT: &str = "used_output_tokens";
const USED_CACHED: &str = "used_cached_tokens";
const USED_REASONING: &str = "used_reasoning_tokens";
const USED_COST: &str = "used_cost_micros_usd";
const USED_TIME: &str = "used_inference_ms";
/// Key in `ErrorInfo.metadata` for the responses of a model's provider to a failed call.
const MODEL_RESPONSES: &str = "model_responses";
/// Key for the requests that they answer. Not in a status, whose header has no room for them.
const MODEL_REQUESTS: &str = "model_requests";

impl From<FieldError> for Status {
    fn from(error: FieldError) -> Self {
        ErrorReport::invalid(error).into_status()
    }
}

/// An error in the form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    pub code: Code,
    /// Stable, `UPPER_SNAKE_CASE`; has a page in `docs/errors/`.
    pub reason: String,
    /// Problem and remedy, for display to people.
    pub message: String,
    /// Dynamic parts of the message, by name.
    pub metadata: BTreeMap<String, String>,
    /// Invalid fields (`BadRequest`).
    pub fields: Vec<FieldError>,
    /// Delay before a retry makes sense (`RetryInfo`).
    pub retry_after: Option<Duration>,
}

impl ErrorReport {
    /// Creates an error with a code, a reason and a message.
    pub fn new(code: Code, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            metadata: BTreeMap::new(),
            fields: Vec::new(),
            retry_after: None,
        }
    }

    /// Creates an `INVALID_ARGUMENT` error for an invalid field.
    #[must_use]
    pub fn invalid(error: FieldError) -> Self {
        let mut report = Self::new(
            Code::InvalidArgument,
            reason::INVALID_FIELD,
            error.to_string(),
        );
        report
            .metadata
            .insert("field".to_owned(), error.field.clone());
        report.fields.push(error);
        report
    }

    /// Adds an entry to `ErrorInfo.metadata`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl fmt::Display) -> Self {
        self.metadata.insert(key.to_owned(), value.to_string());
        self
    }

    /// Adds the usage of the failed call, so that budgets can count it. Does nothing if nothing was used.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Self {
        if usage == Usage::default() {
            return self;
        }
        let counts = [
            (USED_INPUT, usage.input_tokens),
            (USED_OUTPUT, usage.output_tokens),
            (USED_CACHED, usage.cached_tokens),
            (USED_REASONING, usage.reasoning_tokens),
            (USED_COST, usage.cost_micros_usd),
        ];
        let known = counts
            .into_iter()
            .filter_map(|(key, count)| Some((key, count?)));
        let report = self
            .with(USED_CALLS, usage.calls)
            .with(USED_TIME, usage.inference_time.as_millis());
        known.fold(report, |report, (key, count)| report.with(key, count))
    }

    /// Returns the usage of the failed call. Counts that the metadata does not have are unknown.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let count = |key: &str| self.metadata.get(key)?.parse::<u64>().ok();
        let calls = count(USED_CALLS).unwrap_or_default();
        Usage {
            input_tokens: count(USED_INPUT),
            output_tokens: count(USED_OUTPUT),
            cached_tokens: count(USED_CACHED),
            reasoning_tokens: count(USED_REASONING),
            cost_micros_usd: count(USED_COST),
            calls: u32::try_from(calls).unwrap_or(u32::MAX),
            inference_time: Duration::from_millis(count(USED_TIME).unwrap_or_default()),
        }
    }

    /// Adds the responses of a model's provider to the failed call, in order, each JSON. A status has as much of the latest as its
    /// header holds.
    #[must_use]
    pub fn with_model_responses(self, responses: &[String]) -> Self {
        match header::array_of(responses) {
            Some(array) => self.with(MODEL_RESPONSES, array),
            None => self,
        }
    }

    /// Returns the responses of a model's provider to the failed call, in order, each JSON.
    #[must_use]
    pub fn model_responses(&self) -> Vec<String> {
        let array = self.metadata.get(MODEL_RESPONSES);
        array
            .map(|array| header::responses_of(array))
            .unwrap_or_default()
    }

    /// Adds the requests that the responses of a model's provider answer, in order, each JSON. A status does not have them.
    #[must_use]
    pub fn with_model_requests(self, requests: &[String]) -> Self {
        match header::array_of(requests) {
            Some(array) => self.with(MODEL_REQUESTS, array),
            None => self,
        }
    }

    /// Returns the requests that [`Self::model_responses`] answer, in order, each JSON; none from another process.
    #[must_use]
    pub fn model_requests(&self) -> Vec<String> {
        let array = self.metadata.get(MODEL_REQUESTS);
        array
            .map(|array| header::responses_of(array))
            .unwrap_or_default()
    }

    /// Sets the delay before a retry.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// Converts to a status with all details.
    #[must_use]
    pub fn into_status(self) -> Status {
        let responses = header::responses_beside(&self.message, &self.model_responses());
        let responses = responses.map(|array| (MODEL_RESPONSES.to_owned(), array));
        let uncut = self
            .metadata
            .into_iter()
            .filter(|(key, _)| key != MODEL_RESPONSES && key != MODEL_REQUESTS);
        let metadata: std::collections::HashMap<String, String> = uncut.chain(responses).collect();
        let mut details = ErrorDetails::with_error_info(self.reason, DOMAIN, metadata);
        for FieldError { field, description } in self.fields {
            details.add_bad_request_violation(field, description);
        }
        if let Some(after) = self.retry_after {
            details.set_retry_info(Some(after));
        }
        Status::with_error_details(self.code, self.message, details)
    }

    /// Parses a status. The reason is `TRANSPORT` if it did not come from a Motorium service.
    #[must_use]
    pub fn from_status(status: &Status) -> Self {
        let details = status.get_error_details();
        let info = details.error_info();
        let fields = details
            .bad_request()
            .map(|bad| &bad.field_violations)
            .into_iter()
            .flatten()
            .map(|violation| FieldError::new(&violation.field, &violation.description))
            .collect();
        Self {
            code: status.code(),
            reason: info.map_or_else(|| reason::TRANSPORT.to_owned(), |info| info.reason.clone()),
            message: status.message().to_owned(),
            metadata: info
                .map(|info| info.metadata.clone().into_iter().collect())
                .unwrap_or_default(),
            fields,
            retry_after: details.retry_info().and_then(|info| info.retry_delay),
        }
    }
}

impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ErrorReport {}

impl From<ErrorReport> for Status {
    fn from(report: ErrorReport) -> Self {
        report.into_status()
    }
}

/// Reasons that every service may return. The reasons of one service are beside its error enum.
pub mod reason {
    /// A request field is invalid; `BadRequest` names it and has the reason.
    pub const INVALID_FIELD: &str = "INVALID_FIELD";
    /// The status comes from the transport or a proxy, not from a Motorium service.
    pub const TRANSPORT: &str = "TRANSPORT";
    /// The deadline of the call passed before the response.
    pub const DEADLINE_EXCEEDED: &str = "DEADLINE_EXCEEDED";
    /// The message is larger than the receiver accepts.
    pub const MESSAGE_TOO_LARGE: &str = "MESSAGE_TOO_LARGE";
    /// The server is shutting down. Retry later or at another instance.
    pub const SHUTTING_DOWN: &str = "SHUTTING_DOWN";
    /// The token is missing or wrong.
    pub const UNAUTHENTICATED: &str = "UNAUTHENTICATED";
    /// The caller has none of the roles that the method needs.
    pub const ROLE_MISSING: &str = "ROLE_MISSING";
    /// The method is part of the contract, but this build does not serve it.
    pub const NOT_SERVED: &str = "NOT_SERVED";
    /// A service sent an invalid response: the versions do not match.
    pub const MALFORMED_RESPONSE: &str = "MALFORMED_RESPONSE";
    /// A bug in the service; see its log.
    pub const INTERNAL: &str = "INTERNAL";

    // Reasons of one service that its callers tell apart. All others are declared in the service.

    /// Planner: no backend decided.
    pub const ALL_BACKENDS_FAILED: &str = "ALL_BACKENDS_FAILED";
    /// Planner: no element matches the target.
    pub const TARGET_NOT_FOUND: &str = "TARGET_NOT_FOUND";
    /// Planner: several elements match the target.
    pub const TARGET_AMBIGUOUS: &str = "TARGET_AMBIGUOUS";
    /// Executor: the desktop is leased to another holder.
    pub const DESKTOP_LEASED: &str = "DESKTOP_LEASED";
    /// Executor: the desktop was leased anew.
    pub const LEASE_SUPERSEDED: &str = "LEASE_SUPERSEDED";
    /// Executor: the lease was not renewed in time.
    pub const LEASE_EXPIRED: &str = "LEASE_EXPIRED";
    /// Executor: the lease is not of this desktop.
    pub const LEASE_UNKNOWN: &str = "LEASE_UNKNOWN";
    /// Orchestrator and Executor: the audit log cannot be written.
    pub const AUDIT_UNWRITABLE: &str = "AUDIT_UNWRITABLE";
    /// Orchestrator: there is no task with this name.
    pub const TASK_NOT_FOUND: &str = "TASK_NOT_FOUND";
    /// Orchestrator: there is no session or desktop with this name.
    pub const RESOURCE_NOT_FOUND: &str = "RESOURCE_NOT_FOUND";
    /// Orchestrator: the approval was decided, or has expired.
    pub const APPROVAL_ENDED: &str = "APPROVAL_ENDED";

    /// Returns true if the caller no longer holds the desktop's lease.
    #[must_use]
    pub fn is_lost_lease(reason: &str) -> bool {
        [LEASE_SUPERSEDED, LEASE_EXPIRED, LEASE_UNKNOWN].contains(&reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_the_wire() {
        let mut report = ErrorReport::invalid(FieldError::missing("goal"))
            .with("task", "tasks/a")
            .retry_after(Duration::from_millis(1500));
        report
            .fields
            .push(FieldError::new("limits.max_steps", "is negative"));
        assert_eq!(
            ErrorReport::from_status(&report.clone().into_status()),
            report
        );
    }

    #[test]
    fn usage_of_a_failed_call_survives_the_wire() {
        let failed = || ErrorReport::new(Code::Unavailable, "ALL_BACKENDS_FAILED", "none answers");
        let used = Usage {
            input_tokens: Some(1200),
            output_tokens: Some(80),
            cached_tokens: None,
            reasoning_tokens: Some(30),
            cost_micros_usd: Some(4500),
            calls: 2,
            inference_time: Duration::from_millis(900),
        };
        let arrived = ErrorReport::from_status(&failed().with_usage(used).into_status());
        assert_eq!(arrived.usage(), used);
        let unused = failed().with_usage(Usage::default());
        assert_eq!(unused, failed());
        assert_eq!(unused.usage(), Usage::default());
    }

    #[test]
    fn responses_of_a_model_survive_the_wire_as_far_as_they_fit() {
        let failed = ErrorReport::new(Code::Unavailable, "ALL_BACKENDS_FAILED", "none answers");
        let short = failed
            .clone()
            .with_model_responses(&[r#"{"n": 1.50}"#.to_owned()]);
        assert_eq!(
            ErrorReport::from_status(&short.clone().into_status()),
            short
        );
        let long = failed.with_model_responses(&[format!("\"{}\"", "x".repeat(50_000))]);
        let status = long.into_status();
        assert!(status.details().len() < 4096, "{}", status.details().len());
        assert_eq!(ErrorReport::from_status(&status).model_responses().len(), 1);
    }

    #[test]
    fn a_foreign_status_is_recognised() {
        let report = ErrorReport::from_status(&Status::unavailable("connection refused"));
        assert_eq!(report.reason, reason::TRANSPORT);
        assert_eq!(report.code, Code::Unavailable);
    }
}
