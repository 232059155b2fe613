//! One signal that everything in a process listens to: first *drain*, then, if that takes too long, *stop now*.
//!
//! It carries no data and does nothing by itself. Invariant: whoever is told to stop has been told to drain.

use std::io;

use tokio_util::sync::CancellationToken;
use tracing::info;

/// A cheap handle; clones are the same signal.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    drain: CancellationToken,
    stop: CancellationToken,
}

impl Shutdown {
    /// A signal that only the program itself gives.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A signal given by SIGTERM or SIGINT (Ctrl-C). The second one stops at once.
    ///
    /// # Errors
    /// If the operating system does not let the process listen.
    pub fn on_signals() -> io::Result<Self> {
        let shutdown = Self::new();
        let mut signals = Signals::listen()?;
        let told = shutdown.clone();
        tokio::spawn(async move {
            let signal = signals.next().await;
            info!(signal, "shutting down");
            told.drain();
            let signal = signals.next().await;
            info!(signal, "stopping at once");
            told.stop();
        });
        Ok(shutdown)
    }

    /// A signal that follows this one and can also be given alone, for a part of the process that ends earlier.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            drain: self.drain.child_token(),
            stop: self.stop.child_token(),
        }
    }

    /// Asks everyone to finish what they are doing and to take nothing new.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Asks everyone to end now.
    pub fn stop(&self) {
        self.drain.cancel();
        self.stop.cancel();
    }

    /// Whether draining has begun.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// Waits until draining begins. A handler of an endless stream ends it cleanly then.
    pub async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Waits until everything is to end now.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> &'static str {
        match tokio::signal::ctrl_c().await {
            Ok(()) => "Ctrl-C",
            // Without a way to be told, the program ends when its parent ends it.
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
}
