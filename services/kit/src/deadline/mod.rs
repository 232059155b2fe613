//! How much time a call has left: read on arrival, kept to on both sides, handed on to every call made meanwhile.
//!
//! tonic bounds only the head of a response, does not bound streams, and hands nothing on. Here
//! a server cuts the handler *and* the stream it answers with, a client does the same with what it receives, and a
//! handler's own calls get what is left minus a margin, so that they end while there is still time to answer.
//!
//! The deadline of the call being served follows the handler's task. A task that the handler spawns does not inherit
//! it unless it is wrapped in [`inherited`].

mod cut;
pub(crate) mod header;

use std::future::Future;
use std::time::Duration;

use motorium_proto::limits;
use tokio::time::Instant;

pub(crate) use cut::cut;

tokio::task_local! {
    static CURRENT: Deadline;
}

/// The largest share of the time left that is kept back from a call made on behalf of another.
const LARGEST_MARGIN_SHARE: u32 = 10;

/// A moment after which nobody waits for the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// The deadline this far from now. A time beyond what a clock can say is taken as a year.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        Self(Instant::now() + time.min(YEAR))
    }

    /// The deadline at this instant.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// The deadline of the call that this task is serving.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|deadline| *deadline).ok()
    }

    /// The instant itself.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// How much time is left; zero when it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Runs `future` with this as the current deadline. It is handed on to calls, not enforced on the future.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }

    /// The deadline for a call made on behalf of one with this deadline: earlier by
    /// [`DEADLINE_MARGIN`](limits::DEADLINE_MARGIN), but by no more than a tenth of what is left.
    #[must_use]
    pub fn for_nested_call(self) -> Self {
        let margin = limits::DEADLINE_MARGIN.min(self.remaining() / LARGEST_MARGIN_SHARE);
        Self(self.0.checked_sub(margin).unwrap_or(self.0))
    }

    fn scope_sync<R>(deadline: Option<Self>, work: impl FnOnce() -> R) -> R {
        match deadline {
            Some(deadline) => CURRENT.sync_scope(deadline, work),
            None => work(),
        }
    }
}

/// Gives a future that is about to be spawned the deadline of the call that spawns it.
pub fn inherited<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let deadline = Deadline::current();
    async move {
        match deadline {
            Some(deadline) => deadline.scope(future).await,
            None => future.await,
        }
    }
}

/// Waits for the deadline; for ever if there is none.
pub(crate) async fn passed(deadline: Option<Deadline>) {
    match deadline {
        Some(Deadline(instant)) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nested_calls_get_less() {
        for (left, expected) in [(10_000, 9_980), (400, 380), (100, 90), (10, 9)] {
            let deadline = Deadline::after(Duration::from_millis(left));
            assert_eq!(
                deadline.for_nested_call().remaining(),
                Duration::from_millis(expected),
                "{left} ms"
            );
        }
    }

    #[tokio::test]
    async fn a_spawned_task_inherits_when_asked() {
        let deadline = Deadline::after(Duration::from_secs(1));
        let (plain, wrapped) = deadline
            .scope(async {
                let plain = tokio::spawn(async { Deadline::current() });
                let wrapped = tokio::spawn(inherited(async { Deadline::current() }));
                (plain.await.unwrap(), wrapped.await.unwrap())
            })
            .await;
        assert_eq!((plain, wrapped), (None, Some(deadline)));
    }
}
