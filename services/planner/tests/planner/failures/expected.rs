//! Expected handling of a failure: number of requests, waits, the backend that decides, and the message.

use serde_json::{Value, json};

use super::server::Reply;
use super::{Setup, claude, decision};

/// Expected handling of a failure.
pub(super) struct Expected<'a> {
    /// Requests to the failing provider.
    pub(super) requests: usize,
    /// Waits between them, in milliseconds.
    pub(super) waited: &'a [u128],
    pub(super) backend: &'a str,
    /// Reason of the failed attempt and a part of its message; `None` if it succeeded in the end.
    pub(super) failure: Option<(&'a str, &'a str)>,
}

pub(super) async fn check(script: Vec<Reply>, expected: Expected<'_>) {
    let stage = Setup::with(script).await;
    judge(&stage, expected).await;
}

pub(super) async fn judge(stage: &Setup, expected: Expected<'_>) {
    let planned = stage.plan().await.unwrap();
    assert_eq!(stage.claude.received().len(), expected.requests, "requests");
    assert_eq!(stage.waited(), expected.waited, "pauses");
    assert_eq!(planned.decision.backend, expected.backend);
    let failure = planned
        .attempts
        .first()
        .map(|attempt| (attempt.reason.as_str(), attempt.message.as_str()));
    match (failure, expected.failure) {
        (None, None) => {}
        (Some((reason, message)), Some((expected, part))) => {
            assert_eq!(reason, expected, "{message}");
            assert!(message.contains(part), "{message}");
            assert!(!message.contains("sk-of-the-test"), "{message}");
        }
        (failure, expected) => panic!("{failure:?} instead of {expected:?}"),
    }
}

/// A failure without retries.
pub(super) fn for_good<'a>(reason: &'a str, part: &'a str) -> Expected<'a> {
    Expected {
        requests: 1,
        waited: &[],
        backend: "operator",
        failure: Some((reason, part)),
    }
}

/// A failure with two unsuccessful retries.
pub(super) fn for_now<'a>(part: &'a str) -> Expected<'a> {
    Expected {
        requests: 3,
        waited: &[500, 1000],
        backend: "operator",
        failure: Some(("TRANSIENT", part)),
    }
}

/// An invalid response that one repair fixes.
pub(super) fn repaired() -> Expected<'static> {
    Expected {
        requests: 2,
        waited: &[],
        backend: "claude_som",
        failure: None,
    }
}

/// No failure.
pub(super) fn accepted() -> Expected<'static> {
    Expected {
        requests: 1,
        waited: &[],
        backend: "claude_som",
        failure: None,
    }
}

pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

pub(super) fn good() -> Reply {
    Reply::success(&claude(&decision("click", 1).to_string()))
}

pub(super) fn says(text: &str) -> Reply {
    Reply::success(&claude(text))
}
