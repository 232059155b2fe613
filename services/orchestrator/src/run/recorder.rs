//! Keeps what a run produces besides events: stored files and the times of a step's stages.
//!
//! Events are not kept here but in [`super::journal`].

use bytes::Bytes;
use motorium_messages::Message;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::StageTiming;
use motorium_store::{BlobId, BlobStore};
use tokio::time::Instant;

use super::interrupts::Interrupts;
use super::{Backoff, RunResult, halt};
use motorium_task::Task;
use motorium_task::event::Artifact;

/// Stored files and stage times of one run.
#[derive(Debug)]
pub(super) struct StepRecorder {
    blobs: BlobStore,
    /// Times of the open step's stages.
    timings: Vec<StageTiming>,
}

/// Content to be stored and its metadata.
pub(super) struct PendingArtifact {
    pub(super) bytes: Bytes,
    pub(super) media_type: String,
    pub(super) file_name: String,
}

/// Requests to models and their responses, each JSON, which are not stored yet.
#[derive(Debug, Clone, Default)]
pub(super) struct ExchangeTexts {
    pub(super) requests: Vec<String>,
    pub(super) responses: Vec<String>,
}

impl ExchangeTexts {
    pub(super) fn is_empty(&self) -> bool {
        self.responses.is_empty()
    }
}

impl StepRecorder {
    pub(super) fn new(blobs: BlobStore) -> Self {
        Self {
            blobs,
            timings: Vec::new(),
        }
    }

    pub(super) fn blobs(&self) -> &BlobStore {
        &self.blobs
    }

    /// Adds the time since `since` to a stage of the open step.
    pub(super) fn record_timing(&mut self, stage: &str, since: Instant) {
        let elapsed = since.elapsed();
        match self.timings.iter_mut().find(|timing| timing.stage == stage) {
            Some(timing) => timing.elapsed += elapsed,
            None => self.timings.push(StageTiming {
                stage: stage.to_owned(),
                elapsed,
            }),
        }
    }

    /// Returns the times of the step that ends.
    pub(super) fn take_timings(&mut self) -> Vec<StageTiming> {
        std::mem::take(&mut self.timings)
    }

    /// Stores all present artifacts in one batch.
    pub(super) async fn store<const N: usize>(
        &self,
        interrupts: &Interrupts,
        task: &Task,
        unstored: [Option<PendingArtifact>; N],
    ) -> RunResult<[Option<Artifact>; N]> {
        let contents = unstored.iter().flatten();
        let contents = contents.map(|one| one.bytes.clone()).collect();
        let mut names = self.put(interrupts, task, contents).await?.into_iter();
        Ok(unstored.map(|one| Some(one?.stored_as(names.next()?))))
    }

    async fn put(
        &self,
        interrupts: &Interrupts,
        task: &Task,
        contents: Vec<Bytes>,
    ) -> RunResult<Vec<BlobId>> {
        let began = Instant::now();
        let mut backoff = Backoff::of(&task.spec.name.to_string());
        loop {
            let error = match self.blobs.put_all(contents.clone()).await {
                Ok(names) => return Ok(names),
                Err(error) => error,
            };
            // A full disk may have space again, so storing is retried.
            let Some(pause) = backoff.next(began.elapsed()) else {
                return Err(halt(task, Message::OperationStoreImage, error.report()));
            };
            tracing::warn!(task = %task.spec.name, %error, "storing an image failed; retrying");
            interrupts.guard(task, tokio::time::sleep(pause)).await?;
        }
    }
}

impl PendingArtifact {
    /// Returns an image as an artifact to be stored, or `None` if it is missing or kept elsewhere.
    pub(super) fn image(image: Option<&Image>, name: &str) -> Option<Self> {
        let Some(Image {
            content: ImageContent::Bytes(bytes),
            media_type,
            ..
        }) = image
        else {
            return None;
        };
        let extension = media_type.rsplit('/').next().unwrap_or("bin");
        Some(Self {
            bytes: bytes.clone(),
            media_type: media_type.clone(),
            file_name: format!("{name}.{extension}"),
        })
    }

    /// Returns the requests to models, or the responses, as an artifact to be stored, or `None` if there are none.
    pub(super) fn messages(messages: &[String], name: &str) -> Option<Self> {
        // Each is JSON already; parsing it again could change its numbers.
        let array = (!messages.is_empty()).then(|| format!("[{}]", messages.join(",\n")))?;
        Some(Self {
            bytes: array.into(),
            media_type: "application/json".to_owned(),
            file_name: format!("{name}.json"),
        })
    }

    /// Returns the requests of a call and the responses as artifacts to be stored. They are files of two folders of an export, so
    /// that both may have the same name.
    pub(super) fn exchange(exchange: &ExchangeTexts, name: &str) -> [Option<Self>; 2] {
        let ExchangeTexts {
            requests,
            responses,
        } = exchange;
        [requests, responses].map(|messages| Self::messages(messages, name))
    }

    fn stored_as(self, name: BlobId) -> Artifact {
        Artifact {
            sha256: name.sha256(),
            media_type: self.media_type,
            size_bytes: self.bytes.len() as u64,
            file_name: self.file_name,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_store::BlobStore;

    use super::*;

    fn image(content: ImageContent) -> Image {
        Image {
            content,
            media_type: "image/webp".to_owned(),
            width: 4,
            height: 3,
            sha256: [0; 32],
        }
    }

    #[test]
    fn an_image_is_stored_with_the_extension_of_its_type() {
        let bytes = image(ImageContent::Bytes(Bytes::from_static(b"pixels")));
        let pending = PendingArtifact::image(Some(&bytes), "step-1").unwrap();
        assert_eq!(pending.file_name, "step-1.webp");
        let elsewhere = image(ImageContent::BlobUri("blob:1".to_owned()));
        assert!(PendingArtifact::image(Some(&elsewhere), "step-1").is_none());
        assert!(PendingArtifact::image(None, "step-1").is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn stage_timings_accumulate_within_a_step() {
        let mut recorder = StepRecorder::new(BlobStore::memory());
        for stage in ["act", "settle", "act"] {
            let began = Instant::now();
            tokio::time::advance(Duration::from_millis(10)).await;
            recorder.record_timing(stage, began);
        }
        let timings: Vec<(String, u128)> = recorder
            .take_timings()
            .into_iter()
            .map(|timing| (timing.stage, timing.elapsed.as_millis()))
            .collect();
        let expected = [("act".to_owned(), 20), ("settle".to_owned(), 10)];
        assert_eq!(timings, expected);
        assert_eq!(recorder.take_timings(), []);
    }
}
