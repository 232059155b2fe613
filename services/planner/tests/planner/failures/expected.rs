//! What is expected of a failure: how often it is asked, how long is waited, who answers, what people are told.

use serde_json::{Value, json};

use super::server::Reply;
use super::{Stage, claude, decision};

/// What is expected of a failure.
pub(super) struct Expected<'a> {
    /// To the provider that fails.
    pub(super) requests: usize,
    /// Between them, in milliseconds.
    pub(super) waited: &'a [u128],
    pub(super) backend: &'a str,
    /// The reason of the failed attempt and a part of what is said of it; nothing if it did not fail in the end.
    pub(super) told: Option<(&'a str, &'a str)>,
}

pub(super) async fn check(script: Vec<Reply>, expected: Expected<'_>) {
    let stage = Stage::with(script).await;
    judge(&stage, expected).await;
}

pub(super) async fn judge(stage: &Stage, expected: Expected<'_>) {
    let planned = stage.plan().await.unwrap();
    assert_eq!(stage.claude.received().len(), expected.requests, "requests");
    assert_eq!(stage.waited(), expected.waited, "pauses");
    assert_eq!(planned.decision.backend, expected.backend);
    let told = planned
        .attempts
        .first()
        .map(|attempt| (attempt.reason.as_str(), attempt.message.as_str()));
    match (told, expected.told) {
        (None, None) => {}
        (Some((reason, message)), Some((expected, part))) => {
            assert_eq!(reason, expected, "{message}");
            assert!(message.contains(part), "{message}");
            assert!(!message.contains("sk-of-the-test"), "{message}");
        }
        (told, expected) => panic!("{told:?} instead of {expected:?}"),
    }
}

/// One that is not asked again.
pub(super) fn for_good<'a>(reason: &'a str, part: &'a str) -> Expected<'a> {
    Expected {
        requests: 1,
        waited: &[],
        backend: "operator",
        told: Some((reason, part)),
    }
}

/// One that is asked again twice, in vain.
pub(super) fn for_now<'a>(part: &'a str) -> Expected<'a> {
    Expected {
        requests: 3,
        waited: &[500, 1000],
        backend: "operator",
        told: Some(("TRANSIENT", part)),
    }
}

/// One that is put right by asking again once.
pub(super) fn repaired() -> Expected<'static> {
    Expected {
        requests: 2,
        waited: &[],
        backend: "claude_som",
        told: None,
    }
}

/// No failure at all.
pub(super) fn accepted() -> Expected<'static> {
    Expected {
        requests: 1,
        waited: &[],
        backend: "claude_som",
        told: None,
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
