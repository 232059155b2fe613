//! An exported task as the source of a replay, and the comparison of what the replay does with what was recorded.
//!
//! - [`folder`]: an exported task, read from the disk
//! - [`player`]: answers the loop from the recording, in memory, and compares its requests and events with it
//! - [`compare`]: where two messages differ, in words
//! - [`report`]: the result of a replay
//!
//! The run itself is driven by the Orchestrator, whose loop, state machine, rules and effect judgement are the real ones.

pub mod compare;
mod difference;
pub mod folder;
pub mod player;
pub mod report;

pub use difference::Difference;
pub use report::{ReplayReport, StepReport};
