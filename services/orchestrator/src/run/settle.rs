//! Waits until the screen has settled after an action, and judges the action's effect.

use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::effect::{ChangeMap, Effect, Verdict};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CompareRequest, Comparison, IdleReport, ParseOptions, Result,
    WaitForIdleRequest,
};
use tokio::time::Instant;
use tonic::Code;

use super::motion_monitor::ObservedMotion;
use super::{RunResult, Runner, ScreenView, halt};
use motorium_task::ActionRecord;
use motorium_task::effect::{self, EffectCriterion, Evidence};
use motorium_task::event::Event;
use motorium_task::retry::{self, RetryStrategy};

/// Factor by which the timeouts grow when an effect is checked a second time.
const RECHECK_TIMEOUT_FACTOR: u32 = 2;

/// Timeouts for the screen to settle after an action.
struct SettleTimeouts {
    first_change: Duration,
    total: Duration,
}

/// Returns the timeouts for an action kind.
// Applications and pages take longer to start than a button to react. The first-change timeouts are also the no-effect
// windows: no action is repeated before they are over.
fn settle_timeouts(kind: ActionKind) -> SettleTimeouts {
    let (first_change, altogether) = match kind {
        ActionKind::OpenApplication | ActionKind::OpenUrl => (5000, 10_000),
        ActionKind::GoToUrl | ActionKind::GoBack | ActionKind::GoForward | ActionKind::Refresh => {
            (2000, 5000)
        }
        ActionKind::Click | ActionKind::FocusWindow | ActionKind::MouseUp | ActionKind::Drag => {
            (1000, 2500)
        }
        ActionKind::KeyChord | ActionKind::HoldKey | ActionKind::TypeText | ActionKind::Paste => {
            (600, 2500)
        }
        _ => (300, 2000),
    };
    SettleTimeouts {
        first_change: Duration::from_millis(first_change),
        total: Duration::from_millis(altogether),
    }
}

/// A performed action.
pub(super) struct PerformedAction<'a> {
    pub(super) id: &'a ActionId,
    pub(super) action: &'a Action<CapturePoint>,
    pub(super) target: Option<CaptureRect>,
    /// True if the step ends with it unless it is retried.
    pub(super) is_last: bool,
}

impl Runner {
    /// Judges an action, records its effect, and schedules a retry if one is due.
    pub(super) async fn settle(&mut self, deed: PerformedAction<'_>) -> RunResult {
        let began = Instant::now();
        let before = self
            .view
            .as_ref()
            .map(|view| view.latest_frame.clone())
            .expect("an action follows an observation");
        let effect = self.judge(&deed, &before, 1).await?;
        let mut way = self.record_effect(deed.id, effect);
        if way == Some(RetryStrategy::ReobservedEffect) {
            self.record_retry(deed.id, RetryStrategy::ReobservedEffect);
            let effect = self.judge(&deed, &before, RECHECK_TIMEOUT_FACTOR).await?;
            way = self.record_effect(deed.id, effect);
        }
        if let Some(way) = way {
            self.next_observation = None;
            self.record_retry(deed.id, way);
        }
        self.record_timing("settle", began);
        Ok(())
    }

    /// Judges the last action of the open step if the run that performed it did not. Needs the frame from before the
    /// action, which Perception may have dropped.
    pub(super) async fn judge_pending_action(&mut self) -> RunResult {
        let Some(step) = self.task.open_step() else {
            return Ok(());
        };
        let Some(record) = step.actions.last().cloned() else {
            return Ok(());
        };
        // Effects of earlier actions of the step would be attributed to it, so only a single first attempt can be
        // judged.
        let before = step
            .frame
            .clone()
            .filter(|_| step.actions.len() == 1 && record.retries == 0);
        if self.view.is_none() {
            let observation = self.observe_screen(false).await?;
            self.view = Some(ScreenView::of(observation));
        }
        let (Some(before), Some(view)) = (before, &mut self.view) else {
            let effect = effect::unknown(self.task.text(Message::EffectNotObserved));
            self.record_effect(&record.action_id, effect);
            return Ok(());
        };
        view.latest_frame = *before;
        self.settle(PerformedAction {
            id: &record.action_id,
            action: &record.action,
            target: record.target,
            is_last: false,
        })
        .await
    }

    /// Records the effect and returns the retry strategy that follows.
    fn record_effect(&mut self, id: &ActionId, effect: Effect) -> Option<RetryStrategy> {
        let changed = !matches!(effect.verdict, Verdict::NoEffect | Verdict::EndReached);
        if let Some(view) = &mut self.view {
            view.stale |= changed;
        }
        let record = self.task.open_step().and_then(|step| step.actions.last());
        let way = record.and_then(|record| {
            retry::next_strategy(record, &effect, self.config.reverse_scroll_at_end)
        });
        let judged = Event::EffectJudged {
            action_id: id.clone(),
            effect: Box::new(effect),
        };
        self.journal.defer(&mut self.task, judged);
        way
    }

    fn record_retry(&mut self, id: &ActionId, way: RetryStrategy) {
        let record = self.task.open_step().and_then(|step| step.actions.last());
        let attempts = record.map_or(0, |record| record.retries) + 1;
        let retried = Event::ActionRetried {
            action_id: id.clone(),
            attempts,
            reason: retry::reason(way, attempts, self.task.spec.message_language()),
            way,
        };
        self.journal.defer(&mut self.task, retried);
    }

    async fn judge(
        &mut self,
        deed: &PerformedAction<'_>,
        before: &Frame,
        times: u32,
    ) -> RunResult<Effect> {
        let PerformedAction { action, target, .. } = *deed;
        // Redacted areas cannot be judged, and background motion is no effect.
        let hidden = self.task.secret_fields.boxes_while_judging(action);
        let stirring = self.background_motion_areas();
        let ignore = [hidden.as_slice(), stirring.as_slice()].concat();
        let quiet = match self.wait_for_idle(deed, before, times, &ignore).await? {
            Ok(quiet) => quiet,
            Err(report) => return self.cannot_judge(report),
        };
        let near = target.map(effect::near_area);
        let noise = [quiet.background_motion.as_slice(), &ignore].concat();
        let (after, comparison) = match self.compare_after(deed, before, near, noise).await? {
            Ok(compared) => compared,
            Err(report) => return self.cannot_judge(report),
        };
        if let Some(view) = &mut self.view {
            view.latest_frame = after.clone();
        }
        let judged = effect::judge(
            Evidence {
                action,
                target,
                before,
                after: &after,
                comparison,
                idle: &quiet,
                background_motion: &stirring,
                language: self.task.spec.message_language(),
            },
            self.config.effect_rule,
        );
        let may_be_hidden = match near {
            Some(near) => hidden.iter().any(|field| field.intersects(&near)),
            None => action.entered_secret().is_some() && !hidden.is_empty(),
        };
        if may_be_hidden && judged.verdict == Verdict::NoEffect {
            return Ok(Effect {
                settle_time: judged.settle_time,
                ..effect::unknown(self.task.text(Message::EffectRedacted))
            });
        }
        let is_nothing = matches!(judged.verdict, Verdict::NoEffect | Verdict::EndReached);
        if !is_nothing || stirring.is_empty() {
            return Ok(judged);
        }
        // A clock's change is never an effect, wherever it is.
        let everything = CompareRequest {
            ignore: [hidden, self.clocks()].concat(),
            ..CompareRequest::new(before.id.clone(), after.id)
        };
        self.recheck_without_ignores(judged, action, near, everything)
            .await
    }

    /// Reconsiders a missing effect when background motion was ignored: it may have hidden the effect.
    async fn recheck_without_ignores(
        &mut self,
        judged: Effect,
        action: &Action<CapturePoint>,
        near: Option<CaptureRect>,
        request: CompareRequest,
    ) -> RunResult<Effect> {
        let Ok(everything) = self.compare(request.clone()).await? else {
            return Ok(judged);
        };
        if !effect::is_obscured(action, near, &everything.change)
            || self.matches_idle_frame(action, near, &request).await?
        {
            return Ok(judged);
        }
        match near {
            Some(near) => self.judge_by_text(judged, near).await,
            None => Ok(effect::obscured(judged, self.task.spec.message_language())),
        }
    }

    /// Returns whether the screen equals a frame from before the action: periodic motion, such as a caret, is back
    /// where it was.
    async fn matches_idle_frame(
        &mut self,
        action: &Action<CapturePoint>,
        near: Option<CaptureRect>,
        request: &CompareRequest,
    ) -> RunResult<bool> {
        for before in self.idle_frames.clone() {
            let request = CompareRequest {
                before,
                ..request.clone()
            };
            // A dropped frame proves nothing.
            if let Ok(comparison) = self.compare(request).await?
                && !effect::is_obscured(action, near, &comparison.change)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the effect of an action that was judged to have none, if one has appeared since.
    pub(super) async fn late_effect(
        &mut self,
        record: &ActionRecord,
        baseline: &Frame,
    ) -> RunResult<Option<Effect>> {
        let hidden = self.task.secret_fields.boxes();
        let now = self.capture_frame(&hidden).await?;
        let stirring = self.background_motion_areas();
        let compare = CompareRequest {
            ignore: [hidden.as_slice(), stirring.as_slice()].concat(),
            measured_regions: record.target.map(effect::near_area).into_iter().collect(),
            ..CompareRequest::new(baseline.id.clone(), now.id.clone())
        };
        let comparison = match self.compare(compare).await? {
            Ok(comparison) => comparison,
            Err(report) => return self.cannot_judge(report).map(Some),
        };
        let judged = effect::judge(
            Evidence {
                action: &record.action,
                target: record.target,
                before: baseline,
                after: &now,
                comparison,
                idle: &IdleReport {
                    settled: true,
                    changed: true,
                    elapsed: Duration::ZERO,
                    first_change_after: None,
                    still_changing: Vec::new(),
                    background_motion: Vec::new(),
                },
                background_motion: &stirring,
                language: self.task.spec.message_language(),
            },
            EffectCriterion::ChangedRegions,
        );
        let came = !matches!(judged.verdict, Verdict::NoEffect | Verdict::EndReached);
        if let Some(view) = &mut self.view {
            view.latest_frame = now;
            view.stale |= came;
        }
        Ok(came.then_some(judged))
    }

    async fn wait_for_idle(
        &mut self,
        deed: &PerformedAction<'_>,
        before: &Frame,
        times: u32,
        ignore: &[CaptureRect],
    ) -> RunResult<Result<IdleReport>> {
        let SettleTimeouts {
            first_change,
            total: altogether,
        } = settle_timeouts(deed.action.kind());
        let request = WaitForIdleRequest {
            display: self.display(),
            since_frame: Some(before.id.clone()),
            first_change_timeout: first_change * times,
            timeout: altogether * times,
            ignore: ignore.to_vec(),
            ..WaitForIdleRequest::default()
        };
        self.try_call("waiting for the screen to settle", move |ports| {
            let request = request.clone();
            async move { ports.perception.wait_for_idle(request).await }
        })
        .await
    }

    /// Captures the screen and compares it with the frame before the action. If the step may end with this action, the
    /// observation for the next step starts at the same time.
    async fn compare_after(
        &mut self,
        deed: &PerformedAction<'_>,
        before: &Frame,
        near: Option<CaptureRect>,
        noise: Vec<CaptureRect>,
    ) -> RunResult<Result<(Frame, Comparison)>> {
        // The redacted area of an entered secret is known only after judging, so the observation must not start
        // earlier.
        if deed.is_last && deed.action.entered_secret().is_none() {
            self.start_next_observation().await?;
        }
        let hidden = self.task.secret_fields.boxes_while_judging(deed.action);
        let after = self.capture_frame(&hidden).await?;
        let compare = CompareRequest {
            ignore: noise,
            measured_regions: near.into_iter().collect(),
            ..CompareRequest::new(before.id.clone(), after.id.clone())
        };
        let comparison = self.compare(compare).await?;
        Ok(comparison.map(|comparison| (after, comparison)))
    }

    /// Captures the screen without the pointer, which follows every click and is no effect of it.
    pub(super) async fn capture_frame(&mut self, hidden: &[CaptureRect]) -> RunResult<Frame> {
        let capture = CaptureRequest {
            display: self.display(),
            omit_cursor: true,
            redactions: self.redactions(hidden),
            ..CaptureRequest::default()
        };
        let captured = self
            .call("capturing the screen", move |ports| {
                let request = capture.clone();
                async move { ports.perception.capture(request).await }
            })
            .await?;
        Ok(captured.frame)
    }

    pub(super) async fn compare(
        &mut self,
        request: CompareRequest,
    ) -> RunResult<Result<Comparison>> {
        self.try_call("comparing the screen", move |ports| {
            let request = request.clone();
            async move { ports.perception.compare(request).await }
        })
        .await
    }

    /// Judges an action by the text at its target when background motion makes the pixels there meaningless.
    async fn judge_by_text(&mut self, judged: Effect, near: CaptureRect) -> RunResult<Effect> {
        let Some(view) = &self.view else {
            return Ok(judged);
        };
        let (scene, frame) = (&view.observation.scene, &view.observation.frame);
        let before = effect::text_within(scene, frame, near);
        let Some(area) = near.intersection(&view.latest_frame.bounds()) else {
            return Ok(judged);
        };
        let area = CaptureArea::Region(area);
        let seen = self.observe_area(area, ParseOptions::default()).await?;
        let after = effect::text_within(&seen.scene, &seen.frame, near);
        let language = self.task.spec.message_language();
        Ok(effect::judge_text_change(judged, &before, &after, language))
    }

    /// Returns an unknown effect if the frame before the action is gone: Perception was restarted or has dropped it.
    fn cannot_judge(&mut self, report: ErrorReport) -> RunResult<Effect> {
        if report.code != Code::NotFound {
            return Err(halt("judging an action", report));
        }
        self.view = None;
        Ok(effect::unknown(report.message))
    }

    /// Returns the areas of background motion: clocks, and areas seen to change on their own.
    pub(super) fn background_motion_areas(&self) -> Vec<CaptureRect> {
        [self.clocks(), self.background_motion.noise()].concat()
    }

    fn clocks(&self) -> Vec<CaptureRect> {
        let observed = self.view.as_ref().map(|view| &view.observation);
        let clocks = observed
            .map(|seen| effect::clocks(&seen.scene, &seen.frame, &self.background_motion.noise()));
        clocks.unwrap_or_default()
    }

    /// Adds the motion observed since the step's observation. There is none to add after the step's first action.
    fn add_observed_motion(&mut self, latest: &Frame) {
        self.idle_frames.clear();
        let Some(lookout) = self.motion_monitor.take() else {
            return;
        };
        let seen = self.recording.motion(|| lookout.finish().to_record());
        let sighting = ObservedMotion::from_record(seen);
        for changed in &sighting.changes {
            self.background_motion.add(changed);
        }
        self.idle_frames = sighting.frames;
        self.idle_frames.push(latest.id.clone());
    }

    /// Compares the screen with the latest frame and adds changes to background motion. Returns `None` if the latest
    /// frame is no longer known.
    pub(super) async fn update_background_motion(&mut self) -> RunResult<Option<ChangeMap>> {
        let Some(latest) = self.view.as_ref().map(|view| view.latest_frame.clone()) else {
            return Ok(None);
        };
        self.add_observed_motion(&latest);
        let hidden = self.task.secret_fields.boxes();
        let now = self.capture_frame(&hidden).await?;
        let compare = CompareRequest {
            ignore: hidden,
            ..CompareRequest::new(latest.id, now.id.clone())
        };
        let change = match self.compare(compare).await? {
            Ok(comparison) => Some(comparison.change),
            // Perception has dropped the latest frame, so nothing can be compared.
            Err(report) if report.code == Code::NotFound => None,
            Err(report) => return Err(halt("comparing the screen", report)),
        };
        if let Some(change) = &change {
            self.background_motion.observe(change);
        }
        if let Some(view) = &mut self.view {
            view.latest_frame = now;
        }
        Ok(change)
    }
}
