//! Questions that travel through clients of the protocol without sessions, and the answers that come back.
//!
//! A question is sealed for its caller, so that an answer to one that this server did not ask is refused. It does not say what an
//! answer means.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, ElicitResult, ErrorData, RequestStateCodec, SealOptions};
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, random_secret};

/// Name of the question in a result.
pub(super) const QUESTION: &str = "approval";

/// The approval that a person is asked about.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    pub(super) task: String,
    pub(super) approval: String,
}

/// Answer that a client brings back, with the question that it belongs to.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) question: Question,
    /// `None` if the client brings the question back alone.
    pub(super) answer: Option<ElicitResult>,
}

/// Seals questions, with a key of this process. Cheap to clone.
#[derive(Clone)]
pub(super) struct Seal(Arc<RequestStateCodec>);

impl Seal {
    pub(super) fn new() -> Self {
        let key = random_secret();
        let codec = RequestStateCodec::try_new(key.expose().as_bytes());
        let codec = codec.expect("a secret of this process is long enough for a key");
        Self(Arc::new(codec))
    }

    /// Seals a question for a caller, for this long.
    pub(super) fn close(&self, question: &Question, caller: &Caller, ttl: Duration) -> String {
        let identity = caller.identity().to_text();
        let options = SealOptions::new()
            .associated_data(identity.as_bytes())
            .ttl(ttl);
        let sealed = self.0.seal_json_with(question, &options);
        sealed.expect("a question has text keys only")
    }

    /// Returns what a request brings back, if anything.
    pub(super) fn open(
        &self,
        request: &CallToolRequestParams,
        caller: &Caller,
    ) -> Result<Option<Input>, ErrorData> {
        let Some(sealed) = &request.request_state else {
            return Ok(None);
        };
        let identity = caller.identity().to_text();
        let question = self.0.open_json_with(sealed, identity.as_bytes());
        let question = question.map_err(|error| {
            tracing::debug!(%error, "a client of MCP brings a state back that it did not receive");
            let text =
                "the request state is not one of this server for this caller, or has expired";
            ErrorData::invalid_params(text, None)
        })?;
        let answers = request.input_responses.as_ref();
        let answer = answers.and_then(|answers| answers.get(QUESTION));
        Ok(Some(Input {
            question,
            answer: answer.and_then(|answer| serde_json::from_value(answer.clone()).ok()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use motorium_kit::config::Secret;

    use super::*;

    #[test]
    fn a_question_comes_back_to_its_server_from_its_caller_only() {
        let caller = |token: &str| Caller::new(Some(Secret::new(token)));
        let question = Question {
            task: "tasks/a".to_owned(),
            approval: "tasks/a/approvals/1".to_owned(),
        };
        let (seal, other) = (Seal::new(), Seal::new());
        let opened = |seal: &Seal, sealed: &str, token: &str| {
            let request = CallToolRequestParams::new("approve");
            let request = request.with_request_state(sealed);
            seal.open(&request, &caller(token))
        };
        let sealed = seal.close(&question, &caller("one"), Duration::from_secs(60));
        let input = opened(&seal, &sealed, "one").unwrap().unwrap();
        assert_eq!(input.question.approval, question.approval);
        assert!(input.answer.is_none());
        assert!(opened(&seal, &sealed, "two").is_err());
        assert!(opened(&other, &sealed, "one").is_err());
        assert!(opened(&seal, "tasks/a", "one").is_err());
        let nothing = CallToolRequestParams::new("approve");
        assert!(seal.open(&nothing, &caller("one")).unwrap().is_none());
    }
}
