//! Runs the program in an environment of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Returns the program with these arguments. Its home folder is `home`, and it has neither a display nor a configuration.
pub(crate) fn motorium(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_motorium"));
    command
        .env_clear()
        .env("HOME", home)
        .current_dir(home)
        .stdin(Stdio::null())
        .args(arguments);
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    command
}

/// Runs the program, and returns its exit code, its output and its messages.
pub(crate) fn finish(mut command: Command) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Returns the root of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
