//! Decides what was recorded: a list of decisions, one for each step of a task. For replays and for tests of what
//! stands around a planner.
//!
//! It keeps no state between calls: how far a task has come lies in its `conversation`, so that many tasks may
//! follow one recording at once.

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::decision::{Decision, Usage};
use motorium_proto::error::FieldError;
use motorium_proto::service::{BackendInfo, BackendState, PlanRequest};
use motorium_proto::v1::common::Decision as Wire;
use prost::Message as _;

use super::{Backend, BackendError, Spent};

/// Decisions, in the order in which they are given.
#[derive(Debug, Clone)]
pub struct Recorded {
    name: String,
    decisions: Vec<Decision>,
}

impl Recorded {
    /// A backend of that name that gives these decisions.
    pub fn new(name: impl Into<String>, decisions: Vec<Decision>) -> Self {
        Self {
            name: name.into(),
            decisions,
        }
    }
}

/// What is wrong with a recording.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Read(#[from] std::io::Error),
    #[error("it is no row of decisions: {0}")]
    Malformed(#[from] prost::DecodeError),
    #[error("decision {number} cannot be accepted: {source}")]
    Field { number: usize, source: FieldError },
}

/// Reads a recording: `motorium.common.v1.Decision` messages, each behind its length as a varint.
///
/// # Errors
/// If it is cut off or no such row, or a decision in it is not a whole one.
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
impl Backend for Recorded {
    fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> BackendInfo {
        BackendInfo {
            name: self.name.clone(),
            state: BackendState::Ready,
            model: String::new(),
            last_error: None,
            median_latency: None,
            usage: Usage::default(),
            needs_image: false,
        }
    }

    async fn plan(&self, request: &PlanRequest, _: &Spent) -> Result<Decision, BackendError> {
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
        Ok(Decision {
            conversation,
            backend: self.name.clone(),
            ..decision.clone()
        })
    }
}

/// How many decisions were given already.
fn given(conversation: &[u8]) -> Result<usize, BackendError> {
    let text = std::str::from_utf8(conversation).unwrap_or("?");
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| BackendError::Declined {
        clause: String::new(),
        reason: "the conversation is not one of this recording".to_owned(),
    })
}
