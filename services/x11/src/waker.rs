//! Wakes a thread that waits for its server.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};
use rustix::io::Errno;

use crate::watchdog::poll_for;

/// Wakes a thread from [`wait_readable`]. Clones wake the same thread.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Creates a waker.
    ///
    /// # Errors
    /// If the process has no file descriptors left.
    pub fn new() -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self(Arc::new(descriptor)))
    }

    /// Ends the current wait, or the next one.
    pub fn wake(&self) {
        // A write fails only if the counter is full, and then a wake-up is already pending.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }

    /// Takes back all wake-ups so far. Called after a wait and before the work is looked for.
    pub fn clear(&self) {
        // A read fails only if no wake-up is pending.
        let _ = rustix::io::read(&*self.0, &mut [0u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Waits until one of the descriptors is readable or `limit` has passed. May end early, after a signal.
///
/// # Errors
/// If the system cannot wait for them.
pub fn wait_readable(descriptors: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> = descriptors
        .iter()
        .map(|&descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN))
        .collect();
    match poll_for(&mut polled, limit) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_ends_one_wait() {
        let waker = Waker::new().unwrap();
        waker.wake();
        wait_readable(&[waker.as_fd()], None).unwrap();
        waker.clear();
        // Nothing is pending: without the limit this would not return.
        wait_readable(&[waker.as_fd()], Some(Duration::from_millis(1))).unwrap();
        waker.clear();
    }
}
