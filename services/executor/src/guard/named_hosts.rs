//! Hosts with private addresses that a user named, each with its port.
//!
//! Which hosts are private, and what names them, is decided elsewhere.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use url::Url;

/// Maximum number of hosts with ports. A user names one or two, and each without a port counts twice.
const MAX_HOSTS: usize = 32;
/// Ports of a host that is named without one.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// The hosts that the user of the current lease named, shared by a desktop and the filter of its browser.
#[derive(Debug, Clone, Default)]
pub struct NamedHosts(Arc<Mutex<BTreeSet<(String, u16)>>>);

impl NamedHosts {
    /// Adds hosts, such as `localhost:3000` and `[::1]:80`. Those beyond the maximum stay out.
    pub fn add(&self, hosts: &[String]) {
        let mut named = self.lock();
        for host in hosts.iter().flat_map(|host| with_ports(host)) {
            if named.len() < MAX_HOSTS {
                named.insert(host);
            }
        }
    }

    /// Forgets all hosts, at the end of a lease.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns whether the user named the host and the port of an address.
    #[must_use]
    pub fn contain(&self, url: &Url) -> bool {
        let host = url.host_str().map(normalised);
        let address = host.zip(url.port_or_known_default());
        address.is_some_and(|address| self.lock().contains(&address))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<(String, u16)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn with_ports(named: &str) -> Vec<(String, u16)> {
    let with_port = named.rsplit_once(':').and_then(|(host, port)| {
        // The colons within brackets belong to an IPv6 address.
        let port = port.parse().ok()?;
        Some((host, port))
    });
    match with_port {
        Some((host, port)) => vec![(normalised(host), port)],
        None => DEFAULT_PORTS.map(|port| (normalised(named), port)).to_vec(),
    }
}

fn normalised(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}
