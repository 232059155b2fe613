//! Provider responses in files, which are also checked against the providers' own types.

use std::path::PathBuf;

use serde_json::Value;

/// Loads the response at this path below `tests/fixtures`.
pub(crate) fn fixture(path: &str) -> Value {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(path);
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_str(&text).unwrap()
}
