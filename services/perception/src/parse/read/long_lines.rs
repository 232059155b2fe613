//! Splits lines that are too long for the model at blank columns.
//!
//! The model's memory grows with the square of the width (attention); a line across a large screen would take
//! gigabytes.
//!
//! It does not recognise the pieces: `text_recognition` does.

use image::RgbaImage;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::cache::rows;
use super::decode::DecodedLine;

/// Maximum width of a piece, in line heights. At the model's height of 48 pixels these 6,400 pixels take about 20 MiB.
const MAX_PIECE_HEIGHTS: i32 = 133;

/// Distance over which a gap is searched before the maximum width, in line heights.
// About two words, so that nearly every line has a gap within it.
const GAP_SEARCH_HEIGHTS: i32 = 8;

/// Minimum width of a gap that counts as a space, in line heights.
// A space is about a quarter of an em wide; gaps between letters are narrower.
const MIN_SPACE: f64 = 0.25;

/// Maximum contrast of a blank column; smoothing and compression leave small differences.
const MAX_BLANK_CONTRAST: u8 = 24;

/// Piece of a line, and whether a space precedes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LinePiece {
    pub(super) bounds: CaptureRect,
    pub(super) follows_space: bool,
}

/// Splits a line into pieces, from left to right; a single one unless it is too long.
pub(super) fn split(pixels: &RgbaImage, line: CaptureRect) -> Vec<LinePiece> {
    let height = line.height().max(1);
    let max_width = MAX_PIECE_HEIGHTS * height;
    let mut pieces = Vec::new();
    let (mut left, mut spaced) = (line.min.x, false);
    while line.max.x - left > max_width {
        let searched = CaptureRect::new(
            CapturePoint::new(left + max_width - GAP_SEARCH_HEIGHTS * height, line.min.y),
            CapturePoint::new(left + max_width, line.max.y),
        );
        let (cut, width) = widest_gap(pixels, searched);
        let bounds = CaptureRect::new(
            CapturePoint::new(left, line.min.y),
            CapturePoint::new(cut, line.max.y),
        );
        pieces.push(LinePiece {
            bounds,
            follows_space: spaced,
        });
        (left, spaced) = (cut, f64::from(width) >= MIN_SPACE * f64::from(height));
    }
    let bounds = CaptureRect::new(CapturePoint::new(left, line.min.y), line.max);
    pieces.push(LinePiece {
        bounds,
        follows_space: spaced,
    });
    pieces
}

/// Joins the decoded pieces of a line.
pub(super) fn join(
    line: CaptureRect,
    read: impl IntoIterator<Item = (LinePiece, DecodedLine)>,
) -> DecodedLine {
    let mut joined = DecodedLine::default();
    let mut signs = 0;
    let width = line.width().max(1) as f32;
    for (piece, decoded) in read {
        let count = decoded.text.chars().count();
        let left = (piece.bounds.min.x - line.min.x) as f32 / width;
        let share = piece.bounds.width() as f32 / width;
        if piece.follows_space && !joined.text.is_empty() && count > 0 {
            joined.text.push(' ');
            joined.char_positions.push(left);
        }
        joined.text.push_str(&decoded.text);
        let places = decoded
            .char_positions
            .iter()
            .map(|place| left + place * share);
        joined.char_positions.extend(places);
        joined.confidence += decoded.confidence * count as f32;
        signs += count;
    }
    joined.confidence /= signs.max(1) as f32;
    joined
}

/// Returns the centre and the width of the widest run of blank columns in a box; its right edge if there is none.
fn widest_gap(pixels: &RgbaImage, searched: CaptureRect) -> (i32, i32) {
    let mut extremes = vec![(u8::MAX, u8::MIN); searched.width().unsigned_abs() as usize];
    for row in rows(pixels, searched) {
        for ((darkest, brightest), pixel) in extremes.iter_mut().zip(row.as_chunks::<4>().0) {
            // Green dominates perceived brightness, so one channel is enough.
            *darkest = (*darkest).min(pixel[1]);
            *brightest = (*brightest).max(pixel[1]);
        }
    }
    let blank: Vec<bool> = extremes
        .iter()
        .map(|(darkest, brightest)| brightest.saturating_sub(*darkest) <= MAX_BLANK_CONTRAST)
        .collect();
    let mut widest = (searched.max.x, 0);
    let mut at = searched.min.x;
    for run in blank.chunk_by(|left, right| left == right) {
        let width = run.len() as i32;
        if run[0] && width > widest.1 {
            widest = (at + width / 2, width);
        }
        at += width;
    }
    widest
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    /// A line 10 pixels high with strokes 2 pixels wide, 1 pixel apart except at the given gaps.
    fn drawn(width: u32, gaps: &[std::ops::Range<u32>]) -> RgbaImage {
        RgbaImage::from_fn(width, 10, |x, y| {
            let in_gap = gaps.iter().any(|gap| gap.contains(&x));
            let dark = !in_gap && x % 3 != 2 && y > 1;
            Rgba(if dark { [0, 0, 0, 255] } else { [255; 4] })
        })
    }

    fn whole(pixels: &RgbaImage) -> CaptureRect {
        CaptureRect::new(
            CapturePoint::zero(),
            CapturePoint::new(pixels.width() as i32, pixels.height() as i32),
        )
    }

    fn check(pixels: &RgbaImage, expected: &[(i32, i32, bool)]) {
        let pieces = split(pixels, whole(pixels));
        let got: Vec<_> = pieces
            .iter()
            .map(|piece| (piece.bounds.min.x, piece.bounds.max.x, piece.follows_space))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        check(&drawn(1_330, &[]), &[(0, 1_330, false)]);
        let words = drawn(2_000, &[1_290..1_300, 700..740]);
        check(&words, &[(0, 1_294, false), (1_294, 2_000, true)]);
        // Without spaces, the split is between two characters.
        let [first, second] = split(&drawn(2_000, &[]), whole(&drawn(2_000, &[])))[..] else {
            panic!("two pieces");
        };
        assert_eq!(first.bounds.max.x, second.bounds.min.x);
        assert!(!second.follows_space);
        assert!((1_250..=1_330).contains(&second.bounds.min.x));
    }

    #[test]
    fn texts_of_line_pieces_are_joined() {
        let from = |left| CaptureRect::new(CapturePoint::new(left, 0), CapturePoint::new(left, 10));
        let piece = |left, spaced| LinePiece {
            bounds: CaptureRect::new(from(left).min, from(left + 100).max),
            follows_space: spaced,
        };
        let read = |text: &str, confidence| DecodedLine {
            text: text.to_owned(),
            char_positions: vec![0.5; text.chars().count()],
            confidence,
        };
        let line = CaptureRect::new(from(20).min, from(420).max);
        let joined = join(
            line,
            [
                (piece(20, false), read("one two", 1.0)),
                (piece(120, true), read("three", 0.4)),
                (piece(220, false), read("", 0.0)),
                (piece(320, false), read("四", 1.0)),
            ],
        );
        assert_eq!(joined.text, "one two three四");
        let mut places = vec![0.125; 7];
        places.push(0.25);
        places.extend([0.375; 5]);
        places.push(0.875);
        assert_eq!(joined.char_positions, places);
        assert!((joined.confidence - 10.0 / 13.0).abs() < 1e-6);
    }
}
