//! Times as texts of RFC 3339, in UTC and to the millisecond.
//!
//! It reads no clock, and parses no texts.

use std::time::SystemTime;

use jiff::Timestamp;

/// Formats a time. One after the year 9999 is formatted as the end of that year.
#[must_use]
pub fn format(at: SystemTime) -> String {
    let time = Timestamp::try_from(at).unwrap_or(Timestamp::MAX);
    format!("{time:.3}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_has_milliseconds_and_its_zone() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_nanos(1_700_000_000_123_456_789);
        assert_eq!(format(at), "2023-11-14T22:13:20.123Z");
        assert_eq!(format(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00.000Z");
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(format(before), "1969-12-31T23:59:59.000Z");
    }
}
