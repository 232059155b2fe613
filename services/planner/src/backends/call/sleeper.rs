//! Waits between attempts. Injected, so that tests can observe the waits without waiting.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

/// Waits, and provides the jitter.
pub trait Sleeper: fmt::Debug + Send + Sync + 'static {
    /// Waits for this duration.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// Returns a random number from 0 to 1.
    fn jitter(&self) -> f64;
}

/// Real time and random numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioSleeper;

impl Sleeper for TokioSleeper {
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn jitter(&self) -> f64 {
        rand::random()
    }
}
