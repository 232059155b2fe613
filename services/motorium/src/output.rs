//! Standard output. A closed pipe ends the process without a panic.

use std::io::Write as _;

/// Prints a line.
pub(crate) fn line(text: &str) {
    let mut output = std::io::stdout().lock();
    if writeln!(output, "{text}")
        .and_then(|()| output.flush())
        .is_err()
    {
        // The reader has closed the pipe, as `head` does.
        std::process::exit(0);
    }
}
