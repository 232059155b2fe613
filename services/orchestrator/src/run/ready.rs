//! Everything that has to be so before an action is performed: its target is there, the rules allow it, hooks and people have
//! agreed, the pointer is on it, and the screen under it is still the one that all of them have judged.
//!
//! Whoever is asked takes time, a planner most of all. So the place is compared before the rules are asked and again after
//! everybody else was, and judged anew where it has changed. What is left is the moment between the last look and the
//! input. Nothing is performed here but the way of the pointer.

use motorium_proto::domain::effect::ChangeMap;
use motorium_proto::domain::frame::Frame;
use motorium_proto::domain::geometry::CaptureRect;
use tokio::time::Instant;

use super::act::{Attempt, Resolved, meets_the_screen};
use super::permission::{Intended, Permission, place, with_surroundings};
use super::{Flow, Runner, pointer};
use crate::effect::is_small;
use crate::hooks::Point;
use crate::task::event::Event;
use crate::task::{ActionRecord, machine};

/// What is no wider than this is a caret that blinks, in pixels.
const CARET: i32 = 4;

/// Whether an action can be performed now.
pub(super) enum Ready {
    Yes,
    /// It is not performed; what is written down says why, or what is waited for.
    No,
    /// While it was being judged, something has changed where it is to be done.
    Changed,
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
            && self.changes_where(found, with_surroundings).await?
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

    /// Everything that has to be so before an action is performed: the rules, the hooks, the pointer, and the screen.
    pub(super) async fn ready(
        &mut self,
        index: usize,
        attempt: &Attempt,
        resolved: &Resolved,
    ) -> Flow<Ready> {
        let intended = Intended {
            index,
            planned: &attempt.planned,
            resolved,
            is_repeated: attempt.is_repeated(),
        };
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
        let point = pointer::due(&attempt.planned, &resolved.action, resolved.target);
        if let Some(point) = point
            && !self
                .bring_pointer(&attempt.id, &attempt.planned, point, resolved.target)
                .await?
        {
            return Ok(Ready::No);
        }
        let took_time = point.is_some() || hooks_are_asked || self.judging_takes_time(index);
        if took_time
            && !attempt.is_repeated()
            && machine::has_effect(&resolved.action)
            && self.changes_where(resolved, |place| place).await?
        {
            return Ok(Ready::Changed);
        }
        Ok(Ready::Yes)
    }

    /// Looks what has changed by itself since the last look, and whether it has where an action is to be done, or around it.
    /// If so, the screen is to be parsed anew before it is judged.
    async fn changes_where(
        &mut self,
        resolved: &Resolved,
        around: impl Fn(CaptureRect) -> CaptureRect,
    ) -> Flow<bool> {
        let noise = self.stirring_places();
        let change = self.note_stirring().await?;
        let Some(view) = &mut self.view else {
            return Ok(false);
        };
        let place = place(resolved, self.task.pointed_at());
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

/// The window that keys and text go to.
fn in_front(frame: &Frame) -> Option<(&str, &str)> {
    let window = frame.active_window()?;
    Some((&window.id, &window.title))
}
