//! Conversion of desktops, their platforms and leases.
//!
//! It does not check that a lease is valid: the Executor does.

use super::{non_empty, time, wire_time};
use crate::domain::desktop::{Desktop, Lease, Platform};
use crate::domain::id::{DesktopEpoch, DesktopName, DisplayId};
use crate::error::FieldError;
use crate::v1::common as wire;

impl TryFrom<wire::Lease> for Lease {
    type Error = FieldError;

    fn try_from(lease: wire::Lease) -> Result<Self, FieldError> {
        Ok(Self {
            display: DisplayId::new(lease.display),
            epoch: DesktopEpoch(lease.epoch),
            expires_at: time("expire_time", lease.expire_time)?,
            // Beside the lease in the response that has one.
            journal_checkpoint: None,
        })
    }
}

impl From<Lease> for wire::Lease {
    fn from(lease: Lease) -> Self {
        Self {
            display: lease.display.as_str().to_owned(),
            epoch: lease.epoch.0,
            expire_time: Some(wire_time(lease.expires_at)),
        }
    }
}

impl From<Platform> for wire::Platform {
    fn from(platform: Platform) -> Self {
        match platform {
            Platform::Unknown => Self::Unspecified,
            Platform::Linux => Self::Linux,
            Platform::Windows => Self::Windows,
            Platform::Macos => Self::Macos,
            Platform::Browser => Self::Browser,
        }
    }
}

/// Converts a platform. A value that a newer contract added is unknown.
pub(super) fn platform(number: i32) -> Platform {
    use wire::Platform as Wire;

    // No error: a client that is older than the server can still use the desktop.
    match Wire::try_from(number).unwrap_or_default() {
        Wire::Unspecified => Platform::Unknown,
        Wire::Linux => Platform::Linux,
        Wire::Windows => Platform::Windows,
        Wire::Macos => Platform::Macos,
        Wire::Browser => Platform::Browser,
    }
}

impl TryFrom<wire::Desktop> for Desktop {
    type Error = FieldError;

    fn try_from(desktop: wire::Desktop) -> Result<Self, FieldError> {
        Ok(Self {
            name: DesktopName::parse("name", &desktop.name)?,
            perception_endpoint: non_empty(desktop.perception_endpoint),
            executor_endpoint: non_empty(desktop.executor_endpoint),
            display: non_empty(desktop.display).map(DisplayId::new),
            platform: platform(desktop.platform),
            labels: desktop.labels.into_iter().collect(),
            tenants: Desktop::tenants(desktop.tenants)
                .map_err(|problem| FieldError::new("tenants", problem))?,
        })
    }
}

impl From<Desktop> for wire::Desktop {
    fn from(desktop: Desktop) -> Self {
        Self {
            name: desktop.name.to_string(),
            perception_endpoint: desktop.perception_endpoint.unwrap_or_default(),
            executor_endpoint: desktop.executor_endpoint.unwrap_or_default(),
            display: desktop
                .display
                .map(|display| display.as_str().to_owned())
                .unwrap_or_default(),
            platform: wire::Platform::from(desktop.platform).into(),
            labels: desktop.labels.into_iter().collect(),
            tenants: desktop.tenants.into_iter().collect(),
            ..Self::default()
        }
    }
}
