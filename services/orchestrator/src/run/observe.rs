//! Beginning a step: what is on the screen.

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

use super::hooks::with_hidden;
use super::lookout::{self, Lookout};
use super::{FIRST_PAUSE, Flow, PATIENCE, Runner, View, halt};
use crate::recording::{OBSERVE, Tape};
use crate::task::event::{Artifact, Event, Observed};
use crate::task::screen::Fingerprint;
use crate::trajectory;

/// Lossless and small; what a person looks at later and a model is shown.
pub(super) const PICTURE: ImageOptions = ImageOptions {
    format: ImageFormat::WebpLossless,
    fit: None,
};

impl Runner {
    pub(super) async fn observe(&mut self) -> Flow {
        let began = Instant::now();
        let step = self.task.next_step();
        self.tape.begin_step(step);
        let observation = self.next_look().await?;
        let elapsed = began.elapsed();
        let (plain, marked) = (format!("step-{step}"), format!("step-{step}-marked"));
        let unstored = [
            picture(observation.image.as_ref(), &plain),
            picture(observation.marked_image.as_ref(), &marked),
            self.unstored_scene(&observation.scene, step),
        ];
        let [image, marked_image, scene] = self.store(unstored).await?;
        let observed = Event::Observed(Box::new(Observed {
            frame: observation.frame.clone(),
            image,
            marked_image,
            element_count: u32::try_from(observation.scene.elements.len()).unwrap_or(u32::MAX),
            elapsed,
            fingerprint: Fingerprint::of(&observation.scene, &observation.frame),
            scene,
        }));
        // What is stored need not be held: a step waits for a model most of its time.
        let observation = Observation {
            image: None,
            marked_image: None,
            ..observation
        };
        let view = lookout::View {
            display: self.display(),
            since: observation.frame.id.clone(),
            hidden: self.task.secret_fields.boxes(),
            painted_over: self.painted_over(&self.task.secret_fields.boxes()),
        };
        self.seen.note(&observation.scene);
        for window in &observation.frame.windows {
            self.seen.note_text(&window.title);
        }
        self.lookout = Some(Lookout::start(self.aside.0.clone(), view));
        self.view = Some(View::of(observation));
        self.timed("observe", began);
        self.record(vec![observed]).await
    }

    /// Captures and parses the screen, with pictures if they are to be kept.
    pub(super) async fn look(&mut self, pictures: bool) -> Flow<Observation> {
        self.before_screenshot().await?;
        let request = self.whole_screen(pictures, self.painted_over_on(&CaptureArea::Display));
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
        let picture = pictures.then_some(PICTURE);
        ObserveRequest {
            capture: CaptureRequest {
                display: self.display(),
                image: picture,
                redactions,
                ..CaptureRequest::default()
            },
            marked_image: picture,
            ..ObserveRequest::default()
        }
    }

    /// Captures and parses a part of the screen.
    pub(super) async fn look_at(
        &mut self,
        area: CaptureArea,
        parsing: ParseOptions,
    ) -> Flow<Observation> {
        // What is painted over is named in pixels of the part.
        let redactions = self.painted_over_on(&area);
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

    async fn observe_with(&mut self, request: ObserveRequest) -> Flow<Observation> {
        self.ask("looking at the screen", move |ports| {
            let request = request.clone();
            async move { ports.perception.observe(request).await }
        })
        .await
    }

    /// Begins to look at the screen for the next step, while the last action is judged.
    pub(super) async fn begin_next_look(&mut self) -> Flow {
        let Some(hidden) = self.before_next_screenshot().await? else {
            return Ok(());
        };
        let redactions = with_hidden(&self.task.secret_fields.boxes(), &hidden);
        let request = self.whole_screen(true, redactions);
        let perception = self.aside.0.clone();
        let looking = tokio::spawn(async move { perception.observe(request).await });
        self.upcoming = Some(AbortOnDropHandle::new(looking));
        Ok(())
    }

    /// The look that has begun already, or a new one. A look that failed is nothing to go by.
    async fn next_look(&mut self) -> Flow<Observation> {
        if let Some(looking) = self.upcoming.take() {
            if !self.tape.is_live() {
                return self.look_as_begun().await;
            }
            self.next_screenshot_is_taken();
            if let Some(observation) = self.guard(self.noted(looking)).await? {
                self.after_screenshot(&observation.frame, observation.image.as_ref())
                    .await;
                return Ok(observation);
            }
        }
        self.look(true).await
    }

    /// In a replay no look begins before it is taken. If hooks are asked once more, the one that had begun came to nothing.
    async fn look_as_begun(&mut self) -> Flow<Observation> {
        if self.hooks_decide_what_is_seen() {
            return self.look(true).await;
        }
        self.next_screenshot_is_taken();
        let request = self.whole_screen(true, self.painted_over_on(&CaptureArea::Display));
        let observation = self.observe_with(request).await?;
        self.after_screenshot(&observation.frame, observation.image.as_ref())
            .await;
        Ok(observation)
    }

    /// What a look that has begun already has seen, noted as if it had been asked for now: whoever tells it again does not
    /// know when it began.
    async fn noted(
        &self,
        looking: AbortOnDropHandle<motorium_proto::service::Result<Observation>>,
    ) -> Option<Observation> {
        let Tape::Recording(recorder) = &self.tape else {
            return looking.await.ok()?.ok();
        };
        let redactions = self.painted_over_on(&CaptureArea::Display);
        let asked = wire::ObserveRequest::from(self.whole_screen(true, redactions));
        let open = recorder.open(OBSERVE, asked.encode_to_vec());
        let Ok(Ok(observation)) = looking.await else {
            open.forget();
            return None;
        };
        open.answered(wire::ObserveResponse::from(observation.clone()));
        Some(observation)
    }

    /// What was seen, for people and for whoever carries the step out again.
    fn unstored_scene(&self, scene: &Scene, step: u32) -> Option<Unstored> {
        if matches!(self.tape, Tape::Off) {
            return None;
        }
        // As JSON it would cost more than the rest of our step; whoever exports it has the time.
        let scene = common::Scene::from(scene.clone()).encode_to_vec();
        Some(Unstored {
            bytes: scene.into(),
            media_type: trajectory::SCENE.to_owned(),
            file_name: format!("step-{step}.scene.binpb"),
        })
    }

    pub(super) async fn keep(&self, image: Option<&Image>, name: &str) -> Flow<Option<Artifact>> {
        let [stored] = self.store([picture(image, name)]).await?;
        Ok(stored)
    }

    pub(super) async fn store_blob(
        &self,
        bytes: Bytes,
        media_type: &str,
        file_name: String,
    ) -> Flow<Artifact> {
        let unstored = Unstored {
            bytes,
            media_type: media_type.to_owned(),
            file_name,
        };
        let names = self.put(vec![unstored.bytes.clone()]).await?;
        Ok(unstored.stored_as(names[0]))
    }

    /// Stores what there is, at once.
    async fn store<const N: usize>(
        &self,
        unstored: [Option<Unstored>; N],
    ) -> Flow<[Option<Artifact>; N]> {
        let contents = unstored.iter().flatten();
        let names = self.put(contents.map(|one| one.bytes.clone()).collect());
        let mut names = names.await?.into_iter();
        Ok(unstored.map(|one| Some(one?.stored_as(names.next()?))))
    }

    async fn put(&self, contents: Vec<Bytes>) -> Flow<Vec<BlobId>> {
        let began = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let error = match self.blobs.put_all(contents.clone()).await {
                Ok(names) => return Ok(names),
                Err(error) => error,
            };
            // A disk that is full may have room again.
            if began.elapsed() + pause > PATIENCE {
                return Err(halt("storing a picture", error.report()));
            }
            tracing::warn!(task = %self.task.spec.name, %error, "storing a picture again");
            self.guard(tokio::time::sleep(pause)).await?;
            pause *= 2;
        }
    }
}

/// Something to be stored, and what it is called.
struct Unstored {
    bytes: Bytes,
    media_type: String,
    file_name: String,
}

impl Unstored {
    fn stored_as(self, name: BlobId) -> Artifact {
        Artifact {
            sha256: name.sha256(),
            media_type: self.media_type,
            size_bytes: self.bytes.len() as u64,
            file_name: self.file_name,
        }
    }
}

/// A picture, unless there is none or its bytes are elsewhere.
fn picture(image: Option<&Image>, name: &str) -> Option<Unstored> {
    let Some(Image {
        content: ImageContent::Bytes(bytes),
        media_type,
        ..
    }) = image
    else {
        return None;
    };
    let extension = media_type.rsplit('/').next().unwrap_or("bin");
    Some(Unstored {
        bytes: bytes.clone(),
        media_type: media_type.clone(),
        file_name: format!("{name}.{extension}"),
    })
}
