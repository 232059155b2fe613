//! Addresses of services, and the patterns with which an operator lists some of them.
//!
//! It opens no connections and does not compare hosts: a pattern is a [`HostPattern`], which a scheme and a port restrict.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::host_pattern::{Host, HostPattern};

/// Address of a service, with the host and the port that a channel to it connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAddress {
    transport: Transport,
    host: Host,
    port: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Plain,
    Tls,
}

impl ServiceAddress {
    /// Parses `http://host:port` or `https://host:port`. Returns `None` for anything that channels refuse.
    #[must_use]
    pub fn parse(uri: &str) -> Option<Self> {
        // The parser of the transport: another one could find another host in the same text.
        let uri: http::Uri = uri.parse().ok()?;
        let (transport, default_port) = match uri.scheme_str()? {
            "http" => (Transport::Plain, 80),
            "https" => (Transport::Tls, 443),
            _ => return None,
        };
        Some(Self {
            transport,
            host: Host::of_uri(uri.host()?),
            port: uri.port_u16().unwrap_or(default_port),
        })
    }

    /// Returns true for `https`.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.transport == Transport::Tls
    }

    /// Returns true if connections do not leave this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match &self.host {
            Host::Ip(ip) => ip.is_loopback(),
            Host::Name(name) => name == "localhost",
        }
    }
}

/// Pattern of addresses: a [`HostPattern`], which a scheme and a port may restrict further: `https://desk.example.com:7701`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressPattern {
    text: String,
    transport: Option<Transport>,
    hosts: HostPattern,
    port: Option<u16>,
}

impl AddressPattern {
    /// Creates a pattern for one server. TLS is part of it: a token for `https` is not for `http` at the same port.
    #[must_use]
    pub fn of_server(address: &ServiceAddress) -> Self {
        let transport = address.is_encrypted().then_some(Transport::Tls);
        let hosts = HostPattern::one(&address.host);
        Self {
            text: format!("{hosts} at port {}", address.port),
            transport,
            hosts,
            port: Some(address.port),
        }
    }

    /// Returns true if the address is one of those that the pattern lists.
    #[must_use]
    pub fn matches(&self, address: &ServiceAddress) -> bool {
        self.transport.is_none_or(|only| only == address.transport)
            && self.port.is_none_or(|only| only == address.port)
            && self.hosts.matches(&address.host)
    }

    /// Returns true if the pattern is written with `http://`, as consent to an unencrypted connection.
    #[must_use]
    pub fn permits_plaintext(&self) -> bool {
        self.transport == Some(Transport::Plain)
    }
}

impl fmt::Display for AddressPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for AddressPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text).ok_or_else(|| {
            format!(
                "`{text}` is not a host, a network or an address, such as desk.example.com, *.example.com, 10.0.0.0/8 or \
                 https://desk.example.com:7701"
            )
        })
    }
}

fn parse(text: &str) -> Option<AddressPattern> {
    let (transport, rest) = match text.split_once("://") {
        None => (None, text),
        Some(("http", rest)) => (Some(Transport::Plain), without_slash(rest)),
        Some(("https", rest)) => (Some(Transport::Tls), without_slash(rest)),
        Some(_) => return None,
    };
    // Whole first: the last colon of an IPv6 address without brackets is not before a port.
    let (hosts, port) = match rest.parse() {
        Ok(hosts) => (hosts, None),
        Err(_) => {
            let (hosts, port) = rest.rsplit_once(':')?;
            (hosts.parse().ok()?, Some(port.parse().ok()?))
        }
    };
    Some(AddressPattern {
        text: text.to_owned(),
        transport,
        hosts,
        port,
    })
}

fn without_slash(text: &str) -> &str {
    text.strip_suffix('/').unwrap_or(text)
}

impl Serialize for AddressPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AddressPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

crate::text_format::text_format!(AddressPattern, "address");

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> AddressPattern {
        text.parse().unwrap_or_else(|problem| panic!("{problem}"))
    }

    fn check(listed: &str, matching: &[&str], others: &[&str]) {
        let listed = pattern(listed);
        let matches =
            |uri: &&&str| ServiceAddress::parse(uri).is_some_and(|uri| listed.matches(&uri));
        let missed: Vec<_> = matching.iter().filter(|uri| !matches(uri)).collect();
        let extra: Vec<_> = others.iter().filter(matches).collect();
        assert!(
            missed.is_empty() && extra.is_empty(),
            "{listed}: {missed:?} {extra:?}"
        );
    }

    #[test]
    fn names_match_as_written() {
        check(
            "desk.example.com",
            &["https://desk.example.com", "http://DESK.example.com:7701"],
            &[
                "https://desk.example.com.evil.com",
                "https://evil-desk.example.com",
                "https://x.desk.example.com",
                "https://desk.example.com@evil.com",
                "https://10.0.0.1",
                "ftp://desk.example.com",
            ],
        );
        check(
            "*.example.com",
            &[
                "https://example.com",
                "https://a.example.com",
                "https://a.b.example.com:1",
            ],
            &["https://badexample.com", "https://a.example.com.evil.com"],
        );
    }

    #[test]
    fn networks_contain_literal_addresses_only() {
        check(
            "10.1.0.0/16",
            &["https://10.1.2.3:7701", "https://[::ffff:10.1.2.3]"],
            &[
                "https://10.2.0.1",
                "https://10.1.2.3.example.com",
                "https://10.1.515",
                "https://167838211",
                "https://0x0a010203",
                "https://[fd00::1]",
            ],
        );
        check(
            "127.0.0.1",
            &["http://127.0.0.1:1"],
            &["http://127.0.0.2:1", "http://127.1:1"],
        );
        check(
            "fd00::/8",
            &["https://[fd12::1]:1"],
            &["https://[fe80::1]", "https://10.0.0.1"],
        );
        check("::1", &["http://[::1]:1"], &["http://[::2]:1"]);
        check(
            "0.0.0.0/0",
            &["http://8.8.8.8"],
            &["http://[::8]", "http://a"],
        );
    }

    #[test]
    fn a_scheme_and_a_port_restrict_the_pattern() {
        check(
            "desk:7701",
            &["http://desk:7701", "https://desk:7701"],
            &["http://desk:7702"],
        );
        check("https://desk", &["https://desk:1"], &["http://desk:1"]);
        check(
            "http://desk:80/",
            &["http://desk"],
            &["https://desk", "http://desk:81"],
        );
        check("[::1]:7701", &["http://[::1]:7701"], &["http://[::1]:7702"]);
        assert!(pattern("http://desk").permits_plaintext());
        assert!(
            !pattern("https://desk").permits_plaintext() && !pattern("desk").permits_plaintext()
        );
    }

    #[test]
    fn one_server_is_its_host_port_and_encryption() {
        let matches = |server: &str, uri: &str| {
            let of = |uri| ServiceAddress::parse(uri).unwrap();
            AddressPattern::of_server(&of(server)).matches(&of(uri))
        };
        assert!(matches("http://127.0.0.1:7701", "http://127.0.0.1:7701/"));
        assert!(!matches("http://127.0.0.1:7701", "http://127.0.0.1:9999"));
        assert!(matches("http://desk:7701", "https://desk:7701"));
        assert!(!matches("https://desk:7701", "http://desk:7701"));
        assert!(!matches("https://desk", "https://desk:7701"));
    }

    #[test]
    fn misspelt_patterns_are_refused() {
        for text in [
            "",
            "*",
            "10.0.0.0/33",
            "desk:port",
            "desk:70000",
            "ftp://desk",
            "https://desk/path",
            "https://user@desk",
        ] {
            assert!(text.parse::<AddressPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn loopback_is_recognised_in_its_own_spelling_only() {
        for (uri, expected) in [
            ("http://127.0.0.1:1", true),
            ("http://127.8.8.8:1", true),
            ("http://[::1]:1", true),
            ("http://[::ffff:127.0.0.1]:1", true),
            ("http://localhost:1", true),
            ("http://localhost.evil.com", false),
            ("http://127.0.0.1.evil.com", false),
            ("http://127.0.0.1@evil.com", false),
            ("http://0.0.0.0:1", false),
            ("http://127.1:1", false),
        ] {
            let address = ServiceAddress::parse(uri).unwrap();
            assert_eq!(address.is_loopback(), expected, "{uri}");
        }
    }
}
