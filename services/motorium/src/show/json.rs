//! Messages in the protobuf JSON mapping.

use motorium_proto::FILE_DESCRIPTOR_SET;
use motorium_proto::v1::orchestrator as wire;
use prost::Message as _;
use prost_reflect::{DescriptorPool, DynamicMessage};
use std::sync::LazyLock;

static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET)
        .expect("the contract was compiled into this program")
});

/// Formats an event as one line of JSON.
#[must_use]
pub(crate) fn event(event: &wire::Event) -> String {
    let descriptor = CONTRACT
        .get_message_by_name("motorium.orchestrator.v1.Event")
        .expect("the contract has events");
    DynamicMessage::decode(descriptor, event.encode_to_vec().as_slice())
        .ok()
        .and_then(|message| serde_json::to_string(&message).ok())
        .unwrap_or_default()
}
