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

use motorium_proto::domain::action::Action;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::attempt::{ActionAttempt, ResolvedAction};
use super::gate::{Grant, is_approved, situation_on};
use super::hover::wait_for_hover_response;
use super::target_changes::{area_around, differs_from_parsed, surroundings, target_area};
use super::{RunResult, Runner};
use motorium_policy::ActionContext;
use motorium_task::ApprovalContext;
use motorium_task::approval_context::{Comparison, JudgedPlace, dialog_area, harmless_motion};

/// Surroundings of an action, as they were read.
struct Judged {
    situation: ActionContext,
    contexts: Vec<ApprovalContext>,
}

impl Runner {
    /// Returns whether a risky action still means what was judged. `is_target_changed`: the target itself already looks different.
    /// `is_pointer_there`: the pointer rests on it.
    pub(super) async fn is_as_judged(
        &mut self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        grant: &Grant,
        is_target_changed: bool,
        is_pointer_there: bool,
    ) -> RunResult<bool> {
        let stops = if is_pointer_there {
            Vec::new()
        } else {
            pointer_stops(&resolved.action)
        };
        for stop in &stops {
            self.rest_pointer(attempt, *stop).await?;
            if !self
                .holds(attempt, resolved, grant, is_target_changed)
                .await?
            {
                return Ok(false);
            }
        }
        if !stops.is_empty() {
            return Ok(true);
        }
        if !is_pointer_there {
            self.screen.refresh_baseline(&mut self.run).await?;
        }
        self.holds(attempt, resolved, grant, is_target_changed)
            .await
    }

    /// Moves the pointer to a point and waits for the application's reaction, which becomes the baseline of later comparisons.
    async fn rest_pointer(&mut self, attempt: &ActionAttempt, stop: CapturePoint) -> RunResult {
        let before = self.screen.latest_frame().cloned();
        let run = &mut self.run;
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
        is_target_changed: bool,
    ) -> RunResult<bool> {
        let target = target_area(resolved, self.run.task().pointed_at()).or(grant.focus);
        let places = places(resolved, target);
        let Some(view) = self.screen.view() else {
            return Ok(false);
        };
        let (scene, frame) = view.scene();
        let motion = self.screen.background_motion_areas();
        let ignored = harmless_motion(&motion, scene, frame, target);
        let areas = places.iter().map(|place| {
            let dialog = dialog_area(scene, frame, place.area);
            let around = place.area.map(|area| surroundings(area, frame.scale));
            around.map_or(dialog, |around| dialog.union(&around))
        });
        let area = areas.reduce(|one, other| one.union(&other));
        let area = area.unwrap_or_else(|| frame.bounds());
        let now = view.latest_frame.clone();
        let run = &mut self.run;
        if !is_target_changed
            && !differs_from_parsed(run, &self.screen, &now, area, &ignored).await?
        {
            return Ok(true);
        }
        let judged = self.read(attempt, resolved, &places, &ignored);
        self.screen.mark_stale_if(true);
        self.screen.refresh_if_stale(&mut self.run).await?;
        let read = self.read(attempt, resolved, &places, &ignored);
        let (Some(judged), Some(read)) = (judged, read) else {
            return Ok(false);
        };
        let comparison = match is_approved(self.run.task(), attempt.index) {
            true => Comparison::WithPointer,
            false => Comparison::TargetAndValues,
        };
        let mut contexts = judged.contexts.iter().zip(&read.contexts);
        // A target without a text is known by its look alone.
        let is_told_by_text = !is_target_changed || !judged.situation.text.is_empty();
        Ok(is_told_by_text
            && judged.situation == read.situation
            && contexts.all(|(before, now)| before.difference(now, comparison).is_none()))
    }

    fn read(
        &self,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        places: &[JudgedPlace],
        ignored: &[CaptureRect],
    ) -> Option<Judged> {
        let rules = self.gate.rules();
        let situation = situation_on(
            &self.run,
            &self.screen,
            &rules,
            attempt,
            resolved,
            None,
            false,
        )?;
        let (scene, frame) = self.screen.view()?.scene();
        let contexts = places
            .iter()
            .map(|place| ApprovalContext::of(scene, frame, place, ignored));
        Some(Judged {
            contexts: contexts.collect(),
            situation,
        })
    }
}

/// Returns the places whose surroundings count: both ends of a drag, otherwise the target or the focus.
fn places(resolved: &ResolvedAction, target: Option<CaptureRect>) -> Vec<JudgedPlace> {
    let start = match &resolved.action {
        Action::Drag { .. } => resolved.action.targets().next().copied(),
        _ => None,
    };
    let ends = [target, start.map(area_around)];
    let places: Vec<JudgedPlace> = ends.into_iter().flatten().map(place_at).collect();
    if places.is_empty() {
        return vec![JudgedPlace::default()];
    }
    places
}

fn place_at(area: CaptureRect) -> JudgedPlace {
    JudgedPlace {
        area: Some(area),
        ..JudgedPlace::default()
    }
}

/// Returns the points at which the pointer rests before an action: the end of a drag, then its start.
fn pointer_stops(action: &Action<CapturePoint>) -> Vec<CapturePoint> {
    let mut points = action.targets().copied();
    match action {
        Action::Drag { .. } => {
            let start = points.next();
            let end = points.last();
            end.into_iter().chain(start).collect()
        }
        Action::Click { .. } | Action::MouseDown { .. } | Action::MouseUp { .. } => {
            points.collect()
        }
        _ => Vec::new(),
    }
}
