//! Visible difference of two frames: how much changed, and where.
//!
//! Frames are compared pixel by pixel, in lightness and colour; a pixel has changed if its lightness, or its distance of red or of
//! blue from green, differs by more than a threshold. Lightness alone misses a cyan field that turns orange when it gets the focus.
//! Changed pixels are counted in square tiles, touching tiles form a group, and each group yields one region: the tight
//! box around its changed pixels.
//!
//! Bytes are compared first, and only what differs is converted: most of a screen stays as it is.
//!
//! It does not judge whether a change is the effect of an action.
//!
//! Invariant: every changed pixel outside the ignored boxes is counted in exactly one region.

use std::ops::Range;

use image::RgbaImage;
use motorium_proto::domain::effect::{ChangeMap, ChangedRegion};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};
use motorium_proto::service::CompareRequest;
use multiversion::multiversion;

use crate::grey::{grey, spans};

/// Maximum grey difference that counts as a rendering artefact. The usual choice of agents that compare screenshots.
pub const DEFAULT_THRESHOLD: u8 = CompareRequest::DEFAULT_THRESHOLD;

/// Side of a tile in pixels: about one line of text, so that a changed line and the next one are separate groups. Must
/// stay below 256, because counts per column are stored in bytes.
pub const TILE_SIZE: usize = 20;

/// Number of pixels that are converted and compared at once: 1 KiB of each image, which the processor's nearest cache holds
/// with its planes. Must stay below 256 for a byte counter to hold them.
const CHUNK: usize = 255;

/// Pixels as they are compared: in planes with one byte per pixel. Half the distance of a colour, so that it fits a byte, has the
/// weight of a rendering artefact in lightness: sub-pixel rendering tints by up to 30.
struct Planes {
    luma: [u8; CHUNK],
    /// `(255 + red - green) / 2`.
    red: [u8; CHUNK],
    /// `(255 + blue - green) / 2`.
    blue: [u8; CHUNK],
}

impl Planes {
    fn empty() -> Self {
        Self {
            luma: [0; CHUNK],
            red: [0; CHUNK],
            blue: [0; CHUNK],
        }
    }

    /// Converts up to [`CHUNK`] pixels.
    fn fill(&mut self, rgba: &[u8]) {
        grey(rgba, &mut self.luma);
        colours(rgba, &mut self.red, &mut self.blue);
    }
}

#[multiversion(targets = "simd")]
fn colours(rgba: &[u8], red: &mut [u8], blue: &mut [u8]) {
    let (pixels, _) = rgba.as_chunks::<4>();
    let halved = |colour: u8, green: u8| ((255 + u16::from(colour) - u16::from(green)) / 2) as u8;
    for ((red, blue), [r, g, b, _]) in red.iter_mut().zip(blue).zip(pixels) {
        *red = halved(*r, *g);
        *blue = halved(*b, *g);
    }
}

/// Options of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompareOptions<'a> {
    /// Difference in grey above which a pixel has changed; in colour, twice as much.
    pub threshold: u8,
    /// Boxes in which changes are ignored: background motion such as a clock, a caret or a video.
    pub ignore: &'a [CaptureRect],
}

impl Default for CompareOptions<'_> {
    fn default() -> Self {
        Self {
            threshold: DEFAULT_THRESHOLD,
            ignore: &[],
        }
    }
}

/// Compares two frames. Regions are sorted from top to bottom, then left to right; boxes of two groups may overlap if
/// one surrounds the other. Frames of different sizes count as completely changed: the only region is the second frame.
#[must_use]
pub fn compare(
    before: &RgbaImage,
    after: &RgbaImage,
    comparison: &CompareOptions<'_>,
) -> ChangeMap {
    if std::ptr::eq(before, after) {
        return nothing_changed(comparison);
    }
    if before.dimensions() != after.dimensions() {
        return wholly_changed(after);
    }
    let pair = FramePair::new(before, after, comparison);
    let tiles = TileGrid::count(&pair);
    let mut regions: Vec<ChangedRegion> = tiles
        .groups()
        .iter()
        .map(|group| tiles.region(group, &pair))
        .collect();
    regions.sort_by_key(|region| (region.bounds.min.y, region.bounds.min.x));
    let changed_pixels = regions.iter().map(|region| region.changed_pixels).sum();
    ChangeMap {
        changed_share: share(changed_pixels, after),
        changed_pixels,
        regions,
        size_differs: false,
        background_motion: comparison.ignore.to_vec(),
    }
}

/// Returns the number of changed pixels in a region, clipped to the second frame. If the sizes differ, all pixels of
/// the region count.
#[must_use]
pub fn changed_within(
    before: &RgbaImage,
    after: &RgbaImage,
    region: CaptureRect,
    comparison: &CompareOptions<'_>,
) -> u64 {
    let (columns, rows) = spans_of(after, region);
    if before.dimensions() != after.dimensions() {
        return (columns.len() * rows.len()) as u64;
    }
    let pair = FramePair::new(before, after, comparison);
    rows.map(|y| pair.count(y, columns.clone())).sum()
}

/// Returns the difference of an image from itself: captures of an unchanged screen share their pixels.
fn nothing_changed(comparison: &CompareOptions<'_>) -> ChangeMap {
    ChangeMap {
        background_motion: comparison.ignore.to_vec(),
        ..ChangeMap::default()
    }
}

fn wholly_changed(after: &RgbaImage) -> ChangeMap {
    let whole = ChangedRegion {
        bounds: CaptureRect::from_size(CaptureSize::new(
            after.width() as i32,
            after.height() as i32,
        )),
        changed_pixels: pixel_count(after),
    };
    ChangeMap {
        changed_share: 1.0,
        changed_pixels: whole.changed_pixels,
        regions: vec![whole],
        size_differs: true,
        background_motion: Vec::new(),
    }
}

fn share(changed_pixels: u64, image: &RgbaImage) -> f64 {
    changed_pixels as f64 / pixel_count(image).max(1) as f64
}

fn pixel_count(image: &RgbaImage) -> u64 {
    u64::from(image.width()) * u64::from(image.height())
}

/// Returns the columns and rows of a region, clipped to the image.
fn spans_of(image: &RgbaImage, region: CaptureRect) -> (Range<usize>, Range<usize>) {
    spans(region, image.width() as usize, image.height() as usize)
}

/// Two frames of the same size with the comparison options.
struct FramePair<'a> {
    before: &'a [u8],
    after: &'a [u8],
    width: usize,
    height: usize,
    threshold: u8,
    /// Columns and rows of the ignored boxes.
    ignore: Vec<(Range<usize>, Range<usize>)>,
}

impl<'a> FramePair<'a> {
    fn new(before: &'a RgbaImage, after: &'a RgbaImage, comparison: &CompareOptions<'_>) -> Self {
        let mut ignore: Vec<_> = comparison
            .ignore
            .iter()
            .map(|bounds| spans_of(after, *bounds))
            .collect();
        ignore.retain(|(columns, rows)| !columns.is_empty() && !rows.is_empty());
        ignore.sort_by_key(|(columns, _)| columns.start);
        Self {
            before: before.as_raw(),
            after: after.as_raw(),
            width: after.width() as usize,
            height: after.height() as usize,
            threshold: comparison.threshold,
            ignore,
        }
    }

    /// Calls `visit` for each span of a row that is not ignored.
    fn visit(&self, y: usize, columns: Range<usize>, mut visit: impl FnMut(Range<usize>)) {
        let mut start = columns.start;
        for (ignored, rows) in &self.ignore {
            if !rows.contains(&y) || ignored.end <= start || ignored.start >= columns.end {
                continue;
            }
            if ignored.start > start {
                visit(start..ignored.start);
            }
            start = ignored.end;
        }
        if start < columns.end {
            visit(start..columns.end);
        }
    }

    /// Calls `differ` with the changed pixels (1; 0 for the others) of each part of a row that differs and is not ignored, and
    /// with its first column.
    fn visit_changes(&self, y: usize, columns: Range<usize>, mut differ: impl FnMut(usize, &[u8])) {
        let bytes = |span: &Range<usize>| {
            (y * self.width + span.start) * 4..(y * self.width + span.end) * 4
        };
        self.visit(y, columns, |span| {
            let row = bytes(&span);
            let chunks = self.before[row.clone()]
                .chunks(CHUNK * 4)
                .zip(self.after[row].chunks(CHUNK * 4));
            for (index, (before, after)) in chunks.enumerate() {
                if before != after {
                    let mut changes = [0; CHUNK];
                    mark_changes(before, after, self.threshold, &mut changes);
                    differ(span.start + index * CHUNK, &changes[..after.len() / 4]);
                }
            }
        });
    }

    /// Increments the count of every column that changed in row `y`.
    fn tally(&self, y: usize, counts: &mut [u8]) {
        self.visit_changes(y, 0..self.width, |start, changes| {
            for (count, change) in counts[start..].iter_mut().zip(changes) {
                *count += change;
            }
        });
    }

    /// Returns the number of changed pixels in a span of row `y`.
    fn count(&self, y: usize, columns: Range<usize>) -> u64 {
        let mut sum = 0;
        self.visit_changes(y, columns, |_, changes| {
            // A chunk fits a byte counter: vector units sum bytes fastest.
            sum += u64::from(changes.iter().sum::<u8>());
        });
        sum
    }
}

/// Writes 1 for each changed pixel of up to [`CHUNK`].
fn mark_changes(before: &[u8], after: &[u8], threshold: u8, changes: &mut [u8; CHUNK]) {
    let (mut old, mut new) = (Planes::empty(), Planes::empty());
    old.fill(before);
    new.fill(after);
    mark_differences(&old, &new, threshold, changes);
}

#[multiversion(targets = "simd")]
fn mark_differences(old: &Planes, new: &Planes, threshold: u8, changes: &mut [u8; CHUNK]) {
    for (index, change) in changes.iter_mut().enumerate() {
        let differs = old.luma[index]
            .abs_diff(new.luma[index])
            .max(old.red[index].abs_diff(new.red[index]))
            .max(old.blue[index].abs_diff(new.blue[index]));
        *change = u8::from(differs > threshold);
    }
}

/// Changed pixels per tile and, within each row of tiles, per column.
struct TileGrid {
    across: usize,
    down: usize,
    width: usize,
    height: usize,
    /// Changed pixels per column of pixels, for each row of tiles.
    columns: Vec<u8>,
    /// Changed pixels per tile.
    counts: Vec<u32>,
}

/// Touching tiles, as indices into [`TileGrid::counts`].
type Group = Vec<usize>;

impl TileGrid {
    fn count(pair: &FramePair<'_>) -> Self {
        let (width, height) = (pair.width, pair.height);
        let (across, down) = (width.div_ceil(TILE_SIZE), height.div_ceil(TILE_SIZE));
        let mut columns = vec![0; width * down];
        let mut counts = Vec::with_capacity(across * down);
        for (row, columns) in columns.chunks_exact_mut(width.max(1)).enumerate() {
            for y in row * TILE_SIZE..((row + 1) * TILE_SIZE).min(height) {
                pair.tally(y, columns);
            }
            counts.extend(
                columns
                    .chunks(TILE_SIZE)
                    .map(|tile| tile.iter().map(|count| u32::from(*count)).sum::<u32>()),
            );
        }
        Self {
            across,
            down,
            width,
            height,
            columns,
            counts,
        }
    }

    /// Groups changed tiles that touch each other, including at corners.
    fn groups(&self) -> Vec<Group> {
        let mut seen = vec![false; self.counts.len()];
        let mut groups = Vec::new();
        for start in 0..self.counts.len() {
            if self.counts[start] > 0 && !seen[start] {
                groups.push(self.group(start, &mut seen));
            }
        }
        groups
    }

    fn group(&self, start: usize, seen: &mut [bool]) -> Group {
        seen[start] = true;
        let mut group = vec![start];
        let mut next = 0;
        while next < group.len() {
            for neighbour in self.neighbours(group[next]) {
                if self.counts[neighbour] > 0 && !seen[neighbour] {
                    seen[neighbour] = true;
                    group.push(neighbour);
                }
            }
            next += 1;
        }
        group
    }

    /// Returns the tile and its neighbours.
    fn neighbours(&self, tile: usize) -> impl Iterator<Item = usize> + use<> {
        let (x, y, across) = (tile % self.across, tile / self.across, self.across);
        let columns = x.saturating_sub(1)..(x + 2).min(self.across);
        let rows = y.saturating_sub(1)..(y + 2).min(self.down);
        rows.flat_map(move |y| columns.clone().map(move |x| y * across + x))
    }

    fn region(&self, group: &Group, pair: &FramePair<'_>) -> ChangedRegion {
        let columns = group.iter().map(|tile| self.changed_columns(*tile));
        let (left, right) = columns.fold((usize::MAX, 0), |(left, right), span| {
            (left.min(span.start), right.max(span.end))
        });
        let (top, bottom) = self.changed_rows(group, pair);
        ChangedRegion {
            bounds: CaptureRect::new(
                CapturePoint::new(left as i32, top as i32),
                CapturePoint::new(right as i32, bottom as i32),
            ),
            changed_pixels: group.iter().map(|tile| u64::from(self.counts[*tile])).sum(),
        }
    }

    /// Returns the range of changed pixel columns in a tile.
    fn changed_columns(&self, tile: usize) -> Range<usize> {
        let (span, row) = (self.pixel_columns(tile), tile / self.across);
        let columns = &self.columns[row * self.width..][span.clone()];
        let first = columns.iter().position(|count| *count > 0).unwrap_or(0);
        let last = columns.iter().rposition(|count| *count > 0).unwrap_or(0);
        span.start + first..span.start + last + 1
    }

    /// Returns the range of changed pixel rows in a group. Only the first and the last row of tiles need to be scanned.
    fn changed_rows(&self, group: &Group, pair: &FramePair<'_>) -> (usize, usize) {
        let rows_of_tiles = || group.iter().map(|tile| tile / self.across);
        let (first, last) = (
            rows_of_tiles().min().unwrap_or(0),
            rows_of_tiles().max().unwrap_or(0),
        );
        let changed = |y: usize, row: usize| {
            let mut tiles = group.iter().filter(|tile| **tile / self.across == row);
            tiles.any(|tile| pair.count(y, self.pixel_columns(*tile)) > 0)
        };
        let rows = |row: usize| row * TILE_SIZE..((row + 1) * TILE_SIZE).min(self.height);
        let top = rows(first)
            .find(|y| changed(*y, first))
            .unwrap_or(first * TILE_SIZE);
        let bottom = rows(last)
            .rev()
            .find(|y| changed(*y, last))
            .map_or(top + 1, |y| y + 1);
        (top, bottom)
    }

    fn pixel_columns(&self, tile: usize) -> Range<usize> {
        let start = tile % self.across * TILE_SIZE;
        start..(start + TILE_SIZE).min(self.width)
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use proptest::prelude::*;

    use super::*;

    const WHITE: Rgba<u8> = Rgba([255, 255, 255, 255]);
    const BLACK: Rgba<u8> = Rgba([0, 0, 0, 255]);

    fn rect(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    fn blank(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, WHITE)
    }

    fn fill(pixels: &mut RgbaImage, bounds: CaptureRect, colour: Rgba<u8>) {
        for y in bounds.y_range() {
            for x in bounds.x_range() {
                pixels.put_pixel(x as u32, y as u32, colour);
            }
        }
    }

    fn boxes(difference: &ChangeMap) -> Vec<CaptureRect> {
        difference
            .regions
            .iter()
            .map(|region| region.bounds)
            .collect()
    }

    fn check_regions(painted: &[CaptureRect], ignore: &[CaptureRect], expected: &[CaptureRect]) {
        let before = blank(300, 200);
        let mut after = before.clone();
        painted
            .iter()
            .for_each(|bounds| fill(&mut after, *bounds, BLACK));
        let comparison = CompareOptions {
            ignore,
            ..CompareOptions::default()
        };
        let difference = compare(&before, &after, &comparison);
        assert_eq!(boxes(&difference), expected);
    }

    #[test]
    fn change_regions_are_tight_around_changed_pixels() {
        check_regions(&[], &[], &[]);
        // A character, in the middle of a tile and across the corner of four.
        check_regions(&[rect(103, 64, 110, 75)], &[], &[rect(103, 64, 110, 75)]);
        check_regions(&[rect(97, 55, 104, 66)], &[], &[rect(97, 55, 104, 66)]);
        // Two far from each other, from top to bottom.
        check_regions(
            &[rect(200, 150, 210, 160), rect(10, 10, 20, 20)],
            &[],
            &[rect(10, 10, 20, 20), rect(200, 150, 210, 160)],
        );
        // Neighbours become one.
        check_regions(
            &[rect(10, 10, 20, 20), rect(30, 15, 45, 25)],
            &[],
            &[rect(10, 10, 45, 25)],
        );
        // The narrow last tiles at the right and bottom edges.
        check_regions(
            &[rect(299, 199, 300, 200)],
            &[],
            &[rect(299, 199, 300, 200)],
        );
    }

    #[test]
    fn ignored_regions_do_not_count_as_changed() {
        let clock = rect(250, 0, 300, 20);
        check_regions(&[rect(260, 5, 290, 15)], &[clock], &[]);
        check_regions(&[rect(240, 5, 290, 15)], &[clock], &[rect(240, 5, 250, 15)]);
        // Overlapping, touching and outside boxes.
        let ignored = [
            rect(0, 0, 50, 50),
            rect(20, 20, 80, 30),
            rect(80, 0, 90, 200),
            rect(-5, 190, 400, 900),
        ];
        check_regions(&[rect(0, 20, 100, 30)], &ignored, &[rect(90, 20, 100, 30)]);
        check_regions(&[rect(0, 0, 300, 200)], &[rect(-9, -9, 999, 999)], &[]);
    }

    #[test]
    fn frames_of_different_sizes_are_wholly_changed() {
        let (small, large) = (&blank(30, 20), &blank(40, 20));
        let difference = compare(small, large, &CompareOptions::default());
        assert_eq!(difference.changed_share, 1.0);
        assert_eq!(boxes(&difference), [rect(0, 0, 40, 20)]);
        assert_eq!(difference.changed_pixels, 800);
        assert!(difference.size_differs);
        assert_eq!(
            changed_within(
                small,
                large,
                rect(35, 10, 100, 100),
                &CompareOptions::default()
            ),
            50
        );
    }

    #[test]
    fn nothing_is_changed_in_an_empty_frame() {
        let empty = &RgbaImage::new(0, 0);
        let difference = compare(empty, empty, &CompareOptions::default());
        assert_eq!(
            (difference.changed_share, difference.regions.len()),
            (0.0, 0)
        );
    }

    #[test]
    fn difference_equal_to_the_threshold_is_not_a_change() {
        let grey = |level: u8| RgbaImage::from_pixel(10, 10, Rgba([level, level, level, 255]));
        let share =
            |level: u8| compare(&grey(100), &grey(level), &CompareOptions::default()).changed_share;
        assert_eq!((share(115), share(85)), (0.0, 0.0));
        assert_eq!((share(116), share(84)), (1.0, 1.0));
    }

    /// Colours of the same lightness: a field that gets the focus, a switch that is turned on, a button that turns green.
    #[test]
    fn colours_of_the_same_lightness_differ() {
        let frame = |[r, g, b]: [u8; 3]| RgbaImage::from_pixel(10, 10, Rgba([r, g, b, 255]));
        for (before, after) in [
            ([0, 229, 255], [255, 145, 0]),
            ([128, 128, 128], [40, 190, 40]),
            ([37, 99, 235], [60, 122, 50]),
            ([224, 224, 255], [255, 255, 7]),
        ] {
            let share =
                |a, b| compare(&frame(a), &frame(b), &CompareOptions::default()).changed_share;
            assert_eq!(share(before, after), 1.0, "{before:?} to {after:?}");
            assert_eq!(share(before, before), 0.0);
        }
    }

    /// Generates frames in which boxes were painted over noise.
    fn frames() -> impl Strategy<Value = (RgbaImage, RgbaImage)> {
        let boxes =
            proptest::collection::vec((0u32..130, 0u32..90, 1u32..50, 1u32..30, any::<u8>()), 0..6);
        (1u32..130, 1u32..90, any::<u32>(), boxes).prop_map(|(width, height, seed, boxes)| {
            let noise = |x: u32, y: u32| (x ^ (y << 3)).wrapping_mul(seed | 1).rotate_left(7) as u8;
            let before = RgbaImage::from_fn(width, height, |x, y| {
                Rgba([noise(x, y), noise(y, x), x as u8, 255])
            });
            let mut after = before.clone();
            for (x, y, w, h, level) in boxes {
                let bounds = rect(
                    x as i32,
                    y as i32,
                    (x + w).min(width) as i32,
                    (y + h).min(height) as i32,
                );
                fill(&mut after, bounds, Rgba([level, level, level, 255]));
            }
            (before, after)
        })
    }

    /// Reference implementation: returns whether a pixel changed.
    fn changed(
        before: &RgbaImage,
        after: &RgbaImage,
        comparison: &CompareOptions<'_>,
        x: u32,
        y: u32,
    ) -> bool {
        let planes = |pixel: &Rgba<u8>| {
            let [red, green, blue, _] = pixel.0.map(u64::from);
            let grey = (red * 19595 + green * 38470 + blue * 7471 + 32768) / 65536;
            [grey, (255 + red - green) / 2, (255 + blue - green) / 2]
        };
        let (before, after) = (
            planes(before.get_pixel(x, y)),
            planes(after.get_pixel(x, y)),
        );
        let mut differences = before.iter().zip(after).map(|(a, b)| a.abs_diff(b));
        let ignored = comparison
            .ignore
            .iter()
            .any(|bounds| bounds.contains(CapturePoint::new(x as i32, y as i32)));
        !ignored && differences.any(|difference| difference > u64::from(comparison.threshold))
    }

    fn any_rect() -> impl Strategy<Value = CaptureRect> {
        (-20i32..140, -20i32..100, -5i32..80, -5i32..60)
            .prop_map(|(x, y, w, h)| rect(x, y, x + w, y + h))
    }

    proptest! {
        #[test]
        fn every_changed_pixel_is_counted_once(
            (before, after) in frames(),
            threshold in prop_oneof![Just(0), Just(15), Just(254), Just(255), any::<u8>()],
            ignore in proptest::collection::vec(any_rect(), 0..4),
        ) {
            let comparison = CompareOptions { threshold, ignore: &ignore };
            let difference = compare(&before, &after, &comparison);
            let pixels: Vec<CapturePoint> = before
                .enumerate_pixels()
                .filter(|(x, y, _)| changed(&before, &after, &comparison, *x, *y))
                .map(|(x, y, _)| CapturePoint::new(x as i32, y as i32))
                .collect();
            prop_assert_eq!(difference.changed_pixels, pixels.len() as u64);
            prop_assert_eq!(difference.changed_share, pixels.len() as f64 / (before.width() * before.height()) as f64);
            for pixel in &pixels {
                prop_assert!(difference.regions.iter().any(|region| region.bounds.contains(*pixel)));
            }
            for ChangedRegion { bounds, .. } in &difference.regions {
                // Tight: a changed pixel lies on each edge.
                let on_edge = |edge: &dyn Fn(&CapturePoint) -> bool| pixels.iter().any(|pixel| bounds.contains(*pixel) && edge(pixel));
                prop_assert!(on_edge(&|pixel| pixel.x == bounds.min.x) && on_edge(&|pixel| pixel.x == bounds.max.x - 1));
                prop_assert!(on_edge(&|pixel| pixel.y == bounds.min.y) && on_edge(&|pixel| pixel.y == bounds.max.y - 1));
            }
        }

        #[test]
        fn a_region_has_the_changes_that_lie_in_it(
            (before, after) in frames(), region in any_rect(), ignore in proptest::collection::vec(any_rect(), 0..3)
        ) {
            let comparison = CompareOptions { ignore: &ignore, ..CompareOptions::default() };
            let expected = before
                .enumerate_pixels()
                .filter(|(x, y, _)| region.contains(CapturePoint::new(*x as i32, *y as i32)))
                .filter(|(x, y, _)| changed(&before, &after, &comparison, *x, *y))
                .count() as u64;
            prop_assert_eq!(changed_within(&before, &after, region, &comparison), expected);
        }
    }
}
