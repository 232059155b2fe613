//! Limits on the time that calls wait for the server.
//!
//! The X libraries wait on the socket without a limit, so a stopped server would block them for ever.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::time::Instant;
use x11rb::rust_connection::{DefaultStream, PollMode, Stream};
use x11rb::utils::RawFdContainer;

/// Timeout of the calls on one or more connections.
///
/// It limits each wait by itself. Once a job was started, it limits all waits of that job together, so that a server
/// that answers slowly cannot stretch a job of many calls.
#[derive(Debug)]
pub struct Watchdog {
    timeout: Duration,
    /// End of the current job; `None` while waits are limited one by one.
    job_end: Mutex<Option<Instant>>,
}

impl Watchdog {
    /// Creates a watchdog that limits each wait.
    #[must_use]
    pub fn new(timeout: Duration) -> Arc<Self> {
        Arc::new(Self {
            timeout,
            job_end: Mutex::new(None),
        })
    }

    /// Starts a job with the full timeout. It ends with the start of the next one.
    pub fn start_job(&self) {
        let end = Instant::now() + self.timeout;
        *self.job_end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    /// Returns the timeout of a wait or job.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns when a wait that begins now has to end.
    pub(crate) fn wait_end(&self) -> Instant {
        let job_end = *self.job_end.lock().unwrap_or_else(PoisonError::into_inner);
        job_end.unwrap_or_else(|| Instant::now() + self.timeout)
    }
}

/// Socket to the server whose waits the watchdog limits.
#[derive(Debug)]
pub struct WatchedStream {
    inner: DefaultStream,
    watchdog: Arc<Watchdog>,
    /// Set when the watchdog expires. The connection is unusable then, and further errors are consequences of it.
    has_timed_out: AtomicBool,
}

impl WatchedStream {
    pub(crate) fn new(inner: DefaultStream, watchdog: Arc<Watchdog>) -> Self {
        Self {
            inner,
            watchdog,
            has_timed_out: AtomicBool::new(false),
        }
    }

    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.watchdog
    }

    pub(crate) fn has_timed_out(&self) -> bool {
        self.has_timed_out.load(Ordering::Relaxed)
    }
}

impl AsFd for WatchedStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.as_fd()
    }
}

impl Stream for WatchedStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut interest = PollFlags::empty();
        interest.set(PollFlags::IN, mode.readable());
        interest.set(PollFlags::OUT, mode.writable());
        let end = self.watchdog.wait_end();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.has_timed_out.store(true, Ordering::Relaxed);
                return Err(io::ErrorKind::TimedOut.into());
            }
            match poll_for(&mut [PollFd::new(self, interest)], Some(left)) {
                // The time left is checked again: the end may be reached, or a signal has interrupted the wait.
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn read(&self, buffer: &mut [u8], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.read(buffer, descriptors)
    }

    fn write(&self, buffer: &[u8], descriptors: &mut Vec<RawFdContainer>) -> io::Result<usize> {
        self.inner.write(buffer, descriptors)
    }

    fn write_vectored(
        &self,
        buffers: &[IoSlice<'_>],
        descriptors: &mut Vec<RawFdContainer>,
    ) -> io::Result<usize> {
        self.inner.write_vectored(buffers, descriptors)
    }
}

/// Calls `poll(2)` with a duration; `None` waits without limit.
pub(crate) fn poll_for(
    descriptors: &mut [PollFd<'_>],
    limit: Option<Duration>,
) -> Result<usize, Errno> {
    // A duration that the system cannot represent is as good as none.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    poll(descriptors, limit.as_ref())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(80);

    fn stream(watchdog: &Arc<Watchdog>) -> (WatchedStream, UnixStream) {
        let (ours, server) = UnixStream::pair().unwrap();
        let (inner, _) = DefaultStream::from_unix_stream(ours).unwrap();
        (WatchedStream::new(inner, Arc::clone(watchdog)), server)
    }

    fn time_out(stream: &WatchedStream) -> Duration {
        let begun = Instant::now();
        let error = stream.poll(PollMode::Readable).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(stream.has_timed_out());
        begun.elapsed()
    }

    #[test]
    fn each_wait_has_the_full_timeout_outside_a_job() {
        let (stream, mut server) = stream(&Watchdog::new(TIMEOUT));
        assert!(time_out(&stream) >= TIMEOUT);
        assert!(time_out(&stream) >= TIMEOUT);
        server.write_all(b"x").unwrap();
        stream.poll(PollMode::Readable).unwrap();
    }

    #[test]
    fn the_waits_of_a_job_share_its_timeout() {
        let watchdog = Watchdog::new(TIMEOUT);
        let (stream, _server) = stream(&watchdog);
        watchdog.start_job();
        time_out(&stream);
        assert!(time_out(&stream) < TIMEOUT);
        watchdog.start_job();
        assert!(time_out(&stream) >= TIMEOUT / 2);
    }
}
