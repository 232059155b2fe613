//! Preflight checks before an action: its target is found, the policy, the hooks and the approver allow it, the pointer
//! is on the target, and the screen at the target has not changed since it was judged.
//!
//! Every decision takes time, a planner's most of all. The target area is therefore compared before the policy is
//! applied and again after all others decided, and judged again if it changed. A button that is highlighted under the
//! pointer is parsed once more: if its text is the same, it is the same button. Applications take a few frames to react
//! to the pointer, so a critical click waits for that reaction before the last check. The surroundings of risky actions are
//! compared as well ([`super::last_look`]).
//!
//! Two gaps remain: the moment between the last check and the input, and hover reactions to clicks that are not
//! critical. Nothing is performed here except moving the pointer.

use motorium_messages::Message;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::CompareRequest;
use tokio::time::Instant;

use super::actuator::Actuator;
use super::attempt::{ActionAttempt, AttemptStage, ResolvedAction};
use super::context::RunContext;
use super::gate::{ActionPermission, Gate, Grant, PointerRest};
use super::hover::{pointer_stops, wait_for_hover_response};
use super::judge::Judge;
use super::pointer::PointerRequirement;
use super::resolve::resolve;
use super::retry::resolve_retry;
use super::screen::Screen;
use super::target_changes::{ChangeScope, has_changed_at, refresh_if_changed_within, target_area};
use super::{RunResult, capture, pointer};
use crate::hooks::HookPoint;
use motorium_task::approval_context::{evidence_area, is_covered};
use motorium_task::event::Event;
use motorium_task::{ActionRecord, machine};

/// Distance of a point beside a target from its box, in pixels: more than boxes are off by, and than most controls are apart.
const BESIDE_TARGET_PX: i32 = 6;

/// An action that the policy, the approver and the hooks allow.
struct AllowedAction {
    resolved: ResolvedAction,
    grant: Grant,
    requirement: PointerRequirement,
    hooks_were_asked: bool,
    /// The screen before the pointer moves for the action. For an approval it rests on the target already.
    baseline: Option<Frame>,
    /// True once the pointer was moved to the target.
    pointer_at_target: bool,
}

/// The pointer and the target right before an action.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointerState {
    /// True if the pointer rests on the target.
    pub(super) at_target: bool,
    /// True if the target looks different from the one that was judged.
    pub(super) target_changed: bool,
}

/// The parts of a run that take part in the checks before one action.
pub(super) struct Preflight<'a> {
    pub(super) run: &'a mut RunContext,
    pub(super) screen: &'a mut Screen,
    pub(super) gate: &'a mut Gate,
    pub(super) actuator: &'a mut Actuator,
    pub(super) judge: &'a mut Judge,
}

impl Preflight<'_> {
    /// Resolves the targets of an attempt on the current screen. It ends, and the reason is
    /// recorded, if a target is not found.
    pub(super) async fn resolve_targets(
        &mut self,
        attempt: &ActionAttempt,
    ) -> RunResult<AttemptStage> {
        let began = Instant::now();
        let mut resolved = match &attempt.previous {
            Some(record) if record.performed() => {
                resolve_retry(self.run, self.screen, record).await?
            }
            _ => resolve(self.run, self.screen, &attempt.planned).await?,
        };
        if !attempt.is_repeated()
            && let Ok(found) = &resolved
            && machine::expects_effect(&found.action)
            && has_changed_at(self.run, self.screen, found, ChangeScope::Surroundings).await?
        {
            // The screen changed while the planner decided, so the policy must judge a new view.
            resolved = resolve(self.run, self.screen, &attempt.planned).await?;
        }
        self.run.record_timing("resolve", began);
        match resolved {
            Ok(resolved) => Ok(AttemptStage::Resolved(resolved)),
            Err(message) => {
                self.run.refuse(message).await?;
                Ok(AttemptStage::Ended)
            }
        }
    }

    /// Runs the checks: policy, hooks, pointer and screen.
    pub(super) async fn check(
        &mut self,
        attempt: &ActionAttempt,
        resolved: ResolvedAction,
    ) -> RunResult<AttemptStage> {
        let Some(allowed) = self.allowed(attempt, resolved).await? else {
            return Ok(AttemptStage::Ended);
        };
        let Some(aimed) = self.aimed(attempt, allowed).await? else {
            return Ok(AttemptStage::Ended);
        };
        let is_risky = aimed.grant.is_risky;
        let may_change = machine::expects_effect(&aimed.resolved.action) || is_risky;
        let is_compared = may_change && !attempt.is_repeated();
        Ok(
            match !is_compared || self.holds_still(attempt, &aimed).await? {
                true => AttemptStage::Permitted(
                    aimed.resolved.permitted(is_risky, aimed.grant.addresses),
                ),
                false => AttemptStage::Decided,
            },
        )
    }

    /// Asks the policy, the approver and the hooks, and looks for a late effect of the previous attempt; `None` if the attempt
    /// ends, for a reason that is recorded.
    async fn allowed(
        &mut self,
        attempt: &ActionAttempt,
        resolved: ResolvedAction,
    ) -> RunResult<Option<AllowedAction>> {
        let permission = self.permission(attempt, &resolved).await?;
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        if permission == ActionPermission::Refused {
            return Ok(None);
        }
        let hooks_were_asked = run.wants(HookPoint::BeforeAction);
        let permission = self
            .gate
            .hooks_permit(run, screen, attempt, &resolved, permission)
            .await?;
        let ActionPermission::Granted(grant) = permission else {
            return Ok(None);
        };
        let baseline = self.screen.latest_frame().cloned();
        // Checked before the pointer moves, because hover effects are no effect of the previous attempt.
        if let Some(baseline) = &baseline
            && self.has_late_effect(attempt, baseline).await?
        {
            return Ok(None);
        }
        let requirement = PointerRequirement {
            is_approved: self.run.task().is_approved(attempt.index),
            is_demanded: grant.verify_pointer || pointer::is_asked_for(self.run),
            is_risky: grant.is_risky,
        };
        Ok(Some(AllowedAction {
            resolved,
            grant,
            requirement,
            hooks_were_asked,
            baseline,
            pointer_at_target: false,
        }))
    }

    /// Asks the policy and the approver. If an approval is needed, the pointer is first put on the target: buttons change under it,
    /// some in their size or place, so that what an approver is shown has to be what the click will meet.
    async fn permission(
        &mut self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
    ) -> RunResult<ActionPermission> {
        self.screen.forget_unpointed();
        let stop = self.resting_place(resolved);
        let rest = match stop {
            Some(_) => PointerRest::Due,
            None => PointerRest::Done,
        };
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        let permission = self
            .gate
            .permission(run, screen, attempt, resolved, rest)
            .await?;
        let Some(stop) = stop.filter(|_| permission == ActionPermission::ApprovalDue) else {
            return Ok(permission);
        };
        self.screen.keep_unpointed();
        self.leave_target(attempt, resolved, stop).await?;
        self.rest_pointer(attempt, stop).await?;
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        if let Some(place) = target_area(resolved, run.task().pointed_at()) {
            refresh_if_changed_within(run, screen, evidence_area(place)).await?;
        }
        let permission = self
            .gate
            .permission(run, screen, attempt, resolved, PointerRest::Done)
            .await?;
        let is_granted = matches!(permission, ActionPermission::Granted(_));
        if is_granted && !self.run.task().is_approved(attempt.index) {
            // The target needed approval before and seems harmless under the pointer: without an approval it is refused.
            let intent = &attempt.planned.intent;
            let message = self
                .run
                .task()
                .text(Message::PointerTargetUnsteady { intent });
            self.run.refuse(message).await?;
            return Ok(ActionPermission::Refused);
        }
        Ok(permission)
    }

    /// Moves the pointer away from a target on which it has rested since approval was requested, if something covers the target that
    /// was not there when the pointer had just arrived, such as a tooltip. Otherwise it stays: a menu that opens under the
    /// pointer closes without it.
    async fn leave_target(
        &mut self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        stop: CapturePoint,
    ) -> RunResult {
        let run = &mut *self.run;
        let target = target_area(resolved, run.task().pointed_at());
        let target = target.filter(|_| run.task().is_approved(attempt.index));
        let Some(target) = target else {
            return Ok(());
        };
        let beside = if run.config.features.leave_covered_targets {
            refresh_if_changed_within(run, self.screen, evidence_area(target)).await?;
            let approval = run.task().approval_of_action(attempt.index);
            let shown = approval.and_then(|approval| approval.context.as_ref());
            let Some((view, shown)) = self.screen.view().zip(shown) else {
                return Ok(());
            };
            let (scene, frame) = view.scene();
            if !is_covered(scene, frame, shown) {
                return Ok(());
            }
            beside(target, stop, frame.bounds())
        } else {
            // As it was in recordings from before.
            let left = target.min.x - BESIDE_TARGET_PX;
            let right = target.max.x + BESIDE_TARGET_PX;
            Some(CapturePoint::new(
                if left >= 0 { left } else { right },
                stop.y,
            ))
        };
        let Some(beside) = beside else {
            return Ok(());
        };
        // An Executor that cannot move the pointer alone has not put it there either.
        let _ = self.actuator.move_pointer(run, &attempt.id, beside).await?;
        Ok(())
    }

    /// Returns the point at which the pointer rests before an approval; `None` for an action that is not at one place.
    fn resting_place(&self, resolved: &ResolvedAction) -> Option<CapturePoint> {
        let is_on = self.run.config.features.rest_before_approval;
        match pointer_stops(&resolved.action).as_slice() {
            [stop] if is_on => Some(*stop),
            _ => None,
        }
    }

    /// Moves the pointer to the target, if it is to be there before the click; `None` if it misses and the user was asked.
    async fn aimed(
        &mut self,
        attempt: &ActionAttempt,
        allowed: AllowedAction,
    ) -> RunResult<Option<AllowedAction>> {
        let (requirement, resolved) = (allowed.requirement, &allowed.resolved);
        let (planned, action, target) = (&attempt.planned, &resolved.action, resolved.target);
        let pointed_at = {
            let mut actions = self.run.task().actions().rev();
            actions.find_map(ActionRecord::point)
        };
        let point = pointer::check_point(planned, action, target, requirement, pointed_at);
        let Some(point) = point else {
            return Ok(Some(allowed));
        };
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        let positioned = self
            .actuator
            .position_pointer(run, screen, attempt, point, target, requirement)
            .await?;
        Ok(positioned.map(|pointer| AllowedAction {
            resolved: pointer.aim(allowed.resolved),
            pointer_at_target: true,
            ..allowed
        }))
    }

    /// Returns whether the target is still the one that was judged, with the pointer on it.
    async fn holds_still(
        &mut self,
        attempt: &ActionAttempt,
        aimed: &AllowedAction,
    ) -> RunResult<bool> {
        let resolved = &aimed.resolved;
        let lights_up = match &aimed.baseline {
            Some(baseline) if aimed.pointer_at_target => {
                let is_critical = pointer::is_critical(&attempt.planned, aimed.requirement);
                self.has_hover_response(baseline, resolved, is_critical)
                    .await?
            }
            _ => false,
        };
        // An approval is checked again with the pointer there: by pixels, because the text alone may hide another symbol. Where
        // the pointer is not seen, a highlight could not be told from another look.
        let latest = self.screen.latest_frame();
        let sees_pointer = latest.is_some_and(|frame| frame.cursor.is_some());
        let is_checked_again = sees_pointer && self.run.config.features.compare_highlights;
        if lights_up && aimed.requirement.is_approved && is_checked_again {
            return Ok(false);
        }
        let took_time = aimed.pointer_at_target
            || aimed.hooks_were_asked
            || self
                .gate
                .may_judge_slowly(self.run, self.screen, attempt.index);
        let has_changed = took_time && self.has_target_changed(resolved).await?;
        let pointer = PointerState {
            at_target: aimed.pointer_at_target,
            target_changed: has_changed || lights_up,
        };
        if aimed.grant.is_risky {
            let is_as_judged = self
                .is_as_judged(attempt, resolved, &aimed.grant, pointer)
                .await?;
            // Parsing takes long enough for the target to change meanwhile.
            let is_steady = !pointer.target_changed || !self.has_target_changed(resolved).await?;
            return Ok(is_as_judged && is_steady);
        }
        if !pointer.target_changed {
            return Ok(true);
        }
        // Parsing takes long enough for the target to change meanwhile, so it is compared once more.
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        Ok(pointer.at_target
            && self
                .gate
                .has_same_text(run, screen, attempt, resolved)
                .await?
            && !self.has_target_changed(resolved).await?)
    }

    /// Returns whether the previous attempt at the action has had an effect after all. It is recorded.
    async fn has_late_effect(
        &mut self,
        attempt: &ActionAttempt,
        baseline: &Frame,
    ) -> RunResult<bool> {
        let repeated = attempt
            .previous
            .as_ref()
            .filter(|record| record.performed());
        let Some(record) = repeated else {
            return Ok(false);
        };
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        let late = self
            .judge
            .late_effect(run, screen, record, baseline)
            .await?;
        let Some(effect) = late else {
            return Ok(false);
        };
        let judged = Event::EffectJudged {
            action_id: record.action_id.clone(),
            effect: Box::new(effect),
            screenshot: None,
        };
        self.run.record(vec![judged]).await?;
        Ok(true)
    }

    /// Returns whether the target looks different with the pointer on it. Before a critical click (`is_critical`), the
    /// application's response to the pointer is waited for.
    async fn has_hover_response(
        &mut self,
        before: &Frame,
        resolved: &ResolvedAction,
        is_critical: bool,
    ) -> RunResult<bool> {
        if is_critical {
            if let Some(place) = target_area(resolved, self.run.task().pointed_at()) {
                wait_for_hover_response(self.run, before, place).await?;
            }
            // The settled hover state becomes the baseline: it is neither background motion nor an effect of the click.
            self.screen.refresh_baseline(self.run).await?;
        }
        differs_since(self.run, self.screen, before, resolved).await
    }

    async fn has_target_changed(&mut self, resolved: &ResolvedAction) -> RunResult<bool> {
        let (run, screen) = (&mut *self.run, &mut *self.screen);
        has_changed_at(run, screen, resolved, ChangeScope::Target).await
    }
}

/// Returns whether the target area differs from before the pointer arrived.
async fn differs_since(
    run: &mut RunContext,
    screen: &Screen,
    before: &Frame,
    resolved: &ResolvedAction,
) -> RunResult<bool> {
    let (Some(view), Some(place)) = (
        screen.view(),
        target_area(resolved, run.task().pointed_at()),
    ) else {
        return Ok(false);
    };
    let compare = CompareRequest {
        ignore: run.task().secret_fields.boxes(),
        ..CompareRequest::new(before.id.clone(), view.latest_frame.id.clone())
    };
    let compared = capture::compare(run, compare).await?;
    // Without the baseline frame, a change has to be assumed.
    Ok(compared.map_or(true, |compared| {
        let mut regions = compared.change.regions.iter();
        regions.any(|region| place.intersects(&region.bounds))
    }))
}

/// Returns a point of the screen beside a target, next to a point on it; `None` if the target fills the screen.
fn beside(target: CaptureRect, on_it: CapturePoint, screen: CaptureRect) -> Option<CapturePoint> {
    let around = target.inflate(BESIDE_TARGET_PX, BESIDE_TARGET_PX);
    [
        CapturePoint::new(around.min.x, on_it.y),
        CapturePoint::new(around.max.x, on_it.y),
        CapturePoint::new(on_it.x, around.min.y),
        CapturePoint::new(on_it.x, around.max.y),
    ]
    .into_iter()
    .find(|point| screen.contains(*point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pointer_stays_on_the_screen_when_it_leaves_a_target() {
        let screen = CaptureRect::new(CapturePoint::new(0, 0), CapturePoint::new(200, 100));
        let target = |left, right| {
            CaptureRect::new(CapturePoint::new(left, 40), CapturePoint::new(right, 60))
        };
        let beside = |left, right| beside(target(left, right), CapturePoint::new(50, 50), screen);
        assert_eq!(beside(20, 80), Some(CapturePoint::new(14, 50)));
        assert_eq!(beside(2, 80), Some(CapturePoint::new(86, 50)));
        assert_eq!(beside(0, 200), Some(CapturePoint::new(50, 34)));
        let whole = screen;
        assert_eq!(
            super::beside(whole, CapturePoint::new(50, 50), screen),
            None
        );
    }
}
