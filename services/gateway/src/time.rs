//! Times of messages as texts. It reads no clock.

use std::time::SystemTime;

use motorium_text::rfc3339;
use prost_types::Timestamp;

/// Formats a time of a message as RFC 3339, to the millisecond. Empty if it is missing or out of range.
pub(crate) fn rfc3339_of(at: Option<&Timestamp>) -> String {
    at.and_then(|at| SystemTime::try_from(*at).ok())
        .map(rfc3339::format)
        .unwrap_or_default()
}
