//! Beginning a step: what is on the screen.

use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::{
    CaptureRequest, ImageFormat, ImageOptions, Observation, ObserveRequest, ParseOptions,
};
use tokio::time::Instant;

use super::{Flow, Runner, View, halt};
use crate::task::event::{Artifact, Event, Observed};
use crate::task::secret_fields::redactions;

/// Lossless and small; what a person looks at later and a model is shown.
const PICTURE: ImageOptions = ImageOptions {
    format: ImageFormat::WebpLossless,
    fit: None,
};

impl Runner {
    pub(super) async fn observe(&mut self) -> Flow {
        let began = Instant::now();
        let observation = self.look(true).await?;
        let elapsed = began.elapsed();
        let step = self.task.next_step();
        let image = self
            .keep(observation.image.as_ref(), &format!("step-{step}"))
            .await?;
        let marked_image = self
            .keep(
                observation.marked_image.as_ref(),
                &format!("step-{step}-marked"),
            )
            .await?;
        let observed = Event::Observed(Box::new(Observed {
            frame: observation.frame.clone(),
            image,
            marked_image,
            element_count: u32::try_from(observation.scene.elements.len()).unwrap_or(u32::MAX),
            elapsed,
        }));
        self.view = Some(View::of(observation));
        self.timed("observe", began);
        self.record(vec![observed]).await
    }

    /// Captures and parses the screen, with pictures if they are to be kept.
    pub(super) async fn look(&mut self, pictures: bool) -> Flow<Observation> {
        let picture = pictures.then_some(PICTURE);
        let request = ObserveRequest {
            capture: CaptureRequest {
                display: self.display(),
                image: picture,
                redactions: redactions(&self.task.secret_fields.boxes()),
                ..CaptureRequest::default()
            },
            max_elements: None,
            marked_image: picture,
            since_frame: None,
            parsing: ParseOptions::default(),
        };
        self.ask("looking at the screen", move |ports| {
            let request = request.clone();
            async move { ports.perception.observe(request).await }
        })
        .await
    }

    async fn keep(&self, image: Option<&Image>, name: &str) -> Flow<Option<Artifact>> {
        let Some(Image {
            content: ImageContent::Bytes(bytes),
            media_type,
            ..
        }) = image
        else {
            return Ok(None);
        };
        let extension = media_type.rsplit('/').next().unwrap_or("bin");
        let artifact = self
            .store_blob(bytes.clone(), media_type, format!("{name}.{extension}"))
            .await?;
        Ok(Some(artifact))
    }

    pub(super) async fn store_blob(
        &self,
        bytes: bytes::Bytes,
        media_type: &str,
        file_name: String,
    ) -> Flow<Artifact> {
        let size_bytes = bytes.len() as u64;
        let stored = self.blobs.put(bytes).await;
        let stored = stored.map_err(|error| halt("storing a picture", error.report()))?;
        Ok(Artifact {
            sha256: stored.sha256(),
            media_type: media_type.to_owned(),
            size_bytes,
            file_name,
        })
    }
}
