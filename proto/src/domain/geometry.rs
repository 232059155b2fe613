//! Coordinate spaces as types: mixing points of two spaces does not compile.
//!
//! This module only defines the types, and the form in which settings name a box. Conversions between the spaces are in `motorium_imaging::space`.

use euclid::{Box2D, Point2D, Size2D};

/// Pixels of a captured frame: integers, with the origin at the frame's top left corner. For a frame of a part of a
/// display, add the frame's `origin` to get display pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapturePx {}

/// Logical points: the units of input and of the mouse cursor. On X11 one point is one pixel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalPt {}

/// Pixels of the (usually smaller) image that a model receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPx {}

/// Fractions of the frame, 0 to 1 on both axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Normalised {}

/// A pixel of a captured frame.
pub type CapturePoint = Point2D<i32, CapturePx>;
/// A box of frame pixels: `min` is inclusive, `max` exclusive.
pub type CaptureRect = Box2D<i32, CapturePx>;
/// The size of a frame in pixels.
pub type CaptureSize = Size2D<i32, CapturePx>;

/// A point in input coordinates.
pub type LogicalPoint = Point2D<f64, LogicalPt>;
/// The size of a display in input coordinates.
pub type LogicalSize = Size2D<f64, LogicalPt>;

/// A point in an image for a model.
pub type ModelPoint = Point2D<f64, ModelPx>;
/// The size of an image for a model.
pub type ModelSize = Size2D<f64, ModelPx>;

/// A point in fractions of the frame.
pub type NormalisedPoint = Point2D<f64, Normalised>;
/// A box in fractions of the frame, `x1, y1, x2, y2` in 0 to 1.
pub type NormalisedRect = Box2D<f64, Normalised>;

/// Parses a box of frame pixels as settings write it: `X,Y,WIDTH,HEIGHT`. `None` if it has another form or no area.
#[must_use]
pub fn parse_region(written: &str) -> Option<CaptureRect> {
    let numbers = written.split(',').map(|number| number.trim().parse().ok());
    match numbers.collect::<Option<Vec<i32>>>()?[..] {
        [x, y, width, height] if width > 0 && height > 0 => {
            let far = CapturePoint::new(x.checked_add(width)?, y.checked_add(height)?);
            Some(CaptureRect::new(CapturePoint::new(x, y), far))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_has_four_numbers_and_an_area() {
        let region = CaptureRect::new(CapturePoint::new(-10, 5), CapturePoint::new(390, 85));
        assert_eq!(parse_region("-10, 5,400,80"), Some(region));
        for wrong in [
            "",
            "1,2,3",
            "1,2,0,4",
            "1,2,3,-4",
            "1,2,3,4,5",
            "a,2,3,4",
            "2147483647,0,1,1",
        ] {
            assert_eq!(parse_region(wrong), None, "{wrong}");
        }
    }
}
