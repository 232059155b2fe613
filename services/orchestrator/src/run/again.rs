//! What an action is when it is tried again, by the rung of the ladder that is due.

use motorium_proto::domain::element::Element;
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::domain::id::ElementId;
use motorium_proto::service::{CaptureArea, ParseOptions};

use super::act::Resolved;
use super::{Flow, Runner};
use crate::task::ActionRecord;
use crate::task::retry::{self, Way};
use crate::task::screen::bounds_on_display;

/// How far around the old target a second look goes, in pixels: applications that were drawn anew meanwhile shift
/// things by a line or two.
const AROUND: i32 = 80;
/// How many times the picture is enlarged for it.
const MAGNIFICATION: u32 = 2;

impl Runner {
    /// The action at its next attempt, or why there is none.
    pub(super) async fn resolve_again(
        &mut self,
        record: &ActionRecord,
    ) -> Flow<Result<Resolved, String>> {
        let Some(point) = record.point() else {
            return Ok(Ok(Resolved {
                action: retry::reversed(record.action.clone()),
                target: record.target,
            }));
        };
        Ok(match record.retry_due {
            Some(Way::OtherDirection) => Ok(Resolved {
                action: retry::reversed(record.action.clone()),
                target: record.target,
            }),
            Some(Way::OtherPoint) => {
                let other = record
                    .target
                    .and_then(|target| retry::other_point(point, target));
                Ok(Resolved::at(record, other.unwrap_or(point), record.target))
            }
            Some(Way::SecondLook) => self.look_closer(record).await?,
            _ => {
                let moved = retry::moved(point, record.target);
                Ok(Resolved::at(record, moved, record.target))
            }
        })
    }

    /// Looks at the surroundings of the target, enlarged, for what was aimed at.
    async fn look_closer(&mut self, record: &ActionRecord) -> Flow<Result<Resolved, String>> {
        let Some(old) = record.target else {
            return Ok(Err(format!(
                "{} changed nothing, and there is no element at its point to look for again",
                record.planned.intent
            )));
        };
        let content = self.content_at(old);
        let Some(frame) = self.view.as_ref().map(|view| &view.latest) else {
            return Ok(Err("the screen has not been looked at".to_owned()));
        };
        let around = old.inflate(AROUND, AROUND).intersection(&frame.bounds());
        let area = around.map_or(CaptureArea::Display, CaptureArea::Region);
        let closer = ParseOptions {
            magnification: Some(MAGNIFICATION),
            ..ParseOptions::default()
        };
        let seen = self.look_at(area, closer).await?;
        let bounds = |id: ElementId| {
            let element = seen.scene.element(id)?;
            Some(bounds_on_display(element, &seen.frame))
        };
        let found = retry::found_again(&seen.scene, bounds, &content, old)
            .and_then(|id| Some((seen.scene.element(id)?, bounds(id)?)));
        Ok(match found {
            Some((element, bounds)) => {
                let point = element.centre + seen.frame.origin.to_vector();
                Ok(Resolved::at(record, point, Some(bounds)))
            }
            None => Err(format!(
                "{} changed nothing, and a closer look does not find its target any more",
                record.planned.intent
            )),
        })
    }

    /// What could be read at a place when the step began.
    fn content_at(&self, place: CaptureRect) -> String {
        let Some(view) = &self.view else {
            return String::new();
        };
        let (scene, frame) = (&view.observation.scene, &view.observation.frame);
        let is_there = |element: &&Element| bounds_on_display(element, frame) == place;
        let element = scene.elements.iter().find(is_there);
        element.map_or(String::new(), |element| element.content.clone())
    }
}
