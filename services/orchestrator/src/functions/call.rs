//! A call of a tool, and the error of a tool.
//!
//! It does not reach tools.

use serde_json::{Map, Value};

/// Error of a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// A transient error: the tool may be reachable later.
    #[error("{0}")]
    Unavailable(String),
    /// A permanent error: a retry does not help.
    #[error("{0}")]
    Unusable(String),
}

/// A call of a function.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Name of the calling task.
    pub task: String,
    /// Idempotency key, unique to this call within the task.
    pub id: String,
    /// Name of the function as its tool knows it.
    pub name: String,
    pub arguments: Map<String, Value>,
}
