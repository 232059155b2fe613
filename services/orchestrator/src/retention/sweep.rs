//! One pass over the store: deletes what is too old, brings the index of used blobs up to date, and removes unused blobs.
//!
//! Works in batches, so that runs wait for a single deletion at most. A pass that ends midway has done part of its work; the
//! next one does the rest.
//!
//! Invariant: a blob is removed only if the events that were stored when the pass began name it nowhere, and if it was last
//! stored or renewed longer ago than a writer takes to store the events that name it.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use motorium_proto::domain::id::TaskName;
use motorium_recording::log;
use motorium_store::{
    BlobId, OldSessions, OldTasks, RemovedBlobs, TaskCursor, TaskPart, Tenants, UnindexedTask,
};
use motorium_task::Task;
use motorium_task::spec::{Attachment, AttachmentContent};
use motorium_task::view::ENDED_STATES;
use tokio::time::Instant;

use super::{DUTY_LEASE, Error, KeepTimes, SWEEP_DUTY, Sweeper, references};
use crate::desktops::task_files::{DeletedTask, TaskFiles};

/// Number of tasks or sessions that are looked up at once.
const BATCH_SIZE: u32 = 100;
/// Number of events that are read at once.
// Bounds the memory of one query, as for watches.
const EVENT_BATCH_SIZE: u32 = 100;
/// Number of blobs that are removed at once.
// A removal blocks one of two disk threads, for about a millisecond per hundred files.
const BLOB_BATCH_SIZE: usize = 100;

/// Numbers of things that a sweep has deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeletedCounts {
    pub tasks: u64,
    pub sessions: u64,
    /// Tasks whose recordings were deleted.
    pub recordings: u64,
    /// Tasks whose screenshots were deleted.
    pub screenshots: u64,
    /// Notes of uploads that no task of their tenant uses.
    pub uploads: u64,
    pub files: RemovedBlobs,
    pub elapsed: Duration,
}

impl fmt::Display for DeletedCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "tasks: {}, sessions: {}, recordings: {}, screenshots of tasks: {}, uploads: {}, files: {} ({} bytes), seconds: {:.1}",
            self.tasks,
            self.sessions,
            self.recordings,
            self.screenshots,
            self.uploads,
            self.files.count,
            self.files.bytes,
            self.elapsed.as_secs_f64()
        )
    }
}

impl Sweeper {
    /// Sweeps as the owner of the duty.
    pub(super) async fn sweep(&self, owner: &str, now: SystemTime) -> Result<DeletedCounts, Error> {
        let mut pass = RunningSweep {
            sweeper: self,
            owner,
            now,
            renewed_at: Instant::now(),
            began: Instant::now(),
            deleted: DeletedCounts::default(),
        };
        let rules = pass.rules();
        for rule in &rules {
            pass.delete_tasks(rule).await?;
            pass.delete_sessions(rule).await?;
            pass.delete_recordings(rule).await?;
        }
        pass.index_blobs().await?;
        for rule in &rules {
            pass.delete_screenshots(rule).await?;
        }
        pass.delete_uploads().await?;
        pass.remove_files().await?;
        pass.deleted.elapsed = pass.began.elapsed();
        Ok(pass.deleted)
    }
}

/// A sweep that is going on.
struct RunningSweep<'a> {
    sweeper: &'a Sweeper,
    owner: &'a str,
    now: SystemTime,
    began: Instant,
    /// Time at which the duty was last renewed.
    renewed_at: Instant,
    deleted: DeletedCounts,
}

/// The times for which some tenants keep what they have.
struct TenantRule {
    tenants: Tenants,
    times: KeepTimes,
}

impl RunningSweep<'_> {
    /// Returns the rule of each tenant that has its own, and that of all others.
    fn rules(&self) -> Vec<TenantRule> {
        let policy = &self.sweeper.policy;
        let own = policy.tenants.iter().map(|(tenant, times)| TenantRule {
            tenants: Tenants::One(tenant.clone()),
            times: *times,
        });
        let others = TenantRule {
            tenants: Tenants::AllBut(policy.tenants.keys().cloned().collect()),
            times: policy.times,
        };
        own.chain([others]).collect()
    }

    /// Renews the duty when a third of its lease has passed.
    async fn renew_duty(&mut self) -> Result<(), Error> {
        if self.renewed_at.elapsed() < DUTY_LEASE / 3 {
            return Ok(());
        }
        self.renewed_at = Instant::now();
        let (store, now) = (&self.sweeper.store, SystemTime::now());
        if store
            .take_duty(SWEEP_DUTY, self.owner, DUTY_LEASE, now)
            .await?
        {
            return Ok(());
        }
        Err(Error::Lost)
    }

    /// Returns the next tasks of these tenants that ended longer ago than `age`; none without an age.
    async fn old_tasks(
        &mut self,
        tenants: &Tenants,
        age: Option<Duration>,
        with: Option<TaskPart>,
    ) -> Result<Vec<TaskName>, Error> {
        self.renew_duty().await?;
        let Some(before) = age.and_then(|age| self.now.checked_sub(age)) else {
            return Ok(Vec::new());
        };
        let query = OldTasks {
            states: ENDED_STATES.to_vec(),
            tenants: tenants.clone(),
            before,
            with,
            limit: BATCH_SIZE,
        };
        Ok(self.sweeper.store.old_tasks(query).await?)
    }

    async fn delete_tasks(&mut self, rule: &TenantRule) -> Result<(), Error> {
        loop {
            let old = self
                .old_tasks(&rule.tenants, rule.times.tasks, None)
                .await?;
            if old.is_empty() {
                return Ok(());
            }
            let files = TaskFiles {
                store: self.sweeper.store.clone(),
                desktops: self.sweeper.desktops.clone(),
            };
            let mut deleted = Vec::new();
            for name in old {
                let row = match self.sweeper.store.get_task(&name).await {
                    Err(motorium_store::Error::TaskNotFound { .. }) => continue,
                    row => row?,
                };
                let task = DeletedTask {
                    name,
                    tenant: row.tenant,
                };
                files.announce(&task).await?;
                let removed = self.sweeper.store.delete_task(&task.name, &ENDED_STATES);
                self.deleted.tasks += u64::from(unless_gone(removed.await)?);
                self.sweeper.notifier.notify(&task.name);
                deleted.push(task);
            }
            files.delete(&deleted).await;
        }
    }

    async fn delete_sessions(&mut self, rule: &TenantRule) -> Result<(), Error> {
        let age = rule.times.sessions;
        let Some(before) = age.and_then(|age| self.now.checked_sub(age)) else {
            return Ok(());
        };
        let store = &self.sweeper.store;
        loop {
            let query = OldSessions {
                tenants: rule.tenants.clone(),
                before,
                limit: BATCH_SIZE,
            };
            let old = store.old_sessions(query).await?;
            if old.is_empty() {
                return Ok(());
            }
            for session in old {
                let deleted = store.delete_session(&session, &ENDED_STATES, false).await;
                self.deleted.sessions += u64::from(unless_gone(deleted.map(drop))?);
            }
        }
    }

    async fn delete_recordings(&mut self, rule: &TenantRule) -> Result<(), Error> {
        loop {
            let age = rule.times.recordings;
            let old = self
                .old_tasks(&rule.tenants, age, Some(TaskPart::Notes))
                .await?;
            if old.is_empty() {
                return Ok(());
            }
            for task in old {
                let deleted = self.sweeper.store.delete_notes(&task).await;
                self.deleted.recordings += u64::from(unless_gone(deleted)?);
            }
        }
    }

    /// Adds the blobs of all events that were stored until now to the index.
    async fn index_blobs(&mut self) -> Result<(), Error> {
        let mut after = TaskCursor::default();
        loop {
            self.renew_duty().await?;
            let tasks = self.sweeper.store.unindexed(after, BATCH_SIZE).await?;
            let Some(last) = tasks.last() else {
                return Ok(());
            };
            after = last.cursor;
            for task in &tasks {
                unless_gone(self.index_task(task).await)?;
            }
        }
    }

    async fn index_task(&self, task: &UnindexedTask) -> Result<(), motorium_store::Error> {
        let store = &self.sweeper.store;
        let mut blobs = BTreeSet::new();
        let mut after = task.indexed_seq;
        while after < task.last_seq {
            let events = store.events(&task.name, after, EVENT_BATCH_SIZE).await?;
            let Some(last) = events.last() else {
                break;
            };
            after = last.seq;
            for event in &events {
                blobs.extend(references::blobs(&event.body));
            }
        }
        // Events may have been appended since the task was listed.
        let indexed = UnindexedTask {
            last_seq: after,
            ..task.clone()
        };
        let blobs: Vec<BlobId> = blobs.into_iter().collect();
        store.index_blobs(&indexed, &blobs).await
    }

    async fn delete_screenshots(&mut self, rule: &TenantRule) -> Result<(), Error> {
        loop {
            let age = rule.times.screenshots;
            let old = self
                .old_tasks(&rule.tenants, age, Some(TaskPart::Blobs))
                .await?;
            let before = self.deleted.screenshots;
            for name in old {
                if let Some(files) = self.files_of(&name).await? {
                    let released = self.sweeper.store.release_blobs(&name, &files).await;
                    self.deleted.screenshots += u64::from(unless_gone(released)?);
                }
            }
            // What is left cannot be read by this build, or is gone.
            if self.deleted.screenshots == before {
                return Ok(());
            }
        }
    }

    /// Returns the blobs of a task that are no screenshots; `None` if it is gone, or if this build cannot read its log.
    async fn files_of(&self, name: &TaskName) -> Result<Option<Vec<BlobId>>, Error> {
        match log::load(self.sweeper.store.as_ref(), name).await {
            Ok(task) => Ok(Some(files(&task))),
            Err(log::Error::Store(motorium_store::Error::TaskNotFound { .. })) => Ok(None),
            Err(error @ log::Error::Corrupt { .. }) => {
                tracing::warn!(task = %name, %error, "the screenshots of a task are kept");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes the notes of uploads that are older than an unused file may be. After the index is up to date: it tells which of
    /// them tasks use.
    async fn delete_uploads(&mut self) -> Result<(), Error> {
        let Some(before) = self.now.checked_sub(self.sweeper.policy.unused_files) else {
            return Ok(());
        };
        let store = Arc::clone(&self.sweeper.store);
        let mut after = String::new();
        loop {
            self.renew_duty().await?;
            let old = store.old_uploads(before, &after, BATCH_SIZE).await?;
            let Some(last) = old.last() else {
                return Ok(());
            };
            after.clone_from(last);
            for name in old {
                let deleted = store.delete_unused_upload(&name, before).await?;
                self.deleted.uploads += u64::from(deleted);
            }
        }
    }

    async fn remove_files(&mut self) -> Result<(), Error> {
        let Some(before) = self.now.checked_sub(self.sweeper.policy.unused_files) else {
            return Ok(());
        };
        for shard in 0..=u8::MAX {
            self.renew_duty().await?;
            let old = self.sweeper.blobs.old_blobs(shard, before).await?;
            for batch in old.chunks(BLOB_BATCH_SIZE) {
                let used = self.sweeper.store.used_blobs(batch).await?;
                let unused = batch.iter().copied().filter(|id| !used.contains(id));
                let unused: Vec<BlobId> = unused.collect();
                if !unused.is_empty() {
                    let removed = self.sweeper.blobs.remove_unused(unused, before).await?;
                    self.deleted.files.add(removed);
                }
            }
        }
        Ok(())
    }
}

/// Returns false if what was to be deleted is gone already or is used again.
fn unless_gone(outcome: Result<(), motorium_store::Error>) -> Result<bool, Error> {
    use motorium_store::Error as Store;

    match outcome {
        Ok(()) => Ok(true),
        Err(
            Store::TaskNotFound { .. }
            | Store::ResourceNotFound { .. }
            | Store::SessionNotEmpty { .. },
        ) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns the blobs of a task that are no screenshots: attachments and fetched files.
fn files(task: &Task) -> Vec<BlobId> {
    let attached = task
        .spec
        .attachments
        .iter()
        .chain(&task.message_attachments);
    let uploads = attached.filter_map(|Attachment { content, .. }| match content {
        AttachmentContent::Upload(sha256) => Some(*sha256),
        AttachmentContent::Inline(_) => None,
    });
    let results = task
        .results
        .iter()
        .filter_map(|file| file.artifact.as_ref());
    let results = results.map(|artifact| artifact.sha256);
    uploads.chain(results).map(BlobId::from).collect()
}
