//! Decisions of a planner, and the history that it receives.
//!
//! They are not compared with a screen here: the planner does that.

use std::time::Duration;

use bytes::Bytes;

use super::action::{Action, Target};
use super::effect::{ActionOutcome, Effect};
use super::frame::Image;
use super::geometry::{CaptureRect, CaptureSize};
use super::id::ElementId;

/// An action as the planner decided it.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedAction {
    pub action: Action<Target>,
    /// Purpose of the action, for people (`click "Save"`).
    pub intent: String,
    /// True to verify the pointer position before the click.
    pub verify_pointer: bool,
    /// True if the action may be retried when it had no effect.
    pub repeatable: bool,
}

/// The next step of a decision.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Actions to perform in order; after a failure, the rest is dropped. Never empty.
    Act(Vec<PlannedAction>),
    Done {
        answer: String,
        /// Evidence for success: text on the screen or another fact.
        evidence: Vec<String>,
    },
    Fail {
        reason: String,
    },
    Ask {
        question: String,
        /// True to request a manual action on the desktop instead of an answer.
        requires_manual_action: bool,
    },
    /// Never empty.
    CallFunctions(Vec<FunctionCall>),
    Extract {
        json_schema: String,
        instruction: String,
    },
}

/// The decision of a planner.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Reasoning of the model, in its own words.
    pub thought: String,
    /// Progress in one line, for people.
    pub progress: String,
    pub next: Next,
    /// Safety checks that a person must acknowledge before any action runs.
    pub safety_checks: Vec<SafetyCheck>,
    /// Opaque state of the backend, to be passed back unchanged.
    pub conversation: Bytes,
    pub backend: String,
    /// Empty for a backend without a model.
    pub model: String,
    pub usage: Usage,
    pub suspected_injections: Vec<SuspectedInjection>,
    /// SHA-256 of the images that `conversation` refers to. The next request should supply them again.
    pub conversation_images: Vec<[u8; 32]>,
}

/// Text on the screen that addresses instructions to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuspectedInjection {
    pub quote: String,
    pub bounds: Option<CaptureRect>,
}

/// Source of an extracted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSource {
    /// JSON Pointer (RFC 6901) of the value in the data.
    pub json_pointer: String,
    pub element: ElementId,
    pub bounds: Option<CaptureRect>,
    /// The element's text.
    pub content: String,
}

/// Resources used by model calls. `None` is unknown, which differs from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens sent, including cached ones.
    pub input_tokens: Option<u64>,
    /// Tokens received, including reasoning tokens.
    pub output_tokens: Option<u64>,
    /// Tokens read from the provider's cache. A subset of `input_tokens`.
    pub cached_tokens: Option<u64>,
    /// Reasoning tokens. A subset of `output_tokens`.
    pub reasoning_tokens: Option<u64>,
    /// Cost, in millionths of a US dollar.
    pub cost_micros_usd: Option<u64>,
    pub calls: u32,
    pub inference_time: Duration,
}

impl Usage {
    /// Returns the known tokens of input and output. An unknown count adds nothing.
    #[must_use]
    pub fn known_tokens(self) -> u64 {
        let [input, output] =
            [self.input_tokens, self.output_tokens].map(Option::unwrap_or_default);
        input.saturating_add(output)
    }

    /// Returns true if all tokens are known. Those of no call are.
    #[must_use]
    pub fn has_known_tokens(self) -> bool {
        let is_reported = self.input_tokens.is_some() && self.output_tokens.is_some();
        self.calls == 0 || is_reported
    }

    /// Returns the sum. A count that is unknown in an operand with calls is unknown in the sum.
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

/// A safety warning of a model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SafetyCheck {
    pub id: String,
    pub code: String,
    pub message: String,
}

/// A function that a task offers to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionDeclaration {
    pub name: String,
    pub description: String,
    pub parameters_json_schema: String,
}

/// A function call requested by the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionCall {
    pub call_id: String,
    pub name: String,
    pub arguments_json: String,
}

/// Result of a function call: a value as JSON, or an error message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionResult {
    pub call_id: String,
    pub outcome: Result<String, String>,
}

/// An action of an earlier step, with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct PastAction {
    pub planned: PlannedAction,
    pub outcome: ActionOutcome,
    /// `None` if the action was not performed.
    pub effect: Option<Effect>,
    pub retries: u32,
    /// Element at the target, as its kind and its text (`button "Save"`).
    pub target_label: Option<String>,
}

/// An earlier step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PastStep {
    /// Step number, starting at 1.
    pub step: u32,
    pub thought: String,
    pub actions: Vec<PastAction>,
    /// Image of the frame that the decision was based on; `None` if it is no longer sent.
    pub image: Option<Image>,
    pub frame_size: Option<CaptureSize>,
    pub function_calls: Vec<FunctionCall>,
    pub function_results: Vec<FunctionResult>,
    /// Data extracted from the screen, as JSON.
    pub extracted_json: Option<String>,
    /// Messages and manual actions of the user between this step and the next.
    pub user_messages: Vec<String>,
    /// Safety checks that a person has acknowledged. Others are not acknowledged to the provider.
    pub acknowledged_safety_checks: Vec<SafetyCheck>,
}

/// Remaining budget of a task. `None` is unlimited.
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
