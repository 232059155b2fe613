//! Desktops and leases on them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

use super::id::{DesktopEpoch, DesktopName, DisplayId};

/// Platform of a desktop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Platform {
    #[default]
    Unknown,
    Linux,
    Windows,
    Macos,
    Browser,
}

/// A display with the Perception and the Executor that serve it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desktop {
    pub name: DesktopName,
    /// `None` for the Perception in the same process.
    pub perception_endpoint: Option<String>,
    /// `None` for the Executor in the same process.
    pub executor_endpoint: Option<String>,
    /// `None` for the default display of both services.
    pub display: Option<DisplayId>,
    pub platform: Platform,
    pub labels: BTreeMap<String, String>,
    /// Tenants whose tasks may use it. Empty admits all.
    pub tenants: BTreeSet<String>,
}

/// Maximum number of tenants of a desktop, and length of a name in bytes.
const MAX_TENANTS: usize = 100;
const MAX_TENANT_BYTES: usize = 256;

impl Desktop {
    /// Checks names of tenants.
    ///
    /// # Errors
    /// A description of what is wrong. An empty name would admit nobody, which no operator means.
    pub fn tenants(names: impl IntoIterator<Item = String>) -> Result<BTreeSet<String>, String> {
        let names: BTreeSet<String> = names.into_iter().collect();
        let is_name = |name: &String| !name.is_empty() && name.len() <= MAX_TENANT_BYTES;
        match names.len() <= MAX_TENANTS && names.iter().all(is_name) {
            true => Ok(names),
            false => Err(format!(
                "give at most {MAX_TENANTS} names of 1 to {MAX_TENANT_BYTES} bytes"
            )),
        }
    }

    /// Returns whether tasks of a tenant may use it.
    #[must_use]
    pub fn admits(&self, tenant: &str) -> bool {
        self.tenants.is_empty() || self.tenants.contains(tenant)
    }
}

/// The exclusive right to act on a display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    pub expires_at: SystemTime,
    /// Position in the Executor's journal at which the lease begins. `None` in a renewal, and from an Executor without
    /// fences.
    pub journal_checkpoint: Option<String>,
}
