//! Calls the hooks from the loop.
//!
//! - `model_calls`, `actions`, `screenshots`, `text`: hook points by subject; those of a run are here
//!
//! Hooks called before an event may delay it until the task is stopped, paused or taken over; then the event has not
//! happened, and the loop evaluates the task again. Hooks called after an event are not awaited by a user who stops the
//! task. Not here: what hooks may decide ([`crate::hooks`]).

mod actions;
mod model_calls;
mod screenshots;
mod text;

pub(super) use model_calls::ImageCounts;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use motorium_messages::Message;
use motorium_proto::service::Redaction;

pub(super) use self::screenshots::with_redactions;
use super::{Halt, RunResult, Runner};
use crate::hooks::chain::ActiveHookChain;
use crate::hooks::event::HookRunEnd;
use crate::hooks::recorded::{self as recording, AmendableState, POINTS_CALL};
use crate::hooks::{
    HookChain, HookChainOutcome, HookContext, HookDenial, HookEvent, HookIntervention, HookPoint,
    TaskArchive,
};
use motorium_recording::recording::RecordingMode;
use motorium_task::event::{Event, Failure};
use motorium_task::{Lifecycle, Task};

/// The hooks of one run.
#[derive(Debug)]
pub(super) struct RunHooks {
    chain: ActiveHookChain,
    point_counts: Mutex<PointCounts>,
    /// Redactions requested by hooks, in display pixels. Those of the last screenshot of the whole screen apply to
    /// every capture until the next one, because captures are compared with each other.
    redactions: Vec<Redaction>,
    /// Redactions of the observation for the next step, if it was started early.
    next_redactions: Option<Vec<Redaction>>,
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

// === Calling hooks ===

impl Runner {
    /// Asks the hooks about an event. Returns `None` if it is allowed.
    async fn ask_hooks(
        &mut self,
        happening: &mut HookEvent<'_>,
        id: Option<&str>,
    ) -> RunResult<Option<HookDenial>> {
        let passage = tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.recording.stopped();
                Err(Halt::Reevaluate)
            }
            passage = self.guard(self.dispatch_hooks(happening, id)) => passage,
        };
        Ok(self.record_interventions(passage?))
    }

    /// Notifies the hooks of an event. What a hook does immediately is done even if the task is being stopped.
    async fn tell_hooks(&mut self, mut happening: HookEvent<'_>, id: Option<&str>) {
        let passage = tokio::select! {
            biased;
            passage = self.dispatch_hooks(&mut happening, id) => passage,
            () = self.interrupted() => {
                self.recording.stopped();
                return;
            }
        };
        self.record_interventions(passage);
    }

    async fn interrupted(&self) {
        tokio::select! {
            _ = self.stop.requested() => {}
            _ = self.stop.paused() => {}
            _ = self.stop.taken_over() => {}
        }
    }

    async fn dispatch_hooks(
        &self,
        happening: &mut HookEvent<'_>,
        id: Option<&str>,
    ) -> HookChainOutcome {
        let point = happening.point();
        if let RecordingMode::Replaying(playback) = &self.recording {
            return match playback.hooks_are_next(point.as_str()) {
                true => recording::replay_call(playback.hooks().await, happening),
                false => HookChainOutcome::default(),
            };
        }
        let open = self.recording.begin_hook_call(point.as_str());
        let before = open.is_some().then(|| AmendableState::of(happening));
        let passage = self.ask_chain(happening, id).await;
        if let (Some(open), Some(before)) = (open, before) {
            open.hooks_answered(recording::encode_call(&passage, &before, happening));
        }
        passage
    }

    async fn ask_chain(&self, happening: &mut HookEvent<'_>, id: Option<&str>) -> HookChainOutcome {
        let point = happening.point();
        let step = self.step_at(point);
        let call = self.hook_call_id(step, point, id);
        let context = HookContext {
            call: &call,
            step,
            task: &self.task,
        };
        self.hooks.chain.dispatch(&context, happening).await
    }

    /// Returns the idempotency key of a call. Events with an id keep their key after a crash; all others happen anew
    /// under another lease epoch.
    fn hook_call_id(&self, step: u32, point: HookPoint, id: Option<&str>) -> String {
        let point_name = point.as_str();
        if let Some(id) = id {
            return format!("{id}/{point_name}");
        }
        let task = self.task.spec.name.segment();
        let epoch = self.task.desktop.as_ref().map_or(0, |(_, epoch)| epoch.0);
        let times = self.hooks.count(step, point);
        format!("{task}/{step}/{epoch}/{point_name}/{times}")
    }

    /// Returns the step of an event. The screenshot that starts a step belongs to it.
    fn step_at(&self, point: HookPoint) -> u32 {
        let looks = matches!(
            point,
            HookPoint::BeforeScreenshot | HookPoint::AfterScreenshot
        );
        match self.task.steps.last() {
            _ if looks && self.task.open_step().is_none() => self.task.next_step(),
            last => last.map_or(0, |step| step.number),
        }
    }

    /// Records interventions while the log accepts events, and returns the denial.
    fn record_interventions(&mut self, passage: HookChainOutcome) -> Option<HookDenial> {
        for intervention in passage.interventions {
            let HookIntervention {
                hook,
                point,
                message,
                denied,
            } = intervention;
            tracing::info!(
                task = %self.task.spec.name, hook, point = point.as_str(), denied, message, "a hook intervened"
            );
            if !self.task.lifecycle.is_terminal() {
                let event = Event::HookIntervened {
                    hook,
                    point: point.as_str().to_owned(),
                    message,
                    denied,
                };
                self.journal.defer(&mut self.task, event);
            }
        }
        passage.denial
    }

    pub(super) fn wants(&self, point: HookPoint) -> bool {
        match &self.recording {
            RecordingMode::Replaying(playback) => playback.hooks_are_next(point.as_str()),
            RecordingMode::Off | RecordingMode::Recording(_) => self.hooks.chain.wants(point),
        }
    }
}

/// Fails the task if the event was denied.
fn or_fail(denial: Option<HookDenial>, task: &Task, message: fn(&str) -> Message<'_>) -> RunResult {
    let Some(denial) = denial else {
        return Ok(());
    };
    let why = denial.message(task.spec.message_language());
    Err(Halt::Fail(Failure::new(
        denial.failure_reason(),
        task.text(message(&why)),
    )))
}

// === Runs ===

impl Runner {
    /// Requests the hooks' points, and asks whether the task may run.
    pub(super) async fn before_run(&mut self) -> RunResult {
        let begun = tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.recording.stopped();
                Err(Halt::Reevaluate)
            }
            begun = self.guard(self.load_hook_points()) => begun,
        };
        let denial = self.record_interventions(begun?);
        or_fail(denial, &self.task, |denial| Message::HookDeniesRun {
            denial,
        })?;
        if !self.wants(HookPoint::BeforeRun) {
            return Ok(());
        }
        let denial = self.ask_hooks(&mut HookEvent::BeforeRun, None).await?;
        or_fail(denial, &self.task, |denial| Message::HookDeniesRun {
            denial,
        })
    }

    async fn load_hook_points(&self) -> HookChainOutcome {
        if let RecordingMode::Replaying(playback) = &self.recording {
            return match playback.hooks_are_next(POINTS_CALL) {
                true => recording::replay_call(playback.hooks().await, &mut HookEvent::BeforeRun),
                false => HookChainOutcome::default(),
            };
        }
        let open = self.recording.begin_hook_call(POINTS_CALL);
        let passage = self.hooks.chain.fetch_points().await;
        if let Some(open) = open {
            open.hooks_answered(recording::encode_points_call(&passage));
        }
        passage
    }

    /// Notifies the hooks of the end of the task. Only the desktop waits for it, and nothing can be recorded any more.
    pub(super) async fn after_run(&mut self) {
        let (state, message) = match &self.task.lifecycle {
            Lifecycle::Succeeded { answer } => ("SUCCEEDED", answer.clone()),
            Lifecycle::Failed(failure) => ("FAILED", failure.message.clone()),
            Lifecycle::Cancelled { reason } => ("CANCELLED", reason.clone()),
            _ => return,
        };
        if !self.wants(HookPoint::AfterRun) {
            return;
        }
        let archive = TaskArchive::new(self.journal.store(), self.blobs.clone());
        let mut happening = HookEvent::AfterRun(HookRunEnd {
            state,
            message: &message,
            archive: &archive,
        });
        let passage = self.dispatch_hooks(&mut happening, None).await;
        self.record_interventions(passage);
    }
}
