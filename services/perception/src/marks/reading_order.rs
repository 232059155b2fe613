//! Reading order: rows from top to bottom, left to right within a row.
//!
//! A row starts with the topmost remaining element and includes the elements beside it. It does not grow by the
//! included ones, so that columns with slightly offset lines do not chain into one row. An element much taller than a
//! line (an image, a dialog, a side bar) is a row by itself, before the elements beside it. The content of a dialog is
//! read together with the dialog, not mixed with the page behind it.
//!
//! Invariant: the order depends only on the elements, not on the order of the input.

use std::cmp::Ordering;

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::merged_element::MergedElement;
use crate::areas::area;

/// Minimum vertical overlap with the first element of the row, as a fraction of the smaller height.
const MIN_ROW_OVERLAP: f64 = 0.5;
/// Maximum vertical offset of the centres, as a fraction of the larger height. Without it, a side bar line that reaches
/// down to a tall field would separate the field from its label.
const MAX_CENTRE_OFFSET: f64 = 0.35;
/// Height, in median element heights, above which an element is a block instead of a line.
// A field of several lines or an image would otherwise pull the lines beside it into one row.
const BLOCK_HEIGHT_RATIO: i32 = 4;

/// Sorts elements into reading order.
#[must_use]
pub fn in_reading_order(mut found: Vec<MergedElement>) -> Vec<MergedElement> {
    found.sort_by(canonical_order);
    let dialogs: Vec<Option<usize>> = (0..found.len())
        .map(|index| dialog_of(index, &found))
        .collect();
    let mut order = Vec::with_capacity(found.len());
    read_group(None, &found, &dialogs, &mut order);
    let mut found: Vec<Option<MergedElement>> = found.into_iter().map(Some).collect();
    order
        .into_iter()
        .filter_map(|index| found[index].take())
        .collect()
}

/// Appends the elements of a dialog, or of the page, row by row; each dialog is followed by its content.
fn read_group(
    dialog: Option<usize>,
    found: &[MergedElement],
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

/// Returns the smallest dialog that contains an element.
fn dialog_of(index: usize, found: &[MergedElement]) -> Option<usize> {
    let bounds = found[index].bounds;
    let holds = |other: &MergedElement| {
        other.kind == ElementKind::Dialog
            && other.bounds.contains_box(&bounds)
            && area(other.bounds) > area(bounds)
    };
    let holders = found.iter().enumerate().filter(|(_, other)| holds(other));
    holders
        .min_by_key(|(place, other)| (area(other.bounds), *place))
        .map(|(place, _)| place)
}

/// Total order of elements, independent of the input order: top to bottom, left to right, larger ones first.
pub(super) fn canonical_order(a: &MergedElement, b: &MergedElement) -> Ordering {
    by_place(a.bounds, b.bounds)
        .then_with(|| a.kind.as_str().cmp(b.kind.as_str()))
        .then_with(|| a.content.cmp(&b.content))
        .then_with(|| a.confidence.total_cmp(&b.confidence))
}

fn by_place(a: CaptureRect, b: CaptureRect) -> Ordering {
    let key = |bounds: CaptureRect| (bounds.min.y, bounds.min.x, -bounds.max.y, -bounds.max.x);
    key(a).cmp(&key(b))
}

/// Groups boxes into rows. Returns indices into `bounds`, rows from top to bottom, each from left to right. Ties keep
/// the order of `bounds`.
pub(super) fn rows(bounds: &[CaptureRect]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = (0..bounds.len()).collect();
    left.sort_by(|a, b| by_place(bounds[*a], bounds[*b]).then(a.cmp(b)));
    let tallest_line = middle_height(bounds).saturating_mul(BLOCK_HEIGHT_RATIO);
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
        && shared >= MIN_ROW_OVERLAP * f64::from(lower)
        && middles_apart <= MAX_CENTRE_OFFSET * f64::from(taller)
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

    /// Shuffles elements, determined by `seed`.
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

    fn found(content: &str, x: i32, y: i32, width: i32, height: i32) -> MergedElement {
        MergedElement {
            kind: ElementKind::Label,
            content: content.to_owned(),
            bounds: CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            ),
            click_point: None,
            interactable: false,
            confidence: 1.0,
            source: ElementSource::Ocr,
            state: ElementState::default(),
        }
    }

    /// Checks boxes `(x, y, width, height)`, listed in the expected reading order.
    fn check(expected: &[(i32, i32, i32, i32)]) {
        let named: Vec<MergedElement> = expected
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
    fn offset_columns_are_read_row_by_row() {
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
    fn container_is_read_before_content_beside_or_inside() {
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
        let mut all: Vec<MergedElement> = (0..10).flat_map(|row| page(row * 30)).collect();
        let dialog = MergedElement {
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
        fn detection_order_does_not_affect_the_result(
            boxes in proptest::collection::vec((0i32..500, 0i32..300, 0i32..200, 0i32..120, "[ab]{0,2}"), 0..30), seed in any::<u64>()
        ) {
            let all: Vec<MergedElement> = boxes.iter().map(|(x, y, w, h, text)| found(text, *x, *y, *w, *h)).collect();
            let ordered = in_reading_order(all.clone());
            prop_assert_eq!(ordered.len(), all.len());
            prop_assert_eq!(in_reading_order(shuffle(&all, seed)), ordered);
        }

        #[test]
        fn elements_entirely_above_are_read_first(boxes in proptest::collection::vec((0i32..500, 0i32..300, 1i32..200, 1i32..40), 0..30)) {
            let all: Vec<MergedElement> = boxes.iter().map(|(x, y, w, h)| found("", *x, *y, *w, *h)).collect();
            let ordered = in_reading_order(all);
            for (index, below) in ordered.iter().enumerate() {
                for above in &ordered[index + 1..] {
                    let rows_apart = below.bounds.min.y - above.bounds.max.y;
                    // A row is as high as its first element plus what overlaps it by half, so two row heights are a
                    // safe bound.
                    prop_assert!(rows_apart < 160, "{:?} is read before {:?}", below.bounds, above.bounds);
                }
            }
        }
    }
}
