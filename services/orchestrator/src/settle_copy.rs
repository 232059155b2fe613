//! Settles the tasks of a store that was restored from a backup.
//!
//! After the backup, a task may have gone on: performed what the copy has as planned or pending, and more. It must not do so
//! twice. Every action without an outcome gets an unknown one, pending approvals lapse, the step that was open is dropped, and
//! the task is paused until a person has looked: then it goes on with a new look at the screen. A task that waited to start is paused as well.
//!
//! Nothing is asked of a desktop here: its journal may be as old as the copy.

use motorium_messages::Message;
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_recording::log;
use motorium_store::{ListTasks, TaskStore};
use motorium_task::event::Event;
use motorium_task::view::UNFINISHED_STATES;
use motorium_task::{ApprovalState, Task, summary};

/// Number of tasks that are listed at once.
const BATCH_SIZE: u32 = 100;

/// Settles the tasks of a copy; does nothing to any other store. May be interrupted and repeated.
///
/// # Errors
/// If the store cannot be read or written.
pub(crate) async fn settle(store: &dyn TaskStore) -> Result<(), motorium_store::Error> {
    if !store.is_copy().await? {
        return Ok(());
    }
    let mut settled = 0;
    let mut page_token = None;
    loop {
        let list = ListTasks {
            page_size: BATCH_SIZE,
            page_token,
            states: UNFINISHED_STATES.to_vec(),
            ..ListTasks::default()
        };
        let page = store.list_tasks(list).await?;
        for row in page.items {
            let extended = log::extend(store, &row.name, None, None, |task| {
                Ok::<_, log::Error>(settling_events(task))
            });
            match extended.await {
                Ok(_) => settled += 1,
                // No build that cannot read the log runs the task.
                Err(error @ log::Error::Corrupt { .. }) => {
                    tracing::error!(task = %row.name, %error, "a restored task is left as it is");
                }
                Err(log::Error::Store(error)) => return Err(error),
            }
        }
        page_token = page.next;
        if page_token.is_none() {
            break;
        }
    }
    store.copy_settled().await?;
    tracing::warn!(
        tasks = settled,
        "the store was restored from a backup: unfinished tasks are paused"
    );
    Ok(())
}

fn settling_events(task: &Task) -> Vec<Event> {
    if task.lifecycle.is_terminal() {
        return Vec::new();
    }
    let unknown = || {
        let detail = task.text(Message::ActionOutcomeUnknown);
        ActionOutcome::new(ActionResult::Unknown, detail)
    };
    let mut events: Vec<Event> = task
        .unfinished_actions()
        .map(|action_id| Event::ActionPerformed {
            action_id: action_id.clone(),
            outcome: unknown(),
        })
        .collect();
    // What was asked may have been approved and done.
    let pending = task.approvals.iter();
    let pending = pending.filter(|approval| approval.state == ApprovalState::Pending);
    events.extend(pending.map(|approval| {
        let why = task.text(Message::PausedOnRestore);
        let lapsed = approval.resolved(ApprovalState::Invalidated, "", &why);
        Event::ApprovalResolved(Box::new(lapsed))
    }));
    if task.open_step().is_some() {
        events.push(Event::TargetNotResolved {
            message: task.text(Message::StepDroppedOnRestore),
        });
    }
    match &task.cancel_requested {
        Some(reason) => {
            let reason = reason.clone();
            events.extend(summary::closing_events(task, Event::Cancelled { reason }));
        }
        None => events.push(Event::Paused {
            reason: task.text(Message::PausedOnRestore),
        }),
    }
    events
}
