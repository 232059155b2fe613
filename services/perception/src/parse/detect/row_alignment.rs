//! Aligns rows of lists and tables with their text.
//!
//! Rows without separators look alike, so at a small scale the model places a row at the start of the next one about as
//! often as at its own. The text of a row is vertically centred. A wide row whose box contains at most one line of text
//! is therefore centred on the nearest line.
//!
//! Boxes are only moved vertically, by at most half a row; rows with two lines of text stay. No text is recognised and
//! no row is added. Pure.

use std::ops::Range;

use image::RgbaImage;
use motorium_proto::domain::element::ElementKind;
use motorium_proto::domain::geometry::CaptureRect;

use super::postprocess::{Candidate, Sides, iou};

/// Minimum width of a row, in pixels: from this width rows are detected at a smaller scale.
const MIN_ROW_WIDTH: f32 = 400.0;
/// Heights of rows that are aligned, in pixels.
// Lower boxes have no text, and higher ones have several lines.
const ROW_HEIGHTS: Range<f32> = 10.0..64.0;
// Below the detection threshold, because series may raise a score later.
const MIN_SCORE: f32 = 0.15;
/// IoU from which a row is moved like a more confident one, without another measurement: it is the same row.
const SAME_ROW_IOU: f32 = 0.7;
/// Minimum difference from the background of a pixel line, of 255, that counts as text.
// Grey text has it; alternating row colours do not.
const MIN_INK_CONTRAST: u8 = 30;
/// Minimum fraction of text pixels in a line of pixels. A border that crosses every line is subtracted.
const MIN_INK_FRACTION: f32 = 0.002;
/// Minimum height of a line of text in pixels; thinner marks are separators.
const MIN_TEXT_HEIGHT: u32 = 5;
/// Maximum gap between an accent and its letter, in pixels.
// Larger gaps are those between two lines.
const MAX_ACCENT_GAP: u32 = 2;
/// Sampling step along a line of pixels.
// Letters are wider than two pixels, and it halves the work.
const SAMPLE_STEP: usize = 2;

/// Aligns the rows among `candidates`, whose coordinates start at the upper left corner of the region `seen` of
/// `pixels`.
pub(super) fn align_to_text(candidates: &mut [Candidate], pixels: &RgbaImage, seen: CaptureRect) {
    let is_row = |&index: &usize| {
        let found = candidates[index];
        let [left, top, right, bottom] = found.sides;
        matches!(found.kind, ElementKind::ListItem | ElementKind::TableRow)
            && found.score >= MIN_SCORE
            && right - left >= MIN_ROW_WIDTH
            && ROW_HEIGHTS.contains(&(bottom - top))
    };
    let mut rows: Vec<usize> = (0..candidates.len()).filter(is_row).collect();
    rows.sort_by(|a, b| candidates[*b].score.total_cmp(&candidates[*a].score));
    let mut moved: Vec<(Sides, f32)> = Vec::new();
    for row in rows {
        let sides = candidates[row].sides;
        let same = moved
            .iter()
            .find(|(other, _)| iou(*other, sides) >= SAME_ROW_IOU);
        let down = if let Some((_, down)) = same {
            *down
        } else {
            let down = offset(pixels, seen, sides);
            moved.push((sides, down));
            down
        };
        let [left, top, right, bottom] = sides;
        candidates[row].sides = [left, top + down, right, bottom + down];
    }
}

/// Returns the vertical offset of the row's text in pixels.
fn offset(pixels: &RgbaImage, seen: CaptureRect, sides: Sides) -> f32 {
    let (width, height) = (seen.width() as u32, seen.height() as u32);
    let [left, top, right, bottom] = sides.map(|side| (side.max(0.0) + 0.5) as u32);
    let (left, right, top) = (left.min(width), right.min(width), top.min(height));
    let half = bottom.saturating_sub(top) / 2;
    let lines_looked_at = top.saturating_sub(half)..(bottom + half).min(height);
    let ink = |line: u32| {
        let first = (seen.min.y as u32 + line) as usize * pixels.width() as usize;
        let first = first + seen.min.x as usize;
        let line = &pixels.as_raw()[4 * (first + left as usize)..4 * (first + right as usize)];
        ink_on(line.as_chunks::<4>().0)
    };
    let lines = lines_of_text(lines_looked_at.clone(), ink);
    let middle_of = |line: &Range<u32>| (line.start + line.end) as f32 / 2.0;
    let inside = lines
        .iter()
        .filter(|line| top <= line.start && line.end <= bottom);
    if inside.count() > 1 {
        return 0.0;
    }
    let middle = sides[1].midpoint(sides[3]);
    let away = |line: &Range<u32>| (middle_of(line) - middle).abs();
    let Some(line) = lines.iter().min_by(|a, b| away(a).total_cmp(&away(b))) else {
        return 0.0;
    };
    let is_cut = line.start <= lines_looked_at.start || line.end >= lines_looked_at.end;
    if is_cut || line.end - line.start >= bottom - top || away(line) > half as f32 {
        return 0.0;
    }
    middle_of(line) - middle
}

/// Returns the vertical range of each line of text. `ink` returns the fraction of text pixels in a line of pixels.
fn lines_of_text(pixels: Range<u32>, ink: impl Fn(u32) -> f32) -> Vec<Range<u32>> {
    let inked: Vec<f32> = pixels.clone().map(ink).collect();
    let everywhere = inked.iter().copied().fold(f32::INFINITY, f32::min);
    let mut found: Vec<Range<u32>> = Vec::new();
    for (line, ink) in pixels.zip(inked) {
        if ink - everywhere <= MIN_INK_FRACTION {
            continue;
        }
        match found.last_mut() {
            Some(last) if line - last.end <= MAX_ACCENT_GAP => last.end = line + 1,
            _ => found.push(line..line + 1),
        }
    }
    found.retain(|text| text.end - text.start >= MIN_TEXT_HEIGHT);
    found
}

/// Returns the fraction of pixels in a line that differ from its most common colour.
fn ink_on(line: &[[u8; 4]]) -> f32 {
    let looked_at = || line.iter().step_by(SAMPLE_STEP);
    let paper = [0, 1, 2].map(|channel| median(looked_at().map(|pixel| pixel[channel])));
    let is_ink = |pixel: &&[u8; 4]| {
        (0..3).any(|channel| pixel[channel].abs_diff(paper[channel]) > MIN_INK_CONTRAST)
    };
    looked_at().filter(is_ink).count() as f32 / looked_at().count().max(1) as f32
}

/// Median; the higher of the two middle values for an even count.
fn median(values: impl Iterator<Item = u8>) -> u8 {
    let mut counts = [0_usize; 256];
    let mut count = 0;
    for value in values {
        counts[usize::from(value)] += 1;
        count += 1;
    }
    let mut before = 0;
    let middle = counts.iter().position(|here| {
        before += here;
        before > count / 2
    });
    middle.unwrap_or(0) as u8
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_imaging::codec::size_of;
    use motorium_proto::domain::element::ElementKind::{Button, TableRow};
    use motorium_proto::domain::geometry::{CapturePoint, CaptureSize};

    use super::*;

    const PITCH: u32 = 24;
    const ROW_HEIGHTS: u32 = 480;
    /// Vertical range of the text in a row. Its centre is half a pixel below that of the row.
    const LETTERS: Range<u32> = 8..17;
    /// Expected position of the fifth row.
    const FIFTH: f32 = 4.0 * PITCH as f32 + 0.5;

    fn listed(paper: u8, ink: u8, pitch: u32, lines: &[Range<u32>]) -> RgbaImage {
        let between = ((2 * u16::from(paper) + u16::from(ink)) / 3) as u8;
        RgbaImage::from_fn(1000, ROW_HEIGHTS, |x, y| {
            let is_letter = (40..400).contains(&x) && (x - 40) % 9 < 4;
            let in_row = y % pitch;
            let is_text = is_letter && lines.iter().any(|line| line.contains(&in_row));
            let grey = match in_row {
                0 => between,
                _ if is_text => ink,
                _ => paper,
            };
            Rgba([grey, grey, grey, 255])
        })
    }

    fn usual() -> RgbaImage {
        listed(250, 20, PITCH, &[LETTERS])
    }

    fn row(top: f32) -> Candidate {
        Candidate {
            sides: [20.0, top, 920.0, top + PITCH as f32],
            kind: TableRow,
            score: 0.5,
        }
    }

    #[track_caller]
    fn check(pixels: &RgbaImage, found: Candidate, expected: f32) {
        let mut moved = [found];
        align_to_text(&mut moved, pixels, CaptureRect::from_size(size_of(pixels)));
        let [left, top, right, bottom] = found.sides;
        let expected = [left, expected, right, expected + bottom - top];
        assert_eq!(moved[0].sides, expected, "{found:?}");
    }

    #[test]
    fn a_row_is_moved_to_its_text() {
        for pixels in [usual(), listed(20, 230, PITCH, &[LETTERS])] {
            for off in [-9.0, -4.0, 0.0, 3.0, 8.0] {
                check(&pixels, row(4.0 * PITCH as f32 + off), FIFTH);
            }
        }
    }

    #[test]
    fn border_under_the_box_is_not_text() {
        let mut pixels = usual();
        for (x, _, pixel) in pixels.enumerate_pixels_mut() {
            if (30..32).contains(&x) || x >= 900 {
                *pixel = Rgba([90; 4]);
            }
        }
        check(&pixels, row(101.0), FIFTH);
    }

    #[test]
    fn non_rows_uncertain_rows_and_two_line_rows_stay() {
        let pixels = usual();
        let here = row(101.0);
        let [left, top, right, bottom] = here.sides;
        for stays in [
            Candidate {
                kind: Button,
                ..here
            },
            Candidate { score: 0.1, ..here },
            Candidate {
                sides: [left, top, 320.0, bottom],
                ..here
            },
            Candidate {
                sides: [left, top, right, top + 80.0],
                ..here
            },
        ] {
            check(&pixels, stays, top);
        }
        let two_lines = listed(250, 20, 40, &[8..17, 23..32]);
        let high = Candidate {
            sides: [left, 122.0, right, 162.0],
            ..here
        };
        check(&two_lines, high, 122.0);
        let blank = RgbaImage::from_pixel(1000, ROW_HEIGHTS, Rgba([250; 4]));
        check(&blank, here, top);
    }

    #[test]
    fn row_alignment_handles_image_edges() {
        let (pixels, high) = (usual(), ROW_HEIGHTS as f32);
        check(&pixels, row(-8.0), -8.0);
        check(&pixels, row(-6.0), 0.5);
        check(&pixels, row(high - 5.0), high - 5.0);
        check(&pixels, row(high - 20.0), high - PITCH as f32 + 0.5);
        check(&pixels, row(high + 50.0), high + 50.0);
        check(&pixels, row(-100.0), -100.0);
        let narrow = image::imageops::crop_imm(&pixels, 0, 0, 100, ROW_HEIGHTS).to_image();
        check(&narrow, row(101.0), FIFTH);
    }

    #[test]
    fn row_positions_in_a_region_are_relative_to_it() {
        let corner = CapturePoint::new(30, 3 * PITCH as i32);
        let part = CaptureRect::from_origin_and_size(corner, CaptureSize::new(900, 240));
        let mut moved = [row(PITCH as f32 + 5.0)];
        align_to_text(&mut moved, &usual(), part);
        assert!(
            (moved[0].sides[1] - (FIFTH - corner.y as f32)).abs() < 1e-3,
            "{moved:?}"
        );
    }

    #[test]
    fn duplicate_boxes_of_a_row_move_together() {
        let again = Candidate {
            sides: [60.0, 99.0, 900.0, 125.0],
            score: 0.3,
            ..row(0.0)
        };
        let mut moved = [row(101.0), again, row(124.0)];
        align_to_text(
            &mut moved,
            &usual(),
            CaptureRect::from_size(CaptureSize::new(1000, ROW_HEIGHTS as i32)),
        );
        let tops = moved.map(|found| found.sides[1]);
        assert_eq!(tops, [FIFTH, FIFTH - 2.0, FIFTH + PITCH as f32]);
    }
}
