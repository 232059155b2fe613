//! What several looks at one picture say together.
//!
//! A network sees no further than some hundred pixels. So what is large is taken from a look from afar, at a copy of half
//! the size, and what is larger still from one at a quarter.
//!
//! From there a row of a table is some ten pixels high, and its box as many pixels off. But in the picture's own pixels
//! the network sees that there is a row and where it lies, and only not where it ends. So of what is slender the long
//! sides are taken from the look from afar, the short ones from the nearest, and the score from the one that is surer.
//!
//! It does not look: it is told. Pure. `training/detector/looks.py` does the same for what is measured there.

use super::answer::{Candidate, Sides};

/// Sizes of the copies, of what is looked at otherwise. The first costs a fourth more time, the second a sixteenth. With
/// one of a third instead, recall is a point less (training's validation screens).
pub(super) const FROM_AFAR: [f64; 2] = [0.5, 0.25];

/// So long, in sizes of what is large, and the other way so high is what the look from farthest is for: panes, text over
/// a whole screen.
pub(super) const HUGE: f32 = 2.0;
const HUGE_ACROSS: f32 = 0.375;

/// What is less certain than this in either look says nothing about the other.
pub(super) const LEAST_SCORE: f32 = 0.1;

/// Thinner than this, in sizes of what is large, is what is taken from two looks.
const SLENDER: f32 = 0.16;
/// So long has to be what the nearest look shows of it.
const SEEN: f32 = 0.25;
/// So far across, in its own thickness, may the nearest look have it from where it is from afar.
const BESIDE: f32 = 0.5;
/// So many times as thick at most is it in one look as in the other.
const AS_THICK: f32 = 1.6;
/// Boxes of the nearest look that share so much of their thickness mean the same thing.
const SAME: f32 = 0.6;

/// What looks at the picture itself and at its copies show, where `large` pixels of the picture are large.
pub(super) fn merged(
    mut near: Vec<Candidate>,
    [half, quarter]: [Vec<Candidate>; 2],
    large: f32,
) -> Vec<Candidate> {
    let half = half
        .into_iter()
        .filter(|found| is_large(found, large) && !is_huge(found, large));
    let half: Vec<_> = half.map(|found| placed(found, &near, large)).collect();
    let quarter = quarter.into_iter().filter(|found| is_huge(found, large));
    near.retain(|found| !is_large(found, large));
    near.extend(half);
    near.extend(quarter);
    near
}

fn is_large(found: &Candidate, large: f32) -> bool {
    let (longest, _) = extent(found);
    longest >= large
}

fn is_huge(found: &Candidate, large: f32) -> bool {
    let (longest, shortest) = extent(found);
    longest >= HUGE * large && shortest >= HUGE_ACROSS * large
}

/// The longer and the shorter of its two sides.
fn extent(found: &Candidate) -> (f32, f32) {
    let [width, height] = Axis::BOTH.map(|axis| axis.along(found.sides).length());
    (width.max(height), width.min(height))
}

/// What was found from afar, and if it is slender and the nearest look sees it, where that has it.
fn placed(afar: Candidate, near: &[Candidate], large: f32) -> Candidate {
    let is_slender = |axis: &Axis| {
        let is_thin = axis.across(afar.sides).length() < SLENDER * large;
        is_thin && axis.along(afar.sides).length() >= large && afar.score >= LEAST_SCORE
    };
    let Some(axis) = Axis::BOTH.into_iter().find(is_slender) else {
        return afar;
    };
    let seen = seen_by(near, &afar, axis, large);
    if seen.is_empty() {
        return afar;
    }
    let weight: f32 = seen.iter().map(|found| found.score).sum();
    let mean = |side: fn(Stretch) -> f32| {
        let sum: f32 = seen
            .iter()
            .map(|found| found.score * side(axis.across(found.sides)))
            .sum();
        sum / weight
    };
    let across = Stretch {
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

/// What the nearest look has of `one`: several boxes for the same thing.
fn seen_by(near: &[Candidate], one: &Candidate, axis: Axis, large: f32) -> Vec<Candidate> {
    let (along, across) = (axis.along(one.sides), axis.across(one.sides));
    let is_of_it = |found: &&Candidate| {
        let (its_length, its_thickness) = (axis.along(found.sides), axis.across(found.sides));
        let times = its_thickness.length() / across.length();
        let is_beside = (its_thickness.middle() - across.middle()).abs() < BESIDE * across.length();
        found.kind == one.kind
            && found.score >= LEAST_SCORE
            && its_length.length() >= SEEN * large
            && its_thickness.length() < AS_THICK * SLENDER * large
            && is_beside
            && (1.0 / AS_THICK < times && times < AS_THICK)
            && (along.from < its_length.middle() && its_length.middle() < along.to)
    };
    let mut seen: Vec<Candidate> = near.iter().filter(is_of_it).copied().collect();
    let fit = |found: &Candidate| found.score * axis.across(found.sides).shared(across);
    // Of equals the first.
    let best = seen.iter().rev().max_by(|a, b| fit(a).total_cmp(&fit(b)));
    let Some(best) = best.map(|best| axis.across(best.sides)) else {
        return seen;
    };
    seen.retain(|found| axis.across(found.sides).shared(best) >= SAME);
    seen
}

/// The one along which something is long.
#[derive(Debug, Clone, Copy)]
enum Axis {
    Horizontal,
    Vertical,
}

impl Axis {
    const BOTH: [Self; 2] = [Self::Horizontal, Self::Vertical];

    fn along(self, [left, top, right, bottom]: Sides) -> Stretch {
        let (from, to) = match self {
            Self::Horizontal => (left, right),
            Self::Vertical => (top, bottom),
        };
        Stretch { from, to }
    }

    fn across(self, sides: Sides) -> Stretch {
        match self {
            Self::Horizontal => Self::Vertical.along(sides),
            Self::Vertical => Self::Horizontal.along(sides),
        }
    }

    fn sides(self, along: Stretch, across: Stretch) -> Sides {
        match self {
            Self::Horizontal => [along.from, across.from, along.to, across.to],
            Self::Vertical => [across.from, along.from, across.to, along.to],
        }
    }
}

/// A part of an axis.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    from: f32,
    to: f32,
}

impl Stretch {
    fn length(self) -> f32 {
        self.to - self.from
    }

    fn middle(self) -> f32 {
        self.from.midpoint(self.to)
    }

    /// Shared length as a share of the union.
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
        let got = merged(near.to_vec(), afar.map(<[Candidate]>::to_vec), LARGE);
        assert_eq!(got, expected);
    }

    #[test]
    fn each_size_comes_from_the_look_that_sees_it_whole() {
        let button = found(Button, [10.0, 10.0, 90.0, 40.0], 0.9);
        let pane = found(TextField, [0.0, 0.0, 600.0, 300.0], 0.8);
        let screen = found(TextField, [0.0, 0.0, 1200.0, 700.0], 0.7);
        let all = [button, pane, screen];
        check(&all, [&all, &all], &all);
        check(&all, [&[], &[]], &[button]);
        check(&[], [&all, &[]], &[pane]);
        check(&[], [&[], &all], &[screen]);
    }

    /// Rows, each from where to where along and across, and how sure; and the same turned, for what is high.
    #[track_caller]
    fn check_slender(near: &[[f32; 5]], afar: [f32; 5], expected: [f32; 5]) {
        for axis in Axis::BOTH {
            let row = |[from, to, above, below, score]: [f32; 5]| {
                let along = Stretch { from, to };
                let across = Stretch {
                    from: above,
                    to: below,
                };
                found(TableRow, axis.sides(along, across), score)
            };
            let near: Vec<_> = near.iter().copied().map(row).collect();
            let got = merged(near, [vec![row(afar)], Vec::new()], LARGE);
            assert_eq!(got.last(), Some(&row(expected)), "{axis:?}");
        }
    }

    #[test]
    fn what_is_slender_is_as_long_as_from_afar_and_lies_where_it_is_near() {
        let afar = [100.0, 900.0, 208.0, 230.0, 0.2];
        // Two boxes for the row that it lies on, one for the next.
        check_slender(
            &[
                [300.0, 720.0, 200.0, 220.0, 0.5],
                [400.0, 840.0, 202.0, 222.0, 0.5],
                [300.0, 720.0, 222.0, 242.0, 0.125],
            ],
            afar,
            [100.0, 900.0, 201.0, 221.0, 0.5],
        );
        // Nearly as near, but sure.
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
    fn what_is_unsure_or_short_or_elsewhere_says_nothing_about_it() {
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
        fn nothing_is_made_up_or_turned_inside_out(
            boxes in prop::collection::vec((prop::array::uniform4(0_f32..2000.0), 0_f32..1.0), 0..60)
        ) {
            let all: Vec<_> = boxes
                .iter()
                .map(|([a, b, c, d], score)| found(TableRow, [a.min(*c), b.min(*d), a.max(*c), b.max(*d)], *score))
                .collect();
            let got = merged(all.clone(), [all.clone(), all.clone()], LARGE);
            prop_assert_eq!(got.len(), all.len());
            for found in got {
                prop_assert!(found.sides[0] <= found.sides[2] && found.sides[1] <= found.sides[3]);
                prop_assert!((0.0..=1.0).contains(&found.score));
            }
        }
    }
}
