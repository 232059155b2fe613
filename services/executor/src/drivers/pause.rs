//! A blocking wait that a stop signal ends at once.
//!
//! Drivers use plain threads for their display, because the libraries block. `std::thread::sleep` would delay a stop
//! until its end.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Error;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the thread for `duration`, or until `stop` is cancelled.
///
/// # Errors
/// [`Error::Stopped`] if `stop` is or gets cancelled.
pub(crate) fn pause(duration: Duration, stop: &CancellationToken) -> Result<(), Error> {
    let end = Instant::now() + duration;
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut stopped = pin!(stop.cancelled());
    loop {
        if let Poll::Ready(()) = stopped.as_mut().poll(&mut context) {
            return Err(Error::Stopped);
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::park_timeout(left);
    }
}

/// Checks the stop signal.
///
/// # Errors
/// [`Error::Stopped`] if `stop` has been cancelled.
pub(crate) fn check(stop: &CancellationToken) -> Result<(), Error> {
    if stop.is_cancelled() {
        Err(Error::Stopped)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_ends_the_pause_at_once() {
        let stop = CancellationToken::new();
        let from_elsewhere = stop.clone();
        let waiting = std::thread::spawn(move || pause(Duration::from_secs(3600), &from_elsewhere));
        stop.cancel();
        assert_eq!(waiting.join().unwrap(), Err(Error::Stopped));
        assert_eq!(pause(Duration::ZERO, &stop), Err(Error::Stopped));
        assert_eq!(
            pause(Duration::from_millis(1), &CancellationToken::new()),
            Ok(())
        );
    }
}
