//! Distinguishes the effect of a click from changes that the pointer alone causes on its target, such as a highlight.
//!
//! A button without a function is highlighted, drawn pressed and given a focus ring like any other. All of that lies
//! within its own box, and so does the effect of a toggle. The pointer is therefore moved to a free spot beside the
//! target. A change that disappears with it was only the look of the target under the pointer. The pointer is moved
//! back afterwards, because the next action may refer to its position.
//!
//! A text field that was clicked to focus it shows a caret. A supposed field without a caret is a control without a
//! function. Actions other than clicks are not examined.

use std::time::Duration;

use motorium_messages::Message;
use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::Effect;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::{CompareRequest, WaitForIdleRequest};
use motorium_task::ActionRecord;
use motorium_task::effect::{self, look};

use super::actuator::Actuator;
use super::attempt::{ActionAttempt, ResolvedAction};
use super::context::RunContext;
use super::screen::{Screen, ScreenView};
use super::{RunResult, capture};

/// Time within which a control begins to change its look when the pointer comes or goes.
// Pages draw highlights within two frames; a busy machine takes longer. Only a control without any highlight is waited for so
// long.
const LOOK_TIMEOUT: Duration = Duration::from_millis(300);
/// Maximum time for the look to settle.
// Most transitions of highlights take 150 to 300 ms.
const LOOK_SETTLE_TIMEOUT: Duration = Duration::from_millis(600);

/// Maximum number of frames in which a change has to differ again to be motion.
// A part of a spinner looks the same again after a turn; the waits between the frames are no multiple of one.
const MAX_MOTION_SAMPLES: usize = 4;

/// Maximum number of looks for a caret in a field.
// A caret is hidden for half a second at a time, and each look waits for `LOOK_TIMEOUT`.
const MAX_CARET_LOOKS: usize = 4;

/// A click whose only visible change may be the look of its target, and motion that was not yet known.
#[derive(Debug)]
pub(super) struct LookCheck {
    /// Point of the click.
    point: CapturePoint,
    target: CaptureRect,
    /// Part of the target that is compared.
    part: CaptureRect,
    /// The pointer was on the target before the click: its highlight may be part of both frames.
    was_there: bool,
    /// Point beside the target where the pointer touches nothing, or `None` if it need not, or cannot, be moved.
    spot: Option<CapturePoint>,
    /// Changes elsewhere that may be motion.
    motions: Vec<CaptureRect>,
    /// Frame after the click, with the pointer on the target.
    lit: Frame,
    /// The target is taken for a text field, whose caret is the effect of a click.
    may_have_caret: bool,
}

impl LookCheck {
    /// Returns the check that a judged click needs, or `None` if its effect is certain or cannot be examined.
    pub(super) fn of(
        screen: &Screen,
        attempt: &ActionAttempt,
        resolved: &ResolvedAction,
        before: &Frame,
        judged: &Effect,
        more_looks: bool,
    ) -> Option<Self> {
        let Action::Click {
            at: Some(point), ..
        } = resolved.action
        else {
            return None;
        };
        let target = resolved.target?;
        let left = before.cursor?.position;
        let view = screen.view()?;
        let (scene, frame) = view.scene();
        let was_on = look::element_at(scene, frame, left).map(|(_, bounds)| bounds);
        let controls: Vec<CaptureRect> = [target].into_iter().chain(was_on).collect();
        let (element, _) = look::element_at(scene, frame, point)?;
        let change = look::doubtful_change(
            judged,
            &controls,
            scene,
            frame,
            &screen.background_motion_areas(),
        )?;
        let has_look = !change.looks.is_empty();
        // A field in which something is entered next shows by that whether it took the focus.
        let may_have_caret = element.kind == ElementKind::TextField && attempt.is_last;
        let may_be_look = more_looks && look::opens_something(element.kind);
        let shows_state = look::shows_state_in_itself(element.kind) && !may_be_look;
        if has_look && shows_state && !may_have_caret {
            return None;
        }
        // With the pointer on the target already, earlier versions did not move it.
        let is_moved = has_look && (more_looks || !target.contains(left));
        Some(Self {
            motions: change.motions,
            may_have_caret,
            // Earlier versions compared a tab as any other control.
            part: look::compared_part(
                target,
                if more_looks {
                    element.kind
                } else {
                    ElementKind::Button
                },
            )?,
            ..Self::at(view, point, target, left, is_moved)?
        })
    }

    /// Returns the check of a click that was judged before, with the pointer still on its target, or `None` if it cannot be examined.
    /// `before` is the frame that the click met. Changes elsewhere do not count.
    pub(super) fn of_last_click(
        screen: &Screen,
        record: &ActionRecord,
        before: &Frame,
    ) -> Option<Self> {
        let left = before.cursor?.position;
        Self::at(screen.view()?, record.point()?, record.target?, left, true)
    }

    /// Returns the check of the target itself. `left` is where the pointer was before the click.
    fn at(
        view: &ScreenView,
        point: CapturePoint,
        target: CaptureRect,
        left: CapturePoint,
        is_moved: bool,
    ) -> Option<Self> {
        let (scene, frame) = view.scene();
        let (element, _) = look::element_at(scene, frame, point)?;
        let was_there = target.contains(left);
        let spot = look::free_spot(scene, frame, target).filter(|_| is_moved);
        if is_moved && spot.is_none() && !was_there {
            return None;
        }
        Some(Self {
            point,
            target,
            part: look::compared_part(target, element.kind)?,
            was_there,
            spot,
            motions: Vec::new(),
            lit: view.latest_frame.clone(),
            may_have_caret: false,
        })
    }

    /// Returns the frame after the click, with the pointer on the target.
    pub(super) fn lit_frame(&self) -> &Frame {
        &self.lit
    }

    /// Returns whether the change goes when the pointer does. The pointer is back on the target afterwards. Returns `false` if that
    /// cannot be told.
    pub(super) async fn is_only_look(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        actuator: &mut Actuator,
        action_id: &ActionId,
        before: &Frame,
        ignore: &[CaptureRect],
    ) -> RunResult<bool> {
        if self.spot.is_none() || self.was_there {
            let is_as_before = self
                .is_part_unchanged(run, before, &self.lit, ignore)
                .await?;
            let is_only_look = is_as_before
                && self.only_moves(run, screen, None, ignore).await?
                && !self.has_caret(run, before, ignore).await?;
            if is_only_look {
                return Ok(true);
            }
        }
        // A page that has just come draws no highlight under a pointer that rests, until it is clicked.
        let Some(spot) = self.spot else {
            return Ok(false);
        };
        // It would show the pointer elsewhere.
        screen.cancel_next_observation();
        if actuator.move_pointer(run, action_id, spot).await?.is_err() {
            return Ok(false);
        }
        settle_look(run, &self.lit, ignore).await?;
        let hidden = run.task().secret_fields.boxes();
        let away = capture::capture_frame(run, &hidden).await?;
        let is_as_before = self.is_part_unchanged(run, before, &away, ignore).await?
            && self.only_moves(run, screen, Some(&away), ignore).await?
            && !self.has_caret(run, before, ignore).await?;
        if actuator
            .move_pointer(run, action_id, self.point)
            .await?
            .is_ok()
        {
            settle_look(run, &away, ignore).await?;
        }
        screen.refresh_baseline(run).await?;
        Ok(is_as_before)
    }

    /// Returns whether the changes elsewhere go on by themselves, compared with a later frame, and remembers them as background
    /// motion if they do.
    async fn only_moves(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        later: Option<&Frame>,
        ignore: &[CaptureRect],
    ) -> RunResult<bool> {
        let mut left = self.motions.clone();
        let mut sample = later.cloned();
        for _ in 0..MAX_MOTION_SAMPLES {
            if left.is_empty() {
                break;
            }
            let frame = match sample.take() {
                Some(frame) => frame,
                None if !settle_look(run, &self.lit, ignore).await? => return Ok(false),
                None => {
                    let hidden = run.task().secret_fields.boxes();
                    capture::capture_frame(run, &hidden).await?
                }
            };
            let compare = CompareRequest {
                measured_regions: left.clone(),
                ..CompareRequest::new(self.lit.id.clone(), frame.id)
            };
            let Ok(compared) = capture::compare(run, compare).await? else {
                return Ok(false);
            };
            let mut shares = compared.measured_shares.into_iter();
            left.retain(|_| shares.next().is_none_or(|share| share == 0.0));
        }
        if left.is_empty() {
            screen.add_background_motion(&self.motions);
        }
        Ok(left.is_empty())
    }

    /// Returns whether a caret comes up in a target that is taken for a text field.
    async fn has_caret(
        &self,
        run: &mut RunContext,
        before: &Frame,
        ignore: &[CaptureRect],
    ) -> RunResult<bool> {
        let looks = if self.may_have_caret {
            MAX_CARET_LOOKS
        } else {
            0
        };
        let mut last: Option<Frame> = None;
        for _ in 0..looks {
            let since = last.as_ref().unwrap_or(&self.lit);
            settle_look(run, since, ignore).await?;
            let hidden = run.task().secret_fields.boxes();
            let frame = capture::capture_frame(run, &hidden).await?;
            if !self.is_part_unchanged(run, before, &frame, ignore).await? {
                return Ok(true);
            }
            // Near the edge, a caret is told from a ring by its blinking.
            if let Some(last) = last
                && !self
                    .is_unchanged(run, self.target, &last, &frame, &[])
                    .await?
            {
                return Ok(true);
            }
            last = Some(frame);
        }
        Ok(false)
    }

    /// Returns whether the target looks as before in the part that a focus ring, which stays when the pointer goes, does not touch.
    async fn is_part_unchanged(
        &self,
        run: &mut RunContext,
        before: &Frame,
        after: &Frame,
        ignore: &[CaptureRect],
    ) -> RunResult<bool> {
        self.is_unchanged(run, self.part, before, after, ignore)
            .await
    }

    /// Returns whether a part of the screen is the same in two frames. Returns `false` if that cannot be told.
    async fn is_unchanged(
        &self,
        run: &mut RunContext,
        part: CaptureRect,
        before: &Frame,
        after: &Frame,
        ignore: &[CaptureRect],
    ) -> RunResult<bool> {
        let compare = CompareRequest {
            ignore: ignore.to_vec(),
            measured_regions: vec![part],
            ..CompareRequest::new(before.id.clone(), after.id.clone())
        };
        let compared = capture::compare(run, compare).await?;
        Ok(compared.is_ok_and(|compared| compared.measured_shares.first() == Some(&0.0)))
    }
}

/// Returns the effect of a click that changed nothing but the look of its target.
pub(super) fn without_effect(run: &RunContext, judged: Effect) -> Effect {
    effect::only_own_look(judged, run.task().spec.message_language())
}

/// Waits until the reaction to the pointer is over. Returns whether anything changed.
async fn settle_look(
    run: &mut RunContext,
    since: &Frame,
    ignore: &[CaptureRect],
) -> RunResult<bool> {
    let request = WaitForIdleRequest {
        display: run.display(),
        since_frame: Some(since.id.clone()),
        first_change_timeout: LOOK_TIMEOUT,
        timeout: LOOK_SETTLE_TIMEOUT,
        ignore: ignore.to_vec(),
        ..WaitForIdleRequest::default()
    };
    // A screen that cannot be waited for cannot be compared either, which the comparison reports.
    let idle = capture::wait_for_idle(run, Message::OperationAwaitLook, request).await?;
    Ok(idle.is_ok_and(|idle| idle.changed))
}
