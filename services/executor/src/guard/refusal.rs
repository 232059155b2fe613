//! Refusal of an action by a rule.
//!
//! A refusal is an outcome of an action and not an error of the call.

/// A refusal by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Configuration key of the rule.
    pub rule: &'static str,
    /// Explanation for people: a sentence without its full stop.
    pub reason: String,
}
