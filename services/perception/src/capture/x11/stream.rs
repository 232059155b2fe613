//! Socket to an X server with a deadline on every wait.
//!
//! X client libraries wait forever for a stopped server. Here each job has a deadline, and a wait that exceeds it fails
//! with `TimedOut`, which ends the connection.

use std::io::{self, ErrorKind, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::time::Instant;
use x11rb::rust_connection::{DefaultStream, PollMode, Stream};
use x11rb::utils::RawFdContainer;

/// Deadline of the current job.
#[derive(Debug)]
pub(super) struct Deadline {
    timeout: Duration,
    at: Mutex<Instant>,
}

impl Deadline {
    pub(super) fn new(limit: Duration) -> Arc<Self> {
        Arc::new(Self {
            timeout: limit,
            at: Mutex::new(Instant::now() + limit),
        })
    }

    /// Starts a new job with the full timeout.
    pub(super) fn restart(&self) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + self.timeout;
    }

    pub(super) fn limit(&self) -> Duration {
        self.timeout
    }

    fn remaining(&self) -> Duration {
        let at = *self.at.lock().unwrap_or_else(PoisonError::into_inner);
        at.saturating_duration_since(Instant::now())
    }
}

/// Stream whose waits end at the deadline.
#[derive(Debug)]
pub(super) struct DeadlineStream {
    inner: DefaultStream,
    deadline: Arc<Deadline>,
}

impl DeadlineStream {
    pub(super) fn new(inner: DefaultStream, deadline: Arc<Deadline>) -> Self {
        Self { inner, deadline }
    }
}

impl AsFd for DeadlineStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        AsFd::as_fd(&self.inner)
    }
}

impl Stream for DeadlineStream {
    fn poll(&self, mode: PollMode) -> io::Result<()> {
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, mode.readable());
        flags.set(PollFlags::OUT, mode.writable());
        loop {
            let remaining = self.deadline.remaining();
            if remaining.is_zero() {
                return Err(ErrorKind::TimedOut.into());
            }
            match wait(&mut [PollFd::new(self, flags)], Some(remaining)) {
                Ok(0) => return Err(ErrorKind::TimedOut.into()),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
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
pub(super) fn wait(
    descriptors: &mut [PollFd<'_>],
    limit: Option<Duration>,
) -> Result<usize, Errno> {
    let limit = limit.map(|limit| Timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    poll(descriptors, limit.as_ref())
}
