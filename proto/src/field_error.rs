//! Error for an invalid field of a message.

use std::fmt;

/// An invalid request field and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// Path of the field within the request (`action.click.count`).
    pub field: String,
    /// A lowercase fragment without a full stop.
    pub description: String,
}

impl FieldError {
    /// Creates an error for the field at the path `field`.
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            description: description.into(),
        }
    }

    /// Creates an error for a required field that is missing.
    #[must_use]
    pub fn missing(field: &str) -> Self {
        Self::new(field, "is required")
    }

    /// Prefixes the path with `parent`, the field that contains this message.
    #[must_use]
    pub fn within(mut self, parent: &str) -> Self {
        self.field = format!("{parent}.{}", self.field);
        self
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.description)
    }
}

impl std::error::Error for FieldError {}
