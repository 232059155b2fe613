//! Limits the connections to a server: one more than the maximum is closed at once, so that its client learns it.
//!
//! It counts from the moment of acceptance, before any handshake. It does not tell callers apart, which are not known then.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::transport::server::Connected;
use tracing::warn;

/// A connection that counts until it is dropped.
#[derive(Debug)]
pub(super) struct CountedConnection<IO> {
    connection: IO,
    _permit: OwnedSemaphorePermit,
}

/// Returns the connections up to `max` at a time.
pub(super) fn limited<IO>(
    incoming: impl Stream<Item = io::Result<IO>> + Send + 'static,
    max: usize,
) -> impl Stream<Item = io::Result<CountedConnection<IO>>> + Send + 'static
where
    IO: Send + 'static,
{
    let free = Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS)));
    let mut is_full = false;
    incoming.filter_map(move |connection| {
        let permit = Arc::clone(&free).try_acquire_owned();
        let counted = match (connection, permit) {
            (Err(error), _) => Some(Err(error)),
            (Ok(connection), Ok(permit)) => {
                is_full = false;
                Some(Ok(CountedConnection {
                    connection,
                    _permit: permit,
                }))
            }
            (Ok(_), Err(_)) => {
                // Once, and not for each connection of a flood.
                if !std::mem::replace(&mut is_full, true) {
                    warn!(max, "too many connections; further ones are closed");
                }
                None
            }
        };
        std::future::ready(counted)
    })
}

impl<IO: Connected> Connected for CountedConnection<IO> {
    type ConnectInfo = IO::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.connection.connect_info()
    }
}

impl<IO: AsyncRead + Unpin> AsyncRead for CountedConnection<IO> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_read(cx, buffer)
    }
}

impl<IO: AsyncWrite + Unpin> AsyncWrite for CountedConnection<IO> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.connection).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }
}
