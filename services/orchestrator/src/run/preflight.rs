//! Preflight checks before an action: its target is found, the policy, the hooks and the approver allow it, the pointer
//! is on the target, and the screen at the target has not changed since it was judged.
//!
//! Every decision takes time, a planner's most of all. The target area is therefore compared before the policy is
//! applied and again after all others decided, and judged again if it changed. A button that is highlighted under the
//! pointer is parsed once more: if its text is the same, it is the same button. Applications take a few frames to react
//! to the pointer, so a critical click waits for that reaction before the last check.
//!
//! Two gaps remain: the moment between the last check and the input, and hover reactions to clicks that are not
//! critical. Nothing is performed here except moving the pointer.

use std::ops::Range;
use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::{CompareRequest, WaitForIdleRequest};
use tokio::time::Instant;
use tonic::Code;

use super::approval_evidence::with_surroundings;
use super::attempt::{ActionAttempt, AttemptStage, ResolvedAction};
use super::context::RunContext;
use super::gate::{ActionPermission, is_approved, target_area};
use super::pointer::PointerRequirement;
use super::resolve::{depends_on_screen, resolve};
use super::retry::resolve_retry;
use super::screen::Screen;
use super::{RunResult, Runner, capture, halt, pointer};
use crate::hooks::HookPoint;
use motorium_task::effect::is_small;
use motorium_task::event::Event;
use motorium_task::{ActionRecord, machine};

/// Maximum width of a blinking caret, in pixels.
// Narrow changes are ignored, otherwise every text field would change between two checks.
const MAX_CARET_WIDTH_PX: i32 = 4;
/// Maximum time for an application to start reacting to the pointer.
// A browser takes two to four frames, and several times that on a busy machine.
const HOVER_RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);
/// Maximum time for an application's reaction to the pointer to settle.
// Hover transitions rarely last longer; an endless animation must not block the click.
const HOVER_SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Area in which changes count.
#[derive(Debug, Clone, Copy)]
enum ChangeScope {
    Target,
    /// The area that the policy judges and an approver is shown.
    Surroundings,
}

impl ChangeScope {
    fn of(self, place: CaptureRect, scale: f64) -> CaptureRect {
        match self {
            ChangeScope::Target => place,
            ChangeScope::Surroundings => {
                motorium_policy::surrounding_area(place, scale).union(&with_surroundings(place))
            }
        }
    }
}

impl Runner {
    /// Resolves the targets of an attempt on the current screen. It ends, and the reason is
    /// recorded, if a target is not found.
    pub(super) async fn resolve_targets(
        &mut self,
        attempt: &ActionAttempt,
    ) -> RunResult<AttemptStage> {
        let began = Instant::now();
        let mut resolved = match &attempt.previous {
            Some(record) if record.performed() => {
                resolve_retry(&mut self.run, &self.screen, record).await?
            }
            _ => resolve(&mut self.run, &mut self.screen, &attempt.planned).await?,
        };
        if !attempt.is_repeated()
            && let Ok(found) = &resolved
            && machine::expects_effect(&found.action)
            && has_changed_at(
                &mut self.run,
                &mut self.screen,
                found,
                ChangeScope::Surroundings,
            )
            .await?
        {
            // The screen changed while the planner decided, so the policy must judge a new view.
            resolved = resolve(&mut self.run, &mut self.screen, &attempt.planned).await?;
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

    /// Runs the preflight checks: policy, hooks, pointer and screen.
    pub(super) async fn preflight(
        &mut self,
        attempt: &ActionAttempt,
        resolved: ResolvedAction,
    ) -> RunResult<AttemptStage> {
        let (run, screen) = (&mut self.run, &mut self.screen);
        let permission = self
            .gate
            .permission(run, screen, attempt, &resolved)
            .await?;
        if permission == ActionPermission::Refused {
            return Ok(AttemptStage::Ended);
        }
        let hooks_are_asked = run.wants(HookPoint::BeforeAction);
        let permission = self
            .gate
            .hooks_permit(run, screen, attempt, &resolved, permission)
            .await?;
        let ActionPermission::Granted { verify_pointer } = permission else {
            return Ok(AttemptStage::Ended);
        };
        let baseline = self.screen.latest_frame().cloned();
        // Checked before the pointer moves, because hover effects are no effect of the previous attempt.
        if let Some(baseline) = &baseline
            && self.has_late_effect(attempt, baseline).await?
        {
            return Ok(AttemptStage::Ended);
        }
        let requirement = PointerRequirement {
            is_approved: is_approved(self.run.task(), attempt.index),
            is_demanded: verify_pointer || pointer::is_asked_for(&self.run),
        };
        let (planned, action, target) = (&attempt.planned, &resolved.action, resolved.target);
        let pointed_at = {
            let mut actions = self.run.task().actions().rev();
            actions.find_map(ActionRecord::point)
        };
        let point = pointer::check_point(planned, action, target, requirement, pointed_at);
        let mut resolved = resolved;
        if let Some(point) = point {
            let (run, screen) = (&mut self.run, &mut self.screen);
            let positioned = self
                .actuator
                .position_pointer(run, screen, attempt, point, resolved.target, requirement)
                .await?;
            match positioned {
                Some(pointer) => resolved = pointer.aim(resolved),
                None => return Ok(AttemptStage::Ended),
            }
        }
        if attempt.is_repeated() || !machine::expects_effect(&resolved.action) {
            return Ok(AttemptStage::Permitted(resolved));
        }
        let lights_up = match (point, baseline) {
            (Some(_), Some(baseline)) => {
                let is_critical = pointer::is_critical(&attempt.planned, requirement.is_approved);
                self.has_hover_response(&baseline, &resolved, is_critical)
                    .await?
            }
            _ => false,
        };
        let gate = &self.gate;
        let took_time = point.is_some()
            || hooks_are_asked
            || gate.may_judge_slowly(&self.run, &self.screen, attempt.index);
        let has_changed = took_time && self.has_target_changed(&resolved).await?;
        if !has_changed && !lights_up {
            return Ok(AttemptStage::Permitted(resolved));
        }
        // Parsing takes long enough for the target to change meanwhile, so it is compared once more.
        let (run, screen) = (&mut self.run, &mut self.screen);
        let is_the_same = point.is_some()
            && self
                .gate
                .has_same_text(run, screen, attempt, &resolved)
                .await?
            && !self.has_target_changed(&resolved).await?;
        Ok(if is_the_same {
            AttemptStage::Permitted(resolved)
        } else {
            AttemptStage::Decided
        })
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
        let (run, screen) = (&mut self.run, &mut self.screen);
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
            wait_for_hover_response(&mut self.run, before, resolved).await?;
            // The settled hover state becomes the baseline: it is neither background motion nor an effect of the click.
            self.screen.refresh_baseline(&mut self.run).await?;
        }
        differs_since(&mut self.run, &self.screen, before, resolved).await
    }

    async fn has_target_changed(&mut self, resolved: &ResolvedAction) -> RunResult<bool> {
        let (run, screen) = (&mut self.run, &mut self.screen);
        has_changed_at(run, screen, resolved, ChangeScope::Target).await
    }
}

/// Waits until the application's reaction to the pointer at the target has settled, or until it is clear that there
/// is none. The next checks judge the result.
async fn wait_for_hover_response(
    run: &mut RunContext,
    before: &Frame,
    resolved: &ResolvedAction,
) -> RunResult {
    let Some(place) = target_area(resolved, run.task().pointed_at()) else {
        return Ok(());
    };
    let began = Instant::now();
    let since_the_look_before = WaitForIdleRequest {
        display: run.display(),
        since_frame: Some(before.id.clone()),
        first_change_timeout: HOVER_RESPONSE_TIMEOUT,
        // An earlier change may be unrelated to the pointer, or only the beginning of the reaction.
        idle_duration: HOVER_RESPONSE_TIMEOUT,
        timeout: HOVER_SETTLE_TIMEOUT,
        ignore: outside(place, before.bounds()),
        ..WaitForIdleRequest::default()
    };
    let from_now_on = WaitForIdleRequest {
        since_frame: None,
        ..since_the_look_before.clone()
    };
    for request in [since_the_look_before, from_now_on] {
        let answered =
            capture::wait_for_idle(run, Message::OperationAwaitReaction, request).await?;
        match answered {
            Ok(_) => break,
            // Perception has dropped the baseline frame.
            Err(report) if report.code == Code::NotFound => {}
            // Only in a replay of a recording from before further attempts.
            Err(report) if run.config.max_screen_failures == 0 => {
                return Err(halt(run.task(), Message::OperationAwaitReaction, report));
            }
            Err(_) => break,
        }
    }
    run.record_timing("pointer", began);
    Ok(())
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

/// Updates background motion, and returns whether the target area, or its surroundings, has changed. If so, the
/// view is marked stale.
async fn has_changed_at(
    run: &mut RunContext,
    screen: &mut Screen,
    resolved: &ResolvedAction,
    reach: ChangeScope,
) -> RunResult<bool> {
    let noise = screen.background_motion_areas();
    let change = screen.update_background_motion(run).await?;
    let Some(view) = screen.view() else {
        return Ok(false);
    };
    let place = target_area(resolved, run.task().pointed_at());
    let scale = view.latest_frame.scale;
    let around = |place| reach.of(place, scale);
    let changed = depends_on_screen(resolved.action.kind())
        && (change.is_none_or(|change| changes_at(&change, place, around, &noise))
            || active_window(&view.latest_frame) != active_window(&view.observation.frame));
    screen.mark_stale_if(changed);
    Ok(changed)
}

/// Returns whether the target or its surroundings changed. Known background motion counts only at the target itself.
/// Without a target, small changes are ignored, because they cannot be a dialog.
fn changes_at(
    change: &ChangeMap,
    place: Option<CaptureRect>,
    around: impl Fn(CaptureRect) -> CaptureRect,
    noise: &[CaptureRect],
) -> bool {
    let is_noise = |bounds: &CaptureRect| noise.iter().any(|known| known.contains_box(bounds));
    let regions = change.regions.iter().map(|region| region.bounds);
    let mut regions = regions.filter(|bounds| bounds.width() > MAX_CARET_WIDTH_PX);
    change.size_differs
        || regions.any(|bounds| match place {
            Some(place) => {
                place.intersects(&bounds)
                    || (around(place).intersects(&bounds) && !is_noise(&bounds))
            }
            None => !is_small(bounds) && !is_noise(&bounds),
        })
}

/// Returns the rectangles that cover the screen except for one place.
fn outside(place: CaptureRect, screen: CaptureRect) -> Vec<CaptureRect> {
    let Some(hole) = place.intersection(&screen) else {
        return Vec::new();
    };
    let (Range { start: x0, end: x1 }, Range { start: y0, end: y1 }) =
        (hole.x_range(), hole.y_range());
    let corners = |x: Range<i32>, y: Range<i32>| {
        CaptureRect::new(
            CapturePoint::new(x.start, y.start),
            CapturePoint::new(x.end, y.end),
        )
    };
    let all = [
        corners(screen.x_range(), screen.min.y..y0),
        corners(screen.x_range(), y1..screen.max.y),
        corners(screen.min.x..x0, y0..y1),
        corners(x1..screen.max.x, y0..y1),
    ];
    all.into_iter().filter(|part| !part.is_empty()).collect()
}

/// Returns id and title of the active window, which receives keys and text.
fn active_window(frame: &Frame) -> Option<(&str, &str)> {
    let window = frame.active_window()?;
    Some((&window.id, &window.title))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x0: i32, y0: i32, x1: i32, y1: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x0, y0), CapturePoint::new(x1, y1))
    }

    #[test]
    fn outside_regions_partition_the_rest_of_the_screen() {
        let screen = rect(0, 0, 100, 80);
        for place in [
            rect(20, 30, 60, 50),
            rect(0, 0, 10, 10),
            rect(90, 70, 120, 90),
            screen,
        ] {
            let parts = outside(place, screen);
            let seen = place.intersection(&screen).unwrap();
            let area = parts.iter().map(CaptureRect::area).sum::<i32>() + seen.area();
            assert_eq!(area, screen.area(), "{place:?}");
            for (index, part) in parts.iter().enumerate() {
                assert!(!part.intersects(&place), "{part:?} of {place:?}");
                let others = &parts[index + 1..];
                assert!(!others.iter().any(|other| other.intersects(part)));
            }
        }
        assert_eq!(outside(rect(200, 200, 210, 210), screen), []);
    }
}
