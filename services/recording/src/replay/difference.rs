//! A difference between a recording and its replay.

use serde::Serialize;

/// The first difference between a recording and its replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Step number; 0 if it is before the first step.
    pub step: u32,
    /// Description for people.
    pub what: String,
    /// Recorded value.
    pub expected: String,
    /// Replayed value.
    pub got: String,
}
