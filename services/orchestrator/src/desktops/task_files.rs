//! Deletes what deleted tasks have left in the folders of desktops.
//!
//! A desktop that cannot be reached keeps it: the deletion of a task does not wait for a machine that may never come back. The log
//! names it.

use futures::StreamExt as _;
use motorium_proto::domain::id::TaskName;
use motorium_proto::service::DeleteFilesRequest;
use tokio::time::{Duration, timeout};
use tonic::Code;

use super::{DesktopPool, PooledDesktop};

/// Maximum number of desktops that are called at the same time.
const MAX_CONCURRENT_CALLS: usize = 16;
/// Time that a desktop has to delete the files of a task.
// Removing files takes milliseconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// A deleted task, whose files may be on any desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedTask {
    pub name: TaskName,
    pub tenant: String,
}

/// Deletes the files of these tasks on every desktop of the pool.
pub async fn delete_files(desktops: &DesktopPool, tasks: &[DeletedTask]) {
    let desktops = desktops.list();
    let pairs = desktops.iter().flat_map(|desktop| {
        tasks
            .iter()
            .map(move |task| (desktop.clone(), task.clone()))
    });
    let calls: Vec<_> = pairs.map(|(desktop, task)| delete(desktop, task)).collect();
    let mut calls = futures::stream::iter(calls).buffer_unordered(MAX_CONCURRENT_CALLS);
    while calls.next().await.is_some() {}
}

async fn delete(entry: PooledDesktop, task: DeletedTask) {
    let request = DeleteFilesRequest {
        display: entry.desktop.display.clone(),
        holder: task.name.to_string(),
        tenant: Some(task.tenant),
    };
    let deleted = timeout(CALL_TIMEOUT, entry.ports.executor.delete_files(request)).await;
    let problem = match deleted {
        Ok(Ok(())) => return,
        // An Executor of an earlier version.
        Ok(Err(report)) if report.code == Code::Unimplemented => return,
        Ok(Err(report)) => report.message,
        Err(_) => format!("no answer within {} s", CALL_TIMEOUT.as_secs()),
    };
    tracing::warn!(
        desktop = %entry.desktop.name, task = %task.name, problem,
        "the files of a deleted task are left on a desktop"
    );
}
