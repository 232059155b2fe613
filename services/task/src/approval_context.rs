//! Surroundings of a risky action's target, as an approver was shown them, and the differences that void an approval.
//!
//! - `area`: the areas around a target that count
//! - `read`: reads the surroundings from a screen
//! - `motion`: motion in which nothing counts
//! - `tooltip`: the tooltip of the pointer
//! - `difference`: what has changed, and the words for it
//! - `wire`: the API message
//!
//! A person who approves a click on `Pay` approves the amount and the recipient that stand beside it, in this window and on this
//! page. The surroundings are therefore compared by what they say: texts, amounts, recipients, window and origin of the page.
//! How they are drawn does not count, so that a caret, a clock, a highlight or a spinner voids nothing. The look of the target
//! itself is compared by its caller.
//!
//! Pure. It neither captures the screen nor decides what follows from a difference.

mod area;
mod difference;
mod motion;
mod read;
mod tooltip;
mod wire;

use motorium_proto::domain::geometry::CaptureRect;

pub use area::{dialog_area, evidence_area, is_dialog};
pub use difference::{Comparison, ContextChange};
pub use motion::harmless_motion;
pub use tooltip::{is_covered, tooltip};

/// Maximum difference of the sides of two boxes of one target, in pixels.
// Detected boxes of one control are off by a pixel or two; two controls are farther apart than 4 px.
const SAME_TARGET_PX: i32 = 4;

/// The place that an action is judged at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedTarget {
    /// Area of the target or, for keys and text, of the keyboard focus. `None` if it is not known: the whole window counts.
    pub area: Option<CaptureRect>,
    /// Origin of the page; empty if no browser is in front or its page is not known.
    pub page_origin: String,
    /// Further texts that were used to judge the action, such as the question that a button answers.
    pub question: Vec<String>,
    /// Check boxes, radio buttons and switches around the target count. False in a replay of a recording from before.
    pub with_toggles: bool,
}

/// Surroundings of a target by what they say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ApprovalContext {
    pub application: String,
    pub window_title: String,
    /// Origin of the page; empty if no browser is in front or its page is not known.
    pub page_origin: String,
    pub target: Option<CaptureRect>,
    /// Texts on the target.
    pub target_texts: Vec<String>,
    /// Texts around the target in reading order.
    pub texts: Vec<String>,
    /// Texts of the question that the action answers.
    pub question: Vec<String>,
    /// Amounts in the dialog around the target.
    pub amounts: Vec<String>,
    /// Recipients in the dialog around the target: names, addresses and account numbers.
    pub recipients: Vec<String>,
    /// Areas that changed by themselves; texts there do not count.
    pub moving: Vec<CaptureRect>,
    /// True if the pointer was on the target, which may have been highlighted.
    pub pointer_on_target: bool,
}

impl ApprovalContext {
    /// Returns true if the area is the target of this context, as far as detected boxes are exact.
    #[must_use]
    pub fn is_at(&self, area: Option<CaptureRect>) -> bool {
        let near = |one: i32, other: i32| (one - other).abs() <= SAME_TARGET_PX;
        match (self.target, area) {
            (Some(target), Some(area)) => {
                near(target.min.x, area.min.x)
                    && near(target.min.y, area.min.y)
                    && near(target.max.x, area.max.x)
                    && near(target.max.y, area.max.y)
            }
            (target, area) => target == area,
        }
    }
}

#[cfg(test)]
mod tests;
