//! From what a network says to detections.
//!
//! The answer is `[4 + classes, cells]`: for each cell the middle, width and height of a box in pixels of what the network
//! was shown, and the score of each class from 0 to 1. Pure. `training/detector/frame.py` does the same for what is
//! measured there.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

use super::Detection;

/// Of boxes that share more than this of their union the most confident stays, whatever its class. What a control has in
/// it is smaller than that; with 0.7 a fourth of what was found for nothing was a second box (validation screens).
const SAME_THING: f32 = 0.4;

/// No screen has more controls than this.
const MOST: usize = 1000;

/// A box: left, top, right, bottom.
pub(super) type Sides = [f32; 4];

/// A box that a network is sure enough of, in pixels of the picture. There may be many for one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) sides: Sides,
    pub(super) kind: ElementKind,
    /// 0 to 1.
    pub(super) score: f32,
}

/// What an answer is at least so sure of, in pixels of a picture of which `scale` pixels were shown for each of its own.
/// `values` are the answer's rows one after the other: four, and one for each of `kinds`.
pub(super) fn candidates(
    values: &[f32],
    kinds: &[ElementKind],
    least: f32,
    scale: f64,
) -> Vec<Candidate> {
    let cells = values.len() / (4 + kinds.len());
    let (boxes, scores) = values.split_at(4 * cells);
    let (scores, classes) = best(scores, cells);
    (0..cells)
        .filter(|&cell| scores[cell] >= least)
        .map(|cell| Candidate {
            sides: sides(boxes, cells, cell).map(|side| (f64::from(side) / scale) as f32),
            kind: kinds[classes[cell]],
            score: scores[cell],
        })
        .filter(|candidate| candidate.sides.iter().all(|side| side.is_finite()))
        .collect()
}

/// One candidate for each thing, the most confident first, inside of a picture of `size`.
pub(super) fn apart(candidates: Vec<Candidate>, size: CaptureSize) -> Vec<Candidate> {
    let inside = |candidate| inside(candidate, size);
    let mut candidates: Vec<_> = candidates.into_iter().filter_map(inside).collect();
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    // More than this before duplicates are left out is noise.
    candidates.truncate(4 * MOST);
    without_duplicates(candidates)
}

/// In whole pixels; `None` if none is left of it.
pub(super) fn detection(found: Candidate) -> Option<Detection> {
    let bounds = bounds(found.sides)?;
    Some(Detection::new(bounds, found.kind, found.score))
}

/// The highest score of each cell, and whose it is. Row by row, as the answer lies in memory.
fn best(rows: &[f32], cells: usize) -> (Vec<f32>, Vec<usize>) {
    let mut scores = vec![f32::NEG_INFINITY; cells];
    let mut classes = vec![0; cells];
    for (class, row) in rows.chunks_exact(cells.max(1)).enumerate() {
        for ((score, best), belongs) in row.iter().zip(&mut scores).zip(&mut classes) {
            if score > best {
                (*best, *belongs) = (*score, class);
            }
        }
    }
    (scores, classes)
}

fn sides(boxes: &[f32], cells: usize, cell: usize) -> Sides {
    let [x, y, width, height] = [0, 1, 2, 3].map(|row| boxes[row * cells + cell]);
    let (across, down) = (width / 2.0, height / 2.0);
    [x - across, y - down, x + across, y + down]
}

/// What of it is in the picture, if any is. Before boxes are compared: two that differ only beyond the edge are one thing.
fn inside(candidate: Candidate, size: CaptureSize) -> Option<Candidate> {
    let (width, height) = (size.width as f32, size.height as f32);
    let [x1, y1, x2, y2] = candidate.sides;
    let sides = [
        x1.clamp(0.0, width),
        y1.clamp(0.0, height),
        x2.clamp(0.0, width),
        y2.clamp(0.0, height),
    ];
    let has_an_inside = sides[0] < sides[2] && sides[1] < sides[3];
    has_an_inside.then_some(Candidate { sides, ..candidate })
}

/// The most confident come first.
fn without_duplicates(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        if kept.len() == MOST {
            break;
        }
        if kept
            .iter()
            .all(|other| overlap(other.sides, candidate.sides) <= SAME_THING)
        {
            kept.push(candidate);
        }
    }
    kept
}

/// Shared area as a share of the union.
pub(super) fn overlap(a: Sides, b: Sides) -> f32 {
    let area = |[x1, y1, x2, y2]: Sides| (x2 - x1).max(0.0) * (y2 - y1).max(0.0);
    let shared = area([
        a[0].max(b[0]),
        a[1].max(b[1]),
        a[2].min(b[2]),
        a[3].min(b[3]),
    ]);
    shared / (area(a) + area(b) - shared).max(f32::MIN_POSITIVE)
}

/// The box in whole pixels; `None` if it has no inside.
fn bounds(sides: Sides) -> Option<CaptureRect> {
    let [x1, y1, x2, y2] = sides.map(|side| side.round() as i32);
    let bounds = CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2));
    (!bounds.is_empty()).then_some(bounds)
}

#[cfg(test)]
mod tests {
    use ElementKind::{Button, Link};
    use proptest::prelude::*;

    use super::*;

    fn detections(candidates: Vec<Candidate>, size: CaptureSize) -> Vec<Detection> {
        let apart = apart(candidates, size).into_iter();
        apart.filter_map(detection).collect()
    }

    const KINDS: [ElementKind; 2] = [Button, Link];

    /// An answer of cells, each x, y, width, height and the scores of both classes.
    fn answer(cells: &[[f32; 6]]) -> Vec<f32> {
        (0..6)
            .flat_map(|row| cells.iter().map(move |cell| cell[row]))
            .collect()
    }

    #[track_caller]
    fn check(cells: &[[f32; 6]], scale: f64, expected: &[(ElementKind, [i32; 4])]) {
        let size = CaptureSize::new(200, 100);
        let found = detections(candidates(&answer(cells), &KINDS, 0.5, scale), size);
        let got: Vec<_> = found
            .iter()
            .map(|found| {
                let (min, max) = (found.bounds.min, found.bounds.max);
                (found.kind, [min.x, min.y, max.x, max.y])
            })
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn what_is_sure_enough_is_found_with_the_surest_first() {
        check(&[], 1.0, &[]);
        check(
            &[
                [20.0, 20.0, 10.0, 10.0, 0.6, 0.1],
                [60.0, 20.0, 20.0, 10.0, 0.2, 0.9],
                [90.0, 20.0, 20.0, 10.0, 0.4, 0.4],
            ],
            1.0,
            &[(Link, [50, 15, 70, 25]), (Button, [15, 15, 25, 25])],
        );
    }

    #[test]
    fn of_the_same_thing_the_surest_stays_whatever_its_class() {
        check(
            &[
                [20.0, 20.0, 20.0, 20.0, 0.6, 0.1],
                [21.0, 20.0, 20.0, 20.0, 0.1, 0.8],
                [20.0, 20.0, 8.0, 8.0, 0.7, 0.1],
            ],
            1.0,
            &[(Link, [11, 10, 31, 30]), (Button, [16, 16, 24, 24])],
        );
    }

    #[test]
    fn boxes_are_in_the_pictures_own_pixels_and_inside_of_it() {
        check(
            &[[50.0, 25.0, 120.0, 10.0, 0.9, 0.0]],
            0.5,
            &[(Button, [0, 40, 200, 60])],
        );
        check(&[[300.0, 25.0, 20.0, 10.0, 0.9, 0.0]], 1.0, &[]);
        check(&[[f32::NAN, 25.0, 20.0, 10.0, 0.9, 0.0]], 1.0, &[]);
        check(&[[50.0, 25.0, f32::INFINITY, 10.0, 0.9, 0.0]], 1.0, &[]);
        check(&[[50.0, 25.0, -20.0, 10.0, 0.9, 0.0]], 1.0, &[]);
        check(&[[50.0, 25.0, 20.0, 10.0, f32::NAN, f32::NAN]], 1.0, &[]);
    }

    proptest! {
        #[test]
        fn whatever_is_said_boxes_lie_inside_and_are_apart(
            cells in prop::collection::vec(prop::array::uniform6(prop::num::f32::ANY), 0..40)
        ) {
            let size = CaptureSize::new(64, 48);
            for found in detections(candidates(&answer(&cells), &KINDS, 0.5, 0.7), size) {
                prop_assert!(!found.bounds.is_empty());
                prop_assert!(CaptureRect::from_size(size).contains_box(&found.bounds));
                prop_assert!(found.confidence >= 0.5);
            }
        }
    }
}
