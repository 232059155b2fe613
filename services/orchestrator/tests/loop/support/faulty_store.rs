//! A store that blocks at a chosen write, like a process that is killed there, or that reports a full disk.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_store::{
    Append, Appended, BlobId, Claim, CreateTask, Created, Error, EventRow, ListResources,
    ListTasks, OldSessions, OldTasks, Page, PutResource, RequestId, ResourceRow, SessionQuery,
    StoreUpkeep, TaskCursor, TaskRow, TaskStore, UnindexedTask,
};
use tokio::sync::watch;

/// Point at which the process dies. Only writes of the loop count, starting at 1; users' writes do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    /// Before the write reaches the disk.
    Before(usize),
    /// After the write, before its result is returned.
    After(usize),
}

/// Blocks at a crash point and signals it.
pub(crate) struct FaultyStore {
    store: Arc<dyn TaskStore>,
    point: Option<CrashPoint>,
    writes: AtomicUsize,
    reached: watch::Sender<bool>,
    full: AtomicBool,
}

impl FaultyStore {
    /// Wraps a store that blocks at this point.
    pub(crate) fn new(store: Arc<dyn TaskStore>, point: Option<CrashPoint>) -> Arc<Self> {
        Arc::new(Self {
            store,
            point,
            writes: AtomicUsize::new(0),
            reached: watch::Sender::new(false),
            full: AtomicBool::new(false),
        })
    }

    /// Returns how often the loop has written.
    pub(crate) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Returns a receiver that signals when the point is reached.
    pub(crate) fn reached(&self) -> watch::Receiver<bool> {
        self.reached.subscribe()
    }

    /// Simulates a full disk.
    pub(crate) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    fn check_space(&self) -> Result<(), Error> {
        if !self.full.load(Ordering::SeqCst) {
            return Ok(());
        }
        Err(Error::Full {
            path: "tasks.db".into(),
        })
    }

    async fn block_until_killed(&self) -> ! {
        self.reached.send_replace(true);
        std::future::pending().await
    }
}

#[async_trait]
impl TaskStore for FaultyStore {
    async fn create_task(&self, task: CreateTask) -> Result<Created, Error> {
        self.check_space()?;
        self.store.create_task(task).await
    }

    async fn get_task(&self, name: &TaskName) -> Result<TaskRow, Error> {
        self.store.get_task(name).await
    }

    async fn list_tasks(&self, list: ListTasks) -> Result<Page<TaskRow>, Error> {
        self.store.list_tasks(list).await
    }

    async fn claimable(
        &self,
        states: &[i32],
        owner: &str,
        now: SystemTime,
        limit: u32,
    ) -> Result<Vec<TaskRow>, Error> {
        self.store.claimable(states, owner, now, limit).await
    }

    async fn session_predecessor(&self, query: SessionQuery) -> Result<Option<TaskRow>, Error> {
        self.store.session_predecessor(query).await
    }

    async fn claim(
        &self,
        name: &TaskName,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<Option<Claim>, Error> {
        self.store.claim(name, owner, ttl, now).await
    }

    async fn renew(
        &self,
        name: &TaskName,
        epoch: TaskEpoch,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<(), Error> {
        self.store.renew(name, epoch, ttl, now).await
    }

    async fn release(&self, name: &TaskName, epoch: TaskEpoch) -> Result<(), Error> {
        self.store.release(name, epoch).await
    }

    async fn append(&self, append: Append) -> Result<Appended, Error> {
        self.check_space()?;
        if append.epoch.is_none() {
            return self.store.append(append).await;
        }
        let number = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if self.point == Some(CrashPoint::Before(number)) {
            self.block_until_killed().await;
        }
        let appended = self.store.append(append).await;
        if self.point == Some(CrashPoint::After(number)) {
            self.block_until_killed().await;
        }
        appended
    }

    async fn events(
        &self,
        name: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> Result<Vec<EventRow>, Error> {
        self.store.events(name, after, limit).await
    }

    async fn notes(&self, name: &TaskName) -> Result<Vec<(EventSeq, Bytes)>, Error> {
        self.store.notes(name).await
    }

    fn generation(&self) -> &str {
        self.store.generation()
    }

    async fn put_resource(&self, put: PutResource) -> Result<ResourceRow, Error> {
        self.store.put_resource(put).await
    }

    async fn get_resource(&self, name: &str) -> Result<ResourceRow, Error> {
        self.store.get_resource(name).await
    }

    async fn remove_resource(
        &self,
        name: &str,
        request: Option<RequestId>,
        now: SystemTime,
    ) -> Result<(), Error> {
        self.check_space()?;
        self.store.remove_resource(name, request, now).await
    }

    async fn list_resources(&self, list: ListResources) -> Result<Page<ResourceRow>, Error> {
        self.store.list_resources(list).await
    }

    async fn check(&self) -> Result<(), Error> {
        self.store.check().await
    }
}

#[async_trait]
impl StoreUpkeep for FaultyStore {
    async fn delete_task(&self, name: &TaskName, ended: &[i32]) -> Result<(), Error> {
        self.store.delete_task(name, ended).await
    }

    async fn delete_session(
        &self,
        name: &str,
        ended: &[i32],
        with_tasks: bool,
    ) -> Result<Vec<TaskName>, Error> {
        self.store.delete_session(name, ended, with_tasks).await
    }

    async fn old_tasks(&self, query: OldTasks) -> Result<Vec<TaskName>, Error> {
        self.store.old_tasks(query).await
    }

    async fn old_sessions(&self, query: OldSessions) -> Result<Vec<String>, Error> {
        self.store.old_sessions(query).await
    }

    async fn old_uploads(
        &self,
        before: SystemTime,
        after: &str,
        limit: u32,
    ) -> Result<Vec<String>, Error> {
        self.store.old_uploads(before, after, limit).await
    }

    async fn delete_unused_upload(&self, name: &str, before: SystemTime) -> Result<bool, Error> {
        self.store.delete_unused_upload(name, before).await
    }

    async fn delete_notes(&self, name: &TaskName) -> Result<(), Error> {
        self.store.delete_notes(name).await
    }

    async fn unindexed(&self, after: TaskCursor, limit: u32) -> Result<Vec<UnindexedTask>, Error> {
        self.store.unindexed(after, limit).await
    }

    async fn index_blobs(&self, task: &UnindexedTask, blobs: &[BlobId]) -> Result<(), Error> {
        self.store.index_blobs(task, blobs).await
    }

    async fn release_blobs(&self, name: &TaskName, kept: &[BlobId]) -> Result<(), Error> {
        self.store.release_blobs(name, kept).await
    }

    async fn used_blobs(&self, ids: &[BlobId]) -> Result<HashSet<BlobId>, Error> {
        self.store.used_blobs(ids).await
    }

    async fn take_duty(
        &self,
        duty: &str,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<bool, Error> {
        self.store.take_duty(duty, owner, ttl, now).await
    }

    async fn release_duty(&self, duty: &str, owner: &str) -> Result<(), Error> {
        self.store.release_duty(duty, owner).await
    }

    async fn is_copy(&self) -> Result<bool, Error> {
        self.store.is_copy().await
    }

    async fn copy_settled(&self) -> Result<(), Error> {
        self.store.copy_settled().await
    }
}
