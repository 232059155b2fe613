//! Structured data from a screen, by a JSON Schema of the caller's. The schema is kept to here and not by the provider, as
//! each of them understands another part of JSON Schema.
//!
//! - [`sources`]: which element each value was read from
//!
//! The model answers with `{"data": …, "sources": {…}}`, so that the caller's schema holds for `data` as it is, also where
//! it allows nothing beside its own fields. An answer that is the data alone is taken as well.

mod sources;

use std::sync::Arc;

use jsonschema::Validator;
use motorium_imaging::marks::prompt as lines;
use motorium_proto::error::FieldError;
use motorium_proto::service::{ExtractRequest, Extraction};
use serde_json::{Map, Value, json};

use crate::backends::question::{Answered, Question};
use crate::error::Error;
use crate::prompt::untrusted::untrusted;
use crate::prompt::{Language, Prompts};

/// The field of the request that a schema stands in.
const FIELD: &str = "json_schema";
/// Longest text of a page that a model is shown, in characters.
const LONGEST_PAGE: usize = 60_000;
/// The fields of an answer.
const DATA: &str = "data";
const SOURCES: &str = "sources";
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

/// What the question's check gave back, with the elements that the values were read from.
#[must_use]
pub fn extraction(request: &ExtractRequest, answered: Answered) -> Extraction {
    let mut value = answered.value;
    let data = value[DATA].take();
    let nowhere = Map::new();
    let said = value[SOURCES].as_object().unwrap_or(&nowhere);
    Extraction {
        sources: sources::of(&data, said, &request.scene, request.frame.size),
        json: data.to_string(),
        usage: answered.usage,
    }
}

fn validator(schema: &str) -> Result<Validator, FieldError> {
    let problem = |problem: String| FieldError::new(FIELD, problem);
    let schema: Value =
        serde_json::from_str(schema).map_err(|error| problem(format!("it is no JSON: {error}")))?;
    jsonschema::validator_for(&schema)
        .map_err(|error| problem(format!("it is no JSON Schema: {error}")))
}

/// What is on the screen, delimited.
fn texts(request: &ExtractRequest) -> Vec<String> {
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

/// The data in an answer, if it is as the schema wants it, and what the answer says of its sources.
fn checked(answer: &str, validator: &Validator) -> Result<Value, String> {
    let value = value(answer).ok_or("the answer has no whole JSON value in it")?;
    let (data, sources) = parts(&value);
    if validator.is_valid(data) {
        return Ok(json!({DATA: data, SOURCES: sources}));
    }
    // A schema may have a field of that name itself.
    if sources.is_null() && validator.is_valid(&value) {
        return Ok(json!({DATA: value}));
    }
    let mistakes: Vec<String> = validator
        .iter_errors(data)
        .take(MOST_MISTAKES)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    Err(format!(
        "`data` is not valid against the schema: {}",
        mistakes.join("; ")
    ))
}

/// The data and the sources of an answer; one that has not this form is all data.
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
    fn the_data_alone_is_an_answer_as_well() {
        check("[1, 2]", Ok(json!([1, 2])));
        let own = validator(r#"{"type": "object", "required": ["data"], "properties": {"data": {"type": "string"}}}"#).unwrap();
        let whole = json!({"data": "a"});
        let found = checked(&whole.to_string(), &own).unwrap();
        assert_eq!(found[DATA], whole, "the schema wants a field of that name");
        let wrapped = json!({"data": whole, "sources": {"/data": 1}});
        assert_eq!(checked(&wrapped.to_string(), &own).unwrap(), wrapped);
    }

    #[test]
    fn a_schema_has_to_be_one() {
        assert!(validator("{").is_err());
        assert!(validator(r#"{"type": "nonsense"}"#).is_err());
        let elsewhere = validator(r#"{"$ref": "http://127.0.0.1:1/schema.json"}"#);
        assert!(elsewhere.is_err(), "no schema is fetched");
    }
}
