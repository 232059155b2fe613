//! What changed on the screen, and what that says about an action.

use std::time::Duration;

use super::geometry::{CapturePoint, CaptureRect};

/// A box in which pixels changed, tight around them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedRegion {
    pub bounds: CaptureRect,
    pub changed_pixels: u64,
}

/// What changed between two frames.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeMap {
    /// 0 to 1; frames of different sizes count as wholly changed.
    pub changed_share: f64,
    pub changed_pixels: u64,
    pub regions: Vec<ChangedRegion>,
    pub size_differs: bool,
    /// Regions that were moving anyway and are not counted.
    pub noise: Vec<CaptureRect>,
}

/// What an action did to the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Something changed at the target or where the keyboard focus is.
    Confirmed,
    ChangedElsewhere,
    /// Nothing changed during the whole no-effect window.
    NoEffect,
    /// It cannot be said.
    Unknown,
    /// A scroll that changed nothing.
    EndReached,
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    pub verdict: Verdict,
    pub change: ChangeMap,
    /// 0 to 1.
    pub share_near_target: f64,
    /// The active window or its title changed.
    pub window_changed: bool,
    /// One sentence for people.
    pub explanation: String,
    pub settled: bool,
    /// From the action until the screen was quiet.
    pub settle_time: Duration,
}

impl Effect {
    /// Whether anybody looked at the screen for it. What was performed just before a crash may not have been.
    #[must_use]
    pub fn was_watched(&self) -> bool {
        self.verdict != Verdict::Unknown || self.settled || !self.settle_time.is_zero()
    }
}

/// How the Executor left an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionResult {
    Performed,
    /// A rule forbids it; nothing was sent.
    Refused,
    Failed,
    /// The process or the display went away in between. Never repeated.
    Unknown,
    /// Stopped in the middle; nothing is left pressed.
    Cancelled,
}

/// What became of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionOutcome {
    pub result: ActionResult,
    /// For a refusal: the rule, as the configuration names it.
    pub rule: Option<String>,
    /// For people.
    pub detail: String,
    /// Where the pointer was read back.
    pub pointer: Option<CapturePoint>,
    pub elapsed: Duration,
    /// The action id had been performed before; nothing was sent this time.
    pub recorded: bool,
}

/// The last words of the detail of an action that was stopped before any of its input was sent.
pub const NOTHING_SENT: &str = "nothing had been sent";

impl ActionOutcome {
    /// Whether it was stopped before any of its input was sent: as if it had never been begun.
    #[must_use]
    pub fn never_happened(&self) -> bool {
        self.result == ActionResult::Cancelled && self.detail.ends_with(NOTHING_SENT)
    }

    /// An outcome with nothing but a result and words for people.
    #[must_use]
    pub fn new(result: ActionResult, detail: impl Into<String>) -> Self {
        Self {
            result,
            rule: None,
            detail: detail.into(),
            pointer: None,
            elapsed: Duration::ZERO,
            recorded: false,
        }
    }
}
