//! What an endpoint has shown that it does not take, so that it is not sent again: many servers speak a protocol, and few
//! speak all of it.

use crate::provider::Refused;

/// How an answer in JSON is asked for, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// By a schema that the provider keeps to.
    #[default]
    Schema,
    /// As JSON of any shape; the prompt says which.
    Json,
    /// By the prompt alone.
    Plain,
}

/// What is done without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Concessions {
    pub form: Form,
    /// `temperature` and `top_p` are not sent.
    pub without_sampling: bool,
    /// The provider does not keep conversations for this account.
    pub without_storage: bool,
}

/// Words by which servers name the ways to ask for JSON.
const FORM_WORDS: [&str; 9] = [
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

impl Concessions {
    /// The same and what the refusal names; `None` if it names nothing that could still be done without.
    #[must_use]
    pub fn and_what_is_named_in(self, refused: &Refused) -> Option<Self> {
        // Some servers fail outright where others say that they do not understand.
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
        if !FORM_WORDS.iter().any(|word| names(word)) {
            return None;
        }
        let form = match self.form {
            Form::Schema => Form::Json,
            Form::Json => Form::Plain,
            Form::Plain => return None,
        };
        Some(Self { form, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(made: Concessions, status: u16, words: &str) -> Option<Concessions> {
        let words = words.to_owned();
        made.and_what_is_named_in(&Refused { status, words })
    }

    #[test]
    fn less_and_less_is_asked_of_an_endpoint_until_nothing_is_left() {
        let refusal = "'response_format.type' must be one of text";
        let json = after(Concessions::default(), 400, refusal).unwrap();
        assert_eq!(json.form, Form::Json);
        let plain = after(json, 400, refusal).unwrap();
        assert_eq!(plain.form, Form::Plain);
        assert_eq!(after(plain, 400, refusal), None);
    }

    #[test]
    fn a_temperature_that_is_refused_is_left_out() {
        let refusal = "Unsupported parameter: 'temperature' is not supported with this model.";
        let without = after(Concessions::default(), 400, refusal).unwrap();
        assert!(without.without_sampling);
        assert_eq!(without.form, Form::Schema);
        assert_eq!(after(without, 400, refusal), None);
    }

    #[test]
    fn other_refusals_are_not_about_that() {
        let made = Concessions::default();
        assert_eq!(after(made, 400, "prompt is too long"), None);
        assert_eq!(after(made, 401, "response_format"), None);
    }
}
