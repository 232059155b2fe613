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
        let desktop = keep_desktop(
            run.ports.clone(),
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

async fn keep_desktop(
    ports: Ports,
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
        let renewal = ports.executor.renew_lease(request.clone());
        tokio::pin!(renewal);
        let answer = tokio::select! {
            answer = &mut renewal => answer,
            () = tokio::time::sleep_until(renewed + request.ttl * 2 / 3) => {
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
                // Several attempts fit into what is left before it is unsure.
                pause = request.ttl / 12;
            }
        }
    }
}
