//! Parses pictures one after the other, off the runtime's workers.
//!
//! A parse uses every core for up to seconds, so two at once would only slow each other down. Whoever is dropped while
//! waiting leaves the queue; a parse whose caller has gone is given up after the line at hand.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::detect::{Detection, Detector};
use super::read::{Reader, Reading};
use crate::error::Error;

/// What was found on a picture, and how long it took.
#[derive(Debug, Clone)]
pub struct Parse {
    pub detections: Vec<Detection>,
    pub reading: Reading,
    /// Until it was this picture's turn.
    pub waiting: Duration,
    /// Looking for controls.
    pub detecting: Duration,
}

/// The detector and the reader, with a queue before them.
#[derive(Debug)]
pub struct ParseQueue {
    detector: Arc<dyn Detector>,
    reader: Arc<dyn Reader>,
    turn: Arc<Semaphore>,
}

impl ParseQueue {
    #[must_use]
    pub fn new(detector: Arc<dyn Detector>, reader: Arc<dyn Reader>) -> Self {
        Self {
            detector,
            reader,
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// Parses a picture when it is its turn.
    ///
    /// # Errors
    /// Whatever keeps the models from being loaded or run.
    pub async fn parse(&self, pixels: Arc<RgbaImage>) -> Result<Parse, Error> {
        let (detector, reader) = (Arc::clone(&self.detector), Arc::clone(&self.reader));
        let queued = Instant::now();
        self.in_turn(move |cancel| {
            let started = Instant::now();
            let detections = detector.detect(&pixels, cancel)?;
            let detecting = started.elapsed();
            let reading = reader.read(&pixels, cancel)?;
            Ok(Parse {
                detections,
                reading,
                waiting: started.duration_since(queued),
                detecting,
            })
        })
        .await
    }

    /// Loads the models, so that the first parse does not have to.
    ///
    /// # Errors
    /// If they cannot be loaded; a parse would fail in the same way.
    pub async fn warm_up(&self) -> Result<(), Error> {
        let reader = Arc::clone(&self.reader);
        self.in_turn(move |_| reader.warm_up()).await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&CancellationToken) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let turn = Arc::clone(&self.turn)
            .acquire_owned()
            .await
            .expect("the queue is never closed");
        let cancel = CancellationToken::new();
        let seen_by_work = cancel.clone();
        let _cancelled_when_dropped = cancel.drop_guard();
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work has really ended, also if nobody waits for it any more.
            let _turn = turn;
            work(&seen_by_work)
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
    use crate::parse::detect::NoDetector;

    /// Reads nothing, and notes who is inside at the same time and who was given up.
    #[derive(Debug, Default)]
    struct Witness {
        inside: AtomicUsize,
        most: AtomicUsize,
        given_up: AtomicUsize,
        /// Held by a test to keep a reader inside.
        gate: Mutex<()>,
    }

    impl Reader for Witness {
        fn read(&self, _: &RgbaImage, cancel: &CancellationToken) -> Result<Reading, Error> {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(inside, Ordering::SeqCst);
            drop(self.gate.lock().unwrap());
            self.inside.fetch_sub(1, Ordering::SeqCst);
            if cancel.is_cancelled() {
                self.given_up.fetch_add(1, Ordering::SeqCst);
                return Err(Error::Cancelled);
            }
            Ok(Reading {
                lines: Arc::new([]),
                locating: Duration::ZERO,
                recognising: Duration::ZERO,
                remembered: 0,
            })
        }

        fn warm_up(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    fn queue() -> (Arc<Witness>, Arc<ParseQueue>) {
        let witness = Arc::new(Witness::default());
        let reader = Arc::clone(&witness);
        (
            witness,
            Arc::new(ParseQueue::new(Arc::new(NoDetector), reader)),
        )
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_picture_at_a_time() {
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
        assert_eq!(witness.most.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    #[expect(
        clippy::await_holding_lock,
        reason = "the lock is what keeps the reader inside"
    )]
    async fn a_caller_that_goes_gives_its_turn_back() {
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
        assert_eq!(witness.most.load(Ordering::SeqCst), 1);
    }
}
