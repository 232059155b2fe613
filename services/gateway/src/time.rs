//! Times as texts. It reads no clock.

use std::time::SystemTime;

use prost_types::Timestamp;

/// Formats a time as RFC 3339, to the millisecond.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    jiff::Timestamp::try_from(at)
        .map(|time| format!("{time:.3}"))
        .unwrap_or_default()
}

/// Formats a time of a message as RFC 3339, to the millisecond. Empty if it is missing.
pub(crate) fn rfc3339_of(at: Option<&Timestamp>) -> String {
    let time = at.and_then(|at| jiff::Timestamp::new(at.seconds, at.nanos).ok());
    time.map(|time| format!("{time:.3}")).unwrap_or_default()
}
