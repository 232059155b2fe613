//! Times as texts.

use std::time::SystemTime;

/// Formats a time as RFC 3339, to the millisecond.
#[must_use]
pub fn rfc3339(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at)
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}
