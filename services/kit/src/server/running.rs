//! A server after it has started: its handle, and its end in order.
//!
//! It does not start servers and serves no calls.

use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinHandle;
use tracing::{info, warn};

use super::Error;
use super::call::StopSignals;
use crate::shutdown::Shutdown;

/// Timeout for closing connections after all calls on them have ended.
// Bounds the shutdown: a peer that does not read would otherwise keep its connection open.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A running server.
#[derive(Debug)]
pub struct RunningServer {
    pub(super) address: SocketAddr,
    pub(super) shutdown: Shutdown,
    pub(super) ended: JoinHandle<Result<(), Error>>,
}

impl RunningServer {
    /// Returns the address with the actual port, also if port 0 was configured.
    #[must_use]
    pub fn local_address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the signal that shuts down only this server.
    #[must_use]
    pub fn shutdown(&self) -> &Shutdown {
        &self.shutdown
    }

    /// Waits until the server has ended.
    ///
    /// # Errors
    /// If it ended unexpectedly. Calls that were cut off are logged, not returned as errors.
    pub async fn join(self) -> Result<(), Error> {
        let address = self.address;
        self.ended.await.unwrap_or_else(|error| {
            Err(Error::Serve {
                address,
                problem: error.to_string(),
            })
        })
    }

    /// Shuts the server down and waits until it has ended.
    ///
    /// # Errors
    /// Like [`RunningServer::join`].
    pub async fn stop(self) -> Result<(), Error> {
        self.shutdown.drain();
        self.join().await
    }
}

/// The lifecycle of a server after it has started.
pub(super) struct ServerTask {
    pub(super) address: SocketAddr,
    pub(super) serving: JoinHandle<Result<(), tonic::transport::Error>>,
    /// Ends once health reports the end of the server.
    pub(super) health: JoinHandle<()>,
    pub(super) stops: StopSignals,
    pub(super) grace: Duration,
}

impl ServerTask {
    pub(super) async fn run(mut self, shutdown: Shutdown) -> Result<(), Error> {
        tokio::select! {
            ended = &mut self.serving => return self.unexpected_end(&ended),
            () = shutdown.draining() => {}
        }
        info!(address = %self.address, grace = ?self.grace, "draining");
        // Health first, so that its watchers are notified before the connection closes.
        if let Err(error) = (&mut self.health).await {
            warn!(%error, "health does not report the end of the server");
        }
        self.stops.draining.cancel();

        let in_time = tokio::select! {
            done = ends_within(self.grace, &mut self.serving) => done,
            () = shutdown.stopping() => false,
        };
        if !in_time {
            warn!(address = %self.address, "cutting off running calls");
            self.stops.stopping.cancel();
            if !ends_within(CLOSE_TIMEOUT, &mut self.serving).await {
                // A peer that does not read keeps its connection open; it closes when the process exits.
                warn!(address = %self.address, "connections are still open");
                self.serving.abort();
            }
        }
        info!(address = %self.address, "ended");
        Ok(())
    }

    fn unexpected_end(&self, ended: &impl fmt::Debug) -> Result<(), Error> {
        Err(Error::Serve {
            address: self.address,
            problem: format!("the listener ended unexpectedly: {ended:?}"),
        })
    }
}

/// Returns true if `task` ends within `time`.
async fn ends_within<T>(time: Duration, task: &mut (impl Future<Output = T> + Unpin)) -> bool {
    tokio::time::timeout(time, task).await.is_ok()
}
