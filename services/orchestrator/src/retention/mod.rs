//! Deletes tasks and their parts once they are older than the retention settings allow, and files that no task uses.
//!
//! - [`settings`]: how long tasks and their parts are kept
//! - `references`: the blobs that stored events name
//! - [`sweep`]: one pass over the store
//!
//! If several orchestrators share a store, one of them sweeps at a time, once per interval. The store records who sweeps and when
//! the last sweep was, so that restarts cause no further one. A task that has not ended is not touched.

mod references;
pub mod settings;
pub mod sweep;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_kit::shutdown::Shutdown;
use motorium_store::audit::AuditLog;
use motorium_store::{BlobStore, TaskNotifier, TaskStore};
use tokio::time::Instant;
use uuid::Uuid;

use crate::desktops::DesktopPool;
pub use settings::{KeepTimes, RetentionPolicy, RetentionSettings};
pub use sweep::DeletedCounts;

/// The duty to sweep now. Kept by the orchestrator that sweeps, so that one does at a time.
const SWEEP_DUTY: &str = "sweep";
/// The duty to sweep in this interval. It is kept after the sweep.
const INTERVAL_DUTY: &str = "sweep-interval";
/// Time after which another orchestrator may sweep if the one that does has died. Renewed after every batch.
// Longer than a batch of deletions takes on a slow disk.
const DUTY_LEASE: Duration = Duration::from_secs(300);
/// Interval at which a process looks whether a sweep is due.
// Short against the shortest interval between sweeps; a look is one statement.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Error of a sweep. It has no caller: it is logged, and the next sweep does the rest.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "another process has begun to sweep the store, because this one did not renew its duty in time"
    )]
    Lost,
    #[error(transparent)]
    Store(#[from] motorium_store::Error),
    #[error(transparent)]
    Log(#[from] motorium_recording::log::Error),
}

/// Sweeps a store in the background.
#[derive(Clone)]
pub struct Sweeper {
    pub store: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    pub notifier: TaskNotifier,
    /// Desktops on which deleted tasks may have left files.
    pub desktops: DesktopPool,
    pub policy: RetentionPolicy,
    /// The audit log of this orchestrator.
    pub audit: AuditLog,
}

impl std::fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sweeper")
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

impl Sweeper {
    /// Sweeps when it is due, until shutdown.
    pub async fn run(self, shutdown: Shutdown) {
        let mut audited = Instant::now();
        loop {
            tokio::select! {
                () = shutdown.draining() => return,
                () = tokio::time::sleep(jittered(CHECK_INTERVAL)) => {}
            }
            tokio::select! {
                // A sweep may end anywhere: the next one goes on.
                () = shutdown.draining() => return,
                swept = self.sweep_if_due(SystemTime::now()) => match swept {
                    Ok(Some(swept)) => tracing::info!(%swept, "the store was swept"),
                    Ok(None) => {}
                    Err(error) => tracing::warn!(%error, "sweeping the store failed; it is tried again later"),
                },
            }
            if audited.elapsed() >= self.policy.interval {
                audited = Instant::now();
                self.remove_audit_records(SystemTime::now()).await;
            }
        }
    }

    /// Removes old records of the audit log. Every orchestrator has its own.
    async fn remove_audit_records(&self, now: SystemTime) {
        let Some(keep) = self.policy.audit else {
            return;
        };
        match self.audit.remove_older(keep, now).await {
            Ok(0) => {}
            Ok(files) => tracing::info!(files, "old files of the audit log were removed"),
            Err(error) => {
                tracing::warn!(%error, "the audit log cannot be shortened; it is tried again later")
            }
        }
    }

    /// Sweeps, unless another process does or the last sweep is not an interval ago.
    ///
    /// # Errors
    /// If the store or the blobs cannot be read or written, or another process has taken the duty over.
    pub async fn sweep_if_due(&self, now: SystemTime) -> Result<Option<DeletedCounts>, Error> {
        // A name of its own for each attempt, so that this process, too, finds the interval taken.
        let owner = Uuid::new_v4().to_string();
        let interval = self.policy.interval;
        if !self
            .store
            .take_duty(INTERVAL_DUTY, &owner, interval, now)
            .await?
        {
            return Ok(None);
        }
        if !self
            .store
            .take_duty(SWEEP_DUTY, &owner, DUTY_LEASE, now)
            .await?
        {
            self.store.release_duty(INTERVAL_DUTY, &owner).await?;
            return Ok(None);
        }
        let swept = self.sweep(&owner, now).await;
        self.store.release_duty(SWEEP_DUTY, &owner).await?;
        if swept.is_err() {
            self.store.release_duty(INTERVAL_DUTY, &owner).await?;
        }
        swept.map(Some)
    }
}

/// Returns a duration between half and all of this one, so that orchestrators that started together look at different times.
fn jittered(duration: Duration) -> Duration {
    let chance = f64::from(Uuid::new_v4().as_bytes()[0]) / f64::from(u8::MAX);
    duration.mul_f64(0.5 + chance / 2.0)
}
