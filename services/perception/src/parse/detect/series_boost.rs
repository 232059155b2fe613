//! Raises the scores of elements in a series of similar elements.
//!
//! Keys, tabs, rows, tools and checkboxes come in rows and columns of similar elements: of equal height, aligned, and
//! close to each other. An element with a more confident neighbour of its kind in such a series gets twice its score,
//! but at most the score of the neighbour.
//!
//! Form fields are excluded: the space between two of them is as wide as they are and is a caption. Boxes are neither
//! moved nor added. Pure. On validation screens, a threshold of 0.22 with it instead of 0.2 without it raises recall on
//! drawn screens from 0.879 to 0.882 and lowers the false positive rate on applications from 0.080 to 0.069.

use motorium_proto::domain::element::ElementKind;

use super::postprocess::{Candidate, Sides};

/// Factor by which a score is raised.
// Lifts a score of half the threshold over it. The figures above were measured with this factor.
const BOOST_FACTOR: f32 = 2.0;
/// Scores below this are not raised.
// Twice a lower score is still far below the threshold.
const MIN_SCORE: f32 = 0.05;
/// Maximum difference in size and alignment of a neighbour, as a fraction of the sides.
const ALIGNMENT_TOLERANCE: f32 = 0.08;
/// Minimum tolerance in pixels, for small elements.
// Of a side of less than 25 pixels, the fraction is less than the pixel or two by which the model misses a side.
const MIN_TOLERANCE_PX: f32 = 2.0;
/// Maximum distance of the centres: in heights for a neighbour above or below, in longer sides for one beside.
// Elements of a series are about one height or side apart, so a neighbour may lie behind two or three that were missed.
const MAX_NEIGHBOUR_DISTANCE: f32 = 4.0;

/// Raises the scores of elements in a series. Expects one candidate per control and descending scores, and keeps that
/// order.
pub(super) fn boost_scores(found: &mut [Candidate]) {
    let before = found.to_vec();
    for (place, one) in found.iter_mut().enumerate() {
        if one.score < MIN_SCORE {
            break;
        }
        if is_field(one.kind) {
            continue;
        }
        let is_neighbour = |other: &&Candidate| {
            other.kind == one.kind
                && other.score > one.score
                && are_in_a_series(other.sides, one.sides)
        };
        if let Some(neighbour) = before[..place].iter().find(is_neighbour) {
            one.score = (BOOST_FACTOR * one.score).min(neighbour.score);
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
}

fn is_field(kind: ElementKind) -> bool {
    use ElementKind::{DropDown, Slider, SpinBox, TextField};
    matches!(kind, TextField | DropDown | SpinBox | Slider)
}

fn are_in_a_series(other: Sides, one: Sides) -> bool {
    let [left, top, right, bottom] = one;
    let (width, height) = (right - left, bottom - top);
    let across = (ALIGNMENT_TOLERANCE * width).max(MIN_TOLERANCE_PX);
    let down = (ALIGNMENT_TOLERANCE * height).max(MIN_TOLERANCE_PX);
    let off: Sides = std::array::from_fn(|side| (other[side] - one[side]).abs());
    let away = |axis: usize| {
        let middle = |sides: Sides| sides[axis].midpoint(sides[axis + 2]);
        (middle(other) - middle(one)).abs()
    };
    let is_as_high = (other[3] - other[1] - height).abs() <= down;
    let is_above_or_below = off[0] <= across
        && off[2] <= across
        && is_as_high
        && away(1) <= MAX_NEIGHBOUR_DISTANCE * height;
    let is_beside =
        off[1] <= down && off[3] <= down && away(0) <= MAX_NEIGHBOUR_DISTANCE * width.max(height);
    is_above_or_below || is_beside
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::ElementKind::{Button, Icon, TextField};
    use proptest::prelude::*;

    use super::*;

    /// A key of a keypad, 60 by 30, at a column and a row.
    fn key(column: f32, row: f32, score: f32) -> Candidate {
        let (left, top) = (100.0 + 64.0 * column, 200.0 + 34.0 * row);
        Candidate {
            sides: [left, top, left + 60.0, top + 30.0],
            kind: Button,
            score,
        }
    }

    #[track_caller]
    fn check(mut found: Vec<Candidate>, expected: &[f32]) {
        boost_scores(&mut found);
        let scores: Vec<f32> = found.iter().map(|one| one.score).collect();
        assert_eq!(scores, expected);
    }

    #[test]
    fn neighbour_in_a_series_doubles_the_score() {
        for (column, row) in [(1.0, 0.0), (0.0, 1.0), (-2.0, 0.0), (0.0, 3.0)] {
            check(
                vec![key(0.0, 0.0, 0.6), key(column, row, 0.15)],
                &[0.6, 0.3],
            );
        }
    }

    #[test]
    fn boosted_score_does_not_exceed_the_neighbours() {
        check(vec![key(0.0, 0.0, 0.25), key(1.0, 0.0, 0.2)], &[0.25, 0.25]);
    }

    #[test]
    fn score_without_a_matching_neighbour_stays() {
        let slanted = key(1.0, 0.3, 0.15);
        let far = key(6.0, 0.0, 0.15);
        let of_another_kind = Candidate {
            kind: Icon,
            ..key(1.0, 0.0, 0.15)
        };
        let [left, top, right, bottom] = key(0.0, 1.0, 0.15).sides;
        let wider = Candidate {
            sides: [left, top, right + 40.0, bottom],
            ..key(0.0, 1.0, 0.15)
        };
        let hardly_seen = key(1.0, 0.0, 0.04);
        for alone in [slanted, far, of_another_kind, wider] {
            check(vec![key(0.0, 0.0, 0.6), alone], &[0.6, 0.15]);
        }
        check(vec![key(0.0, 0.0, 0.6), hardly_seen], &[0.6, 0.04]);
    }

    #[test]
    fn form_fields_are_not_a_series() {
        let field = |row, score| Candidate {
            kind: TextField,
            ..key(0.0, row, score)
        };
        check(vec![field(0.0, 0.6), field(1.0, 0.15)], &[0.6, 0.15]);
    }

    #[test]
    fn the_most_confident_come_first_again() {
        let alone = key(3.0, 9.0, 0.25);
        check(
            vec![key(0.0, 0.0, 0.6), alone, key(1.0, 0.0, 0.2)],
            &[0.6, 0.4, 0.25],
        );
    }

    proptest! {
        #[test]
        fn boosting_keeps_all_candidates_and_lowers_no_score(
            places in proptest::collection::vec((0..9_i8, 0..9_i8, 0.0..1.0_f32), 0..30)
        ) {
            let mut found: Vec<Candidate> = places
                .iter()
                .map(|(column, row, score)| key(f32::from(*column), f32::from(*row), *score))
                .collect();
            found.sort_by(|a, b| b.score.total_cmp(&a.score));
            let best_score = found.first().map(|one| one.score);
            let sum = |found: &[Candidate]| found.iter().map(|one| one.score).sum::<f32>();
            let before = (found.len(), sum(&found));
            boost_scores(&mut found);
            prop_assert_eq!(found.len(), before.0);
            prop_assert!(sum(&found) >= before.1 - 1e-4);
            prop_assert_eq!(found.first().map(|one| one.score), best_score);
            prop_assert!(found.is_sorted_by(|a, b| a.score >= b.score));
        }
    }
}
