//! Standard output and standard error. A closed pipe ends the process without a panic.

use std::io::{self, Write as _};

/// Prints a line. Ends the process if the reader has closed the pipe, as `head` does.
pub(crate) fn line(text: &str) {
    if try_line(text).is_err() {
        std::process::exit(0);
    }
}

/// Prints a line, for commands that have something to end before they end themselves.
///
/// # Errors
/// If the reader has closed the pipe, or the terminal is gone.
pub(crate) fn try_line(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}").and_then(|()| output.flush())
}

/// Prints a text on standard error without a line break. A terminal that is gone is not an error.
pub(crate) fn remark(text: &str) {
    let mut output = io::stderr().lock();
    let _ = write!(output, "{text}").and_then(|()| output.flush());
}
