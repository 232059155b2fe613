//! What a planner answers, and what it is told of the past.

use std::time::Duration;

use bytes::Bytes;

use super::action::{Action, Target};
use super::effect::{ActionOutcome, Effect};
use super::frame::Image;
use super::geometry::{CaptureRect, CaptureSize};
use super::id::ElementId;

/// An action as decided.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAction {
    pub action: Action<Target>,
    /// For people: what it is meant to do (`click "Save"`).
    pub intent: String,
    /// The pointer shall be verified before the click.
    pub verify_pointer: bool,
    /// May be repeated when nothing changed.
    pub repeatable: bool,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// In this order; the rest is dropped when one fails. Never empty.
    Act(Vec<PlannedAction>),
    Done {
        answer: String,
        /// Text on the screen or another fact that shows it.
        evidence: Vec<String>,
    },
    Fail {
        reason: String,
    },
    Ask {
        question: String,
        /// The user shall do something on the desktop, not tell something.
        needs_hands: bool,
    },
    /// Never empty.
    CallFunctions(Vec<FunctionCall>),
    Extract {
        json_schema: String,
        instruction: String,
    },
}

/// A planner's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// The model's own words.
    pub thought: String,
    /// One line for people.
    pub progress: String,
    pub next: Next,
    /// To be acknowledged by a person before anything runs.
    pub safety_checks: Vec<SafetyCheck>,
    /// Opaque: what this backend needs to see again, verbatim.
    pub conversation: Bytes,
    pub backend: String,
    /// Empty where there is no model.
    pub model: String,
    pub usage: Usage,
    pub suspected_injections: Vec<SuspectedInjection>,
    /// SHA-256 of the pictures that `conversation` shows, which it takes to go on with it.
    pub conversation_images: Vec<[u8; 32]>,
}

/// Text on the screen that seems to give the agent orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspectedInjection {
    pub quote: String,
    pub bounds: Option<CaptureRect>,
}

/// Where a value that was taken from the screen was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSource {
    /// The value, as a JSON Pointer (RFC 6901) into the data.
    pub pointer: String,
    pub element: ElementId,
    pub bounds: Option<CaptureRect>,
    /// The element's text.
    pub content: String,
}

/// What model calls used. `None` is unknown, which is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// All of them, also those of a cache.
    pub input_tokens: Option<u64>,
    /// With what was thought.
    pub output_tokens: Option<u64>,
    /// Of the input: read from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// Of the output: thought, and not said.
    pub reasoning_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micros_usd: Option<u64>,
    pub calls: u32,
    pub inference_time: Duration,
}

impl Usage {
    /// The sum of two. What is unknown in one that made calls is unknown in the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |mine: Option<u64>, theirs: Option<u64>| match (self.calls, other.calls) {
            (0, _) => theirs,
            (_, 0) => mine,
            _ => Some(mine?.saturating_add(theirs?)),
        };
        Self {
            input_tokens: sum(self.input_tokens, other.input_tokens),
            output_tokens: sum(self.output_tokens, other.output_tokens),
            cached_tokens: sum(self.cached_tokens, other.cached_tokens),
            reasoning_tokens: sum(self.reasoning_tokens, other.reasoning_tokens),
            cost_micros_usd: sum(self.cost_micros_usd, other.cost_micros_usd),
            calls: self.calls.saturating_add(other.calls),
            inference_time: self.inference_time.saturating_add(other.inference_time),
        }
    }
}

/// A provider's warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetyCheck {
    pub id: String,
    pub code: String,
    pub message: String,
}

/// A function that a task brings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDeclaration {
    pub name: String,
    pub description: String,
    pub parameters_json_schema: String,
}

/// A call that the model wants made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    pub call_id: String,
    pub name: String,
    pub arguments_json: String,
}

/// What came of a function call: a value as JSON, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionResult {
    pub call_id: String,
    pub outcome: Result<String, String>,
}

/// An action of an earlier step and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct PastAction {
    pub planned: PlannedAction,
    pub outcome: ActionOutcome,
    /// `None` if it was not performed.
    pub effect: Option<Effect>,
    pub retries: u32,
}

/// An earlier step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PastStep {
    /// From 1.
    pub step: u32,
    pub thought: String,
    pub actions: Vec<PastAction>,
    /// The frame that the decision was made on; `None` where it is no longer sent.
    pub image: Option<Image>,
    pub frame_size: Option<CaptureSize>,
    pub function_calls: Vec<FunctionCall>,
    pub function_results: Vec<FunctionResult>,
    /// Data taken from the screen, as JSON.
    pub extracted_json: Option<String>,
    /// What the user said or did between this step and the next.
    pub user_messages: Vec<String>,
    /// The provider's warnings that a person has read and accepted. What is missing here is never acknowledged.
    pub acknowledged_safety_checks: Vec<SafetyCheck>,
}

/// What is left of a task's limits; `None` is not limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemainingLimits {
    pub steps: Option<u32>,
    pub time: Option<Duration>,
    pub tokens: Option<u64>,
    pub cost_micros_usd: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_price_stays_unknown() {
        let known = Usage {
            cost_micros_usd: Some(5),
            calls: 1,
            ..Usage::default()
        };
        let unknown = Usage {
            calls: 1,
            ..Usage::default()
        };
        assert_eq!(known.plus(known).cost_micros_usd, Some(10));
        assert_eq!(known.plus(unknown).cost_micros_usd, None);
        assert_eq!(Usage::default().plus(known).cost_micros_usd, Some(5));
        assert_eq!(known.plus(Usage::default()).cost_micros_usd, Some(5));
    }
}
