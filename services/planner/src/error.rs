//! What a call of this service can fail with, and the one place where that becomes a report that travels.

use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::id::ElementId;
use motorium_proto::error::{ErrorReport, FieldError};
use motorium_proto::service::{BackendAttempt, TargetCandidate};
use tonic::Code;

/// Why a call was not answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// A field of the request cannot be accepted.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// The request names a backend that is not configured.
    #[error("there is no backend `{name}`; there are: {known}")]
    BackendNotFound { name: String, known: String },
    /// No backend decided, and not all of them because the goal is not for them.
    #[error("no backend decided: {}", said(attempts))]
    AllBackendsFailed {
        attempts: Vec<BackendAttempt>,
        /// Some of them failed in a way that may pass.
        may_pass: bool,
    },
    /// The scene has no element of that number.
    #[error(
        "the scene has no element {0}; it may have gone since the frame that the decision was made on"
    )]
    ElementNotFound(ElementId),
    /// Nothing on the scene is what the target describes.
    #[error("{description} is not on the screen{}", nearest_words(nearest))]
    TargetNotFound {
        description: String,
        /// The texts that come nearest, the best first.
        nearest: Vec<String>,
        /// Of the model that was asked.
        usage: Box<Usage>,
    },
    /// Several things are equally well what the target describes.
    #[error(
        "{description} may be any of {} things; add a kind, a place or an ordinal",
        candidates.len()
    )]
    TargetAmbiguous {
        description: String,
        /// At least two.
        candidates: Vec<TargetCandidate>,
        /// Of the model that was asked.
        usage: Box<Usage>,
    },
    /// The call needs a model, and no configured backend has one.
    #[error("{call} needs a model, and no configured backend has one")]
    NeedsModel { call: &'static str },
    /// A prompt cannot be made.
    #[error("{problem}")]
    BadPrompt { problem: String },
}

impl Error {
    /// What the call has used all the same.
    #[must_use]
    pub fn usage(&self) -> Usage {
        match self {
            Error::AllBackendsFailed { attempts, .. } => {
                let used = attempts.iter().map(|attempt| attempt.usage);
                used.fold(Usage::default(), Usage::plus)
            }
            Error::TargetNotFound { usage, .. } | Error::TargetAmbiguous { usage, .. } => **usage,
            _ => Usage::default(),
        }
    }
}

impl From<crate::prompt::Error> for Error {
    fn from(error: crate::prompt::Error) -> Self {
        Self::BadPrompt {
            problem: error.to_string(),
        }
    }
}

fn said(attempts: &[BackendAttempt]) -> String {
    if attempts.is_empty() {
        return "none is configured".to_owned();
    }
    attempts
        .iter()
        .map(|attempt| format!("{} {}", attempt.backend, attempt.message))
        .collect::<Vec<_>>()
        .join("; ")
}

fn nearest_words(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; the nearest are {}", quoted(nearest))
    }
}

/// Most candidates that an error names.
const MOST_CANDIDATES: usize = 8;

/// `[3] "Delete", [7] "Delete"`.
fn numbered(candidates: &[TargetCandidate]) -> String {
    let named = candidates.iter().take(MOST_CANDIDATES);
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

/// Reasons of this service alone, each with a page in `docs/errors/`.
pub mod reason {
    pub const BACKEND_NOT_FOUND: &str = "BACKEND_NOT_FOUND";
    pub const ALL_BACKENDS_FAILED: &str = "ALL_BACKENDS_FAILED";
    pub const ELEMENT_NOT_FOUND: &str = "ELEMENT_NOT_FOUND";
    pub const TARGET_NOT_FOUND: &str = "TARGET_NOT_FOUND";
    pub const TARGET_AMBIGUOUS: &str = "TARGET_AMBIGUOUS";
    pub const NEEDS_MODEL: &str = "NEEDS_MODEL";
    pub const BAD_PROMPT: &str = "BAD_PROMPT";

    /// All of them.
    pub const ALL: &[&str] = &[
        BACKEND_NOT_FOUND,
        ALL_BACKENDS_FAILED,
        ELEMENT_NOT_FOUND,
        TARGET_NOT_FOUND,
        TARGET_AMBIGUOUS,
        NEEDS_MODEL,
        BAD_PROMPT,
    ];
}

impl From<Error> for ErrorReport {
    fn from(error: Error) -> Self {
        let (message, usage) = (error.to_string(), error.usage());
        let report = match error {
            Error::Field(field) => ErrorReport::invalid(field),
            Error::BackendNotFound { name, known } => {
                ErrorReport::new(Code::NotFound, reason::BACKEND_NOT_FOUND, message)
                    .with("backend", name)
                    .with("known", known)
            }
            Error::AllBackendsFailed { attempts, may_pass } => {
                let code = if may_pass {
                    Code::Unavailable
                } else {
                    Code::FailedPrecondition
                };
                let report = ErrorReport::new(code, reason::ALL_BACKENDS_FAILED, message);
                attempts.iter().fold(report, |report, attempt| {
                    report.with(&attempt.backend, &attempt.reason)
                })
            }
            Error::ElementNotFound(id) => {
                ErrorReport::new(Code::NotFound, reason::ELEMENT_NOT_FOUND, message)
                    .with("element_id", id)
            }
            Error::TargetNotFound { nearest, .. } => {
                ErrorReport::new(Code::NotFound, reason::TARGET_NOT_FOUND, message)
                    .with("nearest", quoted(&nearest))
            }
            Error::TargetAmbiguous { candidates, .. } => {
                ErrorReport::new(Code::FailedPrecondition, reason::TARGET_AMBIGUOUS, message)
                    .with("count", candidates.len())
                    .with("candidates", numbered(&candidates))
            }
            Error::NeedsModel { call } => {
                ErrorReport::new(Code::FailedPrecondition, reason::NEEDS_MODEL, message)
                    .with("call", call)
            }
            Error::BadPrompt { .. } => {
                ErrorReport::new(Code::FailedPrecondition, reason::BAD_PROMPT, message)
            }
        };
        report.having_used(usage)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use motorium_proto::error::reason as common;

    use super::*;

    /// One of each, with the code and the reason that callers see.
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
            may_pass,
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
                Error::ElementNotFound(ElementId(7)),
                Code::NotFound,
                reason::ELEMENT_NOT_FOUND,
            ),
            (
                Error::TargetNotFound {
                    description: description(),
                    nearest: vec!["Saved".to_owned()],
                    usage: Box::new(usage),
                },
                Code::NotFound,
                reason::TARGET_NOT_FOUND,
            ),
            (
                Error::TargetAmbiguous {
                    description: description(),
                    candidates: vec![candidate(3), candidate(7)],
                    usage: Box::new(usage),
                },
                Code::FailedPrecondition,
                reason::TARGET_AMBIGUOUS,
            ),
            (
                Error::NeedsModel { call: "Extract" },
                Code::FailedPrecondition,
                reason::NEEDS_MODEL,
            ),
            (
                Error::BadPrompt {
                    problem: "the prompt template en/extract cannot be used: undefined value"
                        .to_owned(),
                },
                Code::FailedPrecondition,
                reason::BAD_PROMPT,
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
