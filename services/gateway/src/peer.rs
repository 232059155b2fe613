//! The peer that a request comes from, for limits of callers that are not identified.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::extract::ConnectInfo;
use http::{Extensions, HeaderMap};

/// Header in which proxies name the peers before them, the nearest last.
const FORWARDED_FOR: &str = "x-forwarded-for";
/// Bits of an IPv6 address that tell networks apart. One network has as many addresses as it likes.
const NETWORK_BITS: u32 = 64;

/// Returns the peer of a request.
///
/// Behind a proxy it is the one that the proxy names; without one, the header is of the peer itself and counts for nothing.
pub(crate) fn of(extensions: &Extensions, headers: &HeaderMap, is_proxied: bool) -> IpAddr {
    let connection = extensions.get::<ConnectInfo<SocketAddr>>();
    let connection = connection.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |peer| peer.0.ip());
    let named = is_proxied.then(|| named_by_proxy(headers)).flatten();
    network_of(named.unwrap_or(connection))
}

fn named_by_proxy(headers: &HeaderMap) -> Option<IpAddr> {
    let last = headers.get_all(FORWARDED_FOR).iter().next_back()?;
    let nearest = last.to_str().ok()?.rsplit(',').next()?;
    nearest.trim().parse().ok()
}

fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & (u128::MAX << (u128::BITS - NETWORK_BITS));
            IpAddr::V6(network.into())
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(connection: &str, forwarded: &[&str], is_proxied: bool, expected: &str) {
        let mut extensions = Extensions::new();
        let connection: IpAddr = connection.parse().unwrap();
        extensions.insert(ConnectInfo(SocketAddr::new(connection, 9)));
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        let peer = of(&extensions, &headers, is_proxied);
        assert_eq!(peer.to_string(), expected, "{connection} {forwarded:?}");
    }

    #[test]
    fn a_proxy_names_the_peer_and_others_cannot() {
        check("127.0.0.1", &[], false, "127.0.0.1");
        check("127.0.0.1", &["192.0.2.7"], false, "127.0.0.1");
        check("10.0.0.1", &["192.0.2.7"], true, "192.0.2.7");
        check("10.0.0.1", &["1.1.1.1, 192.0.2.7"], true, "192.0.2.7");
        check("10.0.0.1", &["1.1.1.1", "192.0.2.7"], true, "192.0.2.7");
        check("10.0.0.1", &["nonsense"], true, "10.0.0.1");
    }

    #[test]
    fn the_addresses_of_one_network_are_one_peer() {
        check("2001:db8::1", &[], false, "2001:db8::");
        check("2001:db8::ffff:1", &[], false, "2001:db8::");
        check("::ffff:192.0.2.7", &[], false, "192.0.2.7");
    }
}
