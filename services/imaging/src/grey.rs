//! Lightness of an image, one byte per pixel.
//!
//! Deliberately not here: colour, which [`crate::difference`] compares as well.

use std::ops::Range;

use image::RgbaImage;
use motorium_proto::domain::geometry::{CaptureRect, CaptureSize};
use multiversion::multiversion;

/// Lightness of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GreyFrame {
    width: usize,
    height: usize,
    luma: Vec<u8>,
}

impl GreyFrame {
    /// Converts an image.
    #[must_use]
    pub fn from_rgba(pixels: &RgbaImage) -> Self {
        let (width, height) = (pixels.width() as usize, pixels.height() as usize);
        let mut luma = vec![0; width * height];
        grey(pixels.as_raw(), &mut luma);
        Self {
            width,
            height,
            luma,
        }
    }

    /// Extent in capture pixels.
    #[must_use]
    pub fn size(&self) -> CaptureSize {
        CaptureSize::new(self.width as i32, self.height as i32)
    }

    /// Grey values of all pixels, row by row.
    #[must_use]
    pub fn luma(&self) -> &[u8] {
        &self.luma
    }

    /// Returns the grey values of some columns of a row.
    pub(crate) fn row(&self, y: usize, columns: Range<usize>) -> &[u8] {
        &self.luma[y * self.width..][columns]
    }

    /// Returns the columns and rows of a region, clipped to the frame.
    pub(crate) fn spans(&self, region: CaptureRect) -> (Range<usize>, Range<usize>) {
        spans(region, self.width, self.height)
    }
}

/// Returns the columns and rows of a region, clipped to an image of this size.
pub(crate) fn spans(
    region: CaptureRect,
    width: usize,
    height: usize,
) -> (Range<usize>, Range<usize>) {
    let span = |low: i32, high: i32, side: usize| {
        let high = (high.max(0) as usize).min(side);
        (low.max(0) as usize).min(high)..high
    };
    (
        span(region.min.x, region.max.x, width),
        span(region.min.y, region.max.y, height),
    )
}

/// Converts to grey with the ITU-R 601 weights as Pillow applies them (`L = R·19595 + G·38470 + B·7471 + 0x8000 >>
/// 16`). Other weights differ by single pixels from Python tools that compare screenshots.
#[multiversion(targets = "simd")]
pub(crate) fn grey(rgba: &[u8], luma: &mut [u8]) {
    let (pixels, _) = rgba.as_chunks::<4>();
    for (luma, [red, green, blue, _]) in luma.iter_mut().zip(pixels) {
        let sum =
            u32::from(*red) * 19595 + u32::from(*green) * 38470 + u32::from(*blue) * 7471 + 0x8000;
        *luma = (sum >> 16) as u8;
    }
}

#[cfg(test)]
mod tests {
    use image::Rgba;

    use super::*;

    fn check(colour: [u8; 3], expected: u8) {
        let [red, green, blue] = colour;
        let frame = GreyFrame::from_rgba(&RgbaImage::from_pixel(3, 1, Rgba([red, green, blue, 7])));
        assert_eq!(frame.luma(), [expected; 3]);
    }

    /// Values from Pillow: `Image.new("RGB", (1, 1), colour).convert("L")`.
    #[test]
    fn grey_conversion_matches_pillow() {
        check([255, 255, 255], 255);
        check([255, 0, 0], 76);
        check([0, 255, 0], 150);
        check([0, 0, 255], 29);
        check([1, 2, 3], 2);
        check([200, 30, 90], 88);
    }
}
