//! Loads the earlier tasks of a session into a task that follows them, and finds the desktop on which they ran.
//!
//! It happens after the claim and before the run: the log then has what the task knows, so a recovered run and a replay
//! know the same.

use motorium_proto::domain::id::{DesktopName, TaskName};
use motorium_proto::domain::session::EarlierTask;
use motorium_proto::v1::orchestrator as wire;
use motorium_recording::log;
use motorium_store::{Claim, ListTasks, TaskRow, TaskStore};
use motorium_task::event::Event;
use motorium_task::view::ENDED_STATES;
use motorium_task::{Lifecycle, session};
use prost::Message as _;

use crate::error::Error;

/// Records the earlier tasks of the session in the log of a claimed task that has not started.
pub(crate) async fn load(store: &dyn TaskStore, claim: &Claim) -> Result<(), Error> {
    let name = &claim.task.name;
    let task = log::load(store, name).await?;
    let Some(session) = &task.spec.session else {
        return Ok(());
    };
    let tasks = earlier_tasks(store, session.to_string(), name).await?;
    let loaded = log::extend(store, name, Some(claim.epoch), None, |task| {
        let is_known = task.context.earlier_tasks == tasks;
        let is_new = task.lifecycle == Lifecycle::Pending && !is_known;
        let event = || Event::SessionLoaded {
            tasks: tasks.clone(),
        };
        Ok::<_, Error>(is_new.then(event).into_iter().collect())
    });
    loaded.await.map(|_| ())
}

/// Returns the desktop on which the latest task of a session ran that has ended; `None` if none of the latest ones had one.
pub(crate) async fn last_desktop(
    store: &dyn TaskStore,
    session: &str,
) -> Result<Option<DesktopName>, Error> {
    let list = ListTasks {
        page_size: u32::try_from(session::MAX_EARLIER_TASKS).unwrap_or(u32::MAX),
        states: ENDED_STATES.to_vec(),
        session: Some(session.to_owned()),
        ..ListTasks::default()
    };
    let rows = store.list_tasks(list).await?.items;
    let desktop_of = |row: &TaskRow| {
        let task = wire::Task::decode(row.snapshot.clone()).ok()?;
        DesktopName::parse("desktop", &task.desktop).ok()
    };
    Ok(rows.iter().find_map(desktop_of))
}

/// Returns the summaries of the latest tasks of a session that have ended, the oldest first.
async fn earlier_tasks(
    store: &dyn TaskStore,
    session: String,
    task: &TaskName,
) -> Result<Vec<EarlierTask>, Error> {
    let list = ListTasks {
        page_size: u32::try_from(session::MAX_EARLIER_TASKS).unwrap_or(u32::MAX),
        states: ENDED_STATES.to_vec(),
        session: Some(session),
        ..ListTasks::default()
    };
    let mut tasks = Vec::new();
    for row in store.list_tasks(list).await?.items {
        match log::load(store, &row.name).await {
            Ok(earlier) => tasks.extend(session::summarise(&earlier)),
            // A log that this build cannot read must not keep the session from going on.
            Err(error @ log::Error::Corrupt { .. }) => {
                tracing::warn!(%task, earlier = %row.name, %error, "an earlier task is left out");
            }
            // It was deleted since it was listed.
            Err(log::Error::Store(motorium_store::Error::TaskNotFound { .. })) => {}
            Err(error) => return Err(error.into()),
        }
    }
    tasks.reverse();
    Ok(session::bounded(tasks))
}
