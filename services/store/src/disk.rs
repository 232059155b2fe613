//! Threads for what waits for the disk.
//!
//! A task that waits for the disk would hold up all others of its thread, so such work is handed over; the whole of it at
//! once, because handing over and back costs more than reading from the system's cache. `object_store` hands each of its
//! calls over by itself if it finds an async runtime; these threads have none.
//!
//! Not here: an order. Work is begun as it comes and ends when it is done.

use std::fmt;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread;

use async_channel::{Receiver, Sender};
use tokio::sync::oneshot;

use crate::folder::Durability;

/// As many wait at once until the disk has what it was given.
const WAITING: usize = 4;
/// As many hand over to the system's cache. It answers at once, so that more of them would only take the cores from each
/// other and from everything else; two, so that one which has to read from the disk is not all there is.
const HANDING_OVER: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// Hands work over; the threads end with the last clone.
#[derive(Clone)]
pub(crate) struct Disk(Sender<Job>);

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").finish_non_exhaustive()
    }
}

impl Disk {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub(crate) fn start(durability: Durability) -> io::Result<Self> {
        let threads = match durability {
            Durability::Normal => HANDING_OVER,
            Durability::Full => WAITING,
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

    /// Carries this out, also if nobody waits for it any more; `None` if it has panicked.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (outcome, answer) = oneshot::channel();
        let job = move || {
            // Whoever asked may have gone.
            let _ = outcome.send(job());
        };
        // Without threads there is no answer either.
        let _ = self.0.try_send(Box::new(job));
        answer.await.ok()
    }
}

fn work(jobs: &Receiver<Job>) {
    while let Ok(job) = jobs.recv_blocking() {
        // The panic is reported by its hook, and whoever waits is told; the thread goes on.
        let _ = panic::catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_told_and_ends_no_thread() {
        let disk = Disk::start(Durability::Normal).unwrap();
        for _ in 0..2 * HANDING_OVER {
            let outcome = disk.run(|| -> u8 { panic!("as it is to be") }).await;
            assert_eq!(outcome, None);
        }
        assert_eq!(disk.run(|| 7).await, Some(7));
    }
}
