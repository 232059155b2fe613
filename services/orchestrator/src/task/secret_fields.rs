//! Where secrets were entered: what is painted over in every later picture of a task.
//!
//! Nobody but the Executor knows a secret, so that it cannot be looked for; what is known is where the screen changed when
//! it was entered, and where was pointed before. Pure. Not here: people who watch the live view see their screen as it is.

use motorium_proto::domain::action::Action;
use motorium_proto::domain::effect::Effect;
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use motorium_proto::service::Redaction;

/// A larger part of the screen is no field: the page went on while it was typed to.
const LARGEST_SHARE: f64 = 0.1;
/// One that is not known by anything but a point, in pixels around it.
const AROUND_A_POINT: i32 = 40;
/// More than these become one: a request can hide only so much.
const MOST: usize = 32;

/// Boxes on the screen, those that touch each other as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SecretFields {
    known: Vec<CaptureRect>,
    /// What was pointed at before a secret that was entered last, until it is known where it shows.
    not_judged: Option<CaptureRect>,
}

impl SecretFields {
    /// All boxes, in pixels of the frame.
    #[must_use]
    pub fn boxes_within(&self, part: CaptureRect) -> Vec<CaptureRect> {
        let boxes = self.boxes();
        let within = boxes.iter().filter_map(|field| field.intersection(&part));
        within
            .map(|field| field.translate(-part.min.to_vector()))
            .collect()
    }

    /// Where they are on the display.
    #[must_use]
    pub fn boxes(&self) -> Vec<CaptureRect> {
        self.known.iter().copied().chain(self.not_judged).collect()
    }

    /// The boxes that are hidden while this action is judged: all but that of the secret which it enters itself.
    #[must_use]
    pub fn boxes_beside<T>(&self, action: &Action<T>) -> Vec<CaptureRect> {
        if action.entered_secret().is_some() {
            return self.known.clone();
        }
        self.boxes()
    }

    /// Notes that a secret was entered, after something was pointed at; whether and where it shows is not known yet.
    pub(super) fn entered(&mut self, pointed_at: Option<CaptureRect>) {
        self.settle_for_what_was_pointed_at();
        self.not_judged = pointed_at.map(with_room);
    }

    /// Notes where it became visible, as far as its effect shows.
    pub(super) fn judged(&mut self, effect: &Effect, frame: Option<CaptureSize>) {
        let changed = effect.change.regions.iter().map(|region| region.bounds);
        let (small, large): (Vec<_>, Vec<_>) =
            changed.partition(|bounds| frame.is_none_or(|frame| is_small(*bounds, frame)));
        if small.is_empty() || !large.is_empty() {
            self.settle_for_what_was_pointed_at();
        }
        self.not_judged = None;
        self.extend(small.into_iter().map(with_room));
    }

    fn settle_for_what_was_pointed_at(&mut self) {
        let pointed_at = self.not_judged.take();
        self.extend(pointed_at);
    }

    fn extend(&mut self, boxes: impl IntoIterator<Item = CaptureRect>) {
        for mut one in boxes {
            while let Some(touching) = self.known.iter().position(|known| known.intersects(&one)) {
                one = one.union(&self.known.swap_remove(touching));
            }
            if self.known.len() == MOST
                && let Some(last) = self.known.pop()
            {
                one = one.union(&last);
            }
            self.known.push(one);
        }
    }
}

/// What hides these boxes.
#[must_use]
pub fn redactions(boxes: &[CaptureRect]) -> Vec<Redaction> {
    boxes.iter().copied().map(Redaction::Region).collect()
}

fn is_small(bounds: CaptureRect, frame: CaptureSize) -> bool {
    bounds.to_f64().area() <= LARGEST_SHARE * frame.to_f64().area()
}

/// Dots may be shown in clear later, and letters are wider: as much again to the right, and half of its height around.
fn with_room(bounds: CaptureRect) -> CaptureRect {
    let around = (bounds.height() / 2).clamp(2, AROUND_A_POINT);
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
                noise: Vec::new(),
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
        fields.entered(pointed_at);
        assert_eq!(fields.boxes().len(), usize::from(pointed_at.is_some()));
        if let Some(changed) = changed {
            fields.judged(&effect(changed), FRAME);
        }
        assert_eq!(fields.boxes(), expected);
    }

    #[test]
    fn what_changed_is_hidden_with_room_for_wider_letters() {
        let (dots, field) = (rect(100, 100, 60, 20), rect(90, 90, 200, 40));
        check(Some(&[dots]), Some(field), &[rect(90, 90, 140, 40)]);
    }

    #[test]
    fn what_was_pointed_at_is_hidden_where_nothing_shows_or_all_went_on() {
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
    fn one_that_was_never_judged_stays_hidden_when_another_is_entered() {
        let mut fields = SecretFields::default();
        for row in [0, 200, 400] {
            fields.entered(Some(rect(0, row, 10, 10)));
        }
        assert_eq!(fields.boxes().len(), 3);
    }

    #[test]
    fn fields_that_touch_are_one_and_never_too_many() {
        let mut fields = SecretFields::default();
        fields.extend([rect(0, 0, 10, 10), rect(20, 0, 10, 10), rect(5, 0, 20, 10)]);
        assert_eq!(fields.boxes(), [rect(0, 0, 30, 10)]);
        fields.extend((1..100).map(|row| rect(0, row * 20, 5, 5)));
        assert_eq!(fields.boxes().len(), MOST);
        let last = *fields.boxes().last().unwrap();
        assert!(last.contains_box(&rect(0, 1980, 5, 5)));
    }
}
