//! State of the screen as a run knows it: the latest observation, the latest frame, and what moves by itself.
//!
//! It is never stored. A run that continues a step of another one observes the screen again.

use motorium_messages::Message;
use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::{ActionId, FrameId};
use motorium_proto::service::{CaptureArea, CompareRequest, Observation, Result};
use motorium_proto::v1::perception as wire;
use prost::Message as _;
use tokio_util::task::AbortOnDropHandle;
use tonic::Code;

use super::capture;
use super::context::RunContext;
use super::failed_looks::FailedLooks;
use super::held_texts::{HeldTexts, LostText};
use super::motion_monitor::{MotionMonitor, MotionMonitorTarget, ObservedMotion};
use super::run_hooks::with_redactions;
use super::{RunResult, hooks};
use crate::hooks::HookPoint;
use motorium_recording::recording::{OBSERVE, RecordingMode};
use motorium_task::Task;
use motorium_task::effect::{self, BackgroundMotion};

/// State of the screen of one run.
#[derive(Debug, Default)]
pub(super) struct Screen {
    view: Option<ScreenView>,
    /// Areas that change without any action.
    background_motion: BackgroundMotion,
    /// Watches for background motion until the first action of the step.
    motion_monitor: Option<MotionMonitor>,
    /// Frames captured between the observation of the step and its first action; kept until that action is judged.
    idle_frames: Vec<FrameId>,
    /// Observation for the next step, if it was started early.
    next_observation: Option<AbortOnDropHandle<Result<Observation>>>,
    /// The screen that the last judged action met.
    acted_on: Option<ActedOn>,
    held_texts: HeldTexts,
    /// The screen before the pointer was put on the target of an approval.
    unpointed: Option<Observation>,
    /// Number of interruptions of the task when the screen was last observed.
    interruptions: u32,
}

/// The screen that an action met, kept until another one is judged: evidence for what it did has to be new on the screen after it.
#[derive(Debug, Clone)]
pub(super) struct ActedOn {
    action: ActionId,
    /// The frame right before it.
    pub(super) frame: Frame,
    /// The latest parsed screen before it.
    pub(super) observation: Observation,
}

/// An observation and what is known since.
#[derive(Debug)]
pub(super) struct ScreenView {
    pub(super) observation: Observation,
    /// Latest frame: the observed one, or one captured since.
    pub(super) latest_frame: Frame,
    /// True if the screen has changed since it was parsed.
    pub(super) stale: bool,
}

impl ScreenView {
    fn of(observation: Observation) -> Self {
        Self {
            latest_frame: observation.frame.clone(),
            observation,
            stale: false,
        }
    }

    /// Returns the parsed scene and the frame that it was parsed from.
    pub(super) fn scene(&self) -> (&Scene, &Frame) {
        (&self.observation.scene, &self.observation.frame)
    }
}

// === The view ===

impl Screen {
    pub(super) fn view(&self) -> Option<&ScreenView> {
        self.view.as_ref()
    }

    pub(super) fn observation(&self) -> Option<&Observation> {
        self.view.as_ref().map(|view| &view.observation)
    }

    pub(super) fn latest_frame(&self) -> Option<&Frame> {
        self.view.as_ref().map(|view| &view.latest_frame)
    }

    /// Keeps the screen as the action that is judged next met it.
    pub(super) fn keep_acted_on(&mut self, action: &ActionId) {
        self.acted_on = self.view.as_ref().map(|view| ActedOn {
            action: action.clone(),
            frame: view.latest_frame.clone(),
            observation: view.observation.clone(),
        });
    }

    /// Returns the screen that an action met; `None` if another run has performed it, or a later one was judged.
    pub(super) fn acted_on(&self, action: &ActionId) -> Option<&ActedOn> {
        self.acted_on
            .as_ref()
            .filter(|acted| acted.action == *action)
    }

    /// Keeps the screen as it is before the pointer is put on a target: what comes near the pointer then is a tooltip.
    pub(super) fn keep_unpointed(&mut self) {
        self.unpointed = self.observation().cloned();
    }

    pub(super) fn forget_unpointed(&mut self) {
        self.unpointed = None;
    }

    pub(super) fn unpointed(&self) -> Option<&Observation> {
        self.unpointed.as_ref()
    }

    /// Remembers the text of the task's last action if its field holds it on this screen.
    pub(super) fn note_held_text(&mut self, task: &Task, seen: &Observation) {
        self.held_texts.note(task, seen);
    }

    /// Returns the texts of the form filled last that their fields do not hold any more.
    pub(super) fn lost_texts(&self, task: &Task) -> Vec<LostText> {
        let seen = self.observation();
        seen.map(|seen| self.held_texts.lost(task, seen))
            .unwrap_or_default()
    }

    /// Makes a frame the baseline of the next comparisons.
    pub(super) fn set_latest_frame(&mut self, frame: Frame) {
        if let Some(view) = &mut self.view {
            view.latest_frame = frame;
        }
    }

    /// Marks the scene as outdated if the screen has changed since it was parsed.
    pub(super) fn mark_stale_if(&mut self, changed: bool) {
        if let Some(view) = &mut self.view {
            view.stale |= changed;
        }
    }

    /// Forgets the view, because its frames are no longer known to Perception.
    pub(super) fn forget_view(&mut self) {
        self.view = None;
    }

    /// Discards everything if the task was interrupted since the last observation: a person may have changed the screen.
    pub(super) fn discard_if_interrupted(&mut self, task: &Task) {
        if self.interruptions != task.interruptions {
            self.discard(task);
        }
    }

    /// Discards everything that refers to the current screen.
    pub(super) fn discard(&mut self, task: &Task) {
        self.interruptions = task.interruptions;
        self.view = None;
        self.next_observation = None;
        self.motion_monitor = None;
        self.held_texts = HeldTexts::default();
        self.unpointed = None;
    }

    /// Observes the screen if this run has not: the step was started by another one.
    pub(super) async fn ensure_observed(&mut self, run: &mut RunContext, image: bool) -> RunResult {
        if self.view.is_none() {
            let observation = capture::observe_screen(run, image).await?;
            self.view = Some(ScreenView::of(observation));
        }
        Ok(())
    }

    /// Observes the screen again if an earlier action of this step changed it, because targets refer to the current
    /// screen.
    pub(super) async fn refresh_if_stale(&mut self, run: &mut RunContext) -> RunResult {
        if !self.view.as_ref().is_some_and(|view| view.stale) {
            return Ok(());
        }
        let observation = capture::observe_screen(run, false).await?;
        self.view = Some(ScreenView::of(observation));
        Ok(())
    }

    /// Makes the current screen the baseline for the next comparisons.
    pub(super) async fn refresh_baseline(&mut self, run: &mut RunContext) -> RunResult {
        let redacted = run.task().secret_fields.boxes();
        let now = capture::capture_frame(run, &redacted).await?;
        self.set_latest_frame(now);
        Ok(())
    }
}

// === Observations of steps ===

impl Screen {
    /// Makes an observation the view of the step that begins, and starts watching for background motion.
    pub(super) fn begin_step(&mut self, run: &RunContext, observation: Observation) {
        let secrets = run.task().secret_fields.boxes();
        let target = MotionMonitorTarget {
            display: run.display(),
            since: observation.frame.id.clone(),
            redactions: run.redactions(&secrets),
            ignored_areas: secrets,
        };
        let perception = run.background_perception.0.clone();
        self.motion_monitor = Some(MotionMonitor::start(perception, target));
        self.view = Some(ScreenView::of(observation));
    }

    /// Stops watching for background motion.
    pub(super) fn end_step(&mut self) {
        self.motion_monitor = None;
    }

    /// Starts observing the screen for the next step while the last action is judged.
    pub(super) async fn start_next_observation(&mut self, run: &mut RunContext) -> RunResult {
        let Some(of_hooks) = hooks::before_next_screenshot(run).await? else {
            return Ok(());
        };
        let redactions = with_redactions(&run.task().secret_fields.boxes(), &of_hooks);
        let request = capture::whole_screen(run, true, redactions);
        let perception = run.background_perception.0.clone();
        let observing = tokio::spawn(async move { perception.observe(request).await });
        self.next_observation = Some(AbortOnDropHandle::new(observing));
        Ok(())
    }

    /// Drops the observation that was started early: the step goes on.
    pub(super) fn cancel_next_observation(&mut self) {
        self.next_observation = None;
    }

    /// Returns the observation that was started early, or a new one if there is none or it failed.
    pub(super) async fn take_next_observation(
        &mut self,
        run: &mut RunContext,
    ) -> RunResult<Observation> {
        if let Some(observing) = self.next_observation.take() {
            if !run.recording().is_live() {
                return replay_next_observation(run).await;
            }
            hooks::use_next_redactions(run);
            if let Some(observation) = run.guard(record_observation(run, observing)).await? {
                run.sight.is_unparsed = false;
                hooks::after_screenshot(run, &observation.frame, observation.image.as_ref()).await;
                return Ok(observation);
            }
        }
        capture::observe_screen(run, true).await
    }
}

/// Replays an observation that was started early. In a replay none is started early; if hooks were asked again, the
/// early one had failed.
async fn replay_next_observation(run: &mut RunContext) -> RunResult<Observation> {
    if run.wants(HookPoint::BeforeScreenshot) {
        return capture::observe_screen(run, true).await;
    }
    hooks::use_next_redactions(run);
    let request = capture::whole_screen(run, true, run.redactions_in(&CaptureArea::Display));
    capture::observe_as(run, request).await
}

/// Awaits an observation that was started early and records it as if it were requested now, because a replay does not
/// know when it started.
async fn record_observation(
    run: &RunContext,
    observing: AbortOnDropHandle<Result<Observation>>,
) -> Option<Observation> {
    let RecordingMode::Recording(recorder) = run.recording() else {
        return observing.await.ok()?.ok();
    };
    let redactions = run.redactions_in(&CaptureArea::Display);
    let request = wire::ObserveRequest::from(capture::whole_screen(run, true, redactions));
    let open = recorder.open(OBSERVE, request.encode_to_vec());
    let Ok(Ok(observation)) = observing.await else {
        open.forget();
        return None;
    };
    open.answered(wire::ObserveResponse::from(observation.clone()));
    Some(observation)
}

// === Background motion ===

impl Screen {
    /// Returns the frames from before the step's first action.
    pub(super) fn idle_frames(&self) -> &[FrameId] {
        &self.idle_frames
    }

    /// Returns the areas of background motion: clocks, and areas seen to change on their own.
    pub(super) fn background_motion_areas(&self) -> Vec<CaptureRect> {
        let noise = self.background_motion.noise();
        let noise = match self.observation() {
            Some(seen) => effect::grown_to_elements(noise, &seen.scene, &seen.frame),
            None => noise,
        };
        [self.clocks(), noise].concat()
    }

    /// Remembers areas that were seen to change on their own.
    pub(super) fn add_background_motion(&mut self, areas: &[CaptureRect]) {
        self.background_motion.add(areas);
    }

    /// Returns the areas of clocks on the observed screen.
    pub(super) fn clocks(&self) -> Vec<CaptureRect> {
        let noise = self.background_motion.noise();
        let clocks = self
            .observation()
            .map(|seen| effect::clocks(&seen.scene, &seen.frame, &noise));
        clocks.unwrap_or_default()
    }

    /// Compares the screen with the latest frame and adds changes to background motion. Returns `None` if the latest
    /// frame is no longer known.
    pub(super) async fn update_background_motion(
        &mut self,
        run: &mut RunContext,
    ) -> RunResult<Option<ChangeMap>> {
        let Some(latest) = self.latest_frame().cloned() else {
            return Ok(None);
        };
        self.add_observed_motion(run.recording(), &latest);
        let redacted = run.task().secret_fields.boxes();
        let now = capture::capture_frame(run, &redacted).await?;
        let request = CompareRequest {
            ignore: redacted,
            ..CompareRequest::new(latest.id, now.id.clone())
        };
        let mut failed = FailedLooks::of(run, Message::OperationCompare);
        let change = loop {
            match capture::compare(run, request.clone()).await? {
                Ok(comparison) => break Some(comparison.change),
                // Perception has dropped the latest frame, so nothing can be compared.
                Err(report) if report.code == Code::NotFound => break None,
                Err(report) => failed.add(run, report).await?,
            }
        };
        if let Some(change) = &change {
            self.background_motion.observe(change);
        }
        self.set_latest_frame(now);
        Ok(change)
    }

    /// Adds the motion observed since the step's observation. There is none to add after the step's first action.
    fn add_observed_motion(&mut self, recording: &RecordingMode, latest: &Frame) {
        self.idle_frames.clear();
        let Some(monitor) = self.motion_monitor.take() else {
            return;
        };
        let seen = recording.motion(|| monitor.finish().into_record());
        let observed = ObservedMotion::from_record(seen);
        for changed in &observed.changes {
            self.background_motion.add(changed);
        }
        self.idle_frames = observed.frames;
        self.idle_frames.push(latest.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};
    use motorium_proto::domain::id::DisplayId;

    use super::*;

    fn frame(id: &str) -> Frame {
        Frame {
            id: FrameId::new(id),
            display: DisplayId::new(":1"),
            origin: CapturePoint::zero(),
            size: CaptureSize::new(10, 10),
            scale: 1.0,
            captured_at: SystemTime::UNIX_EPOCH,
            cursor: None,
            monitors: Vec::new(),
            windows: Vec::new(),
        }
    }

    fn observed(id: &str) -> Screen {
        let observation = Observation {
            frame: frame(id),
            image: None,
            scene: Scene {
                frame: FrameId::new(id),
                elements: Vec::new(),
                relations: Vec::new(),
            },
            annotated_image: None,
            prompt_lines: Vec::new(),
            delta: None,
            timings: Vec::new(),
        };
        Screen {
            view: Some(ScreenView::of(observation)),
            ..Screen::default()
        }
    }

    #[test]
    fn a_changed_scene_stays_outdated_until_it_is_observed_again() {
        let mut screen = observed("f1");
        screen.mark_stale_if(false);
        assert!(!screen.view().unwrap().stale);
        screen.mark_stale_if(true);
        screen.mark_stale_if(false);
        assert!(screen.view().unwrap().stale);
    }

    #[test]
    fn a_later_frame_is_the_baseline_but_not_the_frame_of_the_scene() {
        let mut screen = observed("f1");
        screen.set_latest_frame(frame("f2"));
        assert_eq!(screen.latest_frame().unwrap().id, FrameId::new("f2"));
        let (scene, parsed) = screen.view().unwrap().scene();
        assert_eq!(
            (&scene.frame, &parsed.id),
            (&FrameId::new("f1"), &FrameId::new("f1"))
        );
    }

    #[test]
    fn latest_frame_requires_an_observation() {
        let mut screen = observed("f1");
        screen.forget_view();
        screen.set_latest_frame(frame("f2"));
        assert!(screen.latest_frame().is_none() && screen.observation().is_none());
    }
}
