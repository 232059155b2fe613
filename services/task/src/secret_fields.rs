//! Regions where secrets were entered. They are redacted in every later screenshot of the task.
//!
//! Only the Executor knows a secret's value, so it cannot be searched for on the screen. Known are only the regions that
//! changed when it was entered, and the element that was targeted before. Pure. Not here: the live view, which people see
//! unredacted.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::Effect;
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use motorium_proto::service::Redaction;

/// Maximum area of a field, as a share of the frame. A larger change is a page transition: redacting it would blind the planner.
const MAX_FIELD_AREA_RATIO: f64 = 0.1;
/// Maximum padding around a field, in capture pixels. Bounds the padding of tall multi-line fields.
const MAX_PADDING: i32 = 40;
/// Maximum number of boxes; further ones are merged into the last. Bounds the redactions of one capture request.
const MAX_BOXES: usize = 32;

/// Redacted boxes on the display. Boxes that touch are merged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretFields {
    confirmed: Vec<CaptureRect>,
    /// Target of the secret that was entered last, until the effect shows where it became visible.
    pending: Option<CaptureRect>,
}

impl SecretFields {
    /// Returns all boxes within a part of the display, in pixels relative to that part.
    #[must_use]
    pub fn boxes_within(&self, part: CaptureRect) -> Vec<CaptureRect> {
        let boxes = self.boxes();
        let within = boxes.iter().filter_map(|field| field.intersection(&part));
        within
            .map(|field| field.translate(-part.min.to_vector()))
            .collect()
    }

    /// Returns all boxes in display pixels.
    #[must_use]
    pub fn boxes(&self) -> Vec<CaptureRect> {
        self.confirmed.iter().copied().chain(self.pending).collect()
    }

    /// Returns the boxes to redact while this action's effect is judged: all except the pending box of a secret it enters itself.
    #[must_use]
    pub fn boxes_while_judging<T>(&self, action: &Action<T>) -> Vec<CaptureRect> {
        if action.entered_secret().is_some() {
            return self.confirmed.clone();
        }
        self.boxes()
    }

    /// Records that a secret was entered after `pointed_at` was targeted. Its visible region is not known yet.
    pub(super) fn record_entry(&mut self, pointed_at: Option<CaptureRect>) {
        self.confirm_pending();
        self.pending = pointed_at.map(with_padding);
    }

    /// Records the regions where it became visible, from the effect of entering it.
    pub(super) fn record_effect(&mut self, effect: &Effect, frame: Option<CaptureSize>) {
        let changed = effect.change.regions.iter().map(|region| region.bounds);
        let (small, large): (Vec<_>, Vec<_>) =
            changed.partition(|bounds| frame.is_none_or(|frame| is_small(*bounds, frame)));
        if small.is_empty() || !large.is_empty() {
            self.confirm_pending();
        }
        self.pending = None;
        self.extend(small.into_iter().map(with_padding));
    }

    fn confirm_pending(&mut self) {
        let pointed_at = self.pending.take();
        self.extend(pointed_at);
    }

    fn extend(&mut self, boxes: impl IntoIterator<Item = CaptureRect>) {
        for mut one in boxes {
            while let Some(touching) = self
                .confirmed
                .iter()
                .position(|known| known.intersects(&one))
            {
                one = one.union(&self.confirmed.swap_remove(touching));
            }
            // Merging redacts more than necessary. Dropping a box would show a secret.
            if self.confirmed.len() == MAX_BOXES
                && let Some(last) = self.confirmed.pop()
            {
                one = one.union(&last);
            }
            self.confirmed.push(one);
        }
    }
}

/// Returns a redaction for each box.
#[must_use]
pub fn redactions(boxes: &[CaptureRect]) -> Vec<Redaction> {
    boxes.iter().copied().map(Redaction::Region).collect()
}

fn is_small(bounds: CaptureRect, frame: CaptureSize) -> bool {
    bounds.to_f64().area() <= MAX_FIELD_AREA_RATIO * frame.to_f64().area()
}

/// Returns the box with padding: half its height on all sides, and its width again to the right. Masking dots may be revealed
/// as plain text later, which is wider.
fn with_padding(bounds: CaptureRect) -> CaptureRect {
    let around = (bounds.height() / 2).clamp(2, MAX_PADDING);
    let mut room = bounds.inflate(around, around);
    room.max.x += bounds.width();
    room
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use motorium_proto::domain::effect::{ChangeMap, ChangedRegion, Verdict};
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    const FRAME: Option<CaptureSize> = Some(CaptureSize::new(1000, 1000));

    fn rect(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::from_origin_and_size(CapturePoint::new(x, y), CaptureSize::new(width, height))
    }

    fn effect(bounds: &[CaptureRect]) -> Effect {
        let region = |bounds: &CaptureRect| ChangedRegion {
            bounds: *bounds,
            changed_pixels: 9,
        };
        Effect {
            verdict: Verdict::Confirmed,
            change: ChangeMap {
                changed_share: 0.0,
                changed_pixels: 9,
                regions: bounds.iter().map(region).collect(),
                size_differs: false,
                background_motion: Vec::new(),
            },
            share_near_target: 0.0,
            window_changed: false,
            explanation: String::new(),
            settled: true,
            settle_time: Duration::ZERO,
        }
    }

    fn check(
        changed: Option<&[CaptureRect]>,
        pointed_at: Option<CaptureRect>,
        expected: &[CaptureRect],
    ) {
        let mut fields = SecretFields::default();
        fields.record_entry(pointed_at);
        assert_eq!(fields.boxes().len(), usize::from(pointed_at.is_some()));
        if let Some(changed) = changed {
            fields.record_effect(&effect(changed), FRAME);
        }
        assert_eq!(fields.boxes(), expected);
    }

    #[test]
    fn secret_entry_redacts_the_changed_area_with_padding() {
        let (dots, field) = (rect(100, 100, 60, 20), rect(90, 90, 200, 40));
        check(Some(&[dots]), Some(field), &[rect(90, 90, 140, 40)]);
    }

    #[test]
    fn whole_field_is_redacted_without_a_localised_change() {
        let (field, hidden) = (rect(90, 90, 200, 40), rect(70, 70, 440, 80));
        check(Some(&[]), Some(field), &[hidden]);
        check(None, Some(field), &[hidden]);
        let page = rect(0, 0, 1000, 900);
        check(Some(&[page]), Some(field), &[hidden]);
        check(Some(&[page]), None, &[]);
        let clock = rect(900, 980, 20, 10);
        let beside = [hidden, rect(895, 975, 50, 20)];
        check(Some(&[page, clock]), Some(field), &beside);
    }

    #[test]
    fn unjudged_secret_fields_stay_redacted() {
        let mut fields = SecretFields::default();
        for row in [0, 200, 400] {
            fields.record_entry(Some(rect(0, row, 10, 10)));
        }
        assert_eq!(fields.boxes().len(), 3);
    }

    #[test]
    fn fields_that_touch_are_one_and_never_too_many() {
        let mut fields = SecretFields::default();
        fields.extend([rect(0, 0, 10, 10), rect(20, 0, 10, 10), rect(5, 0, 20, 10)]);
        assert_eq!(fields.boxes(), [rect(0, 0, 30, 10)]);
        fields.extend((1..100).map(|row| rect(0, row * 20, 5, 5)));
        assert_eq!(fields.boxes().len(), MAX_BOXES);
        let last = *fields.boxes().last().unwrap();
        assert!(last.contains_box(&rect(0, 1980, 5, 5)));
    }
}
