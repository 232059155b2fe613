//! A program as the settings name it. Does not start it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program with fixed arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Path of the program, or its name on `PATH`.
    pub program: String,
    /// Arguments of the program. No shell is involved.
    #[serde(default)]
    pub arguments: Vec<String>,
    /// Additional environment variables.
    #[serde(default)]
    #[schemars(example = BTreeMap::from([("LANG", "en_GB.UTF-8")]))]
    pub environment: BTreeMap<String, String>,
}
