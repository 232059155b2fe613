//! Features that an endpoint has rejected and that are no longer sent: many servers implement a protocol only partly.

use crate::provider::RejectedRequest;

/// Method of requesting a JSON response, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutputFormat {
    /// A schema that the provider enforces.
    #[default]
    Schema,
    /// Any JSON; the prompt describes the shape.
    Json,
    /// The prompt alone.
    PromptOnly,
}

/// Features that are not used with an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DegradedFeatures {
    pub output_format: OutputFormat,
    /// `temperature` and `top_p` are not sent.
    pub without_sampling: bool,
    /// The provider does not keep conversations for this account.
    pub without_storage: bool,
    /// The URL of the page is not sent with the outputs of computer calls.
    pub without_current_url: bool,
}

/// Words that servers use for the methods of requesting JSON.
const OUTPUT_FORMAT_WORDS: [&str; 9] = [
    "response_format",
    "json_schema",
    "json_object",
    "text.format",
    "output_config",
    "structured output",
    "grammar",
    "guided",
    "schema",
];

impl DegradedFeatures {
    /// Adds the feature that the rejection names; `None` if it names nothing that can be left out.
    #[must_use]
    pub fn degraded_by(self, refused: &RejectedRequest) -> Option<Self> {
        // Some servers answer 500 or 501 where others report an unsupported parameter.
        if !matches!(refused.status, 400 | 404 | 415 | 422 | 500 | 501) {
            return None;
        }
        let words = refused.words.to_lowercase();
        let names = |word: &str| words.contains(word);
        if !self.without_sampling && (names("temperature") || names("top_p")) {
            return Some(Self {
                without_sampling: true,
                ..self
            });
        }
        if !OUTPUT_FORMAT_WORDS.iter().any(|word| names(word)) {
            return None;
        }
        let form = match self.output_format {
            OutputFormat::Schema => OutputFormat::Json,
            OutputFormat::Json => OutputFormat::PromptOnly,
            OutputFormat::PromptOnly => return None,
        };
        Some(Self {
            output_format: form,
            ..self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(made: DegradedFeatures, status: u16, words: &str) -> Option<DegradedFeatures> {
        let words = words.to_owned();
        made.degraded_by(&RejectedRequest {
            status,
            words,
            body: serde_json::Value::Null,
        })
    }

    #[test]
    fn output_format_degrades_step_by_step() {
        let refusal = "'response_format.type' must be one of text";
        let json = after(DegradedFeatures::default(), 400, refusal).unwrap();
        assert_eq!(json.output_format, OutputFormat::Json);
        let plain = after(json, 400, refusal).unwrap();
        assert_eq!(plain.output_format, OutputFormat::PromptOnly);
        assert_eq!(after(plain, 400, refusal), None);
    }

    #[test]
    fn a_temperature_that_is_refused_is_left_out() {
        let refusal = "Unsupported parameter: 'temperature' is not supported with this model.";
        let without = after(DegradedFeatures::default(), 400, refusal).unwrap();
        assert!(without.without_sampling);
        assert_eq!(without.output_format, OutputFormat::Schema);
        assert_eq!(after(without, 400, refusal), None);
    }

    #[test]
    fn unrelated_errors_degrade_no_feature() {
        let made = DegradedFeatures::default();
        assert_eq!(after(made, 400, "prompt is too long"), None);
        assert_eq!(after(made, 401, "response_format"), None);
    }
}
