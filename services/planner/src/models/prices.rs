//! Token prices. Costs are in millionths of a US dollar (integers), so that a ledger adds up exactly.
//!
//! Tokens are not counted here: `tokens` reads them from responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Api, TokenUsage};

/// Prices in US dollars per million tokens, which equals millionths of a dollar per token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Price of input.
    #[schemars(extend("x-unit" = "US dollars per million tokens"))]
    pub input: f64,
    /// Price of output.
    #[schemars(extend("x-unit" = "US dollars per million tokens"))]
    pub output: f64,
    /// Price of cached input. Default: the provider's fixed share of `input`, or `input`.
    #[serde(default)]
    #[schemars(extend("x-unit" = "US dollars per million tokens"), example = 0.04)]
    pub cached_input: Option<f64>,
    /// Price of input written to a cache. Default: the provider's fixed share of `input`, or `input`.
    #[serde(default)]
    #[schemars(extend("x-unit" = "US dollars per million tokens"), example = 0.5)]
    pub cache_write: Option<f64>,
}

/// Anthropic's prices for reading from and writing to its cache (with the five-minute lifetime that is requested here),
/// as shares of the input price: 0.1 and 1.25 for every model, from its prompt caching documentation (as of 21 November
/// 2026).
const ANTHROPIC_CACHE: (f64, f64) = (0.1, 1.25);

impl Prices {
    /// Returns the prices with absent cache prices derived from the input price.
    #[must_use]
    pub fn with_cache_defaults(self, api: Api) -> Self {
        let (read, write) = match api {
            Api::AnthropicMessages => ANTHROPIC_CACHE,
            Api::OpenaiResponses | Api::OpenaiChat => return self,
        };
        Self {
            cached_input: self.cached_input.or(Some(self.input * read)),
            cache_write: self.cache_write.or(Some(self.input * write)),
            ..self
        }
    }

    /// Returns whether all prices are finite and not negative.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let optional = [self.cached_input, self.cache_write].into_iter().flatten();
        [self.input, self.output]
            .into_iter()
            .chain(optional)
            .all(|price| price.is_finite() && price >= 0.0)
    }

    /// Returns the cost of a call; `None` if its tokens are unknown.
    #[must_use]
    pub fn cost_micros_usd(&self, tokens: TokenUsage) -> Option<u64> {
        let input = tokens.input?;
        let cached = tokens.cached.unwrap_or(0).min(input);
        let written = tokens.cache_written.unwrap_or(0).min(input - cached);
        let fresh = input - cached - written;
        let parts = [
            (fresh, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (tokens.output?, self.output),
        ];
        let sum: f64 = parts
            .into_iter()
            .map(|(tokens, price)| tokens as f64 * price)
            .sum();
        // Rounded up: an underestimate would let a ledger exceed its budget.
        Some(sum.ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: Prices = Prices {
        input: 5.0,
        output: 25.0,
        cached_input: Some(0.5),
        cache_write: Some(10.0),
    };

    #[track_caller]
    fn check(tokens: TokenUsage, expected: Option<u64>) {
        assert_eq!(PRICES.cost_micros_usd(tokens), expected, "{tokens:?}");
    }

    #[test]
    fn every_kind_of_token_has_its_price() {
        let tokens = TokenUsage {
            input: Some(1000),
            output: Some(100),
            cached: Some(600),
            cache_written: Some(100),
            reasoning: Some(50),
        };
        check(tokens, Some(300 * 5 + 300 + 1000 + 2500));
        check(
            TokenUsage {
                cached: None,
                cache_written: None,
                ..tokens
            },
            Some(5000 + 2500),
        );
    }

    #[test]
    fn cache_prices_default_by_provider() {
        let alone = Prices {
            cached_input: None,
            cache_write: None,
            ..PRICES
        };
        let claude = alone.with_cache_defaults(Api::AnthropicMessages);
        assert_eq!(
            (claude.cached_input, claude.cache_write),
            (Some(0.5), Some(6.25))
        );
        assert_eq!(alone.with_cache_defaults(Api::OpenaiResponses), alone);
        assert_eq!(
            PRICES.with_cache_defaults(Api::AnthropicMessages),
            PRICES,
            "what a user says holds"
        );
    }

    #[test]
    fn a_fraction_is_rounded_up() {
        let one_cached = TokenUsage {
            input: Some(1),
            output: Some(0),
            cached: Some(1),
            ..TokenUsage::default()
        };
        check(one_cached, Some(1));
    }

    #[test]
    fn cost_is_unknown_without_complete_usage() {
        check(TokenUsage::default(), None);
        check(
            TokenUsage {
                input: Some(1),
                ..TokenUsage::default()
            },
            None,
        );
    }

    #[test]
    fn an_inconsistent_report_is_not_paid_twice() {
        let more_cached_than_there_is = TokenUsage {
            input: Some(10),
            output: Some(0),
            cached: Some(50),
            cache_written: Some(50),
            ..TokenUsage::default()
        };
        check(more_cached_than_there_is, Some(5));
    }

    #[test]
    fn a_negative_price_is_not_sound() {
        assert!(PRICES.is_valid());
        assert!(
            !Prices {
                input: -1.0,
                ..PRICES
            }
            .is_valid()
        );
        assert!(
            !Prices {
                cache_write: Some(f64::NAN),
                ..PRICES
            }
            .is_valid()
        );
    }
}
