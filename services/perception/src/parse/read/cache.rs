//! Remembers what has been read, by its pixels.
//!
//! A line that looks the same reads the same, wherever it stands; most of a screen stays as it was from one picture
//! to the next. Keys are 128-bit hashes: two pictures that differ and hash alike will not be met.

use std::num::NonZeroUsize;
use std::sync::Arc;

use image::RgbaImage;
use lru::LruCache;
use motorium_proto::domain::geometry::CaptureRect;
use xxhash_rust::xxh3::Xxh3;

use super::TextLine;
use super::decode::Decoded;

/// How many whole frames are remembered: those that an application switches between.
const FRAMES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// What identifies a piece of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Fingerprint(u128);

impl Fingerprint {
    /// Of a whole picture.
    pub(super) fn of(pixels: &RgbaImage) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&pixels.width().to_le_bytes());
        hash.update(pixels.as_raw());
        Self(hash.digest128())
    }

    /// Of a box within a picture; the box must lie inside.
    pub(super) fn of_box(pixels: &RgbaImage, bounds: CaptureRect) -> Self {
        let mut hash = Xxh3::new();
        hash.update(&bounds.width().to_le_bytes());
        for row in rows(pixels, bounds) {
            hash.update(row);
        }
        Self(hash.digest128())
    }
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
    frames: LruCache<Fingerprint, Arc<[TextLine]>>,
}

impl Cache {
    /// Remembers that many lines.
    pub(super) fn new(lines: usize) -> Self {
        let lines = NonZeroUsize::new(lines).unwrap_or(NonZeroUsize::MIN);
        Self {
            lines: LruCache::new(lines),
            frames: LruCache::new(FRAMES),
        }
    }

    pub(super) fn line(&mut self, key: Fingerprint) -> Option<Decoded> {
        self.lines.get(&key).cloned()
    }

    pub(super) fn remember_line(&mut self, key: Fingerprint, line: Decoded) {
        self.lines.put(key, line);
    }

    pub(super) fn frame(&mut self, key: Fingerprint) -> Option<Arc<[TextLine]>> {
        self.frames.get(&key).cloned()
    }

    pub(super) fn remember_frame(&mut self, key: Fingerprint, lines: Arc<[TextLine]>) {
        self.frames.put(key, lines);
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_proto::domain::geometry::CapturePoint;

    use super::*;

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    #[test]
    fn a_line_is_known_by_its_pixels_wherever_it_stands() {
        let mut pixels = RgbaImage::from_pixel(40, 40, Rgba([255; 4]));
        for x in 0..5 {
            pixels.put_pixel(3 + x, 4, Rgba([0, 0, 0, 255]));
            pixels.put_pixel(23 + x, 24, Rgba([0, 0, 0, 255]));
        }
        let first = Fingerprint::of_box(&pixels, at(2, 2, 10, 5));
        assert_eq!(first, Fingerprint::of_box(&pixels, at(22, 22, 10, 5)));
        assert_ne!(first, Fingerprint::of_box(&pixels, at(2, 3, 10, 5)));
        // As many white pixels in another shape are not the same.
        assert_ne!(
            Fingerprint::of_box(&pixels, at(0, 10, 10, 4)),
            Fingerprint::of_box(&pixels, at(0, 10, 4, 10)),
        );
    }

    #[test]
    fn the_oldest_line_is_forgotten() {
        let mut cache = Cache::new(2);
        let line = |text: &str| Decoded {
            text: text.to_owned(),
            confidence: 1.0,
        };
        for (key, text) in [(1, "a"), (2, "b"), (3, "c")] {
            cache.remember_line(Fingerprint(key), line(text));
        }
        assert_eq!(cache.line(Fingerprint(1)), None);
        assert_eq!(cache.line(Fingerprint(3)), Some(line("c")));
    }
}
