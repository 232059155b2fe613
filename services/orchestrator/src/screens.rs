//! Screens of the tasks that this process runs, for callers who may see the tasks.
//!
//! A run shows its screen while it has the lease of its desktop, and hides it before the desktop can be another task's. This module
//! knows nothing of callers: the edge decides who sees a task.
//!
//! A live screen is not redacted as stored screenshots are, so a run hides its screen before it enters a secret, and shows none
//! where hooks redact.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use motorium_proto::domain::id::{DisplayId, TaskName};
use motorium_proto::service::Perception;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Time that a run has to show its screen after it has its desktop.
// Hooks are asked first whether they redact.
const OPENING_TIMEOUT: Duration = Duration::from_secs(1);

/// The screen of a task.
#[derive(Clone)]
pub(crate) struct TaskScreen {
    pub(crate) perception: Arc<dyn Perception>,
    pub(crate) display: DisplayId,
    /// Cancelled when the screen may no longer be shown.
    pub(crate) hidden: CancellationToken,
}

impl fmt::Debug for TaskScreen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskScreen").finish_non_exhaustive()
    }
}

/// The screens that are shown by one process.
#[derive(Debug, Clone, Default)]
pub struct Screens {
    shown: watch::Sender<HashMap<TaskName, TaskScreen>>,
}

impl Screens {
    /// Shows the screen of a task until the result is dropped, or its lease of the desktop is no longer sure.
    pub(crate) fn show(
        &self,
        task: TaskName,
        perception: Arc<dyn Perception>,
        display: DisplayId,
        lease_unsure: &CancellationToken,
    ) -> OpenScreen {
        let hidden = lease_unsure.child_token();
        let screen = TaskScreen {
            perception,
            display,
            hidden: hidden.clone(),
        };
        self.shown.send_modify(|shown| {
            shown.insert(task.clone(), screen);
        });
        OpenScreen {
            screens: self.clone(),
            task,
            hidden,
        }
    }

    /// Returns the screen of a task, once it is shown. `None` if that takes too long.
    pub(crate) async fn find(&self, task: &TaskName) -> Option<TaskScreen> {
        let mut shown = self.shown.subscribe();
        let is_shown = |shown: &HashMap<TaskName, TaskScreen>| {
            shown
                .get(task)
                .is_some_and(|screen| !screen.hidden.is_cancelled())
        };
        let found = tokio::time::timeout(OPENING_TIMEOUT, shown.wait_for(is_shown)).await;
        found.ok()?.ok()?.get(task).cloned()
    }
}

/// A screen that is shown.
#[derive(Debug)]
pub(crate) struct OpenScreen {
    screens: Screens,
    task: TaskName,
    hidden: CancellationToken,
}

impl Drop for OpenScreen {
    fn drop(&mut self) {
        self.hidden.cancel();
        self.screens.shown.send_if_modified(|shown| {
            // A later run of the task may show it already.
            let is_over = |screen: &TaskScreen| screen.hidden.is_cancelled();
            let is_own = shown.get(&self.task).is_some_and(is_over);
            if is_own {
                shown.remove(&self.task);
            }
            is_own
        });
    }
}
