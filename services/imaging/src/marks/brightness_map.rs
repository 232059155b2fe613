//! Brightness, edges and ink of an image before marks are drawn on it.
//!
//! It does not follow what is drawn later.

use image::RgbaImage;
use multiversion::multiversion;

use super::primitives::{Pixel, PixelRect, image_bounds};

/// Minimum brightness difference of an edge: grey text on white has it, a gradient does not.
const MIN_EDGE_CONTRAST: u8 = 20;

/// Minimum difference from the background that counts as ink; the antialiased rim of a letter may be painted over.
const MIN_INK_CONTRAST: u8 = 48;

/// Number of samples that determine the background of a box.
// Enough to outvote the letters in a box, at a cost that does not grow with its size.
const BACKGROUND_SAMPLES: i32 = 512;

/// Brightness data of an unmodified image.
pub(super) struct BrightnessMap {
    pub(super) frame: PixelRect,
    brightness: Vec<u8>,
    /// One bit per pixel that differs from its right or lower neighbour; each row starts with a new word.
    edges: Vec<u64>,
}

impl BrightnessMap {
    pub(super) fn from_image(image: &RgbaImage) -> Self {
        let mut brightness = vec![0; image.as_raw().len() / 4];
        fill_brightness(image.as_raw(), &mut brightness);
        let edges = edges(&brightness, image.width() as usize);
        Self {
            frame: image_bounds(image),
            brightness,
            edges,
        }
    }

    /// Counts the edge pixels in an area: a measure of how much content it would hide.
    pub(super) fn edge_pixels(&self, area: PixelRect) -> i64 {
        // An edge is between a pixel and the next one; the last column and row would count pixels outside.
        let inner = PixelRect::new(area.min, area.max - euclid::Vector2D::new(1, 1));
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

    /// Returns the brightness of a pixel, 0 to 255; `None` outside the image.
    pub(super) fn brightness(&self, place: Pixel) -> Option<u8> {
        let offset = || place.y as usize * self.frame.width() as usize + place.x as usize;
        self.frame
            .contains(place)
            .then(|| self.brightness[offset()])
    }

    /// Returns the most common brightness in a box.
    pub(super) fn background(&self, area: PixelRect) -> u8 {
        // Coarse, so that a slight gradient or noise counts as one background.
        const LEVELS: usize = 16;
        let mut seen = [(0u32, 0u32); LEVELS];
        // Odd, so that samples do not align with letters of a fixed width.
        let step = (area.area() / BACKGROUND_SAMPLES).max(1) | 1;
        for index in (0..area.area()).step_by(step as usize) {
            let place = Pixel::new(
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

    /// Returns whether a pixel differs from the background of its box.
    pub(super) fn is_ink(&self, place: Pixel, background: u8) -> bool {
        self.brightness(place)
            .is_some_and(|brightness| brightness.abs_diff(background) > MIN_INK_CONTRAST)
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

/// Writes 1 for each pixel that differs from its right or lower neighbour, else 0. The last pixel has no right
/// neighbour.
#[multiversion(targets = "simd")]
fn edges_of_row(row: &[u8], below: &[u8], differs: &mut [u8]) {
    let is_edge = |here: u8, other: u8| u8::from(here.abs_diff(other) > MIN_EDGE_CONTRAST);
    for ((differs, here), below) in differs.iter_mut().zip(row).zip(below) {
        *differs = is_edge(*here, *below);
    }
    for ((differs, here), right) in differs.iter_mut().zip(row).zip(&row[1..]) {
        *differs |= is_edge(*here, *right);
    }
}

/// Packs up to 64 bytes of 0 or 1 into bits, lowest first.
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
fn fill_brightness(rgba: &[u8], to: &mut [u8]) {
    for (to, pixel) in to.iter_mut().zip(rgba.as_chunks::<4>().0) {
        *to = brightness(pixel[0], pixel[1], pixel[2]);
    }
}

#[cfg(test)]
mod tests {
    use euclid::Size2D;
    use image::Rgba;

    use super::*;

    fn area(x: i32, y: i32, width: i32, height: i32) -> PixelRect {
        PixelRect::from_origin_and_size(Pixel::new(x, y), Size2D::new(width, height))
    }

    /// White, with a black stroke at x 10 to 12, y 5 to 15.
    fn ground() -> BrightnessMap {
        BrightnessMap::from_image(&RgbaImage::from_fn(30, 20, |x, y| {
            let is_stroke = (10..12).contains(&x) && (5..15).contains(&y);
            Rgba(if is_stroke { [0, 0, 0, 255] } else { [255; 4] })
        }))
    }

    #[test]
    fn only_strokes_within_an_area_count() {
        let ground = ground();
        let check = |x, y, width, height, hides: bool| {
            let strokes = ground.edge_pixels(area(x, y, width, height));
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
        // One black pixel every 50.
        let ground = BrightnessMap::from_image(&RgbaImage::from_fn(301, 3, |x, _| {
            Rgba(if x % 50 == 0 {
                [0, 0, 0, 255]
            } else {
                [255; 4]
            })
        }));
        // Each has an edge on both sides, except at the borders.
        assert_eq!(ground.edge_pixels(area(0, 0, 301, 2)), 12);
        assert_eq!(ground.edge_pixels(area(0, 0, 301, 3)), 24);
        assert_eq!(ground.edge_pixels(area(60, 0, 80, 2)), 2);
        assert_eq!(ground.edge_pixels(area(250, 0, 500, 2)), 2);
    }

    #[test]
    fn ink_differs_from_the_background_of_its_box() {
        let ground = ground();
        let background = ground.background(area(5, 5, 15, 10));
        assert_eq!(background, 255);
        assert!(ground.is_ink(Pixel::new(10, 5), background));
        assert!(!ground.is_ink(Pixel::new(12, 5), background));
        assert!(!ground.is_ink(Pixel::new(-1, 5), background));
        assert_eq!(ground.background(area(10, 5, 2, 10)), 0);
    }
}
