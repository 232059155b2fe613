//! Estimates the tokens and cost of a call before it is made, so that a task does not exceed its budget by a whole call.
//!
//! An estimate only: providers count tokens differently, and the length of a response is not known in advance.

use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::domain::geometry::CaptureSize;
use serde_json::Value;

use super::dialect::ModelRequest;
use super::embedded_image::is_image;
use super::{BackendError, UsageMeter};
use crate::models::Model;
use crate::models::TokenUsage;
use crate::screenshot::SizeRule;
use crate::screenshot::sizes::{claude_tokens, openai_patches};

/// Bytes of text per token: English has about four, JSON and Chinese about three. The smaller value overestimates.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens of a typical response to one step, including reasoning.
const TYPICAL_OUTPUT_TOKENS: u64 = 800;

/// Estimated usage of one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    pub tokens: u64,
    /// `None` if the price is unknown.
    pub cost_micros_usd: Option<u64>,
}

impl Estimate {
    /// Estimates a request. `kept_tokens` are those of a provider-stored conversation, which are read again. `screen` is
    /// the size of the region that its images show.
    #[must_use]
    pub fn of(body: &Value, kept_tokens: u64, model: &Model, screen: CaptureSize) -> Self {
        let content = RequestContent::of(body);
        let image_tokens = match content.images {
            0 => 0,
            shown => shown * tokens_per_image(model, screen),
        };
        let sent = tokens(content.text_bytes) + image_tokens;
        let input = sent.saturating_add(kept_tokens);
        let output = TYPICAL_OUTPUT_TOKENS.min(model.max_output_tokens);
        let tokens = TokenUsage {
            input: Some(input),
            output: Some(output),
            ..TokenUsage::default()
        };
        Self {
            tokens: input.saturating_add(output),
            cost_micros_usd: model
                .prices
                .as_ref()
                .and_then(|prices| prices.cost_micros_usd(tokens)),
        }
    }
}

/// Returns whether a request and its response exceed the model's context window, as far as it is known.
#[must_use]
pub fn is_too_long(model_request: &ModelRequest, model: &Model, screen: CaptureSize) -> bool {
    let estimate = Estimate::of(
        &model_request.body,
        model_request.kept_tokens,
        model,
        screen,
    );
    model
        .context_tokens
        .is_some_and(|max_tokens| estimate.tokens > max_tokens)
}

/// Checks a call against the task's remaining budget, less what was used since. An unknown price does not block: it is
/// reported as unknown, and the budget ledger decides.
///
/// # Errors
/// Fails if the call would exceed the budget.
pub fn check(
    estimate: Estimate,
    remaining: RemainingLimits,
    usage: &UsageMeter,
) -> Result<(), BackendError> {
    let remaining = remaining_after(remaining, usage.total());
    if let Some(left) = remaining.tokens.filter(|left| estimate.tokens > *left) {
        return Err(BackendError::OverBudget {
            message: format!(
                "the call needs about {} tokens, but only {left} are left",
                estimate.tokens
            ),
        });
    }
    match (estimate.cost_micros_usd, remaining.cost_micros_usd) {
        (Some(cost), Some(left)) if cost > left => Err(BackendError::OverBudget {
            message: format!(
                "the call costs about {}, but only {} are left",
                dollars(cost),
                dollars(left)
            ),
        }),
        _ => Ok(()),
    }
}

/// Returns the remaining limits after further usage.
#[must_use]
pub fn remaining_after(remaining: RemainingLimits, used: Usage) -> RemainingLimits {
    let tokens = used.input_tokens.zip(used.output_tokens);
    let tokens = tokens.map(|(input, output)| input.saturating_add(output));
    let less = |left: Option<u64>, used: Option<u64>| {
        left.map(|left| left.saturating_sub(used.unwrap_or(0)))
    };
    RemainingLimits {
        tokens: less(remaining.tokens, tokens),
        cost_micros_usd: less(remaining.cost_micros_usd, used.cost_micros_usd),
        ..remaining
    }
}

/// Estimates the number of tokens of a text.
#[must_use]
pub fn tokens_of(text: &str) -> u64 {
    tokens(text.len() as u64)
}

fn tokens(bytes: u64) -> u64 {
    bytes / BYTES_PER_TOKEN
}

fn dollars(micros: u64) -> String {
    format!("${}.{:04}", micros / 1_000_000, micros % 1_000_000 / 100)
}

/// Estimates the tokens of one image of the whole screen.
fn tokens_per_image(model: &Model, screen: CaptureSize) -> u64 {
    let size = model.image_spec.rule.sent_size(screen);
    match model.image_spec.rule {
        SizeRule::Claude(_) => claude_tokens(size),
        SizeRule::OpenAi(_) => openai_patches(size),
        // Qwen-VL and its descendants use one token per square of 28 or 32 pixels; other models are close to that.
        _ => claude_tokens(size),
    }
}

/// Size of a request's content.
#[derive(Debug, Default)]
struct RequestContent {
    text_bytes: u64,
    images: u64,
}

impl RequestContent {
    fn of(body: &Value) -> Self {
        let mut content = Self::default();
        content.add(body);
        content
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if is_image(text) => self.images += 1,
            Value::String(text) => self.text_bytes += text.len() as u64,
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(fields) => {
                self.text_bytes += fields.keys().map(|key| key.len() as u64).sum::<u64>();
                fields.values().for_each(|item| self.add(item));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => self.text_bytes += 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(body: &Value) -> (u64, u64) {
        let content = RequestContent::of(body);
        (content.text_bytes, content.images)
    }

    #[test]
    fn images_are_not_estimated_as_text() {
        let base64 = "A".repeat(10_000);
        let claude = json!({"source": {"data": base64}});
        assert_eq!(content(&claude), (10, 1));
        let chat = json!({"image_url": {"url": "data:image/png;base64,aGk="}});
        assert_eq!(content(&chat), (12, 1));
        let text = json!(["a word ".repeat(1000)]);
        assert_eq!(content(&text), (7000, 0));
        let chinese = json!(["保存这张发票".repeat(200)]);
        assert_eq!(content(&chinese), (3600, 0), "no spaces, and no image");
    }

    #[test]
    fn amounts_are_formatted_in_dollars() {
        assert_eq!(dollars(1_234_567), "$1.2345");
        assert_eq!(dollars(500), "$0.0005");
    }
}
