//! Dumps requests for checks against the providers' own types.

use std::path::PathBuf;

use serde_json::Value;

/// Writes a request as `KIND--NAME.json` into the folder in `MOTORIUM_CONTRACT_DIR`; does nothing if that is not set.
pub(crate) fn leave(kind: &str, name: &str, body: &Value) {
    let Some(folder) = std::env::var_os("MOTORIUM_CONTRACT_DIR").map(PathBuf::from) else {
        return;
    };
    std::fs::create_dir_all(&folder).expect("the folder for requests can be made");
    let file = folder.join(format!("{kind}--{name}.json"));
    std::fs::write(file, body.to_string()).expect("a request can be left");
}
