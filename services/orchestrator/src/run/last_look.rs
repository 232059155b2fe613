//! The last look before a risky action: once the pointer rests on the target, its surroundings are compared with those that
//! were judged and, where a person was asked, approved.
//!
//! A button may become another one when the pointer arrives, and a menu may open over it. Before a risky click, press or drag,
//! the pointer is moved to each of its ends, and the application's reaction is waited for. Before keys and text, the keyboard
//! focus is looked at. If nothing has changed, that is one comparison; otherwise the screen is parsed again. A difference that
//! matters has the action judged anew. Harmless actions are not looked at again.
//!
//! Changes between this look and the input, a few milliseconds later, are not noticed. The only action performed here is moving
//! the pointer.

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::RunResult;
use super::attempt::{ActionAttempt, ResolvedAction};
use super::gate::Grant;
use super::hover::{pointer_stops, wait_for_hover_response};
use super::policy_context::action_context;
use super::preflight::{PointerState, Preflight};
use super::target_changes::{area_around, differs_from_parsed, judged_area, target_area};
use motorium_policy::ActionContext;
use motorium_task::ApprovalContext;
use motorium_task::approval_context::{Comparison, JudgedTarget, harmless_motion};

/// Surroundings of an action, as they were read.
struct SurroundingsAsRead {
    action: ActionContext,
    surroundings: Vec<ApprovalContext>,
}

impl Preflight<'_> {
    /// Returns whether a risky action still means what was judged.
    pub(super) async fn is_as_judged(
        &mut self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        grant: &Grant,
        pointer: PointerState,
    ) -> RunResult<bool> {
        let stops = if pointer.at_target {
            Vec::new()
        } else {
            pointer_stops(&resolved.action)
        };
        for stop in &stops {
            self.rest_pointer(attempt, *stop).await?;
            if !self
                .holds(attempt, resolved, grant, pointer.target_changed)
                .await?
            {
                return Ok(false);
            }
        }
        if !stops.is_empty() {
            return Ok(true);
        }
        if !pointer.at_target {
            self.screen.refresh_baseline(self.run).await?;
        }
        self.holds(attempt, resolved, grant, pointer.target_changed)
            .await
    }

    /// Moves the pointer to a point and waits for the application's reaction, which becomes the baseline of later comparisons.
    pub(super) async fn rest_pointer(
        &mut self,
        attempt: &ActionAttempt,
        stop: CapturePoint,
    ) -> RunResult {
        let before = self.screen.latest_frame().cloned();
        let run = &mut *self.run;
        let moved = self.actuator.move_pointer(run, &attempt.id, stop).await?;
        // An Executor that cannot move the pointer alone moves it with the action itself.
        if moved.is_ok()
            && let Some(before) = before
        {
            wait_for_hover_response(run, &before, area_around(stop)).await?;
        }
        self.screen.refresh_baseline(run).await
    }

    /// Returns whether the surroundings say the same as when they were judged.
    async fn holds(
        &mut self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        grant: &Grant,
        target_changed: bool,
    ) -> RunResult<bool> {
        let target = target_area(resolved, self.run.task().pointed_at()).or(grant.focus);
        let with_toggles = self.run.config.features.compare_toggles;
        let places = places(resolved, target, with_toggles);
        let Some(view) = self.screen.view() else {
            return Ok(false);
        };
        let (scene, frame) = view.scene();
        let motion = self.screen.background_motion_areas();
        let ignored = harmless_motion(&motion, scene, frame, target);
        let areas = places.iter().map(|place| judged_area(scene, frame, place));
        let area = areas.reduce(|one, other| one.union(&other));
        let area = area.unwrap_or_else(|| frame.bounds());
        let now = view.latest_frame.clone();
        let run = &mut *self.run;
        if !target_changed && !differs_from_parsed(run, self.screen, &now, area, &ignored).await? {
            return Ok(true);
        }
        let judged = self.read(attempt, resolved, &places, &ignored);
        self.screen.mark_stale_if(true);
        self.screen.refresh_if_stale(self.run).await?;
        let read = self.read(attempt, resolved, &places, &ignored);
        let (Some(judged), Some(read)) = (judged, read) else {
            return Ok(false);
        };
        let comparison = match self.run.task().is_approved(attempt.index) {
            true => Comparison::WithPointer,
            false => Comparison::TargetAndValues,
        };
        let mut surroundings = judged.surroundings.iter().zip(&read.surroundings);
        // A target without a text is known by its look alone.
        let is_told_by_text = !target_changed || !judged.action.text.is_empty();
        Ok(is_told_by_text
            && judged.action == read.action
            && surroundings.all(|(before, now)| before.difference(now, comparison).is_none()))
    }

    fn read(
        &self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        places: &[JudgedTarget],
        ignored: &[CaptureRect],
    ) -> Option<SurroundingsAsRead> {
        let rules = self.gate.rules();
        let action = action_context(
            self.run,
            self.screen,
            &rules,
            attempt,
            resolved,
            None,
            false,
        )?;
        let (scene, frame) = self.screen.view()?.scene();
        let surroundings = places
            .iter()
            .map(|place| ApprovalContext::of(scene, frame, place, ignored));
        Some(SurroundingsAsRead {
            action,
            surroundings: surroundings.collect(),
        })
    }
}

/// Returns the places whose surroundings count: both ends of a drag, otherwise the target or the focus.
fn places(
    resolved: &ResolvedAction,
    target: Option<CaptureRect>,
    with_toggles: bool,
) -> Vec<JudgedTarget> {
    let start = resolved.action.start().copied();
    let ends = [target, start.map(area_around)];
    let place_at = |area| JudgedTarget {
        area: Some(area),
        with_toggles,
        ..JudgedTarget::default()
    };
    let places: Vec<JudgedTarget> = ends.into_iter().flatten().map(place_at).collect();
    if places.is_empty() {
        return vec![JudgedTarget::default()];
    }
    places
}
