//! Moves the pointer to its target before a click and verifies its position.
//!
//! The pointer is moved, read back and corrected by the error. Once the Executor reports that it has arrived, a model
//! verifies it as well if the decision asks for that and a backend supports it; its correction becomes the new target. The
//! click is sent to where the pointer was moved last. Without the pointer on its target there is no click: the user is
//! asked to act instead.
//!
//! Moves are not journalled as actions: they do nothing that the click would not do as well, and repeating a move ends
//! at the same point.

use motorium_messages::Message;
use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::{PlannedAction, Usage};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::{PointerCheck, PointerRequest};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::actuator::{Actuator, perform_request};
use super::attempt::{ActionAttempt, ResolvedAction};
use super::context::RunContext;
use super::hooks::{self, ImageCounts};
use super::recorder::{ExchangeTexts, PendingArtifact};
use super::screen::Screen;

use super::{Halt, RunResult, capture, halt};
use crate::hooks::event::ModelCallPurpose;
use motorium_task::event::{Event, PointerChecked, StoredExchange, UserRequest, UserRequestKind};
use motorium_task::{limits, risk};

/// Targets with a side below this are verified without being asked to, in pixels.
// Smaller than the usual 16 px icon, so that a small offset already misses.
const SMALL_TARGET_PX: i32 = 16;
/// Side of the box that the Planner returns for a point without an element, in pixels. It is not a small target.
const POINT_BOX_SIDE_PX: i32 = 6;

/// Verification of the pointer before clicks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointerChecks {
    /// Verify every click as if the planner had asked for it.
    pub all_clicks: bool,
    /// Distance within which the pointer counts as on the target, in pixels.
    pub tolerance_px: u32,
    /// Maximum number of corrections before the user is asked to click.
    pub max_corrections: u32,
}

impl Default for PointerChecks {
    fn default() -> Self {
        Self {
            all_clicks: false,
            // Smaller than half the side of a usual button (32 px).
            tolerance_px: 14,
            // One correction is enough for a constant offset; a pointer that still misses after four is being moved by
            // something else.
            max_corrections: 4,
        }
    }
}

/// A pointer on its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PositionedPointer {
    /// Point to which the click is sent, in capture pixels.
    pub(super) click_at: CapturePoint,
    /// Point that the click is meant to hit. Differs from the planned one after a model's correction.
    pub(super) target: CapturePoint,
}

impl PositionedPointer {
    /// Returns the action with its click where the pointer is.
    pub(super) fn aim(self, resolved: ResolvedAction) -> ResolvedAction {
        let ResolvedAction {
            mut action, target, ..
        } = resolved;
        if let Action::Click { at, .. } = &mut action {
            *at = Some(self.click_at);
        }
        let is_elsewhere = target.is_some_and(|target| !target.contains(self.target));
        let target = if is_elsewhere {
            Some(point_box(self.target))
        } else {
            target
        };
        ResolvedAction {
            action,
            target,
            ..resolved
        }
    }
}

/// Returns the box of a target of which only a point is known.
fn point_box(point: CapturePoint) -> CaptureRect {
    let half = POINT_BOX_SIDE_PX / 2;
    CaptureRect::new(point, point).inflate(half, half)
}

/// Reasons to check the pointer before a click, besides the planned click itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct PointerRequirement {
    /// True if a person approved the click. Such clicks are always checked, because the approver saw the screen without the
    /// pointer.
    pub(super) is_approved: bool,
    /// True if the policy, the task or the configuration demands a verification.
    pub(super) is_demanded: bool,
    /// True if the click may do what cannot be undone, by its target on the screen.
    pub(super) is_risky: bool,
}

/// Returns the point to move the pointer to before an action, or `None` if no check is needed.
pub(super) fn check_point(
    planned: &PlannedAction,
    action: &Action<CapturePoint>,
    target: Option<CaptureRect>,
    requirement: PointerRequirement,
    pointed_at: Option<CapturePoint>,
) -> Option<CapturePoint> {
    let Action::Click { at, .. } = action else {
        return None;
    };
    // A click without a place goes to where the pointer is.
    let at = at.or_else(|| pointed_at.filter(|_| requirement.is_demanded));
    let min_side = match planned.action.targets().last() {
        Some(Target::Point(_)) => POINT_BOX_SIDE_PX,
        _ => 0,
    };
    let is_small = target.is_some_and(|target| {
        let side = target.width().min(target.height());
        side > min_side && side < SMALL_TARGET_PX
    });
    at.filter(|_| is_small || requirement.is_demanded || is_critical(planned, requirement))
}

/// Returns whether the configuration or the task asks for a check of every click.
pub(super) fn is_asked_for(run: &RunContext) -> bool {
    run.config.pointer_checks.all_clicks || run.task().spec.verify_clicks
}

/// Returns whether a click is critical enough to wait for the application's reaction to the pointer.
pub(super) fn is_critical(planned: &PlannedAction, requirement: PointerRequirement) -> bool {
    requirement.is_approved
        || requirement.is_risky
        || planned.verify_pointer
        || risk::assess(planned).is_some()
}

/// Returns whether a click at the pointer would hit the target.
fn is_on_target(
    pointer: CapturePoint,
    point: CapturePoint,
    target: Option<CaptureRect>,
    tolerance_px: u32,
) -> bool {
    let distance = (pointer - point).to_i64().square_length();
    let tolerance = i64::from(tolerance_px);
    target.is_some_and(|target| target.contains(pointer)) || distance <= tolerance * tolerance
}

/// Result of aiming at a target.
enum Aiming {
    /// The pointer was moved, and compared with its target.
    Checked(Aim),
    /// The click itself moves the pointer, and no check was demanded.
    WithClick,
    /// The click is not made: the user was asked, or a recorded event tells why.
    GivenUp,
}

/// A pointer that is moved to its target.
struct Aim {
    /// Point that the click is meant to hit.
    point: CapturePoint,
    /// Point that the pointer was sent to last.
    moved_to: CapturePoint,
    /// Point at which it was.
    pointer: CapturePoint,
    on_target: bool,
    corrections: u32,
    /// Usage of the model that looked at it, and its exchange.
    usage: Usage,
    exchange: ExchangeTexts,
    was_asked: bool,
}

impl Aim {
    fn at(point: CapturePoint) -> Self {
        Self {
            point,
            moved_to: point,
            pointer: point,
            on_target: false,
            corrections: 0,
            usage: Usage::default(),
            exchange: ExchangeTexts::default(),
            was_asked: false,
        }
    }

    /// Adds what a model saw.
    fn add(&mut self, seen: PointerCheck) {
        self.was_asked = true;
        self.usage = std::mem::take(&mut self.usage).plus(seen.usage);
        self.exchange.requests.extend(seen.requests);
        self.exchange.responses.extend(seen.responses);
        self.on_target = seen.on_target;
    }
}

/// Captures the pointer and returns the event of the check, with its stored files.
async fn store_check(
    run: &mut RunContext,
    screen: &mut Screen,
    action_id: &ActionId,
    aim: &Aim,
) -> RunResult<Event> {
    let marked = capture::capture_with_pointer(run).await?;
    let name = format!("pointer-{action_id}").replace('/', "-");
    let [requests, responses] =
        PendingArtifact::exchange(&aim.exchange, &run.exchange_name("pointer"));
    let image = PendingArtifact::image(marked.image.as_ref(), &name);
    let [image, requests, responses] = run.store([image, requests, responses]).await?;
    if !aim.was_asked {
        // Hover effects of the pointer, such as a highlight or a tooltip, are no effect of the click.
        screen.set_latest_frame(marked.frame);
    }
    Ok(Event::PointerChecked(Box::new(PointerChecked {
        action_id: action_id.clone(),
        target: aim.point,
        pointer: aim.pointer,
        on_target: aim.on_target,
        corrections: aim.corrections,
        image,
        usage: aim.usage,
        exchange: StoredExchange {
            requests,
            responses,
        },
    })))
}

impl Actuator {
    /// Moves the pointer to a point and verifies it. Returns `None` if it missed and the user was asked.
    ///
    /// A model may correct the target of an approved click within the target's box only, because the approver was shown that
    /// box.
    pub(super) async fn position_pointer(
        &mut self,
        run: &mut RunContext,
        screen: &mut Screen,
        attempt: &ActionAttempt,
        point: CapturePoint,
        target: Option<CaptureRect>,
        requirement: PointerRequirement,
    ) -> RunResult<Option<PositionedPointer>> {
        let began = Instant::now();
        let aiming = self.aim_at(run, screen, attempt, point, target, requirement);
        let aim = match aiming.await? {
            Aiming::Checked(aim) => aim,
            Aiming::WithClick => {
                return Ok(Some(PositionedPointer {
                    click_at: point,
                    target: point,
                }));
            }
            Aiming::GivenUp => return Ok(None),
        };
        let checked = store_check(run, screen, &attempt.id, &aim).await?;
        run.record_timing("pointer", began);
        if aim.on_target {
            run.defer(checked);
            return Ok(Some(PositionedPointer {
                click_at: aim.moved_to,
                target: aim.point,
            }));
        }
        let why = run.task().text(Message::PointerOffTarget {
            x: aim.point.x,
            y: aim.point.y,
            actual_x: aim.pointer.x,
            actual_y: aim.pointer.y,
            corrections: aim.corrections,
        });
        self.ask_to_click(run, &attempt.planned, &why, vec![checked])
            .await?;
        Ok(None)
    }

    /// Moves the pointer until it is on its target, or the corrections are used up.
    async fn aim_at(
        &mut self,
        run: &mut RunContext,
        screen: &mut Screen,
        attempt: &ActionAttempt,
        point: CapturePoint,
        target: Option<CaptureRect>,
        requirement: PointerRequirement,
    ) -> RunResult<Aiming> {
        let planned = &attempt.planned;
        let checks = run.config.pointer_checks;
        let is_verified = planned.verify_pointer || requirement.is_demanded;
        let mut target = target;
        let mut aim = Aim::at(point);
        loop {
            aim.pointer = match self.move_pointer(run, &attempt.id, aim.moved_to).await? {
                Ok(reached) => reached,
                // The check was not requested, and this Executor cannot move the pointer separately: the click itself
                // will.
                Err(_) if !is_verified && aim.corrections == 0 => return Ok(Aiming::WithClick),
                Err(why) => {
                    self.ask_to_click(run, planned, &why, Vec::new()).await?;
                    return Ok(Aiming::GivenUp);
                }
            };
            let mut error = aim.point - aim.pointer;
            aim.on_target = is_on_target(aim.pointer, aim.point, target, checks.tolerance_px);
            if aim.on_target
                && is_verified
                && let Some(seen) = self
                    .locate_pointer(run, screen, planned, aim.point, target, aim.pointer)
                    .await?
            {
                let seen = match seen {
                    Ok(seen) => seen,
                    Err(message) => {
                        run.refuse(message).await?;
                        return Ok(Aiming::GivenUp);
                    }
                };
                error = CapturePoint::new(seen.dx, seen.dy).to_vector();
                aim.add(seen);
                let corrected = aim.pointer + error;
                let is_within = target.is_some_and(|target| target.contains(corrected));
                if !aim.on_target && requirement.is_approved && !is_within {
                    return Ok(Aiming::Checked(aim));
                }
                if !aim.on_target {
                    // The model sees the target where it is, so the planned point no longer counts.
                    aim.point = corrected;
                    target = target.filter(|_| is_within);
                }
            }
            if aim.on_target || aim.corrections == checks.max_corrections {
                return Ok(Aiming::Checked(aim));
            }
            aim.corrections += 1;
            aim.moved_to += error;
        }
    }

    /// Asks the user to click instead.
    async fn ask_to_click(
        &self,
        run: &mut RunContext,
        planned: &PlannedAction,
        why: &str,
        checked: Vec<Event>,
    ) -> RunResult {
        let message = run.task().text(Message::PointerQuestion {
            intent: &planned.intent,
            problem: why,
        });
        let missed = Event::TargetNotResolved {
            message: run.task().text(Message::PointerNotMoved {
                intent: &planned.intent,
                problem: why,
            }),
        };
        let request = UserRequest::new(UserRequestKind::ManualAction, message);
        let before = checked.into_iter().chain([missed]).collect();
        hooks::ask_user(run, before, request).await
    }

    /// Moves the pointer and returns its position, or why it was not moved. Each move has an id of its own, also when a
    /// check is repeated: the Executor ignores known ids.
    pub(super) async fn move_pointer(
        &mut self,
        run: &mut RunContext,
        action_id: &ActionId,
        to: CapturePoint,
    ) -> RunResult<Result<CapturePoint, String>> {
        let epoch = run.task().desktop.as_ref().map_or(0, |(_, epoch)| epoch.0);
        self.pointer_moves += 1;
        let id = ActionId::new(format!(
            "{action_id}/pointer/{epoch}/{}",
            self.pointer_moves
        ));
        let request = perform_request(run, id, None, Action::Move { to })?;
        let executor = run.ports.executor.clone();
        let moved = run.guard_unless_paused(executor.perform(request)).await?;
        let outcome = match moved {
            Ok(outcome) if outcome.result == ActionResult::Performed => outcome,
            Ok(outcome) => return Ok(Err(outcome.detail)),
            Err(report) => match halt(run.task(), Message::OperationMovePointer, report.clone()) {
                lost @ Halt::OwnershipLost(_) => return Err(lost),
                _ => return Ok(Err(report.message)),
            },
        };
        let display = run.display();
        let read = run
            .try_call(Message::OperationReadPointer, move |ports| {
                let display = display.clone();
                async move { ports.executor.get_pointer(display).await }
            })
            .await?;
        let unread = || run.task().text(Message::PointerNotReadable);
        Ok(read.ok().or(outcome.pointer).ok_or_else(unread))
    }

    /// Asks a model whether the pointer is on the target. Returns `None` if no backend can answer, and an error if a
    /// hook rejected the answer.
    async fn locate_pointer(
        &self,
        run: &mut RunContext,
        screen: &mut Screen,
        planned: &PlannedAction,
        target: CapturePoint,
        target_bounds: Option<CaptureRect>,
        pointer: CapturePoint,
    ) -> RunResult<Option<Result<PointerCheck, String>>> {
        if let Some(failure) = limits::model_budget_exceeded(run.task()) {
            return Err(Halt::Fail(failure));
        }
        let began = Instant::now();
        let image_counts = ImageCounts {
            current: 1,
            ..ImageCounts::default()
        };
        let call =
            hooks::before_model_call(run, ModelCallPurpose::LocatePointer, image_counts).await?;
        let shown = capture::capture_with_pointer(run).await?;
        // Changes from here on, while the model looks, are not caused by the pointer.
        screen.set_latest_frame(shown.frame);
        let request = PointerRequest {
            intent: planned.intent.clone(),
            target,
            target_bounds,
            pointer,
            annotated_image: shown.image,
            backends: run.task().spec.backends.clone(),
            remaining: limits::remaining(run.task(), run.now()),
            tolerance_px: Some(run.config.pointer_checks.tolerance_px),
        };
        let answer = run
            .try_call(Message::OperationLocatePointer, move |ports| {
                let request = request.clone();
                async move { ports.planner.locate_pointer(request).await }
            })
            .await?;
        let Ok(answer) = answer else {
            return Ok(None);
        };
        let denied = hooks::after_model_call(run, &call, None, began).await?;
        if let Some(message) = &denied {
            // The call has cost something also if its exchange cannot be stored.
            let exchange = ExchangeTexts {
                requests: answer.requests.clone(),
                responses: answer.responses.clone(),
            };
            let stored = run.store_exchange(&exchange, "pointer").await;
            let exchange = stored.as_ref().ok().cloned().unwrap_or_default();
            hooks::count_rejected(run, "locate_pointer", message, answer.usage, exchange);
            hooks::after_usage(run, answer.usage).await;
            stored?;
        } else {
            hooks::after_usage(run, answer.usage).await;
        }
        Ok(Some(denied.map_or(Ok(answer), Err)))
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::Button;
    use motorium_proto::domain::id::ElementId;

    use super::*;

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    fn click<T>(at: T) -> Action<T> {
        Action::Click {
            at: Some(at),
            button: Button::Left,
            count: 1,
            modifiers: vec![],
        }
    }

    fn check_due(intent: &str, verify_pointer: bool, target: CaptureRect, expected: bool) {
        check_due_when(false, intent, verify_pointer, target, expected);
    }

    fn check_due_when(
        is_approved: bool,
        intent: &str,
        verify_pointer: bool,
        target: CaptureRect,
        expected: bool,
    ) {
        let planned = PlannedAction {
            action: click(Target::Element(ElementId(1))),
            intent: intent.to_owned(),
            verify_pointer,
            repeatable: true,
        };
        let click = click(target.center());
        let requirement = PointerRequirement {
            is_approved,
            is_demanded: false,
            is_risky: false,
        };
        let due = check_point(&planned, &click, Some(target), requirement, None);
        assert_eq!(
            due.is_some(),
            expected,
            "{intent} {verify_pointer} {is_approved} {target:?}"
        );
    }

    #[test]
    fn pointer_check_covers_small_risky_and_requested_clicks() {
        let (wide, small) = (rect(100, 100, 40, 20), rect(100, 100, 40, 15));
        check_due("open", false, wide, false);
        check_due("open", true, wide, true);
        check_due("open", false, small, true);
        check_due("click \"Delete\"", false, wide, true);
        check_due_when(true, "open", false, wide, true);
    }

    #[test]
    fn a_click_without_a_place_is_checked_where_the_pointer_is() {
        let here = Action::<CapturePoint>::Click {
            at: None,
            button: Button::Left,
            count: 1,
            modifiers: Vec::new(),
        };
        let planned = PlannedAction {
            action: click(Target::Element(ElementId(1))),
            intent: "open".to_owned(),
            verify_pointer: false,
            repeatable: true,
        };
        let pointer = Some(CapturePoint::new(120, 110));
        for (is_demanded, expected) in [(true, pointer), (false, None)] {
            let requirement = PointerRequirement {
                is_approved: false,
                is_demanded,
                is_risky: false,
            };
            let due = check_point(&planned, &here, None, requirement, pointer);
            assert_eq!(due, expected);
        }
    }

    #[test]
    fn pointer_is_on_target_inside_the_box_or_tolerance() {
        let point = CapturePoint::new(120, 110);
        let target = Some(rect(100, 100, 40, 20));
        let is_on = |x, y, target| is_on_target(CapturePoint::new(x, y), point, target, 14);
        assert!(is_on(101, 119, target), "in the box");
        assert!(is_on(134, 110, None), "14 px off");
        assert!(!is_on(135, 110, None));
        assert!(!is_on(130, 120, None), "14.1 px off, by the diagonal");
    }
}
