//! Deletes what deleted tasks have left in the folders of desktops.
//!
//! A desktop that cannot be reached keeps it for the time being: the deletion of a task does not wait for a machine that may never
//! come back. The store has a record of the desktops that are still to be asked, which are asked again when they are reachable. The
//! record is written before the task is deleted, so that it also remains if this process ends in between.
//!
//! Invariant: files are deleted only of tasks that the store does not have.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use futures::StreamExt as _;
use motorium_kit::shutdown::Shutdown;
use motorium_proto::domain::id::{DesktopName, TaskName};
use motorium_proto::limits::MAX_PAGE_SIZE;
use motorium_proto::service::DeleteFilesRequest;
use motorium_store::{Collection, Error, ListResources, PutResource, ResourceRow, TaskStore};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::time::{Duration, timeout};
use tonic::Code;

use super::{DesktopPool, PooledDesktop};

/// Maximum number of desktops that are called at the same time.
const MAX_CONCURRENT_CALLS: usize = 16;
/// Time that a desktop has to delete the files of a task.
// Removing files takes milliseconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which desktops are asked again without being noticed as reachable again: other orchestrators may have noticed it, and
/// a desktop that runs a task is not probed.
const RETRY_INTERVAL: Duration = Duration::from_secs(300);
/// Time after which a desktop that has not come back is no longer asked.
const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 3600);

/// A deleted task, whose files may be on any desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTask {
    pub name: TaskName,
    pub tenant: String,
}

/// The record of a deletion that desktops have not carried out yet.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PendingDeletion {
    task: String,
    desktops: BTreeSet<String>,
}

/// Deletes files on the desktops of a pool.
#[derive(Clone)]
pub struct TaskFiles {
    pub store: Arc<dyn TaskStore>,
    pub desktops: DesktopPool,
}

impl std::fmt::Debug for TaskFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskFiles").finish_non_exhaustive()
    }
}

impl TaskFiles {
    /// Records that every desktop of the pool is to delete the files of a task which is about to be deleted.
    ///
    /// # Errors
    /// If the store cannot be written. The task must not be deleted then.
    pub async fn announce(&self, task: &DeletedTask) -> Result<(), Error> {
        let mut pending = self.pending(task).await?;
        let desktops = self.desktops.list();
        let names = desktops.iter().map(|entry| entry.desktop.name.to_string());
        pending.desktops.extend(names);
        self.record(task, pending.desktops).await
    }

    /// Deletes the files of tasks that were deleted. Desktops that do not do so are asked again later.
    pub async fn delete(&self, tasks: &[DeletedTask]) {
        for task in tasks {
            let deleted = async {
                let mut left = self.pending(task).await?.desktops;
                let asked = self.delete_on(task, self.desktops.list()).await;
                left.retain(|name| !asked.done.contains(name));
                left.extend(asked.left);
                self.settle(task, left).await
            };
            if let Err(error) = deleted.await {
                tracing::warn!(task = %task.name, %error, "it is not recorded on which desktops the files of a deleted task are left");
            }
        }
    }

    /// Asks desktops again whenever one is reachable again, until shutdown.
    pub async fn retry_until(self, is_reachable_again: Arc<Notify>, shutdown: Shutdown) {
        loop {
            tokio::select! {
                () = shutdown.draining() => return,
                () = is_reachable_again.notified() => {}
                () = tokio::time::sleep(RETRY_INTERVAL) => {}
            }
            tokio::select! {
                () = shutdown.draining() => return,
                retried = self.retry(SystemTime::now()) => if let Err(error) = retried {
                    tracing::warn!(%error, "the files of deleted tasks are left on desktops; they are asked again later");
                }
            }
        }
    }

    /// Asks the reachable desktops again that have files of deleted tasks.
    async fn retry(&self, now: SystemTime) -> Result<(), Error> {
        let mut page_token = None;
        loop {
            let list = ListResources {
                collection: Collection::FileDeletions,
                tenant: None,
                page_size: MAX_PAGE_SIZE.unsigned_abs(),
                page_token,
                labels: Default::default(),
            };
            let page = self.store.list_resources(list).await?;
            for row in page.items {
                self.retry_one(row, now).await?;
            }
            page_token = page.next;
            if page_token.is_none() {
                return Ok(());
            }
        }
    }

    async fn retry_one(&self, row: ResourceRow, now: SystemTime) -> Result<(), Error> {
        let Some((task, pending)) = parse(&row) else {
            tracing::warn!(
                record = row.name,
                "a record of files to delete cannot be read"
            );
            return Ok(());
        };
        match self.store.get_task(&task.name).await {
            Err(Error::TaskNotFound { .. }) => {}
            // It is being deleted, or another one has its name: its own deletion settles the record.
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
        let is_pending = |entry: &PooledDesktop| {
            let name = entry.desktop.name.to_string();
            pending.desktops.contains(&name)
        };
        let desktops = self.desktops.list().into_iter().filter(is_pending);
        let asked = self.delete_on(&task, desktops.collect()).await;
        let mut left = pending.desktops;
        left.retain(|name| !asked.done.contains(name));
        let is_too_old = now
            .duration_since(row.create_time)
            .is_ok_and(|age| age > MAX_AGE);
        if is_too_old && !left.is_empty() {
            tracing::warn!(task = %task.name, desktops = ?left, "the files of a deleted task stay on desktops that have not come back");
            left.clear();
        }
        self.settle(&task, left).await
    }

    /// Asks these desktops to delete the files of a task, except those that are known not to answer.
    async fn delete_on(&self, task: &DeletedTask, desktops: Vec<PooledDesktop>) -> DeletionResult {
        let (reachable, away): (Vec<_>, Vec<_>) =
            desktops.into_iter().partition(|entry| entry.reachable);
        let mut asked = DeletionResult {
            left: away
                .iter()
                .map(|entry| entry.desktop.name.to_string())
                .collect(),
            ..DeletionResult::default()
        };
        let calls: Vec<_> = reachable
            .into_iter()
            .map(|entry| delete(entry, task))
            .collect();
        let mut calls = futures::stream::iter(calls).buffer_unordered(MAX_CONCURRENT_CALLS);
        while let Some((desktop, is_done)) = calls.next().await {
            match is_done {
                true => asked.done.insert(desktop.to_string()),
                false => asked.left.insert(desktop.to_string()),
            };
        }
        asked
    }

    async fn pending(&self, task: &DeletedTask) -> Result<PendingDeletion, Error> {
        match self.store.get_resource(&record_name(task)).await {
            Ok(row) => Ok(parse(&row).map(|(_, pending)| pending).unwrap_or_default()),
            Err(Error::ResourceNotFound { .. }) => Ok(PendingDeletion::default()),
            Err(error) => Err(error),
        }
    }

    /// Records on which desktops files of a task are left.
    async fn settle(&self, task: &DeletedTask, left: BTreeSet<String>) -> Result<(), Error> {
        if !left.is_empty() {
            return self.record(task, left).await;
        }
        let name = record_name(task);
        let removed = self.store.remove_resource(&name, None, SystemTime::now());
        match removed.await {
            Err(Error::ResourceNotFound { .. }) => Ok(()),
            removed => removed,
        }
    }

    async fn record(&self, task: &DeletedTask, desktops: BTreeSet<String>) -> Result<(), Error> {
        if desktops.is_empty() {
            return Ok(());
        }
        let pending = PendingDeletion {
            task: task.name.to_string(),
            desktops,
        };
        let body = serde_json::to_vec(&pending).expect("a record can be written into memory");
        let put = PutResource {
            collection: Collection::FileDeletions,
            name: record_name(task),
            tenant: task.tenant.clone(),
            body: body.into(),
            labels: Default::default(),
            replace: true,
            request: None,
            now: SystemTime::now(),
        };
        self.store.put_resource(put).await.map(drop)
    }
}

/// Desktops that were asked to delete files, by whether they did.
#[derive(Debug, Default)]
struct DeletionResult {
    done: BTreeSet<String>,
    left: BTreeSet<String>,
}

fn record_name(task: &DeletedTask) -> String {
    let collection = Collection::FileDeletions.as_str();
    format!("{collection}/{}", task.name.segment())
}

fn parse(row: &ResourceRow) -> Option<(DeletedTask, PendingDeletion)> {
    let pending: PendingDeletion = serde_json::from_slice(&row.body).ok()?;
    let task = DeletedTask {
        name: TaskName::parse("task", &pending.task).ok()?,
        tenant: row.tenant.clone(),
    };
    Some((task, pending))
}

/// Deletes the files of a task on one desktop, and returns whether it has none any more.
async fn delete(entry: PooledDesktop, task: &DeletedTask) -> (DesktopName, bool) {
    let desktop = entry.desktop.name.clone();
    let request = DeleteFilesRequest {
        display: entry.desktop.display.clone(),
        holder: task.name.to_string(),
        tenant: Some(task.tenant.clone()),
    };
    let deleted = timeout(CALL_TIMEOUT, entry.ports.executor.delete_files(request)).await;
    let problem = match deleted {
        Ok(Ok(())) => return (desktop, true),
        // An Executor of an earlier version.
        Ok(Err(report)) if report.code == Code::Unimplemented => return (desktop, true),
        Ok(Err(report)) => report.message,
        Err(_) => format!("no answer within {} s", CALL_TIMEOUT.as_secs()),
    };
    tracing::warn!(
        %desktop, task = %task.name, problem,
        "the files of a deleted task are left on a desktop; it is asked again when it is reachable"
    );
    (desktop, false)
}
