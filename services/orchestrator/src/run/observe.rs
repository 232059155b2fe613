//! Starts a step: observes the screen.

use bytes::Bytes;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::{Image, ImageContent};
use motorium_proto::service::{
    CaptureArea, CaptureRequest, ImageFormat, ImageOptions, Observation, ObserveRequest,
    ParseOptions, Redaction,
};
use motorium_proto::v1::{common, perception as wire};
use motorium_store::BlobId;
use prost::Message as _;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::hooks::with_redactions;
use super::motion_monitor::{self, MotionMonitor};
use super::{INITIAL_BACKOFF, RETRY_TIMEOUT, RunResult, Runner, ScreenView, halt};
use motorium_recording::recording::{OBSERVE, RecordingMode};
use motorium_recording::trajectory;
use motorium_task::event::{Artifact, Event, Observed};
use motorium_task::screen::Fingerprint;

/// Format of stored screenshots, which are shown to people and sent to models.
// Lossless, so that small text stays readable, and small enough to store one or two per step.
pub(super) const SCREENSHOT_OPTIONS: ImageOptions = ImageOptions {
    format: ImageFormat::WebpLossless,
    fit: None,
};

impl Runner {
    pub(super) async fn observe(&mut self) -> RunResult {
        let began = Instant::now();
        let step = self.task.next_step();
        self.recording.begin_step(step);
        let observation = self.take_next_observation().await?;
        let elapsed = began.elapsed();
        let (plain, marked) = (format!("step-{step}"), format!("step-{step}-marked"));
        let unstored = [
            image_artifact(observation.image.as_ref(), &plain),
            image_artifact(observation.annotated_image.as_ref(), &marked),
            self.unstored_scene(&observation.scene, step),
        ];
        let [image, annotated_image, scene] = self.store(unstored).await?;
        let observed = Event::Observed(Box::new(Observed {
            frame: observation.frame.clone(),
            image,
            annotated_image,
            element_count: u32::try_from(observation.scene.elements.len()).unwrap_or(u32::MAX),
            elapsed,
            fingerprint: Fingerprint::of(&observation.scene, &observation.frame),
            scene,
        }));
        // The image is stored, so it need not stay in memory: a step mostly waits for a model.
        let observation = Observation {
            image: None,
            annotated_image: None,
            ..observation
        };
        let view = motion_monitor::MotionMonitorTarget {
            display: self.display(),
            since: observation.frame.id.clone(),
            ignored_areas: self.task.secret_fields.boxes(),
            redactions: self.redactions(&self.task.secret_fields.boxes()),
        };
        self.observed_text.record_scene(&observation.scene);
        for window in &observation.frame.windows {
            self.observed_text.record_text(&window.title);
        }
        self.motion_monitor = Some(MotionMonitor::start(
            self.background_perception.0.clone(),
            view,
        ));
        self.view = Some(ScreenView::of(observation));
        self.record_timing("observe", began);
        self.record(vec![observed]).await
    }

    /// Captures and parses the whole screen, with images if they are to be stored.
    pub(super) async fn observe_screen(&mut self, pictures: bool) -> RunResult<Observation> {
        self.before_screenshot().await?;
        let request = self.whole_screen(pictures, self.redactions_in(&CaptureArea::Display));
        let observation = self.observe_with(request).await?;
        self.after_screenshot(&observation.frame, observation.image.as_ref())
            .await;
        Ok(observation)
    }

    pub(super) fn whole_screen(
        &self,
        pictures: bool,
        redactions: Vec<Redaction>,
    ) -> ObserveRequest {
        let picture = pictures.then_some(SCREENSHOT_OPTIONS);
        ObserveRequest {
            capture: CaptureRequest {
                display: self.display(),
                image: picture,
                redactions,
                ..CaptureRequest::default()
            },
            annotated_image: picture,
            ..ObserveRequest::default()
        }
    }

    /// Captures and parses a part of the screen.
    pub(super) async fn observe_area(
        &mut self,
        area: CaptureArea,
        parsing: ParseOptions,
    ) -> RunResult<Observation> {
        // Redactions are in pixels of the captured part.
        let redactions = self.redactions_in(&area);
        let request = ObserveRequest {
            capture: CaptureRequest {
                display: self.display(),
                area,
                redactions,
                ..CaptureRequest::default()
            },
            parsing,
            ..ObserveRequest::default()
        };
        self.observe_with(request).await
    }

    async fn observe_with(&mut self, request: ObserveRequest) -> RunResult<Observation> {
        self.call("observing the screen", move |ports| {
            let request = request.clone();
            async move { ports.perception.observe(request).await }
        })
        .await
    }

    /// Starts observing the screen for the next step while the last action is judged.
    pub(super) async fn start_next_observation(&mut self) -> RunResult {
        let Some(hidden) = self.before_next_screenshot().await? else {
            return Ok(());
        };
        let redactions = with_redactions(&self.task.secret_fields.boxes(), &hidden);
        let request = self.whole_screen(true, redactions);
        let perception = self.background_perception.0.clone();
        let looking = tokio::spawn(async move { perception.observe(request).await });
        self.next_observation = Some(AbortOnDropHandle::new(looking));
        Ok(())
    }

    /// Returns the observation that was started early, or a new one if there is none or it failed.
    async fn take_next_observation(&mut self) -> RunResult<Observation> {
        if let Some(looking) = self.next_observation.take() {
            if !self.recording.is_live() {
                return self.replay_next_observation().await;
            }
            self.use_next_redactions();
            if let Some(observation) = self.guard(self.record_observation(looking)).await? {
                self.after_screenshot(&observation.frame, observation.image.as_ref())
                    .await;
                return Ok(observation);
            }
        }
        self.observe_screen(true).await
    }

    /// Replays an observation that was started early. In a replay none is started early; if hooks were asked again, the
    /// early one had failed.
    async fn replay_next_observation(&mut self) -> RunResult<Observation> {
        if self.hooks_set_redactions() {
            return self.observe_screen(true).await;
        }
        self.use_next_redactions();
        let request = self.whole_screen(true, self.redactions_in(&CaptureArea::Display));
        let observation = self.observe_with(request).await?;
        self.after_screenshot(&observation.frame, observation.image.as_ref())
            .await;
        Ok(observation)
    }

    /// Awaits an observation that was started early and records it as if it were requested now, because a replay does
    /// not know when it started.
    async fn record_observation(
        &self,
        looking: AbortOnDropHandle<motorium_proto::service::Result<Observation>>,
    ) -> Option<Observation> {
        let RecordingMode::Recording(recorder) = &self.recording else {
            return looking.await.ok()?.ok();
        };
        let redactions = self.redactions_in(&CaptureArea::Display);
        let asked = wire::ObserveRequest::from(self.whole_screen(true, redactions));
        let open = recorder.open(OBSERVE, asked.encode_to_vec());
        let Ok(Ok(observation)) = looking.await else {
            open.forget();
            return None;
        };
        open.answered(wire::ObserveResponse::from(observation.clone()));
        Some(observation)
    }

    /// Encodes the scene for people and for replay.
    fn unstored_scene(&self, scene: &Scene, step: u32) -> Option<PendingArtifact> {
        if matches!(self.recording, RecordingMode::Off) {
            return None;
        }
        // JSON would take longer than the rest of the step; the export converts it.
        let scene = common::Scene::from(scene.clone()).encode_to_vec();
        Some(PendingArtifact {
            bytes: scene.into(),
            media_type: trajectory::SCENE.to_owned(),
            file_name: format!("step-{step}.scene.binpb"),
        })
    }

    pub(super) async fn store_image(
        &self,
        image: Option<&Image>,
        name: &str,
    ) -> RunResult<Option<Artifact>> {
        let [stored] = self.store([image_artifact(image, name)]).await?;
        Ok(stored)
    }

    pub(super) async fn store_blob(
        &self,
        bytes: Bytes,
        media_type: &str,
        file_name: String,
    ) -> RunResult<Artifact> {
        let unstored = PendingArtifact {
            bytes,
            media_type: media_type.to_owned(),
            file_name,
        };
        let names = self.put(vec![unstored.bytes.clone()]).await?;
        Ok(unstored.stored_as(names[0]))
    }

    /// Stores all present artifacts in one batch.
    async fn store<const N: usize>(
        &self,
        unstored: [Option<PendingArtifact>; N],
    ) -> RunResult<[Option<Artifact>; N]> {
        let contents = unstored.iter().flatten();
        let names = self.put(contents.map(|one| one.bytes.clone()).collect());
        let mut names = names.await?.into_iter();
        Ok(unstored.map(|one| Some(one?.stored_as(names.next()?))))
    }

    async fn put(&self, contents: Vec<Bytes>) -> RunResult<Vec<BlobId>> {
        let began = Instant::now();
        let mut pause = INITIAL_BACKOFF;
        loop {
            let error = match self.blobs.put_all(contents.clone()).await {
                Ok(names) => return Ok(names),
                Err(error) => error,
            };
            // A full disk may have space again, so storing is retried.
            if began.elapsed() + pause > RETRY_TIMEOUT {
                return Err(halt("storing an image", error.report()));
            }
            tracing::warn!(task = %self.task.spec.name, %error, "storing an image failed; retrying");
            self.guard(tokio::time::sleep(pause)).await?;
            pause *= 2;
        }
    }
}

/// Content to be stored and its metadata.
struct PendingArtifact {
    bytes: Bytes,
    media_type: String,
    file_name: String,
}

impl PendingArtifact {
    fn stored_as(self, name: BlobId) -> Artifact {
        Artifact {
            sha256: name.sha256(),
            media_type: self.media_type,
            size_bytes: self.bytes.len() as u64,
            file_name: self.file_name,
        }
    }
}

/// Returns an image as an artifact to be stored, or `None` if it is missing or kept elsewhere.
fn image_artifact(image: Option<&Image>, name: &str) -> Option<PendingArtifact> {
    let Some(Image {
        content: ImageContent::Bytes(bytes),
        media_type,
        ..
    }) = image
    else {
        return None;
    };
    let extension = media_type.rsplit('/').next().unwrap_or("bin");
    Some(PendingArtifact {
        bytes: bytes.clone(),
        media_type: media_type.clone(),
        file_name: format!("{name}.{extension}"),
    })
}
