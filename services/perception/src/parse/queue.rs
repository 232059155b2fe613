//! Parses pictures off the runtime's workers, and no more at once than the parser wants.
//!
//! The one in this process uses every core, so two pictures at once would only slow each other down. Callers that wait
//! take turns ([`turns`](super::turns)). Whoever is dropped while waiting leaves the queue; a parse whose caller has
//! gone is given up after the line at hand.

use std::sync::Arc;
use std::time::Duration;

use image::RgbaImage;
use motorium_imaging::picture;
use motorium_kit::caller::Caller;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::turns::{Full, Turns};
use super::{Parse, Parser};
use crate::error::Error;

/// A parser with a queue before it.
#[derive(Debug)]
pub struct ParseQueue {
    parser: Arc<dyn Parser>,
    turns: Arc<Turns<Caller>>,
    /// Turns at a large picture.
    large: Arc<Turns<Caller>>,
}

/// Pictures that take more memory than this once they are decoded are worked on one at a time, in bytes.
const LARGE: u64 = 64 << 20;

/// The parser, for whoever's turn it is.
#[derive(Debug)]
pub struct Admitted<'a> {
    parser: &'a dyn Parser,
    cancel: &'a CancellationToken,
    /// Until it was its turn.
    waiting: Duration,
}

impl Admitted<'_> {
    /// Parses a picture.
    ///
    /// # Errors
    /// Whatever keeps the models from being loaded or run.
    pub fn parse(&self, pixels: &Arc<RgbaImage>) -> Result<Parse, Error> {
        let mut parse = self.parser.parse(pixels, self.cancel)?;
        parse.effort.waiting = self.waiting;
        Ok(parse)
    }
}

impl ParseQueue {
    #[must_use]
    pub fn new(parser: Arc<dyn Parser>) -> Self {
        let turns = Turns::new(parser.at_once());
        Self {
            parser,
            turns,
            large: Turns::new(1),
        }
    }

    /// Parses a picture when it is its turn.
    ///
    /// # Errors
    /// Whatever keeps the models from being loaded or run; [`Error::ParserBusy`] if too many wait already.
    pub async fn parse(&self, pixels: Arc<RgbaImage>) -> Result<Parse, Error> {
        let held = pixels.as_raw().len();
        self.in_turn(held, move |parser| parser.parse(&pixels))
            .await
    }

    /// Waits until no other large picture is worked on, if `encoded` is one. What is given is to be held for as long as
    /// the picture is: several may be admitted at a time.
    ///
    /// # Errors
    /// [`Error::ParserBusy`] if too many wait already.
    pub async fn alone_if_large(&self, encoded: &[u8]) -> Result<impl Send + use<>, Error> {
        let size = picture::dimensions(encoded).ok();
        let bytes = size.map(|(width, height)| u64::from(width) * u64::from(height) * 4);
        if bytes.is_none_or(|bytes| bytes <= LARGE) {
            return Ok(None);
        }
        let turn = self.large.take(Caller::current(), encoded.len()).await;
        turn.map(Some).map_err(|Full| Error::ParserBusy)
    }

    /// Whether pictures stay in this process.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.parser.is_here()
    }

    /// Loads the models, so that the first parse does not have to.
    ///
    /// # Errors
    /// If they cannot be loaded; a parse would fail in the same way.
    pub async fn warm_up(&self) -> Result<(), Error> {
        self.in_turn(0, |admitted| admitted.parser.warm_up()).await
    }

    /// Does something with the parser when it is the turn of this task's caller, off the runtime's workers. `held` is
    /// the memory, in bytes, that `work` holds while it waits.
    ///
    /// # Errors
    /// Those of `work`; [`Error::ParserBusy`] if too many wait already.
    pub async fn in_turn<T: Send + 'static>(
        &self,
        held: usize,
        work: impl FnOnce(&Admitted<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let queued = Instant::now();
        let turn = self.turns.take(Caller::current(), held).await;
        let turn = turn.map_err(|Full| Error::ParserBusy)?;
        let waiting = queued.elapsed();
        let parser = Arc::clone(&self.parser);
        let cancel = CancellationToken::new();
        let seen_by_work = cancel.clone();
        let _cancelled_when_dropped = cancel.drop_guard();
        let done = tokio::task::spawn_blocking(move || {
            // Held until the work has really ended, also if nobody waits for it any more.
            let _turn = turn;
            work(&Admitted {
                parser: &*parser,
                cancel: &seen_by_work,
                waiting,
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
    use crate::parse::Effort;

    /// Finds nothing, and notes who is inside at the same time and who was given up.
    #[derive(Debug, Default)]
    struct Witness {
        inside: AtomicUsize,
        most: AtomicUsize,
        given_up: AtomicUsize,
        /// Held by a test to keep a picture inside.
        gate: Mutex<()>,
    }

    impl Parser for Witness {
        fn parse(&self, _: &Arc<RgbaImage>, cancel: &CancellationToken) -> Result<Parse, Error> {
            let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(inside, Ordering::SeqCst);
            drop(self.gate.lock().unwrap());
            self.inside.fetch_sub(1, Ordering::SeqCst);
            if cancel.is_cancelled() {
                self.given_up.fetch_add(1, Ordering::SeqCst);
                return Err(Error::Cancelled);
            }
            Ok(Parse {
                detections: Arc::new([]),
                lines: Arc::new([]),
                effort: Effort::default(),
            })
        }

        fn warm_up(&self) -> Result<(), Error> {
            Ok(())
        }
    }

    fn queue() -> (Arc<Witness>, Arc<ParseQueue>) {
        let witness = Arc::new(Witness::default());
        let parser = Arc::clone(&witness);
        (witness, Arc::new(ParseQueue::new(parser)))
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
        reason = "the lock is what keeps the picture inside"
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

    #[tokio::test(flavor = "multi_thread")]
    #[expect(
        clippy::await_holding_lock,
        reason = "the lock is what keeps the picture inside"
    )]
    async fn a_caller_with_many_pictures_does_not_keep_others_waiting() {
        let (witness, queue) = queue();
        let gate = witness.gate.lock().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let caller = |port| Caller::at(([127, 0, 0, 1], port).into());
        let mut parses = Vec::new();
        for (index, port) in [1, 1, 1, 1, 2].into_iter().enumerate() {
            let (their_queue, order) = (Arc::clone(&queue), Arc::clone(&order));
            let parse = async move {
                let noting = move |admitted: &Admitted<'_>| {
                    order.lock().unwrap().push(port);
                    admitted.parse(&Arc::default())
                };
                their_queue.in_turn(4, noting).await
            };
            parses.push(tokio::spawn(caller(port).scope(parse)));
            // The first one is inside before the others come, and these come in order.
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
