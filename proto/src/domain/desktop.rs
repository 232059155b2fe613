//! Desktops and the right to act on them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::id::{DesktopEpoch, DesktopName, DisplayId};

/// What a desktop runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Platform {
    #[default]
    Unknown,
    Linux,
    Windows,
    Macos,
    Browser,
}

/// Eyes, hands and a display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desktop {
    pub name: DesktopName,
    /// `None`: the Perception in the same process.
    pub perception_endpoint: Option<String>,
    /// `None`: the Executor in the same process.
    pub executor_endpoint: Option<String>,
    /// `None`: the default display of both.
    pub display: Option<DisplayId>,
    pub platform: Platform,
    pub labels: BTreeMap<String, String>,
}

/// The right to act on a display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub display: DisplayId,
    pub epoch: DesktopEpoch,
    pub expires_at: SystemTime,
}
