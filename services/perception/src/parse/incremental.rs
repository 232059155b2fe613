//! Incremental detection: scans only what changed since a previous image.
//!
//! The results for the previous image are known, and so is where the new image differs. Around each difference a region
//! of the new image is scanned: large enough to contain everything there completely, with some context, because
//! detectors judge by context. Results in the scanned regions replace the previous ones; the rest is kept. If a result
//! extends beyond its region or conflicts with a kept one, the regions grow and are scanned again.
//!
//! Pure: the detector is passed in as a function.
//!
//! Invariant: no previous result is kept where the image differs.

use motorium_imaging::exact_diff;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

/// Margin around a difference within which previous results are discarded, in pixels. Detected boxes extend a few
/// pixels beyond their element.
const CHANGE_MARGIN: i32 = 6;

/// Context around a region, in pixels: about one and a half lines of text.
const CONTEXT: i32 = 32;

/// Grid to which regions are aligned, in pixels. It is the stride of the coarsest features of the models, so that a
/// region gives the same features as the whole image, unless the image is scaled down.
const GRID: i32 = 32;

/// Overhead of scanning one more region, expressed in pixels. Nearby regions are merged if that is cheaper.
const REGION_OVERHEAD_PX: i64 = 12_000;

/// Fraction of the image above which a full scan is used, because scanning regions would save too little.
const MAX_SCANNED_FRACTION: f64 = 0.5;

/// Maximum number of rounds before the whole image is scanned.
// Each round grows the regions by results that reach out of them; one that keeps growing covers the image.
const MAX_ROUNDS: usize = 4;

/// Maximum number of differing boxes; more means that the whole image changed.
const MAX_CHANGES: usize = 600;

/// Fraction of the smaller box above which two overlapping results conflict.
// Neighbouring results overlap by a margin; two results of one element by much more.
const CONFLICT_OVERLAP: f64 = 0.3;

/// Result with a position.
pub(super) trait Located: Clone {
    fn bounds(&self) -> CaptureRect;

    /// Returns whether a difference in the box `changed` invalidates the result. A window panel, for example, stays
    /// valid when something in its middle changes.
    fn is_invalidated_by(&self, changed: CaptureRect) -> bool {
        self.bounds().intersects(&changed)
    }
}

impl Located for CaptureRect {
    fn bounds(&self) -> CaptureRect {
        *self
    }
}

/// Results for the new image.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IncrementalResult<T> {
    /// Indices of the previous results that were kept.
    pub kept: Vec<usize>,
    pub found: Vec<T>,
    /// Number of pixels scanned.
    pub scanned_pixels: u64,
}

/// Scans an image of `size` completely, or updates previous results given where the image differs.
///
/// # Errors
/// Errors of `find`.
pub(super) fn find<T: Located, E>(
    before: Option<(&[T], &[CaptureRect])>,
    size: CaptureSize,
    mut find: impl FnMut(CaptureRect) -> Result<Vec<T>, E>,
) -> Result<IncrementalResult<T>, E> {
    if let Some((known, changed)) = before {
        return find_changed(known, changed, size, find);
    }
    let whole = CaptureRect::from_size(size);
    Ok(IncrementalResult {
        kept: Vec::new(),
        found: find(whole)?,
        scanned_pixels: area(whole) as u64,
    })
}

/// Updates the results `known` of a previous image for a new one of `size` that differs in `changed`.
///
/// # Errors
/// Errors of `find`.
fn find_changed<T: Located, E>(
    known: &[T],
    changed: &[CaptureRect],
    size: CaptureSize,
    mut find: impl FnMut(CaptureRect) -> Result<Vec<T>, E>,
) -> Result<IncrementalResult<T>, E> {
    let whole = CaptureRect::from_size(size);
    let mut looked_at = 0;
    let mut look = |part: CaptureRect| {
        looked_at += area(part) as u64;
        find(part)
    };
    let mut touched: Vec<CaptureRect> = exact_diff::join_rows(changed)
        .into_iter()
        .map(|changed| changed.inflate(CHANGE_MARGIN, CHANGE_MARGIN))
        .collect();
    let mut seen: Vec<(CaptureRect, Vec<T>)> = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let stale: Vec<bool> = known
            .iter()
            .map(|known| is_stale(known, &touched))
            .collect();
        let gone = known.iter().zip(&stale).filter(|(_, stale)| **stale);
        let gone: Vec<CaptureRect> = gone.map(|(known, _)| known.bounds()).collect();
        let Some(parts) = scan_regions(&touched, &gone, whole) else {
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
            return Ok(IncrementalResult {
                kept,
                found,
                scanned_pixels: looked_at,
            });
        }
        touched.extend(growth);
    }
    let found = look(whole)?;
    Ok(IncrementalResult {
        kept: Vec::new(),
        found,
        scanned_pixels: looked_at,
    })
}

fn is_stale<T: Located>(known: &T, touched: &[CaptureRect]) -> bool {
    touched
        .iter()
        .any(|&touched| known.is_invalidated_by(touched))
}

/// Returns the boxes that must be scanned in addition: results that end at the edge of their region and may continue,
/// and kept results that conflict with a new one.
fn growth<T: Located>(
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
        kept.clone().filter(move |&other| conflicts(bounds, other))
    });
    cut.chain(in_the_way).collect()
}

/// Returns whether a result touches an edge of its region that is not an edge of the image. On a scaled image the
/// result may start slightly outside.
fn is_cut(found: CaptureRect, part: CaptureRect, whole: CaptureRect) -> bool {
    // 2 px: results on scaled images are rounded outwards.
    const EDGE: i32 = 2;
    let low = |found: i32, part: i32, whole: i32| part != whole && found <= part + EDGE;
    let high = |found: i32, part: i32, whole: i32| part != whole && found >= part - EDGE;
    low(found.min.x, part.min.x, whole.min.x)
        || low(found.min.y, part.min.y, whole.min.y)
        || high(found.max.x, part.max.x, whole.max.x)
        || high(found.max.y, part.max.y, whole.max.y)
}

fn conflicts(found: CaptureRect, other: CaptureRect) -> bool {
    let smaller = area(found).min(area(other)).max(1) as f64;
    found
        .intersection(&other)
        .is_some_and(|shared| area(shared) as f64 > CONFLICT_OVERLAP * smaller)
}

/// Returns disjoint regions to scan, or `None` if a full scan is better.
fn scan_regions(
    touched: &[CaptureRect],
    gone: &[CaptureRect],
    whole: CaptureRect,
) -> Option<Vec<CaptureRect>> {
    if touched.len() > MAX_CHANGES {
        return None;
    }
    let mut parts: Vec<CaptureRect> = Vec::new();
    for &place in touched.iter().chain(gone) {
        if let Some(part) = on_grid(place.inflate(CONTEXT, CONTEXT)).intersection(&whole) {
            add(&mut parts, part);
        }
    }
    let sum: i64 = parts.iter().map(|&part| area(part)).sum();
    (sum as f64 <= MAX_SCANNED_FRACTION * area(whole) as f64).then_some(parts)
}

/// Adds a region. It is merged with overlapping ones, so that nothing is found twice, and with others if scanning both
/// together is cheaper.
fn add(parts: &mut Vec<CaptureRect>, mut part: CaptureRect) {
    let is_joined = |part: CaptureRect, other: CaptureRect| {
        part.intersects(&other)
            || area(part.union(&other)) <= area(part) + area(other) + REGION_OVERHEAD_PX
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

    /// Test detector: returns the boxes within a region, clipped to it, and records where it scanned.
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

    /// Returns the results for the new image, sorted, and the scanned regions.
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
        let again = find_changed(before, changed, size, |part| finder.find(part)).unwrap();
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
    fn unchanged_image_is_not_scanned() {
        let things = [at(100, 100, 200, 20)];
        check(&things, &things, &[], &[]);
    }

    #[test]
    fn changed_line_is_rescanned_completely() {
        let before = [at(100, 100, 200, 20), at(100, 400, 200, 20)];
        let after = [at(100, 100, 240, 20), at(100, 400, 200, 20)];
        // Only the end of the line differs, and the scan starts before the beginning of the line.
        check(
            &before,
            &after,
            &[at(300, 102, 40, 16)],
            &[at(64, 64, 320, 96)],
        );
    }

    #[test]
    fn removed_lines_are_dropped_and_new_ones_found() {
        let other = at(600, 600, 100, 20);
        let changed = [at(100, 100, 80, 20)];
        let look = [at(32, 32, 192, 128)];
        check(&[at(100, 100, 80, 20), other], &[other], &changed, &look);
        check(&[other], &[at(100, 100, 80, 20), other], &changed, &look);
    }

    #[test]
    fn distant_changes_are_scanned_separately() {
        let (_, looked) = look(&[], &[], &[at(10, 10, 20, 20), at(1200, 600, 20, 20)]);
        assert_eq!(looked.len(), 2);
        let (_, looked) = look(&[], &[], &[at(10, 10, 20, 20), at(60, 10, 20, 20)]);
        assert_eq!(looked.len(), 1);
    }

    #[test]
    fn scan_follows_a_line_beyond_the_changed_region() {
        // A long line of which only a part was redrawn: two halves that are now detected as one line.
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
    fn fully_changed_image_is_scanned_once() {
        let whole = CaptureRect::new(CapturePoint::zero(), CapturePoint::new(SIZE.0, SIZE.1));
        let (_, looked) = look(&[], &[], &[whole]);
        assert_eq!(looked, [whole]);
    }

    /// Lines of text on a grid: each cell is empty or has a line of some width.
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
        /// For any change, the result equals that of a full scan, and no kept result is where the image differs.
        #[test]
        fn incremental_scan_equals_a_full_scan(
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
