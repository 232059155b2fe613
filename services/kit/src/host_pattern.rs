//! Patterns of hosts: how an operator lists servers that a token may be sent to, and hosts that a browser may open.
//!
//! A name is compared as it is written and never resolved: the owner of a domain could otherwise point it at a listed
//! network. Letter case, the dot of a fully qualified name and the ASCII form of other alphabets do not matter.
//! Invariant: a host that is neither a literal IP address nor a listed name matches nothing, so other spellings of an IP
//! address (`127.1`, `0x7f000001`) are in no network, unless a parser of URLs has read them as one before.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use motorium_proto::domain::private_host::normalised;

/// The forms of a pattern, for errors.
pub const FORMS: &str = "example.com, *.example.com, 192.0.2.1 or 192.168.0.0/16";

/// Number of bits of an address.
const BITS: u8 = 128;
/// Number of the first bits that all IPv4 addresses share in IPv6.
const MAPPED_BITS: u8 = 96;

/// A host of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    Ip(IpAddr),
    /// In lower case and ASCII.
    Name(String),
}

impl Host {
    /// Returns the host of a parsed URI: a name, an IPv4 address or an IPv6 address in brackets.
    #[must_use]
    pub fn of_uri(text: &str) -> Self {
        match without_brackets(text).parse::<IpAddr>() {
            // `::ffff:10.0.0.1` is reached as 10.0.0.1.
            Ok(ip) => Self::Ip(ip.to_canonical()),
            Err(_) => Self::Name(text.to_ascii_lowercase()),
        }
    }
}

impl<S: AsRef<str>> From<url::Host<S>> for Host {
    fn from(host: url::Host<S>) -> Self {
        match host {
            url::Host::Domain(name) => Self::Name(name.as_ref().to_ascii_lowercase()),
            url::Host::Ipv4(ip) => Self::Ip(ip.into()),
            url::Host::Ipv6(ip) => Self::Ip(IpAddr::from(ip).to_canonical()),
        }
    }
}

/// A host name, `*.example.com` for a domain with every name below it, an IP address, or a network such as `10.0.0.0/8`.
// With the domain itself: its owner has the names below it too, and who denies those means it as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// As it was written.
    text: String,
    hosts: Hosts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Hosts {
    Name(String),
    /// A domain, and every name below it.
    Domain(String),
    /// Addresses that agree with `base` in the first `prefix` bits. IPv4 addresses are mapped into IPv6.
    Network {
        base: Ipv6Addr,
        prefix: u8,
    },
}

impl HostPattern {
    /// Creates a pattern for one host.
    #[must_use]
    pub fn one(host: &Host) -> Self {
        let (text, hosts) = match host {
            Host::Ip(ip) => (ip.to_string(), Hosts::one(*ip)),
            Host::Name(name) => (name.clone(), Hosts::Name(normalised(name))),
        };
        Self { text, hosts }
    }

    /// Returns true if the host is one of those that the pattern lists. An IPv4 address and its IPv6-mapped form
    /// (`::ffff:192.0.2.1`) are equal.
    #[must_use]
    pub fn matches(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::Name(listed), Host::Name(name)) => *listed == normalised(name),
            (Hosts::Domain(domain), Host::Name(name)) => {
                let name = normalised(name);
                let below = name.strip_suffix(domain.as_str());
                below.is_some_and(|below| below.is_empty() || below.ends_with('.'))
            }
            (Hosts::Network { base, prefix }, Host::Ip(ip)) => {
                let differing = mapped(*ip).to_bits() ^ base.to_bits();
                differing.leading_zeros() >= u32::from(*prefix)
            }
            _ => false,
        }
    }
}

impl Hosts {
    fn one(ip: IpAddr) -> Self {
        Self::Network {
            base: mapped(ip),
            prefix: BITS,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some((base, prefix)) = text.split_once('/') {
            return Self::network(base, prefix);
        }
        if let Ok(ip) = without_brackets(text).parse() {
            return Some(Self::one(ip));
        }
        match text.strip_prefix("*.") {
            Some(domain) => name(domain).map(Self::Domain),
            None => name(text).map(Self::Name),
        }
    }

    fn network(base: &str, prefix: &str) -> Option<Self> {
        let base: IpAddr = without_brackets(base).parse().ok()?;
        let prefix: u8 = prefix.parse().ok()?;
        let shared = if base.is_ipv4() { MAPPED_BITS } else { 0 };
        let prefix = prefix.checked_add(shared).filter(|bits| *bits <= BITS)?;
        let base = mapped(base);
        Some(Self::Network { base, prefix })
    }
}

/// Returns a name in the form in which names are compared. `None` if it is not a name that a host can have.
fn name(text: &str) -> Option<String> {
    // Parsed as in URLs, where a misspelt IP address, which would never match, is no name.
    let Ok(url::Host::Domain(name)) = url::Host::parse(&normalised(text)) else {
        return None;
    };
    let is_label = |label: &str| {
        let mut characters = label.chars();
        !label.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
    };
    name.split('.').all(is_label).then_some(name)
}

fn without_brackets(text: &str) -> &str {
    let inside = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    inside.unwrap_or(text)
}

fn mapped(ip: IpAddr) -> Ipv6Addr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            Hosts::Name(name) => f.write_str(name),
            Hosts::Domain(domain) => write!(f, "*.{domain}"),
            Hosts::Network { .. } => f.write_str(&self.text),
        }
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = Hosts::parse(text);
        let unusable = || format!("`{text}` is not a host pattern; use {FORMS}");
        Ok(Self {
            hosts: parsed.ok_or_else(unusable)?,
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, matching: &[&str], others: &[&str]) {
        let pattern: HostPattern = pattern.parse().unwrap();
        for (hosts, expected) in [(matching, true), (others, false)] {
            for host in hosts {
                let matches = pattern.matches(&Host::of_uri(host));
                assert_eq!(matches, expected, "{pattern} {host}");
            }
        }
    }

    #[test]
    fn names_are_compared_as_they_are_written() {
        check(
            "Desk.Example.com",
            &["desk.example.com", "DESK.example.com."],
            &[
                "desk.example.com.evil.com",
                "evil-desk.example.com",
                "x.desk.example.com",
            ],
        );
        check(
            "*.example.com",
            &["example.com", "a.example.com", "a.b.example.com."],
            &["badexample.com", "a.example.com.evil.com"],
        );
        check(
            "bücher.example",
            &["xn--bcher-kva.example"],
            &["bucher.example"],
        );
    }

    #[test]
    fn networks_have_the_addresses_of_both_families() {
        check(
            "10.1.0.0/16",
            &["10.1.2.3", "[::ffff:10.1.2.3]"],
            &[
                "10.2.0.1",
                "10.1.2.3.example.com",
                "10.1.515",
                "0x0a010203",
                "[fd00::1]",
            ],
        );
        check("127.0.0.1", &["127.0.0.1"], &["127.0.0.2", "127.1"]);
        check("fd00::/8", &["[fd12::1]"], &["[fe80::1]", "10.0.0.1"]);
        check("[::1]", &["[::1]"], &["[::2]"]);
        check("0.0.0.0/0", &["8.8.8.8"], &["[::8]", "a"]);
    }

    #[test]
    fn misspelt_patterns_are_refused_with_the_forms() {
        for text in [
            "",
            "*",
            "*.",
            "*example.com",
            "a.*.com",
            "10.0.0.300",
            "127.1",
            "0x7f000001",
            "10.0.0.0/33",
            "10.0.0.0/",
            "::/129",
            "desk/8",
            "desk:80",
            "a b",
            "a,b",
            "a..b",
            "*.10.0.0.1",
            "user@desk",
        ] {
            let refused = text.parse::<HostPattern>().unwrap_err();
            assert!(refused.contains(FORMS), "{text}");
        }
    }
}
