//! Usage of a task's model calls as its limits count it: what is known, and estimates of the rest.
//!
//! Pure. [`Usage`] remains what people see: there, a count is unknown as soon as one call did not report it. Invariant: a call
//! of unknown usage never lowers what is counted of the others.

use motorium_proto::domain::decision::Usage;
use motorium_proto::domain::geometry::CaptureSize;

/// Pixels per token of an image: 28 by 28, as Claude's models count. Others count fewer tokens.
const PIXELS_PER_TOKEN: u64 = 784;
/// Maximum tokens of an image: Claude's high tier resizes larger ones.
const MAX_IMAGE_TOKENS: u64 = 4_784;
/// Bytes of text per token, as the Planner estimates them before a call.
const BYTES_PER_TOKEN: u64 = 3;
/// Tokens of the prompts and the list of elements: 6.4 kB of `som_system` and `som_step`, and a line for each of a hundred.
const PROMPT_TOKENS: u64 = 3_000;
/// Tokens of a typical response, as the Planner estimates them before a call.
const RESPONSE_TOKENS: u64 = 800;

/// Usage of the calls of a task, those of unknown usage apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageTally {
    known_calls: u64,
    known_tokens: u64,
    unknown_calls: u64,
    /// The known part of the tokens of the unknown calls.
    partial_tokens: u64,
    /// Tokens of the unknown calls, estimated from their requests.
    request_tokens: u64,
    priced_calls: u64,
    /// `None` until the cost of a call is known.
    known_cost_micros_usd: Option<u64>,
    /// Calls of which neither the tokens nor the cost is known. If only the cost is, the model has no price.
    unreported_calls: u64,
}

impl UsageTally {
    /// Adds the usage of calls. `request_tokens` is the estimated size of one of them.
    pub(super) fn add(&mut self, usage: Usage, request_tokens: u64) {
        let calls = u64::from(usage.calls);
        let is_known = usage.has_known_tokens();
        if is_known {
            self.known_calls += calls;
            self.known_tokens = self.known_tokens.saturating_add(usage.known_tokens());
        } else {
            self.unknown_calls += calls;
            self.partial_tokens = self.partial_tokens.saturating_add(usage.known_tokens());
            let estimate = calls.saturating_mul(request_tokens);
            self.request_tokens = self.request_tokens.saturating_add(estimate);
        }
        match usage.cost_micros_usd {
            Some(cost) => {
                let known = self.known_cost_micros_usd.unwrap_or_default();
                self.known_cost_micros_usd = Some(known.saturating_add(cost));
                self.priced_calls += calls;
            }
            None if is_known => {}
            None => self.unreported_calls += calls,
        }
    }

    /// Returns the known tokens, and for each other call the mean of the known ones or, without any, the size of its request.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let mean = self.known_tokens.checked_div(self.known_calls);
        let estimate = mean.map_or(self.request_tokens, |mean| {
            mean.saturating_mul(self.unknown_calls)
        });
        self.known_tokens
            .saturating_add(estimate.max(self.partial_tokens))
    }

    /// Returns the known cost, and for each call that reported nothing the mean of the known ones; `None` if no cost is known.
    #[must_use]
    pub fn cost_micros_usd(&self) -> Option<u64> {
        let known = self.known_cost_micros_usd?;
        let mean = known.checked_div(self.priced_calls).unwrap_or_default();
        Some(known.saturating_add(mean.saturating_mul(self.unreported_calls)))
    }
}

/// Estimates the tokens of one model call from what its request has: a screenshot and `text_bytes` of the user's.
pub(super) fn request_tokens(frame: Option<CaptureSize>, text_bytes: usize) -> u64 {
    let pixels = frame.map_or(0, |size| {
        let side = |length: i32| u64::try_from(length).unwrap_or_default();
        side(size.width) * side(size.height)
    });
    let image_tokens = (pixels / PIXELS_PER_TOKEN).min(MAX_IMAGE_TOKENS);
    PROMPT_TOKENS + image_tokens + text_bytes as u64 / BYTES_PER_TOKEN + RESPONSE_TOKENS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(tokens: Option<u64>, cost_micros_usd: Option<u64>) -> Usage {
        Usage {
            input_tokens: tokens,
            output_tokens: tokens.map(|_| 10),
            cost_micros_usd,
            calls: 1,
            ..Usage::default()
        }
    }

    #[track_caller]
    fn check(calls: &[Usage], tokens: u64, cost: Option<u64>) {
        let mut tally = UsageTally::default();
        for usage in calls {
            tally.add(*usage, 4000);
        }
        assert_eq!((tally.tokens(), tally.cost_micros_usd()), (tokens, cost));
    }

    #[test]
    fn unknown_usage_is_estimated_and_resets_nothing() {
        let (known, unknown) = (used(Some(90), Some(20)), used(None, None));
        check(&[], 0, None);
        check(&[Usage::default()], 0, None);
        check(&[known], 100, Some(20));
        check(&[known, unknown], 200, Some(40));
        check(&[unknown, known], 200, Some(40));
        check(&[known, used(Some(190), Some(40)), unknown], 450, Some(90));
        // Without a known call, the request is what is known.
        check(&[unknown, unknown], 8000, None);
    }

    #[test]
    fn a_model_without_a_price_costs_nothing_and_its_tokens_count() {
        let local = used(Some(90), None);
        check(&[local], 100, None);
        check(&[used(Some(90), Some(20)), local, local], 300, Some(20));
    }

    #[test]
    fn known_tokens_of_a_response_that_broke_off_count_at_least() {
        let broken = Usage {
            input_tokens: Some(5000),
            calls: 1,
            ..Usage::default()
        };
        check(&[used(Some(90), None), broken], 5100, None);
        check(&[broken], 5000, None);
    }

    #[test]
    fn nothing_overflows() {
        let huge = Usage {
            input_tokens: Some(u64::MAX),
            output_tokens: Some(u64::MAX),
            cost_micros_usd: Some(u64::MAX),
            calls: 1,
            ..Usage::default()
        };
        check(&[huge, huge, used(None, None)], u64::MAX, Some(u64::MAX));
    }
}
