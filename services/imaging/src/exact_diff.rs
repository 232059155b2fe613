//! Exact difference of two images.
//!
//! [`crate::difference`] measures visible change; this module finds what must be parsed again. A difference of a single
//! bit counts, so everything outside the boxes is identical.
//!
//! It does not judge whether a difference is visible.

use image::RgbaImage;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use crate::difference::TILE_SIZE;

/// Bytes per pixel.
const BYTES_PER_PIXEL: usize = 4;

/// Returns boxes that contain every differing pixel, from top to bottom and left to right; `None` if the sizes differ.
/// Each box is tight around the differences in a run of adjacent tiles in one row of tiles: a thin frame around a
/// window yields its four sides instead of the window.
#[must_use]
pub fn changed_boxes(before: &RgbaImage, after: &RgbaImage) -> Option<Vec<CaptureRect>> {
    if before.dimensions() != after.dimensions() {
        return None;
    }
    let stride = after.width() as usize * BYTES_PER_PIXEL;
    if stride == 0 {
        return Some(Vec::new());
    }
    let band = stride * TILE_SIZE;
    let bands = before
        .as_raw()
        .chunks(band)
        .zip(after.as_raw().chunks(band));
    let boxes = bands.enumerate().flat_map(|(index, (before, after))| {
        let top = index * TILE_SIZE;
        row_runs(before, after, stride)
            .into_iter()
            .map(move |[left, upper, right, lower]| {
                CaptureRect::new(
                    CapturePoint::new(left as i32, (top + upper) as i32),
                    CapturePoint::new(right as i32, (top + lower) as i32),
                )
            })
    });
    Some(boxes.collect())
}

/// Returns the largest difference of a colour channel between an image and the part of another one whose upper left corner is at
/// `corner`. `None` if it is not within the other one.
#[must_use]
pub fn largest_difference(whole: &RgbaImage, corner: CapturePoint, part: &RgbaImage) -> Option<u8> {
    let left = u32::try_from(corner.x).ok()?;
    let top = u32::try_from(corner.y).ok()?;
    let fits = left.checked_add(part.width())? <= whole.width()
        && top.checked_add(part.height())? <= whole.height();
    let differences = part.enumerate_pixels().flat_map(|(x, y, pixel)| {
        let other = whole.get_pixel_checked(left + x, top + y);
        let channels = other.map_or([u8::MAX; 4], |other| other.0);
        channels
            .into_iter()
            .zip(pixel.0)
            .map(|(a, b)| a.abs_diff(b))
    });
    fits.then(|| differences.max().unwrap_or_default())
}

/// Merges boxes, as returned by [`changed_boxes`], of adjacent rows of tiles that are roughly below each other.
#[must_use]
pub fn join_rows(changed: &[CaptureRect]) -> Vec<CaptureRect> {
    let mut joined: Vec<CaptureRect> = Vec::new();
    for &next in changed {
        // Only the last 64 boxes can touch the next row; the limit keeps the search linear.
        let above = joined.iter_mut().rev().take(64).find(|above| {
            let shared = above.max.x.min(next.max.x) - above.min.x.max(next.min.x);
            above.max.y == next.min.y && 2 * shared > above.width().max(next.width())
        });
        match above {
            Some(above) => *above = above.union(&next),
            None => joined.push(next),
        }
    }
    joined
}

/// Returns the boxes `[left, top, right, bottom]` of the differences in one row of tiles, in pixels of that row.
fn row_runs(before: &[u8], after: &[u8], stride: usize) -> Vec<[usize; 4]> {
    // Most of a screen is unchanged: this comparison runs at memory speed and ends most rows.
    if before == after {
        return Vec::new();
    }
    let mut tiles: Vec<Option<[usize; 4]>> =
        vec![None; stride.div_ceil(TILE_SIZE * BYTES_PER_PIXEL)];
    for (y, (before, after)) in before.chunks(stride).zip(after.chunks(stride)).enumerate() {
        if before != after {
            grow_tiles(&mut tiles, y, before, after);
        }
    }
    let neighbours = tiles.chunk_by(|left, right| left.is_some() == right.is_some());
    neighbours
        .filter_map(|run| run.iter().copied().flatten().reduce(union))
        .collect()
}

/// Extends the boxes of the tiles by the differences in row `y`.
fn grow_tiles(tiles: &mut [Option<[usize; 4]>], y: usize, before: &[u8], after: &[u8]) {
    let side = TILE_SIZE * BYTES_PER_PIXEL;
    let pairs = before.chunks(side).zip(after.chunks(side));
    for (index, (tile, (before, after))) in tiles.iter_mut().zip(pairs).enumerate() {
        if before == after {
            continue;
        }
        let differs = |at: &usize| before[*at] != after[*at];
        let first = (0..after.len()).find(differs).unwrap_or(0) / BYTES_PER_PIXEL;
        let last = (0..after.len()).rev().find(differs).unwrap_or(0) / BYTES_PER_PIXEL;
        let span = [
            index * TILE_SIZE + first,
            y,
            index * TILE_SIZE + last + 1,
            y + 1,
        ];
        *tile = Some(tile.map_or(span, |grown| union(grown, span)));
    }
}

fn union(a: [usize; 4], b: [usize; 4]) -> [usize; 4] {
    [
        a[0].min(b[0]),
        a[1].min(b[1]),
        a[2].max(b[2]),
        a[3].max(b[3]),
    ]
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use proptest::prelude::*;

    use super::*;

    fn blank(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_pixel(width, height, Rgba([200, 200, 200, 255]))
    }

    /// Checks boxes `(left, top, width, height)` drawn on a blank image, one shade off.
    fn check(drawn: &[(u32, u32, u32, u32)], expected: &[(i32, i32, i32, i32)]) {
        let before = blank(110, 70);
        let mut after = before.clone();
        for &(left, top, width, height) in drawn {
            for y in top..top + height {
                for x in left..left + width {
                    after.put_pixel(x, y, Rgba([200, 200, 201, 255]));
                }
            }
        }
        let boxes = changed_boxes(&before, &after).unwrap();
        let got: Vec<_> = boxes
            .iter()
            .map(|found| (found.min.x, found.min.y, found.max.x, found.max.y))
            .collect();
        assert_eq!(got, expected, "{drawn:?}");
    }

    #[test]
    fn boxes_are_tight_around_runs_of_tiles() {
        check(&[], &[]);
        check(&[(5, 7, 1, 1)], &[(5, 7, 6, 8)]);
        check(&[(109, 69, 1, 1)], &[(109, 69, 110, 70)]);
        // Across a tile border there is one run, across a row border there are two.
        check(&[(15, 3, 10, 4)], &[(15, 3, 25, 7)]);
        check(&[(3, 15, 4, 10)], &[(3, 15, 7, 20), (3, 20, 7, 25)]);
        // A tile without a difference separates runs.
        check(
            &[(2, 2, 3, 3), (50, 2, 3, 3)],
            &[(2, 2, 5, 5), (50, 2, 53, 5)],
        );
    }

    #[test]
    fn images_of_different_sizes_cannot_be_compared() {
        assert_eq!(changed_boxes(&blank(10, 10), &blank(10, 11)), None);
        assert_eq!(changed_boxes(&blank(0, 0), &blank(0, 0)), Some(Vec::new()));
    }

    #[test]
    fn adjacent_rows_are_joined_into_one_box() {
        let at = |x, y, width, height| {
            CaptureRect::new(
                CapturePoint::new(x, y),
                CapturePoint::new(x + width, y + height),
            )
        };
        let rows = [at(10, 10, 50, 10), at(12, 20, 50, 20), at(300, 20, 50, 20)];
        assert_eq!(join_rows(&rows), [at(10, 10, 52, 30), at(300, 20, 50, 20)]);
    }

    proptest! {
        #[test]
        fn every_difference_is_in_exactly_one_box(
            size in (1u32..70, 1u32..70),
            dots in proptest::collection::vec((0u32..70, 0u32..70, 1u8..=255), 0..12),
        ) {
            let before = blank(size.0, size.1);
            let mut after = before.clone();
            for (x, y, shade) in dots {
                let pixel = after.get_pixel_mut(x % size.0, y % size.1);
                pixel[0] = pixel[0].wrapping_add(shade);
            }
            let boxes = changed_boxes(&before, &after).unwrap();
            for (x, y, pixel) in after.enumerate_pixels() {
                let at = CapturePoint::new(x as i32, y as i32);
                let holding = boxes.iter().filter(|found| found.contains(at)).count();
                let differs = before.get_pixel(x, y) != pixel;
                prop_assert!(holding == usize::from(differs) || (!differs && holding == 1));
            }
        }
    }

    #[test]
    fn the_largest_difference_of_a_part_is_found() {
        let mut whole = RgbaImage::from_pixel(8, 6, image::Rgba([10, 20, 30, 255]));
        let part = RgbaImage::from_pixel(3, 2, image::Rgba([10, 20, 30, 255]));
        let corner = CapturePoint::new(4, 3);
        assert_eq!(largest_difference(&whole, corner, &part), Some(0));
        whole.put_pixel(6, 4, image::Rgba([10, 60, 30, 255]));
        assert_eq!(largest_difference(&whole, corner, &part), Some(40));
        let outside = CapturePoint::new(6, 3);
        assert_eq!(largest_difference(&whole, outside, &part), None);
    }
}
