//! Chooses the resolution of text detection by the height of the text.
//!
//! A large image is scanned at a reduced size first. If much of its text turns out to be small, it is scanned again at
//! twice the size, in bands, because a single pass would need too much memory. Text too tall for a band is taken from
//! the previous scan.
//!
//! Pure: the scanning is done by [`text_detection`](super::text_detection).

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

/// Long side, in pixels, to which a whole image is scaled for text detection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScanResolution(pub(super) u32);

/// Height of a text box, in scaled pixels, below which text counts as small: type below about 11 pixels. At 5.5, 7 and
/// 10.5 pixels, 43, 8 and 2 % of the lines were not recognised at that size; at 14 pixels, none.
const SMALL_TEXT_HEIGHT: f64 = 17.0;

/// Minimum fraction of small boxes that triggers another scan.
// Some small captions are not worth a scan of four times the pixels.
const MIN_SMALL_FRACTION: f64 = 0.25;

/// Maximum long side of a scan, in pixels: two large screens side by side.
const MAX_LONG_SIDE: u32 = 7680;

/// Pixels of one band, in scaled pixels: as many as a common screen.
const BAND_PIXELS: u32 = 1920 * 1088;

/// Height, in scaled pixels, above which a box may not fit into a band.
// As high as the overlap of two bands.
const TALL_TEXT_HEIGHT: f64 = 64.0;

/// Overlap of a band above and below, in scaled pixels: half of the tallest box, and some context.
const BAND_OVERLAP: f64 = 64.0;

/// Fraction of a box inside another one above which it is a piece or a duplicate of it.
// Two lines of text overlap by far less.
const DUPLICATE_COVERAGE: f64 = 0.5;

/// Tolerance in scaled pixels: two bands may place the same line slightly apart, so each accepts a little more than its
/// rows.
const BAND_SLACK: f64 = 8.0;

impl ScanResolution {
    /// Returns the first resolution for an image whose long side is `longer_side`.
    pub(super) fn first(longer_side: u32, limit: u32) -> Self {
        Self(longer_side.min(limit))
    }

    /// Returns the next resolution if the boxes `found`, in image pixels, are too small for the current one; `None` if
    /// it is sufficient or the maximum is reached.
    pub(super) fn next(self, found: &[CaptureRect], longer_side: u32) -> Option<Self> {
        let scale = f64::from(self.0) / f64::from(longer_side.max(1));
        let is_small = |found: &&CaptureRect| f64::from(found.height()) * scale < SMALL_TEXT_HEIGHT;
        let small = found.iter().filter(is_small).count();
        let next = self.doubled(longer_side);
        (small > 0 && small as f64 >= MIN_SMALL_FRACTION * found.len() as f64 && next > self)
            .then_some(next)
    }

    /// Returns the next resolution regardless of text height; the same one at the maximum.
    pub(super) fn doubled(self, longer_side: u32) -> Self {
        let next = self.0.saturating_mul(2).min(longer_side).min(MAX_LONG_SIDE);
        Self(next.max(self.0))
    }

    /// Returns whether an image of `size` with these text boxes needs no higher resolution.
    #[must_use]
    pub fn is_sufficient(self, text: &[CaptureRect], size: CaptureSize) -> bool {
        let longer_side = size.width.max(size.height).max(1) as u32;
        self.next(text, longer_side).is_none()
    }
}

/// Horizontal band of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScanBand {
    /// Box that is scanned.
    pub(super) shown: CaptureRect,
    /// Rows, with tolerance, in which the centre of an accepted box must be.
    top: i32,
    end: i32,
    slack: i32,
}

impl ScanBand {
    pub(super) fn takes(&self, found: CaptureRect) -> bool {
        (self.top - self.slack..self.end + self.slack).contains(&middle(found))
    }
}

fn middle(found: CaptureRect) -> i32 {
    (found.min.y + found.max.y) / 2
}

/// Splits the region `within` of an image scaled by `scale` into bands; every row belongs to at least one band.
pub(super) fn bands(within: CaptureRect, scale: f64) -> Vec<ScanBand> {
    let across = (f64::from(within.width()) * scale).max(1.0);
    let overlap = (BAND_OVERLAP / scale).ceil() as i32;
    let rows = (f64::from(BAND_PIXELS) / across / scale) as i32;
    let rows = (rows - 2 * overlap).max(overlap);
    let band = |top: i32| {
        let end = (top + rows).min(within.max.y);
        let shown = CaptureRect::new(
            CapturePoint::new(within.min.x, (top - overlap).max(within.min.y)),
            CapturePoint::new(within.max.x, (end + overlap).min(within.max.y)),
        );
        ScanBand {
            shown,
            top,
            end,
            slack: (BAND_SLACK / scale).ceil() as i32,
        }
    };
    (within.min.y..within.max.y)
        .step_by(rows as usize)
        .map(band)
        .collect()
}

/// Merges the boxes of the bands without duplicates. Tall boxes of the previous, coarser scan replace their pieces. All
/// boxes are in image pixels; `scale` converts to the resolution of the bands.
pub(super) fn merge_tall(
    of_bands: Vec<CaptureRect>,
    before: &[CaptureRect],
    scale: f64,
) -> Vec<CaptureRect> {
    let is_tall = |found: &CaptureRect| f64::from(found.height()) * scale > TALL_TEXT_HEIGHT;
    let tall: Vec<CaptureRect> = before.iter().copied().filter(is_tall).collect();
    let mut kept = tall;
    for found in of_bands {
        let covered = |other: &CaptureRect| found.intersection(other).map_or(0.0, area);
        if !kept
            .iter()
            .any(|other| covered(other) > DUPLICATE_COVERAGE * area(found))
        {
            kept.push(found);
        }
    }
    kept
}

fn area(of: CaptureRect) -> f64 {
    of.to_f64().area()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: i32, y: i32, width: i32, height: i32) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::new(x, y),
            CapturePoint::new(x + width, y + height),
        )
    }

    #[test]
    fn small_text_is_looked_at_in_more_detail() {
        let next = |heights: &[i32], longer_side| {
            let boxes: Vec<_> = heights.iter().map(|&height| at(0, 0, 90, height)).collect();
            ScanResolution::first(longer_side, 1920).next(&boxes, longer_side)
        };
        // There is no resolution above full size.
        assert_eq!(next(&[10, 10], 1920), None);
        // 32 pixels are 16 at half size, 40 are 20.
        assert_eq!(next(&[32, 32, 32], 3840), Some(ScanResolution(3840)));
        assert_eq!(next(&[40, 40, 40], 3840), None);
        // A few small ones among many do not count.
        assert_eq!(next(&[40, 40, 40, 40, 32], 3840), None);
        assert_eq!(next(&[], 3840), None);
        assert_eq!(next(&[20], 30_000), Some(ScanResolution(3840)));
        assert_eq!(
            ScanResolution(MAX_LONG_SIDE).next(&[at(0, 0, 9, 9)], 30_000),
            None
        );
    }

    #[test]
    fn bands_cover_every_row_with_small_overlaps() {
        for (width, height) in [
            (3840, 2160),
            (7680, 4320),
            (300, 9000),
            (5, 3),
            (30_000, 20),
        ] {
            let within = at(7, 11, width, height);
            for scale in [1.0, 0.5, 0.1] {
                let bands = bands(within, scale);
                for y in [11, 12, 11 + height / 2, 11 + height - 1] {
                    let taking = bands
                        .iter()
                        .filter(|band| band.takes(at(7, y, 1, 1)))
                        .count();
                    assert!((1..=2).contains(&taking), "{width}×{height}, row {y}");
                }
                // A line on the border that one band places slightly higher than the next is accepted by both.
                for pair in bands.windows(2) {
                    let edge = pair[0].end;
                    let (above, below) = (at(7, edge - 2, 1, 2), at(7, edge, 1, 3));
                    assert!(pair[0].takes(below) && pair[1].takes(above));
                }
                assert!(bands.iter().all(|band| within.contains_box(&band.shown)));
            }
        }
    }

    #[test]
    fn lines_too_tall_for_a_band_keep_coarse_boxes() {
        let heading = at(0, 500, 900, 120);
        let (piece, line) = (at(0, 500, 900, 50), at(0, 700, 300, 20));
        let before = [heading, at(0, 702, 290, 18)];
        assert_eq!(merge_tall(vec![piece, line], &before, 1.0), [heading, line]);
        assert_eq!(merge_tall(vec![line], &[], 1.0), [line]);
        // Found by the bands alone.
        assert_eq!(merge_tall(vec![heading], &[], 1.0), [heading]);
        // Found by two bands.
        let again = at(0, 699, 302, 21);
        assert_eq!(merge_tall(vec![line, again], &[], 1.0), [line]);
    }
}
