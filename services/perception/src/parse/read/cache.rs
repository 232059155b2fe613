//! Remembers what has been read, by its pixels.
//!
//! A line that looks the same reads the same, wherever it stands: what was scrolled or moved is known again. Keys are
//! 128-bit hashes: two lines that differ and hash alike will not be met.

use std::num::NonZeroUsize;

use image::RgbaImage;
use lru::LruCache;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use xxhash_rust::xxh3::Xxh3;

use super::decode::Decoded;

/// What identifies a piece of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u128);

impl Fingerprint {
    /// Of the line in a box, which must lie inside the picture. The empty rim around the signs does not count: the same
    /// line is not always found with the same box.
    pub(super) fn of_line(pixels: &RgbaImage, bounds: CaptureRect) -> Self {
        let signs = without_rim(pixels, bounds);
        // A dash at the bottom of its box is not a dash in the middle of it.
        if 2 * signs.height() < bounds.height() {
            return Self::of_box(pixels, bounds);
        }
        Self::of_box(pixels, signs)
    }

    fn of_box(pixels: &RgbaImage, bounds: CaptureRect) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&bounds.width().to_le_bytes());
        for row in rows(pixels, bounds) {
            hash.update(row);
        }
        Self(hash.digest128())
    }
}

/// The least box that holds everything that has another colour than the upper left corner; empty if nothing has.
fn without_rim(pixels: &RgbaImage, bounds: CaptureRect) -> CaptureRect {
    let ground: [u8; 4] = match rows(pixels, bounds)
        .next()
        .and_then(|row| row.first_chunk())
    {
        Some(corner) => *corner,
        None => return bounds,
    };
    let mut signs: Option<CaptureRect> = None;
    for (y, row) in rows(pixels, bounds).enumerate() {
        let is_sign = |pixel: &[u8; 4]| *pixel != ground;
        let row = row.as_chunks::<4>().0;
        let Some(first) = row.iter().position(is_sign) else {
            continue;
        };
        let last = row.iter().rposition(is_sign).unwrap_or(first);
        let span = CaptureRect::new(
            CapturePoint::new(first as i32, y as i32),
            CapturePoint::new(last as i32 + 1, y as i32 + 1),
        );
        signs = Some(signs.map_or(span, |signs| signs.union(&span)));
    }
    signs.map_or(CaptureRect::zero(), |signs| {
        signs.translate(bounds.min.to_vector())
    })
}

/// The bytes of each row of a box that lies within the picture.
pub(super) fn rows(pixels: &RgbaImage, bounds: CaptureRect) -> impl Iterator<Item = &[u8]> {
    let stride = pixels.width() as usize * 4;
    let columns = bounds.min.x as usize * 4..bounds.max.x as usize * 4;
    let rows = bounds.min.y as usize..bounds.max.y as usize;
    rows.map(move |row| &pixels.as_raw()[row * stride..][columns.clone()])
}

/// What has been read, least recently used first to go.
#[derive(Debug)]
pub(super) struct Cache {
    lines: LruCache<Fingerprint, Decoded>,
}

impl Cache {
    /// Remembers that many lines.
    pub(super) fn new(lines: usize) -> Self {
        let lines = NonZeroUsize::new(lines).unwrap_or(NonZeroUsize::MIN);
        Self {
            lines: LruCache::new(lines),
        }
    }

    pub(super) fn line(&mut self, key: Fingerprint) -> Option<Decoded> {
        self.lines.get(&key).cloned()
    }

    pub(super) fn remember_line(&mut self, key: Fingerprint, line: Decoded) {
        self.lines.put(key, line);
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    /// White, with black boxes.
    fn drawn(boxes: &[CaptureRect]) -> RgbaImage {
        RgbaImage::from_fn(60, 60, |x, y| {
            let here = CapturePoint::new(x as i32, y as i32);
            let is_drawn = boxes.iter().any(|drawn| drawn.contains(here));
            Rgba(if is_drawn { [0, 0, 0, 255] } else { [255; 4] })
        })
    }

    #[test]
    fn a_line_is_known_by_its_pixels_wherever_it_stands() {
        let pixels = drawn(&[at(3, 4, 5, 3), at(23, 24, 5, 3), at(43, 44, 3, 5)]);
        let line = |bounds| Fingerprint::of_line(&pixels, bounds);
        let first = line(at(2, 3, 10, 5));
        assert_eq!(first, line(at(22, 23, 10, 5)));
        // Found with a little more or less around it.
        assert_eq!(first, line(at(0, 3, 9, 5)));
        assert_eq!(first, line(at(3, 4, 5, 3)));
        // As many black pixels in another shape, or half of them, are not the same.
        assert_ne!(first, line(at(42, 43, 5, 8)));
        assert_ne!(first, line(at(5, 3, 10, 5)));
    }

    #[test]
    fn where_a_small_sign_stands_in_its_box_counts() {
        let pixels = drawn(&[at(10, 20, 6, 2)]);
        let dash = Fingerprint::of_line(&pixels, at(8, 14, 10, 14));
        let underscore = Fingerprint::of_line(&pixels, at(8, 10, 10, 14));
        assert_ne!(dash, underscore);
    }

    #[test]
    fn nothing_at_all_is_known_by_its_size() {
        let pixels = drawn(&[]);
        let blank = |bounds| Fingerprint::of_line(&pixels, bounds);
        assert_eq!(blank(at(0, 0, 10, 10)), blank(at(20, 30, 10, 10)));
        assert_ne!(blank(at(0, 0, 10, 4)), blank(at(0, 0, 4, 10)));
        assert_eq!(blank(at(5, 5, 0, 0)), blank(at(9, 9, 0, 0)));
    }

    #[test]
    fn the_oldest_line_is_forgotten() {
        let mut cache = Cache::new(2);
        let line = |text: &str| Decoded {
            text: text.to_owned(),
            places: Vec::new(),
            confidence: 1.0,
        };
        for (key, text) in [(1, "a"), (2, "b"), (3, "c")] {
            cache.remember_line(Fingerprint(key), line(text));
        }
        assert_eq!(cache.line(Fingerprint(1)), None);
        assert_eq!(cache.line(Fingerprint(3)), Some(line("c")));
    }
}
