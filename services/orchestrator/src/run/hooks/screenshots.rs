//! Hooks around pictures of the screen.

use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{CaptureArea, Redaction};

use super::{Flow, Runner, or_fail};
use crate::hooks::happening::Seen;
use crate::hooks::{Denial, Happening, Point};
use crate::task::secret_fields::redactions;

impl Runner {
    /// Asks what is to be painted over from now on.
    pub(in crate::run) async fn before_screenshot(&mut self) -> Flow {
        if !self.wants(Point::BeforeScreenshot) {
            self.hooks.hidden.clear();
            return Ok(());
        }
        let (hidden, denial) = self.ask_what_to_hide().await?;
        or_fail(denial, "the screen may not be looked at")?;
        self.hooks.hidden = hidden;
        Ok(())
    }

    /// The same for the look that begins the next step, while pictures of this one are still compared. `None`: it may not
    /// be looked yet.
    pub(in crate::run) async fn before_next_screenshot(&mut self) -> Flow<Option<Vec<Redaction>>> {
        self.hooks.hidden_next = None;
        if self.wants(Point::BeforeScreenshot) {
            let (hidden, denial) = self.ask_what_to_hide().await?;
            if denial.is_some() {
                return Ok(None);
            }
            self.hooks.hidden_next = Some(hidden);
        }
        Ok(Some(self.hooks.hidden_next.clone().unwrap_or_default()))
    }

    pub(in crate::run) fn hooks_decide_what_is_seen(&self) -> bool {
        self.wants(Point::BeforeScreenshot)
    }

    /// The look that has begun already is the one to go by.
    pub(in crate::run) fn next_screenshot_is_taken(&mut self) {
        self.hooks.hidden = self.hooks.hidden_next.take().unwrap_or_default();
    }

    async fn ask_what_to_hide(&mut self) -> Flow<(Vec<Redaction>, Option<Denial>)> {
        let mut happening = Happening::BeforeScreenshot(Vec::new());
        let denial = self.ask_hooks(&mut happening, None).await?;
        match happening {
            Happening::BeforeScreenshot(hidden) => Ok((hidden, denial)),
            _ => unreachable!("a happening stays what it is"),
        }
    }

    /// Tells what was seen.
    pub(in crate::run) async fn after_screenshot(&mut self, frame: &Frame, image: Option<&Image>) {
        if self.wants(Point::AfterScreenshot) {
            let seen = Happening::AfterScreenshot(Seen { frame, image });
            self.tell_hooks(seen, None).await;
        }
    }

    /// What is painted over in a picture of the whole display: these boxes, and what hooks want.
    pub(in crate::run) fn painted_over(&self, boxes: &[CaptureRect]) -> Vec<Redaction> {
        with_hidden(boxes, &self.hooks.hidden)
    }

    /// What is painted over in a picture of this area: where secrets were entered, and what hooks want.
    pub(in crate::run) fn painted_over_on(&self, area: &CaptureArea) -> Vec<Redaction> {
        let CaptureArea::Region(part) = area else {
            return self.painted_over(&self.task.secret_fields.boxes());
        };
        let hidden: Vec<Redaction> = self
            .hooks
            .hidden
            .iter()
            .filter_map(|hidden| within(hidden, *part))
            .collect();
        with_hidden(&self.task.secret_fields.boxes_within(*part), &hidden)
    }
}

/// Boxes, and what hooks want.
pub(in crate::run) fn with_hidden(boxes: &[CaptureRect], hidden: &[Redaction]) -> Vec<Redaction> {
    let boxes = redactions(boxes).into_iter();
    boxes.chain(hidden.iter().cloned()).collect()
}

/// The same as named in a picture of a part of the display.
fn within(hidden: &Redaction, part: CaptureRect) -> Option<Redaction> {
    match hidden {
        Redaction::Region(region) => {
            let region = region.intersection(&part)?;
            Some(Redaction::Region(region.translate(-part.min.to_vector())))
        }
        other => Some(other.clone()),
    }
}
