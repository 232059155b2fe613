//! Extracts structured data from a screen by the caller's JSON Schema. The schema is validated here and not by the
//! provider, because each provider supports a different subset of JSON Schema.
//!
//! - [`sources`]: the element that each value was read from
//!
//! The model responds with `{"data": …, "sources": {…}}`, so that the caller's schema applies to `data` unchanged, even
//! if it forbids additional fields. A response that is only the data is accepted too.

mod sources;

use std::sync::Arc;

use jsonschema::Validator;
use motorium_imaging::marks::prompt as lines;
use motorium_proto::domain::decision::Usage;
use motorium_proto::error::FieldError;
use motorium_proto::service::{ExtractRequest, Extraction};
use serde_json::{Map, Value, json};

use crate::backends::question::{Question, QuestionResult};
use crate::error::Error;
use crate::prompt::untrusted::untrusted;
use crate::prompt::{Language, Prompts};

/// Request field of the schema.
const FIELD: &str = "json_schema";
/// Maximum length of the page text in the prompt, in characters: bounds the cost of a call.
const MAX_PAGE_CHARS: usize = 60_000;
/// Fields of a response.
const DATA: &str = "data";
const SOURCES: &str = "sources";
/// Maximum number of validation errors that the model is told of: enough to repair a response, and it bounds the prompt.
const MAX_REPORTED_ERRORS: usize = 5;

/// Builds the question to the model.
///
/// # Errors
/// Fails if the schema is invalid, or a template cannot be rendered.
pub fn question(request: &ExtractRequest, prompts: &Prompts) -> Result<Question, Error> {
    let validator = validator(&request.json_schema)?;
    let language = Language::of(None, &request.instruction);
    let values = minijinja::context! {
        instruction => request.instruction.as_str(),
        schema => request.json_schema.as_str(),
        sources => texts(request),
    };
    let text = prompts.render("extract", language, values)?;
    Ok(Question {
        system: prompts.render("extract_system", language, minijinja::context! {})?,
        text: Arc::new(move |_| Ok(text.clone())),
        image: request.image.clone(),
        marked: Vec::new(),
        check: Arc::new(move |answer, _| checked(answer, &validator)),
        remaining: request.remaining,
    })
}

/// Returns the whole text of the page, or of the screen if the page is unknown, as a JSON string. Needs no model.
#[must_use]
pub fn whole_text(request: &ExtractRequest) -> Extraction {
    let page = request.page_text.as_deref().map(str::trim);
    let page = page.filter(|text| !text.is_empty()).map(str::to_owned);
    let text = page.unwrap_or_else(|| {
        let contents = request.scene.elements.iter();
        let contents = contents.map(|element| element.content.trim());
        let contents: Vec<&str> = contents.filter(|text| !text.is_empty()).collect();
        contents.join("\n")
    });
    Extraction {
        json: Value::String(text).to_string(),
        usage: Usage::default(),
        sources: Vec::new(),
        requests: Vec::new(),
        responses: Vec::new(),
    }
}

/// Converts the validated answer into an extraction, with the elements that the values were read from.
#[must_use]
pub fn extraction(request: &ExtractRequest, answered: QuestionResult) -> Extraction {
    let mut value = answered.value;
    let data = value[DATA].take();
    let nowhere = Map::new();
    let reported_sources = value[SOURCES].as_object().unwrap_or(&nowhere);
    Extraction {
        sources: sources::of(&data, reported_sources, &request.scene, request.frame.size),
        json: data.to_string(),
        usage: answered.usage,
        requests: answered.exchange.requests,
        responses: answered.exchange.responses,
    }
}

fn validator(schema: &str) -> Result<Validator, FieldError> {
    let problem = |problem: String| FieldError::new(FIELD, problem);
    let schema: Value = serde_json::from_str(schema)
        .map_err(|error| problem(format!("not valid JSON: {error}")))?;
    jsonschema::validator_for(&schema)
        .map_err(|error| problem(format!("not a valid JSON Schema: {error}")))
}

/// Returns the delimited content of the screen.
fn texts(request: &ExtractRequest) -> Vec<String> {
    let elements = lines::lines(&request.scene.elements);
    let elements = (!elements.is_empty())
        .then(|| untrusted("elements of the screen, as they were read", &elements));
    let page = request.page_text.as_deref().map(|text| {
        let end = text.char_indices().nth(MAX_PAGE_CHARS);
        let text = end.map_or(text, |(end, _)| &text[..end]);
        untrusted("text of the page in the browser", text)
    });
    elements.into_iter().chain(page).collect()
}

/// Returns the data of an answer, if it is valid against the schema, and the sources that the answer names.
fn checked(answer: &str, validator: &Validator) -> Result<Value, String> {
    let values = values(answer);
    let accepted = values.iter().find_map(|value| accepted(value, validator));
    if let Some(accepted) = accepted {
        return Ok(accepted);
    }
    let last = values.last();
    let value = last.ok_or("the answer has no whole JSON value in it")?;
    let (data, _) = parts(value);
    let mistakes: Vec<String> = validator
        .iter_errors(data)
        .take(MAX_REPORTED_ERRORS)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    Err(format!(
        "`data` is not valid against the schema: {}",
        mistakes.join("; ")
    ))
}

/// Returns the data of a value with its sources, if it is valid against the schema.
fn accepted(value: &Value, validator: &Validator) -> Option<Value> {
    let (data, sources) = parts(value);
    if validator.is_valid(data) {
        return Some(json!({DATA: data, SOURCES: sources}));
    }
    // The caller's schema may itself have a field named `data`.
    (sources.is_null() && validator.is_valid(value)).then(|| json!({DATA: value}))
}

/// Splits an answer into data and sources; any other shape is all data.
fn parts(answer: &Value) -> (&Value, &Value) {
    let Some(fields) = answer.as_object() else {
        return (answer, &Value::Null);
    };
    let is_wrapped = fields.keys().all(|key| key == DATA || key == SOURCES);
    match fields.get(DATA).filter(|_| is_wrapped) {
        Some(data) => (data, &answer[SOURCES]),
        None => (answer, &Value::Null),
    }
}

/// Returns the JSON value of an answer, or the objects inside it.
fn values(answer: &str) -> Vec<Value> {
    let bare = answer.trim();
    let unfenced = bare
        .strip_prefix("```json")
        .or_else(|| bare.strip_prefix("```"))
        .and_then(|rest| rest.strip_suffix("```"))
        .unwrap_or(bare);
    match serde_json::from_str(unfenced) {
        Ok(whole) => vec![whole],
        Err(_) => {
            let objects = crate::response::json::objects(answer);
            objects.into_iter().map(Value::Object).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type": "array", "items": {"type": "integer", "minimum": 0}}"#;

    #[track_caller]
    fn check(answer: &str, expected: Result<Value, &str>) {
        let found = checked(answer, &validator(SCHEMA).unwrap());
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found[DATA], expected),
            (Err(found), Err(part)) => assert!(found.contains(part), "{found}"),
            (found, _) => panic!("{answer}: {found:?}"),
        }
    }

    #[test]
    fn an_answer_has_to_be_valid() {
        check(r#"{"data": [1, 2], "sources": {}}"#, Ok(json!([1, 2])));
        check("```json\n{\"data\": [1]}\n```", Ok(json!([1])));
        check(
            r#"{"data": [1, -2], "sources": {}}"#,
            Err("/1: -2 is less than the minimum of 0"),
        );
        check(r#"{"data": {"a": 1}}"#, Err("is not of type \"array\""));
        check(
            r#"{"data": [1], "more": 1}"#,
            Err("is not of type \"array\""),
        );
        check("none", Err("no whole JSON value"));
    }

    #[test]
    fn bare_data_is_accepted_without_a_wrapper() {
        check("[1, 2]", Ok(json!([1, 2])));
        let own = validator(r#"{"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}"#).unwrap();
        let whole = json!({"data": "a"});
        let found = checked(&whole.to_string(), &own).unwrap();
        assert_eq!(found[DATA], whole, "the schema wants a field of that name");
        let wrapped = json!({"data": whole, "sources": {"/data": 1}});
        assert_eq!(checked(&wrapped.to_string(), &own).unwrap(), wrapped);
    }

    #[test]
    fn invalid_schemas_are_refused() {
        assert!(validator("{").is_err());
        assert!(validator(r#"{"type": "nonsense"}"#).is_err());
        let elsewhere = validator(r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#);
        assert!(elsewhere.is_err(), "no schema is fetched");
    }
}
