//! Converts the text map of the detection model to boxes (post-processing of Differentiable Binarization).
//!
//! Pure. The map contains the probability of each pixel to be in the core of a text line. Cores are smaller than the
//! text by a known amount, so their boxes are grown. Boxes are axis-aligned, like text on screens.

use image::{GrayImage, Luma};
use imageproc::contours::{BorderType, Contour, find_contours};
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

/// Minimum probability of a text pixel (PaddleOCR `thresh`).
const TEXT_THRESHOLD: f32 = 0.3;

/// Minimum mean probability of a box (`box_thresh`; 0.5 as in rapidocr for screens).
const BOX_THRESHOLD: f32 = 0.5;

/// Growth of a core, as a factor of area over perimeter (`unclip_ratio`).
const UNCLIP_RATIO: f64 = 1.6;

/// Minimum side of a core in pixels (`min_size`); smaller ones are specks.
const MIN_SIDE: i32 = 3;

/// Returns the text boxes of a map of `width` × `height` probabilities, in map pixels, clipped to the map.
pub(super) fn find(map: &[f32], width: u32, height: u32) -> Vec<CaptureRect> {
    // Adds a blank border, because contours that touch the edge are not found.
    let binary = GrayImage::from_fn(width + 2, height + 2, |x, y| {
        let inside = (1..=width).contains(&x) && (1..=height).contains(&y);
        let is_text =
            inside && map[(y as usize - 1) * width as usize + x as usize - 1] > TEXT_THRESHOLD;
        Luma([if is_text { u8::MAX } else { 0 }])
    });
    let whole = CaptureRect::new(
        CapturePoint::zero(),
        CapturePoint::new(side(width), side(height)),
    );
    find_contours::<i32>(&binary)
        .into_iter()
        .filter(|contour| contour.border_type == BorderType::Outer)
        .map(|contour| core_of(&contour))
        .filter(|core| core.width() >= MIN_SIDE && core.height() >= MIN_SIDE)
        .filter(|core| mean(map, width, *core) >= BOX_THRESHOLD)
        .filter_map(|core| grow(core).intersection(&whole))
        .collect()
}

/// Returns the box of a contour, without the border.
fn core_of(contour: &Contour<i32>) -> CaptureRect {
    let points = contour
        .points
        .iter()
        .map(|point| CapturePoint::new(point.x - 1, point.y - 1));
    let last_inside = CaptureRect::from_points(points);
    CaptureRect::new(
        last_inside.min,
        CapturePoint::new(last_inside.max.x + 1, last_inside.max.y + 1),
    )
}

fn side(length: u32) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX)
}

fn mean(map: &[f32], width: u32, core: CaptureRect) -> f32 {
    let columns = core.min.x as usize..core.max.x as usize;
    let rows = core.min.y as usize..core.max.y as usize;
    let count = columns.len() * rows.len();
    let sum: f32 = rows
        .map(|row| {
            map[row * width as usize..][columns.clone()]
                .iter()
                .sum::<f32>()
        })
        .sum();
    sum / count as f32
}

fn grow(core: CaptureRect) -> CaptureRect {
    let (width, height) = (f64::from(core.width()), f64::from(core.height()));
    let distance = (width * height * UNCLIP_RATIO / (2.0 * (width + height))).round() as i32;
    core.inflate(distance, distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: u32 = 100;
    const HEIGHT: u32 = 60;

    /// Checks a map with probability `p` in each box `(x1, y1, x2, y2)`.
    fn check(cores: &[(u32, u32, u32, u32, f32)], expected: &[(i32, i32, i32, i32)]) {
        let mut map = vec![0.0; (WIDTH * HEIGHT) as usize];
        for &(x1, y1, x2, y2, probability) in cores {
            for y in y1..y2 {
                for x in x1..x2 {
                    map[(y * WIDTH + x) as usize] = probability;
                }
            }
        }
        let got: Vec<_> = find(&map, WIDTH, HEIGHT)
            .iter()
            .map(|b| (b.min.x, b.min.y, b.max.x, b.max.y))
            .collect();
        assert_eq!(got, expected, "{cores:?}");
    }

    #[test]
    fn text_cores_are_expanded_to_line_boxes() {
        check(&[], &[]);
        // 40×8 grown by 40·8·1.6 / 96 = 5.33.
        check(&[(20, 20, 60, 28, 0.9)], &[(15, 15, 65, 33)]);
        // Cut at the map's edge.
        check(&[(0, 0, 40, 8, 0.9)], &[(0, 0, 45, 13)]);
        // Uncertain, or too thin.
        check(&[(20, 20, 60, 28, 0.4)], &[]);
        check(&[(20, 20, 60, 28, 0.2)], &[]);
        check(&[(20, 20, 60, 22, 0.9)], &[]);
        // Two lines stay two.
        check(
            &[(20, 10, 60, 18, 0.9), (20, 30, 60, 38, 0.9)],
            &[(15, 5, 65, 23), (15, 25, 65, 43)],
        );
    }
}
