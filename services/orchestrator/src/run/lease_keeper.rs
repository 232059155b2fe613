//! Renews the leases of a running task: on its row and on its desktop. Stops the run when one is lost.

use std::time::Duration;

use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::id::{DesktopEpoch, DisplayId};
use motorium_proto::service::{AcquireRequest, ReleaseRequest, RenewRequest, Result};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use super::context::RunContext;
use super::{StopReason, StopSignal};
use motorium_recording::ports::Ports;

/// Time limit for releasing the desktop; after that its lease expires by itself.
// The end of a task must not hang on an unreachable Executor.
const LEASE_RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Background tasks that renew the leases.
#[derive(Debug)]
pub(super) struct LeaseKeeper {
    tasks: Vec<JoinHandle<()>>,
    ports: Ports,
    display: DisplayId,
    epoch: DesktopEpoch,
}

impl LeaseKeeper {
    pub(super) fn start(run: &RunContext, lease: &Lease, unsure: CancellationToken) -> Self {
        let (display, epoch) = (lease.display.clone(), lease.epoch);
        let executor = run.ports.executor.clone();
        let renew = move |request| {
            let executor = executor.clone();
            async move { executor.renew_lease(request).await }
        };
        let desktop = keep_desktop(
            renew,
            display.clone(),
            epoch,
            run.interrupts.stop.clone(),
            unsure,
        );
        let row = run.journal.keep_lease(run.interrupts.stop.clone());
        Self {
            tasks: vec![tokio::spawn(desktop), tokio::spawn(row)],
            ports: run.ports.clone(),
            display,
            epoch,
        }
    }

    /// Stops renewing and releases the desktop.
    pub(super) async fn stop(self) {
        for task in &self.tasks {
            task.abort();
        }
        release_lease(&self.ports, self.display.clone(), self.epoch).await;
    }
}

impl Drop for LeaseKeeper {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Leases the desktop. A lease that arrives after the caller was dropped is released, because the next task would
/// otherwise wait until it expires.
pub(super) async fn acquire_lease(ports: Ports, request: AcquireRequest) -> Result<Lease> {
    let (answer, waiting) = oneshot::channel();
    tokio::spawn(async move {
        let answered = ports.executor.acquire_desktop(request).await;
        if let Err(Ok(lease)) = answer.send(answered) {
            release_lease(&ports, lease.display, lease.epoch).await;
        }
    });
    waiting
        .await
        .expect("the spawned task always sends an answer")
}

async fn release_lease(ports: &Ports, display: DisplayId, epoch: DesktopEpoch) {
    let released = ports
        .executor
        .release_desktop(ReleaseRequest { display, epoch });
    let problem = match tokio::time::timeout(LEASE_RELEASE_TIMEOUT, released).await {
        Ok(Ok(())) => return,
        Ok(Err(report)) => report.message,
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::warn!(
        problem,
        "releasing the desktop failed; its lease will expire"
    );
}

async fn keep_desktop<R: Future<Output = Result<Lease>>>(
    renew: impl Fn(RenewRequest) -> R,
    display: DisplayId,
    epoch: DesktopEpoch,
    stop: StopSignal,
    unsure: CancellationToken,
) {
    let request = RenewRequest {
        display,
        epoch,
        ttl: AcquireRequest::DEFAULT_TTL,
    };
    let mut renewed = Instant::now();
    let mut pause = request.ttl / 3;
    loop {
        tokio::time::sleep(pause).await;
        // The lease counts from some time after this.
        let asked = Instant::now();
        // A call may hang, or fail for a moment: the lease is unsure only when little of its time is left.
        let renewal = renew(request.clone());
        tokio::pin!(renewal);
        let unsure_at = renewed + request.ttl * 2 / 3;
        let answer = tokio::select! {
            // An answer comes first: it may be a late, but successful one.
            biased;
            answer = &mut renewal => answer,
            () = tokio::time::sleep_until(unsure_at) => {
                unsure.cancel();
                renewal.await
            }
        };
        match answer {
            Ok(_) => {
                renewed = asked;
                pause = request.ttl / 3;
            }
            Err(report) if report.code == Code::FailedPrecondition => {
                unsure.cancel();
                stop.request(StopReason::LeaseLost(report.message));
                return;
            }
            Err(report) => {
                tracing::warn!(%report, "renewing the desktop's lease failed; retrying");
                if Instant::now() >= unsure_at {
                    unsure.cancel();
                }
                // Several attempts fit into what is left before it is unsure.
                pause = request.ttl / 12;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};
    use std::time::SystemTime;

    use futures::FutureExt as _;
    use motorium_proto::error::ErrorReport;

    use super::*;

    /// Twelfth of a lease: the unit of all times here.
    const UNIT: Duration = AcquireRequest::DEFAULT_TTL.checked_div(12).unwrap();

    /// Answer of the Executor to a renewal.
    #[derive(Debug, Clone, Copy)]
    enum Answer {
        Renewed,
        /// It comes after this many units.
        RenewedAfter(u32),
        Fails,
        Lost,
    }

    /// A keeper whose Executor gives these answers in turn, and then no other.
    struct Kept {
        /// Units after the start at which a renewal was asked for.
        asked: Arc<Mutex<Vec<u32>>>,
        unsure: CancellationToken,
        stop: StopSignal,
        keeper: JoinHandle<()>,
    }

    fn keep(answers: &'static [Answer]) -> Kept {
        let (unsure, stop) = (CancellationToken::new(), StopSignal::default());
        let asked: Arc<Mutex<Vec<u32>>> = Arc::default();
        let began = Instant::now();
        let renewals = Arc::clone(&asked);
        let renew = move |request: RenewRequest| {
            let number = {
                let mut asked = renewals.lock().unwrap();
                let units = began.elapsed().as_millis() / UNIT.as_millis();
                asked.push(u32::try_from(units).unwrap());
                asked.len() - 1
            };
            answer(answers[number.min(answers.len() - 1)], request)
        };
        let display = DisplayId::new(":1");
        let keeper = keep_desktop(
            renew,
            display,
            DesktopEpoch(1),
            stop.clone(),
            unsure.clone(),
        );
        Kept {
            asked,
            unsure,
            stop,
            keeper: tokio::spawn(keeper),
        }
    }

    async fn answer(answer: Answer, request: RenewRequest) -> Result<Lease> {
        let report = |code| Err(ErrorReport::new(code, "TEST", "as the test wants"));
        match answer {
            Answer::Renewed => {}
            Answer::RenewedAfter(units) => tokio::time::sleep(UNIT * units).await,
            Answer::Fails => return report(Code::Unavailable),
            Answer::Lost => return report(Code::FailedPrecondition),
        }
        Ok(Lease {
            display: request.display,
            epoch: request.epoch,
            expires_at: SystemTime::UNIX_EPOCH,
            journal_checkpoint: None,
        })
    }

    /// Checks when renewals are asked for in 24 units, and when the lease becomes unsure.
    async fn check(answers: &'static [Answer], asked: &[u32], unsure_at: Option<u32>) {
        let kept = keep(answers);
        let mut became_unsure = None;
        for unit in 0..24 {
            // In the middle of each unit, so that all of its beginning has happened.
            tokio::time::sleep(if unit == 0 { UNIT / 2 } else { UNIT }).await;
            if kept.unsure.is_cancelled() {
                became_unsure = became_unsure.or(Some(unit));
            }
        }
        kept.keeper.abort();
        assert_eq!(*kept.asked.lock().unwrap(), asked, "{answers:?}");
        assert_eq!(became_unsure, unsure_at, "{answers:?}");
        let is_lost = answers.iter().any(|answer| matches!(answer, Answer::Lost));
        assert_eq!(
            kept.stop.requested().now_or_never().is_some(),
            is_lost,
            "{answers:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_renewal_that_fails_is_retried_while_the_lease_is_sure() {
        use Answer::{Fails, Lost, Renewed, RenewedAfter};
        check(&[Renewed], &[4, 8, 12, 16, 20], None).await;
        // The last of these attempts comes as late as it may.
        check(
            &[Fails, Fails, Fails, Renewed],
            &[4, 5, 6, 7, 11, 15, 19, 23],
            None,
        )
        .await;
        check(
            &[Fails, Fails, Fails, Fails, Renewed],
            &[4, 5, 6, 7, 8, 12, 16, 20],
            None,
        )
        .await;
        // Every attempt fails: unsure after two thirds, long before the lease is over.
        let all: Vec<u32> = (4..24).collect();
        check(&[Fails], &all, Some(8)).await;
        // No answer comes: unsure at the same time.
        check(&[RenewedAfter(99)], &[4], Some(8)).await;
        // The lease counts from the request, not from its late answer at 7: the next one may take until 12.
        check(&[RenewedAfter(3), RenewedAfter(99)], &[4, 11], Some(12)).await;
        check(&[Fails, Lost], &[4, 5], Some(5)).await;
    }
}
