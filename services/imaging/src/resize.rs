//! Crops and scales regions of a frame.
//!
//! The size is chosen elsewhere (see [`crate::space::fit`]); here it is exact.
//!
//! It does not encode images: [`crate::codec`] does.

use std::borrow::Cow;
use std::fmt;

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x4;
pub use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions};
use fast_image_resize::{ImageBufferError, Resizer};
use image::RgbaImage;
use motorium_proto::domain::geometry::{CapturePoint, CaptureRect};

use crate::codec::size_of;
use crate::space::ModelSpace;

/// Error of cropping a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResizeError {
    #[error("the region {region:?} is not inside the frame of {width}x{height} pixels")]
    OutsideFrame {
        region: CaptureRect,
        width: u32,
        height: u32,
    },
}

/// Error of resampling pixels.
#[derive(Debug, thiserror::Error)]
pub enum ResamplingError {
    #[error(transparent)]
    Buffer(#[from] ImageBufferError),
    #[error(transparent)]
    Resize(#[from] fast_image_resize::ResizeError),
}

/// Resamples RGBA pixels, and keeps its buffers between calls.
///
/// It knows this one kind of pixel alone. `Resizer::resize` takes any, and is compiled for all thirteen, for each vector
/// unit, in every crate that calls it: two and a half minutes of a build for each.
#[derive(Default)]
pub struct RgbaResizer(Resizer);

impl fmt::Debug for RgbaResizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RgbaResizer").finish_non_exhaustive()
    }
}

impl RgbaResizer {
    /// Resamples an image of `size` (width, height) to `new_size`. Returns its pixels, four bytes each, row by row.
    ///
    /// # Errors
    /// If `pixels` does not have `size`, or the options crop outside of it.
    pub fn resize(
        &mut self,
        pixels: &[u8],
        size: (u32, u32),
        new_size: (u32, u32),
        options: &ResizeOptions,
    ) -> Result<Vec<u8>, ResamplingError> {
        let source = TypedImageRef::<U8x4>::from_buffer(size.0, size.1, pixels)?;
        let mut bytes = vec![0; new_size.0 as usize * new_size.1 as usize * 4];
        let mut target = TypedImage::<U8x4>::from_buffer(new_size.0, new_size.1, &mut bytes)?;
        self.0.resize_typed(&source, &mut target, options)?;
        Ok(bytes)
    }
}

/// Lanczos keeps thin text strokes legible when a screen is scaled down; bilinear sampling drops them.
const FILTER: FilterType = FilterType::Lanczos3;

/// Renders the image that a model is shown: the region of `space` at its image size.
///
/// # Errors
/// If the region is not inside the frame.
pub fn render(frame: &RgbaImage, space: &ModelSpace) -> Result<RgbaImage, ResizeError> {
    let region = check_inside(frame, space.region())?;
    let (width, height) = (space.image_size().width, space.image_size().height);
    if (width, height) == (region.width() as u32, region.height() as u32) {
        return crop(frame, region);
    }
    // Cropped first: otherwise the filter would mix in pixels outside the region.
    let cut = if region == frame_bounds(frame) {
        Cow::Borrowed(frame)
    } else {
        Cow::Owned(crop(frame, region)?)
    };
    Ok(scaled(&cut, width, height))
}

/// Enlarges an image by an integer factor.
#[must_use]
pub fn enlarge(image: &RgbaImage, times: u32) -> RgbaImage {
    let (width, height) = (image.width() * times, image.height() * times);
    scaled(image, width, height)
}

fn scaled(image: &RgbaImage, width: u32, height: u32) -> RgbaImage {
    // Frames are opaque, so weighting by alpha would cost time without effect.
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FILTER))
        .use_alpha(false);
    let size = (image.width(), image.height());
    let target = RgbaResizer::default()
        .resize(image.as_raw(), size, (width, height), &options)
        .expect("an image's buffer has the size of the image");
    RgbaImage::from_raw(width, height, target).expect("the buffer was made for this size")
}

/// Crops a region of a frame without scaling.
///
/// # Errors
/// If the region is empty or not inside the frame.
pub fn crop(frame: &RgbaImage, region: CaptureRect) -> Result<RgbaImage, ResizeError> {
    let region = check_inside(frame, region)?;
    let CapturePoint { x, y, .. } = region.min;
    let (width, height) = (region.width() as u32, region.height() as u32);
    Ok(image::imageops::crop_imm(frame, x as u32, y as u32, width, height).to_image())
}

/// Copies an image into a frame, with its upper left corner at a pixel. What would lie outside the frame is left out.
pub fn place(frame: &mut RgbaImage, image: &RgbaImage, corner: CapturePoint) {
    image::imageops::replace(frame, image, corner.x.into(), corner.y.into());
}

fn frame_bounds(frame: &RgbaImage) -> CaptureRect {
    CaptureRect::from_size(size_of(frame))
}

fn check_inside(frame: &RgbaImage, region: CaptureRect) -> Result<CaptureRect, ResizeError> {
    if !region.is_empty() && frame_bounds(frame).contains_box(&region) {
        return Ok(region);
    }
    Err(ResizeError::OutsideFrame {
        region,
        width: frame.width(),
        height: frame.height(),
    })
}

#[cfg(test)]
mod tests {
    use image::Rgba;
    use motorium_proto::domain::geometry::CaptureSize;
    use proptest::prelude::*;

    use super::*;
    use crate::space::ImageSize;

    #[test]
    fn a_placed_image_is_cut_at_the_edges_of_the_frame() {
        let (grey, red) = (Rgba([90, 90, 90, 255]), Rgba([200, 0, 0, 255]));
        let mut frame = RgbaImage::from_pixel(4, 3, grey);
        place(
            &mut frame,
            &RgbaImage::from_pixel(2, 2, red),
            CapturePoint::new(3, 2),
        );
        let placed: Vec<_> = frame
            .enumerate_pixels()
            .filter(|(.., pixel)| **pixel == red)
            .map(|(x, y, _)| (x, y))
            .collect();
        assert_eq!(placed, [(3, 2)]);
    }

    fn region(x1: i32, y1: i32, x2: i32, y2: i32) -> CaptureRect {
        CaptureRect::new(CapturePoint::new(x1, y1), CapturePoint::new(x2, y2))
    }

    /// Left half red, right half blue.
    fn halves(width: u32, height: u32) -> RgbaImage {
        let colour = |x| {
            if x < width / 2 {
                Rgba([255, 0, 0, 255])
            } else {
                Rgba([0, 0, 255, 255])
            }
        };
        RgbaImage::from_fn(width, height, |x, _| colour(x))
    }

    #[test]
    fn downscaled_image_keeps_the_content() {
        let frame = halves(1920, 1080);
        let space =
            ModelSpace::whole(CaptureSize::new(1920, 1080), ImageSize::new(1280, 720)).unwrap();
        let image = render(&frame, &space).unwrap();
        assert_eq!(image.dimensions(), (1280, 720));
        assert_eq!(image.get_pixel(100, 360).0, [255, 0, 0, 255]);
        assert_eq!(image.get_pixel(1200, 360).0, [0, 0, 255, 255]);
    }

    #[test]
    fn zoomed_image_shows_only_its_region() {
        let frame = halves(200, 100);
        let space =
            ModelSpace::for_region(region(100, 0, 200, 100), ImageSize::new(400, 400)).unwrap();
        let image = render(&frame, &space).unwrap();
        assert!(image.pixels().all(|pixel| pixel.0 == [0, 0, 255, 255]));
    }

    #[test]
    fn rendering_at_the_same_size_is_the_identity() {
        let frame = halves(64, 32);
        let space = ModelSpace::whole(CaptureSize::new(64, 32), ImageSize::new(64, 32)).unwrap();
        assert_eq!(render(&frame, &space).unwrap(), frame);
    }

    #[test]
    fn a_region_outside_is_refused() {
        let frame = halves(64, 32);
        for outside in [
            region(-1, 0, 5, 5),
            region(0, 0, 65, 5),
            region(0, 0, 5, 33),
            region(5, 5, 5, 9),
            region(9, 9, 2, 2),
        ] {
            assert!(crop(&frame, outside).is_err(), "{outside:?}");
        }
    }

    proptest! {
        #[test]
        fn frame_point_maps_to_its_rendered_pixel(x in 0i32..160, y in 0i32..120, width in 90u32..400, height in 70u32..300) {
            // One white block of 8x8 pixels: its centre must be white in the image at the position that the space
            // computes.
            let frame = RgbaImage::from_fn(168, 128, |px, py| {
                let inside = (x..x + 8).contains(&(px as i32)) && (y..y + 8).contains(&(py as i32));
                if inside { Rgba([255, 255, 255, 255]) } else { Rgba([0, 0, 0, 255]) }
            });
            let space = ModelSpace::whole(CaptureSize::new(168, 128), ImageSize::new(width, height)).unwrap();
            let image = render(&frame, &space).unwrap();
            let shown = space.to_model(CapturePoint::new(x + 4, y + 4));
            let (px, py) = (shown.x.round() as u32, shown.y.round() as u32);
            prop_assert!(image.get_pixel(px.min(width - 1), py.min(height - 1)).0[0] > 100);
        }
    }
}
