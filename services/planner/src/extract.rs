//! Structured data from a screen, by a JSON Schema of the caller's. The schema is kept to here and not by the provider, as
//! each of them understands another part of JSON Schema.

use std::sync::Arc;

use jsonschema::Validator;
use motorium_imaging::marks::prompt as lines;
use motorium_proto::error::FieldError;
use motorium_proto::service::ExtractRequest;
use serde_json::Value;

use crate::backends::question::Question;
use crate::error::Error;
use crate::prompt::untrusted::untrusted;
use crate::prompt::{Language, Prompts};

/// The field of the request that a schema stands in.
const FIELD: &str = "json_schema";
/// Longest text of a page that a model is shown, in characters.
const LONGEST_PAGE: usize = 60_000;
/// Most mistakes of an answer that a model is told of.
const MOST_MISTAKES: usize = 5;

/// The question to a model.
///
/// # Errors
/// If the schema is none, or a template cannot be rendered.
pub fn question(request: &ExtractRequest, prompts: &Prompts) -> Result<Question, Error> {
    let validator = validator(&request.json_schema)?;
    let language = Language::of(None, &request.instruction);
    let values = minijinja::context! {
        instruction => request.instruction.as_str(),
        schema => request.json_schema.as_str(),
        sources => sources(request),
    };
    let text = prompts.render("extract", language, values)?;
    Ok(Question {
        system: prompts.render("extract_system", language, minijinja::context! {})?,
        text: Arc::new(move |_| Ok(text.clone())),
        image: request.image.clone(),
        check: Arc::new(move |answer, _| checked(answer, &validator)),
    })
}

fn validator(schema: &str) -> Result<Validator, FieldError> {
    let problem = |problem: String| FieldError::new(FIELD, problem);
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| problem(format!("it is no JSON: {error}")))?;
    jsonschema::validator_for(&schema)
        .map_err(|error| problem(format!("it is no JSON Schema: {error}")))
}

/// What is on the screen, delimited.
fn sources(request: &ExtractRequest) -> Vec<String> {
    let elements = lines::lines(&request.scene.elements);
    let elements = (!elements.is_empty())
        .then(|| untrusted("elements of the screen, as they were read", &elements));
    let page = request.page_text.as_deref().map(|text| {
        let end = text.char_indices().nth(LONGEST_PAGE);
        let text = end.map_or(text, |(end, _)| &text[..end]);
        untrusted("text of the page in the browser", text)
    });
    elements.into_iter().chain(page).collect()
}

/// The value in an answer, if it is as the schema wants it.
fn checked(answer: &str, validator: &Validator) -> Result<Value, String> {
    let value = value(answer).ok_or("the answer has no whole JSON value in it")?;
    let mistakes: Vec<String> = validator
        .iter_errors(&value)
        .take(MOST_MISTAKES)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    if mistakes.is_empty() {
        return Ok(value);
    }
    Err(format!(
        "the answer is not valid against the schema: {}",
        mistakes.join("; ")
    ))
}

/// The value that an answer consists of, or the object in it.
fn value(answer: &str) -> Option<Value> {
    let bare = answer.trim();
    let unfenced = bare
        .strip_prefix("```json")
        .or_else(|| bare.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"))
        .unwrap_or(bare);
    let whole = serde_json::from_str(unfenced).ok();
    whole.or_else(|| crate::answer::json::object(answer).map(Value::Object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r#"{"type": "array", "items": {"type": "integer", "minimum": 0}}"#;

    #[track_caller]
    fn check(answer: &str, expected: Result<Value, &str>) {
        let found = checked(answer, &validator(SCHEMA).unwrap());
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, _) => panic!("{answer}: {found:?}"),
        }
    }

    #[test]
    fn an_answer_has_to_be_valid() {
        check("[1, 2]", Ok(json!([1, 2])));
        check("```json\n[1]\n```", Ok(json!([1])));
        check("[1, -2]", Err("/1: -2 is less than the minimum of 0"));
        check("{\"a\": 1}", Err("is not of type \"array\""));
        check("none", Err("no whole JSON value"));
    }

    #[test]
    fn a_schema_has_to_be_one() {
        assert!(validator("{").is_err());
        assert!(validator(r#"{"type": "nonsense"}"#).is_err());
        let elsewhere = validator(r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#);
        assert!(elsewhere.is_err(), "no schema is fetched");
    }
}
