//! Hosts that are not on the public network: this machine, the local network, and metadata services of clouds.
//!
//! Names are not resolved here: a public name may still lead to a private address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names of this machine and of the local network, also as endings: RFC 6761 (`localhost`), RFC 6762 (`local`), RFC 8375
/// (`home.arpa`), and `internal`, which ICANN reserves and clouds use for their metadata.
const PRIVATE_NAMES: [&str; 4] = ["localhost", "local", "home.arpa", "internal"];
/// Azure's metadata and platform service, the only one of these at a public address.
const AZURE_PLATFORM: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Beginnings of the hosts of URLs that may be private, in the form that browsers give them: numbers, `[` and names of local
/// networks, in which `*` stands for any text. A host with more than such a beginning may be public. Names without a dot have
/// no beginning in common, so they are not among them.
pub const URL_PATTERNS: [&str; 15] = [
    "0.*",
    "10.*",
    "100.*",
    "127.*",
    "168.63.*",
    "169.254.*",
    "172.*",
    "192.*",
    "255.*",
    "[*",
    "localhost*",
    "*.localhost*",
    "*.local*",
    "*.internal*",
    "*.home.arpa*",
];

/// Returns a host in the form in which hosts are compared: in lower case, without the dot of a fully qualified name.
#[must_use]
pub fn normalised(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}

/// Returns whether a host, as a parsed URL has it, is private: `127.0.0.1`, `[::1]`, `printer.local`, and names without a
/// dot, which only a local network resolves. A trailing dot and letter case do not matter.
#[must_use]
pub fn is_private_host(host: &str) -> bool {
    let host = normalised(host);
    let literal = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = literal.unwrap_or(&host).parse() {
        return is_private_address(address);
    }
    let is_below = |name: &str| {
        host.strip_suffix(name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    !host.is_empty() && (!host.contains('.') || PRIVATE_NAMES.iter().any(|name| is_below(name)))
}

/// Returns whether an address is of this machine, a private or link-local network, or a metadata service. An IPv4 address
/// within an IPv6 address counts as itself.
#[must_use]
pub fn is_private_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(inner) => is_private_v4(inner),
            None => is_private_v6(address),
        },
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || first == 0
        // Shared address space of providers (RFC 6598), and protocol assignments (RFC 6890): clouds have metadata in both.
        || (first == 100 && (64..128).contains(&second))
        || (first, second, third) == (192, 0, 0)
        || address == AZURE_PLATFORM
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    address.is_loopback()
        || address.is_unspecified()
        // Unique local, link-local, and the site-local addresses before them.
        || first & 0xfe00 == 0xfc00
        || first & 0xffc0 == 0xfe80
        || first & 0xffc0 == 0xfec0
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped, compatible, translated (NAT64), or tunnelled (6to4).
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let of = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        // `::` and `::1` are addresses of their own.
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether a browser intercepts a URL with this host by one of the patterns.
    fn is_in_a_pattern(host: &str) -> bool {
        let is_in = |pattern: &&str| match pattern.strip_prefix('*') {
            Some(part) => host.contains(part.trim_end_matches('*')),
            None => host.starts_with(pattern.trim_end_matches('*')),
        };
        URL_PATTERNS.iter().any(is_in)
    }

    #[test]
    fn this_machine_the_local_network_and_metadata_services_are_private() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "app.localhost",
            "printer.local",
            "metadata.google.internal",
            "router",
            "router.home.arpa",
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a00:1]",
            "[::7f00:1]",
            "[64:ff9b::a9fe:a9fe]",
            "[2002:7f00:1::]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fe80::1]",
            "[febf::1]",
            "[fec0::1]",
        ] {
            assert!(is_private_host(host), "{host}");
            let host = normalised(host);
            let has_no_dot = !host.contains('.') && !host.starts_with('[');
            assert!(has_no_dot || is_in_a_pattern(&host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "localhost.example.com",
            "notlocalhost.com",
            "local.example",
            "1.1.1.1",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.2.1",
            "192.169.0.1",
            "11.0.0.1",
            "198.18.0.1",
            "[2606:4700::1111]",
            "[64:ff9b::101:101]",
            "[2002:101:101::]",
            "[fb00::1]",
        ] {
            assert!(!is_private_host(host), "{host}");
        }
    }
}
