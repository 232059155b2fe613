//! Messages in the JSON form of the contracts (ProtoJSON), with the names of the contracts.
//!
//! Fields with default values are left out, except the list of a list.

use std::sync::LazyLock;

use axum::Json;
use motorium_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::{Value, json, value::Serializer};

use super::Answer;

/// The contracts.
pub(super) static CONTRACTS: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("the contracts are part of this program")
});

/// Returns a message. `name` is the full name of its type.
pub(super) fn resource(message: &impl Message, name: &str) -> Answer {
    Ok(Json(to_json(message, name)))
}

/// Returns a response of the Orchestrator with a list.
pub(super) fn listed(message: &impl Message, name: &str, list: &str) -> Answer {
    let mut value = to_json(message, &format!("motorium.orchestrator.v1.{name}"));
    if let Value::Object(fields) = &mut value {
        fields.entry(list).or_insert_with(|| json!([]));
    }
    Ok(Json(value))
}

fn to_json(message: &impl Message, name: &str) -> Value {
    let descriptor = CONTRACTS.get_message_by_name(name);
    let descriptor = descriptor.expect("the contracts have the type");
    let mut dynamic = DynamicMessage::new(descriptor);
    let merged = dynamic.transcode_from(message);
    merged.expect("a message has the form of its type");
    let options = SerializeOptions::new()
        .use_proto_field_name(true)
        .skip_default_fields(true);
    let value = dynamic.serialize_with_options(Serializer, &options);
    value.expect("a message has a JSON form")
}

#[cfg(test)]
mod tests {
    use motorium_proto::v1::orchestrator as wire;

    use super::*;

    #[test]
    fn names_are_those_of_the_contracts_and_lists_are_always_there() {
        let task = wire::Task {
            name: "tasks/a".to_owned(),
            state: wire::task::State::AwaitingUser.into(),
            last_sequence: 7,
            ..wire::Task::default()
        };
        let response = wire::ListTasksResponse {
            tasks: vec![task],
            ..wire::ListTasksResponse::default()
        };
        let Json(value) = listed(&response, "ListTasksResponse", "tasks").unwrap();
        let expected = json!({"tasks": [
            {"name": "tasks/a", "state": "STATE_AWAITING_USER", "last_sequence": "7"}
        ]});
        assert_eq!(value, expected);
        let empty = wire::ListTasksResponse::default();
        let Json(value) = listed(&empty, "ListTasksResponse", "tasks").unwrap();
        assert_eq!(value, json!({"tasks": []}));
    }
}
