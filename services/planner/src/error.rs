//! Errors of this service, and their only conversion to an error report.

use std::time::Duration;

use motorium_phrasebook::target::TargetError;
use motorium_proto::domain::decision::Usage;
use motorium_proto::error::header::cut_message;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::service::{BackendAttempt, TargetCandidate};
use tonic::Code;

use crate::backends::call::exchange::ExchangeTexts;

/// An error of a call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A field of the request is invalid.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The request names a backend that is not configured.
    #[error("unknown backend `{name}`; known backends: {known}; add others to `planner.backends`")]
    BackendNotFound { name: String, known: String },
    /// No backend decided, and not all of them declined the goal.
    #[error("no backend decided: {}", attempts_text(attempts))]
    AllBackendsFailed {
        attempts: Vec<BackendAttempt>,
        /// `true` if a failure may be temporary, so that the call can be retried.
        retryable: bool,
        /// Time before which a retry cannot succeed. Retries before that are made already.
        retry_after: Option<Duration>,
        /// Requests to the providers, and their responses.
        exchange: Box<ExchangeTexts>,
    },
    /// The target cannot be resolved on the scene.
    #[error("{error}")]
    Target {
        error: TargetError,
        /// Usage of the model that was asked.
        usage: Box<Usage>,
        /// Requests to its provider, and the responses.
        exchange: Box<ExchangeTexts>,
    },
    /// The call needs a model, and no configured backend has one.
    #[error("{call} needs a model, and no configured backend has one")]
    NeedsModel { call: &'static str },
    /// A prompt cannot be rendered.
    #[error("{problem}")]
    BadPrompt { problem: String },
}

impl Error {
    /// Creates the error of a target that a model was asked for.
    pub(crate) fn target(error: TargetError, usage: Usage, exchange: ExchangeTexts) -> Self {
        Self::Target {
            error,
            usage: Box::new(usage),
            exchange: Box::new(exchange),
        }
    }

    /// Returns the requests of the failed call, and the responses of providers to them.
    #[must_use]
    pub fn exchange(&self) -> Option<&ExchangeTexts> {
        match self {
            Error::AllBackendsFailed { exchange, .. } | Error::Target { exchange, .. } => {
                Some(exchange)
            }
            _ => None,
        }
    }

    /// Returns the usage of the failed call.
    #[must_use]
    pub fn usage(&self) -> Usage {
        match self {
            Error::AllBackendsFailed { attempts, .. } => {
                let used = attempts.iter().map(|attempt| attempt.usage);
                used.fold(Usage::default(), Usage::plus)
            }
            Error::Target { usage, .. } => **usage,
            _ => Usage::default(),
        }
    }
}

impl From<TargetError> for Error {
    fn from(error: TargetError) -> Self {
        Self::target(error, Usage::default(), ExchangeTexts::default())
    }
}

impl From<crate::prompt::Error> for Error {
    fn from(error: crate::prompt::Error) -> Self {
        Self::BadPrompt {
            problem: error.to_string(),
        }
    }
}

/// Maximum size of the messages of all attempts in an error, in bytes of the header of a gRPC response. Two fifths of what common
/// clients accept, which is some 2,000 characters of English. `BackendAttempt.message` is not cut.
const MAX_ATTEMPTS_BYTES: usize = 6_500;

fn attempts_text(attempts: &[BackendAttempt]) -> String {
    if attempts.is_empty() {
        return "none is configured".to_owned();
    }
    let bytes = MAX_ATTEMPTS_BYTES / attempts.len();
    attempts
        .iter()
        .map(|attempt| {
            format!(
                "{} {}",
                attempt.backend,
                cut_message(&attempt.message, bytes)
            )
        })
        .collect::<Vec<_>>()
        .join("; ")
}

/// Maximum number of candidates in an error message.
// The message stays readable; more candidates need a better description anyway.
const MAX_CANDIDATES: usize = 8;

/// Formats candidates: `[3] "Delete", [7] "Delete"`.
fn numbered(candidates: &[TargetCandidate]) -> String {
    let named = candidates.iter().take(MAX_CANDIDATES);
    named
        .map(|candidate| format!("[{}] \"{}\"", candidate.element, candidate.content))
        .collect::<Vec<_>>()
        .join(", ")
}

fn quoted(texts: &[String]) -> String {
    texts
        .iter()
        .map(|text| format!("\"{text}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Error reasons of this service, each documented in `docs/errors/`.
pub mod reason {
    pub use motorium_proto::error::reason::{
        ALL_BACKENDS_FAILED, TARGET_AMBIGUOUS, TARGET_NOT_FOUND,
    };

    pub const BACKEND_NOT_FOUND: &str = "BACKEND_NOT_FOUND";
    pub const ELEMENT_NOT_FOUND: &str = "ELEMENT_NOT_FOUND";
    pub const MODEL_REQUIRED: &str = "MODEL_REQUIRED";
    pub const PROMPT_TEMPLATE_INVALID: &str = "PROMPT_TEMPLATE_INVALID";

    /// All reasons.
    pub const ALL: &[&str] = &[
        BACKEND_NOT_FOUND,
        ALL_BACKENDS_FAILED,
        ELEMENT_NOT_FOUND,
        TARGET_NOT_FOUND,
        TARGET_AMBIGUOUS,
        MODEL_REQUIRED,
        PROMPT_TEMPLATE_INVALID,
    ];
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let (message, usage) = (error.to_string(), error.usage());
        let exchange = error.exchange().cloned().unwrap_or_default();
        let report = match error {
            Error::Field(field) => ErrorReport::invalid(field),
            Error::BackendNotFound { name, known } => {
                ErrorReport::new(Code::NotFound, reason::BACKEND_NOT_FOUND, message)
                    .with("backend", name)
                    .with("known", known)
            }
            Error::AllBackendsFailed {
                attempts,
                retryable: may_pass,
                retry_after,
                ..
            } => {
                let code = if may_pass {
                    Code::Unavailable
                } else {
                    Code::FailedPrecondition
                };
                let report = ErrorReport {
                    retry_after,
                    ..ErrorReport::new(code, reason::ALL_BACKENDS_FAILED, message)
                };
                attempts.iter().fold(report, |report, attempt| {
                    report.with(&attempt.backend, &attempt.reason)
                })
            }
            Error::Target { error, .. } => target_report(error, message),
            Error::NeedsModel { call } => {
                ErrorReport::new(Code::FailedPrecondition, reason::MODEL_REQUIRED, message)
                    .with("call", call)
            }
            Error::BadPrompt { .. } => ErrorReport::new(
                Code::FailedPrecondition,
                reason::PROMPT_TEMPLATE_INVALID,
                message,
            ),
        };
        report
            .with_usage(usage)
            .with_model_responses(&exchange.responses)
            .with_model_requests(&exchange.requests)
    }
}

fn target_report(error: TargetError, message: String) -> ErrorReport {
    match error {
        TargetError::PointOutside { .. } => {
            ErrorReport::invalid(FieldError::new("target.point", message))
        }
        TargetError::ElementNotFound(id) => {
            ErrorReport::new(Code::NotFound, reason::ELEMENT_NOT_FOUND, message)
                .with("element_id", id)
        }
        TargetError::NotFound { nearest, .. } => {
            ErrorReport::new(Code::NotFound, reason::TARGET_NOT_FOUND, message)
                .with("nearest", quoted(&nearest))
        }
        TargetError::Ambiguous { candidates, .. } => {
            ErrorReport::new(Code::FailedPrecondition, reason::TARGET_AMBIGUOUS, message)
                .with("count", candidates.len())
                .with("candidates", numbered(&candidates))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
    use motorium_proto::domain::id::ElementId;
    use motorium_proto::error::header::message_size;
    use motorium_proto::error::reason as common;

    use super::*;

    /// One error of each variant, with the code and the reason that callers see.
    fn every_variant() -> Vec<(Error, Code, &'static str)> {
        let usage = Usage {
            input_tokens: Some(100),
            calls: 1,
            ..Usage::default()
        };
        let attempt = |reason: &str| BackendAttempt {
            backend: "a".to_owned(),
            reason: reason.to_owned(),
            message: "said no".to_owned(),
            usage,
        };
        let exchange = || ExchangeTexts {
            requests: vec![r#"{"messages":[]}"#.to_owned()],
            responses: vec![r#"{"id":"msg_1"}"#.to_owned()],
        };
        let failed = |may_pass| Error::AllBackendsFailed {
            attempts: vec![attempt("TRANSIENT")],
            retryable: may_pass,
            retry_after: may_pass.then_some(Duration::from_secs(30)),
            exchange: Box::new(exchange()),
        };
        let description = || "\"Save\"".to_owned();
        let candidate = |id| TargetCandidate {
            element: ElementId(id),
            content: "Save".to_owned(),
            score: 1.0,
        };
        vec![
            (
                FieldError::missing("goal").into(),
                Code::InvalidArgument,
                common::INVALID_FIELD,
            ),
            (
                Error::BackendNotFound {
                    name: "x".to_owned(),
                    known: "a".to_owned(),
                },
                Code::NotFound,
                reason::BACKEND_NOT_FOUND,
            ),
            (failed(true), Code::Unavailable, reason::ALL_BACKENDS_FAILED),
            (
                failed(false),
                Code::FailedPrecondition,
                reason::ALL_BACKENDS_FAILED,
            ),
            (
                TargetError::PointOutside {
                    point: CapturePoint::new(500, 500),
                    frame: CaptureSize::new(100, 80),
                }
                .into(),
                Code::InvalidArgument,
                common::INVALID_FIELD,
            ),
            (
                TargetError::ElementNotFound(ElementId(7)).into(),
                Code::NotFound,
                reason::ELEMENT_NOT_FOUND,
            ),
            (
                Error::target(
                    TargetError::NotFound {
                        description: description(),
                        nearest: vec!["Saved".to_owned()],
                    },
                    usage,
                    exchange(),
                ),
                Code::NotFound,
                reason::TARGET_NOT_FOUND,
            ),
            (
                Error::target(
                    TargetError::Ambiguous {
                        description: description(),
                        candidates: vec![candidate(3), candidate(7)],
                    },
                    usage,
                    ExchangeTexts::default(),
                ),
                Code::FailedPrecondition,
                reason::TARGET_AMBIGUOUS,
            ),
            (
                Error::NeedsModel { call: "Extract" },
                Code::FailedPrecondition,
                reason::MODEL_REQUIRED,
            ),
            (
                Error::BadPrompt {
                    problem: "the prompt template en/extract cannot be used: undefined value"
                        .to_owned(),
                },
                Code::FailedPrecondition,
                reason::PROMPT_TEMPLATE_INVALID,
            ),
        ]
    }

    #[test]
    fn every_error_travels() {
        for (error, code, reason) in every_variant() {
            let report = ErrorReport::from(error.clone());
            assert_eq!(
                (report.code, report.reason.as_str()),
                (code, reason),
                "{error}"
            );
            assert_eq!(report.usage(), error.usage(), "{error}");
            let exchange = error.exchange().cloned().unwrap_or_default();
            assert_eq!(report.model_responses(), exchange.responses, "{error}");
            assert_eq!(report.model_requests(), exchange.requests, "{error}");
            // The header of a response has no room for requests.
            let arrived = ErrorReport::from_status(&report.clone().into_status());
            assert_eq!(arrived.model_requests(), Vec::<String>::new(), "{error}");
            let arrived = arrived.with_model_requests(&exchange.requests);
            assert_eq!(arrived, report, "{error}");
        }
    }

    #[test]
    fn messages_of_attempts_fit_a_header() {
        let attempt = |message: &str| BackendAttempt {
            backend: "claude_som".to_owned(),
            reason: reason::MODEL_REQUIRED.to_owned(),
            message: message.to_owned(),
            usage: Usage::default(),
        };
        let short = "the provider answered 429 after 3 attempts";
        assert!(attempts_text(&[attempt(short)]).contains(short));
        let long = "x".repeat(2_000);
        assert!(attempts_text(&[attempt(&long)]).contains(&long));
        for (letter, count) in [("x", 1), ("长", 1), ("x", 20), ("长", 20)] {
            let text = attempts_text(&vec![attempt(&letter.repeat(10_000)); count]);
            let size: usize = message_size(&text);
            // Of the 16 KiB that common clients accept, 4 are for usage and metadata.
            assert!(size < 12 * 1024, "{letter} {count}: {size}");
            assert!(text.contains(&letter.repeat(20)), "{letter} {count}");
        }
    }

    #[test]
    fn every_reason_has_a_page() {
        let used: BTreeSet<&str> = every_variant()
            .into_iter()
            .map(|(_, _, reason)| reason)
            .filter(|reason| *reason != common::INVALID_FIELD)
            .collect();
        assert_eq!(used, reason::ALL.iter().copied().collect());
        let pages = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for reason in reason::ALL {
            assert!(
                pages.join(format!("{reason}.md")).is_file(),
                "docs/errors/{reason}.md"
            );
        }
    }
}
