//! Changes of the screen at the target of an action, since it was last compared or parsed.
//!
//! Only pixels and windows are compared here. Texts are compared once the screen is parsed again: by the policy, and in
//! [`motorium_task::approval_context`].
//!
//! It only reports changes; the caller decides whether to judge, parse or refuse again.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::element::Scene;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::CompareRequest;

use super::attempt::ResolvedAction;
use super::context::RunContext;
use super::resolve::depends_on_screen;
use super::screen::Screen;
use super::{RunResult, capture};
use motorium_task::approval_context::{JudgedTarget, dialog_area, evidence_area};
use motorium_task::effect::{MAX_CARET_SIZE, is_small};

/// Half the side of the area around a point without a known element, in pixels.
// About the size of a button, so that the approval covers what a click would hit.
const POINT_TARGET_RADIUS_PX: i32 = 24;

/// Area in which changes count.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChangeScope {
    Target,
    /// The area that the policy judges and an approver is shown.
    Surroundings,
}

impl ChangeScope {
    fn of(self, place: CaptureRect, scale: f64) -> CaptureRect {
        match self {
            ChangeScope::Target => place,
            ChangeScope::Surroundings => surroundings(place, scale),
        }
    }
}

/// Returns the area that the policy judges and an approver is shown.
pub(super) fn surroundings(place: CaptureRect, scale: f64) -> CaptureRect {
    motorium_policy::surrounding_area(place, scale).union(&evidence_area(place))
}

/// Returns the bounding box in which an action takes place, if any. A click without a target goes to the pointer's
/// position.
pub(super) fn target_area(
    resolved: &ResolvedAction,
    pointed_at: Option<CaptureRect>,
) -> Option<CaptureRect> {
    if matches!(resolved.action, Action::Click { at: None, .. }) {
        return pointed_at;
    }
    let point = resolved.action.targets().last().copied();
    point.map(|point| resolved.target.unwrap_or_else(|| area_around(point)))
}

/// Returns the area around a point without a known element.
pub(super) fn area_around(point: CapturePoint) -> CaptureRect {
    CaptureRect::new(point, point).inflate(POINT_TARGET_RADIUS_PX, POINT_TARGET_RADIUS_PX)
}

/// Returns the area that counts around a target: its dialog, or else all that may tell what it is for.
pub(super) fn judged_area(scene: &Scene, frame: &Frame, place: &JudgedTarget) -> CaptureRect {
    let dialog = dialog_area(scene, frame, place.area);
    let around = place.area.map(|area| surroundings(area, frame.scale));
    around.map_or(dialog, |around| dialog.union(&around))
}

/// Updates background motion, and returns whether the target area, or its surroundings, has changed. If so, the
/// view is marked stale.
pub(super) async fn has_changed_at(
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
    let mut regions = regions.filter(is_wider_than_a_caret);
    change.size_differs
        || regions.any(|bounds| match place {
            Some(place) => {
                place.intersects(&bounds)
                    || (around(place).intersects(&bounds) && !is_noise(&bounds))
            }
            None => !is_small(bounds) && !is_noise(&bounds),
        })
}

/// Returns whether an area of the current screen, or the window in front, differs from the parsed one, except in the ignored
/// areas. Any change counts, also what was taken for motion since.
pub(super) async fn differs_from_parsed(
    run: &mut RunContext,
    screen: &Screen,
    now: &Frame,
    area: CaptureRect,
    ignored: &[CaptureRect],
) -> RunResult<bool> {
    let Some(parsed) = screen.observation().map(|seen| seen.frame.clone()) else {
        return Ok(true);
    };
    let secrets = run.task().secret_fields.boxes();
    let request = CompareRequest {
        ignore: [secrets.as_slice(), ignored].concat(),
        ..CompareRequest::new(parsed.id.clone(), now.id.clone())
    };
    // Without the parsed frame, a change has to be assumed.
    let Ok(compared) = capture::compare(run, request).await? else {
        return Ok(true);
    };
    let regions = compared.change.regions.iter().map(|region| region.bounds);
    let mut regions = regions.filter(is_wider_than_a_caret);
    Ok(compared.change.size_differs
        || regions.any(|bounds| area.intersects(&bounds))
        || active_window(now) != active_window(&parsed))
}

/// Parses the screen again if an area of it differs from the parsed one.
pub(super) async fn refresh_if_changed_within(
    run: &mut RunContext,
    screen: &mut Screen,
    area: CaptureRect,
) -> RunResult {
    let secrets = run.task().secret_fields.boxes();
    let now = capture::capture_frame(run, &secrets).await?;
    let differs = differs_from_parsed(run, screen, &now, area, &[]).await?;
    screen.mark_stale_if(differs);
    screen.refresh_if_stale(run).await
}

/// Narrow changes are ignored, otherwise every text field would change between two checks.
fn is_wider_than_a_caret(bounds: &CaptureRect) -> bool {
    bounds.width() > MAX_CARET_SIZE.0
}

/// Returns id and title of the active window, which receives keys and text.
fn active_window(frame: &Frame) -> Option<(&str, &str)> {
    let window = frame.active_window()?;
    Some((&window.id, &window.title))
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::Button;

    use super::*;

    fn click(at: Option<CapturePoint>, target: Option<CaptureRect>) -> ResolvedAction {
        ResolvedAction {
            action: Action::Click {
                at,
                button: Button::Left,
                count: 1,
                modifiers: Vec::new(),
            },
            target,
            label: None,
            is_risky: false,
            addresses: Default::default(),
        }
    }

    fn rect(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    #[test]
    fn approval_covers_the_target_or_its_surroundings() {
        let point = Some(CapturePoint::new(100, 50));
        let button = rect(90, 40, 130, 60);
        assert_eq!(target_area(&click(point, Some(button)), None), Some(button));
        let around = rect(76, 26, 124, 74);
        assert_eq!(target_area(&click(point, None), None), Some(around));
        // A click without a target goes to the pointer.
        assert_eq!(target_area(&click(None, None), Some(button)), Some(button));
        assert_eq!(target_area(&click(None, None), None), None);
    }
}
