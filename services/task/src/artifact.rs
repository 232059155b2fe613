//! Stored images and files of a task.
//!
//! Their contents are not here: the blob store has them.

use motorium_proto::convert::{optional, require};
use motorium_proto::domain::id::TaskName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_text::hex;

/// A stored image or file of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// SHA-256 of the content; also its key in the blob store.
    pub sha256: [u8; 32],
    pub media_type: String,
    pub size_bytes: u64,
    /// File name for people.
    pub file_name: String,
}

/// Requests to models for a decision or another call, and their responses: a JSON array each, in the same order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredExchange {
    /// Requests, without the content of images. `None` in tasks of versions that did not keep them.
    pub requests: Option<Artifact>,
    /// Responses of the models' providers, as they sent them.
    pub responses: Option<Artifact>,
}

impl StoredExchange {
    /// Returns the stored files.
    pub fn artifacts(&self) -> impl Iterator<Item = &Artifact> {
        self.requests.iter().chain(&self.responses)
    }

    /// Reads the fields `requests` and `responses` of an event.
    pub(crate) fn from_wire(
        requests: Option<wire::Artifact>,
        responses: Option<wire::Artifact>,
    ) -> Result<Self, FieldError> {
        Ok(Self {
            requests: optional_artifact("requests", requests)?,
            responses: optional_artifact("responses", responses)?,
        })
    }

    /// Returns the fields `requests` and `responses` of an event of the task.
    pub(crate) fn into_wire(
        self,
        task: &TaskName,
    ) -> (Option<wire::Artifact>, Option<wire::Artifact>) {
        let wire = |artifact: Artifact| wire_artifact(task, artifact);
        (self.requests.map(wire), self.responses.map(wire))
    }
}

pub(crate) fn wire_artifact(task: &TaskName, artifact: Artifact) -> wire::Artifact {
    wire::Artifact {
        name: format!("{task}/artifacts/{}", hex::encode(&artifact.sha256)),
        media_type: artifact.media_type,
        size_bytes: artifact.size_bytes,
        sha256: artifact.sha256.to_vec().into(),
        file_name: artifact.file_name,
    }
}

struct ArtifactMessage(wire::Artifact);

impl TryFrom<ArtifactMessage> for Artifact {
    type Error = FieldError;

    fn try_from(ArtifactMessage(artifact): ArtifactMessage) -> Result<Self, FieldError> {
        let sha256 = artifact.sha256.as_ref().try_into();
        Ok(Self {
            sha256: sha256.map_err(|_| FieldError::new("sha256", "does not have 32 bytes"))?,
            media_type: artifact.media_type,
            size_bytes: artifact.size_bytes,
            file_name: artifact.file_name,
        })
    }
}

pub(crate) fn optional_artifact(
    field: &str,
    message: Option<wire::Artifact>,
) -> Result<Option<Artifact>, FieldError> {
    optional(field, message.map(ArtifactMessage))
}

pub(crate) fn required_artifact(
    field: &str,
    message: Option<wire::Artifact>,
) -> Result<Artifact, FieldError> {
    require(field, message.map(ArtifactMessage))
}
