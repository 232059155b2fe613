//! Limits the connections to the gateway: one more than the maximum is closed at once, so that its client learns it.
//!
//! It does not tell callers apart, who are not known before their first request; [`crate::quota`] does.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Places for connections. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionSlots(Arc<Semaphore>);

impl ConnectionSlots {
    pub(crate) fn new(max: usize) -> Self {
        Self(Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS))))
    }

    /// Returns the listener with connections as long as there are places.
    pub(crate) fn limit(self, listener: TcpListener) -> LimitedListener {
        LimitedListener {
            listener,
            slots: self,
            is_full: false,
        }
    }
}

/// A listener whose further connections are closed.
#[derive(Debug)]
pub(crate) struct LimitedListener {
    listener: TcpListener,
    slots: ConnectionSlots,
    is_full: bool,
}

impl Listener for LimitedListener {
    type Io = CountedConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CountedConnection, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            let Ok(permit) = Arc::clone(&self.slots.0).try_acquire_owned() else {
                // Once, and not for each connection of a flood.
                if !std::mem::replace(&mut self.is_full, true) {
                    tracing::warn!("too many connections; further ones are closed");
                }
                continue;
            };
            self.is_full = false;
            let connection = CountedConnection {
                stream,
                _permit: permit,
            };
            return (connection, address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that counts until it is dropped.
#[derive(Debug)]
pub(crate) struct CountedConnection {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
}

impl CountedConnection {
    pub(crate) fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.stream.set_nodelay(nodelay)
    }
}

impl AsyncRead for CountedConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CountedConnection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Router;
    use axum::routing::get;
    use axum::serve::ListenerExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const MAX: usize = 3;

    /// Asks on an open connection and returns whether there was a response.
    async fn ask(connection: &mut TcpStream) -> bool {
        let request = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n";
        let mut response = [0; 512];
        connection.write_all(request).await.is_ok()
            && matches!(connection.read(&mut response).await, Ok(1..))
    }

    #[tokio::test]
    async fn further_connections_are_closed_and_open_ones_go_on() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let limited = ConnectionSlots::new(MAX).limit(listener);
        let router = Router::new().route("/", get(|| async { "here" }));
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let server = axum::serve(limited.tap_io(|_| ()), service);
        let serving = tokio::spawn(async move { server.await });
        let connect = || async { TcpStream::connect(address).await.unwrap() };
        let mut open = Vec::new();
        for _ in 0..MAX {
            let mut connection = connect().await;
            assert!(ask(&mut connection).await);
            open.push(connection);
        }
        for _ in 0..20 {
            assert!(!ask(&mut connect().await).await, "one more is closed");
        }
        for connection in &mut open {
            assert!(ask(connection).await, "an open one goes on");
        }
        open.pop();
        let reached = async {
            while !ask(&mut connect().await).await {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let reached = tokio::time::timeout(Duration::from_secs(30), reached).await;
        reached.expect("a place that became free is used");
        serving.abort();
    }
}
