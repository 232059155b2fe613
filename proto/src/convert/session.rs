//! Conversion of a session's earlier tasks and messages, of files, and of the images of the user.
//!
//! It does not load images that are given by reference.

use crate::domain::frame::ImageContent;
use crate::domain::session::{
    EarlierMessage, EarlierTask, FileOrigin, MessageRole, TaskEnd, TaskFile, UserImage,
};
use crate::error::FieldError;
use crate::limits::{MAX_USER_IMAGE_BYTES, MAX_USER_IMAGES};
use crate::v1::common as wire;

/// Checks the number and the sizes of the images of a user.
pub(super) fn user_images(images: Vec<UserImage>) -> Result<Vec<UserImage>, FieldError> {
    const FIELD: &str = "images";
    let count = images.len();
    if count > MAX_USER_IMAGES {
        let problem = format!("has {count} images; at most {MAX_USER_IMAGES} are accepted");
        return Err(FieldError::new(FIELD, problem));
    }
    for (index, image) in images.iter().enumerate() {
        let size = encoded_bytes(image);
        if size > MAX_USER_IMAGE_BYTES {
            let problem = format!("has {size} bytes; at most {MAX_USER_IMAGE_BYTES} are accepted");
            return Err(FieldError::new(format!("{FIELD}[{index}].image"), problem));
        }
    }
    Ok(images)
}

fn encoded_bytes(image: &UserImage) -> usize {
    match image.image.as_ref().map(|image| &image.content) {
        Some(ImageContent::Bytes(bytes)) => bytes.len(),
        // A reference takes no room in the request.
        Some(ImageContent::BlobUri(_)) | None => 0,
    }
}

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

    wire::UserImage => UserImage {
        name: required_text,
        image: optional,
        step: same,
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
        written_by_model: same,
    }
}
