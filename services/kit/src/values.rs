//! Typed values that are written as text in a configuration.
//!
//! They do not read files or the environment.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An address to listen on: `127.0.0.1:7411`, `[::1]:7411` or `localhost:7411`. Port 0 selects a free port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress(pub SocketAddr);

impl ListenAddress {
    /// Returns the loopback address with this port.
    #[must_use]
    pub const fn loopback(port: u16) -> Self {
        Self(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }
}

/// A free port of the loopback address.
impl Default for ListenAddress {
    fn default() -> Self {
        Self::loopback(0)
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numeric = match text.strip_prefix("localhost:") {
            Some(port) => format!("{}:{port}", Ipv4Addr::LOCALHOST),
            None => text.to_owned(),
        };
        numeric.parse().map(Self).map_err(|_| {
            format!("`{text}` is not an address with a port, such as 127.0.0.1:7411 or [::1]:7411")
        })
    }
}

/// A duration: `250ms`, `30s`, `8m`, `24h`, `30d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct HumanDuration(pub Duration);

impl HumanDuration {
    /// Creates a duration in milliseconds.
    #[must_use]
    pub const fn milliseconds(count: u64) -> Self {
        Self(Duration::from_millis(count))
    }

    /// Creates a duration in seconds.
    #[must_use]
    pub const fn seconds(count: u64) -> Self {
        Self(Duration::from_secs(count))
    }
}

/// Units in milliseconds, the largest first.
const UNITS: [(&str, u64); 5] = [
    ("d", DAY_MILLIS),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];
const DAY_MILLIS: u64 = 86_400_000;

impl fmt::Display for HumanDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        let (unit, size) = UNITS
            .into_iter()
            // One day is written as 24h, as people do.
            .filter(|(_, size)| (*size, millis) != (DAY_MILLIS, DAY_MILLIS))
            .find(|(_, size)| millis % size == 0 && millis >= *size)
            .unwrap_or(("s", 1000));
        write!(f, "{}{unit}", millis / size)
    }
}

impl FromStr for HumanDuration {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len());
        let (count, unit) = text.split_at(digits);
        let size = UNITS
            .into_iter()
            .find(|(name, _)| *name == unit.trim())
            .map(|(_, size)| size);
        let millis = count
            .parse::<u64>()
            .ok()
            .zip(size)
            .and_then(|(count, size)| count.checked_mul(size));
        millis.map(Self::milliseconds).ok_or_else(|| {
            format!(
                "`{text}` is not a duration: use a whole number with ms, s, m, h or d, such as 30s"
            )
        })
    }
}

/// Implements serialisation of a value as text.
macro_rules! as_text {
    ($($name:ident),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )+};
}

as_text!(ListenAddress, HumanDuration);
crate::text_format::text_format!(ListenAddress, "address");
crate::text_format::text_format!(HumanDuration, "duration");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, expected) in [
            ("127.0.0.1:7411", Some("127.0.0.1:7411")),
            ("localhost:0", Some("127.0.0.1:0")),
            ("[::1]:7411", Some("[::1]:7411")),
            ("0.0.0.0:80", Some("0.0.0.0:80")),
            ("7411", None),
            ("localhost", None),
            ("example.org:80", None),
            ("127.0.0.1:70000", None),
        ] {
            let parsed = text.parse::<ListenAddress>();
            assert_eq!(
                parsed.as_ref().ok().map(ToString::to_string).as_deref(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn durations_are_parsed_and_formatted() {
        for (text, millis, written) in [
            ("250ms", 250, "250ms"),
            ("30s", 30_000, "30s"),
            ("8 m", 480_000, "8m"),
            ("24h", 86_400_000, "24h"),
            ("1d", 86_400_000, "24h"),
            ("30d", 30 * 86_400_000, "30d"),
            ("36h", 36 * 3_600_000, "36h"),
            ("90s", 90_000, "90s"),
            ("0s", 0, "0s"),
            ("1500ms", 1500, "1500ms"),
        ] {
            let span: HumanDuration = text.parse().unwrap();
            assert_eq!(span, HumanDuration::milliseconds(millis), "{text}");
            assert_eq!(span.to_string(), written);
        }
        for text in [
            "",
            "30",
            "s",
            "1.5s",
            "-1s",
            "1w",
            "99999999999999999999s",
            "9999999999999999h",
        ] {
            assert!(text.parse::<HumanDuration>().is_err(), "{text}");
        }
    }
}
