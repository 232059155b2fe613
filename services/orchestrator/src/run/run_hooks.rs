//! Calls the hooks of one run, records their answers, and replays them.
//!
//! The calls that the loop makes at its hook points are in [`super::hooks`]; the decisions of hooks are in [`crate::hooks`].
//!
//! It does not know how a hook is reached.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{CaptureArea, Redaction};

use crate::hooks::chain::ActiveHookChain;
use crate::hooks::recorded::{self as recording, AmendableState, POINTS_CALL};
use crate::hooks::{
    HookChain, HookChainOutcome, HookContext, HookEvent, HookIntervention, HookPoint,
};
use motorium_recording::recording::RecordingMode;
use motorium_task::Task;
use motorium_task::secret_fields::{SecretFields, redactions};

/// The hooks of one run.
#[derive(Debug)]
pub(super) struct RunHooks {
    chain: ActiveHookChain,
    point_counts: Mutex<PointCounts>,
    /// Redactions requested by hooks, in display pixels. Those of the last screenshot of the whole screen apply to
    /// every capture until the next one, because captures are compared with each other.
    pub(super) redactions: Vec<Redaction>,
    /// Redactions of the observation for the next step, if it was started early.
    pub(super) next_redactions: Option<Vec<Redaction>>,
}

/// Number of calls of each point in the current step.
#[derive(Debug, Default)]
struct PointCounts {
    step: u32,
    times: HashMap<HookPoint, u32>,
}

impl RunHooks {
    pub(super) fn new(chain: &HookChain) -> Self {
        Self {
            chain: chain.activate(),
            point_counts: Mutex::default(),
            redactions: Vec::new(),
            next_redactions: None,
        }
    }

    /// Returns whether any hook wants to be called at this point.
    pub(super) fn wants(&self, mode: &RecordingMode, point: HookPoint) -> bool {
        match mode {
            RecordingMode::Replaying(playback) => playback.hooks_are_next(point.as_str()),
            RecordingMode::Off | RecordingMode::Recording(_) => self.chain.wants(point),
        }
    }

    /// Passes an event through the hooks, or returns the recorded answer.
    pub(super) async fn dispatch(
        &self,
        mode: &RecordingMode,
        task: &Task,
        event: &mut HookEvent<'_>,
        id: Option<&str>,
    ) -> HookChainOutcome {
        let point = event.point();
        if let RecordingMode::Replaying(playback) = mode {
            return match playback.hooks_are_next(point.as_str()) {
                true => recording::replay_call(playback.hooks().await, event),
                false => HookChainOutcome::default(),
            };
        }
        let open = mode.begin_hook_call(point.as_str());
        let before = open.is_some().then(|| AmendableState::of(event));
        let outcome = self.ask_chain(task, event, id).await;
        if let (Some(open), Some(before)) = (open, before) {
            open.hooks_answered(recording::encode_call(&outcome, &before, event));
        }
        outcome
    }

    async fn ask_chain(
        &self,
        task: &Task,
        event: &mut HookEvent<'_>,
        id: Option<&str>,
    ) -> HookChainOutcome {
        let point = event.point();
        let step = step_at(task, point);
        let call = self.call_id(task, step, point, id);
        let context = HookContext {
            call: &call,
            step,
            task,
        };
        self.chain.dispatch(&context, event).await
    }

    /// Requests the points at which the hooks want to be called.
    pub(super) async fn load_points(&self, task: &Task, mode: &RecordingMode) -> HookChainOutcome {
        if let RecordingMode::Replaying(playback) = mode {
            return match playback.hooks_are_next(POINTS_CALL) {
                true => recording::replay_call(playback.hooks().await, &mut HookEvent::BeforeRun),
                false => HookChainOutcome::default(),
            };
        }
        let open = mode.begin_hook_call(POINTS_CALL);
        let outcome = self.chain.fetch_points(task.spec.message_language()).await;
        if let Some(open) = open {
            open.hooks_answered(recording::encode_points_call(&outcome));
        }
        outcome
    }

    /// Notifies the hooks of interventions that were not their own.
    pub(super) async fn notify(&self, task: &Task, interventions: &[HookIntervention]) {
        let context = HookContext {
            call: "",
            step: step_at(task, HookPoint::BeforeAction),
            task,
        };
        self.chain.notify(&context, interventions).await;
    }

    /// Returns the redactions of a capture of the whole display: these boxes and those of hooks.
    pub(super) fn redactions(&self, boxes: &[CaptureRect]) -> Vec<Redaction> {
        with_redactions(boxes, &self.redactions)
    }

    /// Returns the redactions of a capture of this area: fields with secrets and those of hooks.
    pub(super) fn redactions_in(
        &self,
        fields: &SecretFields,
        area: &CaptureArea,
    ) -> Vec<Redaction> {
        let CaptureArea::Region(part) = area else {
            return self.redactions(&fields.boxes());
        };
        let redacted = self.redactions.iter();
        let redacted: Vec<Redaction> = redacted.filter_map(|one| within(one, *part)).collect();
        with_redactions(&fields.boxes_within(*part), &redacted)
    }

    /// Returns the idempotency key of a call. Events with an id keep their key after a crash; all others happen anew
    /// under another lease epoch.
    fn call_id(&self, task: &Task, step: u32, point: HookPoint, id: Option<&str>) -> String {
        let point_name = point.as_str();
        if let Some(id) = id {
            return format!("{id}/{point_name}");
        }
        let name = task.spec.name.segment();
        let epoch = task.desktop.as_ref().map_or(0, |(_, epoch)| epoch.0);
        let times = self.count(step, point);
        format!("{name}/{step}/{epoch}/{point_name}/{times}")
    }

    fn count(&self, step: u32, point: HookPoint) -> u32 {
        let mut counted = self
            .point_counts
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if counted.step != step {
            *counted = PointCounts {
                step,
                ..PointCounts::default()
            };
        }
        let times = counted.times.entry(point).or_default();
        *times += 1;
        *times
    }
}

/// Returns the step of an event. The screenshot that starts a step belongs to it.
fn step_at(task: &Task, point: HookPoint) -> u32 {
    let is_screenshot = matches!(
        point,
        HookPoint::BeforeScreenshot | HookPoint::AfterScreenshot
    );
    match task.steps.last() {
        _ if is_screenshot && task.open_step().is_none() => task.next_step(),
        last => last.map_or(0, |step| step.number),
    }
}

/// Combines boxes and hooks' redactions.
pub(super) fn with_redactions(boxes: &[CaptureRect], of_hooks: &[Redaction]) -> Vec<Redaction> {
    let boxes = redactions(boxes).into_iter();
    boxes.chain(of_hooks.iter().cloned()).collect()
}

/// Converts a redaction to the coordinates of a part of the display; `None` if it lies outside.
fn within(redaction: &Redaction, part: CaptureRect) -> Option<Redaction> {
    match redaction {
        Redaction::Region(region) => {
            let region = region.intersection(&part)?;
            Some(Redaction::Region(region.translate(-part.min.to_vector())))
        }
        other => Some(other.clone()),
    }
}
