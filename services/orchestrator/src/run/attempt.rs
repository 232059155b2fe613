//! One attempt at an action, from its decision to the judgement of its effect.
//!
//! The attempt carries the action through the parts of a run: its targets are resolved, the gate permits it, the
//! actuator performs it, and the judge judges it. Its stage says how far it has come.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::decision::PlannedAction;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;

use motorium_task::{ActionRecord, Task, machine};

/// An action whose targets are resolved to points.
#[derive(Debug, Clone)]
pub(super) struct ResolvedAction {
    pub(super) action: Action<CapturePoint>,
    /// Bounding box of the last target.
    pub(super) target: Option<CaptureRect>,
    /// Element at the last target, as its kind and its text.
    pub(super) label: Option<String>,
    /// The policy takes it for an action that cannot be undone. Known once it is permitted.
    pub(super) is_risky: bool,
    /// Addresses that it may open in an address bar. Known once it is permitted.
    pub(super) addresses: TypedAddresses,
}

/// Addresses that keys or text may open in the address bar of a browser, for the rules of the Executor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TypedAddresses {
    /// Each by its scheme, host and port.
    pub(super) opened: Vec<String>,
    /// Private hosts among them that a person approved. They count as named by the user.
    pub(super) approved_hosts: Vec<String>,
}

/// One attempt at an action.
#[derive(Debug)]
pub(super) struct ActionAttempt {
    pub(super) id: ActionId,
    /// Index of the action in its step.
    pub(super) index: usize,
    /// Attempt number, starting at 0.
    pub(super) number: u32,
    pub(super) planned: PlannedAction,
    /// True for the last action of its step: the step ends with it unless it is retried.
    pub(super) is_last: bool,
    /// The previous attempt.
    pub(super) previous: Option<ActionRecord>,
    pub(super) stage: AttemptStage,
}

/// Stage of an attempt.
#[derive(Debug)]
pub(super) enum AttemptStage {
    /// Its targets have to be found on the current screen.
    Decided,
    /// Its targets are found. It has to be permitted.
    Resolved(ResolvedAction),
    /// The policy, the hooks and the approver allow it on the screen on which it was resolved.
    Permitted(ResolvedAction),
    /// Input was sent. Its effect has to be judged.
    Performed(ResolvedAction),
    /// It goes no further: a recorded event tells why, or what is pending, or its effect is judged.
    Ended,
}

impl ResolvedAction {
    /// Returns the action of an earlier attempt.
    pub(super) fn of(record: &ActionRecord) -> Self {
        Self {
            action: record.action.clone(),
            target: record.target,
            label: record.target_label.clone(),
            is_risky: false,
            addresses: TypedAddresses::default(),
        }
    }

    /// Returns the action of an earlier attempt at a new point.
    pub(super) fn at(
        record: &ActionRecord,
        point: CapturePoint,
        target: Option<CaptureRect>,
    ) -> Self {
        let Ok(action) = record
            .action
            .clone()
            .try_map(|_| Ok::<_, std::convert::Infallible>(point));
        Self {
            action,
            target,
            label: record.target_label.clone(),
            is_risky: false,
            addresses: TypedAddresses::default(),
        }
    }

    /// Returns the action as it is permitted.
    pub(super) fn permitted(self, is_risky: bool, addresses: TypedAddresses) -> Self {
        Self {
            is_risky,
            addresses,
            ..self
        }
    }
}

impl ActionAttempt {
    /// Returns the next attempt at an action of the open step.
    pub(super) fn next(task: &Task, index: usize) -> Option<Self> {
        let step = task.open_step()?;
        let planned = step.planned();
        let before = step
            .actions
            .get(index)
            .filter(|action| action.retry_due.is_some());
        let number = before.map_or(0, |record| record.retries + 1);
        Some(Self {
            id: machine::action_id(&task.spec.name, step.number, index, number),
            index,
            number,
            planned: planned.get(index)?.clone(),
            is_last: index + 1 == planned.len(),
            previous: before.cloned(),
            stage: AttemptStage::Decided,
        })
    }

    /// Returns the first attempt of a step, which another run performed without judging it.
    pub(super) fn performed_earlier(record: &ActionRecord) -> Self {
        Self {
            id: record.action_id.clone(),
            index: 0,
            number: record.retries,
            planned: record.planned.clone(),
            // The next step's observation is not started early for it.
            is_last: false,
            previous: None,
            stage: AttemptStage::Ended,
        }
    }

    /// Returns the id of the previous attempt.
    pub(super) fn retry_of(&self) -> Option<ActionId> {
        let previous = self.previous.as_ref();
        previous.map(|record| record.action_id.clone())
    }

    /// Returns whether an earlier attempt was performed without effect.
    pub(super) fn is_repeated(&self) -> bool {
        self.previous.as_ref().is_some_and(ActionRecord::performed)
    }
}
