//! Hosts with private addresses that a user named.
//!
//! Which hosts are private, and what names them, is decided elsewhere.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of hosts. A user names one or two.
const MAX_HOSTS: usize = 32;

/// The hosts that the user of the current lease named, shared by a desktop and the filter of its browser.
#[derive(Debug, Clone, Default)]
pub struct NamedHosts(Arc<Mutex<BTreeSet<String>>>);

impl NamedHosts {
    /// Adds hosts. Those beyond the maximum stay out.
    pub fn add(&self, hosts: &[String]) {
        let mut named = self.lock();
        for host in hosts {
            if named.len() < MAX_HOSTS {
                named.insert(normalised(host));
            }
        }
    }

    /// Forgets all hosts, at the end of a lease.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Returns whether the user named a host.
    #[must_use]
    pub fn contains(&self, host: &str) -> bool {
        self.lock().contains(&normalised(host))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn normalised(host: &str) -> String {
    host.trim_end_matches('.').to_ascii_lowercase()
}
