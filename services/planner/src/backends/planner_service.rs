//! Another Planner as a backend: any service with the same contract (`motorium.planner.v1.PlannerService`), in any
//! language.
//!
//! It decides steps only; questions beside them go to backends with a model of their own. It receives its own
//! conversation and the name of its own backend back, so that it can have several behind it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::error::{ErrorReport, reason};
use motorium_proto::service::{BackendInfo, PlanRequest, Planner};
use serde_json::Value;
use tonic::Code;

use super::{Backend, BackendDecision, BackendError, CallContext};
use crate::provider::{FailureKind, ProviderFailure, RejectedRequest};

/// Name of the kind in the configuration.
pub const KIND: &str = "planner_service";
/// Separates the name of the service's backend from its conversation. A backend's name contains no line break.
const SEPARATOR: u8 = b'\n';

/// Backend that calls another Planner.
pub struct PlannerServiceBackend {
    name: String,
    planner: Arc<dyn Planner>,
    needs_image: bool,
}

impl fmt::Debug for PlannerServiceBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlannerServiceBackend")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl PlannerServiceBackend {
    /// Creates a backend that calls `planner`. `needs_image` says whether it is sent screenshots.
    #[must_use]
    pub fn new(name: String, planner: Arc<dyn Planner>, needs_image: bool) -> Self {
        Self {
            name,
            planner,
            needs_image,
        }
    }

    /// Returns the request as the service gets it: with its own conversation, and without names that only we know.
    fn request(&self, request: &PlanRequest) -> PlanRequest {
        let (backend, conversation) = split(&request.conversation);
        PlanRequest {
            conversation,
            conversation_backend: backend,
            backends: Vec::new(),
            ..request.clone()
        }
    }

    /// Converts an error of the service. Its own answer counts as a rejection: it has retried its providers already.
    fn failure(&self, report: &ErrorReport) -> ProviderFailure {
        let is_unreachable = report.reason == reason::TRANSPORT;
        let may_pass = is_unreachable
            || matches!(
                report.code,
                Code::Unavailable
                    | Code::ResourceExhausted
                    | Code::Aborted
                    | Code::DeadlineExceeded
            );
        let kind = match may_pass {
            true => FailureKind::Transient {
                retry_after: report.retry_after,
            },
            false => FailureKind::Permanent,
        };
        ProviderFailure {
            message: self.explained(report),
            kind,
            rejected: (!is_unreachable).then(|| RejectedRequest {
                status: 0,
                words: report.reason.clone(),
                body: Value::Null,
            }),
        }
    }

    /// Returns the message of an error, with what to configure if the service does not accept the token.
    fn explained(&self, report: &ErrorReport) -> String {
        let (name, message) = (&self.name, &report.message);
        match report.code {
            Code::Unauthenticated => format!(
                "{message}; set its token in `token_file` or `token_env` of planner.backend.{name}.options"
            ),
            _ => message.clone(),
        }
    }
}

#[async_trait]
impl Backend for PlannerServiceBackend {
    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> BackendInfo {
        BackendInfo {
            needs_image: self.needs_image,
            ..BackendInfo::without_model(&self.name)
        }
    }

    fn may_be_slow(&self) -> bool {
        true
    }

    async fn plan(
        &self,
        request: &PlanRequest,
        call: &CallContext,
    ) -> Result<BackendDecision, BackendError> {
        let request = self.request(request);
        let ask = || async {
            let planned = self.planner.plan(request.clone()).await;
            planned.map_err(|report| {
                call.usage.add(report.usage());
                keep_exchange(call, &report.model_requests(), &report.model_responses());
                self.failure(&report)
            })
        };
        let is_unreachable = |failure: &ProviderFailure| failure.rejected.is_none();
        let planned = call.send(ask, is_unreachable).await?;
        keep_exchange(call, &planned.requests, &planned.responses);
        for attempt in &planned.attempts {
            call.usage.add(attempt.usage);
        }
        let decision = planned.decision;
        call.usage.add(decision.usage);
        Ok(BackendDecision {
            decision: Decision {
                conversation: joined(&decision.backend, &decision.conversation),
                backend: self.name.clone(),
                usage: Usage::default(),
                ..decision
            },
            annotated_image: planned.annotated_image,
        })
    }
}

/// Keeps the responses that the other service got, with its requests. Errors from another process do not have those, and earlier
/// versions do not return them.
fn keep_exchange(call: &CallContext, requests: &[String], responses: &[String]) {
    let parsed =
        |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
    for (index, response) in responses.iter().enumerate() {
        let request = requests.get(index).map_or(Value::Null, parsed);
        call.keep(request, parsed(response));
    }
}

/// Joins the name of the service's backend and its conversation; empty if there is no conversation.
fn joined(backend: &str, conversation: &[u8]) -> Bytes {
    if conversation.is_empty() {
        return Bytes::new();
    }
    [backend.as_bytes(), &[SEPARATOR], conversation]
        .concat()
        .into()
}

/// Splits what [`joined`] has joined.
fn split(joined: &Bytes) -> (String, Bytes) {
    match joined.iter().position(|byte| *byte == SEPARATOR) {
        Some(at) => (
            String::from_utf8_lossy(&joined[..at]).into_owned(),
            joined.slice(at + 1..),
        ),
        None => (String::new(), Bytes::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_comes_back_with_the_name_of_its_backend() {
        let conversation = b"{\n\"turns\": 2}";
        let kept = joined("mine", conversation);
        assert_eq!(
            split(&kept),
            ("mine".to_owned(), Bytes::from_static(conversation))
        );
        assert_eq!(joined("mine", b""), Bytes::new());
        assert_eq!(split(&Bytes::new()), (String::new(), Bytes::new()));
    }
}
