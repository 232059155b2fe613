//! Token usage that a response reports. Providers count differently: here `input` includes cache reads and writes, and
//! `output` includes reasoning.

use serde_json::Value;

use super::Api;

/// Tokens of one call; `None` means unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    pub input: Option<u64>,
    pub output: Option<u64>,
    /// Tokens read from a cache. A subset of `input`.
    pub cached: Option<u64>,
    /// Tokens written to a cache. A subset of `input`.
    pub cache_written: Option<u64>,
    /// Reasoning tokens. A subset of `output`.
    pub reasoning: Option<u64>,
}

impl TokenUsage {
    /// Reads the usage in the body of a response.
    #[must_use]
    pub fn of(api: Api, answer: &Value) -> Self {
        let usage = &answer["usage"];
        let count = |path: &str| usage.pointer(path).and_then(Value::as_u64);
        match api {
            Api::AnthropicMessages => {
                let cached = count("/cache_read_input_tokens");
                let cache_written = count("/cache_creation_input_tokens");
                let beside = cached
                    .unwrap_or(0)
                    .saturating_add(cache_written.unwrap_or(0));
                Self {
                    input: count("/input_tokens").map(|fresh| fresh.saturating_add(beside)),
                    output: count("/output_tokens"),
                    cached,
                    cache_written,
                    reasoning: count("/output_tokens_details/thinking_tokens"),
                }
            }
            Api::OpenaiResponses => Self {
                input: count("/input_tokens"),
                output: count("/output_tokens"),
                cached: count("/input_tokens_details/cached_tokens"),
                cache_written: count("/input_tokens_details/cache_write_tokens"),
                reasoning: count("/output_tokens_details/reasoning_tokens"),
            },
            Api::OpenaiChat => Self {
                input: count("/prompt_tokens"),
                output: count("/completion_tokens"),
                cached: count("/prompt_tokens_details/cached_tokens"),
                cache_written: None,
                reasoning: count("/completion_tokens_details/reasoning_tokens"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(api: Api, usage: Value, expected: TokenUsage) {
        assert_eq!(TokenUsage::of(api, &json!({ "usage": usage })), expected);
    }

    #[test]
    fn anthropic_counts_the_cache_beside_the_input() {
        check(
            Api::AnthropicMessages,
            json!({"input_tokens": 2095, "output_tokens": 131, "cache_creation_input_tokens": 5,
                   "cache_read_input_tokens": 8192, "output_tokens_details": {"thinking_tokens": 40}}),
            TokenUsage {
                input: Some(2095 + 5 + 8192),
                output: Some(131),
                cached: Some(8192),
                cache_written: Some(5),
                reasoning: Some(40),
            },
        );
        check(
            Api::AnthropicMessages,
            json!({"input_tokens": 7, "output_tokens": 1, "cache_read_input_tokens": null}),
            TokenUsage {
                input: Some(7),
                output: Some(1),
                ..TokenUsage::default()
            },
        );
    }

    #[test]
    fn openai_counts_the_cache_within_the_input() {
        check(
            Api::OpenaiResponses,
            json!({"input_tokens": 1500, "input_tokens_details": {"cached_tokens": 1024, "cache_write_tokens": 0},
                   "output_tokens": 60, "output_tokens_details": {"reasoning_tokens": 32}, "total_tokens": 1560}),
            TokenUsage {
                input: Some(1500),
                output: Some(60),
                cached: Some(1024),
                cache_written: Some(0),
                reasoning: Some(32),
            },
        );
        check(
            Api::OpenaiChat,
            json!({"prompt_tokens": 1400, "completion_tokens": 40, "total_tokens": 1440}),
            TokenUsage {
                input: Some(1400),
                output: Some(40),
                ..TokenUsage::default()
            },
        );
    }

    #[test]
    fn unreported_token_usage_is_unknown() {
        for api in [
            Api::AnthropicMessages,
            Api::OpenaiResponses,
            Api::OpenaiChat,
        ] {
            assert_eq!(TokenUsage::of(api, &json!({})), TokenUsage::default());
            assert_eq!(
                TokenUsage::of(api, &json!("no object")),
                TokenUsage::default()
            );
        }
    }
}
