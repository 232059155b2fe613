//! Cache of recognised lines, keyed by their pixels.
//!
//! A line with equal pixels has equal text wherever it is, so scrolled or moved text is not recognised again. Keys are
//! 128-bit hashes, for which collisions are negligible.

use std::num::NonZeroUsize;

use image::RgbaImage;
use lru::LruCache;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use xxhash_rust::xxh3::Xxh3;

use super::decode::DecodedLine;

/// Hash of a region of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u128);

impl Fingerprint {
    /// Hashes the line in a box, which must be inside the image. The empty border around the characters is excluded,
    /// because the same line is not always detected with the same box.
    pub(super) fn of_line(pixels: &RgbaImage, bounds: CaptureRect) -> Self {
        let inner = without_rim(pixels, bounds);
        // The position of a low character within its box matters: an underscore is not a dash.
        if 2 * inner.height() < bounds.height() {
            return Self::of_box(pixels, bounds);
        }
        Self::of_box(pixels, inner)
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

/// Returns the smallest box of all pixels that differ from the upper left corner; empty if there are none.
fn without_rim(pixels: &RgbaImage, bounds: CaptureRect) -> CaptureRect {
    let ground: [u8; 4] = match rows(pixels, bounds)
        .next()
        .and_then(|row| row.first_chunk())
    {
        Some(corner) => *corner,
        None => return bounds,
    };
    let mut inner: Option<CaptureRect> = None;
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
        inner = Some(inner.map_or(span, |inner| inner.union(&span)));
    }
    inner.map_or(CaptureRect::zero(), |inner| {
        inner.translate(bounds.min.to_vector())
    })
}

/// Returns the bytes of each row of a box inside the image.
pub(super) fn rows(pixels: &RgbaImage, bounds: CaptureRect) -> impl Iterator<Item = &[u8]> {
    let stride = pixels.width() as usize * 4;
    let columns = bounds.min.x as usize * 4..bounds.max.x as usize * 4;
    let rows = bounds.min.y as usize..bounds.max.y as usize;
    rows.map(move |row| &pixels.as_raw()[row * stride..][columns.clone()])
}

/// LRU cache of recognised lines.
#[derive(Debug)]
pub(super) struct LineCache {
    lines: LruCache<Fingerprint, DecodedLine>,
}

impl LineCache {
    /// Creates a cache for `lines` lines.
    pub(super) fn new(lines: usize) -> Self {
        let lines = NonZeroUsize::new(lines).unwrap_or(NonZeroUsize::MIN);
        Self {
            lines: LruCache::new(lines),
        }
    }

    pub(super) fn get(&mut self, key: Fingerprint) -> Option<DecodedLine> {
        self.lines.get(&key).cloned()
    }

    pub(super) fn insert(&mut self, key: Fingerprint, line: DecodedLine) {
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

    /// A white image with black boxes.
    fn drawn(boxes: &[CaptureRect]) -> RgbaImage {
        RgbaImage::from_fn(60, 60, |x, y| {
            let here = CapturePoint::new(x as i32, y as i32);
            let is_drawn = boxes.iter().any(|drawn| drawn.contains(here));
            Rgba(if is_drawn { [0, 0, 0, 255] } else { [255; 4] })
        })
    }

    #[test]
    fn line_fingerprint_does_not_depend_on_position() {
        let pixels = drawn(&[at(3, 4, 5, 3), at(23, 24, 5, 3), at(43, 44, 3, 5)]);
        let line = |bounds| Fingerprint::of_line(&pixels, bounds);
        let first = line(at(2, 3, 10, 5));
        assert_eq!(first, line(at(22, 23, 10, 5)));
        // Detected with a slightly different box.
        assert_eq!(first, line(at(0, 3, 9, 5)));
        assert_eq!(first, line(at(3, 4, 5, 3)));
        // Other shapes with as many black pixels, or half of them, differ.
        assert_ne!(first, line(at(42, 43, 5, 8)));
        assert_ne!(first, line(at(5, 3, 10, 5)));
    }

    #[test]
    fn position_of_a_small_glyph_changes_the_fingerprint() {
        let pixels = drawn(&[at(10, 20, 6, 2)]);
        let dash = Fingerprint::of_line(&pixels, at(8, 14, 10, 14));
        let underscore = Fingerprint::of_line(&pixels, at(8, 10, 10, 14));
        assert_ne!(dash, underscore);
    }

    #[test]
    fn blank_line_fingerprint_depends_on_its_size() {
        let pixels = drawn(&[]);
        let blank = |bounds| Fingerprint::of_line(&pixels, bounds);
        assert_eq!(blank(at(0, 0, 10, 10)), blank(at(20, 30, 10, 10)));
        assert_ne!(blank(at(0, 0, 10, 4)), blank(at(0, 0, 4, 10)));
        assert_eq!(blank(at(5, 5, 0, 0)), blank(at(9, 9, 0, 0)));
    }

    #[test]
    fn the_oldest_line_is_forgotten() {
        let mut cache = LineCache::new(2);
        let line = |text: &str| DecodedLine {
            text: text.to_owned(),
            char_positions: Vec::new(),
            confidence: 1.0,
        };
        for (key, text) in [(1, "a"), (2, "b"), (3, "c")] {
            cache.insert(Fingerprint(key), line(text));
        }
        assert_eq!(cache.get(Fingerprint(1)), None);
        assert_eq!(cache.get(Fingerprint(3)), Some(line("c")));
    }
}
