//! Thread pool for disk I/O.
//!
//! A task that waits for the disk would block all others of its thread, so such work runs here. An operation runs as one
//! job, because a hand-over between threads costs more than a read from the system's cache. `object_store` would move each
//! of its calls to a blocking thread if it found an async runtime; these threads have none.
//!
//! Jobs have no guaranteed order of completion.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use async_channel::{Receiver, Sender};
use tokio::sync::oneshot;

use crate::folder::Durability;

/// Number of threads with full durability.
// Each waits for the disk at every write, so several writes must be in flight at once.
const FULL_DURABILITY_THREADS: usize = 4;
/// Number of threads with normal durability.
// Writes go to the system's cache and do not wait, so more threads would only compete for cores. Two, so that one that
// reads from the disk does not block everything.
const NORMAL_DURABILITY_THREADS: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// A handle to the thread pool. The threads end with its last clone.
#[derive(Clone)]
pub(crate) struct DiskPool(Sender<Job>);

impl fmt::Debug for DiskPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

impl DiskPool {
    /// Starts the threads.
    ///
    /// # Errors
    /// If no thread can be created.
    pub(crate) fn start(durability: Durability) -> io::Result<Self> {
        let threads = match durability {
            Durability::Normal => NORMAL_DURABILITY_THREADS,
            Durability::Full => FULL_DURABILITY_THREADS,
        };
        let (sender, jobs) = async_channel::unbounded();
        for _ in 0..threads {
            let jobs = jobs.clone();
            thread::Builder::new()
                .name("store-disk".to_owned())
                .spawn(move || work(&jobs))?;
        }
        Ok(Self(sender))
    }

    /// Runs a job to its end, even if the future is dropped. Returns `None` if the job panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (outcome, answer) = oneshot::channel();
        let job = move || {
            // Ignored: the caller may have dropped the future.
            let _ = outcome.send(job());
        };
        // Ignored: without threads, the receiver below reports it.
        let _ = self.0.try_send(Box::new(job));
        answer.await.ok()
    }
}

fn work(jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv_blocking() {
        // The panic hook logs the panic and the caller gets `None`; the thread continues.
        let _ = panic::catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panic_in_a_disk_job_ends_no_thread() {
        let disk = DiskPool::start(Durability::Normal).unwrap();
        for _ in 0..2 * NORMAL_DURABILITY_THREADS {
            let outcome = disk.run(|| -> u8 { panic!("as it is to be") }).await;
            assert_eq!(outcome, None);
        }
        assert_eq!(disk.run(|| 7).await, Some(7));
    }
}
