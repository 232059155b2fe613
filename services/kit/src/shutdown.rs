//! The shutdown signal of a process, in two phases: first *drain*, then, if that takes too long, *stop*.
//!
//! It has no data and no action of its own. Invariant: a stop implies a drain.

use std::io;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::info;

use crate::end_signals::EndSignals;

/// Default time that running calls have to finish after a drain was requested.
// Below the 30 s after which the service files in `deploy/` and Kubernetes kill a process by default.
pub const DEFAULT_GRACE_PERIOD: Duration = Duration::from_secs(20);

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
