//! Standard output, where a closed pipe is the end of interest and not a panic.

use std::io::Write as _;

/// Prints a line.
pub(crate) fn line(text: &str) {
    let mut output = std::io::stdout().lock();
    if writeln!(output, "{text}")
        .and_then(|()| output.flush())
        .is_err()
    {
        // Whoever read us has gone away, as `head` does.
        std::process::exit(0);
    }
}
