//! Notices about loops, as events record them.
//!
//! Loops are not detected here: [`loop_detection`](super::loop_detection) does.

/// Pattern of a detected loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LoopPattern {
    Repetition,
    Cycle,
    Stagnation,
}

/// Mitigation of a loop, in order of escalation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mitigation {
    /// The planner is told.
    NotifyPlanner,
    /// Actions without effect are no longer performed on their screen.
    BlockActions,
    /// The user is asked.
    AskUser,
}

/// A detected loop and its mitigation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoopNotice {
    pub pattern: LoopPattern,
    pub mitigation: Mitigation,
    /// Message for the planner, the user and watchers.
    pub message: String,
}

/// A notice that was issued before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IssuedNotice {
    pub measure: Mitigation,
    /// Last step that had started when it was issued.
    pub step: u32,
}
