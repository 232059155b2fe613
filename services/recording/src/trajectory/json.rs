//! Conversion of API messages to and from protobuf's JSON mapping.
//!
//! Uses the descriptors that gRPC reflection serves, so that no schema is duplicated.

use std::sync::LazyLock;

use motorium_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET)
        .expect("the contract was compiled into this program")
});

pub const EVENT: &str = "motorium.orchestrator.v1.Event";
pub const TASK: &str = "motorium.orchestrator.v1.Task";
pub const SCENE: &str = "motorium.common.v1.Scene";
pub const ACTION: &str = "motorium.common.v1.Action";
pub const USAGE: &str = "motorium.common.v1.Usage";

/// Returns the descriptor of a message.
fn descriptor(name: &str) -> Option<MessageDescriptor> {
    CONTRACT.get_message_by_name(name)
}

/// Converts an encoded message with this full name to JSON. Returns `None` if it cannot be decoded.
pub fn of_bytes(name: &str, encoded: &[u8]) -> Option<serde_json::Value> {
    let message = DynamicMessage::decode(descriptor(name)?, encoded).ok()?;
    serde_json::to_value(&message).ok()
}

/// Converts a message with this full name to JSON.
pub fn of(name: &str, message: &impl Message) -> serde_json::Value {
    of_bytes(name, &message.encode_to_vec()).unwrap_or_default()
}

/// Parses a message with this full name from JSON.
///
/// # Errors
/// A description, if the JSON is not such a message.
pub fn read<M: Message + Default>(name: &str, text: &str) -> Result<M, String> {
    let descriptor = descriptor(name).ok_or_else(|| format!("there is no message {name}"))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let message =
        DynamicMessage::deserialize(descriptor, &mut json).map_err(|error| error.to_string())?;
    M::decode(message.encode_to_vec().as_slice()).map_err(|error| error.to_string())
}

/// Returns the full name of a method's request message, or of its response message.
pub fn message_of(method: &str, is_answer: bool) -> Option<String> {
    let (service, method) = method.trim_start_matches('/').split_once('/')?;
    let service = CONTRACT.get_service_by_name(service)?;
    let method = service.methods().find(|known| known.name() == method)?;
    let message = if is_answer {
        method.output()
    } else {
        method.input()
    };
    Some(message.full_name().to_owned())
}
