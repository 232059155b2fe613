//! The queue of tasks that wait for a desktop or for an earlier task of their session: why a task has not started, and the
//! events that say so.
//!
//! It starts no task; the dispatcher does. Only the first tasks of the queue get events: each start changes what all
//! others wait for, and a long queue must not write as many events as it has tasks.

use std::collections::HashMap;
use std::time::SystemTime;

use motorium_proto::domain::id::TaskName;
use motorium_proto::v1::orchestrator::task::State;
use motorium_recording::log;
use motorium_store::{SessionQuery, TaskNotifier, TaskStore};
use motorium_task::event::Event;
use motorium_task::spec::DesktopSelector;
use motorium_task::{DesktopWait, Lifecycle, Task};

use crate::desktops::DesktopPool;
use crate::error::Error;
use crate::sessions;

/// Number of tasks at the head of the queue whose waits are recorded.
// Bounds the events that one change of the queue writes; tasks further behind wait long anyway.
pub(crate) const ANNOUNCED_TASKS: u32 = 10;
/// Number of tasks that are read to find a task's place. A task further back gets the place after them.
const COUNTED_TASKS: u32 = 1000;

/// The tasks that an orchestrator runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskScope {
    /// Every task of the store.
    All,
    /// Only this task, which may not exist yet.
    Only(TaskName),
}

/// Returns the task of the same session that has to end before a task starts.
pub(crate) async fn session_predecessor(
    store: &dyn TaskStore,
    session: Option<String>,
    task: &TaskName,
    scope: &TaskScope,
) -> Result<Option<TaskName>, Error> {
    let Some(session) = session else {
        return Ok(None);
    };
    let started = [State::Running, State::Paused, State::AwaitingUser];
    let query = SessionQuery {
        session,
        task: task.clone(),
        started: started.map(i32::from).to_vec(),
        waiting: State::Pending.into(),
        // An orchestrator of one task would wait for ever for a leftover that no orchestrator carries out.
        leased_only: *scope != TaskScope::All,
        now: SystemTime::now(),
    };
    let predecessor = store.session_predecessor(query).await?;
    Ok(predecessor.map(|row| row.name))
}

/// Returns the selector of a task that goes on where the last task of its session ran: its files, windows and logins are there.
/// The task's own selector, if there is no such desktop any more, or the task must not use it.
pub(crate) async fn session_selector(
    store: &dyn TaskStore,
    desktops: &DesktopPool,
    selector: DesktopSelector,
    session: Option<&str>,
    tenant: &str,
) -> Result<DesktopSelector, Error> {
    let (Some(session), None) = (session, &selector.desktop) else {
        return Ok(selector);
    };
    let Some(last) = sessions::last_desktop(store, session).await? else {
        return Ok(selector);
    };
    let narrowed = DesktopSelector {
        desktop: Some(last),
        ..selector.clone()
    };
    let is_there = desktops.takes_tasks(&narrowed, tenant);
    Ok(if is_there { narrowed } else { selector })
}

/// Returns what a task waits for before it starts; `None` if it has started or is about to.
pub(crate) async fn desktop_wait(
    store: &dyn TaskStore,
    desktops: &DesktopPool,
    task: &Task,
    scope: &TaskScope,
) -> Result<Option<DesktopWait>, Error> {
    if task.lifecycle != Lifecycle::Pending {
        return Ok(None);
    }
    let now = SystemTime::now();
    if task.spec.run_after.is_some_and(|start| start > now) {
        return Ok(Some(DesktopWait::StartTime));
    }
    let session = task.spec.session.as_ref().map(ToString::to_string);
    if let Some(task) = session_predecessor(store, session.clone(), &task.spec.name, scope).await? {
        return Ok(Some(DesktopWait::Session { task }));
    }
    if desktops.running_tasks().contains(&task.spec.name) {
        // Its desktop is reserved in this process, and may be leased to a client of another one.
        return Ok(task.desktop_wait.clone());
    }
    let (selector, tenant) = (task.spec.selector.clone(), &task.spec.owner.tenant);
    let selector = session_selector(store, desktops, selector, session.as_deref(), tenant).await?;
    let Some(holds) = desktops.holds(&selector, tenant) else {
        return Ok(None);
    };
    let position = position(store, &task.spec.name, now).await?;
    Ok(Some(DesktopWait::Queued { position, holds }))
}

/// Returns a task's place among the pending tasks that may start.
async fn position(store: &dyn TaskStore, name: &TaskName, now: SystemTime) -> Result<u32, Error> {
    let queue = store
        .claimable(&PENDING, NO_OWNER, now, COUNTED_TASKS)
        .await?;
    let ahead = queue.iter().take_while(|row| row.name != *name).count();
    Ok(u32::try_from(ahead).unwrap_or(u32::MAX).saturating_add(1))
}

/// States of the tasks in the queue: those that have not started.
const PENDING: [i32; 1] = [State::Pending as i32];
/// Owner of no lease: a task that is leased by any orchestrator is not in the queue.
const NO_OWNER: &str = "";

/// A task of the queue, with what it needs to start.
#[derive(Debug)]
pub(crate) struct QueuedTask {
    pub(crate) name: TaskName,
    pub(crate) tenant: String,
    pub(crate) session: Option<String>,
    pub(crate) selector: DesktopSelector,
}

/// Records the waits of the first tasks of the queue.
#[derive(Debug, Default)]
pub(crate) struct WaitAnnouncer {
    /// The waits that this process has recorded.
    announced: HashMap<TaskName, DesktopWait>,
}

impl WaitAnnouncer {
    /// Records the waits of these tasks, which are the first of the queue in order, where they have changed.
    pub(crate) async fn announce(
        &mut self,
        store: &dyn TaskStore,
        notifier: &TaskNotifier,
        desktops: &DesktopPool,
        scope: &TaskScope,
        queue: Vec<QueuedTask>,
    ) -> Result<(), Error> {
        let mut announced = HashMap::new();
        for (queued, position) in queue.into_iter().zip(1..) {
            let QueuedTask {
                name,
                tenant,
                session,
                selector,
            } = queued;
            let predecessor = session_predecessor(store, session.clone(), &name, scope).await?;
            let session = session.as_deref().filter(|_| predecessor.is_none());
            let selector = session_selector(store, desktops, selector, session, &tenant).await?;
            let held = || {
                let holds = desktops.holds(&selector, &tenant)?;
                Some(DesktopWait::Queued { position, holds })
            };
            let wait = predecessor.map(|task| DesktopWait::Session { task });
            let Some(wait) = wait.or_else(held) else {
                continue;
            };
            let known = self.announced.get(&name);
            if !known.is_some_and(|known| known.has_same_holds(&wait)) {
                record_wait(store, notifier, &name, &wait).await?;
            }
            announced.insert(name, wait);
        }
        self.announced = announced;
        Ok(())
    }
}

/// Appends the wait to the task's log, unless the log ends with it or the task has started.
async fn record_wait(
    store: &dyn TaskStore,
    notifier: &TaskNotifier,
    name: &TaskName,
    wait: &DesktopWait,
) -> Result<(), Error> {
    let recorded = log::extend(store, name, None, None, |task| {
        let known = task.desktop_wait.as_ref();
        let is_known = known.is_some_and(|known| known.has_same_holds(wait));
        let waits = task.lifecycle == Lifecycle::Pending && !is_known;
        Ok::<_, Error>(waits.then(|| event(task, wait)).into_iter().collect())
    });
    if recorded.await?.has_grown {
        notifier.notify(name);
    }
    Ok(())
}

/// Returns the event of a wait.
pub(crate) fn event(task: &Task, wait: &DesktopWait) -> Event {
    Event::DesktopAwaited {
        message: wait.description(task.spec.message_language()),
        wait: wait.clone(),
    }
}
