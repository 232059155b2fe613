//! Claims tasks that are due and owned by no one, one for each free desktop.
//!
//! Started tasks go before new ones. A task that cannot run now does not keep others from the desktops it cannot use.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use motorium_kit::shutdown::Shutdown;
use motorium_proto::domain::id::{DesktopName, TaskName};
use motorium_proto::limits::MAX_PAGE_SIZE;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use motorium_store::audit::AuditLog;
use motorium_store::{BlobStore, Claim, ListTasks, TaskNotifier, TaskRow, TaskStore};
use prost::Message as _;
use tokio::sync::Notify;
use tokio::time::Duration;
use tokio_util::task::TaskTracker;

use super::{Assignment, Journal, RunConfig, RunEnd, Runner, StopReason, StopSignal};
use crate::desktops::registration::RegistrationRules;
use crate::desktops::{DesktopPool, DesktopReservation, StartedTask, WorkKind};
use crate::error::Error;
use crate::instance::Instance;
use crate::operators::Operators;
use crate::queue::{self, QueuedTask, TaskScope, WaitAnnouncer};
use crate::screens::Screens;
use crate::sessions;
use motorium_recording::log;
use motorium_task::event::Event;
use motorium_task::machine::{self, Directive};
use motorium_task::spec::{DesktopSelector, selector};
use motorium_task::{Lifecycle, Task, summary};

/// Interval at which the store is queried when nothing wakes the dispatcher.
// Bounds the delay of tasks created or released by other processes.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Number of tasks read in the first query. It grows while desktops stay free.
// Usually more than there are free desktops, so one query is enough.
const CLAIM_BATCH_SIZE: usize = 100;
/// Maximum time for which running tasks may take to stop on shutdown.
// Longer than an action takes to be stopped and the desktop's lease to be released.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Cooldown of a desktop after a task that has not succeeded on it.
// Keeps a failing task or desktop from being retried in a tight loop.
const DESKTOP_COOLDOWN: Duration = Duration::from_secs(1);

/// States of tasks that have started and not ended.
const BEGUN: [State; 3] = [State::Running, State::Paused, State::AwaitingUser];

/// Claims tasks and starts a runner for each.
#[derive(Clone)]
pub struct Dispatcher {
    pub store: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    pub notifier: TaskNotifier,
    pub desktops: DesktopPool,
    /// Rules for the addresses of registered desktops.
    pub registration: RegistrationRules,
    /// Name of this orchestrator in leases. It is stable across restarts, so that the orchestrator reclaims its own
    /// tasks at once.
    pub owner: String,
    /// Keeps the name from other processes.
    pub instance: Option<Arc<Instance>>,
    /// Woken when there may be a task to start.
    pub wake: Arc<Notify>,
    pub run_config: RunConfig,
    /// Duration of a task lease without renewal.
    pub lease_duration: Duration,
    /// Tasks to run.
    pub scope: TaskScope,
    /// Records actions and approvals.
    pub audit: AuditLog,
    /// Ways for the input of people who have taken tasks over.
    pub operators: Operators,
    /// Screens of the tasks that run here.
    pub screens: Screens,
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Dispatcher {
    /// Dispatches until shutdown, then releases all tasks for other orchestrators.
    pub async fn run(self, shutdown: Shutdown) {
        let mut rounds = DispatchLoop {
            dispatcher: self,
            shutdown: shutdown.clone(),
            running: TaskTracker::new(),
            unreadable: HashSet::new(),
            waits: WaitAnnouncer::default(),
        };
        while !shutdown.is_draining() {
            if let Err(error) = rounds.round().await {
                tracing::warn!(%error, "dispatching tasks failed; retrying");
            }
            tokio::select! {
                () = shutdown.draining() => {}
                () = rounds.dispatcher.wake.notified() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
        }
        rounds.running.close();
        if tokio::time::timeout(DRAIN_TIMEOUT, rounds.running.wait())
            .await
            .is_err()
        {
            tracing::warn!("some tasks did not stop in time; they will be recovered");
        }
    }
}

/// The dispatch loop and its state.
struct DispatchLoop {
    dispatcher: Dispatcher,
    shutdown: Shutdown,
    running: TaskTracker,
    /// Tasks whose logs this build cannot read. They are skipped, because another build may be able to.
    unreadable: HashSet<TaskName>,
    /// Records the waits of the first tasks of the queue.
    waits: WaitAnnouncer,
}

impl DispatchLoop {
    async fn round(&mut self) -> Result<(), Error> {
        self.refresh_desktops().await?;
        self.offer(&BEGUN, WorkKind::Resumed).await?;
        self.end_unanswered().await?;
        if self.has_new_task().await? {
            self.record_started_tasks().await?;
        }
        self.offer(&[State::Pending], WorkKind::New).await?;
        self.announce_waits().await
    }

    /// Returns whether a task waits to be started.
    async fn has_new_task(&self) -> Result<bool, Error> {
        let running = self.dispatcher.desktops.running_tasks();
        let limit = running.len() + self.unreadable.len() + 1;
        let due = self.due(&[State::Pending.into()], limit).await?;
        let is_new =
            |row: &TaskRow| !running.contains(&row.name) && !self.unreadable.contains(&row.name);
        Ok(due.iter().any(is_new))
    }

    /// Takes over desktops that were registered, drained or removed at other orchestrators.
    async fn refresh_desktops(&self) -> Result<(), Error> {
        let Dispatcher {
            store,
            desktops,
            registration,
            scope,
            ..
        } = &self.dispatcher;
        match scope {
            TaskScope::All => Ok(desktops
                .sync_with_store(store.as_ref(), registration)
                .await?),
            TaskScope::Only(_) => Ok(()),
        }
    }

    /// Ends tasks whose time is up while they wait for an answer without a desktop, and so without a run.
    async fn end_unanswered(&self) -> Result<(), Error> {
        let mut limit = CLAIM_BATCH_SIZE;
        loop {
            let waiting = self.due(&[State::AwaitingUser.into()], limit).await?;
            if waiting.len() < limit {
                return self.end_those_unanswered(waiting).await;
            }
            limit *= 4;
        }
    }

    async fn end_those_unanswered(&self, waiting: Vec<TaskRow>) -> Result<(), Error> {
        let Dispatcher {
            store, notifier, ..
        } = &self.dispatcher;
        let now = SystemTime::now();
        for row in waiting.iter().filter(|row| may_be_overdue(row, now)) {
            let ended = log::extend(store.as_ref(), &row.name, None, None, |task| {
                Ok::<_, Error>(match machine::directive(task, SystemTime::now()) {
                    Directive::Fail(failure) if task.desktop_released => {
                        summary::closing_events(task, Event::Failed(failure))
                    }
                    _ => Vec::new(),
                })
            });
            match ended.await {
                Ok(extended) if extended.has_grown => notifier.notify(&row.name),
                Ok(_) => {}
                // One task that cannot be read must not keep the others from starting.
                Err(error) => {
                    tracing::warn!(task = %row.name, %error, "a waiting task cannot be checked");
                }
            }
        }
        Ok(())
    }

    /// Tells the first tasks of the queue what they wait for.
    async fn announce_waits(&mut self) -> Result<(), Error> {
        let running = self.dispatcher.desktops.running_tasks();
        let limit = queue::ANNOUNCED_TASKS as usize + running.len();
        let due = self.due(&[State::Pending.into()], limit).await?;
        let waiting = due.into_iter().filter(|row| !running.contains(&row.name));
        let waiting = waiting.filter_map(|row| {
            let (selector, session) = needs(&row).ok()?;
            Some(QueuedTask {
                name: row.name,
                tenant: row.tenant,
                session,
                selector,
            })
        });
        let waiting: Vec<_> = waiting.take(queue::ANNOUNCED_TASKS as usize).collect();
        let Dispatcher {
            store,
            notifier,
            desktops,
            scope,
            ..
        } = &self.dispatcher;
        let announcing = self
            .waits
            .announce(store.as_ref(), notifier, desktops, scope, waiting);
        announcing.await
    }

    /// Assigns free desktops to tasks in these states until either runs out.
    async fn offer(&mut self, states: &[State], work: WorkKind) -> Result<(), Error> {
        let states: Vec<i32> = states.iter().copied().map(i32::from).collect();
        // Tasks that run in this process are leased by this owner and therefore count as claimable.
        let mut running = self.dispatcher.desktops.running_tasks();
        let mut limit = CLAIM_BATCH_SIZE + running.len();
        while self.dispatcher.desktops.has_free(work) {
            let due = self.due(&states, limit).await?;
            let is_idle = |row: &TaskRow| {
                !running.contains(&row.name) && !self.unreadable.contains(&row.name)
            };
            if work == WorkKind::New && due.iter().any(is_idle) {
                self.record_started_tasks().await?;
            }
            for row in &due {
                if running.contains(&row.name) || self.unreadable.contains(&row.name) {
                    continue;
                }
                if waits_without_desktop(row) {
                    continue;
                }
                if self.begin(row, work).await? {
                    running.insert(row.name.clone());
                }
            }
            if due.len() < limit {
                return Ok(());
            }
            limit *= 4;
        }
        Ok(())
    }

    /// Tells the pool which desktops have a task that has started, also those that another orchestrator runs or that wait to be
    /// resumed.
    async fn record_started_tasks(&self) -> Result<(), Error> {
        let Dispatcher {
            store,
            desktops,
            scope,
            ..
        } = &self.dispatcher;
        let now = SystemTime::now();
        let mut started = HashMap::new();
        let mut page_token = None;
        loop {
            let list = ListTasks {
                page_size: MAX_PAGE_SIZE.unsigned_abs(),
                page_token,
                states: BEGUN.map(i32::from).to_vec(),
                ..ListTasks::default()
            };
            let page = store.list_tasks(list).await?;
            for row in page.items {
                // An orchestrator of one task would wait for ever for a leftover that no orchestrator carries out.
                let is_carried_out = *scope == TaskScope::All
                    || row.lease_until.is_some_and(|lease_until| lease_until > now);
                if is_carried_out
                    && !self.unreadable.contains(&row.name)
                    && let Some(desktop) = kept_desktop(&row)
                {
                    let (task, tenant) = (row.name, row.tenant);
                    started.insert(desktop, StartedTask { task, tenant });
                }
            }
            page_token = page.next;
            if page_token.is_none() {
                break;
            }
        }
        desktops.record_started(started);
        Ok(())
    }

    /// Returns up to `limit` tasks in these states that may be claimed, in the order in which they should start.
    async fn due(&self, states: &[i32], limit: usize) -> Result<Vec<TaskRow>, Error> {
        let store = &self.dispatcher.store;
        match &self.dispatcher.scope {
            TaskScope::All => {
                let (owner, now) = (&self.dispatcher.owner, SystemTime::now());
                let limit = u32::try_from(limit).unwrap_or(u32::MAX);
                Ok(store.claimable(states, owner, now, limit).await?)
            }
            TaskScope::Only(name) => match store.get_task(name).await {
                Ok(row) => Ok(Some(row)
                    .filter(|row| states.contains(&row.state))
                    .into_iter()
                    .collect()),
                Err(motorium_store::Error::TaskNotFound { .. }) => Ok(Vec::new()),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// Starts a task if a suitable desktop is free and no other task of its session runs or comes before it.
    async fn begin(&mut self, row: &TaskRow, work: WorkKind) -> Result<bool, Error> {
        let Some((selector, session)) = self.readable_needs(row) else {
            return Ok(false);
        };
        let session = session.filter(|_| work == WorkKind::New);
        if self.has_predecessor(row, &session).await? {
            return Ok(false);
        }
        let Dispatcher {
            store, desktops, ..
        } = &self.dispatcher;
        let (continued, tenant) = (session.as_deref(), &row.tenant);
        let selector =
            queue::session_selector(store.as_ref(), desktops, selector, continued, tenant).await?;
        let Some(taken) = desktops.take(&row.name, &row.tenant, &selector, work) else {
            return Ok(false);
        };
        let Dispatcher { store, owner, .. } = &self.dispatcher;
        let claim = store
            .claim(
                &row.name,
                owner,
                self.dispatcher.lease_duration,
                SystemTime::now(),
            )
            .await?;
        let Some(claim) = claim else {
            return Ok(false);
        };
        // Another orchestrator may have started a task of the session just before the claim.
        if self.has_predecessor(row, &session).await? {
            return self.give_back(&claim).await;
        }
        if session.is_some() {
            sessions::load(store.as_ref(), &claim).await?;
        }
        // Loaded after the claim: only then is the log sure to contain everything that the last owner wrote.
        match log::load(store.as_ref(), &row.name).await {
            Ok(task) if task.lifecycle.is_terminal() => self.give_back(&claim).await,
            Ok(task) => {
                self.carry_out(task, &claim, taken);
                Ok(true)
            }
            Err(error @ log::Error::Corrupt { .. }) => {
                tracing::error!(task = %row.name, %error, "task log is unreadable; the task is skipped");
                self.unreadable.insert(row.name.clone());
                self.give_back(&claim).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn give_back(&self, claim: &Claim) -> Result<bool, Error> {
        let store = &self.dispatcher.store;
        store.release(&claim.task.name, claim.epoch).await?;
        Ok(false)
    }

    async fn has_predecessor(
        &self,
        row: &TaskRow,
        session: &Option<String>,
    ) -> Result<bool, Error> {
        let Dispatcher { store, scope, .. } = &self.dispatcher;
        let before =
            queue::session_predecessor(store.as_ref(), session.clone(), &row.name, scope).await?;
        Ok(before.is_some())
    }

    /// Returns what a task needs to start; `None` if its row cannot be read.
    fn readable_needs(&mut self, row: &TaskRow) -> Option<(DesktopSelector, Option<String>)> {
        let name = &row.name;
        match needs(row) {
            Ok(needs) => Some(needs),
            Err(error) => {
                tracing::error!(task = %name, %error, "task log is unreadable; the task is skipped");
                self.unreadable.insert(name.clone());
                None
            }
        }
    }

    fn carry_out(&self, task: Task, claim: &Claim, taken: DesktopReservation) {
        let Dispatcher {
            store,
            blobs,
            notifier,
            owner,
            wake,
            run_config,
            lease_duration: lease,
            audit,
            operators,
            screens,
            ..
        } = self.dispatcher.clone();
        let journal = Journal::new(store, &notifier, task, claim.epoch, lease, audit);
        let stop = StopSignal::default();
        let DesktopReservation { desktop, ports, .. } = &taken;
        let assignment = Assignment {
            journal,
            desktop: desktop.clone(),
            ports: ports.clone(),
            operators,
            screens,
        };
        let runner = Runner::new(assignment, blobs, stop.clone(), owner, run_config);
        let shutdown = self.shutdown.clone();
        self.running.spawn(async move {
            let work = runner.run();
            tokio::pin!(work);
            let end = tokio::select! {
                end = &mut work => end,
                () = shutdown.draining() => {
                    stop.request(StopReason::Shutdown);
                    work.await
                }
            };
            tracing::info!(?end, "task run ended");
            // The last action of an interrupted task may still take effect and must not be attributed to the next task.
            if !matches!(end, RunEnd::Ended(Lifecycle::Succeeded { .. })) {
                taken.cool_down(DESKTOP_COOLDOWN);
            }
            drop(taken);
            wake.notify_one();
        });
    }
}

/// Returns whether the task waits for an answer and has released its desktop, or was paused before it started, as a task that
/// was restored from a backup.
fn waits_without_desktop(row: &TaskRow) -> bool {
    wire::Task::decode(row.snapshot.clone()).is_ok_and(|task| {
        let is_paused = task.state() == State::Paused;
        task.desktop_released || (is_paused && task.start_time.is_none())
    })
}

/// Returns the desktop of a task that has started on it and has not released it.
fn kept_desktop(row: &TaskRow) -> Option<DesktopName> {
    let task = wire::Task::decode(row.snapshot.clone()).ok()?;
    let desktop = DesktopName::parse("desktop", &task.desktop).ok()?;
    (!task.desktop_released && task.start_time.is_some()).then_some(desktop)
}

/// Returns whether the time of a task that waits without a desktop may be up. Its active time is at most the time since it
/// started, so only these logs have to be read.
fn may_be_overdue(row: &TaskRow, now: SystemTime) -> bool {
    let Ok(task) = wire::Task::decode(row.snapshot.clone()) else {
        return false;
    };
    let started = task.start_time.and_then(|it| SystemTime::try_from(it).ok());
    let limit = task.limits.and_then(|limits| limits.max_duration);
    let limit = limit.and_then(|limit| Duration::try_from(limit).ok());
    let (Some(started), Some(limit)) = (started, limit) else {
        return task.desktop_released;
    };
    let elapsed = now.duration_since(started).unwrap_or_default();
    task.desktop_released && elapsed >= limit
}

/// Returns the selector for a task's desktop, and its session. A started task continues on the same desktop.
fn needs(row: &TaskRow) -> Result<(DesktopSelector, Option<String>), Error> {
    let corrupt = |detail: String| Error::CorruptLog {
        detail: format!("the snapshot of {}: {detail}", row.name),
    };
    let snapshot = wire::Task::decode(row.snapshot.clone());
    let snapshot = snapshot.map_err(|error| corrupt(error.to_string()))?;
    let message = match snapshot.desktop {
        desktop if desktop.is_empty() => snapshot.desktop_selector.unwrap_or_default(),
        desktop => wire::DesktopSelector {
            desktop,
            ..wire::DesktopSelector::default()
        },
    };
    let selector = selector(message).map_err(|error| corrupt(error.to_string()))?;
    let session = Some(snapshot.session).filter(|session| !session.is_empty());
    Ok((selector, session))
}
