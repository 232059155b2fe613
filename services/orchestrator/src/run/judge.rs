//! Waits until the screen has settled after an action, and judges the action's effect.
//!
//! The retry that follows is not chosen here but in [`motorium_task::retry`]. Changes of the target under the pointer
//! are examined in [`super::look`].

use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::domain::action::{Action, ActionKind};
use motorium_proto::domain::effect::{Effect, Verdict};
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::{ActionId, FrameId};
use motorium_proto::error::ErrorReport;
use motorium_proto::service::{
    CaptureArea, CaptureRequest, CompareRequest, Comparison, IdleReport, ParseOptions, Result,
    WaitForIdleRequest,
};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use tonic::Code;

use super::actuator::Actuator;
use super::attempt::{ActionAttempt, ResolvedAction};
use super::capture::SCREENSHOT_OPTIONS;
use super::context::RunContext;
use super::look::{self, LookCheck};
use super::screen::Screen;
use super::{RunConfig, RunResult, capture, halt, hooks};
use motorium_task::ActionRecord;
use motorium_task::effect::{self, EffectCriterion, Evidence};
use motorium_task::event::{Artifact, Event};
use motorium_task::retry::{self, JudgedAttempt, RetryRules, RetryStrategy};

/// Factor by which the timeouts grow when an effect is checked a second time.
// The action may have been slow to show an effect; an equal wait would only repeat the same answer.
const RECHECK_TIMEOUT_FACTOR: u32 = 2;

/// Factor by which the timeouts of a retried action are longer.
// It went without effect for one window already. If the application is only slow, its answer to the first attempt must come
// before there is a third: answers within four seconds of a click lead to one repeated click at most.
const RETRY_TIMEOUT_FACTOR: u32 = 3;
/// Factor by which the timeouts are longer once the target has reacted to the pointer.
// The click has arrived and is not repeated, so a longer wait costs nothing but time.
const REACTION_TIMEOUT_FACTOR: u32 = 3;

/// Margin around the surroundings of a target within which their text is read again, in pixels.
// Lines that are cut at the edge of a screenshot lie outside of the surroundings then, and are not compared.
const TEXT_MARGIN_PX: i32 = 40;

/// Timeouts for the screen to settle after an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SettleTimeouts {
    /// Time within which an effect has to begin: the no-effect window.
    first_change: Duration,
    total: Duration,
}

impl SettleTimeouts {
    fn times(self, factor: u32) -> Self {
        Self {
            first_change: self.first_change * factor,
            total: self.total * factor,
        }
    }

    /// Returns what is left after a wait, or `None` if the no-effect window is over.
    fn after(self, waited: Duration) -> Option<Self> {
        // A wait of no time would be repeated for ever.
        let waited = waited.max(MIN_WAIT);
        let first_change = self.first_change.checked_sub(waited)?;
        let left = Self {
            first_change,
            total: self.total.checked_sub(waited)?,
        };
        (!first_change.is_zero()).then_some(left)
    }
}

/// Shortest wait that is counted.
// Divides the shortest window into few waits, so that a series of empty ones ends.
const MIN_WAIT: Duration = Duration::from_millis(50);

/// Time within which an effect has to begin, by the kind of action: the no-effect windows.
// Applications and pages take longer to start than a button to react. No action is repeated before its window is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectWindows {
    /// Opening an application or a URL.
    pub open: Duration,
    /// Browser history, refresh and addresses.
    pub navigate: Duration,
    /// Clicks, drags and focusing a window.
    pub click: Duration,
    /// Keys, text and paste.
    pub input: Duration,
    /// Anything else.
    pub other: Duration,
}

impl Default for EffectWindows {
    fn default() -> Self {
        // An action without effect costs its whole window, and an effect that begins later is taken for none.
        Self {
            // A program has to be loaded and started before it draws its first window.
            open: Duration::from_secs(5),
            // A page is requested over a network first.
            navigate: Duration::from_secs(2),
            // Longer than for keys, because a click is the only action that is performed again: a window that is too
            // short would click a slow button twice.
            click: Duration::from_secs(1),
            // Keys and text are never sent again. A second check with twice the window finds a late effect.
            input: Duration::from_millis(600),
            // A scroll or a move is drawn with the next frames, or changes nothing.
            other: Duration::from_millis(300),
        }
    }
}

impl EffectWindows {
    /// Returns the timeouts for an action kind: its window, and time for the screen to settle after a change at its end.
    fn timeouts(self, kind: ActionKind) -> SettleTimeouts {
        // What takes long to begin is also long in motion. With the default windows, the times to settle (in
        // milliseconds) make the totals that docs/effects.md lists: 2.5 s for a click as well as for keys.
        let (first_change, settling) = match kind {
            ActionKind::OpenApplication | ActionKind::OpenUrl => (self.open, 5000),
            ActionKind::GoToUrl
            | ActionKind::GoBack
            | ActionKind::GoForward
            | ActionKind::Refresh => (self.navigate, 3000),
            ActionKind::Click
            | ActionKind::FocusWindow
            | ActionKind::MouseUp
            | ActionKind::Drag => (self.click, 1500),
            ActionKind::KeyChord
            | ActionKind::HoldKey
            | ActionKind::TypeText
            | ActionKind::Paste => (self.input, 1900),
            ActionKind::Move
            | ActionKind::MouseDown
            | ActionKind::Scroll
            | ActionKind::Wait
            | ActionKind::SetClipboard => (self.other, 1700),
        };
        SettleTimeouts {
            first_change,
            total: first_change + Duration::from_millis(settling),
        }
    }
}

/// Returns the screen after an action that another one of its step follows; the last one's is the one that the next step begins
/// with. Redactions are those of the step's observation. The place of a secret is known only once the action that entered it is
/// judged, so that there is none after it. `None` also if the screen cannot be captured now.
async fn action_screenshot(
    run: &mut RunContext,
    attempt: &ActionAttempt,
    resolved: &ResolvedAction,
) -> RunResult<Option<Artifact>> {
    let is_wanted = run.config.features.capture_each_action
        && !attempt.is_last
        && resolved.action.entered_secret().is_none();
    if !is_wanted {
        return Ok(None);
    }
    let request = CaptureRequest {
        display: run.display(),
        image: Some(SCREENSHOT_OPTIONS),
        redactions: run.redactions_in(&CaptureArea::Display),
        ..CaptureRequest::default()
    };
    let perception = run.ports.perception.clone();
    let Ok(captured) = run.guard(perception.capture(request)).await? else {
        return Ok(None);
    };
    hooks::after_screenshot(run, &captured.frame, captured.image.as_ref()).await;
    let name = format!("{}-after", attempt.id).replace('/', "-");
    run.store_image(captured.image.as_ref(), &name).await
}

/// An action whose effect is judged.
#[derive(Clone, Copy)]
struct JudgedAction<'a> {
    attempt: &'a ActionAttempt,
    resolved: &'a ResolvedAction,
    /// The frame from before it.
    before: &'a Frame,
}

/// The judgement of an action within its timeouts.
#[derive(Debug)]
struct Judgement {
    effect: Effect,
    /// The screen changed and then looked as before again.
    has_reacted: bool,
}

/// Motion that may hide the effect of an action.
struct Obscuring<'a> {
    /// Area in which the effect is expected.
    near: Option<CaptureRect>,
    moving: &'a [CaptureRect],
    /// The comparison from which nothing but redacted areas and clocks is left out.
    request: CompareRequest,
}

/// Judges the effects of actions.
#[derive(Debug)]
pub(super) struct Judge {
    criterion: EffectCriterion,
    retry: RetryRules,
    windows: EffectWindows,
}

/// Returns the field that a click leaves, if the text before it went there.
fn field_left(
    run: &RunContext,
    action: &Action<CapturePoint>,
    target: Option<CaptureRect>,
) -> Option<CaptureRect> {
    let is_click = action.kind() == ActionKind::Click && run.config.features.notice_lost_focus;
    let field = run.task().field_left_for(target.filter(|_| is_click)?)?;
    (!effect::field_inside(field).is_empty()).then_some(field)
}

/// Returns the areas of which the effect needs the changed share: around the target, and inside of the field that a click leaves.
fn measured_regions(
    run: &RunContext,
    action: &Action<CapturePoint>,
    target: Option<CaptureRect>,
) -> Vec<CaptureRect> {
    let near = target.map(effect::near_area);
    let left = field_left(run, action, target).map(effect::field_inside);
    near.into_iter().chain(left).collect()
}

impl Judge {
    pub(super) fn new(config: &RunConfig) -> Self {
        Self {
            criterion: config.effect_rule,
            retry: config.retry,
            windows: config.effect_windows,
        }
    }

    /// Judges an action, records its effect, and schedules a retry if one is due.
    pub(super) async fn settle(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        actuator: &mut Actuator,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult {
        let began = Instant::now();
        let before = screen
            .latest_frame()
            .cloned()
            .expect("an action follows an observation");
        screen.keep_acted_on(&attempt.id);
        let factor = match attempt.number {
            0 => 1,
            _ => RETRY_TIMEOUT_FACTOR,
        };
        let timeouts = self.windows.timeouts(resolved.action.kind()).times(factor);
        let judged_action = JudgedAction {
            attempt,
            resolved,
            before: &before,
        };
        let mut judgement = self
            .judge(run, screen, actuator, judged_action, timeouts)
            .await?;
        let mut strategy = self.next_strategy(run, judged_action, &judgement);
        if strategy == Some(RetryStrategy::ReobservedEffect) {
            self.record_effect(run, screen, &attempt.id, judgement.effect, None);
            self.record_retry(run, &attempt.id, RetryStrategy::ReobservedEffect);
            let longer = timeouts.times(RECHECK_TIMEOUT_FACTOR);
            let later = self
                .judge(run, screen, actuator, judged_action, longer)
                .await?;
            judgement = Judgement {
                has_reacted: judgement.has_reacted || later.has_reacted,
                ..later
            };
            strategy = self.next_strategy(run, judged_action, &judgement);
        }
        // What was judged is recorded also if the task is stopped meanwhile.
        let screenshot = action_screenshot(run, attempt, resolved).await;
        let stored = screenshot.as_ref().ok().cloned().flatten();
        self.record_effect(run, screen, &attempt.id, judgement.effect, stored);
        screenshot?;
        if let Some(strategy) = strategy {
            screen.cancel_next_observation();
            self.record_retry(run, &attempt.id, strategy);
        }
        run.record_timing("settle", began);
        Ok(())
    }

    /// Judges the last action of the open step if the run that performed it did not. Needs the frame from before the
    /// action, which Perception may have dropped.
    pub(super) async fn judge_pending(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        actuator: &mut Actuator,
    ) -> RunResult {
        let Some(step) = run.task().open_step() else {
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
        screen.ensure_observed(run, false).await?;
        let Some(before) = before else {
            let effect = effect::unknown(run.task().text(Message::EffectNotObserved));
            self.record_effect(run, screen, &record.action_id, effect, None);
            return Ok(());
        };
        screen.set_latest_frame(*before);
        let attempt = ActionAttempt::performed_earlier(&record);
        let resolved = ResolvedAction::of(&record);
        self.settle(run, screen, actuator, &attempt, &resolved)
            .await
    }

    /// Returns the retry strategy that follows a judgement of the last action.
    fn next_strategy(
        &self,
        run: &RunContext,
        judged_action: JudgedAction<'_>,
        judgement: &Judgement,
    ) -> Option<RetryStrategy> {
        let JudgedAction {
            attempt, resolved, ..
        } = judged_action;
        let record = run.task().open_step()?.actions.last()?;
        let attempt = JudgedAttempt {
            record,
            effect: &judgement.effect,
            has_reacted: judgement.has_reacted,
            is_risky: resolved.is_risky || run.task().is_approved(attempt.index),
        };
        retry::next_strategy(attempt, self.retry)
    }

    fn record_effect(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        id: &ActionId,
        effect: Effect,
        screenshot: Option<Artifact>,
    ) {
        let changed = !matches!(effect.verdict, Verdict::NoEffect | Verdict::EndReached);
        screen.mark_stale_if(changed);
        let judged = Event::EffectJudged {
            action_id: id.clone(),
            effect: Box::new(effect),
            screenshot,
        };
        run.defer(judged);
    }

    fn record_retry(&self, run: &mut RunContext, id: &ActionId, strategy: RetryStrategy) {
        let record = run.task().open_step().and_then(|step| step.actions.last());
        let attempts = record.map_or(0, |record| record.retries) + 1;
        let retried = Event::ActionRetried {
            action_id: id.clone(),
            attempts,
            reason: retry::reason(strategy, attempts, run.task().spec.message_language()),
            strategy,
        };
        run.defer(retried);
    }

    /// Judges an action. A click that only changed the look of its target is given more time to show an effect.
    async fn judge(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        actuator: &mut Actuator,
        judged_action: JudgedAction<'_>,
        timeouts: SettleTimeouts,
    ) -> RunResult<Judgement> {
        let JudgedAction {
            attempt,
            resolved,
            before,
        } = judged_action;
        let judgement = self
            .judge_within(run, screen, judged_action, timeouts)
            .await?;
        let judged = &judgement.effect;
        let more_looks = run.config.features.doubt_more_looks;
        let Some(check) = LookCheck::of(screen, attempt, resolved, before, judged, more_looks)
        else {
            return Ok(judgement);
        };
        let moving = screen.background_motion_areas();
        let hidden = run.task().secret_fields.boxes();
        let ignore = [moving, hidden].concat();
        let is_only_look = check
            .is_only_look(run, screen, actuator, &attempt.id, before, &ignore)
            .await?;
        if !is_only_look {
            return Ok(judgement);
        }
        let extended = timeouts.times(REACTION_TIMEOUT_FACTOR);
        let waited = judged.settle_time;
        let extended = extended.after(waited).unwrap_or(timeouts);
        let lit = check.lit_frame();
        let lit_action = JudgedAction {
            before: lit,
            ..judged_action
        };
        let later = self.judge_within(run, screen, lit_action, extended).await?;
        let is_in_vain =
            match LookCheck::of(screen, attempt, resolved, lit, &later.effect, more_looks) {
                // Motion has other parts than those that were seen moving.
                Some(again) => {
                    let ignore = [screen.background_motion_areas(), ignore].concat();
                    again
                        .is_only_look(run, screen, actuator, &attempt.id, lit, &ignore)
                        .await?
                }
                None => later.effect.verdict == Verdict::NoEffect,
            };
        Ok(match is_in_vain {
            true => Judgement {
                effect: look::without_effect(run, judgement.effect),
                ..judgement
            },
            false => later,
        })
    }

    /// Judges an action by what changes within the timeouts.
    async fn judge_within(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        judged_action: JudgedAction<'_>,
        timeouts: SettleTimeouts,
    ) -> RunResult<Judgement> {
        let mut timeouts = timeouts;
        let mut since = judged_action.before.id.clone();
        let mut waited = Duration::ZERO;
        let mut has_reacted = false;
        loop {
            let (judged, passed) = self
                .judge_once(run, screen, judged_action, since, timeouts)
                .await?;
            let rest = timeouts.after(judged.settle_time).filter(|_| passed);
            waited += judged.settle_time;
            has_reacted |= passed;
            let effect = Effect {
                settle_time: waited,
                ..judged
            };
            // A change that passed, such as a pressed look, is no effect, and does not mean that none will come.
            match (rest, screen.latest_frame()) {
                (Some(rest), Some(latest)) => {
                    timeouts = rest;
                    since = latest.id.clone();
                    screen.cancel_next_observation();
                }
                _ => {
                    return Ok(Judgement {
                        effect,
                        has_reacted,
                    });
                }
            }
        }
    }

    /// Waits once until the screen has settled, and judges the action. The second value is true if the screen changed
    /// meanwhile and then looked as before the action again, such as a button that was shown pressed.
    async fn judge_once(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        judged_action: JudgedAction<'_>,
        since: FrameId,
        timeouts: SettleTimeouts,
    ) -> RunResult<(Effect, bool)> {
        let before = judged_action.before;
        let ResolvedAction { action, target, .. } = judged_action.resolved;
        let target = *target;
        // Redacted areas cannot be judged, and background motion is no effect.
        let hidden = run.task().secret_fields.boxes_while_judging(action);
        let moving = screen.background_motion_areas();
        let background_motion = effect::with_surroundings(moving.clone());
        let ignore = [hidden.as_slice(), background_motion.as_slice()].concat();
        let request = WaitForIdleRequest {
            display: run.display(),
            since_frame: Some(since),
            first_change_timeout: timeouts.first_change,
            timeout: timeouts.total,
            ignore: ignore.clone(),
            ..WaitForIdleRequest::default()
        };
        let settling = Message::OperationSettle;
        let idle = match capture::wait_for_idle(run, settling, request).await? {
            Ok(idle) => idle,
            Err(report) => return Ok((self.cannot_judge(run, screen, report)?, false)),
        };
        let entered_into = action.entered_text().and_then(|_| run.task().entry_field());
        let near = target.or(entered_into).map(effect::near_area);
        let noise = [idle.background_motion.as_slice(), &ignore].concat();
        let (after, comparison) = match self
            .compare_after(run, screen, judged_action, noise)
            .await?
        {
            Ok(compared) => compared,
            Err(report) => return Ok((self.cannot_judge(run, screen, report)?, false)),
        };
        screen.set_latest_frame(after.clone());
        let judged = effect::judge(
            Evidence {
                action,
                target,
                left_field: field_left(run, action, target),
                before,
                after: &after,
                comparison,
                idle: &idle,
                background_motion: &background_motion,
                language: run.task().spec.message_language(),
            },
            self.criterion,
        );
        // Unknown and not elsewhere: a trace this small may be the effect itself, so that nothing is repeated.
        let moved = [moving.as_slice(), &idle.background_motion].concat();
        if judged.verdict == Verdict::ChangedElsewhere
            && effect::is_only_trace(&judged.change, &moved)
        {
            let language = run.task().spec.message_language();
            return Ok((effect::obscured(judged, language), false));
        }
        let may_be_hidden = match near {
            Some(near) => hidden.iter().any(|field| field.intersects(&near)),
            None => action.entered_secret().is_some() && !hidden.is_empty(),
        };
        if may_be_hidden && judged.verdict == Verdict::NoEffect {
            let redacted = Effect {
                settle_time: judged.settle_time,
                ..effect::unknown(run.task().text(Message::EffectRedacted))
            };
            return Ok((redacted, false));
        }
        let is_nothing = matches!(judged.verdict, Verdict::NoEffect | Verdict::EndReached);
        let is_as_before = judged.change.regions.is_empty();
        let passed = judged.verdict == Verdict::NoEffect && is_as_before && idle.changed;
        if !is_nothing || background_motion.is_empty() {
            return Ok((judged, passed));
        }
        // A clock's change is never an effect, wherever it is.
        let everything = CompareRequest {
            ignore: [hidden, screen.clocks()].concat(),
            ..CompareRequest::new(before.id.clone(), after.id)
        };
        let obscuring = Obscuring {
            near,
            moving: &moving,
            request: everything,
        };
        let judged = self
            .recheck_without_ignores(run, screen, judged, action, obscuring)
            .await?;
        let passed = passed && judged.verdict == Verdict::NoEffect;
        Ok((judged, passed))
    }

    /// Reconsiders a missing effect when background motion was ignored: it may have hidden the effect.
    async fn recheck_without_ignores(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        judged: Effect,
        action: &Action<CapturePoint>,
        obscuring: Obscuring<'_>,
    ) -> RunResult<Effect> {
        let Obscuring {
            near,
            moving,
            request,
        } = obscuring;
        let Ok(everything) = capture::compare(run, request.clone()).await? else {
            return Ok(judged);
        };
        // Beside known motion a small effect cannot be told from another part of what moves, and nothing is repeated. What scrolls is
        // larger.
        let may_be_small = action.entered_text().is_none() && action.kind() != ActionKind::Scroll;
        if may_be_small && effect::is_beside(&everything.change, moving) {
            return Ok(effect::obscured(judged, run.task().spec.message_language()));
        }
        if !effect::is_obscured(action, near, &everything.change)
            || self
                .matches_idle_frame(run, screen, action, near, &request)
                .await?
        {
            return Ok(judged);
        }
        match near {
            Some(near) => self.judge_by_text(run, screen, judged, near, moving).await,
            None => Ok(effect::obscured(judged, run.task().spec.message_language())),
        }
    }

    /// Returns whether the screen equals a frame from before the action: periodic motion, such as a caret, is back
    /// where it was.
    async fn matches_idle_frame(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        action: &Action<CapturePoint>,
        near: Option<CaptureRect>,
        request: &CompareRequest,
    ) -> RunResult<bool> {
        for before in screen.idle_frames().to_vec() {
            let request = CompareRequest {
                before,
                ..request.clone()
            };
            // A dropped frame proves nothing.
            if let Ok(comparison) = capture::compare(run, request).await?
                && !effect::is_obscured(action, near, &comparison.change)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the effect of an action that was judged to have none, if one has appeared since.
    pub(super) async fn late_effect(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        record: &ActionRecord,
        baseline: &Frame,
    ) -> RunResult<Option<Effect>> {
        let hidden = run.task().secret_fields.boxes();
        let now = match capture::try_capture_frame(run, &hidden).await? {
            Ok(now) => now,
            Err(report) => return self.cannot_judge(run, screen, report).map(Some),
        };
        let background_motion = screen.background_motion_areas();
        let compare = CompareRequest {
            ignore: [hidden.as_slice(), background_motion.as_slice()].concat(),
            measured_regions: measured_regions(run, &record.action, record.target),
            ..CompareRequest::new(baseline.id.clone(), now.id.clone())
        };
        let comparison = match capture::compare(run, compare).await? {
            Ok(comparison) => comparison,
            Err(report) => return self.cannot_judge(run, screen, report).map(Some),
        };
        let judged = effect::judge(
            Evidence {
                action: &record.action,
                target: record.target,
                left_field: field_left(run, &record.action, record.target),
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
                background_motion: &background_motion,
                language: run.task().spec.message_language(),
            },
            EffectCriterion::ChangedRegions,
        );
        let came = !matches!(judged.verdict, Verdict::NoEffect | Verdict::EndReached);
        // Another part of what moves cannot be told from a small effect: it is no effect, and nothing is repeated.
        let judged = match came && effect::is_beside(&judged.change, &background_motion) {
            true => effect::obscured(judged, run.task().spec.message_language()),
            false => judged,
        };
        screen.set_latest_frame(now);
        screen.mark_stale_if(came);
        Ok(came.then_some(judged))
    }

    /// Captures the screen and compares it with the frame before the action. If the step may end with this action, the
    /// observation for the next step starts at the same time.
    async fn compare_after(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        judged_action: JudgedAction<'_>,
        noise: Vec<CaptureRect>,
    ) -> RunResult<Result<(Frame, Comparison)>> {
        let JudgedAction {
            attempt,
            resolved,
            before,
        } = judged_action;
        // The redacted area of an entered secret is known only after judging, so the observation must not start
        // earlier.
        if attempt.is_last && resolved.action.entered_secret().is_none() {
            screen.start_next_observation(run).await?;
        }
        let hidden = run
            .task()
            .secret_fields
            .boxes_while_judging(&resolved.action);
        let after = match capture::try_capture_frame(run, &hidden).await? {
            Ok(after) => after,
            Err(report) => return Ok(Err(report)),
        };
        let is_click = resolved.action.kind() == ActionKind::Click;
        let compare = CompareRequest {
            ignore: noise,
            measured_regions: measured_regions(run, &resolved.action, resolved.target),
            // Other actions than clicks have no target that has to hold still.
            shift_regions: resolved.target.filter(|_| is_click).into_iter().collect(),
            ..CompareRequest::new(before.id.clone(), after.id.clone())
        };
        let comparison = capture::compare(run, compare).await?;
        Ok(comparison.map(|comparison| (after, comparison)))
    }

    /// Judges an action by the text at its target when background motion makes the pixels there meaningless.
    async fn judge_by_text(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        judged: Effect,
        near: CaptureRect,
        moving: &[CaptureRect],
    ) -> RunResult<Effect> {
        let Some(view) = screen.view() else {
            return Ok(judged);
        };
        let (scene, frame) = view.scene();
        let before = effect::text_within(scene, frame, near, moving);
        let around = near.inflate(TEXT_MARGIN_PX, TEXT_MARGIN_PX);
        let Some(area) = around.intersection(&view.latest_frame.bounds()) else {
            return Ok(judged);
        };
        let area = CaptureArea::Region(area);
        let seen = capture::try_observe_area(run, area, ParseOptions::default()).await?;
        let language = run.task().spec.message_language();
        let Ok(seen) = seen else {
            return Ok(effect::obscured(judged, language));
        };
        let after = effect::text_within(&seen.scene, &seen.frame, near, moving);
        Ok(effect::judge_text_change(judged, &before, &after, language))
    }

    /// Returns an unknown effect: the frame before the action is gone, because Perception was restarted or has dropped it, or the
    /// screen cannot be seen. The next look at the screen tells whether that persists.
    fn cannot_judge(
        &self,
        run: &RunContext,
        screen: &mut Screen,
        report: ErrorReport,
    ) -> RunResult<Effect> {
        screen.forget_view();
        if report.code == Code::NotFound {
            return Ok(effect::unknown(report.message));
        }
        // Only in a replay of a recording from before further attempts.
        if run.config.max_screen_failures == 0 {
            return Err(halt(run.task(), Message::OperationJudge, report));
        }
        let unjudged = Message::OperationFailed {
            operation: &run.task().text(Message::OperationJudge),
            problem: &report.message,
        };
        Ok(effect::unknown(run.task().text(unjudged)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeouts(first_change_ms: u64, total_ms: u64) -> SettleTimeouts {
        SettleTimeouts {
            first_change: Duration::from_millis(first_change_ms),
            total: Duration::from_millis(total_ms),
        }
    }

    #[test]
    fn slow_kinds_have_long_windows_and_settling_times() {
        let windows = EffectWindows::default();
        let of = |kind| windows.timeouts(kind);
        assert_eq!(of(ActionKind::Click), timeouts(1_000, 2_500));
        assert_eq!(of(ActionKind::TypeText), timeouts(600, 2_500));
        assert_eq!(of(ActionKind::OpenUrl), timeouts(5_000, 10_000));
        let patient = EffectWindows {
            click: Duration::from_secs(4),
            ..windows
        };
        assert_eq!(patient.timeouts(ActionKind::Drag), timeouts(4_000, 5_500));
    }

    #[test]
    fn a_wait_continues_until_its_window_ends() {
        let whole = timeouts(1_000, 2_500);
        let after = |waited| whole.after(Duration::from_millis(waited));
        assert_eq!(after(400), Some(timeouts(600, 2_100)));
        assert_eq!(after(1_000), None);
        assert_eq!(after(1_001), None);
        assert_eq!(whole.times(2), timeouts(2_000, 5_000));
    }
}
