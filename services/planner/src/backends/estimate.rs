//! What a call will take, estimated before it is made, so that a task does not go past its limits by a whole call.
//!
//! An estimate, not a promise: providers count tokens in their own ways, and nobody knows how much a model will say.

use motorium_proto::domain::decision::{RemainingLimits, Usage};
use motorium_proto::domain::geometry::CaptureSize;
use serde_json::Value;

use super::dialect::Asked;
use super::{BackendError, Spent};
use crate::models::Model;
use crate::picture::SizeRule;
use crate::picture::sizes::{claude_tokens, openai_patches};
use crate::provider::Tokens;

/// Bytes of text to a token: English has about four, JSON and Chinese about three.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens that an answer to one step usually takes, with what is thought.
const USUAL_ANSWER: u64 = 800;
/// Base64 that is this long is a picture.
const PICTURE_BYTES: usize = 2048;

/// What one call will take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    pub tokens: u64,
    /// `None` where the price is unknown.
    pub cost_micros_usd: Option<u64>,
}

impl Estimate {
    /// What a request to a model will take. `kept_tokens`: of a conversation that the provider keeps, and reads again.
    /// `screen`: the size of what its pictures show.
    #[must_use]
    pub fn of(body: &Value, kept_tokens: u64, model: &Model, screen: CaptureSize) -> Self {
        let content = Content::of(body);
        let pictures = match content.pictures {
            0 => 0,
            shown => shown * picture_tokens(model, screen),
        };
        let sent = tokens(content.text_bytes) + pictures;
        let input = sent.saturating_add(kept_tokens);
        let output = USUAL_ANSWER.min(model.max_output);
        let tokens = Tokens {
            input: Some(input),
            output: Some(output),
            ..Tokens::default()
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

/// Whether a request and its answer are more than the model reads and says together, as far as that is known.
#[must_use]
pub fn is_too_long(asked: &Asked, model: &Model, screen: CaptureSize) -> bool {
    let estimate = Estimate::of(&asked.body, asked.kept_tokens, model, screen);
    model.context.is_some_and(|most| estimate.tokens > most)
}

/// Whether a call may be made with what is left of the task's limits, and was not spent since. A price that is not known
/// keeps nothing back: it is reported as unknown, and whether that is acceptable is decided where the ledger is.
///
/// # Errors
/// If it would take more.
pub fn check(
    estimate: Estimate,
    remaining: RemainingLimits,
    spent: &Spent,
) -> Result<(), BackendError> {
    let remaining = without(remaining, spent.total());
    if let Some(left) = remaining.tokens.filter(|left| estimate.tokens > *left) {
        return Err(BackendError::OverBudget {
            message: format!(
                "the call takes about {} tokens, and {left} are left",
                estimate.tokens
            ),
        });
    }
    match (estimate.cost_micros_usd, remaining.cost_micros_usd) {
        (Some(cost), Some(left)) if cost > left => Err(BackendError::OverBudget {
            message: format!(
                "the call costs about {}, and {} are left",
                dollars(cost),
                dollars(left)
            ),
        }),
        _ => Ok(()),
    }
}

/// What is left of the limits after something more was used.
#[must_use]
pub fn without(remaining: RemainingLimits, used: Usage) -> RemainingLimits {
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

/// About how many tokens a text has.
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

/// What one picture of the whole screen takes.
fn picture_tokens(model: &Model, screen: CaptureSize) -> u64 {
    let size = model.taste.rule.sent(screen);
    match model.taste.rule {
        SizeRule::Claude(_) => claude_tokens(size),
        SizeRule::OpenAi(_) => openai_patches(size),
        // Qwen-VL and its kin take one for a square of 28 or 32 pixels; so does, roughly, everything else.
        _ => claude_tokens(size),
    }
}

/// What is in a request.
#[derive(Debug, Default)]
struct Content {
    text_bytes: u64,
    pictures: u64,
}

impl Content {
    fn of(body: &Value) -> Self {
        let mut content = Self::default();
        content.add(body);
        content
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if is_picture(text) => self.pictures += 1,
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

fn is_picture(text: &str) -> bool {
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    text.starts_with("data:image/")
        || text.len() >= PICTURE_BYTES && text.bytes().take(PICTURE_BYTES).all(is_base64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(body: &Value) -> (u64, u64) {
        let content = Content::of(body);
        (content.text_bytes, content.pictures)
    }

    #[test]
    fn pictures_are_counted_as_pictures_and_not_as_text() {
        let base64 = "A".repeat(10_000);
        let claude = json!({"source": {"data": base64}});
        assert_eq!(content(&claude), (10, 1));
        let chat = json!({"image_url": {"url": "data:image/png;base64,aGk="}});
        assert_eq!(content(&chat), (12, 1));
        let text = json!(["a word ".repeat(1000)]);
        assert_eq!(content(&text), (7000, 0));
        let chinese = json!(["保存这张发票".repeat(200)]);
        assert_eq!(content(&chinese), (3600, 0), "no spaces, and no picture");
    }

    #[test]
    fn an_amount_is_told_in_dollars() {
        assert_eq!(dollars(1_234_567), "$1.2345");
        assert_eq!(dollars(500), "$0.0005");
    }
}
