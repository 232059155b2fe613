//! Changes on the screen and the effect of an action.

use std::time::Duration;

use super::geometry::{CapturePoint, CaptureRect};

/// Bounding box of changed pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedRegion {
    pub bounds: CaptureRect,
    pub changed_pixels: u64,
}

/// Differences between two frames.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeMap {
    /// Fraction, 0 to 1. Frames of different sizes count as completely changed.
    pub changed_share: f64,
    pub changed_pixels: u64,
    pub regions: Vec<ChangedRegion>,
    pub size_differs: bool,
    /// Regions with background motion, which are not counted.
    pub background_motion: Vec<CaptureRect>,
}

/// Verdict on the effect of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The screen changed at the target or at the keyboard focus.
    Confirmed,
    ChangedElsewhere,
    /// Nothing changed during the whole no-effect window.
    NoEffect,
    /// Undecidable: the frames cannot be compared, or the screen never became idle.
    Unknown,
    /// A scroll changed nothing.
    EndReached,
    /// The target moved as it was clicked: it is not known whether the click reached it.
    TargetMoved,
    /// A text was entered, but its field shows another one.
    TextDiffers,
}

impl Verdict {
    /// Returns the name used in exports. It never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Confirmed => "confirmed",
            Verdict::ChangedElsewhere => "changed elsewhere",
            Verdict::NoEffect => "no effect",
            Verdict::Unknown => "unknown",
            Verdict::EndReached => "end reached",
            Verdict::TargetMoved => "target moved",
            Verdict::TextDiffers => "text differs",
        }
    }
}

/// A verdict and its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    pub verdict: Verdict,
    pub change: ChangeMap,
    /// Fraction of changed pixels, 0 to 1.
    pub share_near_target: f64,
    /// The active window or its title changed.
    pub window_changed: bool,
    /// One sentence for people.
    pub explanation: String,
    pub settled: bool,
    /// Time from the action until the screen was idle.
    pub settle_time: Duration,
}

impl Effect {
    /// Returns true if the screen was observed for the effect. After a crash it may not have been.
    #[must_use]
    pub fn was_observed(&self) -> bool {
        self.verdict != Verdict::Unknown || self.settled || !self.settle_time.is_zero()
    }
}

/// Result of an action, as reported by the Executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionResult {
    Performed,
    /// A rule forbids the action; no input was sent.
    Refused,
    Failed,
    /// The process or the display went away during the action. Never repeated.
    Unknown,
    /// Cancelled midway; nothing is left pressed.
    Cancelled,
}

impl ActionResult {
    /// Returns the name used in exports. It never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ActionResult::Performed => "performed",
            ActionResult::Refused => "refused",
            ActionResult::Failed => "failed",
            ActionResult::Unknown => "outcome unknown",
            ActionResult::Cancelled => "not performed",
        }
    }
}

/// Outcome of an action.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionOutcome {
    pub result: ActionResult,
    /// Rule that refused the action, by its name in the configuration.
    pub rule: Option<String>,
    /// Explanation for people.
    pub detail: String,
    /// Pointer position after the action.
    pub pointer: Option<CapturePoint>,
    pub elapsed: Duration,
    /// True if the action id had been performed before; no input was sent this time.
    pub already_performed: bool,
    /// True if the action was cancelled before any of its input was sent.
    pub sent_nothing: bool,
}

impl ActionOutcome {
    /// Creates the outcome of an action that was cancelled before any of its input was sent.
    #[must_use]
    pub fn cancelled_unsent(detail: impl Into<String>) -> Self {
        Self {
            sent_nothing: true,
            ..Self::new(ActionResult::Cancelled, detail)
        }
    }

    /// Creates an outcome with only a result and an explanation.
    #[must_use]
    pub fn new(result: ActionResult, detail: impl Into<String>) -> Self {
        Self {
            result,
            rule: None,
            detail: detail.into(),
            pointer: None,
            elapsed: Duration::ZERO,
            already_performed: false,
            sent_nothing: false,
        }
    }
}
