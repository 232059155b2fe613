//! Limits the exports at a time, and ends one whose receiver has stopped to take it.
//!
//! It does not make exports: [`motorium_recording`] does. Invariant: an export that was cut ends with an error.

use std::pin::pin;
use std::time::Duration;

use futures::stream::{Stream, StreamExt as _};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::oneshot;
use tonic::Status;

use super::call_slots::CallSlot;
use super::{Edge, ResponseStream, ownership};
use crate::error::Error;

/// Time that a receiver may take for the next piece.
// As long as the sender of an upload may take.
const PIECE_TIMEOUT: Duration = Duration::from_secs(30);

impl Edge {
    /// Returns the right to one export of the caller as soon as there is one.
    pub(super) async fn export_slot(&self) -> Result<CallSlot, Error> {
        let caller = ownership::caller()?;
        let slot = self.exports.take(caller.name()).await;
        slot.map_err(|_| Error::TooManyExports)
    }
}

/// Streams the pieces of an export, which holds its slot and its memory until it ends, its receiver goes away, or takes nothing
/// for a while.
pub(super) fn deliver<T: Send + 'static>(
    pieces: impl Stream<Item = Result<T, Status>> + Send + 'static,
    slot: impl Send + 'static,
) -> ResponseStream<T> {
    // One piece ahead keeps the receiver busy.
    let (sender, receiver) = mpsc::channel(1);
    let (whole, ended) = oneshot::channel();
    tokio::spawn(async move {
        let _slot = slot;
        let mut pieces = pin!(pieces);
        while let Some(piece) = pieces.next().await {
            match sender.send_timeout(piece, PIECE_TIMEOUT).await {
                Ok(()) => {}
                Err(SendTimeoutError::Closed(_) | SendTimeoutError::Timeout(_)) => return,
            }
        }
        // Ignored: the receiver may go away at the same time.
        let _ = whole.send(());
    });
    let received = futures::stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|piece| (piece, receiver))
    });
    // Whatever ends the export early drops the sender without a word.
    let end = futures::stream::once(ended).filter_map(|ended| async move {
        ended.err().map(|_| Err(Status::from(Error::ExportStalled)))
    });
    received.chain(end).boxed()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn pieces(count: usize) -> impl Stream<Item = Result<usize, Status>> + Send + 'static {
        futures::stream::iter((0..count).map(Ok))
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_that_is_taken_slowly_is_whole() {
        let mut delivered = deliver(pieces(5), ());
        let mut received = Vec::new();
        while let Some(piece) = delivered.next().await {
            received.push(piece.unwrap());
            tokio::time::sleep(PIECE_TIMEOUT * 9 / 10).await;
        }
        assert_eq!(received, [0, 1, 2, 3, 4]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_export_that_is_not_taken_frees_its_slot_and_ends_with_an_error() {
        let slot = Arc::new(());
        let mut delivered = deliver(pieces(5), Arc::clone(&slot));
        delivered.next().await.unwrap().unwrap();
        tokio::time::sleep(PIECE_TIMEOUT * 2).await;
        assert_eq!(Arc::strong_count(&slot), 1, "the slot is free");
        let rest: Vec<_> = delivered.collect().await;
        let cut = rest.last().unwrap().as_ref().unwrap_err();
        assert_eq!(cut.code(), tonic::Code::DeadlineExceeded);
        assert!(rest.len() < 4, "not all of it: {rest:?}");
    }

    #[tokio::test]
    async fn an_export_whose_receiver_goes_away_frees_its_slot() {
        let slot = Arc::new(());
        drop(deliver(pieces(5), Arc::clone(&slot)));
        while Arc::strong_count(&slot) > 1 {
            tokio::task::yield_now().await;
        }
    }
}
