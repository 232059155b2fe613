//! The signals of the system that end a program.
//!
//! They end nothing by themselves here: [`Shutdown::on_signals`](crate::shutdown::Shutdown::on_signals) and the commands of the
//! command line decide what happens.

use std::io;
#[cfg(unix)]
use std::io::IsTerminal as _;

/// The signals that end a program: Ctrl-C (SIGINT), SIGTERM, SIGQUIT, and SIGHUP, which a closed terminal sends.
#[cfg(unix)]
#[derive(Debug)]
pub struct EndSignals {
    interrupt: CaughtSignal,
    terminate: CaughtSignal,
    quit: CaughtSignal,
    hang_up: CaughtSignal,
}

#[cfg(unix)]
impl EndSignals {
    /// Starts to catch the signals, which no longer end the process by themselves. A signal that is ignored stays so: it
    /// is not meant for the command that `nohup` or a shell's background job runs. Ctrl-C at a terminal always is.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn listen() -> io::Result<Self> {
        let ignored = IgnoredSignals::of_process();
        let ignored_at_keyboard = if io::stdin().is_terminal() {
            IgnoredSignals::default()
        } else {
            ignored
        };
        Self::catch(ignored_at_keyboard, ignored, ignored)
    }

    /// As [`EndSignals::listen`], for a server: a script that starts it in the background ends it with SIGINT or
    /// SIGTERM, which its shell may have ignored.
    pub(crate) fn listen_as_server() -> io::Result<Self> {
        let none = IgnoredSignals::default();
        Self::catch(none, none, IgnoredSignals::of_process())
    }

    fn catch(
        of_interrupt: IgnoredSignals,
        of_terminate: IgnoredSignals,
        of_others: IgnoredSignals,
    ) -> io::Result<Self> {
        use tokio::signal::unix::SignalKind;
        Ok(Self {
            interrupt: CaughtSignal::listen(SignalKind::interrupt(), of_interrupt)?,
            terminate: CaughtSignal::listen(SignalKind::terminate(), of_terminate)?,
            quit: CaughtSignal::listen(SignalKind::quit(), of_others)?,
            hang_up: CaughtSignal::listen(SignalKind::hangup(), of_others)?,
        })
    }

    /// Waits for the next signal and returns its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            () = self.interrupt.received() => "Ctrl-C",
            () = self.terminate.received() => "SIGTERM",
            () = self.quit.received() => "SIGQUIT",
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
    fn listen(kind: tokio::signal::unix::SignalKind, ignored: IgnoredSignals) -> io::Result<Self> {
        if ignored.includes(kind) {
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

/// Mask of the signals that a process ignores.
#[cfg(unix)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct IgnoredSignals(u64);

#[cfg(unix)]
impl IgnoredSignals {
    /// Reads the mask of this process; empty on systems without `/proc`.
    fn of_process() -> Self {
        Self::parse(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())
    }

    /// Parses the `/proc/PID/status` of a process.
    fn parse(status: &str) -> Self {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        Self(mask.unwrap_or(0))
    }

    fn includes(self, kind: tokio::signal::unix::SignalKind) -> bool {
        // The mask starts with signal 1 at its lowest bit.
        self.0 & (1 << (kind.as_raw_value() - 1)) != 0
    }
}

/// The signal that ends a program.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct EndSignals;

#[cfg(not(unix))]
impl EndSignals {
    /// Starts to catch Ctrl-C.
    ///
    /// # Errors
    /// None.
    pub fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn listen_as_server() -> io::Result<Self> {
        Self::listen()
    }

    /// Waits for Ctrl-C.
    pub async fn next(&mut self) -> &'static str {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            // Without a signal handler, the program ends when its parent kills it.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert_eq!(IgnoredSignals::parse(status), IgnoredSignals(0x1001));
        assert_eq!(IgnoredSignals::parse(""), IgnoredSignals::default());
    }
}
