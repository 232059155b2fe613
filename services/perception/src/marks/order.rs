//! Reading order: rows from top to bottom, within a row from left to right.
//!
//! A row begins with the topmost element that is left and takes in what stands beside it. It does not grow by what it
//! takes in, so that columns whose lines are slightly offset do not chain into one row. What is much taller than a
//! line (a picture, a dialog, a side bar) is a row by itself, at its upper edge, before what stands beside it. What is
//! on a dialog is read together with the dialog, not mixed with the lines of the page behind it.
//!
//! Invariant: the order depends on the elements alone, not on the order in which they come.

use std::cmp::Ordering;

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::merge::Found;
use crate::areas::area;

/// An element is in a row if it shares at least this part of the lower of the two heights with the row's first one …
const BESIDE: f64 = 0.5;
/// … and if their middles are apart by no more than this part of the taller one. Otherwise a line of a side bar that
/// reaches down to a tall field would take the field away from its label.
const LEVEL: f64 = 0.35;
/// What is more than so many times as tall as the middle element is not a line.
const BLOCK: i32 = 4;

/// The elements in reading order.
#[must_use]
pub fn in_reading_order(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by(canonical);
    let dialogs: Vec<Option<usize>> = (0..found.len())
        .map(|index| dialog_of(index, &found))
        .collect();
    let mut order = Vec::with_capacity(found.len());
    read_group(None, &found, &dialogs, &mut order);
    let mut found: Vec<Option<Found>> = found.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|index| found[index].take())
        .collect()
}

/// Appends what stands on a dialog, or on none: row by row, each dialog followed by what stands on it.
fn read_group(
    dialog: Option<usize>,
    found: &[Found],
    dialogs: &[Option<usize>],
    order: &mut Vec<usize>,
) {
    let members: Vec<usize> = (0..found.len())
        .filter(|index| dialogs[*index] == dialog)
        .collect();
    let bounds: Vec<CaptureRect> = members.iter().map(|index| found[*index].bounds).collect();
    for index in rows(&bounds)
        .into_iter()
        .flatten()
        .map(|place| members[place])
    {
        order.push(index);
        if found[index].kind == ElementKind::Dialog {
            read_group(Some(index), found, dialogs, order);
        }
    }
}

/// The smallest dialog that an element stands on.
fn dialog_of(index: usize, found: &[Found]) -> Option<usize> {
    let bounds = found[index].bounds;
    let holds = |other: &Found| {
        other.kind == ElementKind::Dialog
            && other.bounds.contains_box(&bounds)
            && area(other.bounds) > area(bounds)
    };
    let holders = found.iter().enumerate().filter(|(_, other)| holds(other));
    holders
        .min_by_key(|(place, other)| (area(other.bounds), *place))
        .map(|(place, _)| place)
}

/// An order in which any two different elements have their place, so that what follows sees the same sequence
/// whatever the order was before. From top to bottom, then from left to right, larger ones first.
pub(super) fn canonical(a: &Found, b: &Found) -> Ordering {
    by_place(a.bounds, b.bounds)
        .then_with(|| a.kind.as_str().cmp(b.kind.as_str()))
        .then_with(|| a.content.cmp(&b.content))
        .then_with(|| a.confidence.total_cmp(&b.confidence))
}

fn by_place(a: CaptureRect, b: CaptureRect) -> Ordering {
    let key = |bounds: CaptureRect| (bounds.min.y, bounds.min.x, -bounds.max.y, -bounds.max.x);
    key(a).cmp(&key(b))
}

/// Groups boxes into rows: indices into `bounds`, rows from top to bottom, each from left to right. Of boxes in the
/// same place the one that comes first in `bounds` is first.
pub(super) fn rows(bounds: &[CaptureRect]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..bounds.len()).collect();
    left.sort_by(|a, b| by_place(bounds[*a], bounds[*b]).then(a.cmp(b)));
    let tallest_line = middle_height(bounds).saturating_mul(BLOCK);
    let is_line = |index: usize| bounds[index].height() <= tallest_line;
    let mut rows = Vec::new();
    while let Some(first) = left.first().copied() {
        let in_row = |index: &usize| {
            *index == first
                || (is_line(first) && is_line(*index) && is_beside(bounds[first], bounds[*index]))
        };
        let (mut row, others): (Vec<usize>, Vec<usize>) = left.into_iter().partition(in_row);
        row.sort_by_key(|index| (bounds[*index].min.x, bounds[*index].min.y));
        rows.push(row);
        left = others;
    }
    rows
}

fn is_beside(a: CaptureRect, b: CaptureRect) -> bool {
    let shared = f64::from(a.max.y.min(b.max.y) - a.min.y.max(b.min.y));
    let (lower, taller) = (a.height().min(b.height()), a.height().max(b.height()));
    let middles_apart = f64::from((a.min.y + a.max.y - b.min.y - b.max.y).abs()) / 2.0;
    shared > 0.0
        && shared >= BESIDE * f64::from(lower)
        && middles_apart <= LEVEL * f64::from(taller)
}

fn middle_height(bounds: &[CaptureRect]) -> i32 {
    let mut heights: Vec<i32> = bounds.iter().map(|bounds| bounds.height()).collect();
    heights.sort_unstable();
    heights.get(heights.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
pub(super) mod tests {
    use motorium_proto::domain::element::{ElementSource, ElementState};
    use motorium_proto::domain::geometry::CapturePoint;
    use proptest::prelude::*;

    use super::*;

    /// The same things in an order that depends on `seed`.
    pub(in crate::marks) fn shuffle<T: Clone>(things: &[T], mut seed: u64) -> Vec<T> {
        let mut things = things.to_vec();
        for end in (1..things.len()).rev() {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            things.swap(end, (seed >> 33) as usize % (end + 1));
        }
        things
    }

    fn found(content: &str, x: i32, y: i32, width: i32, height: i32) -> Found {
        Found {
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds: CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            ),
            interactable: false,
            confidence: 1.0,
            source: ElementSource::Ocr,
            state: ElementState::default(),
        }
    }

    /// Boxes as `(x, y, width, height)`, listed in the order in which they should be read.
    fn check(expected: &[(i32, i32, i32, i32)]) {
        let named: Vec<Found> = expected
            .iter()
            .enumerate()
            .map(|(i, (x, y, w, h))| found(&i.to_string(), *x, *y, *w, *h))
            .collect();
        for seed in 0..20 {
            let read: Vec<String> = in_reading_order(shuffle(&named, seed))
                .into_iter()
                .map(|found| found.content)
                .collect();
            assert_eq!(
                read,
                (0..expected.len())
                    .map(|i| i.to_string())
                    .collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn rows_from_top_to_bottom_and_from_left_to_right() {
        check(&[]);
        check(&[
            (10, 10, 50, 16),
            (100, 10, 50, 16),
            (10, 40, 50, 16),
            (100, 40, 50, 16),
        ]);
        // A label, lower than its field, and a button that is a little higher than both.
        check(&[
            (10, 17, 80, 16),
            (100, 8, 200, 34),
            (320, 6, 60, 36),
            (10, 67, 80, 16),
            (100, 58, 200, 34),
        ]);
        // Text whose boxes differ by a few pixels.
        check(&[
            (10, 12, 50, 14),
            (70, 9, 50, 18),
            (130, 13, 50, 12),
            (10, 30, 50, 16),
        ]);
    }

    #[test]
    fn offset_columns_do_not_chain() {
        // Three columns, each a third of a line lower than the one before.
        check(&[
            (10, 0, 50, 18),
            (110, 6, 50, 18),
            (210, 12, 50, 18),
            (10, 30, 50, 18),
            (110, 36, 50, 18),
            (210, 42, 50, 18),
        ]);
    }

    #[test]
    fn a_block_comes_before_what_stands_beside_and_in_it() {
        let sidebar = (0, 0, 100, 400);
        let lines = (0..8).map(|i| (120, 5 + i * 40, 300, 16));
        check(&[sidebar].into_iter().chain(lines).collect::<Vec<_>>());
        let dialog = (200, 100, 400, 200);
        check(&[
            (10, 20, 50, 16),
            dialog,
            (220, 120, 200, 16),
            (220, 250, 80, 16),
            (320, 250, 80, 16),
            (10, 420, 50, 16),
        ]);
    }

    #[test]
    fn a_side_bar_does_not_take_fields_from_their_labels() {
        // Entries of a side bar, offset by half a line against a form of labels and fields.
        check(&[
            (10, 190, 60, 18),
            (200, 204, 40, 17),
            (300, 198, 200, 28),
            (10, 220, 60, 18),
            (200, 240, 40, 17),
            (300, 234, 200, 28),
        ]);
    }

    #[test]
    fn a_dialog_is_not_mixed_with_the_page_behind_it() {
        let page = |y: i32| [found("page", 10, y, 80, 16), found("page", 700, y, 80, 16)];
        let mut all: Vec<Found> = (0..10).flat_map(|row| page(row * 30)).collect();
        let dialog = Found {
            kind: ElementKind::Dialog,
            ..found("dialog", 200, 100, 400, 120)
        };
        let on_it = [
            found("question", 220, 122, 200, 16),
            found("no", 220, 180, 80, 30),
            found("yes", 320, 180, 80, 30),
        ];
        all.push(dialog);
        all.extend(on_it);
        let read: Vec<String> = in_reading_order(shuffle(&all, 7))
            .into_iter()
            .map(|found| found.content)
            .collect();
        let start = read.iter().position(|content| content == "dialog").unwrap();
        assert_eq!(read[start..start + 4], ["dialog", "question", "no", "yes"]);
    }

    #[test]
    fn two_lines_beside_an_icon_stay_together() {
        check(&[
            (10, 10, 40, 40),
            (60, 12, 90, 16),
            (60, 32, 90, 16),
            (300, 10, 40, 40),
            (350, 12, 90, 16),
            (350, 32, 90, 16),
        ]);
    }

    proptest! {
        #[test]
        fn the_order_of_finding_does_not_matter(
            boxes in proptest::collection::vec((0i32..500, 0i32..300, 0i32..200, 0i32..120, "[ab]{0,2}"), 0..30), seed in any::<u64>()
        ) {
            let all: Vec<Found> = boxes.iter().map(|(x, y, w, h, text)| found(text, *x, *y, *w, *h)).collect();
            let ordered = in_reading_order(all.clone());
            prop_assert_eq!(ordered.len(), all.len());
            prop_assert_eq!(in_reading_order(shuffle(&all, seed)), ordered);
        }

        #[test]
        fn what_is_wholly_above_comes_first(boxes in proptest::collection::vec((0i32..500, 0i32..300, 1i32..200, 1i32..40), 0..30)) {
            let all: Vec<Found> = boxes.iter().map(|(x, y, w, h)| found("", *x, *y, *w, *h)).collect();
            let ordered = in_reading_order(all);
            for (index, below) in ordered.iter().enumerate() {
                for above in &ordered[index + 1..] {
                    let rows_apart = below.bounds.min.y - above.bounds.max.y;
                    // A row is as high as its first element and what overlaps that by half, so two rows' worth is safe.
                    prop_assert!(rows_apart < 160, "{:?} is read before {:?}", below.bounds, above.bounds);
                }
            }
        }
    }
}
