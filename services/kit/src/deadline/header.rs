//! The `grpc-timeout` header: up to eight digits and a unit.
//!
//! It starts no timer.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};

/// Name of the header.
pub(crate) const NAME: &str = "grpc-timeout";

/// Largest value with eight digits, the maximum of the gRPC protocol.
const MAX_VALUE: u128 = 99_999_999;

/// Parses the timeout of a request. `None` if it is absent or malformed.
pub(crate) fn parse(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(NAME)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(value * 3600),
        "M" => Duration::from_secs(value * 60),
        "S" => Duration::from_secs(value),
        "m" => Duration::from_millis(value),
        "u" => Duration::from_micros(value),
        "n" => Duration::from_nanos(value),
        _ => return None,
    })
}

/// Formats a timeout, rounded up, in the finest unit that fits.
pub(crate) fn format(left: Duration) -> HeaderValue {
    let units = [("u", 1_000), ("m", 1_000_000), ("S", 1_000_000_000)];
    let nanos = left.as_nanos();
    let text = units
        .iter()
        .map(|(unit, size)| (nanos.div_ceil(*size), unit))
        .find(|(value, _)| *value <= MAX_VALUE)
        .map_or_else(
            || format!("{MAX_VALUE}S"),
            |(value, unit)| format!("{value}{unit}"),
        );
    HeaderValue::from_str(&text).expect("digits and a letter")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(NAME, HeaderValue::from_str(text).unwrap());
        parse(&headers)
    }

    #[test]
    fn reads_every_unit_and_nothing_else() {
        for (text, expected) in [
            ("1H", Some(Duration::from_secs(3600))),
            ("2M", Some(Duration::from_secs(120))),
            ("3S", Some(Duration::from_secs(3))),
            ("300m", Some(Duration::from_millis(300))),
            ("0m", Some(Duration::ZERO)),
            ("5u", Some(Duration::from_micros(5))),
            ("7n", Some(Duration::from_nanos(7))),
            ("99999999H", Some(Duration::from_secs(99_999_999 * 3600))),
            ("123456789S", None),
            ("+1S", None),
            ("1", None),
            ("S", None),
            ("1s", None),
            ("", None),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
        assert_eq!(parse(&HeaderMap::new()), None);
    }

    #[test]
    fn formatted_deadline_is_never_shorter_when_parsed() {
        for (left, expected) in [
            (Duration::ZERO, "0u"),
            (Duration::from_nanos(1), "1u"),
            (Duration::from_millis(300), "300000u"),
            (Duration::from_secs(480), "480000m"),
            (Duration::from_secs(200_000), "200000S"),
            (Duration::MAX, "99999999S"),
        ] {
            let header = format(left);
            assert_eq!(header.to_str().unwrap(), expected);
            assert!(left == Duration::MAX || parsed(expected).unwrap() >= left);
        }
    }
}
