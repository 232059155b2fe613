//! Messages of the contract as JSON in protobuf's own mapping, both ways.
//!
//! The descriptors are those that reflection serves, so that nothing is written down a second time.

use std::sync::LazyLock;

use motorium_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor};

static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET)
        .expect("the contract was compiled into this program")
});

pub(crate) const EVENT: &str = "motorium.orchestrator.v1.Event";
pub(crate) const TASK: &str = "motorium.orchestrator.v1.Task";
pub(crate) const SCENE: &str = "motorium.common.v1.Scene";
pub(crate) const ACTION: &str = "motorium.common.v1.Action";
pub(crate) const USAGE: &str = "motorium.common.v1.Usage";

/// What the contract says of a message.
fn descriptor(name: &str) -> Option<MessageDescriptor> {
    CONTRACT.get_message_by_name(name)
}

/// The message of this full name, encoded, as JSON. Nothing if it is none.
pub(crate) fn of_bytes(name: &str, encoded: &[u8]) -> Option<serde_json::Value> {
    let message = DynamicMessage::decode(descriptor(name)?, encoded).ok()?;
    serde_json::to_value(&message).ok()
}

/// A message of this full name as JSON.
pub(crate) fn of(name: &str, message: &impl Message) -> serde_json::Value {
    of_bytes(name, &message.encode_to_vec()).unwrap_or_default()
}

/// The message that some JSON is.
///
/// # Errors
/// In words, if it is none of this name.
pub(crate) fn read<M: Message + Default>(name: &str, text: &str) -> Result<M, String> {
    let descriptor = descriptor(name).ok_or_else(|| format!("there is no message {name}"))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let message =
        DynamicMessage::deserialize(descriptor, &mut json).map_err(|error| error.to_string())?;
    M::decode(message.encode_to_vec().as_slice()).map_err(|error| error.to_string())
}

/// Full name of what a method takes, or of what it answers.
pub(crate) fn message_of(method: &str, is_answer: bool) -> Option<String> {
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
