//! Connections within one process, for a server that only its own process may call.
//!
//! The two ends are a pair of in-memory pipes instead of a socket, so nothing else on the machine can reach the server, and
//! everything above the transport (deadlines, limits, errors) is the same as over a network.

use std::io;

use futures::Stream;
use futures::stream::unfold;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;

/// Bytes that one side may be ahead of the other. As large as the default window of HTTP/2, so that the pipe is not the
/// narrower of the two.
const PIPE_BYTES: usize = 64 * 1024;
/// Connections that may wait to be accepted. A channel opens one, and another only after that one is lost.
const BACKLOG: usize = 16;

/// Opens connections to a server of this process. Clones reach the same server.
#[derive(Debug, Clone)]
pub struct MemoryConnector {
    accept: mpsc::Sender<DuplexStream>,
}

impl MemoryConnector {
    /// Opens a connection.
    ///
    /// # Errors
    /// If the server has ended.
    pub(crate) async fn connect(&self) -> io::Result<DuplexStream> {
        let (near, far) = tokio::io::duplex(PIPE_BYTES);
        let sent = self.accept.send(far).await;
        sent.map_err(|_| io::Error::new(io::ErrorKind::ConnectionRefused, "the server has ended"))?;
        Ok(near)
    }
}

/// Returns both ends of a listener: the one that connects, and the connections that arrive.
pub(super) fn listen() -> (
    MemoryConnector,
    impl Stream<Item = io::Result<DuplexStream>> + Send + 'static,
) {
    let (accept, accepted) = mpsc::channel(BACKLOG);
    let incoming = unfold(accepted, |mut accepted| async move {
        let connection = accepted.recv().await?;
        Some((Ok(connection), accepted))
    });
    (MemoryConnector { accept }, incoming)
}
