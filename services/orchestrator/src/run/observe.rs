//! Starts a step: observes the screen.

use motorium_proto::domain::element::Scene;
use motorium_proto::service::Observation;
use motorium_proto::v1::common;
use prost::Message as _;
use tokio::time::Instant;

use super::attachments::put_attachments;
use super::context::RunContext;
use super::recorder::PendingArtifact;
use super::screen::Screen;
use super::{RunResult, Runner, arrival, page, progress, readback};
use motorium_recording::recording::RecordingMode;
use motorium_recording::trajectory;
use motorium_task::event::{Event, Observed};
use motorium_task::screen::Fingerprint;

impl Runner {
    pub(super) async fn observe(&mut self) -> RunResult {
        put_attachments(&mut self.run).await?;
        let began = Instant::now();
        let step = self.run.task().next_step();
        self.run.recording().begin_step(step);
        let observation = self.screen.take_next_observation(&mut self.run).await?;
        let current_url = page::current_url(&self.run, &observation.frame).await?;
        let elapsed = began.elapsed();
        self.read_back(&observation).await?;
        let unstored = [
            PendingArtifact::image(observation.image.as_ref(), &format!("step-{step}")),
            unstored_scene(&self.run, &observation.scene, step),
        ];
        let [image, scene] = self.run.store(unstored).await?;
        let observed = Event::Observed(Box::new(Observed {
            frame: observation.frame.clone(),
            image,
            element_count: u32::try_from(observation.scene.elements.len()).unwrap_or(u32::MAX),
            elapsed,
            fingerprint: Fingerprint::of(&observation.scene, &observation.frame),
            scene,
            current_url,
        }));
        // The image is stored, so it need not stay in memory: a step mostly waits for a model.
        let observation = Observation {
            image: None,
            ..observation
        };
        self.gate.provenance.record_observation(&observation);
        self.screen.begin_step(&self.run, observation);
        self.run.record_timing("observe", began);
        self.run.record(vec![observed]).await
    }
}

impl Runner {
    /// Tells the planner if a field shows another text than the last action entered, or if the page had moved before the last
    /// click came.
    async fn read_back(&mut self, observation: &Observation) -> RunResult {
        let before = self.screen.observation();
        let moved = before.filter(|_| self.run.config.features.find_arrivals);
        let task = self.run.task();
        let moved = moved.and_then(|before| arrival::target_moved(task, before, observation));
        let found = match moved {
            Some(moved) => Some(moved),
            None => readback::differing_text(&mut self.run, before, observation).await?,
        };
        let Some((action_id, effect)) = found else {
            self.screen.note_held_text(self.run.task(), observation);
            return Ok(());
        };
        let explanation = effect.explanation.clone();
        let judged = Event::EffectJudged {
            action_id,
            effect: Box::new(effect),
            screenshot: None,
        };
        self.run.record(vec![judged]).await?;
        progress::correct(&mut self.run, &explanation).await
    }
}

/// Encodes the scene for people and for replay.
fn unstored_scene(run: &RunContext, scene: &Scene, step: u32) -> Option<PendingArtifact> {
    if matches!(run.recording(), RecordingMode::Off) {
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

/// Ends the open step.
pub(super) async fn finish_step(run: &mut RunContext, screen: &mut Screen) -> RunResult {
    progress::correct_if_otherwise(run).await?;
    screen.end_step();
    record_step_end(run);
    Ok(())
}

/// Adds the event that ends the open step.
pub(super) fn record_step_end(run: &mut RunContext) {
    let timings = run.recorder.take_timings();
    let language = run.task().spec.message_language();
    let step = run.task().open_step();
    let outcome = step.map(|step| step.describe_outcome(language));
    // Stored together with the event that starts the next step or ends the task: one commit less per step.
    run.defer(Event::StepFinished {
        timings,
        outcome: outcome.unwrap_or_default(),
    });
}
