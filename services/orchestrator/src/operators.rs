//! Channels for the input of people to the desktops of tasks that they have taken over.
//!
//! The run of a task opens the channel when the desktop is taken over, and closes it before the task goes on. It passes inputs on one
//! at a time, so a person and the agent never act at the same time. This module knows neither the Executor nor the rights of
//! callers: the run and the edge do.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::ActionOutcome;
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::TaskName;
use tokio::sync::{mpsc, oneshot, watch};

/// Time that a run has to open the channel after its desktop was taken over.
// It first stops what it is doing, which takes up to two seconds.
const OPENING_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of inputs in a channel. Senders wait for room.
const CAPACITY: usize = 32;

/// An input to a desktop.
#[derive(Debug)]
pub struct OperatorInput {
    pub(crate) request: OperatorRequest,
    /// Receives the outcome. It is dropped if the input is not performed.
    pub(crate) answer: oneshot::Sender<OperatorAnswer>,
}

/// A request of the person who has the desktop.
#[derive(Debug, Clone)]
pub(crate) enum OperatorRequest {
    Perform(Action<CapturePoint>),
    /// Read the text of the clipboard, for the clipboard of the person.
    ReadClipboard {
        /// Only what was copied since the last keys that may copy.
        only_if_copied: bool,
    },
}

/// Outcome of an input.
pub(crate) struct OperatorAnswer {
    pub(crate) outcome: ActionOutcome,
    /// Text that was read from the clipboard.
    pub(crate) clipboard_text: Option<String>,
}

impl fmt::Debug for OperatorAnswer {
    // The text is the person's own and must not reach a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperatorAnswer")
            .field("outcome", &self.outcome)
            .field("has_text", &self.clipboard_text.is_some())
            .finish()
    }
}

impl From<ActionOutcome> for OperatorAnswer {
    fn from(outcome: ActionOutcome) -> Self {
        Self {
            outcome,
            clipboard_text: None,
        }
    }
}

/// Sends inputs until the desktop is handed back.
pub(crate) type OperatorSender = mpsc::Sender<OperatorInput>;

#[derive(Debug, Clone)]
struct Channel {
    operator: String,
    inputs: OperatorSender,
}

/// The open channels of one process.
#[derive(Debug, Clone, Default)]
pub struct Operators {
    open: watch::Sender<HashMap<TaskName, Channel>>,
}

impl Operators {
    /// Opens the channel for the person who has taken the task over. It is closed when the result is dropped.
    pub(crate) fn open(&self, task: TaskName, operator: String) -> OpenChannel {
        let (sender, inputs) = mpsc::channel(CAPACITY);
        let channel = Channel {
            operator,
            inputs: sender.clone(),
        };
        let name = task.clone();
        self.open.send_modify(|open| {
            open.insert(name, channel);
        });
        OpenChannel {
            operators: self.clone(),
            task,
            // A weak one: the channel is closed for senders that remain.
            sender: sender.downgrade(),
            inputs,
        }
    }

    /// Returns the channel for a person who has taken the task over, once it is open. `None` if it is not opened in time.
    pub(crate) async fn find(&self, task: &TaskName, operator: &str) -> Option<OperatorSender> {
        let mut open = self.open.subscribe();
        let is_open = |open: &HashMap<TaskName, Channel>| {
            open.get(task)
                .is_some_and(|channel| channel.operator == operator)
        };
        let found = tokio::time::timeout(OPENING_TIMEOUT, open.wait_for(is_open)).await;
        let found = found.ok()?.ok()?;
        found.get(task).map(|channel| channel.inputs.clone())
    }
}

/// The end of a channel at the run.
#[derive(Debug)]
pub(crate) struct OpenChannel {
    operators: Operators,
    task: TaskName,
    sender: mpsc::WeakSender<OperatorInput>,
    inputs: mpsc::Receiver<OperatorInput>,
}

impl OpenChannel {
    /// Returns the next input. It waits for ever if there are no senders.
    pub(crate) async fn next(&mut self) -> OperatorInput {
        match self.inputs.recv().await {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }
}

impl Drop for OpenChannel {
    fn drop(&mut self) {
        let own = self.sender.upgrade();
        self.operators.open.send_if_modified(|open| {
            let is_own = open.get(&self.task).is_some_and(|channel| {
                own.as_ref()
                    .is_some_and(|own| own.same_channel(&channel.inputs))
            });
            if is_own {
                open.remove(&self.task);
            }
            is_own
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task() -> TaskName {
        TaskName::from_segment("t").unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_person_who_took_over_finds_the_way() {
        let operators = Operators::default();
        assert!(operators.find(&task(), "ann").await.is_none());
        let channel = operators.open(task(), "ann".to_owned());
        assert!(operators.find(&task(), "ann").await.is_some());
        assert!(operators.find(&task(), "bob").await.is_none());
        drop(channel);
        assert!(operators.find(&task(), "ann").await.is_none());
    }

    #[tokio::test]
    async fn a_way_is_closed_for_those_who_have_found_it() {
        let operators = Operators::default();
        let channel = operators.open(task(), "ann".to_owned());
        let sender = operators.find(&task(), "ann").await.unwrap();
        // Another take-over by the same person is another period.
        let second = operators.open(task(), "ann".to_owned());
        drop(channel);
        assert!(sender.is_closed());
        assert!(operators.find(&task(), "ann").await.is_some());
        drop(second);
    }
}
