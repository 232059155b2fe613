//! Lines that are too long to be read at once, cut where nothing is written.
//!
//! The network looks at every part of a line in the light of every other, so its memory grows with the square of the
//! width; a line over the whole width of a large screen would take gigabytes.

use image::RgbaImage;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use super::cache::rows;
use super::decode::Decoded;

/// Longest piece, in heights of the line. With the model's height of 48 pixels, 6,400 of them take about 20 MiB.
const LONGEST: i32 = 133;

/// How far back a gap is looked for, in heights.
const BACK: i32 = 8;

/// A gap this wide, in shares of the height, stands between words.
const SPACE: f64 = 0.25;

/// Shades that a blank column may differ in: what smoothing and compression leave.
const BLANK: u8 = 24;

/// A part of a line, and whether a space stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) bounds: CaptureRect,
    pub(super) spaced: bool,
}

/// The pieces of a line, from left to right: one, unless it is too long.
pub(super) fn of(pixels: &RgbaImage, line: CaptureRect) -> Vec<Piece> {
    let height = line.height().max(1);
    let longest = LONGEST * height;
    let mut pieces = Vec::new();
    let (mut left, mut spaced) = (line.min.x, false);
    while line.max.x - left > longest {
        let searched = CaptureRect::new(
            CapturePoint::new(left + longest - BACK * height, line.min.y),
            CapturePoint::new(left + longest, line.max.y),
        );
        let (cut, width) = widest_gap(pixels, searched);
        let bounds = CaptureRect::new(
            CapturePoint::new(left, line.min.y),
            CapturePoint::new(cut, line.max.y),
        );
        pieces.push(Piece { bounds, spaced });
        (left, spaced) = (cut, f64::from(width) >= SPACE * f64::from(height));
    }
    let bounds = CaptureRect::new(CapturePoint::new(left, line.min.y), line.max);
    pieces.push(Piece { bounds, spaced });
    pieces
}

/// What the pieces of a line say together.
pub(super) fn join(line: CaptureRect, read: impl IntoIterator<Item = (Piece, Decoded)>) -> Decoded {
    let mut joined = Decoded::default();
    let mut signs = 0;
    let width = line.width().max(1) as f32;
    for (piece, decoded) in read {
        let count = decoded.text.chars().count();
        let left = (piece.bounds.min.x - line.min.x) as f32 / width;
        let share = piece.bounds.width() as f32 / width;
        if piece.spaced && !joined.text.is_empty() && count > 0 {
            joined.text.push(' ');
            joined.places.push(left);
        }
        joined.text.push_str(&decoded.text);
        let places = decoded.places.iter().map(|place| left + place * share);
        joined.places.extend(places);
        joined.confidence += decoded.confidence * count as f32;
        signs += count;
    }
    joined.confidence /= signs.max(1) as f32;
    joined
}

/// The middle of the widest run of blank columns of a box, and how wide it is; its right edge if there is none.
fn widest_gap(pixels: &RgbaImage, searched: CaptureRect) -> (i32, i32) {
    let mut extremes = vec![(u8::MAX, u8::MIN); searched.width().unsigned_abs() as usize];
    for row in rows(pixels, searched) {
        for ((least, most), pixel) in extremes.iter_mut().zip(row.as_chunks::<4>().0) {
            // Green is most of what an eye calls bright.
            *least = (*least).min(pixel[1]);
            *most = (*most).max(pixel[1]);
        }
    }
    let blank: Vec<bool> = extremes
        .iter()
        .map(|(least, most)| most.saturating_sub(*least) <= BLANK)
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

    /// A line of ten pixels' height with strokes two pixels wide, a pixel apart but for the given gaps.
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
        let pieces = of(pixels, whole(pixels));
        let got: Vec<_> = pieces
            .iter()
            .map(|piece| (piece.bounds.min.x, piece.bounds.max.x, piece.spaced))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn a_long_line_is_cut_between_words() {
        check(&drawn(1_330, &[]), &[(0, 1_330, false)]);
        let words = drawn(2_000, &[1_290..1_300, 700..740]);
        check(&words, &[(0, 1_294, false), (1_294, 2_000, true)]);
        // Without a space, between two signs.
        let [first, second] = of(&drawn(2_000, &[]), whole(&drawn(2_000, &[])))[..] else {
            panic!("two pieces");
        };
        assert_eq!(first.bounds.max.x, second.bounds.min.x);
        assert!(!second.spaced);
        assert!((1_250..=1_330).contains(&second.bounds.min.x));
    }

    #[test]
    fn what_pieces_say_is_joined() {
        let from = |left| CaptureRect::new(CapturePoint::new(left, 0), CapturePoint::new(left, 10));
        let piece = |left, spaced| Piece {
            bounds: CaptureRect::new(from(left).min, from(left + 100).max),
            spaced,
        };
        let read = |text: &str, confidence| Decoded {
            text: text.to_owned(),
            places: vec![0.5; text.chars().count()],
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
        assert_eq!(joined.places, places);
        assert!((joined.confidence - 10.0 / 13.0).abs() < 1e-6);
    }
}
