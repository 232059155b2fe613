//! Waiting between two attempts, passed in, so that a test knows how long was waited and need not wait itself.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;

/// Waits, and says by how much a wait is shortened.
pub trait Pauses: fmt::Debug + Send + Sync + 'static {
    /// Waits that long.
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()>;

    /// A number from 0 to 1, another one each time.
    fn chance(&self) -> f64;
}

/// Time as it passes, and true chance.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealPauses;

impl Pauses for RealPauses {
    fn wait(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(time))
    }

    fn chance(&self) -> f64 {
        rand::random()
    }
}
