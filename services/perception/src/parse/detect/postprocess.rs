//! Converts the output of a model to detections.
//!
//! The output is `[4 + classes, cells]`: for each cell the centre, width and height of a box in input pixels, and a
//! score from 0 to 1 per class. Pure.

use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

use super::Detection;

/// IoU above which the less confident of two boxes is dropped, regardless of class. A control inside another one has a
/// lower IoU. With 0.7, a fourth of the false positives on the validation screens were duplicates.
const NMS_IOU: f32 = 0.4;

/// Maximum number of detections per image; no real screen has more controls.
const MAX_DETECTIONS: usize = 1000;

/// Box as left, top, right, bottom.
pub(super) type Sides = [f32; 4];

/// Box whose score reaches the threshold, in image pixels. There may be several per control.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub(super) sides: Sides,
    pub(super) kind: ElementKind,
    /// 0 to 1.
    pub(super) score: f32,
}

/// Decodes the boxes whose score is at least `min_score`, in image pixels. `scale` is the number of input pixels per
/// image pixel. `values` are the rows of the output: four for the box and one per kind.
pub(super) fn decode_output(
    values: &[f32],
    kinds: &[ElementKind],
    min_score: f32,
    scale: f64,
) -> Vec<Candidate> {
    let cells = values.len() / (4 + kinds.len());
    let (boxes, scores) = values.split_at(4 * cells);
    let (scores, classes) = best(scores, cells);
    (0..cells)
        .filter(|&cell| scores[cell] >= min_score)
        .map(|cell| Candidate {
            sides: sides(boxes, cells, cell).map(|side| (f64::from(side) / scale) as f32),
            kind: kinds[classes[cell]],
            score: scores[cell],
        })
        .filter(|candidate| candidate.sides.iter().all(|side| side.is_finite()))
        .collect()
}

/// Non-maximum suppression: keeps one candidate per control inside an image of `size`, sorted by descending score.
pub(super) fn suppress_duplicates(candidates: Vec<Candidate>, size: CaptureSize) -> Vec<Candidate> {
    let inside = |candidate| inside(candidate, size);
    let mut candidates: Vec<_> = candidates.into_iter().filter_map(inside).collect();
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    // Candidates beyond this count are noise; the limit bounds the quadratic comparison.
    candidates.truncate(4 * MAX_DETECTIONS);
    without_duplicates(candidates)
}

/// Rounds a candidate to whole pixels; `None` if nothing is left.
pub(super) fn detection(found: Candidate) -> Option<Detection> {
    let bounds = bounds(found.sides)?;
    Some(Detection::new(bounds, found.kind, found.score))
}

/// Returns the highest score of each cell and its class. Iterates row by row, in memory order.
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

/// Clips a candidate to the image; `None` if it is outside. Done before boxes are compared, because two that differ
/// only beyond the edge are duplicates.
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

/// Expects descending scores.
fn without_duplicates(candidates: Vec<Candidate>) -> Vec<Candidate> {
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        if kept.len() == MAX_DETECTIONS {
            break;
        }
        if kept
            .iter()
            .all(|other| iou(other.sides, candidate.sides) <= NMS_IOU)
        {
            kept.push(candidate);
        }
    }
    kept
}

/// Intersection over union (IoU).
pub(super) fn iou(a: Sides, b: Sides) -> f32 {
    let area = |[x1, y1, x2, y2]: Sides| (x2 - x1).max(0.0) * (y2 - y1).max(0.0);
    let shared = area([
        a[0].max(b[0]),
        a[1].max(b[1]),
        a[2].min(b[2]),
        a[3].min(b[3]),
    ]);
    shared / (area(a) + area(b) - shared).max(f32::MIN_POSITIVE)
}

/// Rounds a box to whole pixels; `None` if it is empty.
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
        let apart = suppress_duplicates(candidates, size).into_iter();
        apart.filter_map(detection).collect()
    }

    const KINDS: [ElementKind; 2] = [Button, Link];

    /// Builds a model output from cells: x, y, width, height and the scores of both classes.
    fn answer(cells: &[[f32; 6]]) -> Vec<f32> {
        (0..6)
            .flat_map(|row| cells.iter().map(move |cell| cell[row]))
            .collect()
    }

    #[track_caller]
    fn check(cells: &[[f32; 6]], scale: f64, expected: &[(ElementKind, [i32; 4])]) {
        let size = CaptureSize::new(200, 100);
        let found = detections(decode_output(&answer(cells), &KINDS, 0.5, scale), size);
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
    fn detections_above_the_threshold_are_sorted_by_confidence() {
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
    fn overlapping_boxes_keep_the_most_confident_of_any_class() {
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
    fn detections_are_in_image_pixels_and_clipped() {
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
        fn arbitrary_outputs_give_boxes_inside_the_image(
            cells in prop::collection::vec(prop::array::uniform6(prop::num::f32::ANY), 0..40)
        ) {
            let size = CaptureSize::new(64, 48);
            for found in detections(decode_output(&answer(&cells), &KINDS, 0.5, 0.7), size) {
                prop_assert!(!found.bounds.is_empty());
                prop_assert!(CaptureRect::from_size(size).contains_box(&found.bounds));
                prop_assert!(found.confidence >= 0.5);
            }
        }
    }
}
