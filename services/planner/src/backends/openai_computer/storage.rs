//! Place where a conversation is kept between two steps.

use crate::backends::dialect::ModelRequest;

/// Place where a conversation is kept between two steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationStorage {
    /// At the provider: each request names the previous response.
    #[default]
    Stored,
    /// Nowhere: each request contains all of it, with encrypted reasoning.
    Stateless,
}

impl ConversationStorage {
    /// Returns the storage of a request's conversation.
    pub(super) fn of(model_request: &ModelRequest) -> Self {
        match model_request.body["store"].as_bool() {
            Some(false) => Self::Stateless,
            _ => Self::Stored,
        }
    }
}
