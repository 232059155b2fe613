//! Merges the detections of several scales of one image.
//!
//! The receptive field of the model is a few hundred pixels. Large elements are therefore taken from a copy at half
//! size, and still larger ones from a copy at a quarter.
//!
//! In such a copy a table row is about ten pixels high, and its box is off by as much. At full size the model sees the
//! row and its vertical position, but not its ends. For thin elements the long sides come from the smaller copy, the
//! short sides from the full-size pass, and the score is the higher of both.
//!
//! [`run_passes`] decides which scales an image needs; the caller runs the model, or has its outputs already. Pure.

use super::postprocess::{Candidate, Sides};

/// Scales of the additional passes. The first costs a fourth more time, the second a sixteenth. With a third instead of
/// a fourth, recall on the validation screens is one point lower.
pub(super) const SCALES: [f64; 2] = [0.5, 0.25];

/// Scale of the full-size pass.
const FULL_SIZE: f64 = 1.0;

/// Minimum long side of elements that are taken from the smallest scale, as a multiple of the large size: panes, text
/// that fills a screen.
// 800 pixels at a large size of 400.
const HUGE: f32 = 2.0;
/// Minimum short side of elements that are taken from the smallest scale, as a multiple of the large size.
// 150 pixels at a large size of 400. A thinner element would be less than 38 pixels high in a copy at a quarter of the
// size, where its box is off by too large a part of that; the copy at half size has it.
const HUGE_ACROSS: f32 = 0.375;

/// Minimum score of a box in either pass to influence the other.
// Below the detection threshold, because an uncertain box may still tell where the ends of a row are.
pub(super) const MIN_SCORE: f32 = 0.1;

/// Maximum thickness of a thin element, as a fraction of the large size.
const MAX_THIN_EXTENT: f32 = 0.16;
/// Minimum length of a full-size box that refines a thin element, as a fraction of the large size.
const MIN_NEAR_LENGTH: f32 = 0.25;
/// Maximum offset across the axis between both passes, in thicknesses.
// With more, the box in the smaller copy may be the next row.
const MAX_CENTRE_OFFSET: f32 = 0.5;
/// Maximum ratio of the thicknesses in both passes.
// A row is about ten pixels high in the smaller copy, so its thickness is off by some of them.
const MAX_THICKNESS_RATIO: f32 = 1.6;
/// Minimum overlap across the axis of full-size boxes of the same element.
// Neighbouring rows hardly overlap; boxes of one row nearly coincide.
const SAME_ROW_OVERLAP: f32 = 0.6;

/// Runs the passes that an image needs whose longer side has `longer_side` pixels, and merges their boxes. `run_pass`
/// gets the scale relative to the full-size pass. Without `large` there is a single pass; see [`merge_scales`].
///
/// # Errors
/// Those of `run_pass`.
pub(super) fn run_passes<E>(
    longer_side: f32,
    large: Option<f32>,
    mut run_pass: impl FnMut(f64) -> Result<Vec<Candidate>, E>,
) -> Result<Vec<Candidate>, E> {
    let near = run_pass(FULL_SIZE)?;
    let Some(large) = large.filter(|large| longer_side >= *large) else {
        return Ok(near);
    };
    let [half, quarter] = SCALES;
    let afar = run_pass(half)?;
    let farthest = if longer_side >= HUGE * large {
        run_pass(quarter)?
    } else {
        Vec::new()
    };
    Ok(merge_scales(near, [afar, farthest], large))
}

/// Merges the boxes of the full-size pass and of the scaled copies. Elements of at least `large` image pixels count as
/// large.
fn merge_scales(
    mut near: Vec<Candidate>,
    [half, quarter]: [Vec<Candidate>; 2],
    large: f32,
) -> Vec<Candidate> {
    let half = half
        .into_iter()
        .filter(|found| is_large(found, large) && !is_huge(found, large));
    let half: Vec<_> = half.map(|found| refine_thin(found, &near, large)).collect();
    let quarter = quarter.into_iter().filter(|found| is_huge(found, large));
    near.retain(|found| !is_large(found, large));
    near.extend(half);
    near.extend(quarter);
    near
}

fn is_large(found: &Candidate, large: f32) -> bool {
    let (longer, _) = extent(found);
    longer >= large
}

fn is_huge(found: &Candidate, large: f32) -> bool {
    let (longer, shorter) = extent(found);
    longer >= HUGE * large && shorter >= HUGE_ACROSS * large
}

/// Returns the longer and the shorter side.
fn extent(found: &Candidate) -> (f32, f32) {
    let [width, height] = Axis::BOTH.map(|axis| axis.along(found.sides).length());
    (width.max(height), width.min(height))
}

/// Refines a thin element with its position in the full-size pass, if it was detected there.
fn refine_thin(afar: Candidate, near: &[Candidate], large: f32) -> Candidate {
    let is_slender = |axis: &Axis| {
        let is_thin = axis.across(afar.sides).length() < MAX_THIN_EXTENT * large;
        is_thin && axis.along(afar.sides).length() >= large && afar.score >= MIN_SCORE
    };
    let Some(axis) = Axis::BOTH.into_iter().find(is_slender) else {
        return afar;
    };
    let seen = matching_near(near, &afar, axis, large);
    if seen.is_empty() {
        return afar;
    }
    let weight: f32 = seen.iter().map(|found| found.score).sum();
    let mean = |side: fn(AxisRange) -> f32| {
        let sum: f32 = seen
            .iter()
            .map(|found| found.score * side(axis.across(found.sides)))
            .sum();
        sum / weight
    };
    let across = AxisRange {
        from: mean(|across| across.from),
        to: mean(|across| across.to),
    };
    let surest = seen.iter().map(|found| found.score).fold(0.0, f32::max);
    Candidate {
        sides: axis.sides(axis.along(afar.sides), across),
        score: afar.score.max(surest),
        ..afar
    }
}

/// Returns the full-size boxes of an element; there may be several.
fn matching_near(near: &[Candidate], one: &Candidate, axis: Axis, large: f32) -> Vec<Candidate> {
    let (along, across) = (axis.along(one.sides), axis.across(one.sides));
    let is_of_it = |found: &&Candidate| {
        let (its_length, its_thickness) = (axis.along(found.sides), axis.across(found.sides));
        let times = its_thickness.length() / across.length();
        let is_beside =
            (its_thickness.middle() - across.middle()).abs() < MAX_CENTRE_OFFSET * across.length();
        found.kind == one.kind
            && found.score >= MIN_SCORE
            && its_length.length() >= MIN_NEAR_LENGTH * large
            && its_thickness.length() < MAX_THICKNESS_RATIO * MAX_THIN_EXTENT * large
            && is_beside
            && (1.0 / MAX_THICKNESS_RATIO < times && times < MAX_THICKNESS_RATIO)
            && (along.from < its_length.middle() && its_length.middle() < along.to)
    };
    let mut seen: Vec<Candidate> = near.iter().filter(is_of_it).copied().collect();
    let fit = |found: &Candidate| found.score * axis.across(found.sides).shared(across);
    // Among equal fits the first one wins.
    let best = seen.iter().rev().max_by(|a, b| fit(a).total_cmp(&fit(b)));
    let Some(best) = best.map(|best| axis.across(best.sides)) else {
        return seen;
    };
    seen.retain(|found| axis.across(found.sides).shared(best) >= SAME_ROW_OVERLAP);
    seen
}

/// Axis along which an element is long.
#[derive(Debug, Clone, Copy)]
enum Axis {
    Horizontal,
    Vertical,
}

impl Axis {
    const BOTH: [Self; 2] = [Self::Horizontal, Self::Vertical];

    fn along(self, [left, top, right, bottom]: Sides) -> AxisRange {
        let (from, to) = match self {
            Self::Horizontal => (left, right),
            Self::Vertical => (top, bottom),
        };
        AxisRange { from, to }
    }

    fn across(self, sides: Sides) -> AxisRange {
        match self {
            Self::Horizontal => Self::Vertical.along(sides),
            Self::Vertical => Self::Horizontal.along(sides),
        }
    }

    fn sides(self, along: AxisRange, across: AxisRange) -> Sides {
        match self {
            Self::Horizontal => [along.from, across.from, along.to, across.to],
            Self::Vertical => [across.from, along.from, across.to, along.to],
        }
    }
}

/// Range on an axis.
#[derive(Debug, Clone, Copy)]
struct AxisRange {
    from: f32,
    to: f32,
}

impl AxisRange {
    fn length(self) -> f32 {
        self.to - self.from
    }

    fn middle(self) -> f32 {
        self.from.midpoint(self.to)
    }

    /// Shared length as a fraction of the union.
    fn shared(self, other: Self) -> f32 {
        let shared = self.to.min(other.to) - self.from.max(other.from);
        let union = self.to.max(other.to) - self.from.min(other.from);
        shared.max(0.0) / union.max(f32::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::element::ElementKind::{self, Button, TableRow, TextField};
    use proptest::prelude::*;

    use super::*;

    const LARGE: f32 = 400.0;

    fn found(kind: ElementKind, sides: Sides, score: f32) -> Candidate {
        Candidate { sides, kind, score }
    }

    #[track_caller]
    fn check(near: &[Candidate], afar: [&[Candidate]; 2], expected: &[Candidate]) {
        let got = merge_scales(near.to_vec(), afar.map(<[Candidate]>::to_vec), LARGE);
        assert_eq!(got, expected);
    }

    #[test]
    fn small_images_need_fewer_passes() {
        let check = |longer_side: f32, large: Option<f32>, expected: &[f64]| {
            let mut scales = Vec::new();
            let found: Result<_, ()> = run_passes(longer_side, large, |scale| {
                scales.push(scale);
                Ok(Vec::new())
            });
            assert_eq!(found, Ok(Vec::new()));
            assert_eq!(scales, expected, "{longer_side} {large:?}");
        };
        check(1920.0, None, &[1.0]);
        check(399.0, Some(LARGE), &[1.0]);
        check(400.0, Some(LARGE), &[1.0, 0.5]);
        check(800.0, Some(LARGE), &[1.0, 0.5, 0.25]);
    }

    #[test]
    fn each_element_size_comes_from_its_matching_scale() {
        let button = found(Button, [10.0, 10.0, 90.0, 40.0], 0.9);
        let pane = found(TextField, [0.0, 0.0, 600.0, 300.0], 0.8);
        let screen = found(TextField, [0.0, 0.0, 1200.0, 700.0], 0.7);
        let all = [button, pane, screen];
        check(&all, [&all, &all], &all);
        check(&all, [&[], &[]], &[button]);
        check(&[], [&all, &[]], &[pane]);
        check(&[], [&[], &all], &[screen]);
    }

    /// Checks rows given as from, to, above, below and score, and the same rows turned by 90°.
    #[track_caller]
    fn check_slender(near: &[[f32; 5]], afar: [f32; 5], expected: [f32; 5]) {
        for axis in Axis::BOTH {
            let row = |[from, to, above, below, score]: [f32; 5]| {
                let along = AxisRange { from, to };
                let across = AxisRange {
                    from: above,
                    to: below,
                };
                found(TableRow, axis.sides(along, across), score)
            };
            let near: Vec<_> = near.iter().copied().map(row).collect();
            let got = merge_scales(near, [vec![row(afar)], Vec::new()], LARGE);
            assert_eq!(got.last(), Some(&row(expected)), "{axis:?}");
        }
    }

    #[test]
    fn slender_box_combines_coarse_length_and_fine_position() {
        let afar = [100.0, 900.0, 208.0, 230.0, 0.2];
        // Two boxes of this row, one of the next.
        check_slender(
            &[
                [300.0, 720.0, 200.0, 220.0, 0.5],
                [400.0, 840.0, 202.0, 222.0, 0.5],
                [300.0, 720.0, 222.0, 242.0, 0.125],
            ],
            afar,
            [100.0, 900.0, 201.0, 221.0, 0.5],
        );
        // Slightly farther away, but with a higher score.
        check_slender(
            &[
                [300.0, 720.0, 198.0, 218.0, 0.15],
                [300.0, 720.0, 218.0, 238.0, 0.5],
            ],
            afar,
            [100.0, 900.0, 218.0, 238.0, 0.5],
        );
    }

    #[test]
    fn unsuitable_fine_boxes_do_not_move_a_slender_box() {
        let afar = [100.0, 900.0, 208.0, 230.0, 0.2];
        for other in [
            [300.0, 720.0, 200.0, 220.0, 0.05],
            [300.0, 390.0, 200.0, 220.0, 0.6],
            [300.0, 720.0, 240.0, 260.0, 0.6],
            [300.0, 720.0, 180.0, 240.0, 0.6],
            [950.0, 1350.0, 200.0, 220.0, 0.6],
        ] {
            check_slender(&[other], afar, afar);
        }
        let row = found(TableRow, [100.0, 208.0, 900.0, 230.0], 0.2);
        let field = found(TextField, [300.0, 200.0, 720.0, 220.0], 0.6);
        check(&[field], [&[row], &[]], &[row]);
    }

    proptest! {
        #[test]
        fn merged_scales_keep_the_count_and_valid_boxes(
            boxes in prop::collection::vec((prop::array::uniform4(0_f32..2000.0), 0_f32..1.0), 0..60)
        ) {
            let all: Vec<_> = boxes
                .iter()
                .map(|([a, b, c, d], score)| found(TableRow, [a.min(*c), b.min(*d), a.max(*c), b.max(*d)], *score))
                .collect();
            let got = merge_scales(all.clone(), [all.clone(), all.clone()], LARGE);
            prop_assert_eq!(got.len(), all.len());
            for found in got {
                prop_assert!(found.sides[0] <= found.sides[2] && found.sides[1] <= found.sides[3]);
                prop_assert!((0.0..=1.0).contains(&found.score));
            }
        }
    }
}
