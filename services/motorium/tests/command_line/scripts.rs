//! The scripts in `tools/`, which print their usage.

use std::process::Command;

use crate::support::root;

#[test]
fn every_script_prints_its_usage() {
    let tools = root().join("tools");
    let scripts = [
        "calibrate-recogniser",
        "demo",
        "generate-api-reference",
        "lint-language",
        "lint-origins",
        "prepare-models",
        "setup",
        "test",
        "unpack-models",
    ];
    for script in scripts {
        for flag in ["--help", "-h"] {
            let output = Command::new(tools.join(script)).arg(flag).output().unwrap();
            let usage = String::from_utf8(output.stdout).unwrap();
            assert!(
                output.status.success(),
                "{script} {flag}: {}",
                output.status
            );
            assert!(usage.contains(script), "{script} {flag}: {usage}");
        }
    }
}
