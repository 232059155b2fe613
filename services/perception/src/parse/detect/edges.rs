//! Sides of large boxes lie on the edges of what they are around.
//!
//! Where a box of a thousand pixels ends a network says to within some tens of them, and of one of two hundred to within
//! some. But fields, tables, panes and dialogs end at straight lines, which text in them does not have. So each side is
//! moved to the nearest place near it where the picture changes along nearly all of the side.
//!
//! Of what is slender only the short sides are moved: a network sees to the pixel how thick it is, and lines of a table
//! are near. What is small is left as it was found. Pure. `training/detector/edges.py` does the same for what is measured
//! there: on 100 validation screens 703 boxes of 100 pixels and more came nearer to what they stand for, 97 went farther.

use std::ops::Range;

use image::RgbaImage;
use motorium_proto::domain::geometry::CaptureRect;

/// So many pixels long or high is what is moved.
const LARGE: i32 = 150;
/// So long is a box at least between two sides that are moved.
const THICK: i32 = 64;
/// So far, as a share of the box and in pixels, is an edge looked for.
const REACH: f64 = 0.2;
const MOST_REACH: f64 = 200.0;
/// Share of a side at each end that need not have the edge: corners are round, and other things begin.
const CORNER: f64 = 0.15;
/// So much of 255 is an edge, in one of the three colours.
const CHANGE: u8 = 14;
/// Share of a side that has it.
const ALONG: f64 = 0.8;

/// A box inside of `pixels`, with its sides moved to edges.
pub(super) fn on_edges(pixels: &RgbaImage, bounds: CaptureRect) -> CaptureRect {
    let mut moved = bounds;
    if bounds.width().max(bounds.height()) < LARGE {
        return moved;
    }
    let (across, down) = (bounds.min.x..bounds.max.x, bounds.min.y..bounds.max.y);
    let ends = View::along_rows(pixels).ends(&across, &down);
    (moved.min.x, moved.max.x) = (ends.start, ends.end);
    let ends = View::along_columns(pixels).ends(&down, &across);
    (moved.min.y, moved.max.y) = (ends.start, ends.end);
    moved
}

/// A picture as lines of places: rows from left to right, or columns from top to bottom.
struct View<'a> {
    bytes: &'a [u8],
    /// Places in a line.
    places: i32,
    /// Bytes from a place to the next.
    step: usize,
    /// Bytes from a line to the next.
    stride: usize,
}

impl<'a> View<'a> {
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

    /// Where a box begins and ends that does so at about `places` of the lines `side`.
    fn ends(&self, places: &Range<i32>, side: &Range<i32>) -> Range<i32> {
        let length = places.end - places.start;
        if length < THICK {
            return places.clone();
        }
        let reach = (REACH * f64::from(length)).min(MOST_REACH) as i32;
        let corner = (CORNER * f64::from(side.end - side.start)) as i32;
        let lines = side.start + corner..side.end - corner;
        let [start, end] =
            [places.start, places.end].map(|end| self.nearest_edge(end, reach, lines.clone()));
        start..end
    }

    /// The place nearest to `end` from which to the one before it nearly every one of the lines changes; `end` itself if
    /// there is none.
    fn nearest_edge(&self, end: i32, reach: i32, lines: Range<i32>) -> i32 {
        let places = (end - reach).max(1)..(end + reach + 1).min(self.places);
        let needed = ALONG * f64::from(lines.end - lines.start);
        let changes = self.changes(places.clone(), lines);
        let edges = places.zip(changes);
        let edges = edges.filter(|(_, changes)| f64::from(*changes) >= needed);
        // A picture ends at its edges.
        let sides = [0, self.places].into_iter();
        let sides = sides.filter(|side| (side - end).abs() <= reach);
        let all = edges.map(|(place, _)| place).chain(sides);
        all.min_by_key(|place| (place - end).abs()).unwrap_or(end)
    }

    /// For each place, in how many of the lines it differs from the one before it.
    fn changes(&self, places: Range<i32>, lines: Range<i32>) -> Vec<u32> {
        let differs = |place: i32, line: i32| {
            let at = place as usize * self.step + line as usize * self.stride;
            let (here, before) = (&self.bytes[at..at + 3], &self.bytes[at - self.step..][..3]);
            here.iter()
                .zip(before)
                .any(|(a, b)| a.abs_diff(*b) > CHANGE)
        };
        if self.step > self.stride {
            let in_lines =
                |place| lines.clone().filter(|line| differs(place, *line)).count() as u32;
            return places.map(in_lines).collect();
        }
        // In the order in which pixels lie in memory.
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

    /// A box: left, top, right, bottom.
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
        assert_eq!(on_edges(pixels, rect(found)), rect(expected), "{found:?}");
    }

    #[test]
    fn sides_are_moved_to_the_edges_near_them() {
        let page = page();
        for off in [[0; 4], [-40, 20, 40, -20], [30, -25, -30, 25], [6, 6, 6, 6]] {
            let found: Sides = std::array::from_fn(|side| PANE[side] + off[side]);
            let moved = on_edges(&page, rect(found));
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
    fn of_what_is_slender_the_short_sides_are_moved() {
        let mut pixels = blank();
        fill(&mut pixels, [100, 200, 500, 230], 160);
        check(&pixels, [130, 197, 460, 234], [100, 197, 500, 234]);
        let mut pixels = blank();
        fill(&mut pixels, [200, 40, 230, 380], 160);
        check(&pixels, [197, 70, 234, 350], [197, 40, 234, 380]);
    }

    #[test]
    fn what_is_small_or_has_no_edges_near_stays() {
        for found in [
            [110, 70, 240, 190],
            [220, 100, 380, 220],
            [110, 360, 300, 390],
        ] {
            check(&page(), found, found);
        }
    }

    #[test]
    fn a_picture_ends_at_its_edges() {
        check(&blank(), [12, 20, 680, 390], [0, 0, 700, 400]);
        check(&blank(), [0, 0, 700, 400], [0, 0, 700, 400]);
    }

    proptest! {
        #[test]
        fn boxes_stay_inside_and_have_an_inside(
            x in 0..699_i32, y in 0..399_i32, width in 1..700_i32, height in 1..400_i32, seed: u8
        ) {
            let noise = |x: u32, y: u32| (x * 37 % 251) as u8 ^ (y * 91 % 253) as u8 ^ seed;
            let pixels = RgbaImage::from_fn(700, 400, |x, y| Rgba([noise(x, y), 0, 0, 255]));
            let found = rect([x, y, (x + width).min(700), (y + height).min(400)]);
            let moved = on_edges(&pixels, found);
            prop_assert!(!moved.is_empty());
            prop_assert!(rect([0, 0, 700, 400]).contains_box(&moved));
        }
    }
}
