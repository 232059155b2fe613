//! The directives of the state machine.
//!
//! They are not chosen here ([`machine`](super::machine)), and the run loop carries them out.

use super::event::{Failure, UserRequest};
use super::loop_notice::LoopNotice;

/// The next thing that the run loop has to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Directive {
    /// The task has ended.
    Ended,
    /// Wait for the user.
    AwaitUser,
    Cancel {
        reason: String,
    },
    Fail(Failure),
    /// Start a step by observing the screen.
    Observe,
    /// Ask the planner about the open step.
    Decide,
    /// Perform this action of the open step, or its pending retry.
    Act {
        index: usize,
    },
    /// Judge the effect of the open step's last action. It was performed by a run that ended before it judged the effect.
    Judge,
    /// Reject the decided actions and tell the planner why.
    Refuse {
        message: String,
    },
    /// Extract data from the screen.
    Extract {
        json_schema: String,
        instruction: String,
    },
    /// Make this function call of the open step, or record why it is not made.
    CallFunction {
        index: usize,
    },
    FinishStep,
    /// Record that the task is in a loop.
    Notice(LoopNotice),
    /// The planner claims success: verify it, then succeed.
    Conclude {
        answer: String,
    },
    Ask(UserRequest),
}
