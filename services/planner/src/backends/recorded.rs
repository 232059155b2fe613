//! Replays recorded decisions, one for each step of a task. For replays, and for tests of the code around a planner.
//!
//! It keeps no state between calls: the position is stored in `conversation`, so that many tasks can use one recording at
//! once.

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::decision::Decision;
use motorium_proto::error::FieldError;
use motorium_proto::service::{BackendInfo, PlanRequest};
use motorium_proto::v1::common::Decision as Wire;
use prost::Message as _;

use super::{Backend, BackendDecision, BackendError, CallContext};

/// Decisions in replay order.
#[derive(Debug, Clone)]
pub struct RecordedBackend {
    name: String,
    decisions: Vec<Decision>,
}

impl RecordedBackend {
    /// Creates a backend with this name and these decisions.
    pub fn new(name: impl Into<String>, decisions: Vec<Decision>) -> Self {
        Self {
            name: name.into(),
            decisions,
        }
    }
}

/// An invalid recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error("malformed recording: {0}")]
    Malformed(#[from] prost::DecodeError),
    #[error("decision {number} is invalid: {source}")]
    Field { number: usize, source: FieldError },
}

/// Parses a recording: `motorium.common.v1.Decision` messages, each prefixed with its length as a varint.
///
/// # Errors
/// Fails if it is truncated or malformed, or a decision is incomplete.
pub fn decode(mut recording: &[u8]) -> Result<Vec<Decision>, Error> {
    let mut decisions = Vec::new();
    while !recording.is_empty() {
        let wire = Wire::decode_length_delimited(&mut recording)?;
        let number = decisions.len() + 1;
        decisions.push(
            wire.try_into()
                .map_err(|source| Error::Field { number, source })?,
        );
    }
    Ok(decisions)
}

/// Writes a recording that [`decode`] reads.
#[must_use]
pub fn encode(decisions: &[Decision]) -> Vec<u8> {
    decisions
        .iter()
        .flat_map(|decision| Wire::from(decision.clone()).encode_length_delimited_to_vec())
        .collect()
}

#[async_trait]
impl Backend for RecordedBackend {
    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> BackendInfo {
        BackendInfo::without_model(&self.name)
    }

    async fn plan(
        &self,
        request: &PlanRequest,
        _: &CallContext,
    ) -> Result<BackendDecision, BackendError> {
        let given = given(&request.conversation)?;
        let decision = self
            .decisions
            .get(given)
            .ok_or_else(|| BackendError::Permanent {
                message: format!(
                    "the recording ends after {} decisions",
                    self.decisions.len()
                ),
            })?;
        let conversation = Bytes::from((given + 1).to_string());
        let decision = Decision {
            conversation,
            backend: self.name.clone(),
            ..decision.clone()
        };
        Ok(decision.into())
    }
}

/// Returns the number of decisions already replayed.
fn given(conversation: &[u8]) -> Result<usize, BackendError> {
    let text = std::str::from_utf8(conversation).unwrap_or("?");
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| BackendError::Declined {
        clause: String::new(),
        reason: "the conversation does not belong to this recording".to_owned(),
    })
}
