//! Hooks around screenshots.

use motorium_messages::Message;
use motorium_proto::domain::frame::{Frame, Image};
use motorium_proto::domain::geometry::CaptureRect;
use motorium_proto::service::{CaptureArea, Redaction};

use super::{RunResult, Runner, or_fail};
use crate::hooks::event::HookScreenshot;
use crate::hooks::{HookDenial, HookEvent, HookPoint};
use motorium_task::secret_fields::redactions;

impl Runner {
    /// Asks the hooks for redactions of the following captures.
    pub(in crate::run) async fn before_screenshot(&mut self) -> RunResult {
        if !self.wants(HookPoint::BeforeScreenshot) {
            self.hooks.redactions.clear();
            return Ok(());
        }
        let (hidden, denial) = self.ask_redactions().await?;
        or_fail(denial, &self.task, |denial| Message::HookDeniesScreenshot {
            denial,
        })?;
        self.hooks.redactions = hidden;
        Ok(())
    }

    /// As [`Runner::before_screenshot`], for the observation of the next step, while captures of this step are still
    /// compared. Returns `None` if a hook denies it.
    pub(in crate::run) async fn before_next_screenshot(
        &mut self,
    ) -> RunResult<Option<Vec<Redaction>>> {
        self.hooks.next_redactions = None;
        if self.wants(HookPoint::BeforeScreenshot) {
            let (hidden, denial) = self.ask_redactions().await?;
            if denial.is_some() {
                return Ok(None);
            }
            self.hooks.next_redactions = Some(hidden);
        }
        Ok(Some(self.hooks.next_redactions.clone().unwrap_or_default()))
    }

    pub(in crate::run) fn hooks_set_redactions(&self) -> bool {
        self.wants(HookPoint::BeforeScreenshot)
    }

    /// Applies the redactions of the observation that was started early.
    pub(in crate::run) fn use_next_redactions(&mut self) {
        self.hooks.redactions = self.hooks.next_redactions.take().unwrap_or_default();
    }

    async fn ask_redactions(&mut self) -> RunResult<(Vec<Redaction>, Option<HookDenial>)> {
        let mut happening = HookEvent::BeforeScreenshot(Vec::new());
        let denial = self.ask_hooks(&mut happening, None).await?;
        match happening {
            HookEvent::BeforeScreenshot(hidden) => Ok((hidden, denial)),
            _ => unreachable!("a hook cannot change an event's kind"),
        }
    }

    /// Notifies the hooks of a screenshot.
    pub(in crate::run) async fn after_screenshot(&mut self, frame: &Frame, image: Option<&Image>) {
        if self.wants(HookPoint::AfterScreenshot) {
            let seen = HookEvent::AfterScreenshot(HookScreenshot { frame, image });
            self.tell_hooks(seen, None).await;
        }
    }

    /// Returns the redactions of a capture of the whole display: these boxes and those of hooks.
    pub(in crate::run) fn redactions(&self, boxes: &[CaptureRect]) -> Vec<Redaction> {
        with_redactions(boxes, &self.hooks.redactions)
    }

    /// Returns the redactions of a capture of this area: fields with secrets and those of hooks.
    pub(in crate::run) fn redactions_in(&self, area: &CaptureArea) -> Vec<Redaction> {
        let CaptureArea::Region(part) = area else {
            return self.redactions(&self.task.secret_fields.boxes());
        };
        let hidden: Vec<Redaction> = self
            .hooks
            .redactions
            .iter()
            .filter_map(|hidden| within(hidden, *part))
            .collect();
        with_redactions(&self.task.secret_fields.boxes_within(*part), &hidden)
    }
}

/// Combines boxes and hooks' redactions.
pub(in crate::run) fn with_redactions(
    boxes: &[CaptureRect],
    hidden: &[Redaction],
) -> Vec<Redaction> {
    let boxes = redactions(boxes).into_iter();
    boxes.chain(hidden.iter().cloned()).collect()
}

/// Converts a redaction to the coordinates of a part of the display; `None` if it lies outside.
fn within(hidden: &Redaction, part: CaptureRect) -> Option<Redaction> {
    match hidden {
        Redaction::Region(region) => {
            let region = region.intersection(&part)?;
            Some(Redaction::Region(region.translate(-part.min.to_vector())))
        }
        other => Some(other.clone()),
    }
}
