//! Errors of this service, and their only conversion to an error report.

use std::time::Duration;

use motorium_phrasebook::target::TargetError;
use motorium_proto::domain::decision::Usage;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::service::{BackendAttempt, TargetCandidate};
use serde_json::json;
use tonic::Code;

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
        /// Responses of the providers, in order.
        responses: Vec<String>,
    },
    /// The target cannot be resolved on the scene.
    #[error("{error}")]
    Target {
        error: TargetError,
        /// Usage of the model that was asked.
        usage: Box<Usage>,
        /// Responses of its provider, in order.
        responses: Vec<String>,
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
    pub(crate) fn target(error: TargetError, usage: Usage, responses: Vec<String>) -> Self {
        Self::Target {
            error,
            usage: Box::new(usage),
            responses,
        }
    }

    /// Returns the responses of providers to the failed call, in order.
    #[must_use]
    pub fn responses(&self) -> &[String] {
        match self {
            Error::AllBackendsFailed { responses, .. } | Error::Target { responses, .. } => {
                responses
            }
            _ => &[],
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
        Self::target(error, Usage::default(), Vec::new())
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

/// Maximum length of the responses in an error together, in bytes. They share the header of a gRPC response with the messages
/// of all attempts; common clients accept 16 KiB, and base64 makes 4 KiB of it.
const MAX_RESPONSES_IN_ERROR_BYTES: usize = 3 * 1024;
/// Size of the header that message and responses may take together, in bytes. The rest of 16 KiB is for usage and metadata.
const MAX_HEADER_BYTES: usize = 12 * 1024;
/// Maximum length of the beginning that is kept of a response that is too long, in characters: enough for its kind, its
/// model and the start of its text.
const MAX_BEGINNING_CHARS: usize = 1000;
/// Length of a note about a response that is left out, with its quotes and braces, in bytes.
const NOTE_BYTES: usize = 60;

/// Returns responses as a JSON array that fits an error; empty if there are none. The latest are kept, because they led to
/// the failure. Of one that is too long, the beginning is kept if there is room, and earlier ones are left out.
fn fitting(responses: &[String], bytes: usize) -> String {
    let mut left = bytes;
    let mut kept = Vec::new();
    for response in responses.iter().rev() {
        let text = match response.len() <= left {
            true => response.clone(),
            false => beginning(response, left),
        };
        let Some(rest) = left.checked_sub(text.len()) else {
            break;
        };
        left = rest;
        kept.push(text);
    }
    if kept.is_empty() {
        return String::new();
    }
    kept.reverse();
    format!("[{}]", kept.join(",\n"))
}

/// Returns the bytes that are left for responses beside a message, in a header that common clients accept.
fn room_beside(message: &str) -> usize {
    let encoded: usize = message.chars().map(thirds_in_header).sum::<usize>() / 3;
    let left = MAX_HEADER_BYTES.saturating_sub(encoded);
    (left * 3 / 4).min(MAX_RESPONSES_IN_ERROR_BYTES)
}

/// Returns the size of a letter of a message in a header, in thirds of a byte. The message is there twice: percent-encoded, which
/// takes three bytes for a space, a quote and each byte that is not ASCII, and in the details in base64.
fn thirds_in_header(letter: char) -> usize {
    let bytes = letter.len_utf8();
    let escaped = if letter.is_ascii_alphanumeric() {
        1
    } else {
        3 * bytes
    };
    3 * escaped + 4 * bytes
}

/// Returns a note about a response with its beginning, as long as fits into `bytes`.
fn beginning(response: &str, bytes: usize) -> String {
    let left_out = format!("a response of {} bytes", response.len());
    // Quotes within a response take two bytes, and control characters up to six.
    let chars = (bytes.saturating_sub(NOTE_BYTES) / 6).min(MAX_BEGINNING_CHARS);
    let begins: String = response.chars().take(chars).collect();
    json!({"left_out": left_out, "begins": begins}).to_string()
}

/// Cuts a message to a size in bytes of a header.
fn cut(message: &str, bytes: usize) -> String {
    let mut size = 0;
    let too_long = message.char_indices().find(|(_, letter)| {
        size += thirds_in_header(*letter);
        size > 3 * bytes
    });
    match too_long {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

fn attempts_text(attempts: &[BackendAttempt]) -> String {
    if attempts.is_empty() {
        return "none is configured".to_owned();
    }
    let bytes = MAX_ATTEMPTS_BYTES / attempts.len();
    attempts
        .iter()
        .map(|attempt| format!("{} {}", attempt.backend, cut(&attempt.message, bytes)))
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
        let responses = fitting(error.responses(), room_beside(&message));
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
        report.with_usage(usage).with_model_responses(responses)
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
        let failed = |may_pass| Error::AllBackendsFailed {
            attempts: vec![attempt("TRANSIENT")],
            retryable: may_pass,
            retry_after: may_pass.then_some(Duration::from_secs(30)),
            responses: vec![r#"{"id":"msg_1"}"#.to_owned()],
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
                    vec![r#"{"id":"msg_1"}"#.to_owned()],
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
                    Vec::new(),
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
            assert_eq!(
                ErrorReport::from_status(&report.clone().into_status()),
                report,
                "{error}"
            );
            assert_eq!(report.usage(), error.usage(), "{error}");
            let responses = error.responses().first();
            let responses = responses.map(|one| format!("[{one}]"));
            assert_eq!(report.model_responses(), responses.as_deref(), "{error}");
        }
    }

    #[test]
    fn the_latest_responses_travel_with_an_error_as_far_as_they_fit() {
        let kept = |responses: &[String]| -> Vec<serde_json::Value> {
            let json = fitting(responses, MAX_RESPONSES_IN_ERROR_BYTES);
            assert!(
                json.len() <= MAX_RESPONSES_IN_ERROR_BYTES + 2 * responses.len() + 2,
                "{}",
                json.len()
            );
            serde_json::from_str(&json).unwrap()
        };
        let response = |id: &str, length: usize| {
            let text = "\"日".repeat(length);
            json!({"id": id, "text": text}).to_string()
        };
        let ids = |kept: &[serde_json::Value]| -> Vec<String> {
            let ids = kept.iter().filter_map(|one| one["id"].as_str());
            ids.map(str::to_owned).collect()
        };
        let small = [response("a", 1), response("b", 2)];
        assert_eq!(ids(&kept(&small)), ["a", "b"]);
        let too_long = [response("a", 10), response("b", 5000), response("c", 10)];
        let kept_of_long = kept(&too_long);
        assert_eq!(ids(&kept_of_long), ["a", "c"]);
        let note = &kept_of_long[1];
        let left_out = format!("a response of {} bytes", too_long[1].len());
        assert_eq!(note["left_out"], left_out);
        assert!(too_long[1].starts_with(note["begins"].as_str().unwrap()));
        assert_eq!(fitting(&[], MAX_RESPONSES_IN_ERROR_BYTES), "");
        assert_eq!(room_beside("a short message"), MAX_RESPONSES_IN_ERROR_BYTES);
        assert_eq!(room_beside(&"长".repeat(900)), 441);
        assert_eq!(room_beside(&"长".repeat(3000)), 0);
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
            let size: usize = text.chars().map(thirds_in_header).sum::<usize>() / 3;
            assert!(size < MAX_HEADER_BYTES, "{letter} {count}: {size}");
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
