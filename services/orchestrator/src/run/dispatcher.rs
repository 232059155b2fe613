//! Finding work: tasks that are due and that nobody carries out are claimed, one for each free desktop.
//!
//! What has begun goes before what has not, and a task that cannot be carried out now keeps no other from its desktop.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::SystemTime;

use motorium_kit::shutdown::Shutdown;
use motorium_proto::domain::id::TaskName;
use motorium_proto::v1::orchestrator as wire;
use motorium_proto::v1::orchestrator::task::State;
use motorium_store::{BlobStore, Claim, Doorbell, TaskRow, TaskStore};
use prost::Message as _;
use tokio::sync::Notify;
use tokio::time::Duration;
use tokio_util::task::TaskTracker;

use super::{Assignment, Conduct, Journal, RunEnd, Runner, Stop, StopSignal};
use crate::desktops::{Desktops, Taken, Work};
use crate::error::Error;
use crate::log;
use crate::task::spec::{DesktopSelector, selector};
use crate::task::{Lifecycle, Task};

/// How often the store is looked at if nobody says that there is something new.
const POLL: Duration = Duration::from_secs(1);
/// Tasks that are looked at first; if a desktop stays free, more of them.
const ROUND: usize = 100;
/// How long running tasks may take to let go when the process ends.
const LET_GO: Duration = Duration::from_secs(10);
/// How long a desktop rests after a task that has not succeeded on it: nothing is tried again without a pause.
const REST: Duration = Duration::from_secs(1);

/// Finds work and gives it to runners.
#[derive(Clone)]
pub struct Dispatcher {
    pub store: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    pub doorbell: Doorbell,
    pub desktops: Desktops,
    /// Names this orchestrator in leases: the same after a restart, so that it takes its own tasks back at once.
    pub owner: String,
    /// Told when there may be something to do.
    pub news: Arc<Notify>,
    pub conduct: Conduct,
    /// How long a task's row stays ours without being renewed.
    pub lease: Duration,
}

impl std::fmt::Debug for Dispatcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dispatcher")
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

impl Dispatcher {
    /// Dispatches until the process ends; then lets all tasks go, for whoever comes next.
    pub async fn run(self, shutdown: Shutdown) {
        let mut rounds = Rounds {
            dispatcher: self,
            shutdown: shutdown.clone(),
            running: TaskTracker::new(),
            unreadable: HashSet::new(),
        };
        while !shutdown.is_draining() {
            if let Err(error) = rounds.round().await {
                tracing::warn!(%error, "tasks cannot be dispatched; trying again");
            }
            tokio::select! {
                () = shutdown.draining() => {}
                () = rounds.dispatcher.news.notified() => {}
                () = tokio::time::sleep(POLL) => {}
            }
        }
        rounds.running.close();
        if tokio::time::timeout(LET_GO, rounds.running.wait())
            .await
            .is_err()
        {
            tracing::warn!("some tasks did not let go in time; they will be recovered");
        }
    }
}

/// One look after another for what is to be done.
struct Rounds {
    dispatcher: Dispatcher,
    shutdown: Shutdown,
    running: TaskTracker,
    /// Tasks whose logs this build cannot read. They are left alone: another build may.
    unreadable: HashSet<TaskName>,
}

impl Rounds {
    async fn round(&mut self) -> Result<(), Error> {
        let begun = [State::Running, State::Paused, State::AwaitingUser];
        self.offer(&begun, Work::Begun).await?;
        self.offer(&[State::Pending], Work::New).await
    }

    /// Offers the free desktops to the tasks in these states, until there is none of either any more.
    async fn offer(&mut self, states: &[State], work: Work) -> Result<(), Error> {
        let states: Vec<i32> = states.iter().copied().map(i32::from).collect();
        // What this process carries out is leased by its owner, and so counts as claimable.
        let mut running = self.dispatcher.desktops.tasks();
        let mut limit = ROUND + running.len();
        while self.dispatcher.desktops.has_free(work) {
            let (owner, now) = (&self.dispatcher.owner, SystemTime::now());
            let most = u32::try_from(limit).unwrap_or(u32::MAX);
            let due = self
                .dispatcher
                .store
                .claimable(&states, owner, now, most)
                .await?;
            for row in &due {
                if running.contains(&row.name) || self.unreadable.contains(&row.name) {
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

    /// Begins to carry a task out, if a desktop that it may have is free.
    async fn begin(&mut self, row: &TaskRow, work: Work) -> Result<bool, Error> {
        let Some(taken) = self.take_desktop(row, work) else {
            return Ok(false);
        };
        let Dispatcher { store, owner, .. } = &self.dispatcher;
        let claim = store
            .claim(&row.name, owner, self.dispatcher.lease, SystemTime::now())
            .await?;
        let Some(claim) = claim else {
            return Ok(false);
        };
        // Only what is read after the claim is sure to be all that the task's last owner has written.
        match log::load(store.as_ref(), &row.name).await {
            Ok(task) if task.lifecycle.is_terminal() => self.give_back(&claim).await,
            Ok(task) => {
                self.carry_out(task, &claim, taken);
                Ok(true)
            }
            Err(error @ Error::CorruptLog { .. }) => {
                tracing::error!(task = %row.name, %error, "the task is left alone");
                self.unreadable.insert(row.name.clone());
                self.give_back(&claim).await
            }
            Err(error) => Err(error),
        }
    }

    async fn give_back(&self, claim: &Claim) -> Result<bool, Error> {
        let store = &self.dispatcher.store;
        store.release(&claim.task.name, claim.epoch).await?;
        Ok(false)
    }

    fn take_desktop(&mut self, row: &TaskRow, work: Work) -> Option<Taken> {
        let name = &row.name;
        match wanted(row) {
            Ok(selector) => self.dispatcher.desktops.take(name, &selector, work),
            Err(error) => {
                tracing::error!(task = %name, %error, "the task is left alone");
                self.unreadable.insert(name.clone());
                None
            }
        }
    }

    fn carry_out(&self, task: Task, claim: &Claim, taken: Taken) {
        let Dispatcher {
            store,
            blobs,
            doorbell,
            owner,
            news,
            conduct,
            lease,
            ..
        } = self.dispatcher.clone();
        let journal = Journal::new(store, &doorbell, &task, claim.epoch, lease);
        let stop = StopSignal::default();
        let Taken { desktop, ports, .. } = &taken;
        let assignment = Assignment {
            task,
            desktop: desktop.clone(),
            ports: ports.clone(),
        };
        let runner = Runner::new(assignment, blobs, journal, stop.clone(), owner, conduct);
        let shutdown = self.shutdown.clone();
        self.running.spawn(async move {
            let work = runner.run();
            tokio::pin!(work);
            let end = tokio::select! {
                end = &mut work => end,
                () = shutdown.draining() => {
                    stop.request(Stop::Shutdown);
                    work.await
                }
            };
            tracing::info!(?end, "task run is over");
            // What a task that was broken off did last may still come to something, and is not the next one's effect.
            if !matches!(end, RunEnd::Ended(Lifecycle::Succeeded { .. })) {
                taken.rest(REST);
            }
            drop(taken);
            news.notify_one();
        });
    }
}

/// Which desktop a task may have. One that has begun goes on where it began.
fn wanted(row: &TaskRow) -> Result<DesktopSelector, Error> {
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
    selector(message).map_err(|error| corrupt(error.to_string()))
}
