//! Reasons for leaving the loop, and which errors of services lead to them.

use motorium_messages::Message;
use motorium_proto::error::{ErrorReport, reason};
use motorium_task::Task;
use motorium_task::event::Failure;

use super::StopReason;

/// Reason for leaving the loop.
#[derive(Debug)]
pub(super) enum Halt {
    /// The loop has to evaluate the task again: it was cancelled, interrupted, or its time is up.
    Reevaluate,
    /// This process shuts down; another one will continue the task.
    Shutdown,
    /// Another process owns the task now, or the store is unavailable: nothing more may be written.
    OwnershipLost(String),
    /// The desktop is leased to another holder.
    DesktopBusy,
    /// The task waits for an answer without its desktop.
    DesktopReleased,
    /// The task fails.
    Fail(Failure),
}

pub(super) type RunResult<T = ()> = std::result::Result<T, Halt>;

impl From<StopReason> for Halt {
    fn from(stop: StopReason) -> Self {
        match stop {
            StopReason::Cancelled => Halt::Reevaluate,
            StopReason::Shutdown => Halt::Shutdown,
            StopReason::LeaseLost(reason) => Halt::OwnershipLost(reason),
        }
    }
}

/// Converts a service error during an operation into a halt. On a lost lease the task is released, and the next run
/// leases the desktop again.
pub(super) fn halt(task: &Task, operation: Message<'_>, report: ErrorReport) -> Halt {
    if reason::is_lost_lease(&report.reason) {
        return Halt::OwnershipLost(report.message);
    }
    let failed = Message::OperationFailed {
        operation: &task.text(operation),
        problem: &report.message,
    };
    Halt::Fail(Failure {
        message: task.text(failed),
        reason: report.reason,
    })
}
