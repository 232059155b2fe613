//! Square patches of an image as the models expect them: 40 by 40 pixels, RGB from 0 to 1.
//!
//! `training/icons/samples.py` and `states.py` cut the patches for training; positions and sizes must match.

use image::RgbaImage;
use motorium_imaging::resize::{FilterType, ResizeAlg, ResizeOptions, RgbaResizer};
use motorium_proto::domain::geometry::CapturePoint;

use super::failed;
use crate::error::Error;

/// Side of a patch in pixels.
pub(super) const PATCH_SIZE: usize = 40;

/// Extracts patches. Reused between calls to keep its buffers.
#[derive(Debug, Default)]
pub(super) struct PatchExtractor {
    resizer: RgbaResizer,
}

/// Pixels of a patch, four bytes each, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Patch(Vec<u8>);

impl PatchExtractor {
    /// Extracts the square of `side` pixels with this upper left corner. Beyond the image, the edge pixels are
    /// repeated.
    pub(super) fn extract(
        &mut self,
        pixels: &RgbaImage,
        corner: CapturePoint,
        side: i32,
    ) -> Result<Patch, Error> {
        let part = part(pixels, corner, side);
        let side = side as usize;
        if side == PATCH_SIZE {
            return Ok(Patch(part));
        }
        let filter = if side > PATCH_SIZE {
            FilterType::Hamming
        } else {
            FilterType::Bilinear
        };
        let options = ResizeOptions::new()
            .resize_alg(ResizeAlg::Convolution(filter))
            .use_alpha(false);
        let (from, to) = ([side as u32; 2], [PATCH_SIZE as u32; 2]);
        let resized = self.resizer.resize(&part, from.into(), to.into(), &options);
        Ok(Patch(resized.map_err(failed)?))
    }
}

/// Returns the pixels of a square, four bytes each.
fn part(pixels: &RgbaImage, corner: CapturePoint, side: i32) -> Vec<u8> {
    let (width, height) = (pixels.width() as i32, pixels.height() as i32);
    let all = pixels.as_raw();
    let mut part = Vec::with_capacity(side as usize * side as usize * 4);
    for y in corner.y..corner.y + side {
        let row = &all[y.clamp(0, height - 1) as usize * width as usize * 4..];
        for x in corner.x..corner.x + side {
            let at = x.clamp(0, width - 1) as usize * 4;
            part.extend_from_slice(&row[at..at + 4]);
        }
    }
    part
}

/// Appends the three colour planes of several patches, stacked vertically.
pub(super) fn add_planes(planes: &mut Vec<f32>, squares: &[Patch]) {
    for channel in 0..3 {
        for Patch(square) in squares {
            let pixels = square.as_chunks::<4>().0;
            planes.extend(pixels.iter().map(|pixel| f32::from(pixel[channel]) / 255.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Image whose pixels encode their column in red and their row in green.
    fn places(width: u32, height: u32) -> RgbaImage {
        RgbaImage::from_fn(width, height, |x, y| {
            image::Rgba([x as u8, y as u8, 9, 255])
        })
    }

    #[test]
    fn patch_beyond_the_image_repeats_its_edge() {
        let pixels = places(3, 2);
        let at = |part: &[u8], index: usize| [part[index * 4], part[index * 4 + 1]];
        let part = part(&pixels, CapturePoint::new(-1, -1), 5);
        assert_eq!(part.len(), 5 * 5 * 4);
        assert_eq!(at(&part, 0), [0, 0]);
        assert_eq!(at(&part, 5 + 2), [1, 0]);
        assert_eq!(at(&part, 2 * 5 + 3), [2, 1]);
        assert_eq!(at(&part, 4 * 5 + 4), [2, 1]);
    }

    #[test]
    fn patches_of_any_size_become_stacked_planes() {
        let pixels = places(200, 200);
        let mut squares = PatchExtractor::default();
        for side in [6, 40, 41, 150] {
            let corner = CapturePoint::new(20, 30);
            let shown = squares.extract(&pixels, corner, side).unwrap();
            let mut planes = Vec::new();
            add_planes(&mut planes, &[shown.clone(), shown]);
            let plane = 2 * PATCH_SIZE * PATCH_SIZE;
            assert_eq!(planes.len(), 3 * plane);
            // The middle of the square, in each of both.
            let middle = PATCH_SIZE / 2 * PATCH_SIZE + PATCH_SIZE / 2;
            for at in [middle, PATCH_SIZE * PATCH_SIZE + middle] {
                let x = planes[at] * 255.0;
                let y = planes[plane + at] * 255.0;
                let expected = f64::from(side) / 2.0;
                assert!((f64::from(x) - 20.0 - expected).abs() <= f64::from(side) / 40.0 + 1.0);
                assert!((f64::from(y) - 30.0 - expected).abs() <= f64::from(side) / 40.0 + 1.0);
            }
        }
    }
}
