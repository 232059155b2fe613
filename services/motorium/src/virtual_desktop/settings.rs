//! Settings of the virtual desktop.

use std::path::PathBuf;

use motorium_kit::config::Section;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the section `[desktop]`: the virtual desktop of `motorium up`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    /// Isolation of the programs on the desktop from this user's files and processes: `auto` isolates them where the
    /// system allows it and says so where it does not; `required` starts no desktop without it; `off`.
    pub(crate) isolation: Isolation,
    /// Files and folders that the programs may read, beside the system's programs, their own home and the task files.
    #[schemars(example = ["/srv/manuals"])]
    pub(crate) readable: Vec<PathBuf>,
    /// Files and folders that the programs may read and write.
    #[schemars(example = ["/home/me/shared"])]
    pub(crate) writable: Vec<PathBuf>,
}

/// Isolation of the programs on a virtual desktop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Isolation {
    /// Isolated if the system allows it.
    #[default]
    Auto,
    /// Isolated, or no desktop is started.
    Required,
    /// The programs can do what this user can.
    Off,
}

impl Section for Settings {
    const NAME: &'static str = "desktop";
}
