//! Finds out whether a part of the screen has moved up or down together with what is around it.
//!
//! A page that inserts a line moves everything below it. Content that was inserted right above the part, such as further
//! entries above a "More" button, is not such a shift: what was above it has not moved. Where nothing was above it, the part
//! alone tells. Sideways movement is not examined, because layouts flow downwards.

use motorium_proto::domain::geometry::CaptureRect;

use crate::grey::GreyFrame;

/// Maximum distance of a shift, in pixels. A banner or an error message moves a page by 20 to 200.
const MAX_SHIFT: i32 = 400;
/// Grey difference above which two pixels differ, as in [`crate::difference`].
const THRESHOLD: u8 = 15;
/// Fraction of differing pixels up to which two parts show the same, for example with another text cursor: 1 in this many.
const TOLERANCE: usize = 50;
/// Minimum grey range of a part that can be recognised elsewhere. Anti-aliased text on any legible ground has more.
const MIN_CONTRAST: u8 = 40;
/// Gap between the part and what is above it that is looked at as well, in pixels: the margin between two buttons.
const GAP: i32 = 16;
/// Width of the bands inside and outside the edge of a part that are not compared, in pixels. A control that moves away under a
/// press has often taken the focus, and shows it by a ring up to 5 px beyond its own edge; detected boxes are off by a few pixels.
const RING: i32 = 10;
/// Fraction of the shorter side of a part that the band inside takes at most: 1 in this many. Leaves half of it to compare.
const EDGE_FRACTION: i32 = 4;
/// Number of heights above the part within which something recognisable is searched.
// A recognisable text is usually in the row above or its neighbour; farther parts may move on their own.
const HEIGHTS_ABOVE: i32 = 3;

/// Returns by how many pixels a region and what is above it have moved down (positive) or up, or `None` if the region is
/// where it was, cannot be recognised, or has moved away from what is above it.
#[must_use]
pub fn vertical_shift(before: &GreyFrame, after: &GreyFrame, region: CaptureRect) -> Option<i32> {
    let frame = CaptureRect::from_size(before.size());
    let core = without_edge(region).intersection(&frame)?;
    if before.size() != after.size()
        || !is_recognisable(before, core)
        || is_same(before, core, after, 0)
    {
        return None;
    }
    let height = region.height();
    let above = (1..=HEIGHTS_ABOVE)
        .map(|heights| {
            let mut above = region;
            above.max.y = region.min.y - RING;
            above.min.y = region.min.y - heights * height - GAP;
            above
        })
        .filter_map(|above| above.intersection(&frame))
        .find(|above| is_recognisable(before, *above));
    (1..=MAX_SHIFT)
        .flat_map(|distance| [distance, -distance])
        .find(|&shift| {
            // Among identical controls, the neighbour of one that changed its look shows what it has shown before.
            let arrived = core.translate(euclid::vec2(0, shift));
            is_same(before, core, after, shift)
                && above.is_none_or(|above| is_same(before, above, after, shift))
                && !is_same(before, arrived, after, 0)
        })
}

fn without_edge(region: CaptureRect) -> CaptureRect {
    let edge = region.width().min(region.height()) / EDGE_FRACTION;
    let edge = edge.min(RING);
    region.inflate(-edge, -edge)
}

fn is_recognisable(frame: &GreyFrame, region: CaptureRect) -> bool {
    let (columns, rows) = frame.spans(region);
    let pixels = rows.flat_map(|y| frame.row(y, columns.clone()));
    let (darkest, brightest) = pixels.fold((u8::MAX, 0), |(darkest, brightest), &pixel| {
        (darkest.min(pixel), brightest.max(pixel))
    });
    brightest.saturating_sub(darkest) >= MIN_CONTRAST
}

/// Returns whether a region shows the same in the later frame, moved down by `shift` pixels.
fn is_same(before: &GreyFrame, region: CaptureRect, after: &GreyFrame, shift: i32) -> bool {
    let moved = region.translate(euclid::vec2(0, shift));
    if !CaptureRect::from_size(after.size()).contains_box(&moved) {
        return false;
    }
    let (columns, rows) = before.spans(region);
    let (_, moved_rows) = after.spans(moved);
    let allowed = columns.len() * rows.len() / TOLERANCE;
    let mut differing = 0;
    for (y, moved_y) in rows.zip(moved_rows) {
        let one = before.row(y, columns.clone());
        let other = after.row(moved_y, columns.clone());
        differing += one
            .iter()
            .zip(other)
            .filter(|(one, other)| one.abs_diff(**other) > THRESHOLD)
            .count();
        if differing > allowed {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn rect(y: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(20, y), CapturePoint::new(120, y + 30))
    }

    /// Draws boxes with a pattern of their own, at these heights.
    fn page(boxes: &[(u32, u32)]) -> GreyFrame {
        GreyFrame::from_rgba(&drawn(boxes))
    }

    fn drawn(boxes: &[(u32, u32)]) -> RgbaImage {
        let mut page = RgbaImage::from_pixel(200, 400, Rgba([240, 240, 240, 255]));
        for &(pattern, top) in boxes {
            for y in 0..30 {
                for x in 0..100 {
                    let dark = (x * (pattern + 3) + y * (pattern + 1)) % 17 < 5;
                    let grey = if dark { 30 } else { 200 };
                    page.put_pixel(20 + x, top + y, Rgba([grey, grey, grey, 255]));
                }
            }
        }
        page
    }

    /// Returns the pixels of a focus ring around a region: 3 px wide, 2 px away.
    fn ring(region: CaptureRect) -> impl Iterator<Item = (u32, u32)> {
        let (outer, inner) = (region.inflate(5, 5), region.inflate(2, 2));
        let rows = outer.min.y..outer.max.y;
        rows.flat_map(move |y| (outer.min.x..outer.max.x).map(move |x| (x, y)))
            .filter(move |&(x, y)| !inner.contains(CapturePoint::new(x, y)))
            .map(|(x, y)| (x as u32, y as u32))
    }

    const DELETE: u32 = 1;
    const SAVE: u32 = 2;
    const NEW: u32 = 5;

    #[test]
    fn region_that_moves_with_the_content_above_has_shifted() {
        let before = page(&[(DELETE, 100), (SAVE, 140)]);
        let after = page(&[(NEW, 60), (DELETE, 152), (SAVE, 192)]);
        assert_eq!(vertical_shift(&before, &after, rect(140)), Some(52));
        assert_eq!(vertical_shift(&after, &before, rect(192)), Some(-52));
    }

    #[test]
    fn region_with_blank_space_above_can_shift_alone() {
        let before = page(&[(SAVE, 240)]);
        let below = |boxes: &[_]| vertical_shift(&before, &page(boxes), rect(240));
        assert_eq!(below(&[(NEW, 240), (SAVE, 292)]), Some(52));
        assert_eq!(below(&[(SAVE, 240), (NEW, 292)]), None);
        assert_eq!(below(&[]), None, "it is gone");
    }

    #[test]
    fn focused_region_that_moves_has_shifted() {
        let before = page(&[(DELETE, 100), (SAVE, 140)]);
        let mut after = drawn(&[(NEW, 60), (DELETE, 152), (SAVE, 192)]);
        // The detected box is 3 px too large on each side, and the ring is drawn partly inside, partly outside of it.
        let detected = rect(140).inflate(3, 3);
        for (x, y) in ring(rect(192)) {
            after.put_pixel(x, y, Rgba([37, 99, 235, 255]));
        }
        let after = GreyFrame::from_rgba(&after);
        assert_eq!(vertical_shift(&before, &after, detected), Some(52));
    }

    #[test]
    fn region_that_stays_or_moves_alone_has_not_shifted() {
        let before = page(&[(DELETE, 100), (SAVE, 140)]);
        let shift = |boxes: &[_]| vertical_shift(&before, &page(boxes), rect(140));
        assert_eq!(shift(&[(DELETE, 100), (SAVE, 140), (NEW, 200)]), None);
        assert_eq!(
            shift(&[(DELETE, 100), (NEW, 140), (SAVE, 180)]),
            None,
            "an entry above a button for more"
        );
        assert_eq!(shift(&[(DELETE, 152)]), None, "it is gone");
        let rows: Vec<_> = (1..8).map(|row| (SAVE, 40 * row)).collect();
        let mut ticked = rows.clone();
        ticked[2].0 = NEW;
        assert_eq!(
            vertical_shift(&page(&rows), &page(&ticked), rect(120)),
            None,
            "one of many identical controls changes its look"
        );
        let blank = page(&[]);
        assert_eq!(vertical_shift(&blank, &before, rect(140)), None);
        let outside = rect(500);
        assert_eq!(vertical_shift(&before, &before, outside), None);
    }
}
