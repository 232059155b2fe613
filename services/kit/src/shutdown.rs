//! The shutdown signal of a process, in two phases: first *drain*, then, if that takes too long, *stop*; and the signals
//! of the system that trigger it.
//!
//! It has no data and no action of its own. Invariant: a stop implies a drain.

use std::io;
#[cfg(unix)]
use std::io::IsTerminal as _;

use tokio_util::sync::CancellationToken;
use tracing::info;

/// A cheap handle to the shutdown signal. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    stop: CancellationToken,
}

impl Shutdown {
    /// Creates a signal that only the program itself triggers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a signal that SIGTERM, SIGINT (Ctrl-C), SIGQUIT and SIGHUP trigger. The first one drains, the second one
    /// stops.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn on_signals() -> io::Result<Self> {
        let shutdown = Self::new();
        let mut signals = EndSignals::listen_as_server()?;
        let trigger = shutdown.clone();
        tokio::spawn(async move {
            let signal = signals.next().await;
            info!(signal, "shutting down");
            trigger.drain();
            let signal = signals.next().await;
            info!(signal, "stopping immediately");
            trigger.stop();
        });
        Ok(shutdown)
    }

    /// Creates a child signal, which follows this one and can also be triggered alone for a part of the process.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            drain: self.drain.child_token(),
            stop: self.stop.child_token(),
        }
    }

    /// Requests a drain: running work finishes, new work is rejected.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Requests an immediate stop.
    pub fn stop(&self) {
        self.drain.cancel();
        self.stop.cancel();
    }

    /// Returns true once a drain was requested.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// Waits until a drain is requested. A handler of an endless stream should then end it cleanly.
    pub async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Waits until an immediate stop is requested.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }
}

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
    fn listen_as_server() -> io::Result<Self> {
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

    fn listen_as_server() -> io::Result<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn stopping_is_also_draining() {
        let shutdown = Shutdown::new();
        shutdown.stop();
        shutdown.draining().await;
        shutdown.stopping().await;
    }

    #[test]
    fn a_child_follows_its_parent_but_not_the_other_way() {
        let parent = Shutdown::new();
        let (early, late) = (parent.child(), parent.child());
        early.drain();
        assert!(early.is_draining() && !parent.is_draining() && !late.is_draining());
        parent.drain();
        assert!(late.is_draining());
    }

    #[cfg(unix)]
    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n";
        assert_eq!(IgnoredSignals::parse(status), IgnoredSignals(0x1001));
        assert_eq!(IgnoredSignals::parse(""), IgnoredSignals::default());
    }
}
