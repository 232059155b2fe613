//! Looking again only at what changed.
//!
//! Of a picture before it is known what is on it; of the new one it is known where it differs. Around each difference
//! a part of the new picture is looked at: large enough that whatever stands there is in it whole, with some of its
//! surroundings, because finders judge by context. What was found in the parts replaces what stood there before; the
//! rest is kept as it is. When a find turns out to reach out of its part, or over something that was kept, the parts
//! grow and are looked at again.
//!
//! Pure: the finder is an argument.
//!
//! Invariant: nothing that was known is kept where the picture differs.

use motorium_imaging::changes;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

/// Finds reach out over what they stand for by a few pixels, so something this near to a difference may be another
/// thing now.
const REACH: i32 = 6;

/// Surroundings that a finder is shown, in pixels: about a line and a half of text.
const CONTEXT: i32 = 32;

/// Parts lie on this grid, in pixels: that of the coarsest features of the networks that look at them, so that a part
/// gives the same features as the whole picture, unless that is scaled down for them.
const GRID: i32 = 32;

/// What looking at one more part costs, in pixels that could be looked at instead.
const COST_OF_A_PART: i64 = 12_000;

/// Share of a picture from which on looking at parts of it saves too little.
const MOST: f64 = 0.5;

/// How often parts may grow before the whole picture is looked at.
const ROUNDS: usize = 4;

/// More differing boxes than this are no longer a few changes.
const MOST_CHANGES: usize = 600;

/// Two boxes that share more than this of the smaller one cannot both be right.
const IN_THE_WAY: f64 = 0.3;

/// Something that stands somewhere on a picture.
pub(super) trait Placed: Clone {
    fn bounds(&self) -> CaptureRect;

    /// Whether a difference in the box `changed` may make it another thing. A window's panel is none the less itself
    /// when something in its middle changes.
    fn is_touched_by(&self, changed: CaptureRect) -> bool {
        self.bounds().intersects(&changed)
    }
}

impl Placed for CaptureRect {
    fn bounds(&self) -> CaptureRect {
        *self
    }
}

/// What is on the new picture.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Again<T> {
    /// Where in what was known each thing stands that was kept.
    pub kept: Vec<usize>,
    pub found: Vec<T>,
    /// Pixels that were looked at.
    pub looked_at: u64,
}

/// What is on a picture of `size`: found anew, or brought up from what was known of another one and where it differs.
///
/// # Errors
/// Those of `find`.
pub(super) fn look<T: Placed, E>(
    before: Option<(&[T], &[CaptureRect])>,
    size: CaptureSize,
    mut find: impl FnMut(CaptureRect) -> Result<Vec<T>, E>,
) -> Result<Again<T>, E> {
    if let Some((known, changed)) = before {
        return look_again(known, changed, size, find);
    }
    let whole = CaptureRect::from_size(size);
    Ok(Again {
        kept: Vec::new(),
        found: find(whole)?,
        looked_at: area(whole) as u64,
    })
}

/// Brings what is `known` of a picture up to a new one of `size` that differs from it in `changed`.
///
/// # Errors
/// Those of `find`.
fn look_again<T: Placed, E>(
    known: &[T],
    changed: &[CaptureRect],
    size: CaptureSize,
    mut find: impl FnMut(CaptureRect) -> Result<Vec<T>, E>,
) -> Result<Again<T>, E> {
    let whole = CaptureRect::from_size(size);
    let mut looked_at = 0;
    let mut look = |part: CaptureRect| {
        looked_at += area(part) as u64;
        find(part)
    };
    let mut touched: Vec<CaptureRect> = changes::joined(changed)
        .into_iter()
        .map(|changed| changed.inflate(REACH, REACH))
        .collect();
    let mut seen: Vec<(CaptureRect, Vec<T>)> = Vec::new();
    for _ in 0..ROUNDS {
        let stale: Vec<bool> = known
            .iter()
            .map(|known| is_stale(known, &touched))
            .collect();
        let gone = known.iter().zip(&stale).filter(|(_, stale)| **stale);
        let gone: Vec<CaptureRect> = gone.map(|(known, _)| known.bounds()).collect();
        let Some(parts) = parts(&touched, &gone, whole) else {
            break;
        };
        for &part in &parts {
            if !seen.iter().any(|(known, _)| *known == part) {
                seen.push((part, look(part)?));
            }
        }
        let is_new = |found: &T| {
            let bounds = found.bounds();
            touched.iter().chain(&gone).any(|at| at.intersects(&bounds))
        };
        let current = || seen.iter().filter(|(part, _)| parts.contains(part));
        let taken: Vec<(CaptureRect, T)> = current()
            .flat_map(|(part, found)| found.iter().map(move |found| (*part, found.clone())))
            .filter(|(_, found)| is_new(found))
            .collect();
        let kept: Vec<usize> = (0..known.len()).filter(|&index| !stale[index]).collect();
        let growth = growth(
            &taken,
            kept.iter().map(|&index| known[index].bounds()),
            whole,
        );
        if growth.is_empty() {
            let found = taken.into_iter().map(|(_, found)| found).collect();
            return Ok(Again {
                kept,
                found,
                looked_at,
            });
        }
        touched.extend(growth);
    }
    let found = look(whole)?;
    Ok(Again {
        kept: Vec::new(),
        found,
        looked_at,
    })
}

fn is_stale<T: Placed>(known: &T, touched: &[CaptureRect]) -> bool {
    touched.iter().any(|&touched| known.is_touched_by(touched))
}

/// What has to be looked at as well: where a find ends at the edge of its part and may go on beyond, and what is in
/// the way of a find.
fn growth<T: Placed>(
    taken: &[(CaptureRect, T)],
    kept: impl Iterator<Item = CaptureRect> + Clone,
    whole: CaptureRect,
) -> Vec<CaptureRect> {
    let cut = taken.iter().filter_map(|(part, found)| {
        let bounds = found.bounds();
        is_cut(bounds, *part, whole).then(|| bounds.inflate(2 * CONTEXT, CONTEXT))
    });
    let in_the_way = taken.iter().flat_map(|(_, found)| {
        let bounds = found.bounds();
        kept.clone()
            .filter(move |&other| is_in_the_way(bounds, other))
    });
    cut.chain(in_the_way).collect()
}

/// Whether a find reaches an edge of its part that is no edge of the picture. On a picture that is scaled for the finder
/// it may begin a little outside.
fn is_cut(found: CaptureRect, part: CaptureRect, whole: CaptureRect) -> bool {
    const EDGE: i32 = 2;
    let low = |found: i32, part: i32, whole: i32| part != whole && found <= part + EDGE;
    let high = |found: i32, part: i32, whole: i32| part != whole && found >= part - EDGE;
    low(found.min.x, part.min.x, whole.min.x)
        || low(found.min.y, part.min.y, whole.min.y)
        || high(found.max.x, part.max.x, whole.max.x)
        || high(found.max.y, part.max.y, whole.max.y)
}

fn is_in_the_way(found: CaptureRect, other: CaptureRect) -> bool {
    let smaller = area(found).min(area(other)).max(1) as f64;
    found
        .intersection(&other)
        .is_some_and(|shared| area(shared) as f64 > IN_THE_WAY * smaller)
}

/// The parts to be looked at, which lie apart; `None` if it were better to look at everything.
fn parts(
    touched: &[CaptureRect],
    gone: &[CaptureRect],
    whole: CaptureRect,
) -> Option<Vec<CaptureRect>> {
    if touched.len() > MOST_CHANGES {
        return None;
    }
    let mut parts: Vec<CaptureRect> = Vec::new();
    for &place in touched.iter().chain(gone) {
        if let Some(part) = on_grid(place.inflate(CONTEXT, CONTEXT)).intersection(&whole) {
            add(&mut parts, part);
        }
    }
    let sum: i64 = parts.iter().map(|&part| area(part)).sum();
    (sum as f64 <= MOST * area(whole) as f64).then_some(parts)
}

/// Adds a part, in one with those that it overlaps, so that nothing is found twice, and with those that cost more
/// beside it than together with it.
fn add(parts: &mut Vec<CaptureRect>, mut part: CaptureRect) {
    let is_joined = |part: CaptureRect, other: CaptureRect| {
        part.intersects(&other)
            || area(part.union(&other)) <= area(part) + area(other) + COST_OF_A_PART
    };
    while let Some(index) = parts.iter().position(|&other| is_joined(part, other)) {
        part = part.union(&parts.swap_remove(index));
    }
    parts.push(part);
}

fn on_grid(part: CaptureRect) -> CaptureRect {
    let down = |value: i32| value.div_euclid(GRID) * GRID;
    let up = |value: i32| -down(-value);
    CaptureRect::new(
        CapturePoint::new(down(part.min.x), down(part.min.y)),
        CapturePoint::new(up(part.max.x), up(part.max.y)),
    )
}

fn area(part: CaptureRect) -> i64 {
    i64::from(part.width()) * i64::from(part.height())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    const SIZE: (i32, i32) = (1280, 720);

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    /// Finds the things that are in a part, cut at its edges, and notes where it looked.
    struct Finder<'a> {
        there: &'a [CaptureRect],
        looked: Vec<CaptureRect>,
    }

    impl Finder<'_> {
        fn find(&mut self, part: CaptureRect) -> Result<Vec<CaptureRect>, Infallible> {
            self.looked.push(part);
            let cut = self
                .there
                .iter()
                .filter_map(|thing| thing.intersection(&part));
            Ok(cut.collect())
        }
    }

    /// What is on the new picture, sorted, and where was looked.
    fn look(
        before: &[CaptureRect],
        after: &[CaptureRect],
        changed: &[CaptureRect],
    ) -> (Vec<CaptureRect>, Vec<CaptureRect>) {
        let mut finder = Finder {
            there: after,
            looked: Vec::new(),
        };
        let size = CaptureSize::new(SIZE.0, SIZE.1);
        let again = look_again(before, changed, size, |part| finder.find(part)).unwrap();
        let kept = again.kept.iter().map(|&index| before[index]);
        let mut all: Vec<_> = kept.chain(again.found).collect();
        all.sort_by_key(|thing| (thing.min.y, thing.min.x));
        (all, finder.looked)
    }

    fn check(
        before: &[CaptureRect],
        after: &[CaptureRect],
        changed: &[CaptureRect],
        looks: &[CaptureRect],
    ) {
        let (all, looked) = look(before, after, changed);
        assert_eq!(all, after);
        assert_eq!(looked, looks);
    }

    #[test]
    fn nothing_is_looked_at_when_nothing_changed() {
        let things = [at(100, 100, 200, 20)];
        check(&things, &things, &[], &[]);
    }

    #[test]
    fn a_changed_line_is_looked_at_whole() {
        let before = [at(100, 100, 200, 20), at(100, 400, 200, 20)];
        let after = [at(100, 100, 240, 20), at(100, 400, 200, 20)];
        // Only the end of the line differs, and the look begins before its start.
        check(
            &before,
            &after,
            &[at(300, 102, 40, 16)],
            &[at(64, 64, 320, 96)],
        );
    }

    #[test]
    fn what_has_gone_is_forgotten_and_what_has_come_is_found() {
        let other = at(600, 600, 100, 20);
        let changed = [at(100, 100, 80, 20)];
        let look = [at(32, 32, 192, 128)];
        check(&[at(100, 100, 80, 20), other], &[other], &changed, &look);
        check(&[other], &[at(100, 100, 80, 20), other], &changed, &look);
    }

    #[test]
    fn changes_far_apart_are_looked_at_apart() {
        let (_, looked) = look(&[], &[], &[at(10, 10, 20, 20), at(1200, 600, 20, 20)]);
        assert_eq!(looked.len(), 2);
        let (_, looked) = look(&[], &[], &[at(10, 10, 20, 20), at(60, 10, 20, 20)]);
        assert_eq!(looked.len(), 1);
    }

    #[test]
    fn what_goes_on_beyond_the_part_is_followed() {
        // A long line of which only a piece was drawn anew, because the rest was there as something else: a line in
        // two halves, which are found as one now.
        let whole = at(100, 100, 900, 20);
        let (all, looked) = look(&[], &[whole], &[at(500, 100, 10, 20)]);
        assert_eq!(all, [whole]);
        assert!(looked.len() > 1);
    }

    #[test]
    fn two_words_that_become_one_line_are_one() {
        let before = [at(100, 100, 80, 20), at(200, 100, 80, 20)];
        let after = [at(100, 100, 180, 20)];
        let (all, _) = look(&before, &after, &[at(185, 105, 10, 10)]);
        assert_eq!(all, after);
    }

    #[test]
    fn a_new_page_is_looked_at_once_and_whole() {
        let whole = CaptureRect::new(CapturePoint::zero(), CapturePoint::new(SIZE.0, SIZE.1));
        let (_, looked) = look(&[], &[], &[whole]);
        assert_eq!(looked, [whole]);
    }

    /// Lines of text on a grid of places: each place is empty or has a line of some width.
    fn page() -> impl Strategy<Value = Vec<Option<i32>>> {
        proptest::collection::vec(proptest::option::of(30i32..290), 4 * 18)
    }

    fn things(page: &[Option<i32>]) -> Vec<CaptureRect> {
        let place = |(index, width): (usize, &Option<i32>)| {
            let (column, row) = (index as i32 % 4, index as i32 / 4);
            width.map(|width| at(10 + column * 320, 10 + row * 40, width, 20))
        };
        page.iter().enumerate().filter_map(place).collect()
    }

    proptest! {
        /// Whatever changed, the outcome is that of looking at everything; and nothing that was kept is where the
        /// picture differs.
        #[test]
        fn looking_again_gives_what_looking_anew_would(
            before in page(),
            edits in proptest::collection::vec((0usize..72, proptest::option::of(30i32..290)), 0..12),
        ) {
            let mut after = before.clone();
            for (place, width) in edits {
                after[place] = width;
            }
            let (before, after) = (things(&before), things(&after));
            let gone = before.iter().filter(|thing| !after.contains(thing));
            let come = after.iter().filter(|thing| !before.contains(thing));
            let changed: Vec<_> = gone.chain(come).copied().collect();
            let (all, looked) = look(&before, &after, &changed);
            prop_assert_eq!(all, after);
            prop_assert!(changed.is_empty() == looked.is_empty());
        }
    }
}
