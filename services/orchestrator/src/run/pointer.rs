//! Bringing the pointer to its target before a click, and making sure that it is there.
//!
//! Move, read back, correct by the error, look again. The Executor moves and reads; once it says that the pointer has
//! arrived, a model is asked as well where the decision wants the pointer verified and a backend can. There is no click
//! unless the pointer is on its target: otherwise the user is asked.
//!
//! Moves are not journalled as actions: they do nothing that the click would not do as well, and a move that is sent
//! again ends where the first one did.

use motorium_proto::domain::action::{Action, Target};
use motorium_proto::domain::decision::{PlannedAction, Usage};
use motorium_proto::domain::effect::ActionResult;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::domain::id::ActionId;
use motorium_proto::service::{CaptureRequest, Captured, PointerCheck, PointerRequest};
use tokio::time::Instant;

use super::hooks::PictureCounts;
use super::observe::PICTURE;
use super::{Flow, Halt, Runner, halt};
use crate::hooks::happening::Purpose;
use crate::task::event::{Event, PointerChecked, UserRequest, UserRequestKind};
use crate::task::{limits, risk};

/// As near as this counts as on the target, in pixels.
const TOLERANCE: i32 = 14;
/// Corrections before it is given up.
const MAX_CORRECTIONS: u32 = 4;
/// Targets with a side below this are checked without being asked to, in pixels.
const SMALL: i32 = 16;
/// Side of the box that the Planner gives to a plain point with nothing there, in pixels: no target to miss.
const PLAIN_POINT: i32 = 6;

/// The point that the pointer has to be brought to before this action; `None` if nobody wants it checked. What a person has
/// agreed to (`is_approved`) always is: what they saw was seen without the pointer.
pub(super) fn due(
    planned: &PlannedAction,
    action: &Action<CapturePoint>,
    target: Option<CaptureRect>,
    is_approved: bool,
) -> Option<CapturePoint> {
    let Action::Click { at, .. } = action else {
        return None;
    };
    let least = match planned.action.targets().last() {
        Some(Target::Point(_)) => PLAIN_POINT,
        _ => 0,
    };
    let is_small = target.is_some_and(|target| {
        let side = target.width().min(target.height());
        side > least && side < SMALL
    });
    at.filter(|_| is_small || is_weighty(planned, is_approved))
}

/// Whether so much hangs on a click that it waits for what the screen makes of the pointer.
pub(super) fn is_weighty(planned: &PlannedAction, is_approved: bool) -> bool {
    is_approved || planned.verify_pointer || risk::assess(planned).is_some()
}

/// Whether the pointer is where a click would hit the target.
fn is_on_target(pointer: CapturePoint, point: CapturePoint, target: Option<CaptureRect>) -> bool {
    let distance = (pointer - point).to_i64().square_length();
    target.is_some_and(|target| target.contains(pointer))
        || distance <= i64::from(TOLERANCE * TOLERANCE)
}

impl Runner {
    /// Moves the pointer to a point and makes sure that it is there. `false`: it is not, and the user is asked.
    pub(super) async fn bring_pointer(
        &mut self,
        action_id: &ActionId,
        planned: &PlannedAction,
        point: CapturePoint,
        target: Option<CaptureRect>,
    ) -> Flow<bool> {
        let began = Instant::now();
        let mut corrections = 0;
        let mut usage = Usage::default();
        let mut aim = point;
        let mut pointer;
        let mut was_asked = false;
        let on_target = loop {
            pointer = match self.move_pointer(action_id, aim).await? {
                Ok(reached) => reached,
                // Nobody asked for a check, and the Executor does not move the pointer by itself: the click will.
                Err(_) if !planned.verify_pointer && corrections == 0 => return Ok(true),
                Err(why) => return self.ask_to_click(planned, &why, Vec::new()).await,
            };
            let mut error = point - pointer;
            let mut on_target = is_on_target(pointer, point, target);
            if on_target
                && planned.verify_pointer
                && let Some(seen) = self
                    .ask_for_pointer(planned, point, target, pointer)
                    .await?
            {
                let seen = match seen {
                    Ok(seen) => seen,
                    Err(message) => {
                        self.record(vec![Event::TargetMissed { message }]).await?;
                        return Ok(false);
                    }
                };
                was_asked = true;
                usage = usage.plus(seen.usage);
                on_target = seen.on_target;
                error = CapturePoint::new(seen.dx, seen.dy).to_vector();
            }
            if on_target || corrections == MAX_CORRECTIONS {
                break on_target;
            }
            corrections += 1;
            aim += error;
        };
        let marked = self.picture_with_pointer().await?;
        let image = self
            .keep(
                marked.image.as_ref(),
                &format!("pointer-{action_id}").replace('/', "-"),
            )
            .await?;
        if let Some(view) = &mut self.view
            && !was_asked
        {
            // What the pointer alone has changed (a highlight, a tip) is no effect of the click.
            view.latest = marked.frame;
        }
        let checked = Event::PointerChecked(Box::new(PointerChecked {
            action_id: action_id.clone(),
            target: point,
            pointer,
            on_target,
            corrections,
            image,
            usage,
        }));
        self.timed("pointer", began);
        if on_target {
            self.journal.defer(&mut self.task, checked);
            return Ok(true);
        }
        let why = format!(
            "it should be at ({}, {}) and is at ({}, {}) after {corrections} corrections",
            point.x, point.y, pointer.x, pointer.y
        );
        self.ask_to_click(planned, &why, vec![checked]).await
    }

    /// Nothing is clicked; the user is asked to.
    async fn ask_to_click(
        &mut self,
        planned: &PlannedAction,
        why: &str,
        checked: Vec<Event>,
    ) -> Flow<bool> {
        let message = format!(
            "I cannot bring the mouse pointer to its target ({}): {why}. Nothing was clicked. Please do it yourself, \
             or tell me another way.",
            planned.intent
        );
        let missed = Event::TargetMissed {
            message: format!(
                "{}: the pointer cannot be brought there: {why}",
                planned.intent
            ),
        };
        let request = UserRequest::new(UserRequestKind::Hands, message);
        let before = checked.into_iter().chain([missed]).collect();
        self.ask_user(before, request).await?;
        Ok(false)
    }

    /// Where the pointer is after it was moved, or why it was not. Each move has an id of its own, also when the same
    /// check is made anew: an id that the Executor knows would not move anything.
    async fn move_pointer(
        &mut self,
        action_id: &ActionId,
        to: CapturePoint,
    ) -> Flow<Result<CapturePoint, String>> {
        let epoch = self.task.desktop.as_ref().map_or(0, |(_, epoch)| epoch.0);
        self.pointer_moves += 1;
        let id = ActionId::new(format!(
            "{action_id}/pointer/{epoch}/{}",
            self.pointer_moves
        ));
        let request = self.perform_request(id, None, Action::Move { to })?;
        let executor = self.ports.executor.clone();
        let moved = tokio::select! {
            biased;
            _ = self.stop.paused() => {
                self.tape.stopped();
                return Err(Halt::LookAgain);
            }
            moved = self.guard(executor.perform(request)) => moved?,
        };
        let outcome = match moved {
            Ok(outcome) if outcome.result == ActionResult::Performed => outcome,
            Ok(outcome) => return Ok(Err(outcome.detail)),
            Err(report) => match halt("moving the pointer", report.clone()) {
                lost @ Halt::Lost(_) => return Err(lost),
                _ => return Ok(Err(report.message)),
            },
        };
        let display = self.display();
        let read = self
            .ask_for_answer("reading the pointer", move |ports| {
                let display = display.clone();
                async move { ports.executor.get_pointer(display).await }
            })
            .await?;
        let unread = || "the pointer cannot be read back".to_owned();
        Ok(read.ok().or(outcome.pointer).ok_or_else(unread))
    }

    /// What a model says of the pointer, or why that may not be used; `None` where none can be asked.
    async fn ask_for_pointer(
        &mut self,
        planned: &PlannedAction,
        target: CapturePoint,
        target_bounds: Option<CaptureRect>,
        pointer: CapturePoint,
    ) -> Flow<Option<Result<PointerCheck, String>>> {
        if let Some(failure) = limits::model_calls_used_up(&self.task) {
            return Err(Halt::Fail(failure));
        }
        let began = Instant::now();
        let pictures = PictureCounts {
            present: 1,
            ..PictureCounts::default()
        };
        let call = self
            .before_model_call(Purpose::LocatePointer, pictures)
            .await?;
        let shown = self.picture_with_pointer().await?;
        if let Some(view) = &mut self.view {
            // What changes from here on, while the model looks, the pointer has not changed.
            view.latest = shown.frame;
        }
        let marked_image = shown.image;
        let request = PointerRequest {
            intent: planned.intent.clone(),
            target,
            target_bounds,
            pointer,
            marked_image,
            backends: self.task.spec.backends.clone(),
            remaining: limits::remaining(&self.task, self.now()),
        };
        let answer = self
            .ask_for_answer("asking where the pointer is", move |ports| {
                let request = request.clone();
                async move { ports.planner.locate_pointer(request).await }
            })
            .await?;
        let Ok(answer) = answer else {
            return Ok(None);
        };
        let denied = self.after_model_call(&call, None, began).await?;
        if let Some(message) = &denied {
            self.count_in_vain("locate_pointer", message, answer.usage);
        }
        self.after_usage(answer.usage).await;
        Ok(Some(denied.map_or(Ok(answer), Err)))
    }

    async fn picture_with_pointer(&mut self) -> Flow<Captured> {
        let capture = CaptureRequest {
            display: self.display(),
            // The stored frame is compared with one after the click.
            omit_cursor: true,
            image: Some(PICTURE),
            redactions: self.painted_over(&self.task.secret_fields.boxes()),
            mark_pointer: true,
            ..CaptureRequest::default()
        };
        self.ask("looking at the pointer", move |ports| {
            let request = capture.clone();
            async move { ports.perception.capture(request).await }
        })
        .await
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
        let due = due(&planned, &click(target.center()), Some(target), is_approved);
        assert_eq!(
            due.is_some(),
            expected,
            "{intent} {verify_pointer} {is_approved} {target:?}"
        );
    }

    #[test]
    fn small_targets_and_risky_clicks_are_checked_and_whatever_asks_for_it() {
        let (wide, small) = (rect(100, 100, 40, 20), rect(100, 100, 40, 15));
        check_due("open", false, wide, false);
        check_due("open", true, wide, true);
        check_due("open", false, small, true);
        check_due("click \"Delete\"", false, wide, true);
        check_due_when(true, "open", false, wide, true);
    }

    #[test]
    fn near_enough_is_in_the_box_or_within_the_tolerance() {
        let point = CapturePoint::new(120, 110);
        let target = Some(rect(100, 100, 40, 20));
        let is_on = |x, y, target| is_on_target(CapturePoint::new(x, y), point, target);
        assert!(is_on(101, 119, target), "in the box");
        assert!(is_on(134, 110, None), "14 px off");
        assert!(!is_on(135, 110, None));
        assert!(!is_on(130, 120, None), "14.1 px off, by the diagonal");
    }
}
