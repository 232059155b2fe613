//! Lines that a person types.
//!
//! Lines are read on a thread of their own: a runtime that reads standard input on its pool cannot end before the person
//! presses Enter. Reading starts with the first question, so that nothing is taken from the input of another program.

use std::io::{self, IsTerminal as _};

use tokio::sync::mpsc;

/// Returns whether a person can see a question and answer it here.
pub(crate) fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// Lines of standard input.
#[derive(Debug, Default)]
pub(crate) struct TypedLines {
    lines: Option<mpsc::UnboundedReceiver<String>>,
}

impl TypedLines {
    /// Discards what was typed before a question was asked, also an unfinished line: it does not answer the question.
    pub(crate) fn discard(&mut self) {
        discard_typed_ahead();
        if let Some(lines) = &mut self.lines {
            while lines.try_recv().is_ok() {}
        }
    }

    /// Returns the next line without surrounding white space, or `None` at the end of the input. Dropping the future
    /// loses nothing.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.lines.get_or_insert_with(read).recv().await
    }
}

/// Empties the input queue of the terminal. Without a terminal there is nothing typed ahead.
#[cfg(unix)]
fn discard_typed_ahead() {
    use rustix::termios::{QueueSelector, tcflush};
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn discard_typed_ahead() {}

fn read() -> mpsc::UnboundedReceiver<String> {
    let (sender, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            let Ok(line) = line else { return };
            if sender.send(line.trim().to_owned()).is_err() {
                return;
            }
        }
    });
    lines
}
