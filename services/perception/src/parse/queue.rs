//! Queue in front of a parser: runs parses outside the async workers and limits their number.
//!
//! The in-process parser uses every core, so concurrent parses would only slow each other down. Waiting callers are
//! served fairly ([`fair_semaphore`](super::fair_semaphore)). Dropping the future leaves the queue; a running parse is
//! cancelled after the current line.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::codec;
use motorium_kit::connection_origin::ConnectionOrigin;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::fair_semaphore::{FairSemaphore, QueueFull};
use super::{Parse, Parser};
use crate::error::Error;

/// Parser with a queue.
#[derive(Debug)]
pub struct ParseQueue {
    parser: Arc<dyn Parser>,
    turns: Arc<FairSemaphore<ConnectionOrigin>>,
    /// Permits for large images.
    large: Arc<FairSemaphore<ConnectionOrigin>>,
}

/// Decoded size, in bytes, above which images are processed one at a time.
// Two screens of 3840×2160 are below it.
const LARGE_IMAGE_BYTES: u64 = 64 << 20;

/// Access to the parser while a permit is held.
#[derive(Debug)]
pub struct AdmittedParser<'a> {
    parser: &'a dyn Parser,
    cancel: &'a CancellationToken,
    /// Time in the queue.
    queued: Duration,
}

impl AdmittedParser<'_> {
    /// Parses an image.
    ///
    /// # Errors
    /// Errors of loading or running the models.
    pub fn parse(&self, pixels: &Arc<RgbaImage>) -> Result<Parse, Error> {
        let mut parse = self.parser.parse(pixels, self.cancel)?;
        parse.effort.queued = self.queued;
        Ok(parse)
    }
}

impl ParseQueue {
    #[must_use]
    pub fn new(parser: Arc<dyn Parser>) -> Self {
        let turns = FairSemaphore::new(parser.max_concurrency());
        Self {
            parser,
            turns,
            large: FairSemaphore::new(1),
        }
    }

    /// Parses an image once a permit is available.
    ///
    /// # Errors
    /// Errors of loading or running the models; [`Error::ParserBusy`] if the queue is full.
    pub async fn parse(&self, pixels: Arc<RgbaImage>) -> Result<Parse, Error> {
        let held = pixels.as_raw().len();
        self.run(held, move |parser| parser.parse(&pixels)).await
    }

    /// Waits until no other large image is processed, if `encoded` is one. Hold the returned guard as long as the
    /// decoded image: several parses may run at a time.
    ///
    /// # Errors
    /// [`Error::ParserBusy`] if the queue is full.
    pub async fn reserve_if_large(&self, encoded: &[u8]) -> Result<impl Send + use<>, Error> {
        let size = codec::dimensions(encoded).ok();
        let bytes = size.map(|(width, height)| u64::from(width) * u64::from(height) * 4);
        if bytes.is_none_or(|bytes| bytes <= LARGE_IMAGE_BYTES) {
            return Ok(None);
        }
        let turn = self
            .large
            .acquire(ConnectionOrigin::current(), encoded.len())
            .await;
        turn.map(Some).map_err(|QueueFull| Error::ParserBusy)
    }

    /// Returns whether images stay in this process.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.parser.is_local()
    }

    /// Loads the models, so that the first parse does not have to.
    ///
    /// # Errors
    /// If the models cannot be loaded; a parse would fail in the same way.
    pub async fn warm_up(&self) -> Result<(), Error> {
        self.run(0, |admitted| admitted.parser.warm_up()).await
    }

    /// Runs `work` with the parser once this caller gets a permit, outside the async workers. `held` is the memory in
    /// bytes that `work` holds while it waits.
    ///
    /// # Errors
    /// Errors of `work`; [`Error::ParserBusy`] if the queue is full.
    pub async fn run<T: Send + 'static>(
        &self,
        held: usize,
        work: impl FnOnce(&AdmittedParser<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let queued = Instant::now();
        let turn = self.turns.acquire(ConnectionOrigin::current(), held).await;
        let turn = turn.map_err(|QueueFull| Error::ParserBusy)?;
        let waiting = queued.elapsed();
        let parser = Arc::clone(&self.parser);
        let cancel = CancellationToken::new();
        let seen_by_work = cancel.clone();
        let _cancelled_when_dropped = cancel.drop_guard();
        let done = tokio::task::spawn_blocking(move || {
            // Released only when the work has really ended, even if the caller is gone.
            let _turn = turn;
            work(&AdmittedParser {
                parser: &*parser,
                cancel: &seen_by_work,
                queued: waiting,
            })
        });
        done.await.map_err(|error| Error::ParseFailed {
            detail: error.to_string(),
        })?
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::parse::ParseStats;

    /// Test parser: finds nothing, and records concurrency and cancellations.
    #[derive(Debug, Default)]
    struct RecordingParser {
        inside: AtomicUsize,
        max_inside: AtomicUsize,
        given_up: AtomicUsize,
        /// Locked by a test to keep a parse running.
        gate: Mutex<()>,
    }

    impl Parser for RecordingParser {
        fn parse(&self, _: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error> {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            self.max_inside.fetch_max(inside, Ordering::SeqCst);
            drop(self.gate.lock().unwrap());
            self.inside.fetch_sub(1, Ordering::SeqCst);
            if cancel.is_cancelled() {
                self.given_up.fetch_add(1, Ordering::SeqCst);
                return Err(Error::Cancelled);
            }
            Ok(Parse {
                detections: Arc::new([]),
                lines: Arc::new([]),
                effort: ParseStats::default(),
            })
        }

        fn warm_up(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    fn queue() -> (Arc<RecordingParser>, Arc<ParseQueue>) {
        let witness = Arc::new(RecordingParser::default());
        let parser = Arc::clone(&witness);
        (witness, Arc::new(ParseQueue::new(parser)))
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_image_is_parsed_at_a_time() {
        let (witness, queue) = queue();
        let parses: Vec<_> = (0..8)
            .map(|_| {
                let queue = Arc::clone(&queue);
                tokio::spawn(async move { queue.parse(Arc::default()).await })
            })
            .collect();
        for parse in parses {
            parse.await.unwrap().unwrap();
        }
        assert_eq!(witness.max_inside.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[expect(clippy::await_holding_lock, reason = "the lock keeps the image inside")]
    async fn cancelled_caller_returns_its_permit() {
        let (witness, queue) = queue();
        let gate = witness.gate.lock().unwrap();
        let first = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.parse(Arc::default()).await }
        });
        until(|| witness.inside.load(Ordering::SeqCst) == 1).await;
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        drop(gate);
        queue.parse(Arc::default()).await.unwrap();
        assert_eq!(witness.given_up.load(Ordering::SeqCst), 1);
        assert_eq!(witness.max_inside.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[expect(clippy::await_holding_lock, reason = "the lock keeps the image inside")]
    async fn busy_caller_does_not_starve_others() {
        let (witness, queue) = queue();
        let gate = witness.gate.lock().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let origin = |port| ConnectionOrigin::at(([127, 0, 0, 1], port).into());
        let mut parses = Vec::new();
        for (index, port) in [1, 1, 1, 1, 2].into_iter().enumerate() {
            let (their_queue, order) = (Arc::clone(&queue), Arc::clone(&order));
            let parse = async move {
                let noting = move |admitted: &AdmittedParser<'_>| {
                    order.lock().unwrap().push(port);
                    admitted.parse(&Arc::default())
                };
                their_queue.run(4, noting).await
            };
            parses.push(tokio::spawn(origin(port).scope(parse)));
            // The first parse is running before the others are queued, in order.
            match index {
                0 => until(|| witness.inside.load(Ordering::SeqCst) == 1).await,
                _ => until(|| queue.turns.waiting() == index).await,
            }
        }
        drop(gate);
        for parse in parses {
            parse.await.unwrap().unwrap();
        }
        assert_eq!(*order.lock().unwrap(), [1, 1, 2, 1, 1]);
    }
}
