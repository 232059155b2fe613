//! Streams the images and files of a task in chunks.
//!
//! Only what the log of the task names is read, not any blob by its hash.

use futures::StreamExt as _;
use futures::stream;
use motorium_proto::error::FieldError;
use motorium_proto::limits::CHUNK_BYTES;
use motorium_proto::v1::orchestrator as wire;

use super::{Edge, ResponseStream};
use crate::error::Error;
use motorium_recording::log;
use motorium_task::Task;
use motorium_task::event::Artifact;
use motorium_text::hex;

impl Edge {
    pub(super) async fn artifact(
        &self,
        request: wire::GetArtifactRequest,
    ) -> Result<ResponseStream<wire::GetArtifactResponse>, Error> {
        use wire::get_artifact_response::Part;

        let Some((task, id)) = request.name.split_once("/artifacts/") else {
            let description = format!(
                "`{}` is not of the form tasks/{{task}}/artifacts/{{artifact}}",
                request.name
            );
            return Err(FieldError::new("name", description).into());
        };
        let task = self.visible_task("name", task).await?;
        let task = log::load(self.store.as_ref(), &task).await?;
        let found = artifacts(&task)
            .find(|artifact| hex::encode(&artifact.sha256) == id)
            .cloned();
        let artifact = found.ok_or_else(|| Error::ArtifactNotFound {
            name: request.name.clone(),
        })?;
        let content = self.blobs.get(artifact.sha256).await?;
        let offset = usize::try_from(request.read_offset).unwrap_or(usize::MAX);
        if offset > content.len() {
            let description = format!("is {offset}; the content has {} bytes", content.len());
            return Err(FieldError::new("read_offset", description).into());
        }
        let description = wire::Artifact {
            name: request.name,
            media_type: artifact.media_type,
            size_bytes: artifact.size_bytes,
            sha256: artifact.sha256.to_vec().into(),
            file_name: artifact.file_name,
        };
        let rest = content.slice(offset..);
        let chunks = (0..rest.len())
            .step_by(CHUNK_BYTES)
            .map(move |start| Part::Chunk(rest.slice(start..rest.len().min(start + CHUNK_BYTES))));
        let parts = std::iter::once(Part::Artifact(description)).chain(chunks);
        Ok(
            stream::iter(parts.map(|part| Ok(wire::GetArtifactResponse { part: Some(part) })))
                .boxed(),
        )
    }
}

/// Returns every artifact that a task's log names.
fn artifacts(task: &Task) -> impl Iterator<Item = &Artifact> {
    let step_artifacts = task.steps.iter().flat_map(|step| {
        let images = step.image.iter().chain(&step.annotated_image);
        images.chain(&step.scene).chain(step.exchange.artifacts())
    });
    let evidence = task
        .approvals
        .iter()
        .filter_map(|approval| approval.evidence.as_ref());
    step_artifacts.chain(evidence).chain(&task.artifacts)
}
