//! Where requests are left for whoever wants to check them against a provider's own types.

use std::path::PathBuf;

use serde_json::Value;

/// Leaves a request as `KIND--NAME.json` in the folder that `MOTORIUM_CONTRACT_DIR` names; nowhere if it names none.
pub(crate) fn leave(kind: &str, name: &str, body: &Value) {
    let Some(folder) = std::env::var_os("MOTORIUM_CONTRACT_DIR").map(PathBuf::from) else {
        return;
    };
    std::fs::create_dir_all(&folder).expect("the folder for requests can be made");
    let file = folder.join(format!("{kind}--{name}.json"));
    std::fs::write(file, body.to_string()).expect("a request can be left");
}
