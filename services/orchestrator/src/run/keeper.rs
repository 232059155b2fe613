//! Keeps what a running task holds: the task's row and the desktop. When one of them is lost, the run is told.

use std::time::Duration;

use motorium_proto::domain::desktop::Lease;
use motorium_proto::domain::id::{DesktopEpoch, DisplayId};
use motorium_proto::service::{AcquireRequest, Result};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::Code;

use super::{Ports, Runner, Stop, StopSignal};

/// How long giving the desktop back may take; after that its lease runs out by itself.
const GIVE_BACK: Duration = Duration::from_secs(2);

/// The background work that keeps the leases.
#[derive(Debug)]
pub(super) struct Keeper {
    tasks: Vec<JoinHandle<()>>,
    ports: Ports,
    display: DisplayId,
    epoch: DesktopEpoch,
}

impl Keeper {
    pub(super) fn start(runner: &Runner, display: DisplayId, epoch: DesktopEpoch) -> Self {
        let desktop = keep_desktop(
            runner.ports.clone(),
            display.clone(),
            epoch,
            runner.stop.clone(),
        );
        let row = runner.journal.keep(runner.stop.clone());
        Self {
            tasks: vec![tokio::spawn(desktop), tokio::spawn(row)],
            ports: runner.ports.clone(),
            display,
            epoch,
        }
    }

    /// Stops keeping and gives the desktop back.
    pub(super) async fn stop(self) {
        for task in &self.tasks {
            task.abort();
        }
        give_back(&self.ports, self.display.clone(), self.epoch).await;
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// Leases the desktop. A lease that arrives when nobody waits for it any more is given back: the next task would
/// otherwise stand before a desktop that is leased to one that has ended, until that lease runs out.
pub(super) async fn lease(ports: Ports, request: AcquireRequest) -> Result<Lease> {
    let (answer, waiting) = oneshot::channel();
    tokio::spawn(async move {
        let answered = ports.executor.acquire_desktop(request).await;
        if let Err(Ok(lease)) = answer.send(answered) {
            give_back(&ports, lease.display, lease.epoch).await;
        }
    });
    waiting.await.expect("it is answered, come what may")
}

async fn give_back(ports: &Ports, display: DisplayId, epoch: DesktopEpoch) {
    let released = ports.executor.release_desktop(display, epoch);
    let problem = match tokio::time::timeout(GIVE_BACK, released).await {
        Ok(Ok(())) => return,
        Ok(Err(report)) => report.message,
        Err(_) => "no answer in time".to_owned(),
    };
    tracing::warn!(
        problem,
        "the desktop could not be given back; its lease will expire"
    );
}

async fn keep_desktop(ports: Ports, display: DisplayId, epoch: DesktopEpoch, stop: StopSignal) {
    let ttl = AcquireRequest::DEFAULT_TTL;
    loop {
        tokio::time::sleep(ttl / 3).await;
        match ports
            .executor
            .renew_lease(display.clone(), epoch, ttl)
            .await
        {
            Ok(_) => {}
            Err(report) if report.code == Code::FailedPrecondition => {
                stop.request(Stop::LeaseLost(report.message));
                return;
            }
            Err(report) => {
                tracing::warn!(%report, "the desktop's lease could not be renewed; trying again")
            }
        }
    }
}
