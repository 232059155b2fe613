//! Magnified parsing of small content: enlarges the image, parses it, and scales the results back.

use std::sync::Arc;

use image::RgbaImage;
use motorium_imaging::resize::enlarge;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};
use motorium_proto::error::FieldError;
use motorium_proto::service::ParseOptions;

use super::Parse;
use super::detect::Detection;
use super::read::TextLine;
use crate::error::Error;

/// Enlarges an image by an integer factor.
///
/// # Errors
/// If the result would be too large; the error names the request field.
pub fn magnify(pixels: &RgbaImage, times: u32) -> Result<Arc<RgbaImage>, Error> {
    if !ParseOptions::may_magnify(pixels.width(), pixels.height(), times) {
        let max_side = ParseOptions::MAX_MAGNIFIED_SIDE / times.max(1);
        let problem = format!(
            "a factor of {times} is too large for {} × {} pixels; choose a region of at most {max_side} pixels per side",
            pixels.width(),
            pixels.height()
        );
        return Err(FieldError::new("parsing.magnification", problem).into());
    }
    Ok(Arc::new(enlarge(pixels, times)))
}

/// Scales the results of the enlarged image back to the original.
#[must_use]
pub fn unmagnify(parse: Parse, times: u32) -> Parse {
    let detections = parse.detections.iter().map(|detection| Detection {
        bounds: smaller(detection.bounds, times),
        ..detection.clone()
    });
    let lines = parse.lines.iter().map(|line| TextLine {
        bounds: smaller(line.bounds, times),
        ..line.clone()
    });
    Parse {
        detections: detections.collect(),
        lines: lines.collect(),
        effort: parse.effort,
    }
}

/// Returns the smallest box that contains the scaled box.
fn smaller(bounds: CaptureRect, times: u32) -> CaptureRect {
    let times = times.max(1) as i32;
    let up = |value: i32| -(-value).div_euclid(times);
    CaptureRect::new(
        CapturePoint::new(
            bounds.min.x.div_euclid(times),
            bounds.min.y.div_euclid(times),
        ),
        CapturePoint::new(up(bounds.max.x), up(bounds.max.y)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_scaled_back_cover_the_found_box() {
        let check = |[x1, y1, x2, y2]: [i32; 4], times, expected: [i32; 4]| {
            let bounds = CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2));
            let small = smaller(bounds, times);
            let got = [small.min.x, small.min.y, small.max.x, small.max.y];
            assert_eq!(got, expected, "{bounds:?} / {times}");
        };
        check([0, 0, 20, 10], 2, [0, 0, 10, 5]);
        check([3, 5, 8, 9], 2, [1, 2, 4, 5]);
        check([3, 5, 8, 9], 1, [3, 5, 8, 9]);
        check([4, 4, 5, 5], 4, [1, 1, 2, 2]);
    }

    #[test]
    fn too_large_magnification_is_refused() {
        let error = magnify(&RgbaImage::new(700, 10), 3)
            .unwrap_err()
            .to_string();
        assert!(error.contains("at most 640 pixels per side"), "{error}");
        assert_eq!(
            magnify(&RgbaImage::new(640, 10), 3).unwrap().dimensions(),
            (1920, 30)
        );
    }
}
