use crate::domain::session::{
    EarlierMessage, EarlierTask, FileOrigin, MessageRole, TaskEnd, TaskFile,
};
use crate::error::FieldError;
use crate::v1::common as wire;

enumerations! {
    required file_origin("origin"): wire::task_file::Origin => FileOrigin { Attached, Saved, Wanted }
    required role("role"): wire::earlier_message::Role => MessageRole { User, Assistant }
    required task_end("outcome"): wire::earlier_task::Outcome => TaskEnd { Succeeded, Failed, Cancelled }
}

conversions! {
    wire::TaskFile => TaskFile {
        name: required_text,
        path: same,
        origin: enumeration(file_origin, wire::task_file::Origin),
    }

    wire::EarlierMessage => EarlierMessage {
        role: enumeration(role, wire::earlier_message::Role),
        text: required_text,
    }

    wire::EarlierTask => EarlierTask {
        task: same,
        goal: required_text,
        outcome: enumeration(task_end, wire::earlier_task::Outcome),
        answer: same,
        user_messages: same,
        actions: same,
        extracted_json: text,
        files: repeated,
    }
}
