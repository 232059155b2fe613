//! Everything that has to be so before an action is performed: its target is there, the rules allow it, hooks and people have
//! agreed, the pointer is on it, and the screen under it is still the one that all of them have judged.
//!
//! Whoever is asked takes time, a planner most of all. So the place is compared before the rules are asked and again after
//! everybody else was, and judged anew where it has changed. A button that lights up because the pointer came is read once
//! more: if it says what it said, it is the same button. Applications take a few frames to answer a pointer, so a click that
//! much hangs on waits for that answer before the last look. What is left is the moment between that look and the input, and
//! what clicks of no weight meet. Nothing is performed here but the way of the pointer.

use std::ops::Range;
use std::time::Duration;

use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::service::{AwaitQuiet, CompareRequest};
use tokio::time::Instant;
use tonic::Code;

use super::act::{Attempt, Resolved, meets_the_screen};
use super::permission::{Intended, Permission, place, with_surroundings};
use super::{Flow, Runner, halt, pointer};
use crate::effect::is_small;
use crate::hooks::Point;
use crate::policy;
use crate::task::event::Event;
use crate::task::{ActionRecord, machine};

/// What is no wider than this is a caret that blinks, in pixels.
const CARET: i32 = 4;
/// So long is waited for what an application makes of the pointer: a browser that answers takes two to four frames, and
/// several times that where the machine has other things to do.
const ANSWER_TO_THE_POINTER: Duration = Duration::from_millis(250);
/// So long, altogether, until what it makes of the pointer has come to rest.
const AT_REST: Duration = Duration::from_secs(1);

/// Whether an action can be performed now.
pub(super) enum Ready {
    Yes,
    /// It is not performed; what is written down says why, or what is waited for.
    No,
    /// While it was being judged, something has changed where it is to be done.
    Changed,
}

/// How far from a place something counts.
#[derive(Debug, Clone, Copy)]
enum Reach {
    There,
    /// As far as the rules look, and a person is shown.
    Around,
}

impl Reach {
    fn of(self, place: CaptureRect, scale: f64) -> CaptureRect {
        match self {
            Reach::There => place,
            Reach::Around => policy::around(place, scale).union(&with_surroundings(place)),
        }
    }
}

impl Runner {
    /// Points for the targets of what is to be tried now, on the screen as it is now; `None` if it is not found, which is
    /// written down.
    pub(super) async fn resolved(&mut self, attempt: &Attempt) -> Flow<Option<Resolved>> {
        let began = Instant::now();
        let mut resolved = match &attempt.before {
            Some(record) if record.performed() => self.resolve_again(record).await?,
            _ => self.resolve(&attempt.planned).await?,
        };
        if !attempt.is_repeated()
            && let Ok(found) = &resolved
            && machine::has_effect(&found.action)
            && self.changes_where(found, Reach::Around).await?
        {
            // The planner has taken its time: what it saw there is not what the rules have to judge.
            resolved = self.resolve(&attempt.planned).await?;
        }
        self.timed("resolve", began);
        match resolved {
            Ok(resolved) => Ok(Some(resolved)),
            Err(message) => {
                self.record(vec![Event::TargetMissed { message }]).await?;
                Ok(None)
            }
        }
    }

    /// Whether the rules, and people, let an action be performed on the screen as it was seen last.
    pub(super) async fn is_permitted(
        &mut self,
        index: usize,
        attempt: &Attempt,
        resolved: &Resolved,
    ) -> Flow<bool> {
        let permission = self.permission(attempt.intended(index, resolved)).await?;
        Ok(matches!(permission, Permission::Given))
    }

    /// Everything that has to be so before an action is performed: the rules, the hooks, the pointer, and the screen.
    pub(super) async fn ready(
        &mut self,
        index: usize,
        attempt: &Attempt,
        resolved: &Resolved,
    ) -> Flow<Ready> {
        let intended = attempt.intended(index, resolved);
        if let Permission::Withheld = self.permission(intended).await? {
            return Ok(Ready::No);
        }
        let hooks_are_asked = self.wants(Point::BeforeAction);
        if let Permission::Withheld = self.before_action(&attempt.id, intended).await? {
            return Ok(Ready::No);
        }
        let baseline = self.view.as_ref().map(|view| view.latest.clone());
        let repeated = attempt.before.clone().filter(ActionRecord::performed);
        // Before the pointer moves: what it lights up by moving is no effect of what was done before.
        if let (Some(record), Some(baseline)) = (&repeated, &baseline)
            && let Some(effect) = self.late_effect(record, baseline).await?
        {
            let judged = Event::EffectJudged {
                action_id: record.action_id.clone(),
                effect: Box::new(effect),
            };
            self.record(vec![judged]).await?;
            return Ok(Ready::No);
        }
        let is_approved = self.is_approved(index);
        let point = pointer::due(
            &attempt.planned,
            &resolved.action,
            resolved.target,
            is_approved,
        );
        if let Some(point) = point
            && !self
                .bring_pointer(&attempt.id, &attempt.planned, point, resolved.target)
                .await?
        {
            return Ok(Ready::No);
        }
        if attempt.is_repeated() || !machine::has_effect(&resolved.action) {
            return Ok(Ready::Yes);
        }
        if let (Some(_), Some(before)) = (point, &baseline)
            && pointer::is_weighty(&attempt.planned, is_approved)
        {
            self.await_answer_to_the_pointer(before, resolved).await?;
            // What it has come to is what the place looks like now: no stirring of its own, and no effect of the click.
            self.look_again().await?;
        }
        let lights_up = match (point, baseline) {
            (Some(_), Some(before)) => self.differs_since(&before, resolved).await?,
            _ => false,
        };
        let took_time = point.is_some() || hooks_are_asked || self.judging_takes_time(index);
        let changed = took_time && self.changes_where(resolved, Reach::There).await?;
        if !changed && !lights_up {
            return Ok(Ready::Yes);
        }
        // To read takes long enough for the place to become another one meanwhile.
        let is_the_same = point.is_some()
            && self.reads_the_same(intended).await?
            && !self.changes_where(resolved, Reach::There).await?;
        Ok(if is_the_same {
            Ready::Yes
        } else {
            Ready::Changed
        })
    }

    /// Waits until what the application makes of the pointer, where an action is to be done, has come to rest, or until
    /// it is clear that it makes nothing of it. What it has come to is for those to judge that look next.
    async fn await_answer_to_the_pointer(&mut self, before: &Frame, resolved: &Resolved) -> Flow {
        let Some(place) = place(resolved, self.task.pointed_at()) else {
            return Ok(());
        };
        let began = Instant::now();
        let since_the_look_before = AwaitQuiet {
            display: self.display(),
            since_frame: Some(before.id.clone()),
            first_change_timeout: ANSWER_TO_THE_POINTER,
            // Something may have changed there already that is not the answer, or not all of it.
            quiet: ANSWER_TO_THE_POINTER,
            timeout: AT_REST,
            ignore: outside(place, before.bounds()),
            ..AwaitQuiet::default()
        };
        let from_now_on = AwaitQuiet {
            since_frame: None,
            ..since_the_look_before.clone()
        };
        for request in [since_the_look_before, from_now_on] {
            let answered = self
                .ask_for_answer("waiting for what becomes of a place", move |ports| {
                    let request = request.clone();
                    async move { ports.perception.await_quiet(request).await }
                })
                .await?;
            match answered {
                Ok(_) => break,
                // Perception does not know the look before any more.
                Err(report) if report.code == Code::NotFound => {}
                Err(report) => return Err(halt("waiting for what becomes of a place", report)),
            }
        }
        self.timed("pointer", began);
        Ok(())
    }

    /// The screen as it is now is what comes next is compared with.
    async fn look_again(&mut self) -> Flow {
        let hidden = self.task.secret_fields.boxes();
        let now = self.frame_of_now(&hidden).await?;
        if let Some(view) = &mut self.view {
            view.latest = now;
        }
        Ok(())
    }

    /// Whether the place of an action looks otherwise than before the pointer came.
    async fn differs_since(&mut self, before: &Frame, resolved: &Resolved) -> Flow<bool> {
        let (Some(view), Some(place)) = (&self.view, place(resolved, self.task.pointed_at()))
        else {
            return Ok(false);
        };
        let compare = CompareRequest {
            ignore: self.task.secret_fields.boxes(),
            ..CompareRequest::new(before.id.clone(), view.latest.id.clone())
        };
        let compared = self.compare(compare).await?;
        // Where Perception has forgotten the look before, nobody can say that it is the same.
        Ok(compared.map_or(true, |compared| {
            let mut regions = compared.change.regions.iter();
            regions.any(|region| place.intersects(&region.bounds))
        }))
    }

    /// Whether what the pointer has come to still says what was judged. What says nothing can only be known by its looks.
    async fn reads_the_same(&mut self, intended: Intended<'_>) -> Flow<bool> {
        let rules = self.conduct.rules.rules();
        let judged = self.situation_on(&rules, intended, None, false);
        if let Some(view) = &mut self.view {
            view.stale = true;
        }
        self.refresh_stale_view().await?;
        let now = self.situation_on(&rules, intended, None, false);
        Ok(judged.is_some_and(|judged| !judged.text.is_empty() && Some(judged) == now))
    }

    /// Looks what has changed by itself since the last look, and whether it has where an action is to be done, or around it.
    /// If so, the screen is to be parsed anew before it is judged.
    async fn changes_where(&mut self, resolved: &Resolved, reach: Reach) -> Flow<bool> {
        let noise = self.stirring_places();
        let change = self.note_stirring().await?;
        let Some(view) = &mut self.view else {
            return Ok(false);
        };
        let place = place(resolved, self.task.pointed_at());
        let scale = view.latest.scale;
        let around = |place| reach.of(place, scale);
        let changed = meets_the_screen(resolved.action.kind())
            && (change.is_none_or(|change| changes_at(&change, place, around, &noise))
                || in_front(&view.latest) != in_front(&view.observation.frame));
        view.stale |= changed;
        Ok(changed)
    }
}

/// Whether something has changed at a place or around it. What is known to move anyway counts only at the place itself;
/// without a place, what is small is no dialog.
fn changes_at(
    change: &ChangeMap,
    place: Option<CaptureRect>,
    around: impl Fn(CaptureRect) -> CaptureRect,
    noise: &[CaptureRect],
) -> bool {
    let is_noise = |bounds: &CaptureRect| noise.iter().any(|known| known.contains_box(bounds));
    let regions = change.regions.iter().map(|region| region.bounds);
    let mut regions = regions.filter(|bounds| bounds.width() > CARET);
    change.size_differs
        || regions.any(|bounds| match place {
            Some(place) => {
                place.intersects(&bounds)
                    || (around(place).intersects(&bounds) && !is_noise(&bounds))
            }
            None => !is_small(bounds) && !is_noise(&bounds),
        })
}

/// All of a screen but one place.
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

/// The window that keys and text go to.
fn in_front(frame: &Frame) -> Option<(&str, &str)> {
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
    fn outside_and_the_place_are_the_whole_screen_and_do_not_meet() {
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
