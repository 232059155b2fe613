//! The messages of the resources as schemas of OpenAPI, made from the contracts.

use std::collections::BTreeMap;

use prost_reflect::{Cardinality, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::{Value, json};
use utoipa::Modify;
use utoipa::openapi::OpenApi;

use super::json::CONTRACTS;

/// Messages that responses have, and with them everything in these.
const ROOTS: [&str; 10] = [
    "ListTasksResponse",
    "ListStepsResponse",
    "ListApprovalsResponse",
    "ListDesktopsResponse",
    "ListSessionsResponse",
    "Task",
    "Session",
    "Approval",
    "Policy",
    "TestPolicyResponse",
];

/// Adds the schemas to a description.
pub(crate) struct ContractSchemas;

impl Modify for ContractSchemas {
    fn modify(&self, description: &mut OpenApi) {
        let components = description.components.get_or_insert_default();
        for (name, schema) in schemas() {
            let schema = serde_json::from_value(schema);
            let schema = schema.expect("a generated schema is one of OpenAPI");
            components.schemas.insert(name, schema);
        }
    }
}

/// Returns the schemas by the full names of their messages, and those of errors and files.
fn schemas() -> BTreeMap<String, Value> {
    let mut schemas = BTreeMap::from([
        ("Error".to_owned(), error()),
        (
            "FileContent".to_owned(),
            json!({"type": "string", "format": "binary"}),
        ),
    ]);
    let roots = ROOTS.iter().filter_map(|name| {
        CONTRACTS.get_message_by_name(&format!("motorium.orchestrator.v1.{name}"))
    });
    let mut pending: Vec<MessageDescriptor> = roots.collect();
    while let Some(message) = pending.pop() {
        let name = message.full_name().to_owned();
        if schemas.contains_key(&name) || well_known(&name).is_some() {
            continue;
        }
        let properties: BTreeMap<String, Value> = message
            .fields()
            .map(|field| (field.name().to_owned(), property(&field)))
            .collect();
        let schema =
            json!({"type": "object", "properties": properties, "additionalProperties": false});
        schemas.insert(name, schema);
        pending.extend(message.fields().flat_map(|field| messages_in(&field)));
    }
    schemas
}

fn error() -> Value {
    let text = json!({"type": "string"});
    json!({"type": "object", "required": ["error"], "properties": {"error": {
        "type": "object",
        "required": ["code", "reason", "message"],
        "properties": {"code": {"type": "integer"}, "reason": text, "message": text},
    }}})
}

fn property(field: &FieldDescriptor) -> Value {
    if field.is_map() {
        let Kind::Message(entry) = field.kind() else {
            return json!({"type": "object"});
        };
        return json!({"type": "object", "additionalProperties": of_kind(&entry.map_entry_value_field().kind())});
    }
    let one = of_kind(&field.kind());
    match field.cardinality() {
        Cardinality::Repeated => json!({"type": "array", "items": one}),
        _ => one,
    }
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Double | Kind::Float => json!({"type": "number"}),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Uint32 | Kind::Fixed32 => {
            json!({"type": "integer"})
        }
        // JSON has no integers of 64 bits.
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 | Kind::Uint64 | Kind::Fixed64 => {
            json!({"type": "string", "pattern": "^-?[0-9]+$"})
        }
        Kind::Bool => json!({"type": "boolean"}),
        Kind::String => json!({"type": "string"}),
        Kind::Bytes => json!({"type": "string", "format": "byte"}),
        Kind::Enum(values) => {
            let names: Vec<String> = values.values().map(|one| one.name().to_owned()).collect();
            json!({"type": "string", "enum": names})
        }
        Kind::Message(message) => well_known(message.full_name()).unwrap_or_else(
            || json!({"$ref": format!("#/components/schemas/{}", message.full_name())}),
        ),
    }
}

/// Returns the form of messages that JSON has words for.
fn well_known(name: &str) -> Option<Value> {
    match name {
        "google.protobuf.Timestamp" => Some(json!({"type": "string", "format": "date-time"})),
        "google.protobuf.Duration" => {
            Some(json!({"type": "string", "pattern": "^-?[0-9]+(\\.[0-9]+)?s$"}))
        }
        _ => None,
    }
}

fn messages_in(field: &FieldDescriptor) -> Vec<MessageDescriptor> {
    let Kind::Message(message) = field.kind() else {
        return Vec::new();
    };
    if !field.is_map() {
        return vec![message];
    }
    match message.map_entry_value_field().kind() {
        Kind::Message(value) => vec![value],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_to_a_schema() {
        let schemas = schemas();
        let text = json!(schemas).to_string();
        let references = text.split("\"#/components/schemas/").skip(1);
        let named: Vec<&str> = references
            .filter_map(|rest| rest.split('"').next())
            .collect();
        assert!(named.len() > 20, "{named:?}");
        for name in named {
            assert!(schemas.contains_key(name), "{name}");
        }
    }

    #[test]
    fn a_task_is_described_as_the_contract_says() {
        let task = &schemas()["motorium.orchestrator.v1.Task"]["properties"];
        assert_eq!(task["last_sequence"]["type"], "string");
        assert_eq!(task["create_time"]["format"], "date-time");
        assert_eq!(task["labels"]["additionalProperties"]["type"], "string");
        assert_eq!(task["results"]["items"]["type"], "string");
        let states = task["state"]["enum"].as_array().unwrap();
        assert!(states.contains(&json!("STATE_AWAITING_USER")));
    }
}
