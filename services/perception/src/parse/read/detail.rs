//! At how much detail text is looked for: chosen by the height of the text.
//!
//! A large picture is looked at scaled down. If much of its text turns out to be small then, it is looked at once more
//! at twice the size, in bands, because the memory for the whole would be too much; what is too tall for a band is
//! taken from the look before.
//!
//! Pure: the looking is done by [`locate`](super::locate).

use motorium_proto::domain::geometry::{CapturePoint, CaptureRect, CaptureSize};

/// The long side, in pixels, that a whole picture is scaled to before text is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Detail(pub(super) u32);

/// A box of text below this height, in scaled pixels, is of small text: of type of less than about 11 pixels. Of type of
/// 5.5, 7 and 10.5 pixels 43, 8 and 2 % of the lines were not read at that size, and of 14 pixels none.
const SMALL: f64 = 17.0;

/// Share of the boxes that must be small for another look.
const MANY: f64 = 0.25;

/// Nothing is looked at in more detail than this, in pixels of the long side: two large screens side by side.
const MOST: u32 = 7680;

/// What one band has, in scaled pixels: as many as a common screen.
const BAND: u32 = 1920 * 1088;

/// A box higher than this, in scaled pixels, does not fit in a band for certain.
const TALL: f64 = 64.0;

/// What a band shows above and below what is taken from it, in scaled pixels: half of what is not tall, and some
/// surroundings.
const OVERLAP: f64 = 64.0;

/// More than this share of a box in another one makes it a piece of that, or the same once more.
const COVERED: f64 = 0.5;

/// Two bands may place the same line some scaled pixels apart, so each takes a little more than its rows.
const SLACK: f64 = 8.0;

impl Detail {
    /// What a picture whose long side is `longest` is looked at with first.
    pub(super) fn first(longest: u32, limit: u32) -> Self {
        Self(longest.min(limit))
    }

    /// What it is looked at with next, if these boxes, in its own pixels, were found with `self`; `None` if they are
    /// large enough, or it cannot be looked at with more.
    pub(super) fn next(self, found: &[CaptureRect], longest: u32) -> Option<Self> {
        let scale = f64::from(self.0) / f64::from(longest.max(1));
        let is_small = |found: &&CaptureRect| f64::from(found.height()) * scale < SMALL;
        let small = found.iter().filter(is_small).count();
        let next = self.doubled(longest);
        (small > 0 && small as f64 >= MANY * found.len() as f64 && next > self).then_some(next)
    }

    /// The one after this, however tall the text is; itself if there is none.
    pub(super) fn doubled(self, longest: u32) -> Self {
        let next = self.0.saturating_mul(2).min(longest).min(MOST);
        Self(next.max(self.0))
    }

    /// Whether a picture of `size` on which text stands in these boxes would not be looked at in more detail.
    #[must_use]
    pub fn suits(self, text: &[CaptureRect], size: CaptureSize) -> bool {
        let longest = size.width.max(size.height).max(1) as u32;
        self.next(text, longest).is_none()
    }
}

/// A strip of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Band {
    /// What is looked at.
    pub(super) shown: CaptureRect,
    /// What is taken from it are the boxes with their middle in these rows, or nearly.
    top: i32,
    end: i32,
    slack: i32,
}

impl Band {
    pub(super) fn takes(&self, found: CaptureRect) -> bool {
        (self.top - self.slack..self.end + self.slack).contains(&middle(found))
    }
}

fn middle(found: CaptureRect) -> i32 {
    (found.min.y + found.max.y) / 2
}

/// The bands of the part `within` of a picture that is scaled by `scale`; every row is of one band at least.
pub(super) fn bands(within: CaptureRect, scale: f64) -> Vec<Band> {
    let across = (f64::from(within.width()) * scale).max(1.0);
    let overlap = (OVERLAP / scale).ceil() as i32;
    let rows = (f64::from(BAND) / across / scale) as i32;
    let rows = (rows - 2 * overlap).max(overlap);
    let band = |top: i32| {
        let end = (top + rows).min(within.max.y);
        let shown = CaptureRect::new(
            CapturePoint::new(within.min.x, (top - overlap).max(within.min.y)),
            CapturePoint::new(within.max.x, (end + overlap).min(within.max.y)),
        );
        Band {
            shown,
            top,
            end,
            slack: (SLACK / scale).ceil() as i32,
        }
    };
    (within.min.y..within.max.y)
        .step_by(rows as usize)
        .map(band)
        .collect()
}

/// The boxes that the bands gave, each once, with the tall ones of the look before at less detail instead of their
/// pieces. All in the picture's pixels, which `scale` scales to the detail of the bands.
pub(super) fn with_tall(
    of_bands: Vec<CaptureRect>,
    before: &[CaptureRect],
    scale: f64,
) -> Vec<CaptureRect> {
    let is_tall = |found: &CaptureRect| f64::from(found.height()) * scale > TALL;
    let tall: Vec<CaptureRect> = before.iter().copied().filter(is_tall).collect();
    let mut kept = tall;
    for found in of_bands {
        let covered = |other: &CaptureRect| found.intersection(other).map_or(0.0, area);
        if !kept
            .iter()
            .any(|other| covered(other) > COVERED * area(found))
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
        let next = |heights: &[i32], longest| {
            let boxes: Vec<_> = heights.iter().map(|&height| at(0, 0, 90, height)).collect();
            Detail::first(longest, 1920).next(&boxes, longest)
        };
        // At full size there is no more.
        assert_eq!(next(&[10, 10], 1920), None);
        // 32 pixels are 16 at half size, 40 are 20.
        assert_eq!(next(&[32, 32, 32], 3840), Some(Detail(3840)));
        assert_eq!(next(&[40, 40, 40], 3840), None);
        // A few small ones among many do not count.
        assert_eq!(next(&[40, 40, 40, 40, 32], 3840), None);
        assert_eq!(next(&[], 3840), None);
        assert_eq!(next(&[20], 30_000), Some(Detail(3840)));
        assert_eq!(Detail(MOST).next(&[at(0, 0, 9, 9)], 30_000), None);
    }

    #[test]
    fn every_row_is_of_a_band_and_those_of_two_are_near_their_edge() {
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
                // A line on the edge that one band places a little higher than the next is taken all the same.
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
    fn what_is_too_tall_for_a_band_is_taken_from_the_look_before() {
        let heading = at(0, 500, 900, 120);
        let (piece, line) = (at(0, 500, 900, 50), at(0, 700, 300, 20));
        let before = [heading, at(0, 702, 290, 18)];
        assert_eq!(with_tall(vec![piece, line], &before, 1.0), [heading, line]);
        assert_eq!(with_tall(vec![line], &[], 1.0), [line]);
        // Found by the bands alone.
        assert_eq!(with_tall(vec![heading], &[], 1.0), [heading]);
        // Found by two bands.
        let again = at(0, 699, 302, 21);
        assert_eq!(with_tall(vec![line, again], &[], 1.0), [line]);
    }
}
