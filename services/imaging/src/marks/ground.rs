//! What can be read in a picture that is about to be drawn on: its brightness, where that changes, and which pixels
//! of a box are ink. Taken once, from the untouched picture.

use image::RgbaImage;
use multiversion::multiversion;

use super::ink::{Area, Place, whole};

/// Least difference in brightness that counts as an edge: text in grey on white has it, a gradient has not.
const EDGE: u8 = 20;

/// Least difference from the background that counts as ink; the soft rim of a letter may be drawn over.
const INK: u8 = 48;

/// So many pixels of a box tell its background.
const SAMPLES: i32 = 512;

/// A picture as it was before anything was drawn.
pub(super) struct Ground {
    pub(super) frame: Area,
    brightness: Vec<u8>,
    /// A bit for each pixel that differs from the one to its right or the one below; each row begins with a new word.
    edges: Vec<u64>,
}

impl Ground {
    pub(super) fn of(picture: &RgbaImage) -> Self {
        let mut brightness = vec![0; picture.as_raw().len() / 4];
        fill_brightness(picture.as_raw(), &mut brightness);
        let edges = edges(&brightness, picture.width() as usize);
        Self {
            frame: whole(picture),
            brightness,
            edges,
        }
    }

    /// How much of the picture an area hides: the pixels in it at which the brightness changes.
    pub(super) fn strokes(&self, area: Area) -> i64 {
        // An edge lies between a pixel and the next one: with the last column and row it would count what is outside.
        let inner = Area::new(area.min, area.max - euclid::Vector2D::new(1, 1));
        let Some(inner) = inner.intersection(&self.frame) else {
            return 0;
        };
        let words_per_row = (self.frame.width() as usize).div_ceil(64);
        let (first, last) = (inner.min.x as usize, inner.max.x as usize - 1);
        let in_row = |y: i32| -> u32 {
            let row = &self.edges[y as usize * words_per_row..];
            (first / 64..=last / 64)
                .map(|word| {
                    let after = u64::MAX << (first.saturating_sub(word * 64));
                    let before = u64::MAX >> (63 - (last - word * 64).min(63));
                    (row[word] & after & before).count_ones()
                })
                .sum()
        };
        inner.y_range().map(|y| i64::from(in_row(y))).sum()
    }

    /// Brightness of a pixel, 0 to 255; `None` outside of the picture.
    pub(super) fn brightness(&self, place: Place) -> Option<u8> {
        let offset = || place.y as usize * self.frame.width() as usize + place.x as usize;
        self.frame
            .contains(place)
            .then(|| self.brightness[offset()])
    }

    /// The brightness that most of a box has.
    pub(super) fn background(&self, area: Area) -> u8 {
        const LEVELS: usize = 16;
        let mut seen = [(0u32, 0u32); LEVELS];
        // Odd, so that the pattern of letters of one width is not met at the same place in each.
        let step = (area.area() / SAMPLES).max(1) | 1;
        for index in (0..area.area()).step_by(step as usize) {
            let place = Place::new(
                area.min.x + index % area.width(),
                area.min.y + index / area.width(),
            );
            let Some(brightness) = self.brightness(place) else {
                continue;
            };
            let (count, sum) = &mut seen[usize::from(brightness) * LEVELS / 256];
            *count += 1;
            *sum += u32::from(brightness);
        }
        let (count, sum) = seen.into_iter().max().unwrap_or_default();
        u8::try_from(sum / count.max(1)).unwrap_or(u8::MAX)
    }

    /// Whether a pixel differs from the background of the box that it lies in.
    pub(super) fn is_ink(&self, place: Place, background: u8) -> bool {
        self.brightness(place)
            .is_some_and(|brightness| brightness.abs_diff(background) > INK)
    }
}

#[inline]
fn brightness(red: u8, green: u8, blue: u8) -> u8 {
    ((u32::from(red) * 2 + u32::from(green) * 5 + u32::from(blue)) / 8) as u8
}

fn edges(brightness: &[u8], width: usize) -> Vec<u64> {
    let mut edges = Vec::with_capacity(brightness.len() / 64);
    let mut differs = vec![0; width];
    let mut rows = brightness.chunks_exact(width.max(1)).peekable();
    while let Some(row) = rows.next() {
        let below = rows.peek().unwrap_or(&row);
        edges_of_row(row, below, &mut differs);
        edges.extend(differs.chunks(64).map(word));
    }
    edges
}

/// Writes 1 for each pixel that differs from the next one or the one below, and 0 for the others. The last has none to its
/// right.
#[multiversion(targets = "simd")]
fn edges_of_row(row: &[u8], below: &[u8], differs: &mut [u8]) {
    let is_edge = |here: u8, other: u8| u8::from(here.abs_diff(other) > EDGE);
    for ((differs, here), below) in differs.iter_mut().zip(row).zip(below) {
        *differs = is_edge(*here, *below);
    }
    for ((differs, here), right) in differs.iter_mut().zip(row).zip(&row[1..]) {
        *differs |= is_edge(*here, *right);
    }
}

/// Up to 64 bytes of 0 or 1 as bits, the first the lowest.
fn word(bytes: &[u8]) -> u64 {
    /// Moves the bit of byte `i` to bit `56 + i`; no two of its products fall on one bit.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (whole, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    whole
        .iter()
        .chain([&last])
        .enumerate()
        .fold(0, |word, (index, eight)| {
            let bits = u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56;
            word | bits.checked_shl(8 * index as u32).unwrap_or(0)
        })
}

#[multiversion(targets = "simd")]
fn fill_brightness(picture: &[u8], to: &mut [u8]) {
    for (to, pixel) in to.iter_mut().zip(picture.as_chunks::<4>().0) {
        *to = brightness(pixel[0], pixel[1], pixel[2]);
    }
}

#[cfg(test)]
mod tests {
    use euclid::Size2D;
    use image::Rgba;

    use super::*;

    fn area(x: i32, y: i32, width: i32, height: i32) -> Area {
        Area::from_origin_and_size(Place::new(x, y), Size2D::new(width, height))
    }

    /// White, with a black stroke at x 10 to 12, y 5 to 15.
    fn ground() -> Ground {
        Ground::of(&RgbaImage::from_fn(30, 20, |x, y| {
            let is_stroke = (10..12).contains(&x) && (5..15).contains(&y);
            Rgba(if is_stroke { [0, 0, 0, 255] } else { [255; 4] })
        }))
    }

    #[test]
    fn only_strokes_within_an_area_count() {
        let ground = ground();
        let check = |x, y, width, height, hides: bool| {
            let strokes = ground.strokes(area(x, y, width, height));
            assert_eq!(strokes > 0, hides, "{x},{y} {width}x{height}: {strokes}");
        };
        check(0, 0, 30, 20, true);
        check(9, 5, 3, 10, true);
        check(0, 0, 11, 20, true);
        check(0, 0, 10, 20, false);
        check(12, 0, 18, 20, false);
        check(0, 0, 30, 5, false);
        check(0, 15, 30, 5, false);
        check(-9, -9, 12, 12, false);
        check(40, 40, 5, 5, false);
    }

    #[test]
    fn strokes_are_counted_across_words_and_at_the_edges() {
        // A pixel in black every 50.
        let ground = Ground::of(&RgbaImage::from_fn(301, 3, |x, _| {
            Rgba(if x % 50 == 0 {
                [0, 0, 0, 255]
            } else {
                [255; 4]
            })
        }));
        // Each has an edge on both sides, the first and the last but one.
        assert_eq!(ground.strokes(area(0, 0, 301, 2)), 12);
        assert_eq!(ground.strokes(area(0, 0, 301, 3)), 24);
        assert_eq!(ground.strokes(area(60, 0, 80, 2)), 2);
        assert_eq!(ground.strokes(area(250, 0, 500, 2)), 2);
    }

    #[test]
    fn ink_is_what_differs_from_most_of_a_box() {
        let ground = ground();
        let background = ground.background(area(5, 5, 15, 10));
        assert_eq!(background, 255);
        assert!(ground.is_ink(Place::new(10, 5), background));
        assert!(!ground.is_ink(Place::new(12, 5), background));
        assert!(!ground.is_ink(Place::new(-1, 5), background));
        assert_eq!(ground.background(area(10, 5, 2, 10)), 0);
    }
}
