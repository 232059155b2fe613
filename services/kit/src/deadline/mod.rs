//! Deadlines of calls: enforced on servers and clients, and propagated to nested calls.
//!
//! tonic limits only the head of a response, does not limit streams, and propagates nothing. Here a server ends both
//! the handler and its response stream at the deadline, and a client does the same with the response. Calls made by a
//! handler get the remaining time minus a margin, so that they end while there is still time to respond.
//!
//! The deadline of the current call is bound to the handler's task. A task that the handler spawns does not inherit it
//! unless it is wrapped in [`inherited`].

mod cutoff;
pub(crate) mod header;

use std::future::Future;
use std::time::Duration;

use motorium_proto::limits;
use tokio::time::Instant;

pub(crate) use cutoff::with_cutoff;

tokio::task_local! {
    static CURRENT: Deadline;
}

/// Divisor for the maximum margin of a nested call: at most a tenth of the remaining time.
// Keeps short deadlines usable: with the fixed margin alone, a call with 20 ms left could make no call at all.
const MAX_MARGIN_DIVISOR: u32 = 10;

/// The time after which the caller no longer waits for the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Instant);

impl Deadline {
    /// Creates a deadline after this time. Longer times are capped at a year.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        // Adding `Duration::MAX` to an instant would overflow.
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        Self(Instant::now() + time.min(YEAR))
    }

    /// Creates a deadline at this instant.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self(instant)
    }

    /// Returns the deadline of the call that this task serves.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(|deadline| *deadline).ok()
    }

    /// Returns the instant.
    #[must_use]
    pub fn instant(self) -> Instant {
        self.0
    }

    /// Returns the remaining time; zero after the deadline.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Runs `future` with this as the current deadline, which is propagated to calls but not enforced on the future.
    pub async fn scope<F: Future>(self, future: F) -> F::Output {
        CURRENT.scope(self, future).await
    }

    /// Returns the deadline for a nested call: earlier by [`DEADLINE_MARGIN`](limits::DEADLINE_MARGIN), but at most by a
    /// tenth of the remaining time.
    #[must_use]
    pub fn for_nested_call(self) -> Self {
        let margin = limits::DEADLINE_MARGIN.min(self.remaining() / MAX_MARGIN_DIVISOR);
        Self(self.0.checked_sub(margin).unwrap_or(self.0))
    }

    fn scope_sync<R>(deadline: Option<Self>, work: impl FnOnce() -> R) -> R {
        match deadline {
            Some(deadline) => CURRENT.sync_scope(deadline, work),
            None => work(),
        }
    }
}

/// Wraps a future that is about to be spawned, so that it inherits the current deadline.
pub fn inherited<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let deadline = Deadline::current();
    async move {
        match deadline {
            Some(deadline) => deadline.scope(future).await,
            None => future.await,
        }
    }
}

/// Waits until the deadline; forever if there is none.
pub(crate) async fn wait_for_deadline(deadline: Option<Deadline>) {
    match deadline {
        Some(Deadline(instant)) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nested_calls_get_a_shorter_deadline() {
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
