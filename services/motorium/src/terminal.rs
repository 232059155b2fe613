//! Lines that a person types, and the signals that end a command.
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

/// The signals that end a command: Ctrl-C, SIGTERM, and SIGHUP, which a closed terminal sends.
#[cfg(unix)]
#[derive(Debug)]
pub(crate) struct EndSignals {
    interrupt: CaughtSignal,
    terminate: CaughtSignal,
    hang_up: CaughtSignal,
}

#[cfg(unix)]
impl EndSignals {
    /// Starts to catch the signals, which no longer end the process by themselves. A signal that is ignored stays so: it
    /// is not meant for the command that `nohup` or a shell's background job runs. Ctrl-C at a terminal always is.
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::SignalKind;
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = ignored_signals(&status);
        let ignored_here = if io::stdin().is_terminal() {
            0
        } else {
            ignored
        };
        Ok(Self {
            interrupt: CaughtSignal::listen(SignalKind::interrupt(), ignored_here)?,
            terminate: CaughtSignal::listen(SignalKind::terminate(), ignored)?,
            hang_up: CaughtSignal::listen(SignalKind::hangup(), ignored)?,
        })
    }

    /// Waits for the next signal and returns its name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            () = self.interrupt.received() => "Ctrl-C",
            () = self.terminate.received() => "SIGTERM",
            () = self.hang_up.received() => "SIGHUP",
        }
    }
}

/// A signal, unless the process ignores it.
#[cfg(unix)]
#[derive(Debug)]
struct CaughtSignal(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl CaughtSignal {
    fn listen(kind: tokio::signal::unix::SignalKind, ignored: u64) -> io::Result<Self> {
        // The mask starts with signal 1 at its lowest bit.
        let bit = 1 << (kind.as_raw_value() - 1);
        if ignored & bit != 0 {
            return Ok(Self(None));
        }
        Ok(Self(Some(tokio::signal::unix::signal(kind)?)))
    }

    async fn received(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            // An ignored signal never arrives.
            None => std::future::pending().await,
        }
    }
}

/// Returns the mask of the signals that a process ignores, from its `/proc/PID/status`; none on systems without it.
#[cfg(unix)]
fn ignored_signals(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// The signal that ends a command.
#[cfg(not(unix))]
#[derive(Debug)]
pub(crate) struct EndSignals;

#[cfg(not(unix))]
impl EndSignals {
    /// Starts to catch Ctrl-C.
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C.
    pub(crate) async fn next(&mut self) -> &'static str {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            // Without a signal handler, the program ends when its parent kills it.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::ignored_signals;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert_eq!(ignored_signals(status), 0x1001);
        assert_eq!(ignored_signals(""), 0);
    }
}
